//! Cells are queued, claimed, settled and stopped, and the counts are always true.

use std::sync::{Arc, Mutex};

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::plan::{Causes, Pick, RunTally};
use rowmill_model::record::Slot;
use rowmill_model::{Amount, CellError, CellStatus, ErrorCode, ProjectId, Spent, Usage};
use uuid::Uuid;

use super::make::{
    ANSWER, NAME, SECOND, batch, cell, create, creation, insert, load, numbered, processed, row, row_id,
    write, writes,
};
use super::recount::check_counts;
use crate::store::Store;
use crate::types::{PageStart, ProjectSave};
use crate::work::{
    CellResult, Change, Claim, Claimed, Lane, Rows, Settle, Settled, Settlement, Stop, Ticket, Trigger,
    WorkerId,
};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));
const OTHER: WorkerId = WorkerId(Uuid::from_u128(2));

fn everything(project: ProjectId) -> Trigger {
    Trigger { project, rows: Rows::All, pick: Pick::default(), limit: None, dry_run: false, now_ms: 5 }
}

fn stop_all(project: ProjectId) -> Stop {
    Stop { project, rows: Rows::All, slots: None, now_ms: 6 }
}

async fn claim_as(store: &dyn Store, worker: WorkerId, lane: Lane, most: u32, now_ms: i64) -> Vec<Claimed> {
    let now = Timestamp::from_millisecond(now_ms).unwrap();
    let claim =
        Claim { worker, expires_at_ms: now_ms + 1_000, now, asks: vec![(lane, most)], bytes_max: usize::MAX };
    store.claim(claim).await.unwrap()
}

async fn claim(store: &dyn Store, project: ProjectId, slot: Slot, most: u32) -> Vec<Claimed> {
    claim_as(store, WORKER, Lane { project, slot }, most, 10).await
}

fn value(ticket: Ticket, raw: &str) -> Settlement {
    Settlement { ticket, result: CellResult::Value(raw.into(), Meta::new()) }
}

async fn settle(store: &dyn Store, results: Vec<Settlement>) -> Vec<bool> {
    store.settle(WORKER, 11, results).await.unwrap()
}

async fn status(store: &dyn Store, project: ProjectId, number: u128, slot: Slot) -> CellStatus {
    let row = store.row(project, row_id(number)).await.unwrap().unwrap();
    row.states.get(slot).map_or(CellStatus::Idle, |state| state.status)
}

fn failure(code: ErrorCode) -> CellError {
    CellError { code, message: "It failed.".to_owned() }
}

pub(super) async fn a_run_goes_through_every_column(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    assert_eq!(store.lanes(0).await.unwrap().ready, []);
    assert_eq!(store.trigger(everything(id)).await.unwrap(), 600);
    assert_eq!(store.trigger(everything(id)).await.unwrap(), 0, "what is queued is left alone");
    let lane = |slot| Lane { project: id, slot };
    assert_eq!(store.lanes(0).await.unwrap().ready, [lane(ANSWER)]);
    assert_eq!(claim(store, id, SECOND, 9).await.len(), 0, "it waits for the answer");
    let mut settled = 0;
    loop {
        let cells = claim(store, id, ANSWER, 70).await;
        if cells.is_empty() {
            break;
        }
        assert!(cells.is_sorted_by_key(|cell| cell.ticket.position));
        let results = cells.iter().map(|cell| {
            let name = cell.values.cells().unwrap().get(NAME).unwrap().to_owned();
            value(cell.ticket, &format!("{{\"name\":{name}}}"))
        });
        let taken = settle(store, results.collect()).await;
        assert!(taken.iter().all(|taken| *taken));
        settled += cells.len();
        check_counts(store, id).await;
    }
    assert_eq!(settled, 600);
    assert_eq!(store.lanes(0).await.unwrap().ready, [lane(SECOND)]);
    let one = claim(store, id, SECOND, 1).await.remove(0);
    assert_eq!(one.values.cells().unwrap().get(ANSWER), Some("{\"name\":1}"));
    assert_eq!((one.row, one.attempts, one.project.id), (row_id(1), 0, id));
    let meta: Meta = [("model".to_owned(), "m".into())].into_iter().collect();
    let result = Settlement { ticket: one.ticket, result: CellResult::Value("2".into(), meta.clone()) };
    assert_eq!(settle(store, vec![result.clone()]).await, [true]);
    assert_eq!(settle(store, vec![result]).await, [false], "a result is taken once");
    let first = store.row(id, row_id(1)).await.unwrap().unwrap();
    let state = first.states.get(SECOND).unwrap();
    assert_eq!(
        (cell(&first, SECOND).unwrap(), state.attempts, state.updated_at_ms),
        ("2".to_owned(), 1, Some(11))
    );
    assert_eq!((state.status, state.meta.as_ref()), (CellStatus::Completed, Some(&meta)));
    check_counts(store, id).await;
}

