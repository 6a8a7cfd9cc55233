//! Rows as the lines of a file.

use std::borrow::Cow;

use rowmill_app::StoredRow;
use rowmill_model::row::{RowView, Source, Sources};
use rowmill_model::{Column, Table};

use super::formulas::mark;

/// Writes rows as CSV or as JSON Lines.
#[derive(Debug)]
pub(crate) struct Writer {
    headers: Vec<String>,
    sources: Vec<Source>,
    is_csv: bool,
    dialect: Dialect,
}

/// How CSV is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    /// Cells that a spreadsheet would run are kept from it.
    pub(crate) neutralizes: bool,
    /// Begins with the mark by which Excel knows UTF-8.
    pub(crate) has_bom: bool,
}

impl Writer {
    pub(crate) fn new(table: &Table, columns: &[&Column], is_csv: bool, dialect: Dialect) -> Self {
        let mut sources = Sources::of(table);
        Self {
            headers: columns.iter().map(|column| column.header.clone()).collect(),
            sources: columns.iter().map(|column| sources.source(column)).collect(),
            is_csv,
            dialect,
        }
    }

    /// What stands before the rows.
    pub(crate) fn head(&self) -> String {
        let mut line = String::new();
        if self.is_csv {
            line.push_str(if self.dialect.has_bom { "\u{feff}" } else { "" });
            for (index, header) in self.headers.iter().enumerate() {
                self.push_cell(&mut line, index, header);
            }
            line.push_str("\r\n");
        }
        line
    }

    pub(crate) fn push_row(
        &self,
        text: &mut String,
        table: &Table,
        row: &StoredRow,
    ) -> Result<(), rowmill_app::Error> {
        let view = RowView::new(table, row.values.cells()?, &row.states);
        let values = self.sources.iter().map(|source| source.value(&view));
        if self.is_csv {
            for (index, value) in values.enumerate() {
                self.push_cell(text, index, &value.map_or(Cow::Borrowed(""), plain));
            }
            text.push_str("\r\n");
            return Ok(());
        }
        for (index, (header, value)) in self.headers.iter().zip(values).enumerate() {
            text.push(if index == 0 { '{' } else { ',' });
            text.push_str(&serde_json::Value::from(header.as_str()).to_string());
            text.push(':');
            push_on_one_line(text, value.as_deref().unwrap_or("null"));
        }
        text.push_str(if self.headers.is_empty() { "{}\n" } else { "}\n" });
        Ok(())
    }

    fn push_cell(&self, line: &mut String, index: usize, cell: &str) {
        if index > 0 {
            line.push(',');
        }
        let mark = if self.dialect.neutralizes { mark(cell) } else { "" };
        let needs_quotes =
            cell.contains([',', '"', '\n', '\r']) || cell.starts_with(' ') || cell.ends_with(' ');
        // A row that is one empty cell would be a blank line, which readers pass over.
        if needs_quotes || cell.is_empty() && self.headers.len() == 1 {
            line.push('"');
            line.push_str(mark);
            line.push_str(&cell.replace('"', "\"\""));
            line.push('"');
        } else {
            line.push_str(mark);
            line.push_str(cell);
        }
    }
}

/// Raw JSON as text: what a string says, anything else as it is written.
fn plain(raw: Cow<'_, str>) -> Cow<'_, str> {
    if raw.starts_with('"') {
        return serde_json::from_str(&raw).map_or(raw, Cow::Owned);
    }
    if raw == "null" { Cow::Borrowed("") } else { raw }
}

/// JSON as it was sent may have line breaks between its parts; in its texts they are escaped.
fn push_on_one_line(text: &mut String, raw: &str) {
    if memchr::memchr2(b'\n', b'\r', raw.as_bytes()).is_some() {
        text.push_str(&raw.replace(['\n', '\r'], " "));
    } else {
        text.push_str(raw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_where_they_must_be() {
        let writer = |count: usize, neutralizes: bool| Writer {
            headers: vec![String::new(); count],
            sources: Vec::new(),
            is_csv: true,
            dialect: Dialect { neutralizes, has_bom: false },
        };
        let check = |neutralizes: bool, cells: &[&str], expected: &str| {
            let mut line = String::new();
            let writer = writer(cells.len(), neutralizes);
            cells.iter().enumerate().for_each(|(index, cell)| writer.push_cell(&mut line, index, cell));
            assert_eq!(line, expected);
        };
        check(true, &["a", "b,c", "d\"e", "f\ng", "", "=h"], "a,\"b,c\",\"d\"\"e\",\"f\ng\",,'=h");
        check(false, &["=a", "=b,c"], "=a,\"=b,c\"");
        check(true, &["=HYPERLINK(\"x\",1)", ""], "\"'=HYPERLINK(\"\"x\"\",1)\",");
        check(true, &[""], "\"\"");
    }
}
