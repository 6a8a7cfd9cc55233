//! Rows as an agent sees them: cells by header, long values cut, states in words.

use jiff::Timestamp;
use rowmill_app::{Error, StoredRow};
use rowmill_model::cell::Outcome as CellOutcome;
use rowmill_model::path::allowance;
use rowmill_model::row::RowView;
use rowmill_model::{CellState, CellStatus, Column, ColumnType, Table};
use serde_json::{Map, Value, json};

use crate::answer_size::{chars, put};
use crate::refusal::Refusal;
use crate::value_text::{Part, cut, parsed, shown};

/// Messages of providers can be long.
const MESSAGE_CHARS_MAX: usize = 200;

/// How much of a row is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Room {
    pub(crate) cell_chars_max: usize,
    pub(crate) row_chars_max: usize,
}

impl Room {
    /// Shares out an answer between rows and columns.
    pub(crate) fn share(chars_max: usize, rows: usize, columns: usize) -> Self {
        const CELL_CHARS: std::ops::RangeInclusive<usize> = 40..=1_000;
        let each = chars_max / (rows.max(1) * columns.max(1));
        Self { cell_chars_max: each.clamp(*CELL_CHARS.start(), *CELL_CHARS.end()), row_chars_max: chars_max }
    }
}

/// A row in a list. Cells without a value are left out; so are states that say nothing.
pub(crate) fn brief(
    table: &Table,
    columns: &[&Column],
    row: &StoredRow,
    room: Room,
) -> Result<Value, Refusal> {
    let view = view(table, row)?;
    let mut cells = Map::new();
    let mut states = Map::new();
    let mut used = 0;
    let mut left_out = 0;
    for column in columns {
        let value = view.value(column).filter(|raw| raw != "null");
        if value.is_none() && is_beyond_bounds(column) {
            left_out += 1;
            continue;
        }
        let value = value.map(|raw| shown(&raw, room.cell_chars_max));
        let state = state_words(&view, column);
        let size =
            |part: Option<&Value>| part.map_or(0, |part| chars(part) + column.header.chars().count() + 4);
        used += size(value.as_ref()) + size(state.as_ref());
        if used > room.row_chars_max && !cells.is_empty() {
            left_out += 1;
            continue;
        }
        cells.extend(value.map(|value| (column.header.clone(), value)));
        states.extend(state.map(|state| (column.header.clone(), state)));
    }
    let mut shown = json!({ "id": row.id.to_string(), "cells": cells });
    if let Some(fields) = shown.as_object_mut() {
        if !states.is_empty() {
            fields.insert("states".to_owned(), Value::Object(states));
        }
        if left_out > 0 {
            fields.insert("columnsLeftOut".to_owned(), left_out.into());
        }
    }
    Ok(shown)
}

/// Whether a column's path was not followed, because those before it have looked at as much as an answer may.
fn is_beyond_bounds(column: &Column) -> bool {
    column.kind == ColumnType::Reference && allowance::is_spent()
}

/// How a processed cell stands, where that is not plain from its value.
fn state_words(view: &RowView<'_>, column: &Column) -> Option<Value> {
    let state = view.state(column)?;
    let because = |word: &str| match &state.error {
        Some(error) => format!("{word}: {}: {}", error.code.word(), cut(&error.message, MESSAGE_CHARS_MAX)),
        None => word.to_owned(),
    };
    let words = match state.status {
        CellStatus::Queued => because("queued"),
        CellStatus::Generating => "generating".to_owned(),
        CellStatus::Error => because("error"),
        CellStatus::Skipped => because("skipped"),
        CellStatus::Completed if state.stale => "stale".to_owned(),
        CellStatus::Completed if state.outcome == Some(CellOutcome::NoData) => "no data".to_owned(),
        CellStatus::Idle | CellStatus::Completed => return None,
    };
    Some(words.into())
}

