//! What a run is likely to take, judging by cells that ran or by rows that would.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
    /// How long it is likely to take, at the rates that providers and columns allow.
    pub seconds: u64,
    /// How it was made, column by column.
    pub basis: Vec<ColumnBasis>,
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
}

/// `last_cells`: the last cells of this column that ran. `sampled_rows`: some of the rows, and the price of the model or
/// provider. `free`: the column calls nobody who is paid. `unknown`: there is neither.
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
        self.basis.extend(other.basis);
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
        assert!((one.likely - 10.0).abs() < 1e-9 && one.low >= 0.0 && one.high > 20.0, "{one:?}");
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
        let twice = Some(DollarRange { low: 2.0, likely: 4.0, high: 6.0 });
        assert_eq!(known.clone().and(known).usd, twice);
    }
}
