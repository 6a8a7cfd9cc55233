//! Filters made ready to ask of rows.

use std::sync::Arc;

use jiff::Timestamp;

use super::check::{Check, PlainTest};
use super::document::{Conjunction, Filter, FilterNode, Filters};
use super::operand::SizeTest;
use super::operator::Operator;
use super::pattern::{Pattern, PatternBudget};
use crate::cell::CellState;
use crate::cell_status::CellStatus;
use crate::path::Path;
use crate::row::{RowView, Source, Sources};
use crate::table::Table;
use crate::weight::Weight;

/// Compiled filters: patterns, paths and time zones are read once, then asked of any number of rows.
#[derive(Debug, Clone)]
pub struct Predicate(Vec<Node>);

impl Predicate {
    /// A filter on a column that is gone sees an empty cell. One that can no longer be read (it was
    /// checked when it was stored) never holds, negated or not: too few rows are noticed sooner than too
    /// many, and cost nothing to run. Nor does one whose pattern is too large beside the others.
    pub fn compile(filters: &Filters, table: &Table) -> Self {
        Self::compile_with(filters, &mut Sources::of(table))
    }

    /// The same, for whoever compiles more of the table.
    pub fn compile_with(filters: &Filters, sources: &mut Sources<'_>) -> Self {
        Self(nodes(&filters.0, sources, &mut PatternBudget::of_selection()))
    }

    /// Adds what it takes besides itself.
    pub fn weigh(&self, weight: &mut Weight) {
        weigh(&self.0, weight);
    }

    /// The filters, which must all hold, for whoever asks them of many rows at once.
    pub fn nodes(&self) -> &[Node] {
        &self.0
    }

    /// How many filters there are, groups apart.
    pub fn leaves(&self) -> usize {
        self.0.iter().map(Node::leaves).sum()
    }

    /// Whether each filter can be used.
    pub fn is_usable(&self) -> bool {
        self.0.iter().all(Node::is_usable)
    }

    /// Whether all filters hold for a row. `now` is what `isWithin` counts from.
    pub fn holds(&self, row: &RowView<'_>, now: Timestamp) -> bool {
        self.0.iter().all(|node| node.holds(row, now))
    }
}

/// A compiled filter, or several joined.
#[derive(Debug, Clone)]
pub enum Node {
    Group(Conjunction, Vec<Node>),
    Leaf(Box<Leaf>),
    Never,
}

/// A compiled filter.
#[derive(Debug, Clone)]
pub struct Leaf {
    source: Source,
    path: Option<Arc<Path>>,
    /// The operator is the exact negation of the check: it holds for empty cells, too.
    negated: bool,
    check: Check,
}

/// What a filter looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Test {
    /// The cell's value, or a part of it.
    Value,
    /// The cell's state.
    State,
}

impl Filters {
    /// Why patterns of filters that were taken earlier cannot be used any more: all filters of a selection together have a limit.
    /// A filter that cannot be used holds for no row.
    pub fn pattern_flaw(&self) -> Option<String> {
        pattern_flaw(&self.0, &mut PatternBudget::of_selection())
    }
}

fn pattern_flaw(filters: &[FilterNode], patterns: &mut PatternBudget) -> Option<String> {
    filters.iter().find_map(|node| match node {
        FilterNode::Group { conjunction: _, filters } => pattern_flaw(filters, patterns),
        FilterNode::Filter(Filter { operator: Operator::Matches, value, case_sensitive, .. }) => {
            let compiled = patterns.compile(&value.text()?, *case_sensitive);
            compiled.err().map(|error| error.message())
        }
        FilterNode::Filter(_) => None,
    })
}

fn weigh(nodes: &[Node], weight: &mut Weight) {
    weight.add(size_of_val(nodes));
    for node in nodes {
        match node {
            Node::Group(_, nodes) => weigh(nodes, weight),
            Node::Leaf(leaf) => leaf.weigh(weight),
            Node::Never => {}
        }
    }
}

fn nodes(filters: &[FilterNode], sources: &mut Sources<'_>, patterns: &mut PatternBudget) -> Vec<Node> {
    let compile = |node: &FilterNode| match node {
        FilterNode::Group { conjunction, filters } => {
            Node::Group(*conjunction, nodes(filters, sources, patterns))
        }
        FilterNode::Filter(filter) => {
            leaf(filter, sources, patterns).map_or(Node::Never, |leaf| Node::Leaf(Box::new(leaf)))
        }
    };
    filters.iter().map(compile).collect()
}

