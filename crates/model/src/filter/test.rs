//! What each operator means.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex::{Regex, RegexBuilder};
use serde_json::Value as Json;

use super::within::Within;
use super::{Filter, Operator};
use crate::cell::{CellStatus, ErrorCode};
use crate::value::{Date, Kind, Number, Value, elements, fold, same};

/// A compiled operator with what it compares with.
#[derive(Debug, Clone)]
pub(super) enum Test {
    Status(Vec<CellStatus>),
    ErrorCode(Vec<ErrorCode>),
    Stale,
    /// The cell was written by hand.
    Manual,
    Value(ValueTest),
}

/// A test of a cell's value, with how that value is read.
#[derive(Debug, Clone)]
pub(super) struct ValueTest {
    check: Check,
    case_sensitive: bool,
    zone: TimeZone,
}

#[derive(Debug, Clone)]
enum Check {
    Empty,
    /// `equals` and `in`.
    OneOf(Vec<Operand>),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    Matches(Regex),
    Compare(Comparison, Operand),
    Between(Operand, Operand),
    Within(Within),
    Truth(bool),
    HasAnyOf(Vec<Operand>),
    HasAllOf(Vec<Operand>),
}

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// The largest a compiled pattern may be, in bytes.
const PATTERN_BYTES_MAX: usize = 1024 * 1024;

impl Test {
    /// Compiles a filter's operator and value; the flag says that the test is to be negated. `None` if
    /// the value does not fit the operator.
    pub(super) fn compile(filter: &Filter) -> Option<(Self, bool)> {
        use Operator as O;
        let test = match filter.operator {
            O::StatusIs => Self::Status(vec![CellStatus::parse(filter.value.as_str()?)?]),
            O::StatusIn => Self::Status(words(&filter.value, CellStatus::parse)?),
            O::ErrorCodeIn => Self::ErrorCode(words(&filter.value, ErrorCode::parse)?),
            O::IsStale => Self::Stale,
            O::IsManual => Self::Manual,
            _ => Self::Value(ValueTest::compile(filter)?),
        };
        let negated =
            matches!(filter.operator, O::NotEquals | O::NotContains | O::NotIn | O::HasNoneOf | O::IsNotEmpty);
        Some((test, negated))
    }
}

impl ValueTest {
    fn compile(filter: &Filter) -> Option<Self> {
        use Operator as O;
        let zone = zone(filter.time_zone.as_deref())?;
        let case_sensitive = filter.case_sensitive;
        let value = &filter.value;
        let operand = |value: &Json| Operand::new(value, case_sensitive, &zone);
        let operands = || Some(value.as_array()?.iter().map(operand).collect());
        let text = || Some(cased(value.as_str()?, case_sensitive));
        let compare = |comparison| Some(Check::Compare(comparison, operand(value)));
        let check = match filter.operator {
            O::IsEmpty | O::IsNotEmpty => Check::Empty,
            O::Equals | O::NotEquals => Check::OneOf(vec![operand(value)]),
            O::In | O::NotIn => Check::OneOf(operands()?),
            O::Contains | O::NotContains => Check::Contains(text()?),
            O::StartsWith => Check::StartsWith(text()?),
            O::EndsWith => Check::EndsWith(text()?),
            O::Matches => Check::Matches(pattern(value.as_str()?, case_sensitive).ok()?),
            O::LessThan | O::Before => compare(Comparison::Less)?,
            O::LessThanOrEqual | O::OnOrBefore => compare(Comparison::LessOrEqual)?,
            O::GreaterThan | O::After => compare(Comparison::Greater)?,
            O::GreaterThanOrEqual | O::OnOrAfter => compare(Comparison::GreaterOrEqual)?,
            O::Between => {
                let [low, high] = value.as_array()?.as_slice() else { return None };
                Check::Between(operand(low), operand(high))
            }
            O::IsWithin => Check::Within(Within::read(value)?),
            O::IsTrue => Check::Truth(true),
            O::IsFalse => Check::Truth(false),
            O::HasAnyOf | O::HasNoneOf => Check::HasAnyOf(operands()?),
            O::HasAllOf => Check::HasAllOf(operands()?),
            O::StatusIs | O::StatusIn | O::ErrorCodeIn | O::IsStale | O::IsManual => return None,
        };
        Some(Self { check, case_sensitive, zone })
    }

