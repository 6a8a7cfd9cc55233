//! Columns that are read while rows change, and while others ask for what is there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::RowId;
use rowmill_store::StoredProject;
use serde_json::json;
use uuid::Uuid;

use super::made::{now, selection_of};
use super::memory::{filled, first, insert, write, write_highest};
use crate::cache_loader::is_current;
use crate::column::ColumnKey;
use crate::order_cache::CachedOrder;
use crate::plan::Plan;
use crate::query::Query;
use crate::selection::Selection;
use crate::snapshot::Patch;
use crate::waiting_columns::WantedColumns;

fn until() -> Instant {
    SystemClock.monotonic() + Duration::from_secs(30)
}

fn by_b() -> Selection {
    let sorting =
        json!([{ "columnId": "col_b", "direction": "asc" }, { "columnId": "col_a", "direction": "asc" }]);
    selection_of(&json!([]), &sorting, None)
}

fn columns_by_b(project: &StoredProject) -> WantedColumns {
    let plan = Plan::compile(&by_b(), &project.project.table);
    let sorted: Vec<ColumnKey> = plan.keys.iter().map(|(name, _)| name.clone()).collect();
    WantedColumns { names: plan.names(), sorted }
}

#[tokio::test]
async fn who_asks_for_what_is_here_does_not_wait_for_a_scan() {
    let (store, project) = filled(2_000).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    first(&query, &project).await.unwrap();
    let cached = query.loader.cache.entry(project.project.id);
    let scan = cached.scan_lock.lock().await;
    for number in [5_u64, 1_999] {
        let project = write_highest(&*store, &project, number).await;
        let answered = tokio::time::timeout(Duration::from_secs(20), first(&query, &project)).await;
        assert_eq!(answered.unwrap().unwrap(), number);
    }
    drop(scan);
}

/// What changes while a column is scanned.
const CHANGES: u128 = 40;

#[tokio::test]
async fn what_changes_while_a_column_is_scanned_is_in_it() {
    // With the column that is there brought up to date before the scan, while it runs, and not at all.
    for is_asked in [|_| true, |change| change % 7 == 0, |_| false] as [fn(u128) -> bool; 3] {
        let (store, project) = filled(2_000).await;
        let query = Query::with_memory(Arc::clone(&store), 1 << 30);
        first(&query, &project).await.unwrap();
        let task = query.loader.task(&project);
        let cached = query.loader.cache.entry(project.project.id);
        let kept = cached.change_log.keep();
        let mut scanned = None;
        for change in 0..CHANGES {
            if change == CHANGES / 4 {
                scanned = Some(task.scan(&columns_by_b(&project), until()).await.unwrap());
            }
            let project = store.project(project.project.id).await.unwrap().unwrap();
            match change % 4 {
                0 => insert(&*store, &project, 10_000 + change * 10..10_000 + change * 10 + 3).await,
                1 => write(&*store, &project, change, (1, format!("\"a{change}\""))).await,
                2 => write(&*store, &project, change, (2, change.to_string())).await,
                _ => {
                    let gone = vec![RowId::from_uuid(Uuid::from_u128(500 + change))];
                    store.delete_rows(project.project.id, gone).await.unwrap();
                }
            }
            if is_asked(change) {
                let project = store.project(project.project.id).await.unwrap().unwrap();
                first(&query, &project).await.unwrap();
            }
        }
        let generation = cached.snapshot().generation;
        cached.snapshot_mut().take_in(scanned.unwrap()).unwrap();
        drop(kept);
        let project = store.project(project.project.id).await.unwrap().unwrap();
        let found = query.positions(&project, by_b(), now()).await.unwrap();
        assert_eq!(cached.snapshot().generation, generation, "nothing was read anew");
        let streamed = Query::with_memory(Arc::clone(&store), 0);
        assert_eq!(found, streamed.positions(&project, by_b(), now()).await.unwrap());
    }
}

