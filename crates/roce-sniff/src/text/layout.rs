//! Columns, and cells of CSV.

use std::io::{self, Write};

use anstyle::Style;

/// Rows of cells, each column as wide as its widest cell, two spaces between them.
pub(crate) struct Columns {
    indent: usize,
    rows: Vec<(Style, Vec<String>)>,
}

impl Columns {
    /// No rows yet; each will be `indent` columns to the right.
    pub(crate) const fn new(indent: usize) -> Self {
        Self { indent, rows: Vec::new() }
    }

    pub(crate) fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.styled(Style::new(), cells);
    }

    pub(crate) fn styled<const N: usize>(&mut self, style: Style, cells: [String; N]) {
        self.rows.push((style, cells.into()));
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let widths = self.widths();
        for (style, cells) in &self.rows {
            let mut line = " ".repeat(self.indent);
            for (cell, width) in cells.iter().zip(&widths) {
                let pad = width.saturating_sub(cell.chars().count()).saturating_add(2);
                line.push_str(cell);
                line.push_str(&" ".repeat(pad));
            }
            writeln!(out, "{style}{}{style:#}", line.trim_end())?;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = Vec::new();
        for (_, cells) in &self.rows {
            for (at, cell) in cells.iter().enumerate() {
                let len = cell.chars().count();
                match widths.get_mut(at) {
                    Some(width) => *width = len.max(*width),
                    None => widths.push(len),
                }
            }
        }
        widths
    }
}

/// A cell of CSV, quoted where it has to be (RFC 4180).
pub(crate) fn csv(cell: &str) -> String {
    if cell.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_they_need_to_be() {
        let mut columns = Columns::new(1);
        columns.row(["a".to_owned(), "bb".to_owned(), "c".to_owned()]);
        columns.row(["µµµ".to_owned(), String::new(), String::new()]);
        let mut out = Vec::new();
        columns.write(&mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), " a    bb  c\n µµµ\n");
    }

    #[test]
    fn csv_cells_are_quoted_where_they_must_be() {
        assert_eq!(csv("10 Gb/sec (1X)"), "10 Gb/sec (1X)");
        assert_eq!(csv("a,\"b\""), "\"a,\"\"b\"\"\"");
    }
}
