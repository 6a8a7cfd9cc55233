//! The summary of a column: how many of its cells are filled, and what numbers and dates come to.

use std::sync::Arc;

use jiff::tz::TimeZone;
use xxhash_rust::xxh3::xxh3_64;

use crate::column::Column;
use crate::filter::Measure;
use crate::format::{Format, FormatType, TypedOrder};
use crate::row::{Source, Sources};
use crate::table::Table;
use crate::value::{Kind, MatchCase, Value, match_key};

/// What a summary reads of a column.
#[derive(Debug, Clone)]
pub struct SummarySource {
    /// Where the values are. Those of a column with a type are read by it: `"$1,200"` is 1200.
    pub source: Source,
    /// What is measured; nothing where a sum would mean nothing, such as in a column of phone numbers.
    pub measure: Option<Measure>,
    /// The type by which values are the same, where that is not plain from how `source` reads them.
    pub format: Option<Arc<Format>>,
}

impl SummarySource {
    pub fn compile(table: &Table, column: &Column) -> Self {
        Self::compile_with(&mut Sources::of(table), column)
    }

    /// The same, for whoever compiles more of the table.
    pub fn compile_with(sources: &mut Sources<'_>, column: &Column) -> Self {
        let source = sources.source(column);
        let Some(format) = sources.format(column) else {
            return Self { source, measure: Some(Measure::Number), format: None };
        };
        let measure = match format.kind {
            FormatType::Number | FormatType::Currency | FormatType::Percent | FormatType::Rating => {
                Measure::Number
            }
            FormatType::Date | FormatType::DateTime => Measure::Instant,
            _ => return Self { source, measure: None, format: Some(format) },
        };
        let read = source.sorted_as(TypedOrder::place(&format));
        // One moment can be written in many ways, and stays so when it is read.
        let format = (measure == Measure::Instant).then_some(format);
        Self { source: read, measure: Some(measure), format }
    }
}

/// What the cells of a column come to. An empty cell is not filled.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ColumnSummary {
    pub filled: u64,
    /// How many different values there are; `None` if there were too many to count.
    pub unique: Option<u64>,
    /// How many cells were measured.
    pub measured: u64,
    sum: CompensatedSum,
    /// The sizes of the smallest and the largest value, and their JSON.
    bounds: Option<(Bound, Bound)>,
}

type Bound = (f64, Box<str>);

impl ColumnSummary {
    /// Adds a value that `count` cells have; `size` is not a number if it cannot be measured.
    pub fn add(&mut self, raw: &str, size: f64, count: u64) {
        if raw.is_empty() || Value::parse(raw).is_empty() {
            return;
        }
        self.filled += count;
        if size.is_nan() {
            return;
        }
        self.measured += count;
        #[expect(clippy::cast_precision_loss, reason = "a sum of floats is rounded anyway")]
        self.sum.add(size * count as f64);
        match &mut self.bounds {
            None => self.bounds = Some(((size, raw.into()), (size, raw.into()))),
            Some((least, most)) => {
                if size < least.0 {
                    *least = (size, raw.into());
                }
                if size > most.0 {
                    *most = (size, raw.into());
                }
            }
        }
    }

    /// Adds what other cells of the column come to. How many values are different is not known then.
    pub fn merge(&mut self, other: Self) {
        let Self { filled, unique: _, measured, sum, bounds } = other;
        self.filled += filled;
        self.unique = None;
        self.measured += measured;
        self.sum.add(sum.total());
        let Some((least, most)) = bounds else { return };
        self.bounds = Some(match self.bounds.take() {
            None => (least, most),
            Some((old_least, old_most)) => (
                if least.0 < old_least.0 { least } else { old_least },
                if most.0 > old_most.0 { most } else { old_most },
            ),
        });
    }

    #[must_use]
    pub fn with_unique(self, unique: Option<u64>) -> Self {
        Self { unique, ..self }
    }

    /// The sum of the numbers; `None` without any, or if it is too large.
    pub fn sum(&self) -> Option<f64> {
        (self.measured > 0).then(|| self.sum.total()).filter(|sum| sum.is_finite()).map(readable_sum)
    }

