//! What is loaded after a start before anybody asks, and how it gives way to those who do.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use proptest::prelude::*;
use rowmill_model::filter::Predicate;
use rowmill_model::{ProjectId, View, ViewId};
use rowmill_store::conformance::{FaultInjection, MemoryStore};
use rowmill_store::{ProjectSave, Result, Store, StoredProject};
use serde_json::{Value as Json, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::made::{now, project, selection, selection_of};
use super::memory::{ask, insert, write};
use crate::asked::{asked_columns, wanted_columns};
use crate::cache_loader::is_current;
use crate::column::ColumnKey;
use crate::plan::Plan;
use crate::query::Query;
use crate::selection::Selection;
use crate::warm_up::{WARM_ROWS_MIN, WarmedUp};

const ROWS: u128 = 400;

fn by(column: &str, direction: &str) -> Selection {
    selection_of(&json!([]), &json!([{ "columnId": column, "direction": direction }]), None)
}

fn filtered(filter: &Json) -> Selection {
    selection_of(&json!([filter]), &json!([]), None)
}

fn empty(column: &str) -> Selection {
    filtered(&json!({ "columnId": column, "operator": "isEmpty" }))
}

/// A project with rows, and with a view for each of these selections.
async fn make(store: &dyn Store, number: u128, rows: u128, views: &[Selection]) -> StoredProject {
    let id = ProjectId::from_uuid(Uuid::from_u128(number));
    let view = |selection: &Selection| View {
        id: ViewId::from_uuid(Uuid::from_u128(7)),
        name: "View".to_owned(),
        emoji: String::new(),
        created_at_ms: 1,
        filters: selection.filters.clone(),
        sorting: selection.sorting.clone(),
        column_visibility: std::collections::BTreeMap::new(),
    };
    let save = ProjectSave {
        project: rowmill_model::Project { id, ..project() },
        views: views.iter().map(view).collect(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    };
    store.save_project(save).await.unwrap();
    let project = store.project(id).await.unwrap().unwrap();
    insert(store, &project, number * 10_000..number * 10_000 + rows).await;
    store.project(id).await.unwrap().unwrap()
}

/// A process that has just started.
fn start(store: &Arc<dyn Store>, bytes_max: usize) -> Query {
    Query::with_memory(Arc::clone(store), bytes_max)
}

/// The columns of a project that are in memory, and those of them that are in order.
fn loaded(query: &Query, project: &StoredProject) -> (Vec<ColumnKey>, Vec<ColumnKey>) {
    let cached = query.loader.cache.unasked_entry(project.project.id);
    let snapshot = cached.snapshot();
    let names = snapshot.names();
    let sorted = names.iter().filter(|name| snapshot.ranks(name).is_some()).cloned().collect();
    (names, sorted)
}

fn sort_keys(selection: &Selection, project: &StoredProject) -> Vec<ColumnKey> {
    let plan = Plan::compile(selection, &project.project.table);
    plan.keys.iter().map(|(name, _)| name.clone()).collect()
}

/// Whether a question finds all it needs.
fn is_hit(query: &Query, project: &StoredProject, selection: &Selection) -> bool {
    let (names, sorted) = loaded(query, project);
    let plan = Plan::compile(selection, &project.project.table);
    plan.names().iter().all(|name| names.contains(name))
        && sort_keys(selection, project).iter().all(|name| sorted.contains(name))
        && is_current(&query.loader.cache.unasked_entry(project.project.id).snapshot(), project.change_seq)
}

proptest! {
    #[test]
    fn what_is_noted_of_a_question_names_all_that_it_looks_at(selection in selection()) {
        let table = project().table;
        let plan = Plan::compile(&selection, &table);
        let wanted = wanted_columns(&asked_columns(&selection, &[], &table), &table);
        let sorted: Vec<ColumnKey> = plan.keys.iter().map(|(name, _)| name.clone()).collect();
        prop_assert!(sorted.iter().all(|name| wanted.sorted.contains(name)));
        prop_assert!(wanted.sorted.iter().all(|name| sorted.contains(name)));
        for name in plan.names() {
            prop_assert!(wanted.names.contains(&name), "{name:?} is not in {wanted:?}");
        }
        if Predicate::compile(&selection.filters, &table).is_usable() {
            for name in &wanted.names {
                prop_assert!(plan.names().contains(name), "{name:?} is not in {:?}", plan.names());
            }
        }
    }
}

#[test]
fn what_somebody_typed_is_not_noted() {
    let table = project().table;
    let filters = json!([
        { "columnId": "col_a", "operator": "equals", "value": "secret-1" },
        { "columnId": "_trigger", "operator": "contains", "value": "secret-2", "path": "guest.name" },
        { "columnId": "_trigger", "operator": "isEmpty", "path": "$[?@.name == 'secret-3']" },
    ]);
    let selection = selection_of(&filters, &json!([]), Some("secret-4"));
    let asked = asked_columns(&selection, &[], &table);
    let text = serde_json::to_string(&asked).unwrap();
    assert!(!text.contains("secret") && text.contains("guest.name"), "{text}");
}

#[tokio::test]
async fn what_was_asked_for_is_loaded_after_a_start_and_nothing_else() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let asked = make(&*store, 1, ROWS, &[]).await;
    let small = make(&*store, 2, u128::from(WARM_ROWS_MIN) - 1, &[empty("col_a")]).await;
    let other = make(&*store, 3, ROWS, &[]).await;
    let questions = [
        by("col_b", "desc"),
        filtered(&json!({ "columnId": "col_ai", "operator": "isStale" })),
        filtered(&json!({ "columnId": "_trigger", "operator": "isEmpty", "path": "guest.email" })),
    ];
    let before = start(&store, 1 << 30);
    for question in &questions {
        ask(&before, &asked, question.clone()).await;
        ask(&before, &small, question.clone()).await;
    }
    before.flush().await;
    let query = start(&store, 1 << 30);
    let done = query.warm_up(now()).await;
    let table = &asked.project.table;
    let mut needed: Vec<ColumnKey> = Vec::new();
    for question in &questions {
        needed.extend(Plan::compile(question, table).names());
        assert!(is_hit(&query, &asked, question), "{question:?}");
    }
    let (names, sorted) = loaded(&query, &asked);
    assert_eq!((done.columns, done.projects), (needed.len(), 1));
    assert!(names.len() == needed.len() && names.iter().all(|name| needed.contains(name)), "{names:?}");
    assert_eq!(sorted.len(), sort_keys(&questions[0], &asked).len());
    for project in [small, other] {
        assert_eq!(loaded(&query, &project).0, []);
    }
    // It is the same as if somebody had asked, also after changes.
    write(&*store, &asked, 10_005, (2, "7".to_owned())).await;
    let changed = store.project(asked.project.id).await.unwrap().unwrap();
    let streamed = start(&store, 0);
    for question in questions {
        let found = query.positions(&changed, question.clone(), now()).await.unwrap();
        assert_eq!(found, streamed.positions(&changed, question, now()).await.unwrap());
    }
    // A month later nobody has asked.
    let later = start(&store, 1 << 30);
    let month = jiff::SignedDuration::from_hours(30 * 24 + 1);
    assert_eq!(later.warm_up(now() + month).await, WarmedUp::default());
}

#[tokio::test]
async fn views_that_nobody_opened_are_loaded_after_what_was_asked_for() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let views = [by("col_a", "asc"), empty("col_b")];
    let project = make(&*store, 1, ROWS, &views).await;
    let before = start(&store, 1 << 30);
    // Rows are filtered by a column that a view sorts by: it is put in order when it is read.
    ask(&before, &project, empty("col_a")).await;
    before.flush().await;
    let query = start(&store, 1 << 30);
    assert_eq!(
        query.warm_up(now()).await.columns,
        Plan::compile(&views[0], &project.project.table).slots().len() + 1
    );
    assert!(views.iter().all(|view| is_hit(&query, &project, view)));
    assert_eq!(query.warm_up(now()).await, WarmedUp::default(), "all is there");
}

