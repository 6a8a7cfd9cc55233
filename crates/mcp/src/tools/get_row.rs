//! `get_row`: one row with everything known of its cells.

use rowmill_model::path::allowance::{self, ROW_VISITS_MAX};
use serde_json::{Map, Value, json};

use crate::answer_size::{LIST_CHARS_MAX, chars, put};
use crate::arguments::Arguments;
use crate::context::Context;
use crate::names;
use crate::refusal::{Outcome, Refusal};
use crate::row_view::{view, whole_cell};
use crate::tables;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let name = arguments.required_text("table");
    let row = arguments.required_text("row");
    let columns = arguments.texts("columns");
    let offset = arguments.number("offset", 0, u64::MAX).unwrap_or_default();
    if offset > 0 && columns.as_ref().is_none_or(|columns| columns.len() != 1) {
        arguments.problem("offset", "needs exactly one column in columns, whose value it is read from");
    }
    arguments.finish()?;
    let stored = tables::find(context, &name).await?;
    let found = context.app.row(context.caller(), &stored.project.id.to_string(), row.trim()).await;
    let (stored, row) = match found {
        Err(rowmill_app::Error::NotFound(_)) => {
            return Err(Refusal::new(format!(
                "Table {:?} has no row with the id {row:?}.",
                stored.project.title
            ))
            .next("query_rows lists rows with their ids."));
        }
        found => found?,
    };
    let table = &stored.project.table;
    let columns = names::columns(table, "columns", columns.as_deref()).map_err(Refusal::problems)?;
    let view = view(table, &row)?;
    let offset = usize::try_from(offset).unwrap_or(usize::MAX);
    let mut cells = Map::new();
    let mut left_out = Vec::new();
    let mut used = 0;
    let mut visits_left = ROW_VISITS_MAX;
    for (index, column) in columns.iter().enumerate() {
        // What is left is shared by the columns that are still to come.
        let left = LIST_CHARS_MAX.saturating_sub(used);
        let share = (left / (columns.len() - index)).max(LIST_CHARS_MAX / 20);
        let (cell, visits) =
            allowance::within(visits_left, || Value::Object(whole_cell(&view, column, offset, share)));
        visits_left -= visits;
        used += chars(&cell) + column.header.chars().count() + 4;
        if used > LIST_CHARS_MAX + 500 && !cells.is_empty() {
            left_out.push(column.header.as_str());
            continue;
        }
        cells.insert(column.header.clone(), cell);
    }
    let mut answer = json!({ "id": row.id.to_string(), "cells": cells });
    if !left_out.is_empty() {
        let named: Vec<&str> = left_out.iter().copied().take(20).collect();
        put(&mut answer, "leftOut", json!({ "count": left_out.len(), "columns": named }));
    }
    Ok(answer)
}