pub(super) async fn what_waited_goes_on_with_the_result(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 600)).await;
    store.trigger(everything(id)).await.unwrap();
    let next = |most| Claim {
        worker: WORKER,
        expires_at_ms: 1_000,
        now: Timestamp::from_millisecond(11).unwrap(),
        asks: vec![(Lane { project: id, slot: ANSWER }, 9), (Lane { project: id, slot: SECOND }, most)],
        bytes_max: usize::MAX,
    };
    let go_on = async |results, most| {
        store.settle_and_claim(Settle { worker: WORKER, now_ms: 11, results, next: Some(next(most)) }).await
    };
    let first = claim(store, id, ANSWER, 300).await;
    let mut results: Vec<Settlement> = first.iter().map(|cell| value(cell.ticket, "1")).collect();
    results[1].result = CellResult::Failed(failure(ErrorCode::TimedOut), Meta::new());
    let Settled { taken, claimed: second } = go_on(results.clone(), 298).await.unwrap();
    assert!(taken.iter().all(|taken| *taken));
    // Of the rows that were written alone, and as many as were asked for.
    let rows: Vec<u64> = first.iter().map(|cell| cell.ticket.position).filter(|row| *row != 1).collect();
    let positions: Vec<u64> = second.iter().map(|cell| cell.ticket.position).collect();
    assert_eq!(positions, rows[..298]);
    assert_eq!(second[0].values.cells().unwrap().get(ANSWER), Some("1"));
    assert_eq!((second[0].row, second[0].ticket.lane.slot, second[0].attempts), (row_id(1), SECOND, 0));
    assert_eq!(status(store, id, 1, SECOND).await, CellStatus::Generating);
    assert_eq!(status(store, id, 2, SECOND).await, CellStatus::Skipped, "its input failed");
    assert_eq!(status(store, id, 300, SECOND).await, CellStatus::Queued);
    check_counts(store, id).await;
    let Settled { taken: again, claimed: nothing } = go_on(results, 298).await.unwrap();
    assert!(again.iter().all(|taken| !taken), "a result is taken once");
    assert_eq!(nothing.len(), 0, "and nothing goes on with one that is not taken");
    // What was taken is the worker's own, as from any claim.
    let mut held = store.heartbeat(WORKER, 1_000).await.unwrap();
    held.sort_unstable();
    assert_eq!(held, second.iter().map(|cell| cell.ticket).collect::<Vec<_>>());
    let results = second.iter().map(|cell| value(cell.ticket, "2")).collect();
    assert!(settle(store, results).await.iter().all(|taken| *taken));
    assert_eq!(claim(store, id, SECOND, 9).await.len(), 1);
    assert_eq!(cell(&store.row(id, row_id(1)).await.unwrap().unwrap(), SECOND).unwrap(), "2");
    check_counts(store, id).await;
}

