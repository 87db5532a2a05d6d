//! Owns standard output: buffering, colour, width.

use std::io::{self, IsTerminal as _, Write};

use anstream::{AutoStream, ColorChoice};

use crate::cli::Color;
use crate::text::escape::printable;
use crate::text::wrap::wrapped;

/// Standard output, buffered.
pub(crate) type Out = io::BufWriter<AutoStream<io::StdoutLock<'static>>>;

/// Opens standard output; colour goes to a terminal only, unless asked for.
pub(crate) fn open(color: Color) -> Out {
    let choice = match color {
        Color::Auto => AutoStream::choice(&io::stdout()),
        Color::Always => ColorChoice::Always,
        Color::Never => ColorChoice::Never,
    };
    io::BufWriter::with_capacity(64 * 1024, AutoStream::new(io::stdout().lock(), choice))
}

/// Standard output for much text: buffered, and whether to write colour into it. Looking through
/// every byte for colour to take out, as [`open`] does, would cost more than making the text.
pub(crate) fn open_fast(color: Color) -> (io::BufWriter<io::StdoutLock<'static>>, bool) {
    let colored = match color {
        Color::Auto => AutoStream::choice(&io::stdout()) != ColorChoice::Never,
        Color::Always => true,
        Color::Never => false,
    };
    (io::BufWriter::with_capacity(256 * 1024, io::stdout().lock()), colored)
}

/// Whether standard output is a terminal.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// How many columns there are, at least 40: what COLUMNS says, else the terminal, else 80.
pub(crate) fn width() -> usize {
    let told = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let terminal = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(terminal).unwrap_or(80).max(40)
}

const PREFIX: &str = "roce-sniff: ";

/// Says something on standard error that is no error.
pub(crate) fn remark(text: &str) {
    // Standard error may be closed; the work goes on.
    let _ = writeln!(anstream::stderr(), "{PREFIX}{}", printable(text));
}

/// Says something longer, in as many lines as it takes.
pub(crate) fn long_remark(text: &str) {
    let mut lines = PREFIX.as_bytes().to_vec();
    let _ = wrapped(&mut lines, &printable(text), PREFIX.len(), PREFIX.len(), width());
    let _ = anstream::stderr().write_all(&lines);
}
