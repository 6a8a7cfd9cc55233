//! Results go out of date when an input or what the column asks changes, and no row is written for that.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::column::DataShape;
use rowmill_model::plan::Pick;
use rowmill_model::record::Slot;
use rowmill_model::{CellStatus, Project, ProjectId};
use uuid::Uuid;

use super::make::{
    ANSWER, NAME, SECOND, change, create, insert, load, numbered, processed, row_id, write, writes,
};
use super::recount::check_counts;
use crate::store::Store;
use crate::work::{CellResult, ChangedRows, Claim, Claimed, Lane, Rows, Settlement, Trigger, WorkerId};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));

fn everything(project: ProjectId) -> Trigger {
    Trigger { project, rows: Rows::All, pick: Pick::default(), limit: None, dry_run: false, now_ms: 5 }
}

async fn trigger(store: &dyn Store, project: ProjectId) -> u64 {
    store.trigger(everything(project)).await.unwrap()
}

async fn claim(store: &dyn Store, project: ProjectId, slot: Slot, most: u32) -> Vec<Claimed> {
    let now = Timestamp::from_millisecond(10).unwrap();
    let asks = vec![(Lane { project, slot }, most)];
    let claim = Claim { worker: WORKER, expires_at_ms: 1_000, now, asks, bytes_max: usize::MAX };
    store.claim(claim).await.unwrap()
}

async fn settle(store: &dyn Store, cells: &[Claimed]) {
    let result = || CellResult::Value("1".into(), Meta::new());
    let results = cells.iter().map(|cell| Settlement { ticket: cell.ticket, result: result() }).collect();
    assert!(store.settle(WORKER, 11, results).await.unwrap().into_iter().all(|taken| taken));
}

async fn is_stale(store: &dyn Store, project: ProjectId, number: u128, slot: Slot) -> bool {
    let row = store.row(project, row_id(number)).await.unwrap().unwrap();
    row.states.get(slot).is_some_and(|state| state.stale)
}

async fn stale(store: &dyn Store, project: ProjectId, slot: Slot) -> u64 {
    let status = store.processing_status(project).await.unwrap().unwrap();
    check_counts(store, project).await;
    status.tally.column(slot, status.row_count).stale
}

fn ask_something_else(project: &mut Project) {
    let columns = project.table.columns.iter_mut();
    columns.filter(|column| column.slot == ANSWER).for_each(|column| column.data_shape = DataShape::Json);
}

pub(super) async fn a_column_that_asks_something_else_has_stale_results(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    trigger(store, id).await;
    let cells = claim(store, id, ANSWER, 580).await;
    settle(store, &cells[..570]).await;
    let running = cells[570].clone();
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(7, ANSWER, "\"mine\"")])).await.unwrap();
    change(store, id, |project| {
        for column in &mut project.table.columns {
            column.header = format!("{} again", column.header);
            column.cache_ttl_seconds = 60;
        }
    })
    .await;
    assert_eq!(stale(store, id, ANSWER).await, 0, "it asks the same");
    let heard = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&heard);
    store.listen(Box::new(move |change| {
        told.lock().unwrap().push((change.rows == ChangedRows::Many, change.restated, change.revoked.len()));
    }));
    change(store, id, ask_something_else).await;
    assert_eq!(*heard.lock().unwrap(), [(true, true, 0)], "who looks is told, and nobody is interrupted");
    assert_eq!(stale(store, id, ANSWER).await, 569, "all but the one written by hand");
    assert_eq!(stale(store, id, SECOND).await, 0);
    assert!(is_stale(store, id, 1, ANSWER).await && !is_stale(store, id, 7, ANSWER).await);
    settle(store, &[running]).await;
    assert!(is_stale(store, id, 571, ANSWER).await, "it was asked what the column asked before");
    let queued = claim(store, id, ANSWER, 5).await;
    settle(store, &queued).await;
    assert!(!is_stale(store, id, 581, ANSWER).await, "it was asked what the column asks now");
    assert_eq!(stale(store, id, ANSWER).await, 570);
    assert_eq!(trigger(store, id).await, 570, "a trigger runs them");
    assert_eq!(stale(store, id, ANSWER).await, 0);
}

