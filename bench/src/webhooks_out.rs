//! Outbound webhooks: how many deliveries a local receiver gets, and what they cost processing.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::bare::Bare;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::processing::{ended, table};
use crate::rates::per_second;
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::Rowmill;
use crate::settling::COLUMNS;
use crate::store::Backend;

/// Writers of the events, one row each.
const CONNECTIONS: usize = 16;
/// Rows that are processed with and without a webhook.
const PROCESSED_ROWS: usize = 20_000;

pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    delivering(server, backend, scratch, effort, report)?;
    processing(server, backend, scratch, effort, report)
}

/// Deliveries of one row each that are all due at the same moment, to a receiver that answers at once.
fn delivering(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let receiver = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let folder = scratch.join("webhooks-out");
    crate::folders::clear(&folder)?;
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let webhook = subscribe(&rowmill, &receiver, "row.created")?;
    let rows = rowmill.create_project_of(&["Name"])?.rows_path();
    let requests: Vec<_> = (0..effort.round_deliveries)
        .map(|number| rowmill.request("POST", &rows, &json!({ "Name": format!("row {number}") }).to_string()))
        .collect();
    load::run(rowmill.address, CONNECTIONS, &requests, Until::Done, &|_, _| {})?;
    none_waits(&rowmill, &webhook)?;
    let mut figures = Vec::new();
    for _ in 0..effort.rounds {
        let start = Instant::now();
        let again = json!({ "since": "2020-01-01T00:00:00Z" }).to_string();
        let again = rowmill.ask("POST", &format!("{webhook}/replay"), &again)?;
        let again: Value = serde_json::from_slice(&again)?;
        let count = again.get("replayedCount").and_then(Value::as_u64).ok_or("nothing was sent again")?;
        none_waits(&rowmill, &webhook)?;
        figures.push(per_second(usize::try_from(count)?, start.elapsed()));
    }
    let what = "outbound webhook, one row a delivery, a receiver that answers at once";
    report.single(what, &figures, "deliveries/s", Some(Goal::AtLeast(2_000.0)));
    Ok(())
}

/// Cells over HTTP with a webhook that is told of each, beside the same without it.
fn processing(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let answer = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let folder = scratch.join("webhooks-out");
    crate::folders::clear(&folder)?;
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let rows = PROCESSED_ROWS.min(effort.round_rows);
    let path = table(&rowmill, &format!("http://{}/0", answer.address), rows)?;
    let webhook = subscribe(&rowmill, &answer, "cell.completed")?;
    let run = |is_told: bool| -> AnyResult<f64> {
        rowmill.ask("PATCH", &webhook, &json!({ "enabled": is_told }).to_string())?;
        let start = Instant::now();
        rowmill.ask("POST", &format!("{path}/trigger"), "{\"force\":true}")?;
        ended(&rowmill, &path)?;
        let rate = per_second(rows * COLUMNS, start.elapsed());
        // So that what is left does not slow the next one.
        none_waits(&rowmill, &webhook)?;
        Ok(rate)
    };
    let mut pairs = Pairs::default();
    for _ in 0..effort.rounds {
        let without = run(false)?;
        pairs.push(run(true)?, without);
    }
    let what = format!("cells over HTTP, {COLUMNS} dependent columns, each told to a webhook");
    report.pair(&what, "cells/s", &pairs, Some(Goal::AtLeast(0.9)));
    drop(rowmill);
    Ok(std::fs::remove_dir_all(folder)?)
}

/// A webhook for one event; gives its path.
fn subscribe(rowmill: &Rowmill, receiver: &Bare, event: &str) -> AnyResult<String> {
    let body = json!({ "url": format!("http://{}/0", receiver.address), "events": [event] }).to_string();
    let made: Value = serde_json::from_slice(&rowmill.ask("POST", "/v4/team/webhooks", &body)?)?;
    let id = made.pointer("/webhook/id").and_then(Value::as_str).ok_or("the webhook has no id")?;
    Ok(format!("/v4/team/webhooks/{id}"))
}

/// Waits until everything is delivered.
fn none_waits(rowmill: &Rowmill, webhook: &str) -> AnyResult {
    loop {
        let path = format!("{webhook}/deliveries?status=pending&pageSize=1");
        let listed: Value = serde_json::from_slice(&rowmill.ask("GET", &path, "")?)?;
        if listed.pointer("/deliveries/0").is_none() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
