//! Cells run to their end: beside the bare client making the same calls, and the bare store settling them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rowmill_engine::{Caller, Cell, Config, Engine, Outcome as CellOutcome, Room};
use rowmill_model::cell::Meta;
use rowmill_model::column::Dependency;
use rowmill_model::plan::Pick;
use rowmill_model::{Column, ColumnId, ColumnType, Project, Record, RowId, Table};
use rowmill_providers::guard::Request;
use rowmill_providers::{AllowList, Client, Clock as _, Reach, SystemClock};
use rowmill_store::{CellResult, Claim, Lane, NewRow, NewRows, Rows, Settlement, Store, Trigger, WorkerId};
use rowmill_store_sqlite::{Access, SqliteStore};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bare::Bare;
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::Rowmill;
use crate::{Effort, Outcome, sample};

/// Dependent columns, each waiting for the one before.
const COLUMNS: usize = 3;
/// Calls at the same time, of the service and of the bare client.
const AT_ONCE: usize = 64;
/// Cells that one claim of the bare loop takes from each column.
const CLAIM: u32 = 1_000;
const INSERT: usize = 10_000;

/// Everything for tables of this many rows. Calls are made for 100,000 of them at most.
pub(crate) fn measure(
    server: &Path,
    scratch: &Path,
    rows: usize,
    effort: &Effort,
    report: &mut Report,
) -> Outcome {
    settling(scratch, rows.min(100_000), effort, report)?;
    calling(server, scratch, rows.min(100_000), effort, report)?;
    watching(server, scratch, rows, report)
}

/// A provider that knows every answer at once.
#[derive(Debug)]
struct AtOnce;

#[async_trait]
impl Caller for AtOnce {
    async fn room(&self, _: &Project, _: &Column) -> Room {
        Room::default()
    }

    async fn call(&self, _: &Cell) -> CellOutcome {
        CellOutcome::Value("\"ok\"".into(), Meta::new())
    }
}

/// The engine with a provider that costs nothing, beside the store alone doing the same.
fn settling(scratch: &Path, rows: usize, effort: &Effort, report: &mut Report) -> Outcome {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let mut pairs = Pairs::default();
    let mut engine_rates = Vec::new();
    for round in 0..effort.rounds.min(3) {
        let folder = |side: &str| scratch.join(format!("settling-{side}-{round}"));
        let bare = runtime.block_on(settled_by_store(&folder("bare"), rows))?;
        let engine = runtime.block_on(settled_by_engine(&folder("engine"), rows))?;
        pairs.push(engine, bare);
        engine_rates.push(engine);
        std::fs::remove_dir_all(folder("bare"))?;
        std::fs::remove_dir_all(folder("engine"))?;
    }
    let what = format!("cells settled, {COLUMNS} dependent columns, a provider that costs nothing");
    report.pair(&what, "cells/s", &pairs, None);
    report.single("the same, as a rate", &engine_rates, "cells/s", Some(Goal::AtLeast(20_000.0)));
    Ok(())
}

