//! What is held in memory, for how long, and what happens without it.

use std::sync::Arc;
use std::time::Duration;

use rowmill_model::{Record, RowId};
use rowmill_store::conformance::MemoryStore;
use rowmill_store::{
    CellWrite, KeptInput, NewRow, NewRows, Store, StoreError, StoredProject, WantedSlots, WriteCells,
};
use serde_json::json;
use uuid::Uuid;

use super::made::{create, now, selection_of};
use crate::asked_log::AskedLog;
use crate::cache_loader::CacheLoader;
use crate::order_cache::name_of;
use crate::page::{PageOf, Start};
use crate::plan::Plan;
use crate::project_cache::ProjectCache;
use crate::query::Query;
use crate::selection::Selection;
use crate::waiting_columns::WantedColumns;

pub(super) async fn filled(count: u128) -> (Arc<dyn Store>, StoredProject) {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let id = create(&*store).await;
    let project = store.project(id).await.unwrap().unwrap();
    insert(&*store, &project, 0..count).await;
    let project = store.project(id).await.unwrap().unwrap();
    (store, project)
}

/// Rows with a text of 20 digits.
pub(super) async fn insert(store: &dyn Store, project: &StoredProject, numbers: std::ops::Range<u128>) {
    let row = |number: u128| {
        let text = format!("\"{:020}\"", number.wrapping_mul(7_919) % 100_000);
        let values = Record::pack([(1, text.as_str())]);
        NewRow {
            id: RowId::from_uuid(Uuid::from_u128(number)),
            values,
            cleared: Vec::new(),
            leftover_bytes_max: None,
        }
    };
    let insert = NewRows {
        project: project.project.id,
        version: project.version,
        rows: numbers.map(row).collect(),
        match_on: None,
        project_save: None,
        ignored_keys: Vec::new(),
        kept_input: KeptInput::default(),
        new_rows_max: None,
        new_bytes_max: None,
        now_ms: 1,
        once: None,
        import: None,
    };
    store.insert_rows(insert).await.unwrap();
}

fn by_a() -> Selection {
    selection_of(&json!([]), &json!([{ "columnId": "col_a", "direction": "desc" }]), None)
}

pub(super) async fn first(query: &Query, project: &StoredProject) -> Result<u64, StoreError> {
    let of = PageOf {
        selection: by_a(),
        start: Start::Offset(0),
        limit: 1,
        include_total: true,
        slots: WantedSlots::none(),
        now: now(),
    };
    query.page(project, of).await.map(|page| page.rows.first().unwrap().position)
}

#[tokio::test]
async fn what_fits_is_held_and_what_does_not_is_scanned() {
    let (store, project) = filled(2_000).await;
    let (ample, none) =
        (Query::with_memory(Arc::clone(&store), 1 << 30), Query::with_memory(Arc::clone(&store), 10_000));
    assert_eq!(first(&ample, &project).await.unwrap(), first(&none, &project).await.unwrap());
    assert!(ample.memory_bytes() > 2_000 * 22, "{}", ample.memory_bytes());
    assert!(none.memory_bytes() <= 10_000, "{}", none.memory_bytes());
}

#[tokio::test]
async fn a_write_that_was_answered_is_seen_by_whoever_asks_next() {
    let (store, project) = filled(2_000).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    first(&query, &project).await.unwrap();
    for number in [5_u64, 1_999, 7] {
        let project = write_highest(&*store, &project, number).await;
        let expected = if number == 7 { 1_999 } else { number };
        assert_eq!(first(&query, &project).await.unwrap(), expected);
    }
}

#[tokio::test]
async fn what_takes_too_long_is_ended() {
    let (store, project) = filled(2_000).await;
    for bytes in [0, 1 << 30] {
        let mut query = Query::with_memory(Arc::clone(&store), bytes);
        query.set_patience(Duration::ZERO);
        assert!(matches!(first(&query, &project).await, Err(StoreError::TooLong)));
    }
}

#[tokio::test]
async fn a_project_that_is_gone_is_not_answered_from_memory() {
    let (store, project) = filled(100).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    first(&query, &project).await.unwrap();
    store.delete_project(project.project.id, None).await.unwrap();
    assert!(matches!(first(&query, &project).await, Err(StoreError::UnknownProject)));
}

/// A query on a node that is told of changes only by what `tell` hands on.
fn on_another_node(store: &Arc<dyn Store>) -> (Query, Arc<ProjectCache>) {
    let cache = Arc::new(ProjectCache::new(1 << 30));
    let loader = CacheLoader { store: Arc::clone(store), cache: Arc::clone(&cache) };
    let asked = Arc::new(AskedLog::new(Arc::clone(store)));
    (Query { loader, patience: Duration::from_secs(30), asked }, cache)
}

