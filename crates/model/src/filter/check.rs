//! What each operator means.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value as Json;

use super::document::Filter;
use super::operand::{Among, Measure, Size, SizeTest, as_element, as_read, cased};
use super::operator::Operator;
use super::pattern::{Pattern, PatternBudget};
use super::within::Within;
use crate::cell_status::{CellStatus, ErrorCode};
use crate::format::Format;
use crate::value::{Kind, Value, elements};
use crate::weight::Weight;

/// A compiled operator with what it compares with.
#[derive(Debug, Clone)]
pub(super) enum Check {
    Status(Vec<CellStatus>),
    ErrorCode(Vec<ErrorCode>),
    Stale,
    /// The cell was written by hand.
    Manual,
    Value(Box<ValueCheck>),
}

/// A check of a cell's value, with how that value is read.
#[derive(Debug, Clone)]
pub(super) struct ValueCheck {
    rule: Rule,
    case_sensitive: bool,
    zone: TimeZone,
    /// The type of the column, by which values are read before they are compared.
    format: Option<Arc<Format>>,
}

#[derive(Debug, Clone)]
enum Rule {
    Empty,
    /// The value does not fit the column's type.
    Invalid,
    /// `equals` and `in`.
    Among(Among),
    Contains(String),
    StartsWith(String),
    EndsWith(String),
    Matches(Pattern),
    Compare(Comparison, Size),
    Between(Size, Size),
    Within(Within),
    Truth(bool),
    HasAnyOf(Among),
    HasAllOf(Vec<Among>),
}

#[derive(Debug, Clone, Copy)]
enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// A check as it comes down to for plain text: ASCII that neither escapes anything nor reads as a number or
/// date nor is empty. Where case does not count, what is looked for is folded.
#[derive(Debug, Clone, Copy)]
pub enum PlainTest<'a> {
    Contains {
        part: &'a str,
        case_sensitive: bool,
    },
    StartsWith {
        part: &'a str,
        case_sensitive: bool,
    },
    EndsWith {
        part: &'a str,
        case_sensitive: bool,
    },
    /// Equals this text, if there is one; no other text.
    Equals {
        text: Option<&'a str>,
        case_sensitive: bool,
    },
    Matches(&'a Pattern),
}

impl Check {
    /// Compiles a filter's operator and value; the flag says that the check is to be negated. `None` if
    /// the value does not fit the operator.
    pub(super) fn compile(
        filter: &Filter,
        format: Option<&Arc<Format>>,
        patterns: &mut PatternBudget,
    ) -> Option<(Self, bool)> {
        use Operator as O;
        let check = match filter.operator {
            O::StatusIs => Self::Status(vec![CellStatus::parse(&filter.value.text()?)?]),
            O::StatusIn => Self::Status(words(&filter.value.value(), CellStatus::parse)?),
            O::ErrorCodeIn => Self::ErrorCode(words(&filter.value.value(), ErrorCode::parse)?),
            O::IsStale => Self::Stale,
            O::IsManual => Self::Manual,
            _ => Self::Value(Box::new(ValueCheck::compile(filter, format, patterns)?)),
        };
        let negated = matches!(
            filter.operator,
            O::NotEquals | O::NotContains | O::NotIn | O::HasNoneOf | O::IsNotEmpty | O::IsValid
        );
        Some((check, negated))
    }

    /// Adds what it takes besides itself.
    pub(super) fn weigh(&self, weight: &mut Weight) {
        match self {
            Self::Status(statuses) => weight.add(size_of_val(statuses.as_slice())),
            Self::ErrorCode(codes) => weight.add(size_of_val(codes.as_slice())),
            Self::Stale | Self::Manual => {}
            Self::Value(check) => check.weigh(weight),
        }
    }
}

