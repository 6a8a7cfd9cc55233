//! Which tables hold data, and what their cells say.

use super::flow::{BlockKind, Flow};
use super::{Context, Inside, Place, Writer, code, table};

/// A cell with more is a part of the page.
const CELL_CHARS_MAX: usize = 600;

impl Writer<'_> {
    pub(super) fn table(&self, node: Place<'_>, flow: &mut Flow, context: Context) {
        let rows = rows_of(node);
        if is_layout(node, &rows) {
            for cell in rows.iter().flatten().filter(|cell| self.kept.has(cell.id())) {
                if !code::is_line_numbers(*cell) || rows.len() > 2 {
                    self.children(*cell, flow, context);
                    flow.end_line();
                }
            }
            return;
        }
        for caption in children_named(node, "caption").filter(|caption| self.kept.has(caption.id())) {
            self.children(caption, flow, context);
            flow.end_line();
        }
        let cells =
            rows.iter().map(|row| row.iter().map(|cell| self.cell(*cell, context)).collect()).collect();
        if let Some(text) = table::written(cells) {
            return flow.block(text, BlockKind::Other);
        }
        for cell in rows.iter().flatten() {
            self.children(*cell, flow, context);
            flow.end_line();
        }
    }

    fn cell(&self, cell: Place<'_>, context: Context) -> table::Cell {
        let mut inner = Flow::default();
        if self.kept.has(cell.id()) {
            self.children(cell, &mut inner, Context { inside: Inside::Cell, ..context });
        }
        let span = |name: &str| {
            let told = cell.value().as_element().and_then(|cell| cell.attr(name)?.trim().parse().ok());
            told.unwrap_or(1)
        };
        table::Cell { text: inner.into_line("<br>"), columns: span("colspan"), rows: span("rowspan") }
    }
}

/// Whether a table only puts things side by side: code and its line numbers, boxes with headings.
fn is_layout(node: Place<'_>, rows: &[Vec<Place<'_>>]) -> bool {
    let role = node.value().as_element().and_then(|table| table.attr("role"));
    let cells = rows.iter().map(Vec::len).sum::<usize>();
    let has = |cell: &Place<'_>, names: &[&str]| {
        let mut elements = cell.descendants().skip(1).filter_map(|node| node.value().as_element());
        elements.any(|element| names.contains(&element.name()))
    };
    if matches!(role, Some("presentation" | "none")) || rows.iter().flatten().any(|cell| has(cell, &["pre"]))
    {
        return true;
    }
    let is_heavy = |cell: &&Place<'_>| {
        let texts = cell.descendants().filter_map(|node| node.value().as_text());
        has(cell, &["h1", "h2", "h3", "form"])
            || texts.map(|text| text.trim().len()).sum::<usize>() > CELL_CHARS_MAX
    };
    let heavy = rows.iter().flatten().filter(is_heavy).count();
    heavy > 0 && (cells <= 6 || heavy * 2 > cells)
}

/// The cells of a table's own rows, not of tables inside it.
fn rows_of(table: Place<'_>) -> Vec<Vec<Place<'_>>> {
    let parts = table.children().filter(|part| {
        part.value().as_element().is_some_and(|part| matches!(part.name(), "thead" | "tbody" | "tfoot"))
    });
    let rows = children_named(table, "tr").chain(parts.flat_map(|part| children_named(part, "tr")));
    let is_cell =
        |cell: &Place<'_>| cell.value().as_element().is_some_and(|it| matches!(it.name(), "td" | "th"));
    rows.map(|row| row.children().filter(is_cell).collect()).collect()
}

fn children_named<'a>(node: Place<'a>, name: &'static str) -> impl Iterator<Item = Place<'a>> {
    node.children().filter(move |child| child.value().as_element().is_some_and(|it| it.name() == name))
}
