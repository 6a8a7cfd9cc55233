//! Limits on outgoing calls: rate limiters and circuit breakers, by credential, host and column.
//!
//! A call needs a permit of several [`CallLimit`]s: of the credential it uses or the host it goes to, and of its
//! column. It gets all of them or none, and holds one [`CallPermit`] while it runs. Where other nodes have the
//! same limits, their database grants the calls (see [`crate::shared_rates`]).

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rowmill_clock::Clock;
use rowmill_model::CellError;
use rowmill_model::cell::Meta;
use rowmill_model::column::RateLimit;
use rowmill_providers::{Failure, FailureKind};
use rowmill_store::SharedRates;
use tokio::sync::Notify;

use crate::cell_runner::{CallOutcome, Capacity, Cause, Cell};
use crate::digest::Digest;
use crate::limit_state::{LimitState, LimitStates};
use crate::rate_limiter::RateLimiter;
use crate::shared_rates::sync_shared_rates;
use crate::time_left::time_left;

/// The limits of all projects. Cheap to clone; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct CallLimits {
    limits: Arc<Mutex<LimitStates>>,
    /// Rung when other nodes must be asked or told something; none if there are no others.
    rate_sync: Option<Arc<Notify>>,
}

/// A limit that a call must keep to.
#[derive(Debug, Clone)]
pub struct CallLimit {
    /// Whom it is about, for those who watch.
    pub provider: &'static str,
    pub key: Digest,
    /// All of them hold at once.
    pub rates: Vec<RateLimit>,
    /// Calls at the same time.
    pub at_once_max: usize,
    /// Whether a circuit breaker opens when its calls keep failing.
    pub has_circuit_breaker: bool,
}

/// Why nothing can begin now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LimitReached {
    /// When to ask again; `None` if another call must end first.
    pub available_at: Option<Timestamp>,
    /// How the last call failed, if that is why.
    pub cause: Option<Box<Cause>>,
}

/// The longest pause the other side can ask for.
const PAUSE_MAX: Duration = Duration::from_hours(1);
/// How soon to ask again where another call must end first.
const RECHECK_AFTER: Duration = Duration::from_millis(100);
/// How soon a cell that was put back for that reason is taken again.
const REQUEUE_AFTER: Duration = Duration::from_secs(1);

impl CallLimits {
    /// For a process that is one of several: what others call counts, too. Inside a runtime.
    pub fn with_shared_rates(shared_rates: Arc<dyn SharedRates>, clock: Arc<dyn Clock>) -> Self {
        let rate_sync = Arc::new(Notify::new());
        let call_limits = Self { limits: Arc::default(), rate_sync: Some(Arc::clone(&rate_sync)) };
        tokio::spawn(sync_shared_rates(Arc::downgrade(&call_limits.limits), rate_sync, shared_rates, clock));
        call_limits
    }

    /// How many calls may begin now, by limit.
    pub fn capacity(&self, limits: &[CallLimit], now: Timestamp) -> Capacity {
        let mut known = self.lock();
        let mut capacity = Capacity::default();
        for limit in limits {
            let stands = |entry: &LimitState| {
                (entry.available(now).max(entry.put_off_room(now)), entry.available_at(now))
            };
            let entry = known.entries.get(&limit.key);
            let (available, available_at) = entry.map_or_else(|| stands(&self.entry(limit)), stands);
            if available == 0 {
                self.ask(&mut known, limit, now);
            }
            capacity.limits.push((limit.key, available));
            if available == 0 {
                capacity.retry_at = capacity.retry_at.max(available_at);
            }
        }
        capacity
    }

    /// Whether nobody knows when this limit allows another call, or later than the given time.
    pub fn is_limited_after(&self, limit: &CallLimit, time: Timestamp) -> bool {
        self.lock().entries.get(&limit.key).and_then(|entry| entry.available_at(time)).is_some()
    }

    /// This worker's share of what all nodes may do at the same time; one at least.
    pub fn share_of(&self, at_once_max: usize) -> usize {
        (at_once_max / self.lock().workers.max(1)).max(1)
    }

    /// Begins a call, if all limits allow it.
    pub fn try_acquire(&self, limits: &[CallLimit], now: Timestamp) -> Result<CallPermit, LimitReached> {
        let mut known = self.lock();
        known.evict_idle(limits.len(), now);
        let mut limit_reached = None;
        for limit in limits {
            let entry = known.entries.entry(limit.key).or_insert_with(|| self.entry(limit));
            entry.rate_limiter.set_at_once_max(limit.at_once_max);
            if entry.available(now) == 0 {
                let limit_reached: &mut LimitReached = limit_reached.get_or_insert_default();
                limit_reached.available_at = limit_reached.available_at.max(entry.available_at(now));
                limit_reached.cause = limit_reached.cause.take().or_else(|| entry.cause(now));
                self.ask(&mut known, limit, now);
            }
        }
        if let Some(limit_reached) = limit_reached {
            return Err(limit_reached);
        }
        for limit in limits {
            if let Some(entry) = known.entries.get_mut(&limit.key) {
                entry.begin(now);
            }
        }
        Ok(CallPermit {
            call_limits: self.clone(),
            keys: limits.iter().map(|limit| limit.key).collect(),
            is_reported: false,
        })
    }

