//! Retries with exponential backoff and jitter; a provider's `Retry-After` is a minimum.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, ErrorCode};
use rowmill_store::CellResult;

use crate::cell_runner::{CallFailure, Cause};
use crate::config::Config;

/// What came before an outcome.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tries {
    /// Those that failed.
    pub(crate) attempts: u32,
    pub(crate) attempts_max: u32,
    /// When the cell first failed or was put off in this run, or else began.
    pub(crate) since: Timestamp,
}

/// What is to be written of a try that failed.
pub(crate) fn decide(
    config: &Config,
    call_failure: CallFailure,
    tries: &Tries,
    now: Timestamp,
    random: &mut fastrand::Rng,
) -> CellResult {
    let CallFailure { error, is_transient, retry_after, is_unreachable, meta } = call_failure;
    let Tries { attempts, attempts_max, since } = *tries;
    let attempts_max =
        if is_unreachable { attempts_max.min(config.unreachable_attempts_max) } else { attempts_max };
    if !is_transient || attempts.saturating_add(1) >= attempts_max {
        return CellResult::Failed(error, meta);
    }
    let wait = wait(config, attempts, retry_after, random);
    let at = after(now, wait);
    if is_unreachable && at > after(since, config.unreachable_max) {
        return CellResult::Failed(error, meta);
    }
    CellResult::Retry { at_ms: at.as_millisecond(), error, meta }
}

/// What is to be written of a cell that meets a provider at rest: it waits, but not for ever. Its time over,
/// it ends with what the provider rests for, and nobody is called for it. `meta` says what was paid before.
pub(crate) fn put_off(
    config: &Config,
    at: Timestamp,
    (cause, meta): (Option<Cause>, Meta),
    tries: &Tries,
    now: Timestamp,
) -> CellResult {
    // Behind the moment, which may be between two milliseconds.
    let later = |at: Timestamp, error: Option<CellError>, meta: Meta| {
        let at_ms = at.as_millisecond().saturating_add(1);
        CellResult::Later { at_ms, error, ends_at_ms: None, meta }
    };
    let Some(Cause { error, is_unreachable }) = cause else { return later(at, None, meta) };
    let wait_max = match error.code {
        _ if is_unreachable => config.unreachable_max,
        // Whoever says when to come back is believed.
        ErrorCode::RateLimited => return later(at, Some(error), meta),
        _ => config.cell_deadline,
    };
    let until = after(tries.since, wait_max);
    if now >= until {
        return CellResult::Failed(error, meta);
    }
    later(at.min(until), Some(error), meta)
}

fn after(time: Timestamp, wait: Duration) -> Timestamp {
    time.saturating_add(wait).unwrap_or(Timestamp::MAX)
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
    use super::*;

    fn call_failure(is_transient: bool, retry_after: Option<u64>) -> CallFailure {
        let error = CellError { code: ErrorCode::ProviderError, message: String::new() };
        let retry_after = retry_after.map(Duration::from_secs);
        CallFailure { error, is_transient, retry_after, is_unreachable: false, meta: Meta::new() }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000 + seconds).unwrap()
    }

    /// The wait before the next try, in seconds; none if there is no next try.
    fn next(call_failure: CallFailure, attempts: u32, random: &mut fastrand::Rng) -> Option<f64> {
        let now = at(0);
        let tries = Tries { attempts, attempts_max: 5, since: now };
        match decide(&Config::default(), call_failure, &tries, now, random) {
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

    #[test]
    fn who_is_not_there_is_tried_three_times_within_half_a_minute() {
        let random = &mut fastrand::Rng::with_seed(1);
        let dead = || CallFailure { is_unreachable: true, ..call_failure(true, None) };
        for (attempts, since, ends) in [(0, 0, false), (1, 0, false), (2, 0, true), (0, -30, true)] {
            let tries = Tries { attempts, attempts_max: 5, since: at(since) };
            let result = decide(&Config::default(), dead(), &tries, at(0), random);
            assert_eq!(matches!(result, CellResult::Failed(..)), ends, "{attempts} {since}");
        }
    }

    /// How many seconds a cell waits that began to wait so long ago, or the code it ends with.
    fn waits(code: ErrorCode, is_unreachable: bool, since: i64, rest: i64) -> Result<i64, ErrorCode> {
        let error = CellError { code, message: "It is so.".to_owned() };
        let tries = Tries { attempts: 0, attempts_max: 5, since: at(-since) };
        let cause = (Some(Cause { error: error.clone(), is_unreachable }), Meta::new());
        match put_off(&Config::default(), at(rest), cause, &tries, at(0)) {
            CellResult::Later { at_ms, error: told, .. } => {
                assert_eq!(told, Some(error), "the true cause");
                Ok(at_ms / 1_000 - 1_000)
            }
            CellResult::Failed(told, _) => {
                assert_eq!(told, error, "the true cause");
                Err(told.code)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn cells_wait_for_a_resting_provider_no_longer_than_their_time() {
        use ErrorCode::{ProviderError, RateLimited, TimedOut};
        for (code, is_unreachable, since, rest, expected) in [
            (ProviderError, true, 0, 5, Ok(5)),
            (ProviderError, true, 10, 40, Ok(20)),
            (ProviderError, true, 30, 5, Err(ProviderError)),
            (ProviderError, false, 30, 60, Ok(60)),
            (ProviderError, false, 870, 60, Ok(30)),
            (TimedOut, false, 900, 5, Err(TimedOut)),
            (RateLimited, false, 10_000, 3_600, Ok(3_600)),
        ] {
            assert_eq!(waits(code, is_unreachable, since, rest), expected, "{code:?} {since} {rest}");
        }
    }
}