/// One cell with everything known of it; of a long value the part from `offset` on.
pub(crate) fn whole_cell(
    view: &RowView<'_>,
    column: &Column,
    offset: usize,
    chars_max: usize,
) -> Map<String, Value> {
    let found = view.value(column);
    let mut cell = Map::new();
    if found.is_none() && is_beyond_bounds(column) {
        let words = "not read: the paths of this row look at too many values; ask for fewer columns";
        cell.insert("problem".to_owned(), words.into());
    }
    let raw = found.unwrap_or_else(|| "null".into());
    let part = Part::of(&raw, offset, chars_max);
    if part.is_whole() {
        cell.insert("value".to_owned(), parsed(&raw));
    } else {
        let form = if part.is_text { "text" } else { "JSON" };
        let mut cut = json!({ "from": part.from, "to": part.to, "of": part.of, "form": form });
        if part.to < part.of {
            put(
                &mut cut,
                "readOn",
                json!(format!("get_row with columns [{:?}] and offset {}", column.header, part.to)),
            );
        }
        cell.insert("value".to_owned(), part.text.into());
        cell.insert("cut".to_owned(), cut);
    }
    cell.insert("status".to_owned(), view.status(column).word().into());
    if let Some(state) = view.state(column) {
        cell.extend(details(state));
    }
    cell
}

fn details(state: &CellState) -> Map<String, Value> {
    let CellState { status: _, stale, manual, outcome, error, attempts, retry_at_ms, updated_at_ms, meta } =
        state;
    let error = error.as_ref().map(
        |error| json!({ "code": error.code.word(), "message": cut(&error.message, 2 * MESSAGE_CHARS_MAX) }),
    );
    let found = [
        ("stale", stale.then_some(true.into())),
        ("manual", manual.then_some(true.into())),
        ("outcome", outcome.map(|outcome| json!(outcome))),
        ("error", error),
        ("attempts", (*attempts > 0).then(|| (*attempts).into())),
        ("retryAt", retry_at_ms.map(|at| timestamp(at).into())),
        ("updatedAt", updated_at_ms.map(|at| timestamp(at).into())),
        ("meta", meta.clone().map(Value::Object)),
    ];
    found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

pub(crate) fn view<'a>(table: &'a Table, row: &'a StoredRow) -> Result<RowView<'a>, Refusal> {
    Ok(RowView::new(table, row.values.cells().map_err(Error::from)?, &row.states))
}

/// A moment, as ISO 8601 in UTC with milliseconds.
pub(crate) fn timestamp(unix_ms: i64) -> String {
    format!("{:.3}", Timestamp::from_millisecond(unix_ms).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use rowmill_model::{CellStates, ColumnId, Record, RowId};

    use super::*;

    fn row(values: &[&str]) -> StoredRow {
        StoredRow {
            id: RowId::parse("row_0190f0e0b3c47d5e8f60123456789abc").unwrap(),
            position: 0,
            values: Record::pack((0..).zip(values.iter().copied())),
            states: CellStates::default(),
        }
    }

    #[test]
    fn rows_are_short_however_long_their_values() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_1"), "Text");
        table.push_manual(ColumnId::new("col_2"), "Nothing");
        let long = format!("\"{}\"", "x".repeat(100_000));
        let row = row(&["\"in\"", &long, "null"]);
        let columns: Vec<&Column> = table.columns.iter().collect();
        let shown = brief(&table, &columns, &row, Room::share(8_000, 25, 3)).unwrap();
        assert_eq!(shown["cells"]["Input"], "in");
        assert!(shown["cells"]["Text"].as_str().unwrap().contains("[cut: 100000 characters"));
        assert_eq!(shown["cells"].get("Nothing"), None);
        assert!(chars(&shown) < 400, "{}", chars(&shown));

        let view = view(&table, &row).unwrap();
        let cell = whole_cell(&view, &table.columns[1], 10, 100);
        assert_eq!(cell["cut"]["from"], 10);
        assert_eq!(cell["cut"]["to"], 110);
        assert_eq!(whole_cell(&view, &table.columns[0], 0, 100)["value"], "in");
    }

    #[test]
    fn a_wide_row_leaves_columns_out_and_says_so() {
        let mut table = Table::new();
        let ids: Vec<String> = (0..300).map(|index| format!("col_{index}")).collect();
        for id in &ids {
            table.push_manual(ColumnId::new(id.as_str()), &format!("A long header of the column {id}"));
        }
        let values = vec!["\"some value in a cell\""; 301];
        let columns: Vec<&Column> = table.columns.iter().collect();
        let shown = brief(&table, &columns, &row(&values), Room::share(8_000, 1, 301)).unwrap();
        assert!(shown["columnsLeftOut"].as_u64().unwrap() > 100);
        assert!(chars(&shown) < 9_000);
    }
}
