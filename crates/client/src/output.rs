//! Standard output: JSON as the server sent it, or text for people.

use std::io::{IsTerminal as _, Write as _};

use console::{Term, measure_text_width, truncate_str};
use serde_json::value::RawValue;

/// A cell of text is cut to this many columns of a terminal.
const CELL_WIDTH_MAX: usize = 40;

pub(crate) fn print_line(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// Prints a JSON array in parts, so that a long one need not be held.
#[derive(Debug, Default)]
pub(crate) struct JsonArray {
    count: usize,
}

impl JsonArray {
    pub(crate) fn print(&mut self, entries: &[Box<RawValue>]) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        for entry in entries {
            let before = if self.count == 0 { "[" } else { "," };
            write!(out, "{before}\n{entry}")?;
            self.count += 1;
        }
        out.flush()
    }

    pub(crate) fn end(self) -> std::io::Result<()> {
        print_line(if self.count == 0 { "[]" } else { "\n]" })
    }
}

/// Lines of text under headers: aligned on a terminal, with tabs between cells elsewhere.
#[derive(Debug)]
pub(crate) struct Grid {
    headers: Vec<String>,
    terminal_width: Option<usize>,
    /// Those of the first rows hold for all that follow.
    widths: Option<Vec<usize>>,
}

impl Grid {
    pub(crate) fn new(headers: &[&str]) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        let terminal_width = is_terminal.then(|| usize::from(Term::stdout().size().1).max(20));
        Self::within(terminal_width, headers)
    }

    fn within(terminal_width: Option<usize>, headers: &[&str]) -> Self {
        let headers = headers.iter().map(|header| plain(header)).collect();
        Self { headers, terminal_width, widths: None }
    }

    /// Prints rows, and before the first ones the headers.
    pub(crate) fn print(&mut self, rows: &[Vec<String>]) -> std::io::Result<()> {
        let text = self.text(rows);
        let mut out = std::io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    fn text(&mut self, rows: &[Vec<String>]) -> String {
        let rows: Vec<Vec<String>> =
            rows.iter().map(|row| row.iter().map(|cell| plain(cell)).collect()).collect();
        let is_first = self.widths.is_none();
        if is_first {
            self.widths = Some(widths(&self.headers, &rows));
        }
        let mut text = String::new();
        for row in is_first.then_some(&self.headers).into_iter().chain(&rows) {
            text.push_str(&self.line(row));
            text.push('\n');
        }
        text
    }

    fn line(&self, row: &[String]) -> String {
        let Some(terminal_width) = self.terminal_width else { return row.join("\t") };
        let mut line = String::new();
        for (cell, width) in row.iter().zip(self.widths.iter().flatten()) {
            let cell = truncate_str(cell, *width, "…");
            line.push_str(&cell);
            // Two blanks between cells.
            line.extend(std::iter::repeat_n(' ', width.saturating_sub(measure_text_width(&cell)) + 2));
        }
        truncate_str(line.trim_end(), terminal_width, "…").into_owned()
    }
}

fn widths(headers: &[String], rows: &[Vec<String>]) -> Vec<usize> {
    let width_of = |index: usize, header: &String| {
        let cells = rows.iter().filter_map(|row| row.get(index)).map(|cell| measure_text_width(cell));
        cells.chain([measure_text_width(header)]).max().unwrap_or_default().min(CELL_WIDTH_MAX)
    };
    headers.iter().enumerate().map(|(index, header)| width_of(index, header)).collect()
}

/// A value as text: a string as it is, nothing for null, any other value as its JSON.
pub(crate) fn text_of(value: &RawValue) -> String {
    match value.get() {
        "null" => String::new(),
        text if text.starts_with('"') => serde_json::from_str(text).unwrap_or_else(|_| text.to_owned()),
        other => other.to_owned(),
    }
}

/// Text on one line. Control characters are written out: cells may hold what strangers wrote, and a terminal obeys them.
pub(crate) fn plain(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.to_owned();
    }
    let written = |character: char| match character {
        '\n' | '\r' | '\t' => character.escape_default().to_string(),
        character if character.is_control() => character.escape_unicode().to_string(),
        character => character.to_string(),
    };
    text.chars().map(written).collect()
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// Cuts text for one line of an event.
pub(crate) fn shortened(text: &str) -> String {
    truncate_str(&plain(text), CELL_WIDTH_MAX, "…").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Vec<String>> {
        [["1", "a\tb"], ["222", "x\u{1b}[31m"]].map(|row| row.map(str::to_owned).to_vec()).to_vec()
    }

    #[test]
    fn tabs_elsewhere_and_nothing_a_terminal_obeys() {
        let mut grid = Grid::within(None, &["ID", "NAME"]);
        assert_eq!(grid.text(&rows()), "ID\tNAME\n1\ta\\tb\n222\tx\\u{1b}[31m\n");
        assert_eq!(grid.text(&rows()[..1]), "1\ta\\tb\n");
    }

    #[test]
    fn aligned_and_cut_on_a_terminal() {
        let mut grid = Grid::within(Some(12), &["ID", "NAME"]);
        assert_eq!(grid.text(&rows()), "ID   NAME\n1    a\\tb\n222  x\\u{1b…\n");
        let mut grid = Grid::within(Some(200), &["A", "B"]);
        let long = vec![vec!["x".repeat(50), "y".to_owned()]];
        let expected = format!("A{}  B\n{}…  y\n", " ".repeat(39), "x".repeat(39));
        assert_eq!(grid.text(&long), expected);
    }

    #[test]
    fn values_keep_their_digits() {
        let check = |json: &str, text: &str| {
            assert_eq!(text_of(&RawValue::from_string(json.to_owned()).unwrap()), text);
        };
        check("1.50", "1.50");
        check("\"a\\nb\"", "a\nb");
        check("null", "");
        check("{\"a\":1}", "{\"a\":1}");
    }
}
