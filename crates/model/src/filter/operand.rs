//! What cells are compared with.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value as Json;

use crate::format::Format;
use crate::value::{Date, Kind, Number, Value, canonical, fold};

/// Values that a cell may equal, sorted by kind so that a thousand cost hardly more than one.
///
/// All empties are equal, so `equals null` and `equals ""` are `isEmpty`. A number in text equals that
/// number, two dates are equal as instants (a date without a time equals its whole day), text without regard to case unless it counts, arrays and
/// objects as JSON. Values of different kinds are never equal.
#[derive(Debug, Clone, Default)]
pub(super) struct Among {
    empty: bool,
    truths: Vec<bool>,
    numbers: BTreeSet<Number<'static>>,
    instants: BTreeSet<Timestamp>,
    /// Whole days: the first instant, and the first of the next day.
    days: BTreeMap<Timestamp, Timestamp>,
    texts: HashSet<String>,
    /// Arrays and objects, in canonical form.
    json: HashSet<Vec<u8>>,
    /// What they take, about.
    bytes: usize,
}

/// What an operand takes in a set or map beside its text.
const OPERAND_BYTES: usize = 128;

impl Among {
    pub(super) fn new(values: &[Json], case_sensitive: bool, zone: &TimeZone) -> Self {
        let mut among = Self::default();
        for value in values {
            let raw = value.to_string();
            among.bytes += raw.len() + OPERAND_BYTES;
            match Kind::of(&raw, zone) {
                Kind::Empty => among.empty = true,
                Kind::Bool(truth) => among.truths.push(truth),
                Kind::Number(number) => _ = among.numbers.insert(number.into_owned()),
                Kind::Date(date) if date.date_only => {
                    among.days.insert(date.instant, next_day(date, zone));
                }
                Kind::Date(date) => _ = among.instants.insert(date.instant),
                Kind::Text(text) => _ = among.texts.insert(cased(&text, case_sensitive).into_owned()),
                Kind::Array(raw) | Kind::Object(raw) => _ = among.json.insert(canonical(raw)),
            }
        }
        among
    }

    /// What they take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
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
            Kind::Date(date) => {
                let day = self.days.range(..=date.instant).next_back();
                self.instants.contains(&date.instant) || day.is_some_and(|(_, end)| date.instant < *end)
            }
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
    Instant(Timestamp),
    /// A date without a time: that whole day, up to the first instant of the next.
    Day(Timestamp, Timestamp),
}

impl Size {
    /// Reads what cells are compared with, as the column's type reads them, or else as it stands.
    pub(super) fn read(value: &Json, format: Option<&Format>, zone: &TimeZone) -> Option<Self> {
        let typed = format.and_then(|format| Self::plain(&as_read(format, value), zone));
        typed.or_else(|| Self::plain(value, zone))
    }

    /// The value as it is stored: what only the column's type reads is written as what it is read as, so that the filter
    /// still says the same when the type changes.
    pub(super) fn stored(value: &Json, format: Option<&Format>, zone: &TimeZone) -> Json {
        match format {
            Some(format) if Self::plain(value, zone).is_none() => as_read(format, value),
            _ => value.clone(),
        }
    }

    fn plain(value: &Json, zone: &TimeZone) -> Option<Self> {
        match Kind::of(&value.to_string(), zone) {
            Kind::Number(number) => Some(Self::Number(number.into_owned())),
            Kind::Date(date) if date.date_only => Some(Self::Day(date.instant, next_day(date, zone))),
            Kind::Date(date) => Some(Self::Instant(date.instant)),
            _ => None,
        }
    }

    /// What it takes besides itself.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Number(number) => number.bytes(),
            Self::Instant(_) | Self::Day(..) => 0,
        }
    }

    /// What it is a size of.
    pub(super) fn measure(&self) -> Measure {
        match self {
            Self::Number(_) => Measure::Number,
            Self::Instant(_) | Self::Day(..) => Measure::Instant,
        }
    }

    /// Where it begins. What is less than it is less than this.
    pub(super) fn low(&self) -> f64 {
        match self {
            Self::Number(number) => number.nearest(),
            Self::Instant(instant) | Self::Day(instant, _) => nearest_instant(*instant),
        }
    }

    /// Where it ends. What is greater than it is not less than this.
    pub(super) fn high(&self) -> f64 {
        match self {
            Self::Day(_, end) => nearest_instant(*end),
            Self::Number(_) | Self::Instant(_) => self.low(),
        }
    }

    pub(super) fn is_date(&self) -> bool {
        self.measure() == Measure::Instant
    }

    /// How a cell stands to this: numbers to numbers, dates to dates by instant. A cell that is a date without a
    /// time is its day's first instant; an operand without one equals every instant of its day. A cell of another
    /// kind stands in no order to it.
    pub(super) fn order(&self, cell: &Kind<'_>) -> Option<Ordering> {
        match (self, cell) {
            (Self::Number(size), Kind::Number(cell)) => Some(cell.cmp(size)),
            (Self::Instant(size), Kind::Date(cell)) => Some(cell.instant.cmp(size)),
            (Self::Day(start, end), Kind::Date(cell)) => Some(if cell.instant < *start {
                Ordering::Less
            } else if cell.instant < *end {
                Ordering::Equal
            } else {
                Ordering::Greater
            }),
            _ => None,
        }
    }
}

/// What a cell is compared with, as the column's type reads it.
pub(super) fn as_read(format: &Format, value: &Json) -> Json {
    let raw = value.to_string();
    let read = format.comparable(&raw);
    match Value::parse(&read) {
        // As text it keeps all its digits, and compares as the number it is.
        Value::Number(digits) => Json::from(digits),
        _ => serde_json::from_str(&read).unwrap_or_else(|_| value.clone()),
    }
}

/// What the elements of a list are compared with, as the column's type reads each of them.
pub(super) fn as_element(format: &Format, value: &Json) -> Json {
    let read = serde_json::from_str(&format.as_option(&value.to_string()));
    read.unwrap_or_else(|_| value.clone())
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

/// The first instant of the day after a date.
fn next_day(date: Date, zone: &TimeZone) -> Timestamp {
    let next = date.day.tomorrow().and_then(|day| day.to_zoned(zone.clone()));
    next.map_or(Timestamp::MAX, |next| next.timestamp())
}

#[expect(clippy::cast_precision_loss, reason = "rounded")]
fn nearest_instant(instant: Timestamp) -> f64 {
    instant.as_nanosecond() as f64
}

pub(super) fn cased(text: &str, case_sensitive: bool) -> Cow<'_, str> {
    if case_sensitive { Cow::Borrowed(text) } else { fold(text) }
}