    /// Begins a call, after waiting for it a little. If that is not enough the cell is put back.
    pub async fn acquire(
        &self,
        limits: &[CallLimit],
        cell: &Cell,
        clock: &dyn Clock,
        wait_max: Duration,
    ) -> Result<CallPermit, CallOutcome> {
        let mut waited = Duration::ZERO;
        loop {
            let now = clock.now();
            // Taken away: what comes of it is dropped, but nothing may begin.
            let limit_reached =
                if cell.is_revoked() { Err(LimitReached::default()) } else { self.try_acquire(limits, now) };
            let LimitReached { available_at, cause } = match limit_reached {
                Ok(permit) => return Ok(permit),
                Err(limit_reached) => limit_reached,
            };
            let wait = available_at.map_or(RECHECK_AFTER, |available_at| time_left(now, available_at));
            waited = waited.saturating_add(wait);
            if waited > wait_max || cell.is_revoked() {
                let requeue_at = now.saturating_add(REQUEUE_AFTER).unwrap_or(now);
                if cause.is_some() {
                    self.count_put_off(limits);
                }
                return Err(CallOutcome::Later(available_at.unwrap_or(requeue_at), cause, Meta::new()));
            }
            clock.sleep(wait).await;
        }
    }

    fn count_put_off(&self, limits: &[CallLimit]) {
        let mut known = self.lock();
        for limit in limits {
            if let Some(entry) = known.entries.get_mut(&limit.key) {
                entry.put_off = entry.put_off.saturating_add(1);
            }
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, LimitStates> {
        self.limits.lock()
    }

    fn entry(&self, limit: &CallLimit) -> LimitState {
        let rate_limiter = RateLimiter::new(&limit.rates, limit.at_once_max, self.rate_sync.is_some());
        LimitState::new(limit.provider, rate_limiter, limit.has_circuit_breaker)
    }

    /// Asks the other nodes for calls, where there are others and calls are what is missing.
    fn ask(&self, known: &mut LimitStates, limit: &CallLimit, now: Timestamp) {
        let Some(rate_sync) = &self.rate_sync else { return };
        known.evict_idle(1, now);
        let entry = known.entries.entry(limit.key).or_insert_with(|| self.entry(limit));
        if entry.rate_limiter.needs_grant(now) && known.pending.insert(limit.key) {
            rate_sync.notify_one();
        }
    }
}

fn cause_of(failure: &Failure) -> Cause {
    let error = CellError { code: failure.kind.code(), message: failure.message.clone() };
    Cause { error, is_unreachable: failure.is_unreachable }
}

/// The right to make one call. Dropped without a word, it says nothing about the other side.
#[derive(Debug)]
#[must_use]
pub struct CallPermit {
    call_limits: CallLimits,
    keys: Vec<Digest>,
    is_reported: bool,
}

impl CallPermit {
    /// Tells how the call ended.
    pub fn report<T>(mut self, outcome: &Result<T, Failure>, now: Timestamp) {
        self.is_reported = true;
        self.end(|entry| {
            let Some(breaker) = &mut entry.breaker else { return };
            let Err(failure @ Failure { kind, is_transient: true, retry_after, .. }) = outcome else {
                breaker.answered();
                entry.last_failure = None;
                return;
            };
            entry.last_failure = Some(Box::new(cause_of(failure)));
            if let Some(pause) = retry_after.map(|pause| pause.min(PAUSE_MAX)) {
                entry.rate_limiter.pause(now, pause);
                entry.unsent_pause = entry.unsent_pause.max(pause);
            }
            // To be told when to come back is an answer.
            if *kind == FailureKind::RateLimited && retry_after.is_some() {
                breaker.answered();
                return;
            }
            if breaker.failed(now) {
                entry.put_off = 0;
            }
            if let Some(available_at) = breaker.available_at(now) {
                entry.unsent_pause = entry.unsent_pause.max(time_left(now, available_at));
            }
        });
    }

    fn end(&self, mut tell: impl FnMut(&mut LimitState)) {
        let mut known = self.call_limits.lock();
        let LimitStates { entries, pending, .. } = &mut *known;
        for key in &self.keys {
            let Some(entry) = entries.get_mut(key) else { continue };
            entry.rate_limiter.end();
            tell(entry);
            if let Some(rate_sync) = &self.call_limits.rate_sync
                && !entry.unsent_pause.is_zero()
                && pending.insert(*key)
            {
                rate_sync.notify_one();
            }
        }
    }
}

impl Drop for CallPermit {
    fn drop(&mut self) {
        if !self.is_reported {
            self.end(|entry| {
                if let Some(breaker) = &mut entry.breaker {
                    breaker.abandoned();
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::ErrorCode;

    use super::*;
    use crate::circuit_breaker::FAILURES_MAX;
    use crate::limit_state::{LIMITS_MAX, PUT_OFF_MAX};

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000 + seconds).unwrap()
    }

    fn limit(name: &str, requests: u32, has_circuit_breaker: bool) -> CallLimit {
        let rates = vec![RateLimit { requests, per_seconds: 10 }];
        CallLimit { provider: "test", key: Digest::of([name]), rates, at_once_max: 100, has_circuit_breaker }
    }

    #[test]
    fn all_limits_admit_a_call_or_none_does() {
        let call_limits = CallLimits::default();
        let (narrow, wide) = (limit("narrow", 1, true), limit("wide", 1_000, true));
        let both = [wide.clone(), narrow.clone()];
        let permit = call_limits.try_acquire(&both, at(0)).unwrap();
        assert_eq!(
            call_limits.try_acquire(&both, at(0)).unwrap_err(),
            LimitReached { available_at: Some(at(10)), cause: None }
        );
        let capacity = call_limits.capacity(&both, at(0));
        assert_eq!(capacity.limits, [(wide.key, 99), (narrow.key, 0)]);
        assert_eq!(capacity.retry_at, Some(at(10)));
        drop(permit);
        assert!(call_limits.try_acquire(&both, at(10)).is_ok());
        assert_eq!(call_limits.capacity(&[limit("unknown", 100, false)], at(0)).limits[0].1, 10);
    }

    #[test]
    fn failures_open_the_circuit_breaker_and_retry_after_is_kept() {
        let call_limits = CallLimits::default();
        let host = [limit("host", 1_000_000, true)];
        let fail = |kind, retry_after: Option<u64>| {
            let mut failure = Failure::new(kind, "");
            failure.is_transient = true;
            failure.retry_after = retry_after.map(Duration::from_secs);
            call_limits.try_acquire(&host, at(0)).unwrap().report::<()>(&Err(failure), at(0));
        };
        for _ in 0..FAILURES_MAX {
            fail(FailureKind::ProviderError, None);
        }
        assert_eq!(call_limits.try_acquire(&host, at(4)).unwrap_err().available_at, Some(at(5)));
        assert!(
            call_limits.is_limited_after(&host[0], at(4)) && !call_limits.is_limited_after(&host[0], at(5))
        );
        let probe = call_limits.try_acquire(&host, at(5)).unwrap();
        let probing = call_limits.try_acquire(&host, at(5)).unwrap_err();
        assert_eq!(probing.available_at, None);
        assert_eq!(probing.cause.unwrap().error.code, ErrorCode::ProviderError);
        assert_eq!(call_limits.capacity(&host, at(5)).limits[0].1, 0, "the probe tells");
        probe.report(&Ok(()), at(5));
        let mut told = Failure::new(FailureKind::RateLimited, "");
        told.retry_after = Some(Duration::from_hours(9));
        call_limits.try_acquire(&host, at(6)).unwrap().report::<()>(&Err(told), at(6));
        assert_eq!(call_limits.try_acquire(&host, at(7)).unwrap_err().available_at, Some(at(3_606)));
    }

    #[test]
    fn cells_are_taken_to_be_told_why_they_wait() {
        for (is_unreachable, room) in [(true, usize::MAX), (false, PUT_OFF_MAX)] {
            let call_limits = CallLimits::default();
            let host = [limit("host", 1_000_000, true)];
            for _ in 0..FAILURES_MAX {
                let failure = Failure { is_unreachable, ..Failure::transient("Gone.") };
                call_limits.try_acquire(&host, at(0)).unwrap().report::<()>(&Err(failure), at(0));
            }
            assert_eq!(call_limits.capacity(&host, at(1)).limits[0].1, room);
            let cause = call_limits.try_acquire(&host, at(1)).unwrap_err().cause.unwrap();
            assert_eq!((cause.error.message.as_str(), cause.is_unreachable), ("Gone.", is_unreachable));
            call_limits.count_put_off(&host);
            let left = if is_unreachable { room } else { room - 1 };
            assert_eq!(call_limits.capacity(&host, at(1)).limits[0].1, left);
        }
    }

    #[test]
    fn idle_limits_are_forgotten() {
        let call_limits = CallLimits::default();
        for number in 0..LIMITS_MAX + 50 {
            drop(call_limits.try_acquire(&[limit(&number.to_string(), 1, true)], at(0)));
        }
        assert_eq!(call_limits.lock().entries.len(), LIMITS_MAX);
        drop(call_limits.try_acquire(&[limit("one", 1, true)], at(100)));
        assert_eq!(call_limits.lock().entries.len(), 1);
    }
}
