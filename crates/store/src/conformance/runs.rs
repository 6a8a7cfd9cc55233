//! Runs have numbers, and those that are over are kept for a while.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::plan::{EndedRun, LeftCells, Pick, StartedBy};
use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, RowId};
use rowmill_telemetry::TraceContext;
use uuid::Uuid;

use super::make::{ANSWER, SECOND, create, insert, numbered, processed, row_id};
use crate::store::Store;
use crate::work::{
    CellResult, Claim, Claimed, ENDED_RUNS_KEPT_MS, Lane, Rows, Settlement, Stop, Trigger, Triggered,
    WorkerId,
};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));

fn row(position: u64, now_ms: i64, project: ProjectId) -> Trigger {
    let pick = Pick { force: true, slots: Some(vec![ANSWER]), ..Pick::default() };
    Trigger { project, rows: Rows::At(vec![position]), pick, limit: None, dry_run: false, now_ms }
}

fn key(name: &str) -> StartedBy {
    StartedBy::Key(name.to_owned())
}

/// Runs what is ready in a column; says how many cells that were.
pub(super) async fn finish(store: &dyn Store, project: ProjectId, slot: Slot, now_ms: i64) -> usize {
    let now = Timestamp::from_millisecond(now_ms).unwrap();
    let asks = vec![(Lane { project, slot }, 1_000)];
    let claim = Claim { worker: WORKER, expires_at_ms: now_ms + 1_000, now, asks, bytes_max: usize::MAX };
    let cells = store.claim(claim).await.unwrap();
    if cells.is_empty() {
        return 0;
    }
    let result = || CellResult::Value("1".into(), Meta::new());
    let results: Vec<_> =
        cells.iter().map(|cell| Settlement { ticket: cell.ticket, result: result() }).collect();
    assert!(store.settle(WORKER, now_ms, results).await.unwrap().into_iter().all(|taken| taken));
    cells.len()
}

async fn ended(store: &dyn Store, project: ProjectId) -> Vec<EndedRun> {
    store.ended_runs(project, u64::MAX, 100).await.unwrap()
}

pub(super) async fn a_run_that_is_over_is_kept(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let everything = Trigger { rows: Rows::All, pick: Pick::default(), ..row(0, 5, id) };
    let dry = Trigger { dry_run: true, ..everything.clone() };
    let queued = |rows, run| Triggered { rows, run, ..Triggered::default() };
    let cells = BTreeMap::from([(ANSWER, 3), (SECOND, 3)]);
    let rehearsed = store.start_run(dry.clone(), key("a")).await.unwrap();
    assert_eq!(rehearsed, Triggered { cells, ..queued(3, None) });
    let first = store.start_run(Trigger { limit: Some(1), ..dry.clone() }, key("a")).await.unwrap();
    assert_eq!((first.rows, first.cells), (1, BTreeMap::from([(ANSWER, 1), (SECOND, 1)])));
    assert_eq!(store.start_run(everything, key("a")).await.unwrap(), queued(3, Some(1)));
    let left = LeftCells { pending: 6, ..LeftCells::default() };
    let nothing = store.start_run(dry.clone(), key("a")).await.unwrap();
    assert_eq!(nothing, Triggered { left, ..Triggered::default() }, "all of it runs already");
    let status = store.processing_status(id).await.unwrap().unwrap();
    assert_eq!(status.tally.running(), Some((5, Some(&key("a")))));
    assert!(ended(store, id).await.is_empty(), "it goes on");
    // Whoever triggers meanwhile joins it; what has nothing to do is in no run.
    assert_eq!(store.start_run(row(0, 6, id), key("b")).await.unwrap(), Triggered::default());
    assert_eq!(finish(store, id, ANSWER, 7).await, 3);
    assert_eq!(store.start_run(row(0, 8, id), key("b")).await.unwrap(), queued(1, Some(1)));
    assert_eq!(finish(store, id, ANSWER, 9).await, 1);
    assert!(ended(store, id).await.is_empty(), "another column goes on");
    assert_eq!(finish(store, id, SECOND, 10).await, 3);
    let left = LeftCells { done: 6, ..LeftCells::default() };
    let nothing = store.start_run(dry, key("a")).await.unwrap();
    assert_eq!(nothing, Triggered { left, ..Triggered::default() }, "all of it is done");
    let runs = ended(store, id).await;
    assert_eq!(runs.len(), 1);
    let run = &runs[0];
    assert_eq!((run.number, run.started_at_ms, run.ended_at_ms), (1, 5, 10));
    assert_eq!((run.started_by.as_ref(), run.is_stopped), (Some(&key("a")), false));
    assert_eq!((run.tally.done, run.tally.spent.usage.attempts), (7, 7));
    let status = store.processing_status(id).await.unwrap().unwrap();
    assert_eq!((status.tally.running(), status.tally.run_number()), (None, 1));
    assert!(store.delete_project(id, None).await.unwrap());
    assert!(ended(store, id).await.is_empty());
}