impl ValueCheck {
    fn compile(
        filter: &Filter,
        shared_format: Option<&Arc<Format>>,
        patterns: &mut PatternBudget,
    ) -> Option<Self> {
        use Operator as O;
        let format = shared_format.map(|format| &**format);
        let Filter { column_id: _, operator, value, path: _, case_sensitive, time_zone } = filter;
        let value = &value.value();
        let (zone, case_sensitive) = (zone(time_zone.as_deref())?, *case_sensitive);
        let among = |values: &[Json]| Among::new(values, case_sensitive, &zone);
        let cells = |values: &[Json]| match format {
            Some(format) => among(&values.iter().map(|value| as_read(format, value)).collect::<Vec<_>>()),
            None => among(values),
        };
        let listed = |values: &[Json]| match format.filter(|format| format.has_options()) {
            Some(format) => among(&values.iter().map(|value| as_element(format, value)).collect::<Vec<_>>()),
            None => among(values),
        };
        let text = || Some(cased(value.as_str()?, case_sensitive).into_owned());
        let size = |value: &Json| Size::read(value, format, &zone);
        let compare = |comparison| Some(Rule::Compare(comparison, size(value)?));
        let rule = match operator {
            O::IsEmpty | O::IsNotEmpty => Rule::Empty,
            O::IsInvalid | O::IsValid => Rule::Invalid,
            O::Equals | O::NotEquals => Rule::Among(cells(std::slice::from_ref(value))),
            O::In | O::NotIn => Rule::Among(cells(value.as_array()?)),
            O::Contains | O::NotContains => Rule::Contains(text()?),
            O::StartsWith => Rule::StartsWith(text()?),
            O::EndsWith => Rule::EndsWith(text()?),
            O::Matches => Rule::Matches(patterns.compile(value.as_str()?, case_sensitive).ok()?),
            O::LessThan | O::Before => compare(Comparison::Less)?,
            O::LessThanOrEqual | O::OnOrBefore => compare(Comparison::LessOrEqual)?,
            O::GreaterThan | O::After => compare(Comparison::Greater)?,
            O::GreaterThanOrEqual | O::OnOrAfter => compare(Comparison::GreaterOrEqual)?,
            O::Between => {
                let [low, high] = value.as_array()?.as_slice() else { return None };
                Rule::Between(size(low)?, size(high)?)
            }
            O::IsWithin => Rule::Within(Within::read(value)?),
            O::IsTrue => Rule::Truth(true),
            O::IsFalse => Rule::Truth(false),
            O::HasAnyOf | O::HasNoneOf => Rule::HasAnyOf(listed(value.as_array()?)),
            O::HasAllOf => {
                Rule::HasAllOf(value.as_array()?.iter().map(std::slice::from_ref).map(listed).collect())
            }
            O::StatusIs | O::StatusIn | O::ErrorCodeIn | O::IsStale | O::IsManual => return None,
        };
        Some(Self { rule, case_sensitive, zone, format: shared_format.cloned() })
    }

    fn weigh(&self, weight: &mut Weight) {
        let Self { rule, case_sensitive: _, zone: _, format } = self;
        weight.add(size_of::<Self>());
        weight.add(match rule {
            Rule::Among(among) | Rule::HasAnyOf(among) => among.bytes(),
            Rule::HasAllOf(all) => all.iter().map(|among| size_of::<Among>() + among.bytes()).sum(),
            Rule::Contains(text) | Rule::StartsWith(text) | Rule::EndsWith(text) => text.len(),
            Rule::Matches(pattern) => pattern.bytes(),
            Rule::Compare(_, size) => size.bytes(),
            Rule::Between(low, high) => low.bytes() + high.bytes(),
            Rule::Empty | Rule::Invalid | Rule::Within(_) | Rule::Truth(_) => 0,
        });
        if let Some(format) = format {
            weight.add_shared(format, Format::bytes);
        }
    }

    pub(super) fn depends_on_now(&self) -> bool {
        matches!(self.rule, Rule::Within(_))
    }

    pub(super) fn pattern(&self) -> Option<&Pattern> {
        match &self.rule {
            Rule::Matches(pattern) => Some(pattern),
            _ => None,
        }
    }

