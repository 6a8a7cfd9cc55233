//! Reading filters that were sent, with everything that is wrong with them at once.

use jiff::tz::TimeZone;
use serde_json::{Map, Value as Json};

use super::check::zone;
use super::document::{Conjunction, Filter, FilterNode, Filters};
use super::operand::Size;
use super::operator::Operator;
use super::operator::Shape;
use super::pattern::PatternBudget;
use super::within::{DAYS_MAX, MODES, Within};
use crate::cell_status::{CellStatus, ErrorCode};
use crate::column::Column;
use crate::format::Format;
use crate::limits::{FILTER_DEPTH_MAX, Limits, NAME_CHARS_MAX, OFFENCES_MAX};
use crate::offence::Offence;
use crate::path::Path;
use crate::table::Table;

/// A column's id, or its header.
pub const COLUMN_ID_CHARS_MAX: usize = NAME_CHARS_MAX;
pub const TIME_ZONE_CHARS_MAX: usize = 100;
/// The longest list a cell is compared with.
const LIST_MAX: usize = 1_000;

impl Filters {
    /// Reads filters as sent. `base` is where they stand in the body, such as `filters`.
    pub fn parse(json: &Json, base: &str, table: &Table, limits: &Limits) -> Result<Self, Vec<Offence>> {
        let patterns = Some(PatternBudget::of_filters());
        let mut reader = Reader { table, leaves: 0, groups: 0, patterns, offences: Vec::new() };
        let nodes = reader.nodes(json, base, 0);
        let leaves_max = limits.filters_max as usize;
        if reader.leaves > leaves_max {
            let leaves = reader.leaves;
            reader.refuse_first(
                base,
                format!("At most {leaves_max} filters (filtersMax) are allowed; there are {leaves}."),
            );
        }
        if reader.groups > leaves_max {
            let groups = reader.groups;
            reader.refuse_first(
                base,
                format!("At most {leaves_max} groups (filtersMax) are allowed; there are {groups}."),
            );
        }
        if reader.offences.is_empty() { Ok(Self(nodes)) } else { Err(reader.offences) }
    }
}

struct Reader<'t> {
    table: &'t Table,
    /// How many filters were met, in groups and outside.
    leaves: usize,
    groups: usize,
    /// What patterns may still take; `None` after one that was refused: the rest is not compiled any more.
    patterns: Option<PatternBudget>,
    offences: Vec<Offence>,
}

impl<'t> Reader<'t> {
    fn refuse(&mut self, path: impl Into<String>, message: impl Into<String>) {
        if self.offences.len() < OFFENCES_MAX {
            self.offences.push(Offence::new(path, message));
        }
    }

    /// Before all else, so that it is told however much more is wrong.
    fn refuse_first(&mut self, path: &str, message: String) {
        self.offences.truncate(OFFENCES_MAX - 1);
        self.offences.insert(0, Offence::new(path, message));
    }

    /// Reads an array of filters that stands within `depth` groups.
    fn nodes(&mut self, json: &Json, at: &str, depth: usize) -> Vec<FilterNode> {
        let Some(entries) = json.as_array() else {
            self.refuse(at, "Filters must be an array of filters and groups.");
            return Vec::new();
        };
        let read = |(index, entry)| self.node(entry, &format!("{at}[{index}]"), depth);
        entries.iter().enumerate().filter_map(read).collect()
    }

    fn node(&mut self, json: &Json, at: &str, depth: usize) -> Option<FilterNode> {
        let Some(fields) = json.as_object() else {
            self.refuse(
                at,
                "A filter must be an object {columnId, operator, value}, or a group {conjunction, filters}.",
            );
            return None;
        };
        if fields.contains_key("conjunction") || fields.contains_key("filters") {
            self.group(fields, at, depth + 1)
        } else {
            self.leaves += 1;
            self.filter(fields, at).map(FilterNode::Filter)
        }
    }

    fn group(&mut self, fields: &Map<String, Json>, at: &str, depth: usize) -> Option<FilterNode> {
        // Going no deeper than this also bounds the recursion.
        if depth > FILTER_DEPTH_MAX {
            self.refuse(at, format!("Filter groups can be nested at most {FILTER_DEPTH_MAX} levels deep."));
            return None;
        }
        self.groups += 1;
        self.known_fields(fields, at, "a group", &["conjunction", "filters"]);
        let conjunction = fields.get("conjunction").and_then(Json::as_str).and_then(Conjunction::parse);
        if conjunction.is_none() {
            self.refuse(
                format!("{at}.conjunction"),
                one_of("The conjunction", &Conjunction::ALL.map(Conjunction::word)),
            );
        }
        let filters = if let Some(filters) = fields.get("filters") {
            self.nodes(filters, &format!("{at}.filters"), depth)
        } else {
            self.refuse(format!("{at}.filters"), "A group requires `filters`, an array.");
            Vec::new()
        };
        Some(FilterNode::Group { conjunction: conjunction?, filters })
    }