async fn settled_by_engine(folder: &Path, rows: usize) -> Outcome<f64> {
    let store = furnished(folder, rows).await?;
    store.trigger(everything()).await?;
    let start = Instant::now();
    let clock = Arc::new(SystemClock);
    let engine = Engine::start(
        Arc::clone(&store),
        Arc::new(AtOnce),
        clock,
        Config { concurrency: 2_048, ..Config::default() },
        WorkerId(Uuid::from_u128(7)),
        7,
    );
    loop {
        let standing = store.standing(sample::project_id()).await?.ok_or("the project is gone")?;
        if !standing.tally.is_processing() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let rate = per_second(rows * COLUMNS, start.elapsed());
    engine.stop().await;
    store.close().await?;
    Ok(rate)
}

async fn settled_by_store(folder: &Path, rows: usize) -> Outcome<f64> {
    let store = furnished(folder, rows).await?;
    store.trigger(everything()).await?;
    let worker = WorkerId(Uuid::from_u128(7));
    let slots = 1..=u32::try_from(COLUMNS)?;
    let asks: Vec<_> = slots.map(|slot| (Lane { project: sample::project_id(), slot }, CLAIM)).collect();
    let start = Instant::now();
    let mut settled = 0;
    while settled < rows * COLUMNS {
        let now = SystemClock.now();
        let expires_at_ms = now.as_millisecond() + 30_000;
        let claim = Claim { worker, expires_at_ms, now, asks: asks.clone(), bytes_max: usize::MAX };
        let cells = store.claim(claim).await?;
        let result = |ticket| Settlement { ticket, result: CellResult::Value("\"ok\"".into(), Meta::new()) };
        let results: Vec<_> = cells.into_iter().map(|cell| result(cell.ticket)).collect();
        settled += results.len();
        store.settle(worker, now.as_millisecond(), results).await?;
    }
    let rate = per_second(settled, start.elapsed());
    store.close().await?;
    Ok(rate)
}

fn everything() -> Trigger {
    Trigger {
        project: sample::project_id(),
        rows: Rows::All,
        pick: Pick::default(),
        limit: None,
        dry_run: false,
        now_ms: 0,
    }
}

/// A store with a table of dependent columns and rows to fill.
async fn furnished(folder: &Path, rows: usize) -> Outcome<Arc<dyn Store>> {
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(folder, Access::Serve)?);
    let mut table = Table::new();
    let mut before = ColumnId::trigger();
    for number in 0..COLUMNS {
        let id = ColumnId::new(format!("col_{number:012}"));
        table.push_manual(id.clone(), &format!("Column {number}"));
        if let Some(column) = table.columns.last_mut() {
            column.kind = ColumnType::Ai;
            column.dependencies = vec![Dependency { column_id: before, required: true }];
        }
        before = id;
    }
    store.save_project(sample::creation(table)).await?;
    for first in (0..rows).step_by(INSERT) {
        let batch = (first..rows.min(first + INSERT)).map(|number| NewRow {
            id: RowId::from_uuid(Uuid::from_u128(1 + number as u128)),
            values: Record::pack([(0, format!("\"row {number}\"").as_str())]),
            cleared: Vec::new(),
        });
        let rows = NewRows {
            project: sample::project_id(),
            version: 1,
            rows: batch.collect(),
            match_on: None,
            project_save: None,
            ignored_keys: Vec::new(),
            now_ms: 0,
            once: None,
        };
        store.insert_rows(rows).await?;
    }
    Ok(store)
}

/// The whole service over HTTP against a server that answers at once, beside the bare client.
fn calling(server: &Path, scratch: &Path, rows: usize, effort: &Effort, report: &mut Report) -> Outcome {
    let answer = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let url = format!("http://{}/0", answer.address);
    let folder = scratch.join("calling");
    std::fs::create_dir_all(&folder)?;
    let rowmill = Rowmill::start(server, &folder.join("data"))?;
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
fn watching(server: &Path, scratch: &Path, rows: usize, report: &mut Report) -> Outcome {
    let answer = Bare::start(scratch, &[b"\"ok\"".to_vec()])?;
    let folder = scratch.join("watching");
    std::fs::create_dir_all(&folder)?;
    let rowmill = Rowmill::start(server, &folder.join("data"))?;
    let path = table(&rowmill, &format!("http://{}/0", answer.address), rows)?;
    let before = rowmill.memory()?.resident;
    let timed = |method: &str, rest: &str| -> Outcome<(f64, Value)> {
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
fn table(rowmill: &Rowmill, url: &str, rows: usize) -> Outcome<String> {
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
fn ended(rowmill: &Rowmill, path: &str) -> Outcome {
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
fn bare_calls(url: &str, calls: usize) -> Outcome<f64> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
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
                            .send(Request::new(rowmill_providers::guard::Method::GET, url, Reach::Guarded))
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

#[expect(clippy::cast_precision_loss, reason = "far less than 2^52")]
fn count(number: usize) -> f64 {
    number as f64
}

fn per_second(number: usize, time: Duration) -> f64 {
    count(number) / time.as_secs_f64()
}
