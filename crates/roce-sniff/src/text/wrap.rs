//! Text broken between words.

use std::io::{self, Write};

/// Writes `text` from `column` on and ends the line; what does not fit in `width` goes on in the
/// next line behind `indent` blanks.
pub(crate) fn wrapped(
    out: &mut (impl Write + ?Sized),
    text: &str,
    column: usize,
    indent: usize,
    width: usize,
) -> io::Result<()> {
    let mut column = column;
    for (at, word) in text.split(' ').enumerate() {
        let len = word.chars().count();
        if at > 0 && column.saturating_add(len).saturating_add(1) > width {
            write!(out, "\n{:indent$}", "")?;
            column = indent;
        } else if at > 0 {
            write!(out, " ")?;
            column = column.saturating_add(1);
        }
        write!(out, "{word}")?;
        column = column.saturating_add(len);
    }
    writeln!(out)
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
}