    pub fn average(&self) -> Option<f64> {
        #[expect(clippy::cast_precision_loss, reason = "an average is rounded anyway")]
        self.sum().map(|sum| sum / self.measured as f64)
    }

    /// The sizes of the smallest and the largest value.
    pub fn sizes(&self) -> Option<(f64, f64)> {
        self.bounds.as_ref().map(|(least, most)| (least.0, most.0))
    }

    /// The smallest and the largest value, as text.
    pub fn texts(&self) -> Option<(String, String)> {
        let text = |(_, raw): &Bound| Value::parse(raw).text().trim().to_owned();
        self.bounds.as_ref().map(|(least, most)| (text(least), text(most)))
    }
}

/// A sum to be read: rounded to 15 digits, because those after them are what floats add (24340.160000000003). A whole
/// number stays as it is.
pub fn readable_sum(sum: f64) -> f64 {
    if sum.fract() == 0.0 { sum } else { format!("{sum:.14e}").parse().unwrap_or(sum) }
}

/// A hash under which the same values meet, to count different ones; `None` for an empty value.
fn distinct_key(raw: &str) -> Option<u64> {
    match Value::parse(raw) {
        value if value.is_empty() => None,
        // Most text begins with a letter, and is no number.
        Value::Text(text) if text.starts_with(|first: char| first.is_alphabetic()) => {
            Some(xxh3_64(text.as_bytes()))
        }
        _ => match_key(raw, MatchCase::Counts),
    }
}

/// The same for values of a column with a type: those that a filter takes for equal meet.
pub fn typed_key(raw: &str, format: Option<&Format>) -> Option<u64> {
    let Some(format) = format else { return distinct_key(raw) };
    let read = format.comparable(raw);
    match format.kind {
        FormatType::Date | FormatType::DateTime => instant_key(&read).or_else(|| distinct_key(&read)),
        _ => distinct_key(&read),
    }
}

/// A hash of the moment that a date names, as `equals` compares it; `None` if it is no date.
fn instant_key(read: &str) -> Option<u64> {
    let Kind::Date(date) = Kind::of(read, &TimeZone::UTC) else { return None };
    Some(xxh3_64(&date.instant.as_nanosecond().to_be_bytes()))
}

/// Neumaier's sum: what rounding takes away from each addition is added at the end.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct CompensatedSum {
    sum: f64,
    lost: f64,
}

impl CompensatedSum {
    fn add(&mut self, number: f64) {
        let sum = self.sum + number;
        self.lost += if self.sum.abs() >= number.abs() {
            (self.sum - sum) + number
        } else {
            (number - sum) + self.sum
        };
        self.sum = sum;
    }

