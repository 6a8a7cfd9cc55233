//! Retries with exponential backoff and jitter; a provider's `Retry-After` is a minimum.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::Spent;
use rowmill_store::CellResult;

use crate::cell_runner::CallFailure;
use crate::config::Config;

/// What is to be written of a try that failed. `attempts` counts the failed tries before it.
pub(crate) fn decide(
    config: &Config,
    call_failure: CallFailure,
    attempts: u32,
    attempts_max: u32,
    now: Timestamp,
    random: &mut fastrand::Rng,
) -> CellResult {
    let CallFailure { error, is_transient, retry_after, meta } = call_failure;
    if !is_transient || attempts.saturating_add(1) >= attempts_max {
        return CellResult::Failed(error, meta);
    }
    let wait = wait(config, attempts, retry_after, random);
    let at = now.saturating_add(wait).unwrap_or(Timestamp::MAX);
    CellResult::Retry { at_ms: at.as_millisecond(), error, spent: Spent::of(&meta) }
}

/// Exponential with full jitter, so that cells which failed together do not come back together. What the
/// other side asks for is a minimum, and the jitter is added to it.
fn wait(
    config: &Config,
    attempts: u32,
    retry_after: Option<Duration>,
    random: &mut fastrand::Rng,
) -> Duration {
    let doubled = config.retry_base.saturating_mul(1 << attempts.min(20)).min(config.retry_max);
    let jitter = doubled.mul_f64(random.f64());
    match retry_after {
        Some(asked) => asked.min(config.retry_after_max) + jitter.min(config.retry_base),
        None => jitter,
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::cell::Meta;
    use rowmill_model::{CellError, ErrorCode};

    use super::*;

    fn call_failure(is_transient: bool, retry_after: Option<u64>) -> CallFailure {
        let error = CellError { code: ErrorCode::ProviderError, message: String::new() };
        let retry_after = retry_after.map(Duration::from_secs);
        CallFailure { error, is_transient, retry_after, meta: Meta::new() }
    }

    /// The wait before the next try, in seconds; none if there is no next try.
    fn next(call_failure: CallFailure, attempts: u32, random: &mut fastrand::Rng) -> Option<f64> {
        let now = Timestamp::from_second(1_000).unwrap();
        match decide(&Config::default(), call_failure, attempts, 5, now, random) {
            CellResult::Retry { at_ms: at, .. } => {
                Some(f64::from(i32::try_from(at - 1_000_000).unwrap()) / 1_000.0)
            }
            _ => None,
        }
    }

    #[test]
    fn waits_grow_to_their_bound_and_are_spread() {
        let random = &mut fastrand::Rng::with_seed(1);
        let config = Config::default();
        for (attempts, bound) in [(0, 1.0), (1, 2.0), (5, 32.0), (6, 60.0), (30, 60.0)] {
            let waits: Vec<f64> =
                (0..500).map(|_| wait(&config, attempts, None, random).as_secs_f64()).collect();
            assert!(waits.iter().all(|wait| *wait <= bound), "{attempts}");
            let mean = waits.iter().sum::<f64>() / 500.0;
            assert!((mean / bound - 0.5).abs() < 0.1, "{attempts}: {mean}");
        }
    }

    #[test]
    fn what_is_asked_for_is_a_minimum_and_bounded() {
        let random = &mut fastrand::Rng::with_seed(1);
        for (asked, least) in [(0, 0.0), (7, 7.0), (3_600, 3_600.0), (1_000_000, 3_600.0)] {
            for _ in 0..100 {
                let waited = next(call_failure(true, Some(asked)), 3, random).unwrap();
                assert!((least..=least + 1.0).contains(&waited), "{asked}: {waited}");
            }
        }
    }

    #[test]
    fn tries_come_to_an_end() {
        let random = &mut fastrand::Rng::with_seed(1);
        assert!(next(call_failure(true, None), 3, random).is_some());
        assert!(next(call_failure(true, None), 4, random).is_none());
        assert!(next(call_failure(true, Some(1)), 4, random).is_none());
        assert!(next(call_failure(false, Some(1)), 0, random).is_none());
    }
}
