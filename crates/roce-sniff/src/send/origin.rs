//! Where the frames come from: a capture or a scenario. Another origin is another variant of both
//! types here.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::Result;
use roce_capture::{FileReader, Frame as Captured, LinkType};
use roce_craft::{Craft, Scenario};

use crate::craft;
use crate::source::Input;
use crate::stop::Stop;

/// What the user named; it can be opened again for every pass.
pub(super) enum Origin {
    Capture(Input),
    Scenario { name: String, scenario: Box<Scenario> },
}

/// The frames of one pass.
pub(super) enum Frames {
    Capture(Box<FileReader>),
    Scenario(Box<Craft>),
}

impl Origin {
    /// Finds out what a name means: a file that exists, or a scenario that comes with the program.
    pub(super) fn named(name: &str) -> Result<Self> {
        let path = Path::new(name);
        if name == "-" {
            return Ok(Self::Capture(Input::Stdin));
        }
        let is_scenario = path.extension() == Some(OsStr::new("toml"));
        if path.exists() && !is_scenario {
            return Ok(Self::Capture(Input::File(path.to_owned())));
        }
        let scenario = craft::load(name)?;
        Ok(Self::Scenario { name: name.to_owned(), scenario: Box::new(scenario) })
    }

    /// From the first frame on.
    pub(super) fn open(&self, stop: &Stop) -> Result<Frames> {
        Ok(match self {
            Self::Capture(input) => Frames::Capture(Box::new(input.open(stop, 1)?)),
            Self::Scenario { scenario, .. } => Frames::Scenario(Box::new(Craft::new(scenario))),
        })
    }

    /// Whether frames come as they come, and only once.
    pub(super) const fn is_stream(&self) -> bool {
        matches!(self, Self::Capture(Input::Stdin))
    }

    pub(super) fn name(&self) -> String {
        match self {
            Self::Capture(input) => input.name(),
            Self::Scenario { name, .. } => name.clone(),
        }
    }

    /// What it is, for people.
    pub(super) const fn kind(&self) -> &'static str {
        match self {
            Self::Capture(Input::File(_)) => "file",
            Self::Capture(Input::Stdin | Input::Kept(..)) => "stream",
            Self::Scenario { .. } => "scenario",
        }
    }
}

impl Frames {
    pub(super) fn next(&mut self) -> Result<Option<Captured<'_>>> {
        match self {
            Self::Capture(reader) => Ok(reader.next_frame()?),
            Self::Scenario(craft) => Ok(craft.next_frame().map(|frame| Captured {
                number: frame.number,
                time_ns: Some(frame.time_ns),
                link_type: LinkType::ETHERNET,
                wire_len: u32::try_from(frame.wire_len).unwrap_or(u32::MAX),
                data: frame.bytes,
                interface: 0,
            })),
        }
    }

    /// What cannot be read of the source, once it has ended, and whether that is more than an end
    /// that was cut off.
    pub(super) fn damage(&self) -> Option<(String, bool)> {
        let Self::Capture(reader) = self else { return None };
        let damage = reader.damaged()?;
        let is_senseless = !damage.what.is_cut();
        Some((format!("{}: {damage}", reader.name()), is_senseless))
    }
}
