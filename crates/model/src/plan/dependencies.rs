//! The plan: a project's processed columns as a graph of what waits for what.

use std::collections::{BTreeMap, BTreeSet};

use xxhash_rust::xxh3::xxh3_64;

use super::asking::asking;
use super::askings::Redefined;
use super::condition::{Condition, ConditionRoom};
use super::mark::Mark;
use super::prompt_inputs::PromptInput;
use crate::cell::Details;
use crate::cell_status::CellStatus;
use crate::column::Column;
use crate::ids::ColumnId;
use crate::project::Project;
use crate::record::Slot;
use crate::reference::{Reference, for_each_template, references};
use crate::row::{RowView, Source, Sources};
use crate::value::canonical;
use crate::weight::Weight;

/// A project's processed columns and what each waits for.
#[derive(Debug, Clone)]
pub struct Plan {
    pub(super) autoplay: bool,
    pub(super) columns: Vec<Planned>,
    /// Who reads a slot, directly or through a reference: a column and one of its inputs.
    pub(super) readers: BTreeMap<Slot, Vec<(usize, usize)>>,
    /// Whose condition looks at a slot.
    pub(super) watchers: BTreeMap<Slot, BTreeSet<usize>>,
}

/// What is another between two plans of a project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChange {
    /// Whether other columns are processed, or they wait for others.
    pub graph: bool,
    /// The columns that ask something else.
    pub redefined: Vec<Redefined>,
}

/// One processed column.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) slot: Slot,
    /// What it asks, as one number.
    pub(super) asked: u64,
    pub(super) inputs: Vec<Input>,
    /// Parts of cells that its prompt reads.
    pub(super) prompt_inputs: Vec<PromptInput>,
    pub(super) condition: Option<Condition>,
    /// The processed columns that must have settled first, by their place in the plan.
    pub(super) waits: BTreeSet<usize>,
    /// All slots that are looked at to run it.
    reads: BTreeSet<Slot>,
}

/// A dependency, followed to where its value stands.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) column: ColumnId,
    pub(super) header: String,
    pub(super) source: Source,
    pub(super) required: bool,
    /// The processed column the value comes from, if it comes from one.
    pub(super) processed: Option<usize>,
}

/// What an entry of a map or set takes besides.
const ENTRY_BYTES: usize = 64;

impl Planned {
    fn weigh(&self, weight: &mut Weight) {
        let Self { slot: _, asked: _, inputs, prompt_inputs, condition, waits, reads } = self;
        weight
            .add(size_of::<Self>() + size_of_val(inputs.as_slice()) + size_of_val(prompt_inputs.as_slice()));
        weight.add((waits.len() + reads.len()) * size_of::<usize>());
        for Input { column, header, source, required: _, processed: _ } in inputs {
            weight.add(column.as_str().len() + header.len());
            source.weigh(weight);
        }
        for input in prompt_inputs {
            input.weigh(weight);
        }
        if let Some(condition) = condition {
            condition.weigh(weight);
        }
    }
}