pub(super) async fn an_edit_that_is_undone_leaves_nothing_stale(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    trigger(store, id).await;
    for slot in [ANSWER, SECOND] {
        let cells = claim(store, id, slot, 9).await;
        settle(store, &cells).await;
    }
    for (value, count) in [("\"x\"", 1), ("1.0", 0), ("\"y\"", 1)] {
        let version = load(store, id).await.version;
        store.write_cells(writes(id, version, vec![write(1, NAME, value)])).await.unwrap();
        assert_eq!(stale(store, id, ANSWER).await, count, "{value}");
    }
    change(store, id, ask_something_else).await;
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(1, NAME, "1")])).await.unwrap();
    assert_eq!(stale(store, id, ANSWER).await, 3, "the column asks something else");
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    assert_eq!(row.states.get(ANSWER).unwrap().status, CellStatus::Completed);
}

pub(super) async fn a_column_that_asks_the_same_again_has_no_stale_results(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    trigger(store, id).await;
    let cells = claim(store, id, ANSWER, 600).await;
    settle(store, &cells).await;
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(9, NAME, "\"x\"")])).await.unwrap();
    assert_eq!(stale(store, id, ANSWER).await, 1, "its input is another");
    let shape = async |shape: DataShape| {
        change(store, id, move |project| {
            let columns = project.table.columns.iter_mut().filter(|column| column.slot == ANSWER);
            columns.for_each(|column| column.data_shape = shape);
        })
        .await;
    };
    let columns = load(store, id).await.project.table.columns.clone();
    let before = columns.iter().find(|column| column.slot == ANSWER).unwrap().data_shape;
    // Back and forth, over something that nothing answers.
    for _ in 0..5 {
        shape(DataShape::Json).await;
        assert_eq!(stale(store, id, ANSWER).await, 600);
        shape(DataShape::Waterfall).await;
        assert_eq!(stale(store, id, ANSWER).await, 600);
        shape(before).await;
        assert_eq!(stale(store, id, ANSWER).await, 1);
    }
    shape(DataShape::Json).await;
    let one = Trigger { limit: Some(1), now_ms: 30, ..everything(id) };
    store.trigger(one).await.unwrap();
    let cells = claim(store, id, ANSWER, 9).await;
    settle(store, &cells).await;
    assert_eq!(stale(store, id, ANSWER).await, 599);
    shape(before).await;
    assert_eq!(
        stale(store, id, ANSWER).await,
        2,
        "the one whose input is another, and the one that ran meanwhile"
    );
    shape(DataShape::Json).await;
    assert_eq!(stale(store, id, ANSWER).await, 599);
}

pub(super) async fn cells_that_wait_say_since_when_and_what_for(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 2)).await;
    trigger(store, id).await;
    let cells = claim(store, id, ANSWER, 9).await;
    assert_eq!((cells[0].waiting_since_ms, cells[0].run), (None, 1));
    let error = rowmill_model::CellError {
        code: rowmill_model::ErrorCode::ProviderError,
        message: "Gone.".to_owned(),
    };
    let later = |at_ms, error, ends_at_ms| CellResult::Later { at_ms, error, ends_at_ms, meta: Meta::new() };
    let put_off = [later(20, Some(error.clone()), Some(500)), later(30, None, None)];
    let results = cells.iter().zip(put_off);
    let results = results.map(|(cell, result)| Settlement { ticket: cell.ticket, result }).collect();
    store.settle(WORKER, 11, results).await.unwrap();
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    let state = row.states.get(ANSWER).unwrap();
    assert_eq!((state.retry_at_ms, state.error.as_ref(), state.attempts), (Some(20), Some(&error), 0));
    let row = store.row(id, row_id(2)).await.unwrap().unwrap();
    let state = row.states.get(ANSWER).unwrap();
    assert_eq!((state.retry_at_ms, state.error.as_ref()), (Some(30), None));
    check_counts(store, id).await;
    let status = store.processing_status(id).await.unwrap().unwrap();
    let (cells, waits_for) = status.tally.waiting().unwrap();
    assert_eq!((cells, waits_for.until_ms, &waits_for.error), (2, 500, &error), "not the next try");
    let mut again = Vec::new();
    for _ in 0..2 {
        store.lanes(40).await.unwrap();
        let now = Timestamp::from_millisecond(40).unwrap();
        let asks = vec![(Lane { project: id, slot: ANSWER }, 9)];
        let claim = Claim { worker: WORKER, expires_at_ms: 1_000, now, asks, bytes_max: usize::MAX };
        again.extend(store.claim(claim).await.unwrap());
    }
    assert_eq!(again.iter().map(|cell| cell.waiting_since_ms).collect::<Vec<_>>(), [Some(11), Some(11)]);
    settle(store, &again).await;
    let status = store.processing_status(id).await.unwrap().unwrap();
    assert_eq!(status.tally.waiting(), None);
}
