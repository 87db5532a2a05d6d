//! What is wrong with a scenario, and where.

use core::fmt;
use core::ops::Range;

/// Why a scenario cannot be used. Prints the line and column when they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    place: Option<Place>,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    column: usize,
}

impl ScenarioError {
    /// An error at a range of bytes of the text; an empty range is none.
    pub(crate) fn at(text: &str, span: &Range<usize>, message: impl Into<String>) -> Self {
        let before = text.get(..span.start).unwrap_or_default();
        let line_start = before.rfind('\n').map_or(0, |at| at.saturating_add(1));
        let place = Place {
            line: before.matches('\n').count().saturating_add(1),
            column: before.len().saturating_sub(line_start).saturating_add(1),
        };
        Self { place: (!span.is_empty()).then_some(place), message: message.into() }
    }

    pub(crate) fn from_toml(text: &str, error: &toml::de::Error) -> Self {
        let span = error.span().unwrap_or_default();
        // An error at the end of the text has an empty span and is no less true.
        let mut placed =
            Self::at(text, &(span.start..span.end.max(span.start.saturating_add(1))), "");
        error.message().clone_into(&mut placed.message);
        placed
    }

    pub(crate) fn general(message: impl Into<String>) -> Self {
        Self { place: None, message: message.into() }
    }

    /// The line, from 1, when it is known.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.map(|place| place.line)
    }

    /// What is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScenarioError {}
