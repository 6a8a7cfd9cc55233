//! What cells are compared with.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value as Json;

use crate::value::{Kind, Number, canonical, fold};

/// Values that a cell may equal, sorted by kind so that a thousand cost hardly more than one.
///
/// All empties are equal, so `equals null` and `equals ""` are `isEmpty`. A number in text equals that
/// number, two dates are equal as instants, text without regard to case unless it counts, arrays and
/// objects as JSON. Values of different kinds are never equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Among {
    empty: bool,
    truths: Vec<bool>,
    numbers: BTreeSet<Number<'static>>,
    instants: BTreeSet<Timestamp>,
    texts: HashSet<String>,
    /// Arrays and objects, in canonical form.
    json: HashSet<Vec<u8>>,
}

impl Among {
    pub(super) fn new(values: &[Json], case_sensitive: bool, zone: &TimeZone) -> Self {
        let mut among = Self::default();
        for value in values {
            let raw = value.to_string();
            match Kind::of(&raw, zone) {
                Kind::Empty => among.empty = true,
                Kind::Bool(truth) => among.truths.push(truth),
                Kind::Number(number) => _ = among.numbers.insert(number.into_owned()),
                Kind::Date(date) => _ = among.instants.insert(date.instant),
                Kind::Text(text) => _ = among.texts.insert(cased(&text, case_sensitive).into_owned()),
                Kind::Array(raw) | Kind::Object(raw) => _ = among.json.insert(canonical(raw)),
            }
        }
        among
    }

    /// The texts among them.
    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(String::as_str)
    }

    /// Whether a cell, its text cased as these are, equals one of them.
    pub(super) fn has(&self, cell: &Kind<'_>) -> bool {
        match cell {
            Kind::Empty => self.empty,
            Kind::Bool(truth) => self.truths.contains(truth),
            Kind::Number(number) => self.numbers.contains(number),
            Kind::Date(date) => self.instants.contains(&date.instant),
            Kind::Text(text) => self.texts.contains(&**text),
            Kind::Array(raw) | Kind::Object(raw) => {
                !self.json.is_empty() && self.json.contains(&canonical(raw))
            }
        }
    }
}

/// Something a cell may be less or greater than: a number, text that reads as one, or an ISO 8601 date.
#[derive(Debug, Clone)]
pub(super) enum Size {
    Number(Number<'static>),
    Date(Timestamp),
}

impl Size {
    pub(super) fn read(value: &Json, zone: &TimeZone) -> Option<Self> {
        match Kind::of(&value.to_string(), zone) {
            Kind::Number(number) => Some(Self::Number(number.into_owned())),
            Kind::Date(date) => Some(Self::Date(date.instant)),
            _ => None,
        }
    }

    /// What it is a size of, and how large.
    pub(super) fn measured(&self) -> (Measure, f64) {
        match self {
            Self::Number(number) => (Measure::Number, number.nearest()),
            Self::Date(instant) => (Measure::Instant, nearest_instant(*instant)),
        }
    }

    pub(super) fn is_date(&self) -> bool {
        matches!(self, Self::Date(_))
    }

    /// How a cell stands to this: numbers to numbers, dates to dates by instant. A date without a time is
    /// its day's first instant. A cell of another kind stands in no order to it.
    pub(super) fn order(&self, cell: &Kind<'_>) -> Option<Ordering> {
        match (self, cell) {
            (Self::Number(size), Kind::Number(cell)) => Some(cell.cmp(size)),
            (Self::Date(size), Kind::Date(cell)) => Some(cell.instant.cmp(size)),
            _ => None,
        }
    }
}

/// Something values are large or small in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Number,
    /// Dates, those without an offset taken in UTC.
    Instant,
}

impl Measure {
    /// How large a raw value is, rounded: what is less than another never comes out greater. Not a number if it
    /// has no such size.
    pub fn of(self, raw: &str) -> f64 {
        match (self, Kind::of(raw, &TimeZone::UTC)) {
            (Self::Number, Kind::Number(number)) => number.nearest(),
            (Self::Instant, Kind::Date(date)) => nearest_instant(date.instant),
            _ => f64::NAN,
        }
    }
}

/// A filter on sizes, as far as rounded ones tell: what lies between the bounds is right, what lies outside is
/// not, and what is as large as one of them must be asked.
#[derive(Debug, Clone, Copy)]
pub struct SizeTest {
    pub measure: Measure,
    pub(super) low: f64,
    pub(super) high: f64,
}

impl SizeTest {
    /// Whether a value of this size is right; `None` if it must be asked.
    pub fn holds(&self, size: f64) -> Option<bool> {
        match (size.partial_cmp(&self.low), size.partial_cmp(&self.high)) {
            (Some(Ordering::Equal), _) | (_, Some(Ordering::Equal)) => None,
            (low, high) => Some(low == Some(Ordering::Greater) && high == Some(Ordering::Less)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "rounded")]
fn nearest_instant(instant: Timestamp) -> f64 {
    instant.as_nanosecond() as f64
}

pub(super) fn cased(text: &str, case_sensitive: bool) -> Cow<'_, str> {
    if case_sensitive { Cow::Borrowed(text) } else { fold(text) }
}