pub(super) async fn the_cells_of_a_run_know_its_trace(store: &dyn Store) {
    let mut project = processed(1, 1);
    project.autoplay = true;
    let id = create(store, project).await.project.id;
    let trace = |last: char| TraceContext::parse(&format!("00-{}{last}-00000000000000a1-01", "4".repeat(31)));
    let claim = async |slot| {
        let (now, asks) = (Timestamp::from_millisecond(100).unwrap(), vec![(Lane { project: id, slot }, 10)]);
        let claim = Claim { worker: WORKER, expires_at_ms: 9_000, now, asks, bytes_max: usize::MAX };
        store.claim(claim).await.unwrap()
    };
    let traces = |cells: &[Claimed]| cells.iter().map(|cell| cell.trace).collect::<Vec<_>>();
    let settle = async |cells: Vec<Claimed>| {
        let settled = |cell: Claimed| Settlement {
            ticket: cell.ticket,
            result: CellResult::Value("1".into(), Meta::new()),
        };
        store.settle(WORKER, 100, cells.into_iter().map(settled).collect()).await.unwrap();
    };
    // Of the request that made the rows.
    TraceContext::scope(trace('1'), insert(store, id, numbered(1, 2))).await;
    let cells = claim(ANSWER).await;
    assert_eq!(traces(&cells), [trace('1'), trace('1')]);
    // Whoever triggers meanwhile joins the run, and its trace.
    TraceContext::scope(trace('2'), store.start_run(row(0, 5, id), key("a"))).await.unwrap();
    settle(cells).await;
    let second = claim(SECOND).await;
    assert_eq!(traces(&second), [trace('1'), trace('1')]);
    settle(second).await;
    settle(claim(ANSWER).await).await;
    // The next run has its own, or none.
    TraceContext::scope(trace('3'), store.start_run(row(0, 6, id), key("a"))).await.unwrap();
    let third = claim(ANSWER).await;
    assert_eq!(traces(&third), [trace('3')]);
    settle(third).await;
    settle(claim(SECOND).await).await;
    store.start_run(row(1, 7, id), key("a")).await.unwrap();
    assert_eq!(traces(&claim(ANSWER).await), [None]);
}

pub(super) async fn a_run_says_who_started_it_and_how_it_ended(store: &dyn Store) {
    let mut project = processed(1, 1);
    project.autoplay = true;
    let id = create(store, project).await.project.id;
    let all = |now_ms| Stop { project: id, rows: Rows::All, slots: None, now_ms };
    // By itself, and stopped whole.
    insert(store, id, numbered(1, 2)).await;
    assert_eq!(store.stop(all(20)).await.unwrap().cells, 4);
    // Stopped in part, and finished.
    store.start_run(row(0, 30, id), key("a")).await.unwrap();
    store.start_run(row(1, 31, id), key("b")).await.unwrap();
    let one = Stop { rows: Rows::At(vec![1]), ..all(32) };
    assert_eq!(store.stop(one.clone()).await.unwrap().cells, 1);
    assert_eq!(finish(store, id, ANSWER, 33).await, 1);
    // It may have gone on to the next column by itself.
    finish(store, id, SECOND, 34).await;
    // The stop that leaves nothing ends it.
    store.start_run(row(1, 40, id), StartedBy::Session("s".to_owned())).await.unwrap();
    store.stop(Stop { now_ms: 41, ..one }).await.unwrap();
    // Its last rows were deleted: it is over.
    store.start_run(row(1, 50, id), key("c")).await.unwrap();
    let rows: Vec<RowId> = vec![row_id(2)];
    assert_eq!(store.delete_rows(id, rows).await.unwrap(), 1);
    let told: Vec<_> = ended(store, id)
        .await
        .into_iter()
        .map(|run| (run.number, run.started_by.unwrap(), run.is_stopped, run.started_at_ms))
        .rev()
        .collect();
    let by_itself = told.first().map(|(.., at_ms)| *at_ms).unwrap_or_default();
    let expected = vec![
        (1, StartedBy::Autoplay, true, by_itself),
        (2, key("a"), false, 30),
        (3, StartedBy::Session("s".to_owned()), true, 40),
        (4, key("c"), false, 50),
    ];
    assert_eq!(told, expected);
    let status = store.processing_status(id).await.unwrap().unwrap();
    assert_eq!(status.tally.running(), None);
}

pub(super) async fn runs_are_kept_newest_first_and_not_without_end(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 1)).await;
    for now_ms in 0..6 {
        store.start_run(row(0, now_ms, id), key("a")).await.unwrap();
        assert_eq!(finish(store, id, ANSWER, now_ms).await, 1);
    }
    let numbers = async |before, limit| -> Vec<u64> {
        store.ended_runs(id, before, limit).await.unwrap().iter().map(|run| run.number).collect()
    };
    assert_eq!(numbers(u64::MAX, 2).await, [6, 5]);
    assert_eq!(numbers(5, 2).await, [4, 3]);
    assert_eq!(numbers(3, 10).await, [2, 1]);
    assert_eq!(numbers(1, 10).await, [0; 0]);
    // With each new one, some of those go that are too old.
    let later_ms = ENDED_RUNS_KEPT_MS + 1_000;
    for now_ms in later_ms..later_ms + 3 {
        store.start_run(row(0, now_ms, id), key("a")).await.unwrap();
        finish(store, id, ANSWER, now_ms).await;
    }
    assert_eq!(numbers(u64::MAX, 10).await, [9, 8, 7]);
}