pub(super) async fn a_run_is_summed_up(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 6)).await;
    let run = async || store.processing_status(id).await.unwrap().unwrap().tally.run();
    assert_eq!(run().await, RunTally::default());
    store.trigger(everything(id)).await.unwrap();
    let cells = claim(store, id, ANSWER, 5).await;
    let paid = |meta: serde_json::Value| meta.as_object().cloned().unwrap_or_default();
    let priced = paid(serde_json::json!({"cost": 0.5}));
    let results = [
        CellResult::Value("1".into(), paid(serde_json::json!({"cost": 0.25}))),
        CellResult::NoData(paid(serde_json::json!({"credits": 2}))),
        CellResult::Failed(failure(ErrorCode::ProviderError), paid(serde_json::json!({"cost": "soon"}))),
        CellResult::Retry { at_ms: 5_000, error: failure(ErrorCode::RateLimited), meta: priced },
    ];
    let results = cells.iter().zip(results);
    let results = results.map(|(cell, result)| Settlement { ticket: cell.ticket, result }).collect();
    settle(store, results).await;
    // Those whose answer is empty or an error are skipped.
    let second = claim(store, id, SECOND, 9).await;
    assert_eq!(second.len(), 1);
    let (mut failures, mut skips) = (Causes::default(), Causes::default());
    failures.count(ErrorCode::ProviderError);
    skips.count(ErrorCode::MissingInput);
    skips.count(ErrorCode::DependencyError);
    let told = RunTally {
        done: 1,
        empty: 1,
        failed: 1,
        skipped: 2,
        stopped: 0,
        spent: Spent {
            cost: Amount::told(0.75),
            list_cost: None,
            credits: Amount::told(2.0),
            usage: Usage { attempts: 4, ..Usage::NONE },
        },
        failures,
        skips,
    };
    assert_eq!(run().await, told);
    // The columns are changed meanwhile: all is counted anew, and the run goes on.
    let stored = load(store, id).await;
    let project = rowmill_model::Project { autoplay: true, ..(*stored.project).clone() };
    let (version, views) = (Some(stored.version), stored.views.to_vec());
    let save = ProjectSave { views, version, ..creation(project) };
    store.save_project(save).await.unwrap();
    assert_eq!(run().await, told);
    let stopped = store.stop(stop_all(id)).await.unwrap();
    assert_eq!(run().await, RunTally { stopped: stopped.cells, ..told });
    assert_eq!(told.ended() + stopped.cells, 12, "every cell of the run ended in one way");
    // The next one begins anew.
    let again =
        Trigger { rows: Rows::At(vec![0]), pick: Pick { force: true, ..Pick::default() }, ..everything(id) };
    assert_eq!(store.trigger(again).await.unwrap(), 1);
    assert_eq!(run().await, RunTally::default());
    check_counts(store, id).await;
}

pub(super) async fn a_cell_without_its_input_is_skipped(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, vec![row(1, &[]), row(2, &[(NAME, "2")])]).await;
    assert_eq!(store.trigger(everything(id)).await.unwrap(), 2);
    assert_eq!(claim(store, id, ANSWER, 9).await.len(), 1);
    let skipped = store.row(id, row_id(1)).await.unwrap().unwrap();
    let error = skipped.states.get(ANSWER).unwrap().error.clone().unwrap();
    assert_eq!(error.code, ErrorCode::MissingInput);
    assert!(error.message.contains("Name"), "{}", error.message);
    assert_eq!(claim(store, id, SECOND, 9).await.len(), 0);
    let skipped = store.row(id, row_id(1)).await.unwrap().unwrap();
    assert_eq!(skipped.states.get(SECOND).unwrap().error.as_ref().unwrap().code, ErrorCode::DependencyError);
    check_counts(store, id).await;
}

