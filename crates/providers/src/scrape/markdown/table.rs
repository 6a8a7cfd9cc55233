//! Tables: cells that span rows or columns are spread out, for Markdown knows none.

/// Wider tables are no tables for readers.
const COLUMNS_MAX: usize = 100;
/// A longer text is not written again in each row that its cell spans.
const REPEATED_CHARS_MAX: usize = 200;

/// One cell as its page has it.
#[derive(Debug, Clone, Default)]
pub(super) struct Cell {
    /// One line.
    pub(super) text: String,
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// A table in Markdown, whose first row is its head; `None` unless it has two rows and two columns.
pub(super) fn written(rows: Vec<Vec<Cell>>) -> Option<String> {
    let grid = spread(rows);
    let width = grid.iter().map(Vec::len).max().unwrap_or_default();
    if grid.len() < 2 || width < 2 {
        return None;
    }
    let mut out = String::new();
    for (number, row) in grid.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let texts = row.iter().map(String::as_str).chain(std::iter::repeat("")).take(width);
        push_row(&mut out, texts);
        if number == 0 {
            out.push('\n');
            push_row(&mut out, std::iter::repeat_n("---", width));
        }
    }
    Some(out)
}

fn push_row<'a>(out: &mut String, texts: impl Iterator<Item = &'a str>) {
    out.push('|');
    for text in texts {
        out.push(' ');
        // A bar ends a cell, also within code.
        out.push_str(&text.replace('|', "\\|"));
        out.push_str(if text.is_empty() { "|" } else { " |" });
    }
}

/// The rows with each text in its column. What spans rows is repeated, for a row should say all it says by
/// itself; what spans columns stands in the first of them. Rows without a word fall away.
fn spread(rows: Vec<Vec<Cell>>) -> Vec<Vec<String>> {
    // By column: how many rows a cell above still spans, and its text.
    let mut above: Vec<(usize, String)> = Vec::new();
    let mut grid = Vec::new();
    for cells in rows {
        let mut row: Vec<String> = Vec::new();
        let mut cells = cells.into_iter();
        loop {
            if let Some((left, text)) = above.get_mut(row.len()).filter(|(left, _)| *left > 0) {
                *left -= 1;
                row.push(text.clone());
                continue;
            }
            let Some(cell) = cells.next().filter(|_| row.len() < COLUMNS_MAX) else { break };
            let is_short = cell.text.chars().count() <= REPEATED_CHARS_MAX;
            for number in 0..cell.columns.clamp(1, COLUMNS_MAX - row.len()) {
                let text = if number == 0 { cell.text.clone() } else { String::new() };
                if above.len() <= row.len() {
                    above.resize(row.len() + 1, (0, String::new()));
                }
                if let Some(place) = above.get_mut(row.len()) {
                    let repeated = if is_short { text.clone() } else { String::new() };
                    *place = (cell.rows.saturating_sub(1), repeated);
                }
                row.push(text);
            }
        }
        if row.iter().any(|text| !text.is_empty()) {
            grid.push(row);
        }
    }
    grid
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(text: &str, columns: usize, rows: usize) -> Cell {
        Cell { text: text.to_owned(), columns, rows }
    }

    #[test]
    fn spans_are_spread_out() {
        let table = vec![
            vec![cell("Name", 1, 1), cell("Price", 2, 1)],
            vec![cell("Mill", 1, 2), cell("1|2", 1, 1), cell("EUR", 1, 1)],
            vec![cell("3", 1, 1)],
        ];
        let expected = "| Name | Price | |\n| --- | --- | --- |\n| Mill | 1\\|2 | EUR |\n| Mill | 3 | |";
        assert_eq!(written(table).as_deref(), Some(expected));
    }

    #[test]
    fn odd_tables_do_no_harm() {
        assert_eq!(written(vec![vec![cell("a", 1, 1)], vec![cell("b", 1, 1)]]), None);
        assert_eq!(written(vec![vec![cell("a", 1, 1), cell("b", 1, 1)]]), None);
        assert_eq!(written(vec![]), None);
        let wide = vec![vec![cell("a", usize::MAX, usize::MAX); 3], vec![cell("b", 0, 0); 500]];
        let wide = written(wide).unwrap_or_default();
        assert!(wide.len() < 10_000, "{}", wide.len());
    }
}