#[tokio::test]
async fn columns_that_are_older_than_others_are_brought_up_to_date_first() {
    let (store, project) = filled(100).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    first(&query, &project).await.unwrap();
    let scanned = query.loader.task(&project).scan(&columns_by_b(&project), until()).await.unwrap();
    let now = write_highest(&*store, &project, 5).await;
    first(&query, &now).await.unwrap();
    let cached = query.loader.cache.entry(project.project.id);
    cached.snapshot_mut().take_in(scanned).unwrap();
    // Whoever asked before the change must not see one column with it and another without.
    assert!(!is_current(&cached.snapshot(), project.change_seq));
    query.positions(&project, by_b(), super::made::now()).await.unwrap();
    assert!(is_current(&cached.snapshot(), now.change_seq));
}

#[tokio::test]
async fn what_was_read_is_counted_before_it_is_looked_at() {
    let (store, project) = filled(2_000).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    let plan = Plan::compile(&by_b(), &project.project.table);
    query.loader.ready(&project, &plan, project.change_seq, until()).await.unwrap().unwrap();
    assert!(query.memory_bytes() > 2_000 * 30, "{}", query.memory_bytes());
}

#[tokio::test]
async fn no_order_is_made_without_a_column_of_its_filters() {
    let (store, project) = filled(100).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    let filters = json!([{ "columnId": "col_b", "operator": "isEmpty" }]);
    let plan = Plan::compile(&selection_of(&filters, &json!([]), None), &project.project.table);
    let cached = query.loader.ready(&project, &plan, project.change_seq, until()).await.unwrap().unwrap();
    let order = CachedOrder::new(&Arc::new(plan));
    let rows = || order.read(&cached.snapshot(), now(), |rows| Some(rows.len()));
    assert_eq!(rows(), Some(100));
    cached.snapshot_mut().drop_columns(|_| true);
    assert_eq!(rows(), None);
}

#[tokio::test]
async fn columns_of_what_was_given_up_meanwhile_are_not_taken_in() {
    let (store, project) = filled(100).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    first(&query, &project).await.unwrap();
    let scanned = query.loader.task(&project).scan(&columns_by_b(&project), until()).await.unwrap();
    let cached = query.loader.cache.entry(project.project.id);
    let emptied = cached.snapshot().emptied();
    *cached.snapshot_mut() = emptied;
    cached.snapshot_mut().take_in(scanned).unwrap();
    assert!(cached.snapshot().names().is_empty());
    assert!(cached.snapshot_mut().apply(&Patch::default()).is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn questions_that_push_each_other_out_of_memory_are_answered() {
    let (store, project) = filled(2_000).await;
    for number in 0..50 {
        write(&*store, &project, number * 7, (2, number.to_string())).await;
    }
    let project = store.project(project.project.id).await.unwrap().unwrap();
    let by = |columns: &[&str]| {
        let key = |column: &&str| json!({ "columnId": column, "direction": "desc" });
        selection_of(&json!([]), &columns.iter().map(key).collect(), None)
    };
    let filters = json!([{ "columnId": "col_b", "operator": "isNotEmpty" }]);
    let filtered = selection_of(&filters, &json!([]), None);
    let selections = [by(&["col_a"]), by(&["col_b"]), by(&["col_b", "col_a"]), by(&["col_mail"]), filtered];
    let streamed = Query::with_memory(Arc::clone(&store), 0);
    // Room for some of it at a time.
    let query = Query::with_memory(Arc::clone(&store), 120_000);
    let mut asking = tokio::task::JoinSet::new();
    for selection in selections {
        let expected = streamed.positions(&project, selection.clone(), now()).await.unwrap();
        let (query, project) = (query.clone(), project.clone());
        asking.spawn(async move {
            for _ in 0..20 {
                assert_eq!(query.positions(&project, selection.clone(), now()).await.unwrap(), expected);
            }
        });
    }
    while let Some(asked) = asking.join_next().await {
        asked.unwrap();
    }
}
