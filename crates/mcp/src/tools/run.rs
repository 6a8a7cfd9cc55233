//! `run`: queues cells, after a dry run that says how many and at what cost.

use rowmill_app::{StoredProject, TriggerMode, TriggerRows, TriggeredRows};
use rowmill_model::{CellStatus, ErrorCode};
use serde_json::{Value, json};

use crate::answer_size::put;
use crate::arguments::{Arguments, unknown_name};
use crate::context::Context;
use crate::names;
use crate::processing::{WAIT_SECONDS_MAX, numbers, wait};
use crate::refusal::{Outcome, Refusal};
use crate::selection::{Chosen, refused};
use crate::{cost, tables};

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
    let run = Run { context, stored: &stored, trigger };
    if dry_run { run.rehearse().await } else { run.start(seconds).await }
}

struct Run<'a> {
    context: &'a Context<'a>,
    stored: &'a StoredProject,
    trigger: TriggerRows,
}

impl Run<'_> {
    async fn trigger(&self, trigger: TriggerRows) -> Result<TriggeredRows, Refusal> {
        let project = self.stored.project.id.to_string();
        self.context.app.trigger(self.context.caller(), &project, trigger).await.map_err(refused)
    }

    /// Says what would run.
    async fn rehearse(&self) -> Outcome {
        let dry = TriggerRows { mode: TriggerMode::DryRun, ..self.trigger.clone() };
        let TriggeredRows { count, estimate, .. } = self.trigger(dry).await?;
        let mut answer = json!({
            "dryRun": true, "rows": count, "cells": Value::Null, "estimatedCost": Value::Null,
            "costNote": "Unknown for so many columns; name some.",
            "next": "To run them, repeat with dryRun false.",
        });
        if let Some(estimate) = estimate {
            put(&mut answer, "cells", estimate.cells.into());
            put(&mut answer, "estimatedCost", cost::likely(&estimate));
            put(&mut answer, "costNote", cost::note(&estimate).into());
            put(&mut answer, "estimate", cost::shown(&estimate));
        }
        Ok(answer)
    }

    async fn start(&self, seconds: u64) -> Outcome {
        let rows = self.trigger(self.trigger.clone()).await?.count;
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