#[tokio::test]
async fn questions_about_more_than_the_rows_are_noted() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let project = make(&*store, 1, ROWS, &[]).await;
    let before = start(&store, 1 << 30);
    let columns = ["col_a", "col_b"].map(|id| project.project.table.by_id(id).unwrap());
    let summarize = async |query: &Query| {
        query.summarize(&project, Selection::default(), &columns, now()).await.unwrap();
    };
    summarize(&before).await;
    before.flush().await;
    let query = start(&store, 1 << 30);
    assert_eq!(query.warm_up(now()).await.columns, 2);
    let names = loaded(&query, &project).0;
    summarize(&query).await;
    assert_eq!(loaded(&query, &project).0, names, "nothing was missing");
}

#[tokio::test]
async fn a_warm_up_takes_half_of_the_memory_and_evicts_nothing() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let views = [by("col_a", "asc")];
    let mut projects = Vec::new();
    for number in 1..=6 {
        projects.push(make(&*store, number, ROWS, &views).await);
    }
    let alone = start(&store, 1 << 30);
    alone.warm_up(now()).await;
    let each = alone.memory_bytes() / projects.len();
    // Room for four, of which one is asked for: half of it is for two.
    let query = start(&store, each * 4 + each / 2);
    let asked = projects.first().unwrap();
    ask(&query, asked, empty("col_b")).await;
    let of_asked = loaded(&query, asked).0;
    let done = query.warm_up(now()).await;
    assert!(done.projects > 0 && query.memory_bytes() <= each * 9 / 4, "{done:?}");
    assert!(of_asked.iter().all(|name| loaded(&query, asked).0.contains(name)));
    // Those who ask get the room that is taken by what nobody asked for.
    let others: Vec<&StoredProject> =
        projects.iter().filter(|other| loaded(&query, other).0.is_empty()).collect();
    for other in others.iter().take(3) {
        ask(&query, other, views[0].clone()).await;
    }
    assert!(!loaded(&query, asked).0.is_empty(), "what was asked for stays");
    assert!(others.iter().take(3).all(|other| is_hit(&query, other, &views[0])));
}