pub(super) async fn a_failed_cell_is_tried_again_at_its_time(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 1)).await;
    let lane = Lane { project: id, slot: ANSWER };
    store.trigger(everything(id)).await.unwrap();
    let ticket = claim(store, id, ANSWER, 9).await[0].ticket;
    let retry = CellResult::Retry { at_ms: 5_000, error: failure(ErrorCode::RateLimited), meta: Meta::new() };
    settle(store, vec![Settlement { ticket, result: retry }]).await;
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    let state = row.states.get(ANSWER).unwrap();
    assert_eq!((state.status, state.retry_at_ms, state.attempts), (CellStatus::Queued, Some(5_000), 1));
    assert_eq!(state.error.as_ref().unwrap().code, ErrorCode::RateLimited);
    let lanes = store.lanes(4_999).await.unwrap();
    assert_eq!((lanes.ready.len(), lanes.next_due_ms), (0, Some(5_000)));
    assert_eq!(claim_as(store, WORKER, lane, 9, 4_999).await.len(), 0);
    check_counts(store, id).await;
    let mut again = Vec::new();
    for _ in 0..2 {
        assert_eq!(store.lanes(5_000).await.unwrap().ready, [lane]);
        again = claim_as(store, WORKER, lane, 9, 5_000).await;
        if !again.is_empty() {
            break;
        }
    }
    assert_eq!(again[0].attempts, 1);
    let failed = CellResult::Failed(failure(ErrorCode::ProviderError), Meta::new());
    settle(store, vec![Settlement { ticket: again[0].ticket, result: failed }]).await;
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    let state = row.states.get(ANSWER).unwrap();
    assert_eq!((state.status, state.attempts, state.retry_at_ms), (CellStatus::Error, 2, None));
    assert_eq!(state.error.as_ref(), Some(&failure(ErrorCode::ProviderError)));
    // A run that is stopped has no tries any more when the next one begins.
    store.trigger(everything(id)).await.unwrap();
    let ticket = claim_as(store, WORKER, lane, 9, 6_000).await[0].ticket;
    let retry = CellResult::Retry { at_ms: 7_000, error: failure(ErrorCode::RateLimited), meta: Meta::new() };
    settle(store, vec![Settlement { ticket, result: retry }]).await;
    store.stop(stop_all(id)).await.unwrap();
    store.trigger(everything(id)).await.unwrap();
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    let state = row.states.get(ANSWER).unwrap();
    assert_eq!((state.status, state.attempts, state.error.as_ref()), (CellStatus::Queued, 0, None));
    assert_eq!(claim_as(store, WORKER, lane, 9, 6_500).await[0].attempts, 0);
    store.stop(stop_all(id)).await.unwrap();
    assert_eq!(status(store, id, 1, ANSWER).await, CellStatus::Error);
    // Only what failed in that way is meant.
    let pick = |code| Pick { error_codes: Some(vec![code]), ..Pick::default() };
    let dry = |code| Trigger { pick: pick(code), dry_run: true, ..everything(id) };
    assert_eq!(store.trigger(dry(ErrorCode::TimedOut)).await.unwrap(), 0);
    assert_eq!(store.trigger(dry(ErrorCode::ProviderError)).await.unwrap(), 1);
    assert_eq!(status(store, id, 1, ANSWER).await, CellStatus::Error, "a dry run changes nothing");
}

pub(super) async fn a_time_that_a_wrong_clock_wrote_is_not_waited_for(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 2)).await;
    let lane = Lane { project: id, slot: ANSWER };
    store.trigger(everything(id)).await.unwrap();
    let jumped_ms = 10_000_000_000;
    let retry =
        |at_ms| CellResult::Retry { at_ms, error: failure(ErrorCode::RateLimited), meta: Meta::new() };
    let claimed = claim(store, id, ANSWER, 9).await;
    let results = claimed.iter().zip([jumped_ms, 1_000_000]);
    let results = results.map(|(cell, at_ms)| Settlement { ticket: cell.ticket, result: retry(at_ms) });
    settle(store, results.collect()).await;
    // The clock is right again: the other cell's time is still to come.
    let lanes = store.lanes(5_000).await.unwrap();
    assert_eq!((lanes.ready, lanes.next_due_ms), (vec![lane], Some(1_000_000)));
    let again = claim_as(store, WORKER, lane, 9, 5_000).await;
    assert_eq!(
        again.iter().map(|cell| cell.ticket.position).collect::<Vec<_>>(),
        [claimed[0].ticket.position]
    );
    check_counts(store, id).await;
}

