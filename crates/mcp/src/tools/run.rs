//! `run`: queues cells, after a dry run that says how many and at what cost.

use rowmill_app::{StoredProject, TriggerRows};
use rowmill_model::{CellStatus, Column, ErrorCode};
use serde_json::{Value, json};

use crate::answer_size::put;
use crate::arguments::{Arguments, unknown_name};
use crate::context::Context;
use crate::cost::estimate;
use crate::names;
use crate::processing::{WAIT_SECONDS_MAX, numbers, wait};
use crate::refusal::{Outcome, Refusal};
use crate::selection::{Chosen, refused};
use crate::tables;

/// The cells of more columns are not counted one by one.
const COUNTED_COLUMNS_MAX: usize = 20;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let stored = tables::of(context, arguments).await?;
    let dry_run = arguments.flag("dryRun").unwrap_or(true);
    let seconds = arguments.number("wait", 0, WAIT_SECONDS_MAX).unwrap_or_default();
    let columns = arguments.texts("columns");
    let mut trigger = TriggerRows {
        row_ids: arguments.texts("rows"),
        statuses: words(arguments, "statuses", CellStatus::parse, &CellStatus::ALL.map(CellStatus::word)),
        error_codes: words(arguments, "errorCodes", ErrorCode::parse, &ErrorCode::ALL.map(ErrorCode::word)),
        limit: arguments.number("limit", 1, 1_000_000_000),
        force: arguments.flag("force").unwrap_or_default(),
        ..TriggerRows::default()
    };
    let table = &stored.project.table;
    let chosen = Chosen::read(arguments, table, &stored.views);
    let named = names::columns(table, "columns", columns.as_deref());
    let named = named.map_err(|problems| arguments.problems(problems)).unwrap_or_default();
    arguments.finish()?;
    if columns.is_some() {
        trigger.column_ids = Some(names::ids(&named));
    }
    let Chosen { view_id, filters, sorting, search } = chosen;
    trigger = TriggerRows { view_id, filters, sorting, search, ..trigger };
    let processed: Vec<&Column> = named.into_iter().filter(|column| column.kind.is_processed()).collect();
    let run = Run { context, stored: &stored, trigger };
    if dry_run { run.rehearse(&processed).await } else { run.start(seconds).await }
}

struct Run<'a> {
    context: &'a Context<'a>,
    stored: &'a StoredProject,
    trigger: TriggerRows,
}

impl Run<'_> {
    async fn queue(&self, trigger: TriggerRows) -> Result<u64, Refusal> {
        let project = self.stored.project.id.to_string();
        let queued = self.context.app.trigger(self.context.caller(), &project, trigger).await;
        queued.map(|queued| queued.count).map_err(refused)
    }

    /// Says what would run.
    async fn rehearse(&self, columns: &[&Column]) -> Outcome {
        let dry = || TriggerRows { dry_run: true, ..self.trigger.clone() };
        let rows = self.queue(dry()).await?;
        let mut answer = json!({
            "dryRun": true, "rows": rows, "cells": Value::Null, "estimatedCost": Value::Null,
            "costNote": "Unknown for so many columns; name some.",
            "next": "To run them, repeat with dryRun false.",
        });
        if columns.len() > COUNTED_COLUMNS_MAX {
            return Ok(answer);
        }
        let mut cells = Vec::with_capacity(columns.len());
        for column in columns {
            let one = TriggerRows { column_ids: Some(vec![column.id.to_string()]), ..dry() };
            cells.push((*column, self.queue(one).await?));
        }
        let estimate = estimate(self.context, self.stored, &cells).await?;
        put(&mut answer, "cells", cells.iter().map(|(_, count)| count).sum::<u64>().into());
        put(&mut answer, "estimatedCost", estimate.cost());
        put(&mut answer, "costNote", estimate.note().into());
        Ok(answer)
    }

    async fn start(&self, seconds: u64) -> Outcome {
        let rows = self.queue(self.trigger.clone()).await?;
        let status = wait(self.context, &self.stored.project.id.to_string(), seconds).await?;
        let mut answer = json!({ "dryRun": false, "rows": rows, "status": numbers(&status) });
        put(
            &mut answer,
            "next",
            if status.tally.is_processing() {
                json!("Call run_status with wait 30 until processing is false; stop_run stops it.")
            } else {
                json!("It is done. run_status tells why cells failed; query_rows reads the results.")
            },
        );
        Ok(answer)
    }
}

/// A list of words, each of which must be known.
fn words<T>(
    arguments: &mut Arguments,
    name: &str,
    parse: impl Fn(&str) -> Option<T>,
    known: &[&'static str],
) -> Option<Vec<T>> {
    let sent = arguments.texts(name)?;
    let mut found = Vec::with_capacity(sent.len());
    for (index, word) in sent.iter().enumerate() {
        if let Some(parsed) = parse(word) {
            found.push(parsed);
        } else {
            let path = format!("{name}[{index}]");
            arguments.problems(vec![unknown_name(&path, word, "one of these", known.iter().copied())]);
        }
    }
    Some(found)
}
