//! A selection made ready: which columns it needs, how rows are found and put in order.

use std::borrow::Cow;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use jiff::Timestamp;
use rowmill_model::filter::{Conjunction, Leaf, Node, Predicate, Search, Test};
use rowmill_model::path::Path;
use rowmill_model::record::Slot;
use rowmill_model::row::{Source, Sources, status_of_reference};
use rowmill_model::sort::{Direction, Order};
use rowmill_model::weight::Weight;
use rowmill_model::{CellStatus, Table};
use rowmill_store::{Result, StoredProject};

use crate::blocking::blocking;
use crate::bulk_filter::{FilterPredicate, ValuePredicate, bulk_filter};
use crate::column::{Column, ColumnKey, StateFacts};
use crate::cursor::sorting_digest;
use crate::selection::Selection;
use crate::snapshot::Snapshot;
use crate::value_column::ValueColumn;

/// A compiled selection.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    filter: Vec<FilterStep>,
    pub(crate) keys: Vec<(ColumnKey, Direction)>,
    /// What its cursors say of its sorting.
    pub(crate) sorting: Option<u32>,
    /// Whether the answer depends on when it is asked for.
    pub(crate) depends_on_now: bool,
    has_patterns: bool,
    /// What it takes.
    bytes: usize,
}

#[derive(Debug, Clone)]
enum FilterStep {
    Group(Conjunction, Vec<FilterStep>),
    Value(ColumnKey, Box<Leaf>),
    State(ColumnKey, Box<Leaf>),
    /// The status of a reference: completed where it has a value.
    Reference(ColumnKey, Box<Leaf>),
    Search(Vec<ColumnKey>, Box<Search>),
    /// The same for every row.
    Constant(bool),
}

impl Plan {
    /// Makes a selection ready, where nobody else waits if it takes a while.
    pub(crate) async fn of(selection: &Selection, project: &StoredProject) -> Result<Arc<Self>> {
        if !selection.filters.take_long() {
            return Ok(Arc::new(Self::compile(selection, &project.project.table)));
        }
        let (selection, document) = (selection.clone(), Arc::clone(&project.project));
        blocking(move || Arc::new(Self::compile(&selection, &document.table))).await
    }

    pub(crate) fn compile(selection: &Selection, table: &Table) -> Self {
        let mut sources = Sources::of(table);
        let predicate = Predicate::compile_with(&selection.filters, &mut sources);
        let sorting = sorting_digest(&selection.sorting, table);
        let mut plan = Self {
            filter: Vec::new(),
            keys: Vec::new(),
            sorting,
            depends_on_now: false,
            has_patterns: false,
            bytes: 0,
        };
        plan.filter = plan.steps(predicate.nodes());
        let search = Search::compile_with(selection.search.as_deref().unwrap_or_default(), &mut sources);
        if !search.text().is_empty() {
            let names = search.sources().iter().filter_map(|source| value_name(source, None)).collect();
            plan.filter.push(FilterStep::Search(names, Box::new(search)));
        }
        let order = Order::compile_with(&selection.sorting, &mut sources);
        let keys = order.keys().iter();
        plan.keys =
            keys.filter_map(|(source, direction)| Some((value_name(source, None)?, *direction))).collect();
        plan.bytes = plan.weight().bytes();
        plan
    }

    fn steps(&mut self, nodes: &[Node]) -> Vec<FilterStep> {
        nodes.iter().map(|node| self.step(node)).collect()
    }

    fn step(&mut self, node: &Node) -> FilterStep {
        match node {
            Node::Never => FilterStep::Constant(false),
            Node::Group(conjunction, nodes) => FilterStep::Group(*conjunction, self.steps(nodes)),
            Node::Leaf(leaf) => {
                self.depends_on_now |= leaf.depends_on_now();
                self.has_patterns |= leaf.pattern().is_some();
                leaf_step(leaf)
            }
        }
    }

    /// What it takes besides its columns. Its patterns remember nothing of what they are asked (see [`Self::for_rows`]).
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    fn weight(&self) -> Weight {
        let mut weight = Weight::default();
        weight.add(size_of::<Self>() + size_of_val(self.keys.as_slice()));
        weigh(&self.filter, &mut weight);
        self.keys.iter().for_each(|(name, _)| name.weigh(&mut weight));
        weight
    }

