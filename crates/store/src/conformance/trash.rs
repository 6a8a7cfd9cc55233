//! What is deleted can be restored, and is nowhere until then.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::plan::Pick;
use rowmill_model::record::Slot;
use rowmill_model::restoring::trash_column;
use rowmill_model::{CellStatus, Deletion, KeyId, ProjectId, RowId, TeamId};
use uuid::Uuid;

use super::guests::{following, guest};
use super::make::{
    ANSWER, MAIL, NAME, SECOND, batch, change, create, insert, load, numbered, processed, project, row,
    row_id, write, writes,
};
use super::recount::check_counts;
use crate::spans::Spans;
use crate::store::Store;
use crate::trash::TrashPlace;
use crate::types::{PageStart, ProjectPage, RowAction, StoredRow};
use crate::work::{CellResult, Change, Claim, Claimed, Lane, Rows, Settlement, Trigger, WorkerId};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));
const BY: KeyId = KeyId::from_uuid(Uuid::from_u128(77));

fn at(at_ms: i64) -> Deletion {
    Deletion { at_ms, by: Some(BY) }
}

fn ids(numbers: impl IntoIterator<Item = u128>) -> Vec<RowId> {
    numbers.into_iter().map(row_id).collect()
}

async fn all(store: &dyn Store, id: ProjectId) -> Vec<StoredRow> {
    store.rows(id, PageStart::Offset(0), 10_000).await.unwrap().rows
}

async fn trashed(store: &dyn Store, id: ProjectId) -> Vec<RowId> {
    let page = store.trashed_rows(id, None, 10_000, usize::MAX).await.unwrap();
    assert_eq!((page.total, page.more), (page.rows.len() as u64, false));
    page.rows.into_iter().map(|row| row.id).collect()
}

async fn trigger(store: &dyn Store, project: ProjectId) {
    let pick = Pick::default();
    store
        .trigger(Trigger { project, rows: Rows::All, pick, limit: None, dry_run: false, now_ms: 5 })
        .await
        .unwrap();
}

async fn claim(store: &dyn Store, project: ProjectId, slot: Slot) -> Vec<Claimed> {
    let now = Timestamp::from_millisecond(10).unwrap();
    let asks = vec![(Lane { project, slot }, 10_000)];
    let claim = Claim { worker: WORKER, expires_at_ms: 1_000, now, asks, bytes_max: usize::MAX };
    store.claim(claim).await.unwrap()
}

/// Runs every cell of a column.
async fn run(store: &dyn Store, project: ProjectId, slot: Slot) {
    let cells = claim(store, project, slot).await;
    assert!(!cells.is_empty());
    let result = || CellResult::Value("1".into(), Meta::new());
    let results = cells.iter().map(|cell| Settlement { ticket: cell.ticket, result: result() }).collect();
    assert!(store.settle(WORKER, 11, results).await.unwrap().into_iter().all(|taken| taken));
}

async fn states(store: &dyn Store, project: ProjectId, number: u128, slot: Slot) -> (CellStatus, bool) {
    let row = store.row(project, row_id(number)).await.unwrap().unwrap();
    row.states.get(slot).map_or((CellStatus::Idle, false), |state| (state.status, state.stale))
}

pub(super) async fn rows_come_back_to_their_place(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    trigger(store, id).await;
    run(store, id, ANSWER).await;
    store.write_cells(writes(id, 1, vec![write(300, SECOND, "7")])).await.unwrap();
    store.stop(crate::work::Stop { project: id, rows: Rows::All, slots: None, now_ms: 6 }).await.unwrap();
    let before = all(store, id).await;
    let tally = store.processing_status(id).await.unwrap().unwrap().tally;
    let some = ids((1..600).step_by(7).chain([300, 300, 9_999]));
    assert_eq!(store.trash_rows(id, some.clone(), at(20)).await.unwrap(), 86 + 1);
    assert_eq!(store.trash_rows(id, ids([600]), at(21)).await.unwrap(), 1);
    assert_eq!((load(store, id).await.row_count, all(store, id).await.len()), (512, 512));
    assert_eq!(store.row(id, row_id(8)).await.unwrap(), None);
    assert_eq!(store.positions(id, ids([8])).await.unwrap(), [None]);
    check_counts(store, id).await;

    // The last deletion first, in pages, and in bytes.
    let first = store.trashed_rows(id, None, 10, usize::MAX).await.unwrap();
    assert_eq!((first.rows[0].id, first.rows[0].deletion), (row_id(600), at(21)));
    assert_eq!((first.rows[1].id, first.rows[1].deletion, first.total), (row_id(596), at(20), 88));
    let mut seen = Vec::new();
    let mut after: Option<TrashPlace> = None;
    loop {
        let page = store.trashed_rows(id, after, 10, usize::MAX).await.unwrap();
        seen.extend(page.rows.iter().map(|row| row.id));
        after = page.rows.last().map(|row| row.place);
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, trashed(store, id).await);
    let small = store.trashed_rows(id, None, 10, 1).await.unwrap();
    assert_eq!((small.rows.len(), small.more), (1, true));

    let restored = store.restore_rows(id, some, 30).await.unwrap();
    assert_eq!((restored.rows, restored.guests_elsewhere), (87, Vec::new()));
    assert_eq!(store.restore_rows(id, ids([600, 600, 9_999]), 31).await.unwrap().rows, 1);
    assert_eq!(all(store, id).await, before, "ids, positions, values and states");
    assert_eq!(store.processing_status(id).await.unwrap().unwrap().tally, tally);
    assert_eq!(trashed(store, id).await, []);
    check_counts(store, id).await;
    assert_eq!(store.restore_rows(id, ids([600]), 31).await.unwrap().rows, 0);
    let page = store.rows(id, PageStart::Offset(298), 2).await.unwrap();
    assert_eq!(page.rows.iter().map(|row| row.id).collect::<Vec<_>>(), ids([299, 300]));
}

