//! Where a table's processing stands, and waiting for it.

use std::collections::BTreeMap;
use std::time::Duration;

use rowmill_app::{ListRows, ProcessingStatus, Start, StoredProject, WantedSlots};
use rowmill_model::filter::Operator;
use rowmill_model::plan::RunTally;
use rowmill_model::{Amount, CellError, CellStatus, Column, ErrorCode};
use serde_json::{Value, json};

use crate::advice::advice;
use crate::answer_size::{fit, put};
use crate::context::Context;
use crate::refusal::Refusal;
use crate::row_view::{timestamp, view};
use crate::value_text::cut;

/// The longest that a call waits.
pub(crate) const WAIT_SECONDS_MAX: u64 = 30;
const POLL: Duration = Duration::from_millis(250);

/// How many failed cells of a column are looked at, and of how many columns.
const FAILED_ROWS: u32 = 100;
const FAILED_COLUMNS: usize = 5;
const COLUMNS_CHARS_MAX: usize = 4_000;
const ERRORS_CHARS_MAX: usize = 4_000;

/// Waits until nothing is queued or running, for so many seconds at most.
pub(crate) async fn wait(
    context: &Context<'_>,
    project: &str,
    seconds: u64,
) -> Result<ProcessingStatus, Refusal> {
    let deadline = context.clock.monotonic() + Duration::from_secs(seconds.min(WAIT_SECONDS_MAX));
    let mut told = None;
    loop {
        let status = context.app.standing(context.caller(), project).await?;
        let is_over = context.clock.monotonic() >= deadline || context.should_end();
        if !status.tally.is_processing() || is_over {
            return Ok(status);
        }
        let (ended, all) = (status.tally.run().ended(), status.tally.run().ended() + status.tally.pending());
        if told.is_none_or(|told| told < ended) {
            told = Some(ended);
            context.report(ended, all, format!("{ended} of {all} cells")).await;
        }
        context.sleep(POLL).await;
    }
}

/// The status in numbers, with the columns by header.
pub(crate) fn numbers(status: &ProcessingStatus) -> Value {
    let ProcessingStatus { project, plan, tally, row_count, updated_at_ms: _, batches } = status;
    let rows = tally.rows(plan, *row_count);
    let processed: Vec<&Column> =
        project.table.columns.iter().filter(|column| column.kind.is_processed()).collect();
    let columns = processed.into_iter().map(|column| {
        let cells = tally.column(column.slot, *row_count);
        let counts = [
            ("idle", cells.idle),
            ("queued", cells.queued),
            ("generating", cells.generating),
            ("complete", cells.completed),
            ("stale", cells.stale),
            ("error", cells.error),
            ("skipped", cells.skipped),
        ];
        let mut shown = json!({ "header": column.header });
        for (name, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            put(&mut shown, name, count.into());
        }
        shown
    });
    let (columns, left_out) = fit(columns, COLUMNS_CHARS_MAX);
    let mut shown = json!({
        "processing": tally.is_processing(),
        "rows": {
            "total": rows.total, "complete": rows.complete, "idle": rows.idle, "queued": rows.queued,
            "generating": rows.generating, "error": rows.error,
        },
        "columns": columns,
    });
    if left_out > 0 {
        put(&mut shown, "columnsLeftOut", left_out.into());
    }
    if let Some(run) = run(status) {
        put(&mut shown, "run", run);
    }
    if !batches.is_empty() {
        let cells: u64 = batches.iter().map(|batch| batch.record.cells).sum();
        let words = "These cells wait for the provider's batches, which may take up to 24 hours.";
        put(&mut shown, "inBatches", json!({ "batches": batches.len(), "cells": cells, "note": words }));
    }
    shown
}

/// The present run, or the last one.
fn run(status: &ProcessingStatus) -> Option<Value> {
    let tally = &status.tally;
    let run = tally.run();
    if !tally.has_run() {
        return None;
    }
    let RunTally { done, empty, failed, skipped, stopped, spent, failures: _, skips: _ } = run;
    let mut shown = json!({
        "cells": tally.pending() + run.ended(),
        "done": done, "empty": empty, "failed": failed, "skipped": skipped, "stopped": stopped,
        "cost": spent.dollars().map(Amount::number),
    });
    if let Some(credits) = spent.credits {
        put(&mut shown, "credits", json!(credits.number()));
    }
    if let Some((cells, waits)) = tally.waiting() {
        put(
            &mut shown,
            "waiting",
            json!({
                "cells": cells,
                "reason": format!("{}: {}", waits.error.code.word(), cut(&waits.error.message, 200)),
                "until": timestamp(waits.until_ms),
            }),
        );
    }
    Some(shown)
}

/// The failures of each column by reason: how many, one example, and what to do.
pub(crate) async fn errors(
    context: &Context<'_>,
    stored: &StoredProject,
    status: &ProcessingStatus,
) -> Result<Vec<Value>, Refusal> {
    let failed = stored.project.table.columns.iter().filter(|column| {
        column.kind.is_processed() && status.tally.column(column.slot, status.row_count).error > 0
    });
    let mut reasons = Vec::new();
    for column in failed.take(FAILED_COLUMNS) {
        reasons.extend(reasons_of(context, stored, column).await?);
    }
    Ok(fit(reasons.into_iter(), ERRORS_CHARS_MAX).0)
}

async fn reasons_of(
    context: &Context<'_>,
    stored: &StoredProject,
    column: &Column,
) -> Result<Vec<Value>, Refusal> {
    let page = context.app.list_rows(stored, failed_cells(column, None, FAILED_ROWS)).await?;
    let mut examples: BTreeMap<&'static str, (CellError, String)> = BTreeMap::new();
    for row in &page.rows {
        let view = view(&stored.project.table, row)?;
        if let Some(error) = view.state(column).and_then(|state| state.error.as_ref()) {
            examples.entry(error.code.word()).or_insert_with(|| (error.clone(), row.id.to_string()));
        }
    }
    let mut reasons = Vec::with_capacity(examples.len());
    for (word, (error, row)) in examples {
        let count = context.app.list_rows(stored, failed_cells(column, Some(error.code), 1)).await?.total;
        reasons.push(json!({
            "column": column.header,
            "code": word,
            "cells": count,
            "example": { "row": row, "message": cut(&error.message, 300) },
            "do": advice(context, &error),
        }));
    }
    Ok(reasons)
}

/// The rows in which a column's cell failed, with one reason or any.
fn failed_cells(column: &Column, code: Option<ErrorCode>, limit: u32) -> ListRows {
    let filter = |operator: Operator, value: Value| json!({ "columnId": column.id.as_str(), "operator": operator.word(), "value": value });
    let mut filters = vec![filter(Operator::StatusIs, CellStatus::Error.word().into())];
    filters.extend(code.map(|code| filter(Operator::ErrorCodeIn, json!([code.word()]))));
    ListRows {
        view_id: None,
        filters: Some(Value::Array(filters)),
        sorting: None,
        search: None,
        start: Start::Offset(0),
        limit,
        include_total: true,
        slots: WantedSlots::none(),
    }
}