    /// For asking about single rows. What patterns remember while they search stays with a copy, which goes away: in a
    /// plan that is kept it would take more memory than all else.
    pub(crate) fn for_rows(&self) -> Cow<'_, Self> {
        if self.has_patterns { Cow::Owned(self.clone()) } else { Cow::Borrowed(self) }
    }

    /// The columns that must be there; those it sorts by last.
    pub(crate) fn names(&self) -> Vec<ColumnKey> {
        self.names_with(&[])
    }

    /// The same, behind others that somebody needs besides.
    pub(crate) fn names_with(&self, also: &[ColumnKey]) -> Vec<ColumnKey> {
        let mut names = also.to_vec();
        self.filter.iter().for_each(|step| step.names(&mut names));
        names.extend(self.keys.iter().map(|(name, _)| name.clone()));
        let mut distinct: Vec<ColumnKey> = Vec::with_capacity(names.len());
        for name in names {
            if !distinct.contains(&name) {
                distinct.push(name);
            }
        }
        distinct
    }

    /// The columns whose values it looks at.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.names().iter().filter_map(ColumnKey::value_slot).collect()
    }

    /// The rows for which all filters hold.
    pub(crate) fn matching(&self, snapshot: &Snapshot, now: Timestamp) -> FixedBitSet {
        let mut rows = snapshot.live().clone();
        for step in &self.filter {
            rows.intersect_with(&step.matching(snapshot, now));
        }
        rows
    }

    /// Whether all filters hold for a row.
    pub(crate) fn holds(&self, snapshot: &Snapshot, row: usize, now: Timestamp) -> bool {
        snapshot.live().contains(row) && self.filter.iter().all(|step| step.holds(snapshot, row, now))
    }
}

fn leaf_step(leaf: &Leaf) -> FilterStep {
    let source = leaf.source();
    let leaf = Box::new(leaf.clone());
    match (leaf.test(), source.slot()) {
        (Test::Value, _) => match value_name(source, leaf.path()) {
            Some(name) => FilterStep::Value(name, leaf),
            // Nothing but the empty cell is there, and no filter on that asks for the time.
            None => FilterStep::Constant(leaf.holds_for(None, Timestamp::UNIX_EPOCH)),
        },
        (Test::State, Some(slot)) if source.is_processed() => {
            FilterStep::State(ColumnKey::State { slot }, leaf)
        }
        (Test::State, Some(_)) if source.is_reference() => match value_name(source, None) {
            Some(name) => FilterStep::Reference(name, leaf),
            None => FilterStep::Constant(leaf.holds_for_state(CellStatus::Idle, None)),
        },
        (Test::State, _) => FilterStep::Constant(leaf.holds_for_state(CellStatus::Idle, None)),
    }
}

pub(crate) fn value_name(source: &Source, path: Option<&Arc<Path>>) -> Option<ColumnKey> {
    let slot = source.slot()?;
    let (paths, typed) = (source.paths().chain(path).cloned().collect(), source.typed().cloned());
    Some(ColumnKey::Value { slot, paths, typed })
}

fn weigh(steps: &[FilterStep], weight: &mut Weight) {
    weight.add(size_of_val(steps));
    for step in steps {
        step.weigh(weight);
    }
}

impl FilterStep {
    /// Adds what it takes besides itself.
    fn weigh(&self, weight: &mut Weight) {
        match self {
            Self::Group(_, steps) => weigh(steps, weight),
            Self::Value(name, leaf) | Self::State(name, leaf) | Self::Reference(name, leaf) => {
                name.weigh(weight);
                leaf.weigh(weight);
            }
            Self::Search(names, search) => {
                weight.add(size_of_val(names.as_slice()) + size_of::<Search>());
                for name in names {
                    name.weigh(weight);
                }
                search.weigh(weight);
            }
            Self::Constant(_) => {}
        }
    }

    fn names(&self, names: &mut Vec<ColumnKey>) {
        match self {
            Self::Group(_, steps) => steps.iter().for_each(|step| step.names(names)),
            Self::Value(name, _) | Self::State(name, _) | Self::Reference(name, _) => {
                names.push(name.clone());
            }
            Self::Search(all, _) => names.extend(all.iter().cloned()),
            Self::Constant(_) => {}
        }
    }