    /// Asks it of a cell's raw value.
    pub(super) fn holds(&self, raw: Option<&str>, now: Timestamp) -> bool {
        let raw = raw.unwrap_or("null");
        match &self.check {
            Check::Empty => Value::parse(raw).is_empty(),
            Check::OneOf(operands) => self.is_one_of(raw, operands),
            // Text operators see a scalar as itself and an array or object as compact JSON. An empty
            // cell is "", which no text but "" is part of.
            Check::Contains(part) => cased(&Value::parse(raw).text(), self.case_sensitive).contains(part),
            Check::StartsWith(part) => cased(&Value::parse(raw).text(), self.case_sensitive).starts_with(part),
            Check::EndsWith(part) => cased(&Value::parse(raw).text(), self.case_sensitive).ends_with(part),
            // A pattern may match nothing at all (`^$`, `a*`); an empty cell still matches only "".
            Check::Matches(pattern) => {
                let text = Value::parse(raw).text();
                if text.is_empty() { pattern.as_str().is_empty() } else { pattern.is_match(&text) }
            }
            Check::Compare(comparison, operand) => {
                operand.order(&Kind::of(raw, &self.zone)).is_some_and(|order| comparison.holds(order))
            }
            Check::Between(low, high) => {
                let cell = Kind::of(raw, &self.zone);
                low.order(&cell).is_some_and(Ordering::is_ge) && high.order(&cell).is_some_and(Ordering::is_le)
            }
            Check::Within(within) => match Kind::of(raw, &self.zone) {
                Kind::Date(date) => within.holds(date, now, &self.zone),
                _ => false,
            },
            // Only JSON's own booleans are true or false; text that says so is text.
            Check::Truth(truth) => Value::parse(raw) == Value::Bool(*truth),
            // A cell that is no array has no elements.
            Check::HasAnyOf(operands) => elements(raw).into_iter().any(|raw| self.is_one_of(raw, operands)),
            Check::HasAllOf(operands) => {
                let elements = elements(raw);
                let cells: Vec<_> = elements.iter().map(|raw| Kind::of(raw, &self.zone)).collect();
                operands.iter().all(|operand| cells.iter().any(|cell| self.equal(operand, cell)))
            }
        }
    }

    fn is_one_of(&self, raw: &str, operands: &[Operand]) -> bool {
        let cell = match Kind::of(raw, &self.zone) {
            // Folded once, not once an operand.
            Kind::Text(text) if !self.case_sensitive => Kind::Text(fold(&text).into_owned().into()),
            other => other,
        };
        operands.iter().any(|operand| operand.equals(&cell))
    }

    fn equal(&self, operand: &Operand, cell: &Kind<'_>) -> bool {
        match cell {
            Kind::Text(text) if !self.case_sensitive => operand.equals(&Kind::Text(fold(text))),
            _ => operand.equals(cell),
        }
    }
}

impl Comparison {
    fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Less => order.is_lt(),
            Self::LessOrEqual => order.is_le(),
            Self::Greater => order.is_gt(),
            Self::GreaterOrEqual => order.is_ge(),
        }
    }
}

/// A value that cells are compared with: a [`Kind`] that owns what it holds. Its text is folded unless
/// case counts.
#[derive(Debug, Clone)]
enum Operand {
    Empty,
    Bool(bool),
    Number(Number<'static>),
    Date(Date),
    Text(String),
    /// An array or object, as raw JSON.
    Json(String),
}

impl Operand {
    fn new(value: &Json, case_sensitive: bool, zone: &TimeZone) -> Self {
        let raw = value.to_string();
        match Kind::of(&raw, zone) {
            Kind::Empty => Self::Empty,
            Kind::Bool(truth) => Self::Bool(truth),
            Kind::Number(number) => Self::Number(number.into_owned()),
            Kind::Date(date) => Self::Date(date),
            Kind::Text(text) => Self::Text(cased(&text, case_sensitive)),
            Kind::Array(_) | Kind::Object(_) => Self::Json(raw),
        }
    }

    /// All empties are equal, so `equals null` and `equals ""` are `isEmpty`. A number in text equals
    /// that number, two dates are equal as instants, arrays and objects as JSON.
    fn equals(&self, cell: &Kind<'_>) -> bool {
        match (self, cell) {
            (Self::Empty, Kind::Empty) => true,
            (Self::Bool(a), Kind::Bool(b)) => a == b,
            (Self::Number(a), Kind::Number(b)) => a == b,
            (Self::Date(a), Kind::Date(b)) => a.instant == b.instant,
            (Self::Text(a), Kind::Text(b)) => a == b,
            (Self::Json(a), Kind::Array(b) | Kind::Object(b)) => same(a, b),
            _ => false,
        }
    }

    /// How a cell stands to this: numbers to numbers, dates to dates by instant. Cells of another kind
    /// stand in no order to it.
    fn order(&self, cell: &Kind<'_>) -> Option<Ordering> {
        match (self, cell) {
            (Self::Number(operand), Kind::Number(cell)) => Some(cell.cmp(operand)),
            (Self::Date(operand), Kind::Date(cell)) => Some(cell.instant.cmp(&operand.instant)),
            _ => None,
        }
    }
}

/// Reads an IANA time zone; UTC where none is named.
pub(super) fn zone(name: Option<&str>) -> Option<TimeZone> {
    name.map_or(Some(TimeZone::UTC), |name| TimeZone::get(name).ok())
}

/// Compiles a pattern. It may match anywhere in the text; it runs in linear time, and its size is
/// bounded.
pub(super) fn pattern(text: &str, case_sensitive: bool) -> Result<Regex, regex::Error> {
    RegexBuilder::new(text).case_insensitive(!case_sensitive).size_limit(PATTERN_BYTES_MAX).build()
}

fn cased(text: &str, case_sensitive: bool) -> String {
    if case_sensitive { text.to_owned() } else { fold(text).into_owned() }
}

fn words<T>(value: &Json, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(|word| parse(word.as_str()?)).collect()
}