pub(super) async fn what_is_stopped_is_as_it_was(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 300)).await;
    let changes: Arc<Mutex<Vec<Change>>> = Arc::default();
    let heard = Arc::clone(&changes);
    store.listen(Box::new(move |change| heard.lock().unwrap().push(change.clone())));
    store.trigger(everything(id)).await.unwrap();
    let cells = claim(store, id, ANSWER, 3).await;
    settle(store, vec![value(cells[0].ticket, "1")]).await;
    assert!(changes.lock().unwrap().iter().any(|change| change.ready));
    changes.lock().unwrap().clear();
    let stopped = store.stop(stop_all(id)).await.unwrap();
    assert_eq!((stopped.rows, stopped.cells), (300, 599));
    let revoked: Vec<Ticket> =
        changes.lock().unwrap().iter().flat_map(|change| change.revoked.clone()).collect();
    assert_eq!(revoked, [cells[1].ticket, cells[2].ticket], "told before the answer");
    assert_eq!(settle(store, vec![value(cells[1].ticket, "1")]).await, [false], "a late result is dropped");
    assert_eq!(store.lanes(99).await.unwrap().ready, []);
    assert_eq!(status(store, id, 1, ANSWER).await, CellStatus::Completed);
    assert_eq!(status(store, id, 2, ANSWER).await, CellStatus::Idle);
    check_counts(store, id).await;
    assert_eq!(store.stop(stop_all(id)).await.unwrap().cells, 0);
    // Some columns of some rows.
    let two = Trigger { rows: Rows::At(vec![7, 8, 99_999]), ..everything(id) };
    assert_eq!(store.trigger(two).await.unwrap(), 2);
    let one = Stop { rows: Rows::At(vec![8, 299]), slots: Some(vec![ANSWER]), ..stop_all(id) };
    assert_eq!(store.stop(one).await.unwrap().cells, 1);
    assert_eq!(claim(store, id, ANSWER, 9).await.len(), 1);
    check_counts(store, id).await;
}

pub(super) async fn a_limit_counts_rows_with_something_to_do(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 10)).await;
    let first = Trigger { rows: Rows::At(vec![0, 1]), ..everything(id) };
    assert_eq!(store.trigger(first).await.unwrap(), 2);
    let backwards = Trigger { rows: Rows::At((0..10).rev().collect()), limit: Some(3), ..everything(id) };
    assert_eq!(store.trigger(backwards).await.unwrap(), 3);
    assert_eq!(store.trigger(Trigger { limit: Some(2), ..everything(id) }).await.unwrap(), 2);
    let queued = |number| status(store, id, number, ANSWER);
    let mut statuses = Vec::new();
    for number in 1..=10 {
        statuses.push(queued(number).await == CellStatus::Queued);
    }
    assert_eq!(statuses, [true, true, true, true, false, false, false, true, true, true]);
}

pub(super) async fn a_lost_workers_cells_run_again(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    store.trigger(everything(id)).await.unwrap();
    let lane = Lane { project: id, slot: ANSWER };
    let lost = claim_as(store, WORKER, lane, 2, 10).await;
    let alive = claim_as(store, OTHER, lane, 2, 10).await;
    assert_eq!((lost.len(), alive.len()), (2, 1));
    assert_eq!(store.heartbeat(OTHER, 9_000).await.unwrap(), [alive[0].ticket]);
    assert_eq!(store.requeue_lost(1_009).await.unwrap(), 0, "its time has not run out");
    assert_eq!(store.requeue_lost(1_010).await.unwrap(), 2);
    assert_eq!(settle(store, vec![value(lost[0].ticket, "1")]).await, [false]);
    let again = claim_as(store, OTHER, lane, 9, 1_010).await;
    assert_eq!(again.len(), 2);
    let not_its_own = store.settle(WORKER, 11, vec![value(again[0].ticket, "1")]).await.unwrap();
    assert_eq!(not_its_own, [false]);
    assert_eq!(store.heartbeat(OTHER, 9_000).await.unwrap().len(), 3);
    assert_eq!(store.leave(OTHER).await.unwrap(), 3);
    assert_eq!(claim(store, id, ANSWER, 9).await.len(), 3);
    check_counts(store, id).await;
}