    fn total(self) -> f64 {
        if self.sum.is_finite() { self.sum + self.lost } else { self.sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ColumnId;

    fn summary(format: Option<FormatType>, raws: &[&str]) -> ColumnSummary {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_a"), "a");
        let column = table.columns.last_mut().unwrap();
        column.format = format.map(Format::new);
        let column = column.clone();
        let SummarySource { source, measure, format: _ } = SummarySource::compile(&table, &column);
        let mut summary = ColumnSummary::default();
        for raw in raws {
            let read = source.typed().map_or((*raw).into(), |typed| typed.of(raw));
            let size = measure.map_or(f64::NAN, |measure| measure.of(&read));
            summary.add(&read, size, 1);
        }
        summary
    }

    #[test]
    fn numbers_are_summed_as_their_type_reads_them() {
        fn check(format: Option<FormatType>, raws: &[&str], filled: u64, numbers: Option<(f64, f64, f64)>) {
            let summary = summary(format, raws);
            let found = summary.sum().zip(summary.sizes()).map(|(sum, (min, max))| (sum, min, max));
            assert_eq!((summary.filled, found), (filled, numbers), "{raws:?}");
        }
        check(None, &["1", "\"2.5\"", "null", "\"\"", "\"x\"", "[]"], 3, Some((3.5, 1.0, 2.5)));
        check(Some(FormatType::Currency), &["\"$1,200\"", "50", "\"?\""], 3, Some((1250.0, 50.0, 1200.0)));
        check(Some(FormatType::Text), &["\"10115\"", "2"], 2, None);
        check(Some(FormatType::Phone), &["\"+1 415 555 0100\""], 1, None);
        check(None, &["\"a\"", ""], 1, None);
    }

    #[test]
    fn dates_have_a_first_and_a_last_one() {
        let summary = summary(Some(FormatType::Date), &["\"2024-05-01\"", "\"2023-01-31\"", "\"soon\""]);
        assert_eq!(summary.texts(), Some(("2023-01-31".to_owned(), "2024-05-01".to_owned())));
        assert_eq!((summary.filled, summary.measured), (3, 2));
    }

    #[test]
    fn parts_come_to_what_the_whole_comes_to() {
        let raws = ["1e16", "1", "-1e16", "2", "null", "7"];
        let mut parts = summary(None, &raws[..3]);
        parts.merge(summary(None, &raws[3..]));
        let whole = summary(None, &raws);
        assert_eq!((parts.sum(), parts.sizes()), (Some(10.0), Some((-1e16, 1e16))));
        assert_eq!((whole.sum(), whole.average()), (Some(10.0), Some(2.0)));
    }

    #[test]
    fn sums_are_told_without_the_noise_of_floats() {
        fn check(sum: f64, told: f64) {
            assert_eq!(readable_sum(sum).to_string(), told.to_string());
            assert_eq!(readable_sum(-sum).to_string(), (-told).to_string());
        }
        check(24_340.160_000_000_003, 24_340.16);
        check(2.999_999_999_999_999_6, 3.0);
        check(0.1 + 0.2, 0.3);
        check(1.25e-9, 1.25e-9);
        check(9_007_199_254_740_991.0, 9_007_199_254_740_991.0);
        check(0.0, 0.0);
        check(f64::MAX, f64::MAX);
        check(f64::INFINITY, f64::INFINITY);
        assert_eq!(summary(None, &["0.1", "0.2"]).sum(), Some(0.3));
    }

    #[test]
    fn the_same_values_meet() {
        fn check(a: &str, b: &str, are_same: bool) {
            assert_eq!(distinct_key(a) == distinct_key(b), are_same, "{a} and {b}");
        }
        check("\"Ada\"", "\"\\u0041da\"", true);
        check("1", "\"1\"", true);
        check("1.0", "1", true);
        check("\"Ada\"", "\"ada\"", false);
        let option = Format::new(FormatType::Checkbox);
        assert_eq!(typed_key("\"Yes\"", Some(&option)), typed_key("true", Some(&option)));
        assert_eq!((distinct_key("\"\""), distinct_key(""), distinct_key("[ ]")), (None, None, None));
    }

    #[test]
    fn the_same_moment_is_one_date_however_it_is_written() {
        fn check(a: &str, b: &str, are_same: bool) {
            for kind in [FormatType::Date, FormatType::DateTime] {
                let format = Format::new(kind);
                let (key, other) = (typed_key(a, Some(&format)), typed_key(b, Some(&format)));
                assert!(key.is_some() && other.is_some(), "{a} and {b}");
                assert_eq!(key == other, are_same, "{a} and {b}");
            }
        }
        let ten = "\"2024-01-31T10:00:00Z\"";
        check(ten, "\"2024-01-31T12:00:00+02:00\"", true);
        check(ten, "\" 2024-01-31 10:00 \"", true);
        check(ten, "\"31.01.2024 10:00\"", true);
        check(ten, "\"2024-01-31T10:00:00.001Z\"", false);
        check(ten, "\"2024-01-31T10:00:00+02:00\"", false);
        check("\"2024-01-31\"", "\"January 31, 2024\"", true);
        check("\"2024-01-31\"", "\"2024-01-30\"", false);
        // What is no date is itself.
        check("\"soon\"", "\"Soon\"", false);
        check("5", "\"5\"", true);
    }
}
