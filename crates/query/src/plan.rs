//! A selection made ready: which columns it needs, how rows are found and put in order.

use fixedbitset::FixedBitSet;
use jiff::Timestamp;
use rowmill_model::filter::{Conjunction, Leaf, Node, Predicate, Search, Test};
use rowmill_model::path::Path;
use rowmill_model::row::Source;
use rowmill_model::sort::{Direction, Order};
use rowmill_model::{CellStatus, Table};

use crate::Selection;
use crate::column::{Column, Facts, Name, ValueColumn};
use crate::sift::{Ask, AskFilter, sift};
use crate::snapshot::Snapshot;

/// A compiled selection.
#[derive(Debug)]
pub(crate) struct Plan {
    filter: Vec<Step>,
    pub(crate) keys: Vec<(Name, Direction)>,
    /// Whether the answer depends on when it is asked for.
    pub(crate) depends_on_now: bool,
}

#[derive(Debug)]
enum Step {
    Group(Conjunction, Vec<Step>),
    Value(Name, Box<Leaf>),
    State(Name, Box<Leaf>),
    /// The status of a reference: completed where it has a value.
    Reference(Name, Box<Leaf>),
    Search(Vec<Name>, Box<Search>),
    /// The same for every row.
    Constant(bool),
}

impl Plan {
    pub(crate) fn compile(selection: &Selection, table: &Table) -> Self {
        let predicate = Predicate::compile(&selection.filters, table);
        let mut plan = Self { filter: Vec::new(), keys: Vec::new(), depends_on_now: false };
        plan.filter = plan.steps(predicate.nodes());
        let search = Search::new(selection.search.as_deref().unwrap_or_default(), table);
        if !search.text().is_empty() {
            let names = search.sources().iter().filter_map(|source| value_name(source, None)).collect();
            plan.filter.push(Step::Search(names, Box::new(search)));
        }
        let order = Order::compile(&selection.sorting, table);
        // What leads nowhere is empty in every row, and so changes no order.
        let keys = order.keys().iter();
        plan.keys =
            keys.filter_map(|(source, direction)| Some((value_name(source, None)?, *direction))).collect();
        plan
    }

    fn steps(&mut self, nodes: &[Node]) -> Vec<Step> {
        nodes.iter().map(|node| self.step(node)).collect()
    }

    fn step(&mut self, node: &Node) -> Step {
        match node {
            Node::Never => Step::Constant(false),
            Node::Group(conjunction, nodes) => Step::Group(*conjunction, self.steps(nodes)),
            Node::Leaf(leaf) => {
                self.depends_on_now |= leaf.depends_on_now();
                leaf_step(leaf)
            }
        }
    }

    /// The columns that must be there; those it sorts by last.
    pub(crate) fn names(&self) -> Vec<Name> {
        let mut names = Vec::new();
        self.filter.iter().for_each(|step| step.names(&mut names));
        names.extend(self.keys.iter().map(|(name, _)| name.clone()));
        let mut distinct: Vec<Name> = Vec::with_capacity(names.len());
        for name in names {
            if !distinct.contains(&name) {
                distinct.push(name);
            }
        }
        distinct
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

fn leaf_step(leaf: &Leaf) -> Step {
    let source = leaf.source();
    let leaf = Box::new(leaf.clone());
    match (leaf.test(), source.slot()) {
        (Test::Value, _) => match value_name(source, leaf.path()) {
            Some(name) => Step::Value(name, leaf),
            // Nothing but the empty cell is there, and no filter on that asks for the time.
            None => Step::Constant(leaf.holds_for(None, Timestamp::UNIX_EPOCH)),
        },
        (Test::State, Some(slot)) if source.is_processed() => Step::State(Name::State { slot }, leaf),
        (Test::State, Some(_)) if source.is_reference() => match value_name(source, None) {
            Some(name) => Step::Reference(name, leaf),
            None => Step::Constant(leaf.holds_for_state(CellStatus::Idle, None)),
        },
        (Test::State, _) => Step::Constant(leaf.holds_for_state(CellStatus::Idle, None)),
    }
}

fn value_name(source: &Source, path: Option<&Path>) -> Option<Name> {
    let slot = source.slot()?;
    Some(Name::Value { slot, paths: source.paths().chain(path).cloned().collect() })
}

impl Step {
    fn names(&self, names: &mut Vec<Name>) {
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
            Self::Value(name, leaf) => rows_with(snapshot.values(name), len, &AskFilter(leaf, now)),
            Self::Reference(name, leaf) => rows_with(snapshot.values(name), len, &AskThere(leaf)),
            Self::Search(names, search) => {
                let mut rows = FixedBitSet::with_capacity(len);
                for name in names {
                    rows.union_with(&rows_with(snapshot.values(name), len, search.as_ref()));
                }
                rows
            }
            Self::State(name, leaf) => {
                let Some(Column::States(facts)) = snapshot.column(name) else { return all(len, false) };
                let table: Vec<bool> = Facts::all().map(|facts| holds_for(leaf, facts)).collect();
                let right = |facts: &Facts| table.get(facts.number()).copied().unwrap_or_default();
                gather(len, facts.iter().map(right))
            }
            Self::Constant(holds) => all(len, *holds),
        }
    }

    fn holds(&self, snapshot: &Snapshot, row: usize, now: Timestamp) -> bool {
        let raw = |name: &Name| snapshot.values(name).map_or("", |column| column.raw(row));
        match self {
            Self::Group(Conjunction::And, steps) => steps.iter().all(|step| step.holds(snapshot, row, now)),
            Self::Group(Conjunction::Or, steps) => steps.iter().any(|step| step.holds(snapshot, row, now)),
            Self::Group(Conjunction::Not, steps) => !steps.iter().any(|step| step.holds(snapshot, row, now)),
            Self::Value(name, leaf) => AskFilter(leaf, now).holds(raw(name)),
            Self::Reference(name, leaf) => AskThere(leaf).holds(raw(name)),
            Self::Search(names, search) => names.iter().any(|name| search.as_ref().holds(raw(name))),
            Self::State(name, leaf) => match snapshot.column(name) {
                Some(Column::States(facts)) => holds_for(leaf, facts.get(row).copied().unwrap_or_default()),
                _ => false,
            },
            Self::Constant(holds) => *holds,
        }
    }
}

/// Asks a filter on status of a reference's value.
struct AskThere<'f>(&'f Leaf);

impl Ask for AskThere<'_> {
    fn holds(&self, raw: &str) -> bool {
        let status = if raw.is_empty() { CellStatus::Idle } else { CellStatus::Completed };
        self.0.holds_for_state(status, None)
    }

    fn plain(&self) -> Option<(rowmill_model::filter::PlainTest<'_>, bool)> {
        None
    }
}

fn holds_for(leaf: &Leaf, facts: Facts) -> bool {
    let state = facts.state();
    leaf.holds_for_state(state.status, Some(&state))
}

fn all(len: usize, bit: bool) -> FixedBitSet {
    let mut rows = FixedBitSet::with_capacity(len);
    rows.set_range(.., bit);
    rows
}

fn rows_with(column: Option<&ValueColumn>, len: usize, ask: &impl Ask) -> FixedBitSet {
    let Some(column) = column else { return all(len, ask.holds("")) };
    let values = sift(&column.values, ask);
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
