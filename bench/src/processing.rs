//! Cells run to their end: beside the bare client making the same calls, and the bare store settling them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rowmill_clock::SystemClock;
use rowmill_providers::ssrf_guard::Request;
use rowmill_providers::{AllowList, Client, NetworkPolicy};
use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::bare::Bare;
use crate::effort::Effort;
use crate::rates::{count, per_second};
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::Rowmill;
use crate::runtime::runtime;
use crate::settling::{self, COLUMNS};
use crate::store::Backend;

/// Calls at the same time, of the service and of the bare client.
const AT_ONCE: usize = 64;
const INSERT: usize = 10_000;

/// Everything for tables of this many rows. Calls are made for 100,000 of them at most.
pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    settling::measure(backend, scratch, rows.min(100_000), effort, report)?;
    calling(server, backend, scratch, rows.min(100_000), effort, report)?;
    watching(server, backend, scratch, rows, report)
}

/// The whole service over HTTP against a server that answers at once, beside the bare client.
fn calling(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let answer = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let url = format!("http://{}/0", answer.address);
    let folder = scratch.join("calling");
    std::fs::create_dir_all(&folder)?;
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let path = table(&rowmill, &url, rows)?;
    let mut pairs = Pairs::default();
    let mut overheads = Vec::new();
    for _ in 0..effort.rounds {
        // As many calls as cells: what the machine gives changes from second to second.
        let bare = bare_calls(&url, rows * COLUMNS)?;
        let (busy, start) = (rowmill.processor_time()?, Instant::now());
        rowmill.ask("POST", &format!("{path}/trigger"), "{\"force\":true}")?;
        ended(&rowmill, &path)?;
        pairs.push(per_second(rows * COLUMNS, start.elapsed()), bare);
        let processor = (rowmill.processor_time()?.saturating_sub(busy)).as_secs_f64();
        overheads.push(processor * 1_000_000.0 / count(rows * COLUMNS));
    }
    let what = format!("cells over HTTP, {COLUMNS} dependent columns, {AT_ONCE} at once, an instant server");
    report.pair(&what, "cells/s", &pairs, Some(Goal::AtLeast(0.6)));
    report.single("processor time a cell, the call included", &overheads, "µs", Some(Goal::AtMost(1_000.0)));
    drop(rowmill);
    Ok(std::fs::remove_dir_all(folder)?)
}

/// Trigger, status and stop on a large table while it is processed.
fn watching(server: &Path, backend: &Backend, scratch: &Path, rows: usize, report: &mut Report) -> AnyResult {
    let answer = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let folder = scratch.join("watching");
    std::fs::create_dir_all(&folder)?;
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let path = table(&rowmill, &format!("http://{}/0", answer.address), rows)?;
    let before = rowmill.memory()?.resident;
    let timed = |method: &str, rest: &str| -> AnyResult<(f64, Value)> {
        let start = Instant::now();
        let answer =
            rowmill.ask(method, &format!("{path}{rest}"), if method == "GET" { "" } else { "{}" })?;
        Ok((start.elapsed().as_secs_f64() * 1_000.0, serde_json::from_slice(&answer)?))
    };
    let (trigger, answer) = timed("POST", "/trigger")?;
    if answer.get("triggeredCount") != Some(&json!(rows)) {
        return Err(format!("not all rows were triggered: {answer}").into());
    }
    let mut waits = Vec::new();
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        let (wait, status) = timed("GET", "/status")?;
        waits.push(wait);
        if status.get("processing") == Some(&json!(false)) {
            break;
        }
    }
    waits.sort_by(f64::total_cmp);
    let last = waits.get(waits.len() * 99 / 100).copied().unwrap_or_default();
    let after = rowmill.memory()?.resident;
    let (stop, _) = timed("POST", "/stop")?;
    report.single("trigger of all rows, to the answer", &[trigger], "ms", None);
    report.single("status while processing, 99th percentile", &[last], "ms", Some(Goal::AtMost(5.0)));
    report.single("stop of all rows, to the answer", &[stop], "ms", Some(Goal::AtMost(2_000.0)));
    let grown = after.saturating_sub(before) / (1024 * 1024);
    report.line("memory that processing took, beyond the inserts'", &format!("{grown} MB"), "");
    drop(rowmill);
    Ok(std::fs::remove_dir_all(folder)?)
}

/// A project with rows and dependent columns that ask the server; gives its path.
pub(crate) fn table(rowmill: &Rowmill, url: &str, rows: usize) -> AnyResult<String> {
    let body = json!({ "title": "Bench", "columns": [{ "templateId": "manual", "header": "Name" }] });
    let made: Value = serde_json::from_slice(&rowmill.ask("POST", "/v4/projects", &body.to_string())?)?;
    let id = made.pointer("/project/id").and_then(Value::as_str).ok_or("the project has no id")?;
    let path = format!("/v4/projects/{id}");
    for number in 0..COLUMNS {
        let needs = if number == 0 { "Name".to_owned() } else { format!("Column {}", number - 1) };
        let query =
            json!({ "name": "@{Name}", "number": number.to_string(), "before": format!("@{{{needs}}}") });
        let column = json!({
            "templateId": "http-api", "header": format!("Column {number}"),
            "apiConfig": { "url": url, "query": query },
        });
        rowmill.ask("POST", &format!("{path}/columns"), &column.to_string())?;
    }
    for first in (0..rows).step_by(INSERT) {
        let batch =
            (first..rows.min(first + INSERT)).map(|number| json!({ "Name": format!("row {number}") }));
        let body = Value::from(batch.collect::<Vec<_>>()).to_string();
        rowmill.ask("POST", &format!("{path}/rows"), &body)?;
    }
    Ok(path)
}

/// Waits for the end of a run in which nothing failed.
pub(crate) fn ended(rowmill: &Rowmill, path: &str) -> AnyResult {
    loop {
        let status: Value = serde_json::from_slice(&rowmill.ask("GET", &format!("{path}/status"), "")?)?;
        if status.get("processing") == Some(&json!(false)) {
            let failed = status.pointer("/rows/error").and_then(Value::as_u64).unwrap_or_default();
            return if failed == 0 { Ok(()) } else { Err(format!("cells failed: {status}").into()) };
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The client alone, with as many calls at once.
fn bare_calls(url: &str, calls: usize) -> AnyResult<f64> {
    let runtime = runtime()?;
    let client = Client::new(AllowList::parse("127.0.0.1/32")?, Arc::new(SystemClock))?;
    let next = Arc::new(AtomicUsize::new(0));
    let start = Instant::now();
    runtime.block_on(async {
        let callers: Vec<_> = (0..AT_ONCE)
            .map(|_| {
                let (client, next, url) = (client.clone(), Arc::clone(&next), url.to_owned());
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= calls {
                            return Ok::<_, Box<dyn std::error::Error + Send + Sync>>(());
                        }
                        let url = format!("{url}?name=row+{number}&number=0&before=row+{number}").parse()?;
                        client
                            .send(Request::new(
                                rowmill_providers::ssrf_guard::Method::GET,
                                url,
                                NetworkPolicy::Guarded,
                            ))
                            .await?;
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await??;
        }
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(())
    })?;
    Ok(per_second(calls, start.elapsed()))
}
