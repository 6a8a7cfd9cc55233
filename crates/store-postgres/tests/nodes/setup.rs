//! Databases, nodes and projects for tests.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::column::Dependency;
use rowmill_model::plan::Pick;
use rowmill_model::project::ProjectSettings;
use rowmill_model::record::Slot;
use rowmill_model::{ColumnId, ColumnType, Project, ProjectId, Record, RowId, Table, TeamId};
use rowmill_store::{
    Change, Claim, Claimed, KeptInput, Lane, NewRow, NewRows, ProjectSave, Rows, Store, Trigger, WorkerId,
};
use rowmill_store_postgres::{Options, PostgresStore};
use rowmill_test_postgres::server;
use uuid::Uuid;

/// The column that is processed, and the one it needs.
pub(super) const ANSWER: Slot = 2;
pub(super) const NAME: Slot = 1;
/// One that nobody processes.
pub(super) const OTHER: Slot = 3;

pub(super) async fn open(address: &str) -> PostgresStore {
    PostgresStore::connect(address, Options::default()).await.unwrap()
}

/// Runs a test on a database of its own, if there is a server.
pub(super) fn on_a_database<F: Future<Output = ()>>(test: impl FnOnce(String) -> F) {
    let Some(server) = server() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { test(server.database().await).await });
}

pub(super) async fn project(store: &dyn Store, number: u128) -> ProjectId {
    let mut table = Table::new();
    table.push_manual(ColumnId::new("col_name00000000"), "Name");
    table.push_manual(ColumnId::new("col_answer000000"), "Answer");
    let column = table.columns.last_mut().unwrap();
    column.kind = ColumnType::Ai;
    column.dependencies = vec![Dependency { column_id: ColumnId::new("col_name00000000"), required: true }];
    assert_eq!(column.slot, ANSWER);
    table.push_manual(ColumnId::new("col_other0000000"), "Other");
    let project = Project {
        id: ProjectId::from_uuid(Uuid::from_u128(number)),
        team: TeamId(Uuid::from_u128(1)),
        title: "Nodes".to_owned(),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 1,
        updated_at_ms: 1,
    };
    let save = ProjectSave {
        project,
        views: Vec::new(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    };
    store.save_project(save).await.unwrap().project.id
}

pub(super) fn rows(project: ProjectId, first: u128, count: u128) -> NewRows {
    let row = |number: u128| NewRow {
        id: RowId::from_uuid(Uuid::from_u128(number)),
        values: Record::pack([(NAME, number.to_string().as_str())]),
        cleared: Vec::new(),
        leftover_bytes_max: None,
    };
    NewRows {
        project,
        version: 1,
        rows: (first..first + count).map(row).collect(),
        match_on: None,
        project_save: None,
        ignored_keys: Vec::new(),
        kept_input: KeptInput::default(),
        new_rows_max: None,
        new_bytes_max: None,
        now_ms: 1,
        once: None,
        import: None,
    }
}

pub(super) async fn trigger(store: &dyn Store, project: ProjectId) -> u64 {
    let trigger =
        Trigger { project, rows: Rows::All, pick: Pick::default(), limit: None, dry_run: false, now_ms: 5 };
    store.trigger(trigger).await.unwrap()
}

pub(super) async fn claim(store: &dyn Store, worker: u128, project: ProjectId, most: u32) -> Vec<Claimed> {
    let now = jiff::Timestamp::from_millisecond(10).unwrap();
    let asks = vec![(Lane { project, slot: ANSWER }, most)];
    let worker = WorkerId(Uuid::from_u128(worker));
    store.claim(Claim { worker, expires_at_ms: 10_000, now, asks, bytes_max: usize::MAX }).await.unwrap()
}

pub(super) fn heard_by(store: &PostgresStore) -> Arc<Mutex<Vec<Change>>> {
    let heard: Arc<Mutex<Vec<Change>>> = Arc::default();
    let listening = Arc::clone(&heard);
    store.listen(Box::new(move |change| listening.lock().unwrap().push(change.clone())));
    heard
}

pub(super) async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let started = SystemClock.monotonic();
    while !is_so() {
        assert!(started.elapsed() < Duration::from_secs(20), "{what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