#[tokio::test]
async fn columns_that_do_not_fit_leave_room_for_the_newest() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
    let project = make(&*store, 1, ROWS, &[]).await;
    let before = start(&store, 1 << 30);
    for question in [empty("col_a"), by("col_b", "asc")] {
        ask(&before, &project, question).await;
    }
    before.flush().await;
    let all = start(&store, 1 << 30);
    assert_eq!(all.warm_up(now()).await.columns, 2);
    // Half of it is less than that.
    let query = start(&store, all.memory_bytes() * 3 / 2);
    assert_eq!(query.warm_up(now()).await.columns, 1);
    assert!(is_hit(&query, &project, &by("col_b", "asc")), "{:?}", loaded(&query, &project));
}

/// Holds the first scan until it is let go.
#[derive(Debug, Clone, Default)]
struct HeldScan(Arc<Held>);

#[derive(Debug, Default)]
struct Held {
    scans: AtomicUsize,
    begun: Notify,
    let_go: Notify,
}

#[async_trait]
impl FaultInjection for HeldScan {
    async fn before(&self, call: &'static str) -> Result<()> {
        if call == "scan" && self.0.scans.fetch_add(1, Ordering::SeqCst) == 0 {
            self.0.begun.notify_one();
            self.0.let_go.notified().await;
        }
        Ok(())
    }

    async fn after(&self, _: &'static str) -> Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_question_does_not_wait_for_a_warm_up() {
    // About a column that is being loaded, and about another one.
    for (column, loaded_later) in [("col_a", 0), ("col_b", 1)] {
        let held = HeldScan::default();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::with_faults(held.clone()));
        let views = [by("col_a", "asc")];
        let project = make(&*store, 1, ROWS, &views).await;
        let query = start(&store, 1 << 30);
        let warming = {
            let query = query.clone();
            tokio::spawn(async move { query.warm_up(now()).await })
        };
        held.0.begun.notified().await;
        // The scan of the warm-up never ends by itself.
        let question = ask(&query, &project, empty(column));
        tokio::time::timeout(Duration::from_secs(20), question).await.unwrap();
        let done = tokio::time::timeout(Duration::from_secs(20), warming).await.unwrap().unwrap();
        assert_eq!(done.columns, loaded_later);
        assert_eq!(loaded(&query, &project).0.len(), 1 + loaded_later);
        assert!(is_hit(&query, &project, &empty(column)));
    }
}

#[tokio::test]
async fn what_changes_during_a_warm_up_is_in_it() {
    let held = HeldScan::default();
    let store: Arc<dyn Store> = Arc::new(MemoryStore::with_faults(held.clone()));
    let project = make(&*store, 1, ROWS, &[by("col_b", "asc")]).await;
    let query = start(&store, 1 << 30);
    let warming = {
        let query = query.clone();
        tokio::spawn(async move { query.warm_up(now()).await })
    };
    held.0.begun.notified().await;
    write(&*store, &project, 10_007, (2, "-5".to_owned())).await;
    held.0.let_go.notify_one();
    warming.await.unwrap();
    let project = store.project(project.project.id).await.unwrap().unwrap();
    assert!(is_hit(&query, &project, &by("col_b", "asc")));
    let first = query.positions(&project, by("col_b", "asc"), now()).await.unwrap();
    assert_eq!(first.first(), Some(&7));
}