/// Whoever keeps a page of rows asks whether rows before it left or came back.
pub(super) async fn it_is_told_when_offsets_move(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    let changes: Arc<Mutex<Vec<Change>>> = Arc::default();
    let heard = Arc::clone(&changes);
    store.listen(Box::new(move |change| heard.lock().unwrap().push(change.clone())));
    // From where on rows moved, and whether a row was touched.
    let told = |number: u64| {
        let changes = std::mem::take(&mut *changes.lock().unwrap());
        assert_eq!(changes.len(), 1, "{changes:?}");
        (changes[0].moved_from, changes[0].touched.meets(&Spans::run(number - 1, number - 1)))
    };
    insert(store, id, numbered(601, 602)).await;
    assert_eq!(told(602), (None, true), "new rows are behind all others");
    store.write_cells(writes(id, 1, vec![write(3, NAME, "7")])).await.unwrap();
    assert_eq!(told(3), (None, true));
    store.trash_rows(id, ids([5]), at(5)).await.unwrap();
    assert_eq!(told(5), (Some(4), true));
    assert_eq!(store.restore_rows(id, ids([5]), 6).await.unwrap().rows, 1);
    assert_eq!(told(5), (Some(4), true));
    assert_eq!(store.delete_rows(id, ids([5])).await.unwrap(), 1);
    assert_eq!(told(5), (Some(4), true));
    assert_eq!(store.delete_rows(id, ids(10..=601)).await.unwrap(), 592, "too many to name");
    assert_eq!(told(300), (Some(9), true));
}

pub(super) async fn the_match_leaves_out_what_is_in_the_trash(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let send = |number| {
        let mut batch = batch(id, 1, vec![row(number, &[(NAME, "2"), (MAIL, "\"x\"")])]);
        batch.match_on = Some(NAME);
        batch
    };
    assert_eq!(store.insert_rows(send(9)).await.unwrap().rows, [(row_id(2), RowAction::Updated)]);
    store.trash_rows(id, ids([2]), at(5)).await.unwrap();
    assert_eq!(store.insert_rows(send(9)).await.unwrap().rows, [(row_id(9), RowAction::Inserted)]);
    store.trash_rows(id, ids([9]), at(6)).await.unwrap();
    store.restore_rows(id, ids([2]), 7).await.unwrap();
    assert_eq!(store.insert_rows(send(10)).await.unwrap().rows, [(row_id(2), RowAction::Unchanged)]);
}

pub(super) async fn what_ran_when_it_was_deleted_comes_back_idle(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    trigger(store, id).await;
    let cells = claim(store, id, ANSWER).await;
    store.trash_rows(id, ids([1, 2]), at(20)).await.unwrap();
    assert_eq!(store.heartbeat(WORKER, 2_000).await.unwrap().len(), 1);
    store.restore_rows(id, ids([1, 2]), 21).await.unwrap();
    let result = CellResult::Value("1".into(), Meta::new());
    let late = Settlement { ticket: cells[0].ticket, result };
    assert_eq!(store.settle(WORKER, 22, vec![late]).await.unwrap(), [false]);
    assert_eq!(states(store, id, 1, ANSWER).await.0, CellStatus::Idle);
    assert_eq!(states(store, id, 3, ANSWER).await.0, CellStatus::Generating);
    check_counts(store, id).await;
    trigger(store, id).await;
    assert_eq!(claim(store, id, ANSWER).await.len(), 2, "they can run again");
}

