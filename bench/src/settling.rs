//! Cells settled by the engine with a provider that costs nothing, beside the store alone doing the same.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_engine::{CallOutcome, Capacity, Cell, CellRunner, Config, Engine};
use rowmill_model::cell::Meta;
use rowmill_model::column::Dependency;
use rowmill_model::plan::Pick;
use rowmill_model::{Column, ColumnId, ColumnType, Project, ProjectId, Record, RowId, Table};
use rowmill_store::{CellResult, Claim, Lane, NewRow, Rows, Settlement, Store, Trigger, WorkerId};
use uuid::Uuid;

use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::rates::per_second;
use crate::report::{Goal, Pairs, Report};
use crate::runtime::runtime;
use crate::sample;
use crate::store::{Backend, DataLocation};

/// Dependent columns, each waiting for the one before. Their slots are counted from 1.
pub(crate) const COLUMNS: usize = 3;
/// Cells that one claim of the store's loop takes from each column.
const CLAIM: u32 = 1_000;
const INSERT: usize = 10_000;
/// How often it is looked whether all is done.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A provider that knows every answer at once.
#[derive(Debug)]
struct AtOnce;

#[async_trait]
impl CellRunner for AtOnce {
    async fn capacity(&self, _: &Project, _: &Column) -> Capacity {
        Capacity::default()
    }

    async fn call(&self, _: &Cell) -> CallOutcome {
        CallOutcome::Value("\"ok\"".into(), Meta::new())
    }
}

pub(crate) fn measure(
    backend: &Backend,
    scratch: &Path,
    rows: usize,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let runtime = runtime()?;
    let mut pairs = Pairs::default();
    let mut engine_rates = Vec::new();
    for round in 0..effort.rounds.min(3) {
        let place = |side: &str| backend.place(&scratch.join(format!("settling-{side}-{round}")));
        let bare_place = place("bare")?;
        let bare = runtime.block_on(settled_by_store(&bare_place, rows))?;
        let engine_place = place("engine")?;
        let engine = runtime.block_on(settled_by_engine(&engine_place, rows))?;
        pairs.push(engine, bare);
        engine_rates.push(engine);
        for place in [bare_place, engine_place] {
            place.clear()?;
        }
    }
    let what = format!("cells settled, {COLUMNS} dependent columns, a provider that costs nothing");
    report.pair(&what, "cells/s", &pairs, None);
    report.single("the same, as a rate", &engine_rates, "cells/s", Some(Goal::AtLeast(20_000.0)));
    Ok(())
}

async fn settled_by_engine(place: &DataLocation, rows: usize) -> AnyResult<f64> {
    let store = place.open().await?;
    furnish(&store, 0..1, rows).await?;
    trigger(&store, 0..1).await?;
    let start = Instant::now();
    let engine = start_engine(&store, 7);
    all_settled(&store, 0..1).await?;
    let rate = per_second(rows * COLUMNS, start.elapsed());
    engine.stop().await;
    store.close().await?;
    Ok(rate)
}

/// An engine with a provider that costs nothing. No two workers on one database have the same number.
pub(crate) fn start_engine(store: &Arc<dyn Store>, worker: u128) -> Engine {
    Engine::start(
        Arc::clone(store),
        Arc::new(AtOnce),
        Arc::new(SystemClock),
        Config { concurrency: 2_048, ..Config::default() },
        WorkerId(Uuid::from_u128(worker)),
        7,
    )
}

/// Waits until nothing of these projects is under way.
pub(crate) async fn all_settled(store: &Arc<dyn Store>, projects: Range<usize>) -> AnyResult {
    for number in projects {
        loop {
            let standing = store.processing_status(project(number)).await?.ok_or("the project is gone")?;
            if !standing.tally.is_processing() {
                break;
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }
    Ok(())
}

async fn settled_by_store(place: &DataLocation, rows: usize) -> AnyResult<f64> {
    let store = place.open().await?;
    furnish(&store, 0..1, rows).await?;
    trigger(&store, 0..1).await?;
    let worker = WorkerId(Uuid::from_u128(7));
    let slots = 1..=u32::try_from(COLUMNS)?;
    let asks: Vec<_> = slots.map(|slot| (Lane { project: project(0), slot }, CLAIM)).collect();
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

pub(crate) fn project(number: usize) -> ProjectId {
    ProjectId::from_uuid(Uuid::from_u128(1 + number as u128))
}

/// Makes tables of dependent columns with so many rows to fill, in all.
pub(crate) async fn furnish(store: &Arc<dyn Store>, projects: Range<usize>, rows: usize) -> AnyResult {
    let each = rows / projects.len();
    for number in projects {
        store.save_project(sample::creation(project(number), dependent_columns())).await?;
        insert(store, number, each).await?;
    }
    Ok(())
}

/// Queues all cells.
pub(crate) async fn trigger(store: &Arc<dyn Store>, projects: Range<usize>) -> AnyResult {
    for number in projects {
        let (project, rows, pick) = (project(number), Rows::All, Pick::default());
        store.trigger(Trigger { project, rows, pick, limit: None, dry_run: false, now_ms: 0 }).await?;
    }
    Ok(())
}

fn dependent_columns() -> Table {
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
    table
}

async fn insert(store: &Arc<dyn Store>, number: usize, rows: usize) -> AnyResult {
    for first in (0..rows).step_by(INSERT) {
        let batch = (first..rows.min(first + INSERT)).map(|row| NewRow {
            id: RowId::from_uuid(Uuid::from_u128(((1 + number as u128) << 64) + row as u128)),
            values: Record::pack([(0, format!("\"row {row}\"").as_str())]),
            cleared: Vec::new(),
            leftover_bytes_max: None,
        });
        store.insert_rows(sample::new_rows(project(number), batch.collect())).await?;
    }
    Ok(())
}

impl DataLocation {
    /// Removes the folder, too.
    fn clear(self) -> AnyResult {
        let data = self.data.clone();
        drop(self);
        if data.exists() { Ok(std::fs::remove_dir_all(data)?) } else { Ok(()) }
    }
}
