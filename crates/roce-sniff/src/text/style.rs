//! The few colours there are. Whether they reach the terminal, the printer decides.

use anstyle::{AnsiColor, Style};

/// The answer itself.
pub(crate) const ANSWER: Style = Style::new().bold();
/// What is as it should be.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What deserves a second look.
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default();
/// What is wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
/// What matters less.
pub(crate) const DIM: Style = Style::new().dimmed();