pub(super) async fn a_result_of_something_else_comes_back_stale(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 2)).await;
    trigger(store, id).await;
    run(store, id, ANSWER).await;
    store.trash_rows(id, ids([1]), at(20)).await.unwrap();
    change(store, id, |project| {
        project.table.columns.iter_mut().filter(|column| column.slot == ANSWER).for_each(|column| {
            column.data_shape = rowmill_model::DataShape::Json;
        });
    })
    .await;
    store.restore_rows(id, ids([1]), 21).await.unwrap();
    assert_eq!(states(store, id, 1, ANSWER).await, (CellStatus::Completed, true));
    assert_eq!(states(store, id, 2, ANSWER).await, (CellStatus::Completed, true));
    check_counts(store, id).await;
}

pub(super) async fn a_guest_has_one_row_whatever_is_restored(store: &dyn Store) {
    let id = create(store, following(1, 1, "evt", true)).await.project.id;
    let deliver = |event_at_ms, number| store.upsert_guests(vec![guest(id, 1, "g", event_at_ms, number)]);
    deliver(5, 1).await.unwrap();
    store.trash_rows(id, ids([1]), at(6)).await.unwrap();
    assert_eq!(store.restore_rows(id, ids([1]), 7).await.unwrap().rows, 1);
    assert_eq!(deliver(8, 2).await.unwrap().rows_created, 0, "the guest has its row back");

    store.trash_rows(id, ids([1]), at(9)).await.unwrap();
    assert_eq!(deliver(10, 3).await.unwrap().rows_created, 1);
    let refused = store.restore_rows(id, ids([1]), 11).await.unwrap();
    assert_eq!((refused.rows, refused.guests_elsewhere), (0, ids([1])));
    assert_eq!((load(store, id).await.row_count, trashed(store, id).await), (1, ids([1])));

    store.trash_rows(id, ids([3]), at(12)).await.unwrap();
    let one = store.restore_rows(id, ids([1, 3]), 13).await.unwrap();
    assert_eq!((one.rows, one.guests_elsewhere), (1, ids([3])));
    assert_eq!(deliver(14, 4).await.unwrap().rows_created, 0, "the restored row is the guest's");
    store.trash_rows(id, ids([1]), at(15)).await.unwrap();
    let other = store.restore_rows(id, ids([3, 1]), 16).await.unwrap();
    assert_eq!((other.rows, other.guests_elsewhere), (1, ids([1])));
    assert_eq!(load(store, id).await.row_count, 1);
}

pub(super) async fn the_trash_is_emptied_and_swept(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 900)).await;
    trigger(store, id).await;
    run(store, id, ANSWER).await;
    store.trash_rows(id, ids(1..=400), at(10)).await.unwrap();
    store.trash_rows(id, ids(401..=600), at(20)).await.unwrap();
    let team = TeamId(Uuid::from_u128(1));
    assert_eq!(store.count_team_rows(team).await.unwrap(), 900, "what is in the trash counts");
    while store.sweep_trash(15).await.unwrap() {}
    assert_eq!((trashed(store, id).await.len(), store.count_team_rows(team).await.unwrap()), (200, 500));
    assert_eq!(store.restore_rows(id, ids([1, 401]), 21).await.unwrap().rows, 1);
    assert_eq!(states(store, id, 401, ANSWER).await.0, CellStatus::Completed);
    assert_eq!(store.empty_trash(id).await.unwrap(), 199);
    assert_eq!((trashed(store, id).await.len(), store.count_team_rows(team).await.unwrap()), (0, 301));
    assert_eq!(store.restore_rows(id, ids([402]), 21).await.unwrap().rows, 0);
    while store.sweep_trash(0).await.unwrap() {}
    assert_eq!((load(store, id).await.row_count, store.empty_trash(id).await.unwrap()), (301, 0));
    check_counts(store, id).await;
}

