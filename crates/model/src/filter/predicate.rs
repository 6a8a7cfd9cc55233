//! Filters made ready to ask of rows.

use jiff::Timestamp;

use super::check::Check;
use super::{Conjunction, Filter, FilterNode, Filters};
use crate::path::Path;
use crate::row::{RowView, Source};
use crate::table::Table;

/// Compiled filters: patterns, paths and time zones are read once, then asked of any number of rows.
#[derive(Debug, Clone)]
pub struct Predicate(Vec<Node>);

impl Predicate {
    /// A filter on a column that is gone sees an empty cell. One that can no longer be read (it was
    /// checked when it was stored) never holds, negated or not: too few rows are noticed sooner than too
    /// many, and cost nothing to run.
    pub fn compile(filters: &Filters, table: &Table) -> Self {
        Self(nodes(&filters.0, table))
    }

    /// Whether all filters hold for a row. `now` is what `isWithin` counts from.
    pub fn holds(&self, row: &RowView<'_>, now: Timestamp) -> bool {
        self.0.iter().all(|node| node.holds(row, now))
    }
}

#[derive(Debug, Clone)]
enum Node {
    Group(Conjunction, Vec<Node>),
    Leaf(Box<Leaf>),
    Never,
}

#[derive(Debug, Clone)]
struct Leaf {
    source: Source,
    path: Option<Path>,
    /// The operator is the exact negation of the check: it holds for empty cells, too.
    negated: bool,
    check: Check,
}

fn nodes(filters: &[FilterNode], table: &Table) -> Vec<Node> {
    let compile = |node: &FilterNode| match node {
        FilterNode::Group { conjunction, filters } => Node::Group(*conjunction, nodes(filters, table)),
        FilterNode::Filter(filter) => {
            leaf(filter, table).map_or(Node::Never, |leaf| Node::Leaf(Box::new(leaf)))
        }
    };
    filters.iter().map(compile).collect()
}

fn leaf(filter: &Filter, table: &Table) -> Option<Leaf> {
    let source = table
        .by_id(filter.column_id.as_str())
        .map_or_else(Source::nothing, |column| Source::compile(table, column));
    let path = match &filter.path {
        Some(path) => Some(Path::parse(path).ok()?).filter(|path| !path.is_whole()),
        None => None,
    };
    let (check, negated) = Check::compile(filter)?;
    Some(Leaf { source, path, negated, check })
}

impl Node {
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
    fn holds(&self, row: &RowView<'_>, now: Timestamp) -> bool {
        let holds = match &self.check {
            Check::Status(statuses) => statuses.contains(&self.source.status(row)),
            Check::ErrorCode(codes) => self
                .source
                .state(row)
                .and_then(|state| state.error.as_ref())
                .is_some_and(|error| codes.contains(&error.code)),
            Check::Stale => self.source.state(row).is_some_and(|state| state.stale),
            Check::Manual => self.source.state(row).is_some_and(|state| state.manual),
            Check::Value(check) => {
                let value = self.source.value(row);
                match (&self.path, value.as_deref()) {
                    (Some(path), Some(raw)) => check.holds(path.resolve(raw).as_deref(), now),
                    (_, raw) => check.holds(raw, now),
                }
            }
        };
        holds != self.negated
    }
}