pub(super) async fn a_hand_beats_a_worker(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 2)).await;
    store.trigger(everything(id)).await.unwrap();
    let cells = claim(store, id, ANSWER, 9).await;
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(1, ANSWER, "\"mine\"")])).await.unwrap();
    let taken = settle(store, cells.iter().map(|cell| value(cell.ticket, "0")).collect()).await;
    assert_eq!(taken, [false, true]);
    let row = store.row(id, row_id(1)).await.unwrap().unwrap();
    assert_eq!(cell(&row, ANSWER).unwrap(), "\"mine\"");
    assert!(row.states.get(ANSWER).unwrap().manual);
    // The input changes under a worker's hands: its result is for another question.
    let second = claim(store, id, SECOND, 9).await;
    assert_eq!(second.len(), 2);
    store.write_cells(writes(id, version, vec![write(1, ANSWER, "\"else\"")])).await.unwrap();
    let taken = settle(store, second.iter().map(|cell| value(cell.ticket, "0")).collect()).await;
    assert_eq!(taken, [false, true]);
    assert_eq!(claim(store, id, SECOND, 9).await[0].row, row_id(1));
    store.delete_rows(id, vec![row_id(1)]).await.unwrap();
    check_counts(store, id).await;
}

pub(super) async fn rows_play_by_themselves(store: &dyn Store) {
    let mut project = processed(1, 1);
    project.autoplay = true;
    let id = create(store, project).await.project.id;
    insert(store, id, vec![row(1, &[(NAME, "1")]), row(2, &[(NAME, "2"), (ANSWER, "7")])]).await;
    let cells = claim(store, id, ANSWER, 9).await;
    assert_eq!(cells.len(), 1, "what was sent is not asked for");
    settle(store, vec![value(cells[0].ticket, "5")]).await;
    let seconds = claim(store, id, SECOND, 9).await;
    settle(store, seconds.iter().map(|cell| value(cell.ticket, "6")).collect()).await;
    assert_eq!(store.lanes(99).await.unwrap().ready, []);
    let version = load(store, id).await.version;
    let same =
        crate::types::NewRows { match_on: Some(NAME), ..batch(id, version, vec![row(9, &[(NAME, "1.0")])]) };
    store.insert_rows(same).await.unwrap();
    assert_eq!(store.lanes(99).await.unwrap().ready, [], "an unchanged row runs nothing");
    store.write_cells(writes(id, version, vec![write(1, NAME, "8"), write(2, NAME, "9")])).await.unwrap();
    let cells = claim(store, id, ANSWER, 9).await;
    assert_eq!(cells.iter().map(|cell| cell.row).collect::<Vec<_>>(), [row_id(1)]);
    check_counts(store, id).await;
}

pub(super) async fn a_deleted_project_takes_the_work_along(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let revoked: Arc<Mutex<Vec<Ticket>>> = Arc::default();
    let heard = Arc::clone(&revoked);
    store.listen(Box::new(move |change| heard.lock().unwrap().extend(change.revoked.iter().copied())));
    store.trigger(everything(id)).await.unwrap();
    let cells = claim(store, id, ANSWER, 2).await;
    assert!(store.delete_project(id, None).await.unwrap());
    let tickets: Vec<Ticket> = cells.iter().map(|cell| cell.ticket).collect();
    assert_eq!(*revoked.lock().unwrap(), tickets, "whoever runs them is told");
    assert_eq!(settle(store, vec![value(tickets[0], "1")]).await, [false]);
    assert_eq!(store.lanes(0).await.unwrap().ready, []);
    assert_eq!(claim(store, id, ANSWER, 9).await.len(), 0);
}

pub(super) async fn a_deleted_column_holds_nothing_up(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 300)).await;
    store.trigger(everything(id)).await.unwrap();
    let cells = claim(store, id, ANSWER, 2).await;
    let stored = load(store, id).await;
    let mut project = rowmill_model::Project::clone(&stored.project);
    project.table.columns.retain(|column| column.slot != ANSWER);
    for column in &mut project.table.columns {
        column.dependencies.clear();
    }
    let save = ProjectSave { version: Some(stored.version), ..creation(project) };
    store.save_project(save).await.unwrap();
    assert_eq!(settle(store, vec![value(cells[0].ticket, "1")]).await, [false]);
    assert_eq!(store.lanes(0).await.unwrap().ready, [Lane { project: id, slot: SECOND }]);
    assert_eq!(claim(store, id, SECOND, 1_000).await.len(), 300);
    check_counts(store, id).await;
    let page = store.rows(id, PageStart::Offset(299), 1).await.unwrap();
    assert_eq!(page.rows[0].states.get(SECOND).unwrap().status, CellStatus::Generating);
}