    fn filter(&mut self, fields: &Map<String, Json>, at: &str) -> Option<Filter> {
        const KNOWN: [&str; 6] = ["columnId", "operator", "value", "path", "caseSensitive", "timeZone"];
        self.known_fields(fields, at, "a filter", &KNOWN);
        let column = self.column(fields.get("columnId"), &format!("{at}.columnId"));
        let operator = self.operator(fields.get("operator"), &format!("{at}.operator"));
        let path = self.optional_text(fields.get("path"), &format!("{at}.path"));
        if let Some(Err(error)) = path.as_deref().map(Path::parse) {
            self.refuse(format!("{at}.path"), error);
        }
        let case_sensitive = match fields.get("caseSensitive") {
            None | Some(Json::Null) => false,
            Some(Json::Bool(flag)) => *flag,
            Some(_) => {
                self.refuse(format!("{at}.caseSensitive"), "`caseSensitive` must be true or false.");
                false
            }
        };
        let time_zone = self.optional_text(fields.get("timeZone"), &format!("{at}.timeZone"));
        let zone = self.zone(time_zone.as_deref(), &format!("{at}.timeZone"));
        let operator = operator?;
        let value = fields.get("value");
        // What lies inside a value has no type.
        let is_whole = path.as_deref().is_none_or(|path| Path::parse(path).is_ok_and(|path| path.is_whole()));
        let format = column.and_then(|column| column.format.as_ref()).filter(|_| is_whole);
        let reader = ValueReader { operator, format, zone, at: format!("{at}.value") };
        let mut wrong = reader.offences(value);
        if wrong.is_empty() && operator == Operator::Matches {
            let text = value.and_then(Json::as_str).unwrap_or_default();
            wrong.extend(self.pattern_offence(text, case_sensitive, &format!("{at}.value")));
        }
        if !wrong.is_empty() {
            let room = OFFENCES_MAX.saturating_sub(self.offences.len());
            self.offences.extend(wrong.into_iter().take(room));
            return None;
        }
        let value = reader.stored(value).into();
        let column_id = column?.id.clone();
        Some(Filter { column_id, operator, value, path, case_sensitive, time_zone })
    }

    fn column(&mut self, json: Option<&Json>, at: &str) -> Option<&'t Column> {
        let Some(id) = json.and_then(Json::as_str) else {
            self.refuse(at, "A filter requires `columnId`, the id or header of a column.");
            return None;
        };
        let column = self.table.named(id);
        if column.is_none() {
            self.refuse(at, self.table.no_such_column(id, self.offences.len()));
        }
        column
    }

    fn operator(&mut self, json: Option<&Json>, at: &str) -> Option<Operator> {
        let operator = json.and_then(Json::as_str).and_then(Operator::parse);
        if operator.is_none() {
            self.refuse(at, one_of("The operator", &Operator::ALL.map(Operator::word)));
        }
        operator
    }

    /// Null stands for absent.
    fn optional_text(&mut self, json: Option<&Json>, at: &str) -> Option<String> {
        match json {
            None | Some(Json::Null) => None,
            Some(Json::String(text)) => Some(text.clone()),
            Some(_) => {
                self.refuse(at, "This must be a string.");
                None
            }
        }
    }

    fn zone(&mut self, name: Option<&str>, at: &str) -> TimeZone {
        let short = name.is_none_or(|name| name.len() <= TIME_ZONE_CHARS_MAX);
        zone(name).filter(|_| short).unwrap_or_else(|| {
            let name = shortened(name.unwrap_or_default());
            self.refuse(at, format!("`{name}` is not an IANA time zone, such as `Europe/Berlin`."));
            TimeZone::UTC
        })
    }

    fn pattern_offence(&mut self, text: &str, case_sensitive: bool, at: &str) -> Option<Offence> {
        let refusal = self.patterns.as_mut()?.compile(text, case_sensitive).err()?;
        self.patterns = None;
        Some(Offence::new(at, refusal.message()))
    }

    fn known_fields(&mut self, fields: &Map<String, Json>, at: &str, what: &str, known: &[&str]) {
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            let message = format!("`{}` is not a field of {what}.", shortened(name));
            self.refuse(format!("{at}.{}", shortened(name)), message);
        }
    }
}

/// Checks a filter's value against what its operator takes.
struct ValueReader<'f> {
    operator: Operator,
    /// The type of the column, by which values are read.
    format: Option<&'f Format>,
    zone: TimeZone,
    at: String,
}