fn leaf(filter: &Filter, sources: &mut Sources<'_>, patterns: &mut PatternBudget) -> Option<Leaf> {
    let column = sources.table().by_id(filter.column_id.as_str());
    let source = column.map_or_else(Source::nothing, |column| sources.source(column));
    let path = match &filter.path {
        Some(path) => Some(Path::parse(path).ok()?).filter(|path| !path.is_whole()).map(Arc::new),
        None => None,
    };
    // What lies inside a value has no type.
    let format = column.filter(|_| path.is_none()).and_then(|column| sources.format(column));
    let (check, negated) = Check::compile(filter, format.as_ref(), patterns)?;
    Some(Leaf { source, path, negated, check })
}

impl Node {
    fn leaves(&self) -> usize {
        match self {
            Self::Group(_, nodes) => nodes.iter().map(Self::leaves).sum(),
            Self::Leaf(_) | Self::Never => 1,
        }
    }

    fn is_usable(&self) -> bool {
        match self {
            Self::Group(_, nodes) => nodes.iter().all(Self::is_usable),
            Self::Leaf(_) => true,
            Self::Never => false,
        }
    }

    fn holds(&self, row: &RowView<'_>, now: Timestamp) -> bool {
        match self {
            Self::Group(Conjunction::And, nodes) => nodes.iter().all(|node| node.holds(row, now)),
            Self::Group(Conjunction::Or, nodes) => nodes.iter().any(|node| node.holds(row, now)),
            Self::Group(Conjunction::Not, nodes) => !nodes.iter().any(|node| node.holds(row, now)),
            Self::Leaf(leaf) => leaf.holds(row, now),
            Self::Never => false,
        }
    }
}

impl Leaf {
    pub fn test(&self) -> Test {
        match &self.check {
            Check::Value(_) => Test::Value,
            Check::Status(_) | Check::ErrorCode(_) | Check::Stale | Check::Manual => Test::State,
        }
    }

    /// Where the cell is.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The part of the cell that is looked at; all of it without a path.
    pub fn path(&self) -> Option<&Arc<Path>> {
        self.path.as_ref()
    }

    /// Adds what it takes.
    pub fn weigh(&self, weight: &mut Weight) {
        let Self { source, path, negated: _, check } = self;
        weight.add(size_of::<Self>());
        source.weigh(weight);
        if let Some(path) = path {
            weight.add_path(path);
        }
        check.weigh(weight);
    }

    /// Whether the answer depends on when it is asked for.
    pub fn depends_on_now(&self) -> bool {
        matches!(&self.check, Check::Value(check) if check.depends_on_now())
    }

    /// The pattern it compares with, if it is about one.
    pub fn pattern(&self) -> Option<&Pattern> {
        match &self.check {
            Check::Value(check) => check.pattern(),
            _ => None,
        }
    }

    /// The filter in a form that is quick to ask of plain text; the flag says that its opposite is asked.
    pub fn plain_test(&self) -> Option<(PlainTest<'_>, bool)> {
        match &self.check {
            Check::Value(check) => check.plain_test().map(|test| (test, self.negated)),
            _ => None,
        }
    }

    /// The filter in a form that is quick to ask of sizes.
    pub fn size_test(&self) -> Option<SizeTest> {
        match &self.check {
            Check::Value(check) if !self.negated => check.size_test(),
            _ => None,
        }
    }

    /// Asks it of what it looks at: the raw JSON its source and path lead to. `None` is null.
    pub fn holds_for(&self, raw: Option<&str>, now: Timestamp) -> bool {
        matches!(&self.check, Check::Value(check) if check.holds(raw, now) != self.negated)
    }

    /// Asks it of a cell's state: of its status, and of the rest if the cell is processed.
    pub fn holds_for_state(&self, status: CellStatus, state: Option<&CellState>) -> bool {
        let holds = match &self.check {
            Check::Status(statuses) => statuses.contains(&status),
            Check::ErrorCode(codes) => {
                state.and_then(|state| state.error.as_ref()).is_some_and(|error| codes.contains(&error.code))
            }
            Check::Stale => state.is_some_and(|state| state.stale),
            Check::Manual => state.is_some_and(|state| state.manual),
            Check::Value(_) => return false,
        };
        holds != self.negated
    }

    fn holds(&self, row: &RowView<'_>, now: Timestamp) -> bool {
        if self.test() == Test::State {
            return self.holds_for_state(self.source.status(row), self.source.state(row));
        }
        let value = self.source.value(row);
        match (&self.path, value.as_deref()) {
            (Some(path), Some(raw)) => self.holds_for(path.resolve(raw).as_deref(), now),
            (_, raw) => self.holds_for(raw, now),
        }
    }
}