impl Plan {
    pub fn of(project: &Project) -> Self {
        let table = &project.table;
        let (mut sources, mut room) = (Sources::of(table), ConditionRoom::default());
        let processed: Vec<&Column> =
            table.columns.iter().filter(|column| column.kind.is_processed()).collect();
        let place = |slot: Slot| processed.iter().position(|column| column.slot == slot);
        let mut columns: Vec<Planned> =
            processed.iter().map(|column| planned(column, &mut sources, &mut room, &place)).collect();
        for index in 0..columns.len() {
            let inputs = columns.get(index).map(|planned| planned.inputs.as_slice()).unwrap_or_default();
            for root in inputs.iter().filter_map(|input| input.processed).collect::<Vec<_>>() {
                wait(&mut columns, index, root);
            }
        }
        let mut watchers: BTreeMap<Slot, BTreeSet<usize>> = BTreeMap::new();
        // A condition waits for what it looks at, too; but dependencies come first.
        for (index, column) in processed.iter().enumerate() {
            for looked_at in column.run_condition.columns() {
                let looked_at = root(looked_at, &mut sources);
                if let Some(root) = looked_at.and_then(place) {
                    wait(&mut columns, index, root);
                }
                // Its own end is no reason to run again.
                if let Some(slot) = looked_at.filter(|slot| *slot != column.slot) {
                    watchers.entry(slot).or_default().insert(index);
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
        Self { autoplay: project.autoplay, columns, readers, watchers }
    }

    /// What it takes.
    pub fn bytes(&self) -> usize {
        let mut weight = Weight::default();
        for column in &self.columns {
            column.weigh(&mut weight);
        }
        let readers = self.readers.values().map(|readers| size_of_val(readers.as_slice()));
        let watchers = self.watchers.values().map(|watchers| watchers.len() * size_of::<usize>());
        weight.add(readers.chain(watchers).map(|bytes| bytes + ENTRY_BYTES).sum());
        weight.bytes()
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
        self.readers.contains_key(&slot) || self.watchers.contains_key(&slot) || self.column(slot).is_some()
    }

    /// The slots that are looked at to run a column's cell: by whoever decides whether it runs, and by whoever runs it.
    pub fn reads(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        self.planned(slot).into_iter().flat_map(|column| column.reads.iter().copied())
    }

    /// The slots that a column's results are [made from](Self::made_from).
    pub fn inputs(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        let inputs = self.planned(slot).into_iter().flat_map(|column| column.inputs.iter());
        inputs.filter_map(|input| input.source.slot())
    }

    /// The processed columns whose results are made from a slot.
    pub fn readers(&self, slot: Slot) -> impl Iterator<Item = Slot> {
        let readers = self.readers.get(&slot).into_iter().flatten();
        readers.filter_map(|(column, _)| Some(self.columns.get(*column)?.slot))
    }

    /// Whether a column's cells run on a condition.
    pub fn is_conditional(&self, slot: Slot) -> bool {
        self.planned(slot).is_some_and(|column| column.condition.is_some())
    }

    /// What is another since an older plan; nothing if cells stand the same.
    pub fn change_since(&self, old: &Self) -> Option<PlanChange> {
        let asked_before =
            |slot: Slot| old.columns.iter().find(|column| column.slot == slot).map(|old| old.asked);
        let redefined = |column: &Planned| {
            let before = asked_before(column.slot).filter(|before| *before != column.asked)?;
            Some(Redefined { slot: column.slot, before, now: column.asked })
        };
        let redefined: Vec<Redefined> = self.columns.iter().filter_map(redefined).collect();
        let graph = !self.is_like(old);
        (graph || !redefined.is_empty()).then_some(PlanChange { graph, redefined })
    }

    /// A number for what a cell's result is made from: what its column asks, and its inputs.
    pub fn made_from(&self, slot: Slot, row: &RowView<'_>) -> Option<u64> {
        let column = self.planned(slot)?;
        let mut inputs: Vec<&Input> = column.inputs.iter().collect();
        inputs.sort_by(|a, b| a.column.cmp(&b.column));
        let mut bytes = column.asked.to_be_bytes().to_vec();
        for input in inputs {
            let id = input.column.as_str();
            bytes.extend_from_slice(&(id.len() as u64).to_be_bytes());
            bytes.extend_from_slice(id.as_bytes());
            bytes.extend(canonical(input.source.value(row).as_deref().unwrap_or("null")));
        }
        Some(xxh3_64(&bytes))
    }

    /// A mark of a row or column that comes back: its result is stale if it was made from something else than what is
    /// asked and given now.
    #[must_use]
    pub fn restored(&self, slot: Slot, mark: Mark, row: &RowView<'_>, details: &Details) -> Mark {
        // Which earlier asking it answers may have been forgotten meanwhile.
        let mark = Mark { answers: 0, ..mark };
        if mark.status != CellStatus::Completed || mark.manual {
            return mark;
        }
        let Some(made_from) = details.get(slot).and_then(|detail| detail.made_from) else { return mark };
        match self.made_from(slot, row) {
            Some(now) => Mark { stale: now != made_from, ..mark },
            None => mark,
        }
    }

    /// Whether rows planned by the other would be planned the same way by this.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let graph = |plan: &Self| -> Vec<(Slot, Vec<Slot>)> {
            let waits = |column: &Planned| {
                column.waits.iter().filter_map(|index| Some(plan.columns.get(*index)?.slot)).collect()
            };
            plan.columns.iter().map(|column| (column.slot, waits(column))).collect()
        };
        graph(self) == graph(other)
    }

    fn planned(&self, slot: Slot) -> Option<&Planned> {
        self.columns.get(self.column(slot)?)
    }

    pub(super) fn column(&self, slot: Slot) -> Option<usize> {
        self.columns.iter().position(|column| column.slot == slot)
    }
}

fn planned(
    column: &Column,
    sources: &mut Sources<'_>,
    room: &mut ConditionRoom,
    place: &impl Fn(Slot) -> Option<usize>,
) -> Planned {
    let table = sources.table();
    let inputs = column.dependencies.iter().filter_map(|dependency| {
        let column = table.by_id(dependency.column_id.as_str())?;
        let source = sources.source(column);
        let processed = source.slot().and_then(place);
        Some(Input {
            column: column.id.clone(),
            header: column.header.clone(),
            source,
            required: dependency.required,
            processed,
        })
    });
    let inputs = inputs.collect();
    Planned {
        slot: column.slot,
        asked: asking(column, table),
        inputs,
        prompt_inputs: PromptInput::of(column, sources),
        condition: Condition::of(&column.run_condition, sources, room),
        waits: BTreeSet::new(),
        reads: reads(column, sources),
    }
}

/// The slots of whatever a column refers to: its inputs, the columns of its condition, and those that its texts name.
fn reads(column: &Column, sources: &mut Sources<'_>) -> BTreeSet<Slot> {
    let mut ids: BTreeSet<ColumnId> =
        column.dependencies.iter().map(|dependency| dependency.column_id.clone()).collect();
    ids.extend(column.run_condition.columns().into_iter().cloned());
    for_each_template(&mut column.clone(), |text| {
        ids.extend(references(text).filter_map(|inner| match Reference::read(inner) {
            Reference::Column { id, .. } => Some(ColumnId::new(id)),
            Reference::Secret { .. } => None,
        }));
    });
    ids.iter().filter_map(|id| root(id, sources)).collect()
}

/// The slot a column's values stand in.
fn root(column: &ColumnId, sources: &mut Sources<'_>) -> Option<Slot> {
    let column = sources.table().by_id(column.as_str())?;
    sources.source(column).slot()
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
