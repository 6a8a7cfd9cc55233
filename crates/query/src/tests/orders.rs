//! Orders that are put right, beside orders that are made anew.

use proptest::prelude::*;
use proptest::sample::Index;
use rowmill_model::sort::Sorting;
use rowmill_store::Spans;
use serde_json::json;

use super::made::{cell, now, project};
use crate::chunked_list::ChunkedList;
use crate::column::{Cell, Column, ColumnKey};
use crate::order;
use crate::plan::Plan;
use crate::ranks::Ranks;
use crate::selection::Selection;
use crate::snapshot::{Patch, Snapshot};

#[derive(Debug, Clone)]
enum Event {
    Write(Index, [String; 2]),
    Append([String; 2]),
    Delete(Index),
    /// One of the orders is brought up to date; others fall behind.
    ScanDetail(Index),
    /// A column is read anew: what its rows had before is not known any more.
    Reread,
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let cells = || (cell(), cell()).prop_map(|(a, b)| [a, b]);
    let event = prop_oneof![
        6 => (any::<Index>(), cells()).prop_map(|(row, cells)| Event::Write(row, cells)),
        2 => cells().prop_map(Event::Append),
        1 => any::<Index>().prop_map(Event::Delete),
        3 => any::<Index>().prop_map(Event::ScanDetail),
        1 => Just(Event::Reread),
    ];
    prop::collection::vec(event, 1..80)
}

fn plan(sorting: serde_json::Value, search: Option<&str>) -> Plan {
    let sorting = serde_json::from_value::<Sorting>(sorting).unwrap();
    let selection = Selection { sorting, search: search.map(str::to_owned), ..Selection::default() };
    Plan::compile(&selection, &project().table)
}

fn plans() -> Vec<Plan> {
    let key = |column: &str, direction: &str| json!({ "columnId": column, "direction": direction });
    vec![
        plan(json!([key("col_a", "asc")]), None),
        plan(json!([key("col_a", "desc"), key("col_b", "asc")]), None),
        plan(json!([key("col_b", "desc")]), Some("a")),
        plan(json!([]), Some("b")),
    ]
}

struct World {
    snapshot: Snapshot,
    names: Vec<ColumnKey>,
}

impl World {
    fn new(names: Vec<ColumnKey>) -> Self {
        let mut snapshot = Snapshot::new(1, 0, 0, Vec::new());
        for name in &names {
            snapshot.put_column(name.clone(), Column::new(name));
            snapshot.put_ranks(name, Ranks::default());
        }
        Self { snapshot, names }
    }

    fn apply(&mut self, position: u64, cells: Option<&[String; 2]>) {
        let as_cell = |name: &ColumnKey| {
            let raw = match (name, cells) {
                (ColumnKey::Value { slot: 1, .. }, Some([a, _])) => a,
                (ColumnKey::Value { slot: 2, .. }, Some([_, b])) => b,
                _ => "null",
            };
            Cell::Value(if raw == "null" { "" } else { raw }.into())
        };
        let rows = cells.map(|_| (position, self.names.iter().map(as_cell).collect()));
        let patch = Patch {
            spans: Spans::run(position, position),
            names: self.names.clone(),
            rows: rows.into_iter().collect(),
        };
        // What it says of being read anew is for larger tables.
        let _ = self.snapshot.apply(&patch);
    }

    /// Reads a column anew, from what is there.
    fn reread(&mut self, name: &ColumnKey) {
        let mut column = Column::new(name);
        for row in 0..self.snapshot.len() {
            let raw = self.snapshot.values(name).map(|column| column.raw(row)).unwrap_or_default();
            column.set(row, &Cell::Value(raw.into()), 0).unwrap();
        }
        self.snapshot.put_column(name.clone(), column);
        let ranks = self.snapshot.values(name).map(|column| Ranks::of(&column.values)).unwrap();
        self.snapshot.put_ranks(name, ranks);
    }
}

proptest! {
    #[test]
    fn what_is_put_right_is_what_is_made_anew(
        first in prop::collection::vec((cell(), cell()), 0..60),
        events in events(),
    ) {
        let plans = plans();
        let mut names: Vec<ColumnKey> = Vec::new();
        for name in plans.iter().flat_map(Plan::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        let mut world = World::new(names);
        let mut next = 0;
        for (a, b) in first {
            world.apply(next, Some(&[a, b]));
            next += 1;
        }
        let mut orders: Vec<(u64, ChunkedList)> = Vec::new();
        for plan in &plans {
            let rows = order::make(plan, &world.snapshot, now()).unwrap();
            orders.push((world.snapshot.epoch(), rows.into()));
        }
        for event in events {
            match event {
                Event::Append(cells) => {
                    world.apply(next, Some(&cells));
                    next += 1;
                }
                Event::Write(row, cells) if next > 0 => {
                    let row = row.index(usize::try_from(next).unwrap());
                    // What is gone stays so.
                    if world.snapshot.live().contains(row) {
                        world.apply(row as u64, Some(&cells));
                    }
                }
                Event::Delete(row) if next > 0 => {
                    world.apply(row.index(usize::try_from(next).unwrap()) as u64, None);
                }
                Event::ScanDetail(which) => {
                    let which = which.index(plans.len());
                    let (epoch, rows) = &mut orders[which];
                    order::patch(&plans[which], &world.snapshot, now(), rows, *epoch).unwrap();
                    *epoch = world.snapshot.epoch();
                    let expected = order::make(&plans[which], &world.snapshot, now()).unwrap();
                    prop_assert_eq!(rows.iter().collect::<Vec<_>>(), expected);
                }
                Event::Reread => {
                    let name = world.names[0].clone();
                    world.reread(&name);
                }
                Event::Write(..) | Event::Delete(_) => {}
            }
        }
    }
}