    fn matching(&self, snapshot: &Snapshot, now: Timestamp) -> FixedBitSet {
        let len = snapshot.len();
        match self {
            Self::Group(conjunction, steps) => {
                let mut rows = all(len, *conjunction == Conjunction::And);
                for step in steps {
                    let found = step.matching(snapshot, now);
                    match conjunction {
                        Conjunction::And => rows.intersect_with(&found),
                        Conjunction::Or | Conjunction::Not => rows.union_with(&found),
                    }
                }
                if *conjunction == Conjunction::Not {
                    rows.toggle_range(..);
                }
                rows
            }
            Self::Value(name, leaf) => {
                // What a pattern remembers goes away with this copy.
                let own = leaf.pattern().map(|_| leaf.clone());
                let leaf = own.as_ref().unwrap_or(leaf);
                rows_with(snapshot.values(name), len, &FilterPredicate(leaf, now))
            }
            Self::Reference(name, leaf) => rows_with(snapshot.values(name), len, &PresencePredicate(leaf)),
            Self::Search(names, search) => {
                let mut rows = FixedBitSet::with_capacity(len);
                for name in names {
                    rows.union_with(&rows_with(snapshot.values(name), len, search.as_ref()));
                }
                rows
            }
            Self::State(name, leaf) => {
                let Some(Column::States(state_facts)) = snapshot.column(name) else { return all(len, false) };
                let table: Vec<bool> =
                    StateFacts::all().map(|state_facts| holds_for(leaf, state_facts)).collect();
                let right =
                    |state_facts: &StateFacts| table.get(state_facts.number()).copied().unwrap_or_default();
                gather(len, state_facts.iter().map(right))
            }
            Self::Constant(holds) => all(len, *holds),
        }
    }

    fn holds(&self, snapshot: &Snapshot, row: usize, now: Timestamp) -> bool {
        let raw = |name: &ColumnKey| snapshot.values(name).map_or("", |column| column.raw(row));
        match self {
            Self::Group(Conjunction::And, steps) => steps.iter().all(|step| step.holds(snapshot, row, now)),
            Self::Group(Conjunction::Or, steps) => steps.iter().any(|step| step.holds(snapshot, row, now)),
            Self::Group(Conjunction::Not, steps) => !steps.iter().any(|step| step.holds(snapshot, row, now)),
            Self::Value(name, leaf) => FilterPredicate(leaf, now).holds(raw(name)),
            Self::Reference(name, leaf) => PresencePredicate(leaf).holds(raw(name)),
            Self::Search(names, search) => names.iter().any(|name| search.as_ref().holds(raw(name))),
            Self::State(name, leaf) => match snapshot.column(name) {
                Some(Column::States(state_facts)) => {
                    holds_for(leaf, state_facts.get(row).copied().unwrap_or_default())
                }
                _ => false,
            },
            Self::Constant(holds) => *holds,
        }
    }
}

/// Asks a filter on status of a reference's value.
struct PresencePredicate<'f>(&'f Leaf);

impl ValuePredicate for PresencePredicate<'_> {
    fn holds(&self, raw: &str) -> bool {
        self.0.holds_for_state(status_of_reference(Some(raw)), None)
    }

    fn plain(&self) -> Option<(rowmill_model::filter::PlainTest<'_>, bool)> {
        None
    }
}

fn holds_for(leaf: &Leaf, state_facts: StateFacts) -> bool {
    let state = state_facts.state();
    leaf.holds_for_state(state.status, Some(&state))
}

fn all(len: usize, bit: bool) -> FixedBitSet {
    let mut rows = FixedBitSet::with_capacity(len);
    rows.set_range(.., bit);
    rows
}

/// The rows whose value in a column is asked for.
pub(crate) fn rows_with(column: Option<&ValueColumn>, len: usize, ask: &impl ValuePredicate) -> FixedBitSet {
    let Some(column) = column else { return all(len, ask.holds("")) };
    let values = bulk_filter(&column.values, ask);
    match column.numbers() {
        None => values,
        Some(numbers) => gather(len, numbers.iter().map(|number| values.contains(*number as usize))),
    }
}

/// Bits in the order they come.
fn gather(len: usize, bits: impl Iterator<Item = bool>) -> FixedBitSet {
    const BITS: usize = usize::BITS as usize;
    let mut words = vec![0_usize; len.div_ceil(BITS)];
    let mut bits = bits.take(len);
    for word in &mut words {
        for (place, bit) in (0..BITS).zip(bits.by_ref()) {
            *word |= usize::from(bit) << place;
        }
    }
    FixedBitSet::with_capacity_and_blocks(len, words)
}
