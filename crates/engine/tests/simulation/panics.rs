//! A caller that panics brings down neither the engine nor the cell.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use rowmill_clock::SystemClock;
use rowmill_engine::{CallOutcome, Capacity, Cell, CellRunner, Config, Engine};
use rowmill_model::cell::Meta;
use rowmill_model::plan::Pick;
use rowmill_model::{CellStatus, Column, Project, Record, RowId};
use rowmill_store::conformance::MemoryStore;
use rowmill_store::{KeptInput, NewRow, NewRows, PageStart, ProjectSave, Rows, Store, Trigger, WorkerId};
use uuid::Uuid;

use crate::checks::status;
use crate::tables;

#[derive(Debug)]
struct Fragile;

#[async_trait]
impl CellRunner for Fragile {
    async fn capacity(&self, _: &Project, _: &Column) -> Capacity {
        Capacity::default()
    }

    async fn call(&self, cell: &Cell) -> CallOutcome {
        assert!(cell.ticket.position > 0, "the first cell is too much");
        CallOutcome::Value("1".into(), Meta::new())
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_panics_ends_its_cell() {
    let mut project = tables::project(&mut fastrand::Rng::with_seed(0));
    project.table.columns.truncate(2);
    project.table.columns[1].dependencies.clear();
    project.table.columns[1].run_condition = rowmill_model::filter::Filters::default();
    let (id, slot) = (project.id, project.table.columns[1].slot);
    let store = Arc::new(MemoryStore::new());
    let save = ProjectSave {
        project,
        views: Vec::new(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    };
    store.save_project(save).await.unwrap();
    let row = |number| NewRow {
        id: RowId::from_uuid(Uuid::from_u128(number)),
        values: Record::default(),
        cleared: Vec::new(),
        leftover_bytes_max: None,
    };
    let rows = NewRows {
        project: id,
        version: 1,
        rows: (1..=5).map(row).collect(),
        match_on: None,
        project_save: None,
        ignored_keys: Vec::new(),
        new_rows_max: None,
        new_bytes_max: None,
        kept_input: KeptInput::default(),
        now_ms: 0,
        once: None,
        import: None,
    };
    store.insert_rows(rows).await.unwrap();
    let trigger = Trigger {
        project: id,
        rows: Rows::All,
        pick: Pick::default(),
        limit: None,
        dry_run: false,
        now_ms: 0,
    };
    store.trigger(trigger).await.unwrap();
    let worker = WorkerId(Uuid::from_u128(1));
    let shared: Arc<dyn Store> = Arc::<MemoryStore>::clone(&store);
    let engine =
        Engine::start(shared, Arc::new(Fragile), Arc::new(SystemClock), Config::default(), worker, 1);
    tokio::time::sleep(Duration::from_secs(5)).await;
    engine.stop().await;
    let rows = store.rows(id, PageStart::Offset(0), 9).await.unwrap().rows;
    let statuses: Vec<CellStatus> = rows.iter().map(|row| status(row, slot)).collect();
    let mut expected = [CellStatus::Completed; 5];
    expected[0] = CellStatus::Error;
    assert_eq!(statuses, expected);
}
