//! Filters as they are sent and stored.

use serde::de::Error as _;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::operator::Operator;
use crate::ids::ColumnId;
use crate::raw_json::RawJson;

/// Filters that must all hold. None at all hold for every row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Filters(pub Vec<FilterNode>);

/// A filter, or several joined.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum FilterNode {
    Group { conjunction: Conjunction, filters: Vec<FilterNode> },
    Filter(Filter),
}

/// How a group's filters are joined. Of no filters, `and` and `not` hold and `or` does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Conjunction {
    And,
    Or,
    /// None of them holds.
    Not,
}

/// A condition on one column.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub column_id: ColumnId,
    pub operator: Operator,
    /// What the cell is compared with; null for operators that take nothing.
    pub value: RawJson,
    /// Looks at a part of the cell's value; see [`crate::path::Path`].
    pub path: Option<String>,
    pub case_sensitive: bool,
    /// The IANA zone of dates without an offset, and of calendar days; UTC without one.
    pub time_zone: Option<String>,
}

/// Filters that compare with this many values are made ready in the time that it takes to hand them over.
const QUICK_SIZE_MAX: usize = 250;
/// So many bytes of text count as a value more.
const VALUE_BYTES: usize = 64;

impl Filters {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them is a pattern, which takes a while to compile.
    pub fn has_patterns(&self) -> bool {
        has_patterns(&self.0)
    }

    /// Whether it takes a while to make them ready: one is a pattern, or there is much to compare with.
    pub fn take_long(&self) -> bool {
        self.has_patterns() || operands_size(&self.0) > QUICK_SIZE_MAX
    }

    /// Whether one may be a pattern, among filters as sent.
    pub fn may_have_patterns(sent: &serde_json::Value) -> bool {
        let may = |node: &serde_json::Value| {
            let word = node.get("operator").and_then(serde_json::Value::as_str);
            word.and_then(Operator::parse) == Some(Operator::Matches)
                || node.get("filters").is_some_and(Self::may_have_patterns)
        };
        sent.as_array().is_some_and(|nodes| nodes.iter().any(may))
    }

    /// The columns the filters look at, in the order they are named; a column may come twice.
    pub fn columns(&self) -> Vec<&ColumnId> {
        let mut ids = Vec::new();
        collect(&self.0, &mut ids);
        ids
    }

    /// The filters without those that look at a column; `None` if there are none of them. Groups that
    /// this empties vanish, because an empty `or` would hide every row.
    pub fn without(&self, column: &str) -> Option<Self> {
        let kept = Self(keep(&self.0, column));
        (kept != *self).then_some(kept)
    }
}

fn has_patterns(nodes: &[FilterNode]) -> bool {
    nodes.iter().any(|node| match node {
        FilterNode::Group { conjunction: _, filters } => has_patterns(filters),
        FilterNode::Filter(filter) => filter.operator == Operator::Matches,
    })
}

/// How much cells are compared with: each value counts, and long text as several.
fn operands_size(nodes: &[FilterNode]) -> usize {
    let size = |node: &FilterNode| match node {
        FilterNode::Group { conjunction: _, filters } => operands_size(filters),
        FilterNode::Filter(filter) => value_size(&filter.value),
    };
    nodes.iter().map(size).sum()
}

/// At least the values there are: a comma in a text counts, too.
fn value_size(value: &RawJson) -> usize {
    let text = value.get();
    1 + text.bytes().filter(|byte| *byte == b',').count().max(text.len() / VALUE_BYTES)
}

fn collect<'a>(nodes: &'a [FilterNode], ids: &mut Vec<&'a ColumnId>) {
    for node in nodes {
        match node {
            FilterNode::Group { conjunction: _, filters } => collect(filters, ids),
            FilterNode::Filter(filter) => ids.push(&filter.column_id),
        }
    }
}

fn keep(nodes: &[FilterNode], column: &str) -> Vec<FilterNode> {
    let kept = nodes.iter().filter_map(|node| match node {
        FilterNode::Filter(filter) => (filter.column_id.as_str() != column).then(|| node.clone()),
        FilterNode::Group { conjunction, filters } => {
            let kept = keep(filters, column);
            let emptied = kept.is_empty() && !filters.is_empty();
            (!emptied).then_some(FilterNode::Group { conjunction: *conjunction, filters: kept })
        }
    });
    kept.collect()
}

impl Conjunction {
    pub const ALL: [Self; 3] = [Self::And, Self::Or, Self::Not];

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|conjunction| conjunction.word() == word)
    }
}

/// The fields of a filter and of a group.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Fields {
    conjunction: Option<Conjunction>,
    filters: Option<Vec<FilterNode>>,
    column_id: Option<ColumnId>,
    operator: Option<Operator>,
    #[serde(default)]
    value: RawJson,
    path: Option<String>,
    #[serde(default)]
    case_sensitive: bool,
    time_zone: Option<String>,
}

/// By hand, because what serde derives would parse all values first to find out which of the two it is.
impl<'de> Deserialize<'de> for FilterNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Fields { conjunction, filters, column_id, operator, value, path, case_sensitive, time_zone } =
            Fields::deserialize(deserializer)?;
        if let (Some(conjunction), Some(filters)) = (conjunction, filters) {
            return Ok(Self::Group { conjunction, filters });
        }
        let column_id = column_id.ok_or_else(|| D::Error::missing_field("columnId"))?;
        let operator = operator.ok_or_else(|| D::Error::missing_field("operator"))?;
        Ok(Self::Filter(Filter { column_id, operator, value, path, case_sensitive, time_zone }))
    }
}

/// By hand, because whether `value` is written depends on the operator: `equals null` says something.
impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { column_id, operator, value, path, case_sensitive, time_zone } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("columnId", column_id)?;
        map.serialize_entry("operator", operator)?;
        if operator.takes_value() {
            map.serialize_entry("value", value)?;
        }
        if let Some(path) = path {
            map.serialize_entry("path", path)?;
        }
        if *case_sensitive {
            map.serialize_entry("caseSensitive", case_sensitive)?;
        }
        if let Some(time_zone) = time_zone {
            map.serialize_entry("timeZone", time_zone)?;
        }
        map.end()
    }
}
