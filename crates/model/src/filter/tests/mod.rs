//! Filters, from what is sent to which rows they show.

mod document;
mod operators;
mod patterns;
mod reading;
mod states;
mod types;

use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::*;
use crate::cell::CellStates;
use crate::column::{ColumnType, ReferenceConfig};
use crate::ids::ColumnId;
use crate::limits::Limits;
use crate::record::Record;
use crate::row::RowView;
use crate::table::Table;

/// A Friday; its week began on 6 May.
const NOW: &str = "2024-05-10T12:00:00Z";

/// `_trigger` (slot 0), `col_a` (1), `col_b` (2), an AI column `col_ai` (3) and `col_ref`, which follows
/// `guest.email` in `_trigger`.
fn table() -> Table {
    let mut table = Table::new();
    for (id, header) in [("col_a", "Name"), ("col_b", "B"), ("col_ai", "Response"), ("col_ref", "E-mail")] {
        table.push_manual(ColumnId::new(id), header);
    }
    for column in &mut table.columns {
        match column.id.as_str() {
            "col_ai" => column.kind = ColumnType::Ai,
            "col_ref" => {
                column.kind = ColumnType::Reference;
                column.reference_config = Some(ReferenceConfig {
                    column_id: "_trigger".to_owned(),
                    path: "guest.email".to_owned(),
                });
            }
            _ => {}
        }
    }
    table
}

fn parse(sent: &Json) -> Filters {
    Filters::parse(sent, "filters", &table(), &Limits::default())
        .unwrap_or_else(|offences| panic!("{sent}: {offences:?}"))
}

fn holds_in(sent: &Json, cells: &[(u32, &str)], states: &CellStates, now: &str) -> bool {
    let table = table();
    let record = Record::pack(cells.iter().copied());
    let row = RowView::new(&table, record.cells().unwrap(), states);
    let now: Timestamp = now.parse().unwrap();
    Predicate::compile(&parse(sent), &table).holds(&row, now)
}

/// Whether filters hold for a row with one value, in `col_a`.
fn holds(sent: &Json, cell: &str) -> bool {
    holds_in(sent, &[(1, cell)], &CellStates::default(), NOW)
}

fn filter(operator: &str, value: &Json) -> Json {
    json!([{"columnId": "col_a", "operator": operator, "value": value}])
}