impl ValueReader<'_> {
    fn offences(&self, value: Option<&Json>) -> Vec<Offence> {
        let word = self.operator.word();
        let shape = self.operator.shape();
        let is_size = matches!(shape, Shape::Size | Shape::Range | Shape::Date);
        let also =
            if is_size && self.format.is_some() { ", or what the column's type reads as one" } else { "" };
        let wrong = |right: &str| vec![Offence::new(&self.at, format!("`{word}` takes {right}{also}."))];
        let Some(value) = value else {
            let absent_is_right = shape == Shape::Nothing;
            return if absent_is_right { Vec::new() } else { wrong(shape.right()) };
        };
        let fits = match shape {
            Shape::Nothing => matches!(value, Json::Null | Json::Bool(true)),
            Shape::Any => true,
            Shape::List => value.as_array().is_some_and(|list| list.len() <= LIST_MAX),
            Shape::Text | Shape::Pattern => value.is_string(),
            Shape::Size => self.size(value).is_some(),
            Shape::Range => match value.as_array().map(Vec::as_slice) {
                Some([low, high]) => match (self.size(low), self.size(high)) {
                    (Some(low), Some(high)) => low.is_date() == high.is_date(),
                    _ => false,
                },
                _ => false,
            },
            Shape::Date => self.size(value).is_some_and(|size| size.is_date()),
            Shape::Within => return self.within_offences(value),
            Shape::Status => value.as_str().and_then(CellStatus::parse).is_some(),
            Shape::Statuses => return self.word_offences(value, &CellStatus::ALL.map(CellStatus::word)),
            Shape::ErrorCodes => return self.word_offences(value, &ErrorCode::ALL.map(ErrorCode::word)),
        };
        if fits { Vec::new() } else { wrong(shape.right()) }
    }

    /// A value that fits, as it is stored.
    fn stored(&self, value: Option<&Json>) -> Json {
        let size = |value: &Json| Size::stored(value, self.format, &self.zone);
        match (self.operator.shape(), value) {
            (Shape::Nothing, _) | (_, None) => Json::Null,
            (Shape::Size | Shape::Date, Some(value)) => size(value),
            (Shape::Range, Some(Json::Array(bounds))) => bounds.iter().map(size).collect(),
            (_, Some(value)) => value.clone(),
        }
    }

    fn size(&self, value: &Json) -> Option<Size> {
        Size::read(value, self.format, &self.zone)
    }

    fn within_offences(&self, value: &Json) -> Vec<Offence> {
        let Some(fields) = value.as_object() else {
            return vec![Offence::new(&self.at, format!("`isWithin` takes {}.", Shape::Within.right()))];
        };
        let mut offences = Vec::new();
        for name in fields.keys().filter(|name| !matches!(name.as_str(), "mode" | "n")) {
            let name = shortened(name);
            offences.push(Offence::new(
                format!("{}.{name}", self.at),
                format!("`{name}` is not a field of `isWithin`."),
            ));
        }
        let mode = fields.get("mode").and_then(Json::as_str).filter(|mode| MODES.contains(mode));
        if let Some(mode) = mode {
            if Within::read(value).is_none() {
                let message = match mode {
                    "pastDays" | "nextDays" => {
                        format!("`{mode}` needs `n`, a whole number from 1 to {DAYS_MAX}.")
                    }
                    _ => format!("`{mode}` takes no `n`."),
                };
                offences.push(Offence::new(format!("{}.n", self.at), message));
            }
        } else {
            offences.push(Offence::new(format!("{}.mode", self.at), one_of("The mode", &MODES)));
        }
        offences
    }

    fn word_offences(&self, value: &Json, known: &[&str]) -> Vec<Offence> {
        let Some(words) = value.as_array().filter(|words| words.len() <= LIST_MAX) else {
            let right = self.operator.shape().right();
            return vec![Offence::new(&self.at, format!("`{}` takes {right}.", self.operator.word()))];
        };
        let unknown = |word: &Json| !word.as_str().is_some_and(|word| known.contains(&word));
        let offences = words.iter().enumerate().filter(|(_, word)| unknown(word));
        offences
            .map(|(index, _)| Offence::new(format!("{}[{index}]", self.at), one_of("Each", known)))
            .collect()
    }
}

impl Shape {
    /// What would be right, to follow "takes".
    fn right(self) -> &'static str {
        match self {
            Self::Nothing => "no value",
            Self::Any => "a value of any kind (null for an empty cell)",
            Self::List => "an array of at most 1000 values",
            Self::Text => "text",
            Self::Pattern => "a regular expression as text",
            Self::Size => "a number or an ISO 8601 date, such as 10 or \"2024-01-31\"",
            Self::Range => "[low, high]: two numbers or two ISO 8601 dates",
            Self::Date => "an ISO 8601 date, such as \"2024-01-31\" or \"2024-01-31T12:00:00Z\"",
            Self::Within => "an object {mode, n?}, such as {\"mode\": \"pastDays\", \"n\": 7}",
            Self::Status => "one of idle, queued, generating, completed, error, skipped",
            Self::Statuses => "an array of cell statuses",
            Self::ErrorCodes => "an array of error codes",
        }
    }
}

fn one_of(what: &str, words: &[&str]) -> String {
    format!("{what} must be one of {}.", words.join(", "))
}

/// What was sent, short enough to be repeated in a message.
fn shortened(text: &str) -> String {
    const CHARS_MAX: usize = 100;
    if text.chars().count() <= CHARS_MAX {
        return text.to_owned();
    }
    text.chars().take(CHARS_MAX).chain(['…']).collect()
}