/// Writes a cell.
pub(super) async fn write(
    store: &dyn Store,
    project: &StoredProject,
    row: u128,
    (slot, value): (u32, String),
) {
    let cells = vec![CellWrite { row: RowId::from_uuid(Uuid::from_u128(row)), slot, value: value.into() }];
    let write = WriteCells {
        project: project.project.id,
        version: project.version,
        project_save: None,
        cells,
        expected: None,
        new_bytes_max: None,
        now_ms: 2,
        returning: Vec::new(),
    };
    store.write_cells(write).await.unwrap();
}

pub(super) async fn write_highest(store: &dyn Store, project: &StoredProject, number: u64) -> StoredProject {
    write(store, project, u128::from(number), (1, format!("\"zz{number:04}\""))).await;
    store.project(project.project.id).await.unwrap().unwrap()
}

#[tokio::test]
async fn another_nodes_write_is_seen_when_its_news_comes_late_or_never() {
    let (store, project) = filled(2_000).await;
    let (query, cache) = on_another_node(&store);
    first(&query, &project).await.unwrap();
    let heard = Arc::new(std::sync::Mutex::new(Vec::new()));
    let listening = Arc::clone(&heard);
    store.listen(Box::new(move |change| listening.lock().unwrap().push(change.clone())));

    // Late: the reader waits for it.
    let now = write_highest(&*store, &project, 5).await;
    let late = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let told = heard.lock().unwrap().clone();
        for change in &told {
            cache.record(change);
        }
    };
    let (seen, ()) = tokio::join!(first(&query, &now), late);
    assert_eq!(seen.unwrap(), 5);

    // Never: everything is read anew.
    let now = write_highest(&*store, &project, 1_999).await;
    assert_eq!(first(&query, &now).await.unwrap(), 1_999);

    // The next one leaves a gap behind it, which was read meanwhile.
    let now = write_highest(&*store, &project, 7).await;
    for change in heard.lock().unwrap().iter() {
        cache.record(change);
    }
    assert_eq!(first(&query, &now).await.unwrap(), 1_999);
    let (fresh, _) = on_another_node(&store);
    assert_eq!(first(&fresh, &now).await.unwrap(), 1_999);
}

fn sorted_by_a_without(text: &str) -> Selection {
    let filters = json!([{ "columnId": "col_a", "operator": "notContains", "value": text }]);
    selection_of(&filters, &json!([{ "columnId": "col_a", "direction": "asc" }]), None)
}

pub(super) async fn ask(query: &Query, project: &StoredProject, selection: Selection) {
    let of = PageOf {
        selection,
        start: Start::Offset(0),
        limit: 1,
        include_total: true,
        slots: WantedSlots::none(),
        now: now(),
    };
    query.page(project, of).await.unwrap();
}

#[tokio::test]
async fn as_many_orders_are_kept_as_fit() {
    const ASKED: usize = 100;
    let (store, project) = filled(2_000).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    let orders = || query.loader.cache.entry(project.project.id);
    for number in 0..ASKED {
        ask(&query, &project, sorted_by_a_without(&number.to_string())).await;
    }
    assert_eq!(orders().orders.len(), ASKED);
    // Less memory, of which orders may take a quarter: the least recently used go.
    query.loader.cache.set_bytes_max(400_000);
    ask(&query, &project, sorted_by_a_without("new")).await;
    let (kept, bytes) = (orders().orders.len(), orders().orders.bytes());
    assert!(kept > 1 && kept < 20 && bytes <= 100_000, "{kept} orders of {bytes} bytes");
    let (known, forgotten) = (sorted_by_a_without("99"), sorted_by_a_without("0"));
    let is_kept = |selection: &Selection| orders().orders.get(&name_of(selection, project.version)).is_some();
    assert!(is_kept(&known) && !is_kept(&forgotten));
}

#[tokio::test]
async fn one_scan_reads_what_all_who_wait_need() {
    let (store, project) = filled(2_000).await;
    let query = Query::with_memory(Arc::clone(&store), 1 << 30);
    let cached = query.loader.cache.entry(project.project.id);
    let of_b = selection_of(&json!([]), &json!([{ "columnId": "col_b", "direction": "asc" }]), None);
    let plan = Plan::compile(&of_b, &project.project.table);
    let sorted = plan.keys.iter().map(|(name, _)| name.clone()).collect();
    let other = cached.waiting.join(Arc::new(WantedColumns { names: plan.names(), sorted }));
    first(&query, &project).await.unwrap();
    let has_b = |name| cached.snapshot().ranks(name).is_some();
    assert!(!plan.names().is_empty() && plan.names().iter().all(has_b));
    drop(other);
    assert_eq!(cached.waiting.together(), WantedColumns::default());
}
