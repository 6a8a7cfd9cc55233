//! The plan: a project's processed columns as a graph of what waits for what.

use std::collections::{BTreeMap, BTreeSet};

use crate::column::Column;
use crate::filter::Predicate;
use crate::project::Project;
use crate::record::Slot;
use crate::row::Source;
use crate::table::Table;

/// A project's processed columns and what each waits for.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) autoplay: bool,
    pub(super) columns: Vec<Planned>,
    /// Who reads a slot, directly or through a reference: a column and one of its inputs.
    pub(super) readers: BTreeMap<Slot, Vec<(usize, usize)>>,
}

/// One processed column.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) slot: Slot,
    pub(super) inputs: Vec<Input>,
    pub(super) condition: Option<Predicate>,
    /// The processed columns that must have settled first, by their place in the plan.
    pub(super) waits: BTreeSet<usize>,
}

/// A dependency, followed to where its value stands.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) header: String,
    pub(super) source: Source,
    pub(super) required: bool,
    /// The processed column the value comes from, if it comes from one.
    pub(super) processed: Option<usize>,
}

impl Plan {
    pub fn of(project: &Project) -> Self {
        let table = &project.table;
        let processed: Vec<&Column> =
            table.columns.iter().filter(|column| column.kind.is_processed()).collect();
        let place = |slot: Slot| processed.iter().position(|column| column.slot == slot);
        let mut columns: Vec<Planned> =
            processed.iter().map(|column| planned(column, table, &place)).collect();
        for index in 0..columns.len() {
            let inputs = columns.get(index).map(|planned| planned.inputs.as_slice()).unwrap_or_default();
            for root in inputs.iter().filter_map(|input| input.processed).collect::<Vec<_>>() {
                wait(&mut columns, index, root);
            }
        }
        // A condition waits for what it looks at, too; but dependencies come first.
        for (index, column) in processed.iter().enumerate() {
            for looked_at in column.run_condition.columns() {
                let looked_at = table.by_id(looked_at.as_str()).and_then(|column| root(column, table));
                if let Some(root) = looked_at.and_then(place) {
                    wait(&mut columns, index, root);
                }
            }
        }
        let mut readers: BTreeMap<Slot, Vec<(usize, usize)>> = BTreeMap::new();
        for (index, column) in columns.iter().enumerate() {
            for (input, Input { source, .. }) in column.inputs.iter().enumerate() {
                if let Some(slot) = source.slot() {
                    readers.entry(slot).or_default().push((index, input));
                }
            }
        }
        Self { autoplay: project.autoplay, columns, readers }
    }

    /// The slots of the processed columns, in order.
    pub fn slots(&self) -> impl Iterator<Item = Slot> {
        self.columns.iter().map(|column| column.slot)
    }

    /// Whether rows run by themselves, and there is something to run.
    pub fn plays(&self) -> bool {
        self.autoplay && !self.columns.is_empty()
    }

    /// Whether writing this slot may concern a processed cell.
    pub fn concerns(&self, slot: Slot) -> bool {
        self.readers.contains_key(&slot) || self.column(slot).is_some()
    }

    /// Whether a column's cells run on a condition.
    pub fn is_conditional(&self, slot: Slot) -> bool {
        let column = self.column(slot).and_then(|index| self.columns.get(index));
        column.is_some_and(|column| column.condition.is_some())
    }

    /// Whether rows planned by the other would be planned the same way by this.
    pub fn is_like(&self, other: &Self) -> bool {
        let graph = |plan: &Self| -> Vec<(Slot, Vec<Slot>)> {
            let waits = |column: &Planned| {
                column.waits.iter().filter_map(|index| Some(plan.columns.get(*index)?.slot)).collect()
            };
            plan.columns.iter().map(|column| (column.slot, waits(column))).collect()
        };
        graph(self) == graph(other)
    }

    pub(super) fn column(&self, slot: Slot) -> Option<usize> {
        self.columns.iter().position(|column| column.slot == slot)
    }
}

fn planned(column: &Column, table: &Table, place: &impl Fn(Slot) -> Option<usize>) -> Planned {
    let inputs = column.dependencies.iter().filter_map(|dependency| {
        let column = table.by_id(dependency.column_id.as_str())?;
        let source = Source::compile(table, column);
        let processed = source.slot().and_then(place);
        Some(Input { header: column.header.clone(), source, required: dependency.required, processed })
    });
    let condition = &column.run_condition;
    Planned {
        slot: column.slot,
        inputs: inputs.collect(),
        condition: (!condition.is_empty()).then(|| Predicate::compile(condition, table)),
        waits: BTreeSet::new(),
    }
}

/// The slot a column's values stand in.
fn root(column: &Column, table: &Table) -> Option<Slot> {
    Source::compile(table, column).slot()
}

/// Makes a column wait for another, unless they would then wait for each other: a row must never come to
/// a stand.
fn wait(columns: &mut [Planned], column: usize, waited_for: usize) {
    let mut seen = BTreeSet::new();
    let mut open = vec![waited_for];
    while let Some(next) = open.pop() {
        if next == column {
            return;
        }
        if seen.insert(next) {
            open.extend(columns.get(next).into_iter().flat_map(|column| column.waits.iter().copied()));
        }
    }
    if let Some(column) = columns.get_mut(column) {
        column.waits.insert(waited_for);
    }
}
