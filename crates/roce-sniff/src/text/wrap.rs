//! Text broken between words.

use std::io::{self, Write};

use anstyle::Style;

/// Writes `text` from `column` on and ends the line; what does not fit in `width` goes on in the
/// next line behind `indent` blanks.
pub(crate) fn wrapped(
    out: &mut (impl Write + ?Sized),
    text: &str,
    column: usize,
    indent: usize,
    width: usize,
) -> io::Result<()> {
    let mut line = Line { out, column, indent, width };
    line.words("", text)?;
    line.end()
}

/// Text broken between words, with `mark` in front of the first line and as much space in front
/// of the others.
pub(crate) fn paragraph(
    out: &mut impl Write,
    style: Style,
    mark: &str,
    text: &str,
    width: usize,
) -> io::Result<()> {
    let indent = mark.chars().count();
    write!(out, "{style}{mark}")?;
    let mut line = Line { out, column: indent, indent, width };
    line.words("", text)?;
    write!(line.out, "{style:#}")?;
    line.end()
}

/// A line that goes on in the next where something does not fit.
pub(crate) struct Line<'o, W: ?Sized> {
    pub(crate) out: &'o mut W,
    /// Where it is.
    pub(crate) column: usize,
    /// Blanks in front of the lines to come.
    pub(crate) indent: usize,
    pub(crate) width: usize,
}

impl<W: Write + ?Sized> Line<'_, W> {
    /// Appends what stays together; `between` is in front of it unless a line begins with it.
    pub(crate) fn put(&mut self, between: &str, style: Style, text: &str) -> io::Result<()> {
        let len = text.chars().count();
        let with_space = between.chars().count().saturating_add(len);
        if self.column.saturating_add(with_space) > self.width && !between.is_empty() {
            write!(self.out, "\n{:1$}", "", self.indent)?;
            self.column = self.indent.saturating_add(len);
        } else {
            write!(self.out, "{between}")?;
            self.column = self.column.saturating_add(with_space);
        }
        write!(self.out, "{style}{text}{style:#}")
    }

    /// Appends words, and what is between backticks as one; `between` is in front of the first.
    pub(crate) fn words(&mut self, between: &str, text: &str) -> io::Result<()> {
        let mut between = between;
        for word in words(text) {
            self.put(between, Style::new(), word)?;
            between = " ";
        }
        Ok(())
    }

    pub(crate) fn end(self) -> io::Result<()> {
        writeln!(self.out)
    }
}

/// The words of a text. What is between backticks is one: a command that is broken is no longer
/// the command when it is copied.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let has_pairs = text.matches('`').count().is_multiple_of(2);
    let mut is_inside = false;
    text.split(move |c: char| {
        is_inside ^= c == '`' && has_pairs;
        c == ' ' && !is_inside
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words() {
        let mut out = Vec::new();
        wrapped(&mut out, "one two three fourteen", 2, 3, 10).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "one two\n   three\n   fourteen\n");
    }

    #[test]
    fn commands_are_not_broken() {
        let mut out = Vec::new();
        wrapped(&mut out, "do `cat -n x`; then `y`.", 0, 1, 12).unwrap();
        wrapped(&mut out, "a lone ` is no pair", 0, 1, 12).unwrap();
        let wanted = "do\n `cat -n x`;\n then `y`.\na lone ` is\n no pair\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn paragraphs_have_a_mark() {
        let mut out = Vec::new();
        paragraph(&mut out, Style::new(), " - ", "one two three", 10).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " - one two\n   three\n");
    }

    #[test]
    fn what_stays_together_goes_to_the_next_line_as_a_whole() {
        let mut out = Vec::new();
        let mut line = Line { out: &mut out, column: 0, indent: 2, width: 12 };
        line.put("", Style::new(), "one").unwrap();
        line.put("  ", Style::new(), "two words").unwrap();
        line.put("  ", Style::new(), "longer than a line").unwrap();
        line.end().unwrap();
        let wanted = "one\n  two words\n  longer than a line\n";
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }
}