    pub(super) fn plain_test(&self) -> Option<PlainTest<'_>> {
        let case_sensitive = self.case_sensitive;
        match &self.rule {
            Rule::Contains(part) => Some(PlainTest::Contains { part, case_sensitive }),
            Rule::StartsWith(part) => Some(PlainTest::StartsWith { part, case_sensitive }),
            Rule::EndsWith(part) => Some(PlainTest::EndsWith { part, case_sensitive }),
            Rule::Matches(pattern) => Some(PlainTest::Matches(pattern)),
            // Several are looked up, which is quick enough.
            Rule::Among(among) if among.texts().count() <= 1 && self.format.is_none() => {
                Some(PlainTest::Equals { text: among.texts().next(), case_sensitive })
            }
            _ => None,
        }
    }

    pub(super) fn size_test(&self) -> Option<SizeTest> {
        // Sizes are those of stored values, not of what a type reads.
        if self.format.is_some() {
            return None;
        }
        let test = match &self.rule {
            Rule::Compare(comparison, size) => {
                let measure = size.measure();
                let (low, high) = match comparison {
                    Comparison::Less => (f64::NEG_INFINITY, size.low()),
                    Comparison::LessOrEqual => (f64::NEG_INFINITY, size.high()),
                    Comparison::Greater => (size.high(), f64::INFINITY),
                    Comparison::GreaterOrEqual => (size.low(), f64::INFINITY),
                };
                SizeTest { measure, low, high }
            }
            Rule::Between(low, high) => {
                let measure = low.measure();
                (measure == high.measure()).then_some(())?;
                SizeTest { measure, low: low.low(), high: high.high() }
            }
            _ => return None,
        };
        (test.measure == Measure::Number || self.zone == TimeZone::UTC).then_some(test)
    }

    /// Asks it of a cell's raw value.
    pub(super) fn holds(&self, raw: Option<&str>, now: Timestamp) -> bool {
        let raw = raw.unwrap_or("null");
        match &self.rule {
            Rule::Empty => Value::parse(raw).is_empty(),
            Rule::Invalid => self.format.as_ref().is_some_and(|format| !format.fits(raw)),
            Rule::Among(among) => among.has(&self.kind(&self.read(raw))),
            // Text operators see a scalar as itself and an array or object as compact JSON. An empty
            // cell is "", which no text but "" is part of.
            Rule::Contains(part) => self.text(raw).contains(part),
            Rule::StartsWith(part) => self.text(raw).starts_with(part),
            Rule::EndsWith(part) => self.text(raw).ends_with(part),
            // A pattern may match nothing at all (`^$`, `a*`); an empty cell still matches only "".
            Rule::Matches(pattern) => {
                let text = Value::parse(raw).text();
                if text.is_empty() { pattern.is_blank() } else { pattern.is_match(&text) }
            }
            Rule::Compare(comparison, size) => {
                size.order(&self.kind(&self.read(raw))).is_some_and(|order| comparison.holds(order))
            }
            Rule::Between(low, high) => {
                let read = self.read(raw);
                let cell = self.kind(&read);
                low.order(&cell).is_some_and(Ordering::is_ge)
                    && high.order(&cell).is_some_and(Ordering::is_le)
            }
            Rule::Within(within) => match self.kind(&self.read(raw)) {
                Kind::Date(date) => within.holds(date, now, &self.zone),
                _ => false,
            },
            // Only JSON's own booleans are true or false; text that says so is text, unless the column is a checkbox.
            Rule::Truth(truth) => Value::parse(&self.read(raw)) == Value::Bool(*truth),
            // Elements compare as `equals` does.
            Rule::HasAnyOf(among) => self.elements(raw).iter().any(|element| among.has(&self.kind(element))),
            Rule::HasAllOf(wanted) => {
                let elements = self.elements(raw);
                let cells: Vec<_> = elements.iter().map(|element| self.kind(element)).collect();
                wanted.iter().all(|among| cells.iter().any(|cell| among.has(cell)))
            }
        }
    }

    /// The value as the column's type reads it.
    fn read<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        self.format.as_ref().map_or(Cow::Borrowed(raw), |format| format.comparable(raw))
    }

    /// The elements of a list. A cell that is no array has none, unless the column's type reads options.
    fn elements<'a>(&self, raw: &'a str) -> Vec<Cow<'a, str>> {
        match self.format.as_ref().filter(|format| format.has_options()) {
            Some(format) => format.options_in(raw),
            None => elements(raw).into_iter().map(Cow::Borrowed).collect(),
        }
    }

    /// The value as it compares, its text folded unless case counts.
    fn kind<'a>(&self, raw: &'a str) -> Kind<'a> {
        match Kind::of(raw, &self.zone) {
            Kind::Text(Cow::Borrowed(text)) => Kind::Text(cased(text, self.case_sensitive)),
            Kind::Text(Cow::Owned(text)) => Kind::Text(cased(&text, self.case_sensitive).into_owned().into()),
            other => other,
        }
    }

    /// The value as text, folded unless case counts.
    fn text<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        match Value::parse(raw).text() {
            Cow::Borrowed(text) => cased(text, self.case_sensitive),
            Cow::Owned(text) => cased(&text, self.case_sensitive).into_owned().into(),
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

/// Reads an IANA time zone; UTC where none is named.
pub(super) fn zone(name: Option<&str>) -> Option<TimeZone> {
    name.map_or(Some(TimeZone::UTC), |name| TimeZone::get(name).ok())
}

fn words<T>(value: &Json, parse: impl Fn(&str) -> Option<T>) -> Option<Vec<T>> {
    value.as_array()?.iter().map(|word| parse(word.as_str()?)).collect()
}
