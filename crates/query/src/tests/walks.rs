//! Walks from cursor to cursor while rows come, go and change: whatever stays as it is comes exactly once.

use std::collections::HashMap;

use proptest::prelude::*;
use proptest::sample::Index;
use rowmill_model::record::Slot;
use rowmill_model::{Record, RowId};
use rowmill_store::{StoredRow, WantedSlots};
use serde_json::json;

use super::histories::{Event, World};
use super::made::{cell, expected, input, now, selection, selection_of};
use crate::cursor::{Cursor, SortedBy};
use crate::page::{PageOf, Start};
use crate::selection::Selection;

/// What happens between two pages.
#[derive(Debug, Clone)]
enum Meanwhile {
    Anything(Event),
    DeleteLast,
    DeletePage,
    DeleteSeen,
    EditLast(Slot, String),
}

fn meanwhile() -> impl Strategy<Value = Vec<Meanwhile>> {
    let row = || (input(), cell(), cell()).prop_map(|(input, a, b)| [input, a, b]);
    let write = (any::<Index>(), 0..3_u32, cell());
    let event = prop_oneof![
        2 => prop::collection::vec(row(), 1..6).prop_map(Event::Insert),
        3 => prop::collection::vec(write, 1..4).prop_map(Event::Write),
        2 => prop::collection::vec(any::<Index>(), 1..3).prop_map(Event::Delete),
        1 => (1..100_u16, row()).prop_map(|(count, row)| Event::Flood(count, row)),
    ];
    let meanwhile = prop_oneof![
        4 => event.prop_map(Meanwhile::Anything),
        2 => Just(Meanwhile::DeleteLast),
        1 => Just(Meanwhile::DeletePage),
        1 => Just(Meanwhile::DeleteSeen),
        2 => (0..3_u32, cell()).prop_map(|(slot, raw)| Meanwhile::EditLast(slot, raw)),
    ];
    prop::collection::vec(meanwhile, 0..3)
}

/// A walk under way.
struct Walk {
    world: World,
    selection: Selection,
    limit: u32,
    /// The rows that nothing has happened to, by position.
    unchanged: HashMap<u64, (Record, RowId)>,
    seen: Vec<u64>,
    page: Vec<u64>,
}

impl Walk {
    async fn new(mut world: World, selection: Selection, rows: Vec<[String; 3]>, limit: u32) -> Self {
        world.happen(Event::Insert(rows)).await;
        let rows = world.rows().await;
        let unchanged = rows.into_iter().map(|row| (row.position, (row.values, row.id))).collect();
        Self { world, selection, limit, unchanged, seen: Vec::new(), page: Vec::new() }
    }

    /// The page at a start, from this of the queries.
    async fn turn(&mut self, query: usize, start: Start) -> Option<Cursor> {
        let project = self.world.project().await;
        let (selection, limit) = (self.selection.clone(), self.limit);
        let of =
            PageOf { selection, start, limit, include_total: false, slots: WantedSlots::none(), now: now() };
        let query = &self.world.queries[query % self.world.queries.len()];
        let page = query.page(&project, of).await.unwrap();
        self.page = page.rows.iter().map(|row| row.position).collect();
        self.seen.extend(&self.page);
        page.next.map(|next| Cursor::parse(&next.to_string()).unwrap())
    }

    async fn happen(&mut self, meanwhile: Meanwhile) {
        let rows = self.world.rows().await;
        let last: Vec<u64> = self.page.last().copied().into_iter().collect();
        match meanwhile {
            Meanwhile::Anything(event) => self.world.happen(event).await,
            Meanwhile::DeleteLast => self.delete(&rows, &last).await,
            Meanwhile::DeletePage => self.delete(&rows, &self.page).await,
            Meanwhile::DeleteSeen => self.delete(&rows, &self.seen).await,
            Meanwhile::EditLast(slot, raw) => {
                let place = rows.iter().position(|row| last.contains(&row.position));
                if let Some(place) = place {
                    let event = Event::Write(vec![(index_of(place, rows.len()), slot, raw)]);
                    self.world.happen(event).await;
                }
            }
        }
        let rows: HashMap<u64, Record> =
            self.world.rows().await.into_iter().map(|row| (row.position, row.values)).collect();
        self.unchanged.retain(|position, (values, _)| rows.get(position) == Some(values));
    }

