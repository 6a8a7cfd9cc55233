//! Random operations on a store and on a plain list of rows must agree.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use proptest::sample::Index;
use rowmill_model::record::Slot;
use rowmill_model::value::MatchCase;
use rowmill_model::{ProjectId, value};

use super::make::{MAIL, batch, create, load, project, row, row_id, write, writes};
use crate::store::Store;
use crate::types::{NewRows, PageStart, RowAction, StoredRow, Wanted, WantedSlots};

/// One thing done to the store.
#[derive(Debug, Clone)]
pub enum StoreOp {
    Insert(Vec<Cells>),
    Upsert(Vec<Cells>),
    Write(Vec<(Index, Slot, String)>),
    Delete(Vec<Index>),
    /// Deletes a whole run, so that counted segments become empty.
    DeleteRun(Index, usize),
    Page(Index, u32),
    Reopen,
}

type Cells = BTreeMap<Slot, String>;

/// The simplest thing that could be right: rows in a list.
#[derive(Debug, Default)]
struct Plain {
    rows: Vec<(u128, Cells)>,
    next: u128,
}

/// Sequences of steps.
pub fn steps() -> impl Strategy<Value = Vec<StoreOp>> {
    let text = prop_oneof![
        Just("null".to_owned()),
        Just("\"\"".to_owned()),
        (0..8_u8).prop_map(|n| n.to_string()),
        (0..8_u8).prop_map(|n| format!("\"{n}\"")),
        (0..8_u8).prop_map(|n| format!("{n}.0")),
    ];
    let cells = prop::collection::btree_map(0..4_u32, text.clone(), 0..4);
    // So large that they are stored apart from their rows.
    let wide = (0..3_u8, 4_090..4_100_usize).prop_map(|(n, bytes)| format!("\"{n}{}\"", "x".repeat(bytes)));
    let text = prop_oneof![9 => text, 1 => wide];
    let few = prop::collection::vec(prop::collection::btree_map(0..4_u32, text.clone(), 0..4), 0..5);
    let many = (cells, 900..1_300_usize).prop_map(|(cells, count)| vec![cells; count]);
    let step = prop_oneof![
        4 => few.clone().prop_map(StoreOp::Insert),
        1 => many.prop_map(StoreOp::Insert),
        4 => few.prop_map(StoreOp::Upsert),
        4 => prop::collection::vec((any::<Index>(), 0..4_u32, text), 0..6).prop_map(StoreOp::Write),
        3 => prop::collection::vec(any::<Index>(), 0..6).prop_map(StoreOp::Delete),
        1 => (any::<Index>(), 1..2_000_usize).prop_map(|(from, count)| StoreOp::DeleteRun(from, count)),
        5 => (any::<Index>(), 1..60_u32).prop_map(|(from, limit)| StoreOp::Page(from, limit)),
        1 => Just(StoreOp::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

/// Does the steps on a store and on the plain list, and compares after each. `reopen` gives the store
/// again after a restart.
pub async fn against_a_plain_map<S: AsRef<dyn Store>>(
    steps: Vec<StoreOp>,
    mut reopen: impl FnMut(Option<S>) -> S,
) {
    let mut store = reopen(None);
    let id = create(store.as_ref(), project(1, 1)).await.project.id;
    let mut plain = Plain { rows: Vec::new(), next: 1 };
    for step in steps {
        if matches!(step, StoreOp::Reopen) {
            store.as_ref().close().await.unwrap();
            store = reopen(Some(store));
        } else {
            plain.step(store.as_ref(), id, step).await;
        }
        let total = u64::try_from(plain.rows.len()).unwrap();
        assert_eq!(load(store.as_ref(), id).await.row_count, total);
    }
    plain.compare_all(store.as_ref(), id).await;
}

impl Plain {
    async fn step(&mut self, store: &dyn Store, id: ProjectId, step: StoreOp) {
        match step {
            StoreOp::Insert(rows) => self.insert(store, id, rows, None).await,
            StoreOp::Upsert(rows) => self.insert(store, id, rows, Some(MAIL)).await,
            StoreOp::Write(cells) => self.write(store, id, cells).await,
            StoreOp::Delete(rows) => {
                let rows = rows.iter().filter(|_| !self.rows.is_empty());
                let doomed = rows.map(|index| index.get(&self.rows).0).collect();
                self.delete(store, id, doomed).await;
            }
            StoreOp::DeleteRun(from, count) => {
                let from = from.index(self.rows.len() + 1);
                let doomed = self.rows.iter().skip(from).take(count).map(|(row, _)| *row).collect();
                self.delete(store, id, doomed).await;
            }
            StoreOp::Page(from, limit) => {
                self.compare_page(store, id, from.index(self.rows.len() + 2), limit).await;
            }
            StoreOp::Reopen => {}
        }
    }

    async fn insert(&mut self, store: &dyn Store, id: ProjectId, rows: Vec<Cells>, match_on: Option<Slot>) {
        let first = self.next;
        self.next += u128::try_from(rows.len()).unwrap();
        let sent = rows.iter().zip(first..).map(|(cells, number)| {
            row(number, &cells.iter().map(|(slot, text)| (*slot, text.as_str())).collect::<Vec<_>>())
        });
        let version = load(store, id).await.version;
        let insert = NewRows { match_on, ..batch(id, version, sent.collect()) };
        let outcome = store.insert_rows(insert).await;
        match self.expect(rows, first, match_on) {
            Some((after, actions)) => {
                let expected: Vec<_> =
                    actions.into_iter().map(|(number, action)| (row_id(number), action)).collect();
                assert_eq!(outcome.unwrap().rows, expected);
                self.rows = after;
            }
            None => assert!(outcome.is_err(), "{outcome:?}"),
        }
    }

    /// The rows after an insert and what became of each sent; none if a match is ambiguous.
    #[expect(clippy::type_complexity, reason = "a name would say less")]
    fn expect(
        &self,
        sent: Vec<Cells>,
        first: u128,
        match_on: Option<Slot>,
    ) -> Option<(Vec<(u128, Cells)>, Vec<(u128, RowAction)>)> {
        let mut rows = self.rows.clone();
        let mut actions = Vec::new();
        for (mut cells, number) in sent.into_iter().zip(first..) {
            let wanted =
                match_on.and_then(|slot| Some((slot, cells.get(&slot).filter(|text| !is_empty(text))?)));
            let matches: Vec<usize> = match wanted {
                Some((slot, wanted)) => (0..rows.len())
                    .filter(|at| {
                        rows[*at]
                            .1
                            .get(&slot)
                            .is_some_and(|text| value::matches(text, wanted, MatchCase::Counts))
                    })
                    .collect(),
                None => Vec::new(),
            };
            match matches[..] {
                [] => {
                    rows.push((number, BTreeMap::new()));
                    let at = rows.len() - 1;
                    overwrite(&mut rows[at].1, cells);
                    actions.push((number, RowAction::Inserted));
                }
                [at] => {
                    // What matches stays as it was written.
                    cells.retain(|slot, _| Some(*slot) != match_on);
                    let action = if overwrite(&mut rows[at].1, cells) {
                        RowAction::Updated
                    } else {
                        RowAction::Unchanged
                    };
                    actions.push((rows[at].0, action));
                }
                _ => return None,
            }
        }
        Some((rows, actions))
    }

    async fn write(&mut self, store: &dyn Store, id: ProjectId, cells: Vec<(Index, Slot, String)>) {
        if self.rows.is_empty() {
            return;
        }
        let mut sent = Vec::new();
        for (index, slot, text) in cells {
            let at = index.index(self.rows.len());
            sent.push(write(self.rows[at].0, slot, &text));
            // A write is what it is, even if it says the same in other digits.
            if text == "null" {
                self.rows[at].1.remove(&slot);
            } else {
                self.rows[at].1.insert(slot, text);
            }
        }
        let version = load(store, id).await.version;
        store.write_cells(writes(id, version, sent)).await.unwrap();
    }

    async fn delete(&mut self, store: &dyn Store, id: ProjectId, doomed: BTreeSet<u128>) {
        let ids = doomed.iter().map(|number| row_id(*number)).collect();
        let deleted = store.delete_rows(id, ids).await.unwrap();
        assert_eq!(deleted, u64::try_from(doomed.len()).unwrap());
        self.rows.retain(|(number, _)| !doomed.contains(number));
    }

    async fn compare_page(&self, store: &dyn Store, id: ProjectId, offset: usize, limit: u32) {
        let page = store.rows(id, PageStart::Offset(u64::try_from(offset).unwrap()), limit).await.unwrap();
        let start = offset.min(self.rows.len());
        let end = (start + usize::try_from(limit).unwrap()).min(self.rows.len());
        assert_eq!(plain_rows(&page.rows), self.rows[start..end], "offset {offset}");
        assert_eq!(page.more, end < self.rows.len());
        let slot = limit % 4;
        let wanted = Wanted { bytes_max: usize::MAX, slots: WantedSlots::only([slot]) };
        let positions = page.rows.iter().map(|row| row.position).collect();
        let some = store.rows_at_within(id, positions, wanted).await.unwrap().rows;
        assert_eq!(plain_column(&some, slot), plain_column(&page.rows, slot));
    }

    /// Walks the whole table by cursor and reads each row by id.
    async fn compare_all(&self, store: &dyn Store, id: ProjectId) {
        let mut seen = Vec::new();
        let mut start = PageStart::Offset(0);
        loop {
            let page = store.rows(id, start, 700).await.unwrap();
            seen.extend(plain_rows(&page.rows));
            match page.rows.last() {
                Some(last) if page.more => start = PageStart::After(last.position),
                _ => break,
            }
        }
        assert_eq!(seen, self.rows);
        for (number, cells) in self.rows.iter().step_by(97) {
            let stored = store.row(id, row_id(*number)).await.unwrap().unwrap();
            assert_eq!(plain_rows(&[stored])[0].1, *cells);
        }
    }
}

fn is_empty(raw: &str) -> bool {
    matches!(raw, "null" | "\"\"")
}

/// Writes cells over others; says whether any was different.
fn overwrite(cells: &mut Cells, sent: Cells) -> bool {
    let mut changed = false;
    for (slot, text) in sent {
        let old = cells.get(&slot).map_or("null", String::as_str);
        if value::same(old, &text) {
            continue;
        }
        changed = true;
        if text == "null" {
            cells.remove(&slot);
        } else {
            cells.insert(slot, text);
        }
    }
    changed
}

fn plain_column(rows: &[StoredRow], slot: Slot) -> Vec<Option<String>> {
    plain_rows(rows).into_iter().map(|(_, mut cells)| cells.remove(&slot)).collect()
}

fn plain_rows(rows: &[StoredRow]) -> Vec<(u128, Cells)> {
    let cells = |row: &StoredRow| {
        row.values.cells().unwrap().iter().map(|(slot, text)| (slot, text.to_owned())).collect()
    };
    rows.iter().map(|row| (row.id.uuid().as_u128(), cells(row))).collect()
}
