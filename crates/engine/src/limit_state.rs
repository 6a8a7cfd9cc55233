//! The state of each call limit: its rate limiter and its circuit breaker.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::Timestamp;

use rowmill_model::ErrorCode;

use crate::cell_runner::Cause;
use crate::circuit_breaker::CircuitBreaker;
use crate::digest::Digest;
use crate::rate_limiter::RateLimiter;

/// How many limits are remembered. Those that behave as new ones would are forgotten first.
pub(crate) const LIMITS_MAX: usize = 10_000;

/// Cells that are taken to be told why they wait, in one rest. Each is a row to write, so a large table whose
/// provider is down shows it in so many of its cells. Where nobody is there at all every cell is told, because
/// it ends soon.
pub(crate) const PUT_OFF_MAX: usize = 10_000;

#[derive(Debug)]
pub(crate) struct LimitStates {
    pub(crate) entries: BTreeMap<Digest, LimitState>,
    /// Those for which calls are wanted, or of which others must hear.
    pub(crate) pending: BTreeSet<Digest>,
    /// Those who share what may be done at the same time: this worker, and those of other nodes.
    pub(crate) workers: usize,
}

impl Default for LimitStates {
    fn default() -> Self {
        Self { entries: BTreeMap::new(), pending: BTreeSet::new(), workers: 1 }
    }
}

#[derive(Debug)]
pub(crate) struct LimitState {
    pub(crate) provider: &'static str,
    pub(crate) rate_limiter: RateLimiter,
    /// Only for limits that have a circuit breaker.
    pub(crate) breaker: Option<CircuitBreaker>,
    /// When a call last began.
    pub(crate) used_at: Timestamp,
    /// A pause that other nodes have not heard of.
    pub(crate) unsent_pause: Duration,
    /// How the last call failed, if it did.
    pub(crate) last_failure: Option<Box<Cause>>,
    /// Cells put off in this rest.
    pub(crate) put_off: usize,
}

impl LimitStates {
    /// Makes room for as many new entries as are wanted.
    pub(crate) fn evict_idle(&mut self, wanted: usize, now: Timestamp) {
        if self.entries.len() + wanted <= LIMITS_MAX {
            return;
        }
        self.entries.retain(|_, entry| !entry.is_fresh(now));
        // More than that are busy. To forget one may let a call through that should have waited, which is better
        // than a map without bound.
        while self.entries.len() + wanted > LIMITS_MAX {
            self.entries.pop_first();
        }
    }
}

impl LimitState {
    pub(crate) fn new(provider: &'static str, rate_limiter: RateLimiter, has_circuit_breaker: bool) -> Self {
        let breaker = has_circuit_breaker.then(CircuitBreaker::default);
        Self {
            provider,
            rate_limiter,
            breaker,
            used_at: Timestamp::MIN,
            unsent_pause: Duration::ZERO,
            last_failure: None,
            put_off: 0,
        }
    }

    pub(crate) fn available(&self, now: Timestamp) -> usize {
        let by_circuit_breaker = self.breaker.as_ref().map_or(usize::MAX, |breaker| breaker.available(now));
        self.rate_limiter.available(now).min(by_circuit_breaker)
    }

    pub(crate) fn available_at(&self, now: Timestamp) -> Option<Timestamp> {
        let paused = self.breaker.as_ref().and_then(|breaker| breaker.available_at(now));
        self.rate_limiter.available_at(now).max(paused)
    }

    /// Why nothing may begin, if a failure is why.
    pub(crate) fn cause(&self, now: Timestamp) -> Option<Box<Cause>> {
        let is_broken = self.breaker.as_ref().is_some_and(|breaker| breaker.available(now) == 0);
        if is_broken || self.rate_limiter.is_paused(now) { self.last_failure.clone() } else { None }
    }

    /// How many cells may be taken only to be told why they wait, and until when.
    pub(crate) fn put_off_room(&self, now: Timestamp) -> usize {
        let opens_at = self.breaker.as_ref().and_then(|breaker| breaker.available_at(now));
        match &self.last_failure {
            _ if opens_at.is_none() && !self.rate_limiter.is_paused(now) => 0,
            Some(cause) if cause.is_unreachable => usize::MAX,
            Some(cause) if cause.error.code != ErrorCode::RateLimited => {
                PUT_OFF_MAX.saturating_sub(self.put_off)
            }
            Some(_) | None => 0,
        }
    }

    pub(crate) fn begin(&mut self, now: Timestamp) {
        self.used_at = now;
        self.rate_limiter.begin(now);
        if let Some(breaker) = &mut self.breaker {
            breaker.begin();
        }
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        self.rate_limiter.is_fresh(now) && self.breaker.as_ref().is_none_or(CircuitBreaker::is_fresh)
    }
}
