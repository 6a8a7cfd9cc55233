//! What a run is likely to take, judging by cells that ran or by rows that would.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::plan::LeftCells;

/// What a run is likely to take.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Estimate {
    /// Cells that would run.
    pub cells: u64,
    /// Tokens of language models.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// US dollars; null if the price of any column is not known.
    pub usd: Option<DollarRange>,
    /// Credits of providers that report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    pub credits: Option<f64>,
    /// How long it is likely to take, at the rates that providers and columns allow, and by what the last cells of the
    /// columns took. Where none has run, a call is taken to last 3 seconds.
    pub seconds: u64,
    /// Of columns with `processing: "batch"`. Omitted if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BatchPart")]
    pub batch: Option<BatchPart>,
    /// How it was made, column by column.
    pub basis: Vec<ColumnBasis>,
    /// Cells of these rows and columns that would not run, and why. Cells without their input are not among them: they are
    /// skipped as they run. Omitted in estimates of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "LeftCells")]
    pub not_run: Option<LeftCells>,
}

/// What goes through batches. Its time is not in `seconds`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BatchPart {
    pub cells: u64,
    /// US dollars that are likely saved; null if a price is not known.
    #[schemars(range(min = 0))]
    pub saved_usd: Option<f64>,
    /// How long it may take.
    pub seconds_max: u64,
}

/// The time that providers allow themselves for a batch, in seconds.
pub const BATCH_SECONDS_MAX: u64 = 24 * 60 * 60;

impl BatchPart {
    /// Of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            cells: self.cells + other.cells,
            saved_usd: self.saved_usd.zip(other.saved_usd).map(|(one, other)| one + other),
            seconds_max: self.seconds_max.max(other.seconds_max),
        }
    }
}

/// An amount in US dollars that is not certain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DollarRange {
    #[schemars(range(min = 0))]
    pub low: f64,
    #[schemars(range(min = 0))]
    pub likely: f64,
    #[schemars(range(min = 0))]
    pub high: f64,
}

/// How the estimate of one column was made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ColumnBasis {
    #[schemars(length(max = 64))]
    pub column_id: String,
    #[schemars(length(max = 255))]
    pub header: String,
    pub cells: u64,
    pub from: BasisFrom,
    /// How many cells or rows were looked at.
    pub sample: u64,
    /// The model whose price was used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 255))]
    pub model: Option<String>,
    /// US dollars. Omitted if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DollarRange")]
    pub usd: Option<DollarRange>,
    /// Which credential the column lacks. Its cells fail without it, and what they cost with it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_000))]
    pub missing_credential: Option<String>,
    /// All providers of the column are disabled: its cells fail, and nothing is paid. It says what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 1_000))]
    pub disabled: Option<String>,
}

/// `last_cells`: the last cells of this column that ran. `sampled_rows`: some of the rows, and the price of the model or
/// provider. `free`: the column calls nobody who is paid. `unknown`: there is neither, a credential is missing, or the column is
/// disabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BasisFrom {
    LastCells,
    SampledRows,
    Free,
    Unknown,
}

impl DollarRange {
    /// What so many cells cost, if these did. The range covers about 19 cases of 20: cells differ from each other, and
    /// the mean of a small sample is itself uncertain.
    pub fn of_sample(costs: &[f64], cells: u64) -> Option<Self> {
        if costs.is_empty() {
            return None;
        }
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let (count, cells) = (costs.len() as f64, cells as f64);
        let mean = costs.iter().sum::<f64>() / count;
        let deviation = if costs.len() == 1 {
            mean / 2.0
        } else {
            (costs.iter().map(|cost| (cost - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt()
        };
        let spread = (2.0 + 4.0 / count) * deviation * (cells + cells * cells / count).sqrt();
        let least = costs.iter().copied().fold(f64::INFINITY, f64::min) * cells;
        let likely = mean * cells;
        Some(Self { low: (likely - spread).max(least.min(likely)), likely, high: likely + spread })
    }

    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { low: self.low + other.low, likely: self.likely + other.likely, high: self.high + other.high }
    }

    #[must_use]
    pub fn times(self, count: f64) -> Self {
        Self { low: self.low * count, likely: self.likely * count, high: self.high * count }
    }

    /// To a millionth of a dollar.
    #[must_use]
    pub fn rounded(self) -> Self {
        let round = |dollars: f64| (dollars * 1e6).round() / 1e6;
        Self { low: round(self.low), likely: round(self.likely), high: round(self.high) }
    }
}

impl Estimate {
    /// Of both, for runs that are joined.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.cells += other.cells;
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.usd = self.usd.zip(other.usd).map(|(one, other)| one.plus(other).rounded());
        self.credits = match (self.credits, other.credits) {
            (Some(one), Some(other)) => Some(one + other),
            (one, other) => one.or(other),
        };
        self.seconds += other.seconds;
        self.batch = match (self.batch, other.batch) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        self.basis.extend(other.basis);
        self.not_run = self.not_run.zip(other.not_run).map(|(one, other)| one.and(other));
        self
    }

    /// Whether there is nothing to tell of its price: no column that is paid.
    pub fn is_free(&self) -> bool {
        self.basis.iter().all(|basis| basis.from == BasisFrom::Free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_narrows_with_the_sample() {
        let of = |costs: &[f64]| DollarRange::of_sample(costs, 1_000).unwrap().rounded();
        let one = of(&[0.01]);
        assert!((one.likely - 10.0).abs() < 1e-9, "{one:?}");
        assert!(one.low >= 0.0 && one.high > 20.0, "{one:?}");
        let many: Vec<f64> = (0..50).map(|number| 0.008 + 0.004 * f64::from(number % 2)).collect();
        let many = of(&many);
        assert!(many.low > 9.0 && many.high < 11.0 && (many.likely - 10.0).abs() < 1e-9, "{many:?}");
        assert_eq!(of(&[0.01; 10]), DollarRange { low: 10.0, likely: 10.0, high: 10.0 });
        assert_eq!(DollarRange::of_sample(&[], 10), None);
    }

    #[test]
    fn what_is_unknown_in_one_is_unknown_in_both() {
        let usd = Some(DollarRange { low: 1.0, likely: 2.0, high: 3.0 });
        let known = Estimate { cells: 1, usd, credits: Some(1.0), ..Estimate::default() };
        let unknown = Estimate { cells: 2, usd: None, ..Estimate::default() };
        let both = known.clone().and(unknown);
        assert_eq!((both.cells, both.usd, both.credits), (3, None, Some(1.0)));
        let batch = |cells, saved_usd| Some(BatchPart { cells, saved_usd, seconds_max: BATCH_SECONDS_MAX });
        let of = |batch| Estimate { batch, ..Estimate::default() };
        assert_eq!(of(batch(2, Some(1.0))).and(of(batch(3, Some(2.0)))).batch, batch(5, Some(3.0)));
        assert_eq!(of(batch(2, None)).and(of(batch(3, Some(2.0)))).batch, batch(5, None));
        assert_eq!(of(batch(2, None)).and(of(None)).batch, batch(2, None));
        let sum = DollarRange { low: 2.0, likely: 4.0, high: 6.0 };
        assert_eq!(known.clone().and(known).usd, Some(sum));
    }
}