pub(super) async fn a_project_comes_back_whole(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    create(store, project(2, 1)).await;
    insert(store, id, numbered(1, 300)).await;
    trigger(store, id).await;
    run(store, id, ANSWER).await;
    store.trash_rows(id, ids([5]), at(6)).await.unwrap();
    let held = claim(store, id, SECOND).await;
    let team = TeamId(Uuid::from_u128(1));
    let before = load(store, id).await;
    assert!(store.trash_project(id, at(30), None).await.unwrap());
    assert!(!store.trash_project(id, at(31), None).await.unwrap(), "it is gone");
    assert!(store.project(id).await.unwrap().is_none() && store.lanes(40).await.unwrap().ready.is_empty());
    assert_eq!(store.count_projects(team, None).await.unwrap(), 1);
    assert_eq!(store.count_team_rows(team).await.unwrap(), 300, "what is in the trash counts");
    let listed = store.trashed_projects(team, ProjectPage::ALL).await.unwrap();
    assert_eq!((listed.len(), listed[0].summary.id, listed[0].row_count), (1, id, 299));
    assert_eq!((listed[0].deletion, store.count_trashed_projects(team).await.unwrap()), (at(30), 1));
    let other_team = TeamId(Uuid::from_u128(2));
    assert!(!store.restore_project(other_team, id, 32).await.unwrap(), "it is not theirs");
    assert!(store.restore_project(team, id, 32).await.unwrap());
    let after = load(store, id).await;
    assert_eq!((&after.project, after.row_count, after.version), (&before.project, 299, before.version));
    assert!(after.change_seq > before.change_seq);
    assert_eq!(states(store, id, 1, ANSWER).await.0, CellStatus::Completed);
    assert_eq!(states(store, id, 1, SECOND).await.0, CellStatus::Idle, "nothing in it runs");
    let result = CellResult::Value("1".into(), Meta::new());
    let late = Settlement { ticket: held[0].ticket, result };
    assert_eq!(store.settle(WORKER, 33, vec![late]).await.unwrap(), [false]);
    check_counts(store, id).await;
    assert_eq!(trashed(store, id).await, ids([5]));
    insert(store, id, numbered(1_000, 1)).await;
    assert_eq!(load(store, id).await.row_count, 300);

    assert!(store.trash_project(id, at(40), None).await.unwrap());
    while store.sweep_trash(39).await.unwrap() {}
    assert_eq!(store.count_trashed_projects(team).await.unwrap(), 1);
    while store.sweep_trash(40).await.unwrap() {}
    assert_eq!(store.count_trashed_projects(team).await.unwrap(), 0);
    assert!(!store.restore_project(team, id, 41).await.unwrap());
    let second = ProjectId::from_uuid(Uuid::from_u128(2));
    assert!(store.trash_project(second, at(50), None).await.unwrap());
    assert_eq!(store.empty_project_trash(team).await.unwrap(), 1);
    assert!(!store.restore_project(team, second, 51).await.unwrap());
    assert_eq!(store.count_team_rows(team).await.unwrap(), 0);
}

/// Deletes a column into the trash, or brings it back.
pub(super) async fn turn(store: &dyn Store, id: ProjectId, slot: Slot, is_back: bool) {
    change(store, id, |project| {
        if is_back {
            let trashed = project.trash.columns.pop().unwrap();
            project.table.columns.insert(trashed.order, trashed.column);
        } else {
            let old = project.table.clone();
            let column = old.columns.iter().find(|column| column.slot == slot).unwrap();
            project.table.columns.retain(|column| column.slot != slot);
            trash_column(project, &[], (&old, &[]), column.id.as_str(), at(1), 10);
        }
    })
    .await;
}

pub(super) async fn a_column_comes_back_with_the_states_of_its_cells(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    trigger(store, id).await;
    run(store, id, ANSWER).await;
    let held = claim(store, id, SECOND).await;
    assert_eq!(held.len(), 600);
    let result = CellResult::Value("2".into(), Meta::new());
    let done = Settlement { ticket: held[0].ticket, result: result.clone() };
    assert_eq!(store.settle(WORKER, 12, vec![done]).await.unwrap(), [true]);
    turn(store, id, SECOND, false).await;
    let late = Settlement { ticket: held[1].ticket, result };
    assert_eq!(store.settle(WORKER, 13, vec![late]).await.unwrap(), [false]);
    check_counts(store, id).await;
    store.trash_rows(id, ids([1]), at(14)).await.unwrap();
    store.restore_rows(id, ids([1]), 15).await.unwrap();
    turn(store, id, SECOND, true).await;
    check_counts(store, id).await;
    assert_eq!(states(store, id, 1, SECOND).await, (CellStatus::Completed, false));
    assert_eq!(states(store, id, 2, SECOND).await, (CellStatus::Idle, false), "it ran when it was deleted");

    // What happened to the inputs meanwhile counts.
    assert_eq!(store.projects_to_sweep(1).await.unwrap(), []);
    turn(store, id, SECOND, false).await;
    assert_eq!(store.projects_to_sweep(0).await.unwrap(), []);
    assert_eq!(store.projects_to_sweep(1).await.unwrap(), [id]);
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(1, ANSWER, "\"other\"")])).await.unwrap();
    turn(store, id, SECOND, true).await;
    assert_eq!(states(store, id, 1, SECOND).await, (CellStatus::Completed, true));
    check_counts(store, id).await;
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(1, ANSWER, "1")])).await.unwrap();
    assert_eq!(states(store, id, 1, SECOND).await, (CellStatus::Completed, false));
}
