//! What several columns take together.

use std::collections::BTreeMap;

use rowmill_model::column::RateLimit;
use rowmill_model::estimate::{BATCH_SECONDS_MAX, BatchPart, ColumnBasis, DollarRange, Estimate};

use crate::forecaster::Forecast;

/// What one column's cells take together.
pub(crate) struct ColumnEstimate {
    pub(crate) basis: ColumnBasis,
    pub(crate) input_tokens: f64,
    pub(crate) output_tokens: f64,
    pub(crate) credits: Option<f64>,
    /// Of one cell.
    pub(crate) milliseconds: f64,
    pub(crate) is_batch: bool,
    pub(crate) forecast: Forecast,
}

/// Adds up columns. Those that are limited by the same share it.
pub(crate) fn sum(columns: Vec<ColumnEstimate>) -> Estimate {
    let mut estimate = Estimate { usd: Some(DollarRange::default()), ..Estimate::default() };
    let (mut input, mut output) = (0.0, 0.0);
    let (mut by_limit, mut busy_seconds) = (BTreeMap::<String, f64>::new(), 0.0_f64);
    for column in columns {
        let ColumnEstimate {
            mut basis,
            input_tokens,
            output_tokens,
            credits,
            milliseconds,
            is_batch,
            forecast,
        } = column;
        basis.usd = basis.usd.map(DollarRange::rounded);
        estimate.cells += basis.cells;
        (input, output) = (input + input_tokens, output + output_tokens);
        estimate.usd = estimate.usd.zip(basis.usd).map(|(sum, usd)| sum.plus(usd).rounded());
        if let Some(credits) = credits {
            estimate.credits = Some(estimate.credits.unwrap_or_default() + credits);
        }
        if is_batch {
            // What it costs is half of what it would cost otherwise.
            let saved_usd = basis.usd.map(|usd| usd.likely);
            let part = BatchPart { cells: basis.cells, saved_usd, seconds_max: BATCH_SECONDS_MAX };
            estimate.batch = Some(estimate.batch.map_or(part, |batch| batch.and(part)));
            estimate.basis.push(basis);
            continue;
        }
        for limit in &forecast.limits {
            let a_second = |rate: &RateLimit| f64::from(rate.requests) / f64::from(rate.per_seconds.max(1));
            let slowest = limit.rates.iter().map(a_second).fold(f64::INFINITY, f64::min);
            let calls = count(basis.cells) * limit.calls;
            *by_limit.entry(limit.name.clone()).or_default() += calls / slowest.max(1e-9);
        }
        // However many run at once, the last one takes its time.
        let at_once = forecast.at_once.max(1) as u64;
        busy_seconds += milliseconds / 1e3 * (count(basis.cells) / count(at_once)).max(1.0);
        estimate.basis.push(basis);
    }
    estimate.input_tokens = whole(input);
    estimate.output_tokens = whole(output);
    estimate.seconds = whole(by_limit.into_values().fold(busy_seconds, f64::max).ceil());
    estimate
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(crate) fn count(number: u64) -> f64 {
    number as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

#[cfg(test)]
mod tests {
    use rowmill_model::estimate::BasisFrom;

    use super::*;

    fn column(cells: u64, usd: Option<DollarRange>, rate: Option<(u32, u32)>) -> ColumnEstimate {
        let limits = rate.map(|(requests, per_seconds)| crate::forecaster::ForecastLimit {
            name: "one".to_owned(),
            rates: vec![RateLimit { requests, per_seconds }],
            calls: 1.0,
        });
        let from = if usd.is_some() { BasisFrom::LastCells } else { BasisFrom::Unknown };
        let header = String::new();
        let basis = ColumnBasis {
            column_id: String::new(),
            header,
            cells,
            from,
            sample: 1,
            model: None,
            usd,
            missing_credential: None,
            disabled: None,
        };
        let forecast = Forecast { limits: limits.into_iter().collect(), at_once: 10, ..Forecast::default() };
        ColumnEstimate {
            basis,
            input_tokens: 1.0,
            output_tokens: 2.0,
            credits: None,
            milliseconds: 1_000.0,
            is_batch: false,
            forecast,
        }
    }

    #[test]
    fn columns_are_added_up_and_share_what_limits_them() {
        let usd = Some(DollarRange { low: 1.0, likely: 2.0, high: 3.0 });
        let both = sum(vec![column(60, usd, Some((30, 60))), column(40, usd, Some((30, 60)))]);
        assert_eq!((both.cells, both.usd.unwrap().likely), (100, 4.0));
        assert_eq!(both.seconds, 200, "a hundred calls at one every two seconds");
        assert_eq!(sum(vec![column(100, usd, None)]).seconds, 10, "ten at once, a second each");
        let slow = ColumnEstimate { milliseconds: 7_000.0, ..column(3, usd, None) };
        assert_eq!(sum(vec![slow]).seconds, 7, "all at once, but each takes its time");
        assert_eq!(
            sum(vec![column(1, usd, None), column(1, None, None)]).usd,
            None,
            "never less than it costs"
        );
        let in_batches = ColumnEstimate { is_batch: true, ..column(40, usd, Some((30, 60))) };
        let mixed = sum(vec![column(60, usd, Some((30, 60))), in_batches]);
        let part = BatchPart { cells: 40, saved_usd: Some(2.0), seconds_max: BATCH_SECONDS_MAX };
        assert_eq!((mixed.cells, mixed.seconds, mixed.batch), (100, 120, Some(part)));
        let nothing = sum(Vec::new());
        assert_eq!((nothing.cells, nothing.usd.unwrap().high), (0, 0.0));
    }
}
