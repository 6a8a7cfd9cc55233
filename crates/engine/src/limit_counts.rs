//! How many limits of calls are in which state, for those who watch the service.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::call_limits::CallLimits;
use crate::circuit_breaker::BreakerState;
use crate::limit_state::LimitState;

/// The limits of one provider. Each team's credential and each host has limits of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LimitCounts {
    pub breakers_closed: u64,
    pub breakers_open: u64,
    /// One call is under way that tells whether they close.
    pub breakers_probing: u64,
    pub rates_free: u64,
    /// No further call can begin now: the rate or the number of calls at once is used up.
    pub rates_used_up: u64,
    /// The other side asked for a pause.
    pub rates_paused: u64,
}

impl CallLimits {
    /// By provider.
    pub fn counts(&self, now: Timestamp) -> BTreeMap<&'static str, LimitCounts> {
        let mut counts: BTreeMap<&'static str, LimitCounts> = BTreeMap::new();
        for limit in self.lock().entries.values() {
            counts.entry(limit.provider).or_default().add(limit, now);
        }
        counts
    }
}

impl LimitCounts {
    fn add(&mut self, limit: &LimitState, now: Timestamp) {
        match limit.breaker.as_ref().map(|breaker| breaker.state(now)) {
            Some(BreakerState::Closed) => self.breakers_closed += 1,
            Some(BreakerState::Open) => self.breakers_open += 1,
            Some(BreakerState::Probing) => self.breakers_probing += 1,
            None => {}
        }
        if limit.rate_limiter.is_paused(now) {
            self.rates_paused += 1;
        } else if limit.rate_limiter.available(now) == 0 {
            self.rates_used_up += 1;
        } else {
            self.rates_free += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rowmill_model::column::RateLimit;
    use rowmill_providers::{Failure, FailureKind};

    use super::*;
    use crate::call_limits::CallLimit;
    use crate::circuit_breaker::FAILURES_MAX;
    use crate::digest::Digest;

    #[test]
    fn limits_are_counted_by_provider_and_state() {
        let at = |seconds: i64| Timestamp::from_second(1_000 + seconds).unwrap();
        let limit = |name: &str, requests: u32| CallLimit {
            provider: "openai",
            key: Digest::of([name]),
            rates: vec![RateLimit { requests, per_seconds: 10 }],
            at_once_max: 100,
            has_circuit_breaker: true,
        };
        let limits = CallLimits::default();
        let failing = [limit("failing", 1_000_000)];
        for _ in 0..FAILURES_MAX {
            limits.try_acquire(&failing, at(0)).unwrap().report::<()>(&Err(Failure::transient("no")), at(0));
        }
        let mut told = Failure::new(FailureKind::RateLimited, "");
        told.retry_after = Some(Duration::from_mins(1));
        limits.try_acquire(&[limit("paused", 1_000_000)], at(0)).unwrap().report::<()>(&Err(told), at(0));
        limits.try_acquire(&[limit("used up", 1)], at(0)).unwrap().report(&Ok(()), at(0));
        let expected = LimitCounts {
            breakers_closed: 2,
            breakers_open: 1,
            rates_paused: 1,
            rates_used_up: 1,
            rates_free: 1,
            ..LimitCounts::default()
        };
        assert_eq!(limits.counts(at(1)), BTreeMap::from([("openai", expected)]));
        let probe = limits.try_acquire(&failing, at(6)).unwrap();
        assert_eq!(limits.counts(at(6))["openai"].breakers_probing, 1);
        probe.report(&Ok(()), at(6));
        assert_eq!(limits.counts(at(6))["openai"].breakers_closed, 3);
    }
}