    async fn delete(&self, rows: &[StoredRow], positions: &[u64]) {
        let gone = rows.iter().filter(|row| positions.contains(&row.position)).map(|row| row.id).collect();
        self.world.store.delete_rows(self.world.id, gone).await.unwrap();
    }

    /// What came of the rows that nothing happened to, and what should have.
    async fn outcome(&self) -> (Vec<u64>, Vec<u64>) {
        let (project, rows) = (self.world.project().await, self.world.rows().await);
        let is_unchanged = |position: &u64| self.unchanged.contains_key(position);
        let seen = self.seen.iter().copied().filter(is_unchanged).collect();
        let expected = expected(&project, &rows, &self.selection);
        (seen, expected.into_iter().filter(is_unchanged).collect())
    }
}

/// An index that leads to a place among so many.
fn index_of(place: usize, len: usize) -> Index {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut found = (0..).map(|_| any::<Index>().new_tree(&mut runner).unwrap().current());
    found.find(|index| index.index(len) == place).unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn what_stays_as_it_is_comes_exactly_once(
        rows in prop::collection::vec((input(), cell(), cell()), 1..60),
        selection in selection(),
        limit in 1..12_u32,
        pages in prop::collection::vec((any::<u8>(), meanwhile()), 1..12),
    ) {
        let (seen, expected) = block_on(async {
            let rows = rows.into_iter().map(|(input, a, b)| [input, a, b]).collect();
            let mut walk = Walk::new(World::new().await, selection, rows, limit).await;
            let mut start = Start::Offset(0);
            let mut pages = pages.into_iter();
            loop {
                // Each page may come from another node, with the columns in memory or without.
                let (query, meanwhile) = pages.next().unwrap_or_default();
                let Some(next) = walk.turn(query.into(), start).await else { break walk.outcome().await };
                for meanwhile in meanwhile {
                    walk.happen(meanwhile).await;
                }
                start = Start::After(next);
            }
        });
        prop_assert_eq!(seen, expected);
    }
}

/// Texts that are alike for longer than a cursor carries.
fn long(end: &str) -> String {
    format!("\"{}{end}\"", "x".repeat(SortedBy::KEY_BYTES_MAX + 100))
}

fn long_walk(meanwhile: &[Meanwhile], direction: &str) -> (Vec<u64>, Vec<u64>) {
    block_on(async {
        let sorting = json!([{ "columnId": "col_a", "direction": direction }]);
        let selection = selection_of(&json!([]), &sorting, None);
        let rows = (0..20).map(|n| ["null".to_owned(), long(&format!("{}", n * 7 % 20)), "1".to_owned()]);
        let mut walk = Walk::new(World::new().await, selection, rows.collect(), 5).await;
        let mut start = Start::Offset(0);
        for query in 0.. {
            let Some(next) = walk.turn(query, start).await else { break };
            // Once: what follows must be right all the same.
            for meanwhile in meanwhile.iter().filter(|_| query == 1) {
                walk.happen(meanwhile.clone()).await;
            }
            start = Start::After(next);
        }
        walk.outcome().await
    })
}

#[test]
fn keys_too_long_for_a_cursor_lose_no_row() {
    let new = Meanwhile::Anything(Event::Insert(vec![["null".into(), long("10"), "1".into()]]));
    for direction in ["asc", "desc"] {
        for meanwhile in [
            vec![],
            vec![Meanwhile::DeleteLast],
            vec![Meanwhile::DeletePage],
            vec![Meanwhile::DeleteSeen],
            vec![Meanwhile::EditLast(1, long("zz"))],
            vec![Meanwhile::EditLast(1, "1".into()), new.clone()],
        ] {
            let (seen, expected) = long_walk(&meanwhile, direction);
            assert_eq!(seen, expected, "{direction} {meanwhile:?}");
        }
        // The rows on both sides are gone: some come twice, but none is left out.
        let all: Vec<Index> =
            (0..20).filter(|n| [9, 10].contains(&(n * 7 % 20))).map(|n| index_of(n, 20)).collect();
        let gone = Meanwhile::Anything(Event::Delete(all));
        let (seen, expected) = long_walk(&[gone], direction);
        assert!(expected.iter().all(|position| seen.contains(position)), "{seen:?} {expected:?}");
        assert_eq!(seen[seen.len() - expected.len()..], expected, "the walk goes over them again, in order");
    }
}
