//! A rate limiter: how fast a credential, a host or a column may be called.
//!
//! A [`RateLimiter`] holds several rates at once, a number of calls at the same time, and a pause that the other
//! side asked for. Where this process is alone it counts for itself; where other nodes call the same, their
//! database grants calls, and the rate limiter keeps a few of them.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::Spacing;
use rowmill_model::column::RateLimit;

#[derive(Debug, Clone)]
pub(crate) struct RateLimiter {
    counters: RateCounters,
    at_once_max: usize,
    at_once: usize,
    paused_until: Timestamp,
}

#[derive(Debug, Clone)]
enum RateCounters {
    /// Each with the time at which the next call is due, in nanoseconds since 1970.
    Own(Vec<(Spacing, i64)>),
    Shared(LocalGrant),
}

/// Calls that were handed out to this node.
#[derive(Debug, Clone, Default)]
struct LocalGrant {
    spacings: Vec<Spacing>,
    calls_left: u32,
    /// Those in hand are given back then, for others to use.
    expires_at: Timestamp,
    /// There is nothing to be had before then.
    available_at: Timestamp,
    /// More were wanted than are in hand.
    needs_more: bool,
}

/// How long granted calls are kept: cells they were meant for begin at once, or not at all.
const GRANT_TTL: Duration = Duration::from_millis(250);
/// When to look whether calls have come.
const GRANT_WAIT: Duration = Duration::from_millis(3);

/// What is asked of the database: calls wanted, and calls given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GrantRequest {
    pub(crate) spacings: Vec<Spacing>,
    pub(crate) wanted: u32,
    pub(crate) unused: u32,
}

impl RateLimiter {
    pub(crate) fn new(rates: &[RateLimit], at_once_max: usize, is_shared: bool) -> Self {
        let spacings = rates.iter().map(Spacing::in_every_window);
        let counters = if is_shared && !rates.is_empty() {
            RateCounters::Shared(LocalGrant { spacings: spacings.collect(), ..LocalGrant::default() })
        } else {
            RateCounters::Own(spacings.map(|spacing| (spacing, i64::MIN)).collect())
        };
        Self { counters, at_once_max, at_once: 0, paused_until: Timestamp::MIN }
    }

    /// How many calls may begin now.
    pub(crate) fn available(&self, now: Timestamp) -> usize {
        if now < self.paused_until {
            return 0;
        }
        let paced = match &self.counters {
            RateCounters::Own(counters) => {
                let available = |(spacing, due_ns): &(Spacing, i64)| spacing.available(*due_ns, nanos(now));
                counters.iter().map(available).min().unwrap_or(u64::MAX)
            }
            RateCounters::Shared(grant) => grant.at(now).into(),
        };
        usize::try_from(paced).unwrap_or(usize::MAX).min(self.at_once_max.saturating_sub(self.at_once))
    }

    /// When to ask again, if time alone helps.
    pub(crate) fn available_at(&self, now: Timestamp) -> Option<Timestamp> {
        let paced = match &self.counters {
            RateCounters::Own(counters) => {
                counters.iter().map(|(spacing, due_ns)| timestamp(spacing.available_at_ns(*due_ns))).max()
            }
            RateCounters::Shared(grant) if grant.at(now) > 0 => None,
            RateCounters::Shared(grant) => Some(grant.available_at.max(after(now, GRANT_WAIT))),
        };
        let available_at = self.paused_until.max(paced.unwrap_or(Timestamp::MIN));
        (available_at > now).then_some(available_at)
    }

    /// Counts a call that begins.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        match &mut self.counters {
            RateCounters::Own(counters) => {
                for (spacing, due_ns) in counters {
                    *due_ns = spacing.take(*due_ns, nanos(now), 1);
                }
            }
            RateCounters::Shared(grant) => grant.calls_left = grant.calls_left.saturating_sub(1),
        }
        self.at_once += 1;
    }

    /// Takes the newest number of calls at the same time. Calls under way go on.
    pub(crate) fn set_at_once_max(&mut self, at_once_max: usize) {
        self.at_once_max = at_once_max;
    }

    pub(crate) fn end(&mut self) {
        self.at_once = self.at_once.saturating_sub(1);
    }

    /// Nothing begins until then.
    pub(crate) fn pause(&mut self, now: Timestamp, pause: Duration) {
        self.paused_until = self.paused_until.max(after(now, pause));
    }

    pub(crate) fn is_paused(&self, now: Timestamp) -> bool {
        now < self.paused_until
    }

    /// Notes that calls are needed; says whether it is time to ask for some.
    pub(crate) fn needs_grant(&mut self, now: Timestamp) -> bool {
        match &mut self.counters {
            RateCounters::Shared(grant)
                if grant.at(now) == 0 && grant.available_at.max(self.paused_until) <= now =>
            {
                grant.needs_more = true;
                true
            }
            RateCounters::Shared(_) | RateCounters::Own(_) => false,
        }
    }

    /// What is to be asked of the database, if anything.
    pub(crate) fn grant_request(&mut self, now: Timestamp) -> Option<GrantRequest> {
        let RateCounters::Shared(grant) = &mut self.counters else { return None };
        let unused = if grant.expires_at <= now { std::mem::take(&mut grant.calls_left) } else { 0 };
        // As many as may ever begin at once: what is not needed goes back before long.
        let wanted = if std::mem::take(&mut grant.needs_more) {
            grant.spacings.iter().map(Spacing::burst).min().unwrap_or(1)
        } else {
            0
        };
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        (wanted > 0 || unused > 0).then(|| GrantRequest { spacings: grant.spacings.clone(), wanted, unused })
    }

    /// Takes what was handed out.
    pub(crate) fn receive(&mut self, now: Timestamp, granted: u32, due_in: &[Duration]) {
        let RateCounters::Shared(grant) = &mut self.counters else { return };
        if granted > 0 {
            grant.calls_left = grant.at(now).saturating_add(granted);
            grant.expires_at = after(now, GRANT_TTL);
        }
        let available_at = grant
            .spacings
            .iter()
            .zip(due_in)
            .map(|(spacing, due_in)| timestamp(spacing.available_at_ns(nanos(after(now, *due_in)))));
        grant.available_at = available_at.max().unwrap_or(now);
    }

    /// Whether a new one would behave the same.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        let is_rested = match &self.counters {
            RateCounters::Own(counters) => counters.iter().all(|(_, due_ns)| *due_ns <= nanos(now)),
            RateCounters::Shared(grant) => {
                grant.calls_left == 0 && !grant.needs_more && grant.available_at <= now
            }
        };
        is_rested && self.at_once == 0 && self.paused_until <= now
    }
}

impl LocalGrant {
    /// Calls that may still be used.
    fn at(&self, now: Timestamp) -> u32 {
        if self.expires_at > now { self.calls_left } else { 0 }
    }
}

fn nanos(time: Timestamp) -> i64 {
    let nanos = time.as_nanosecond();
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

fn timestamp(nanos: i64) -> Timestamp {
    Timestamp::from_nanosecond(nanos.into()).unwrap_or(Timestamp::MAX)
}

fn after(now: Timestamp, wait: Duration) -> Timestamp {
    now.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(requests: u32, per_seconds: u32) -> RateLimit {
        RateLimit { requests, per_seconds }
    }

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_millisecond(1_000_000 + millis).unwrap()
    }

    /// Calls as often as it may for a while; the instants, in milliseconds.
    fn drive(rates: &[RateLimit], until_ms: i64) -> Vec<i64> {
        let mut rate_limiter = RateLimiter::new(rates, usize::MAX, false);
        let mut calls = Vec::new();
        for now in 0..until_ms {
            while rate_limiter.available(at(now)) > 0 {
                rate_limiter.begin(at(now));
                calls.push(now);
            }
        }
        calls
    }

    #[test]
    fn no_window_holds_more_than_the_rate() {
        for rates in [
            vec![rate(1, 1)],
            vec![rate(3, 2)],
            vec![rate(15, 1), rate(60, 10)],
            vec![rate(100, 1)],
            vec![rate(1_000, 7)],
        ] {
            let calls = drive(&rates, 30_000);
            for RateLimit { requests, per_seconds } in &rates {
                let window = i64::from(*per_seconds) * 1_000;
                let most = calls
                    .iter()
                    .map(|start| calls.iter().filter(|call| (*start..start + window).contains(call)).count())
                    .max();
                assert!(most.unwrap() <= *requests as usize, "{rates:?}: {most:?}");
            }
            let slowest = rates
                .iter()
                .map(|rate| f64::from(rate.requests) / f64::from(rate.per_seconds))
                .fold(f64::MAX, f64::min);
            let used = f64::from(u32::try_from(calls.len()).unwrap()) / (slowest * 30.0);
            assert!(used > 0.85, "{rates:?}: only {used} of the rate is used");
        }
    }

    #[test]
    fn what_is_told_as_available_can_be_taken() {
        let mut rate_limiter = RateLimiter::new(&[rate(100, 1)], usize::MAX, false);
        assert_eq!(rate_limiter.available(at(0)), 10);
        for left in (0..10).rev() {
            rate_limiter.begin(at(0));
            assert_eq!(rate_limiter.available(at(0)), left);
        }
        let available_at = rate_limiter.available_at(at(0)).unwrap();
        assert!(available_at > at(10) && available_at < at(12), "{available_at}");
        assert_eq!(rate_limiter.available(available_at), 1);
        assert!(!rate_limiter.is_fresh(available_at));
        assert!(rate_limiter.is_fresh(at(2_000)) || rate_limiter.at_once > 0);
    }

    #[test]
    fn calls_at_once_and_pauses_are_kept() {
        let mut rate_limiter = RateLimiter::new(&[], 2, false);
        rate_limiter.begin(at(0));
        rate_limiter.begin(at(0));
        assert_eq!((rate_limiter.available(at(0)), rate_limiter.available_at(at(0))), (0, None));
        rate_limiter.end();
        assert_eq!(rate_limiter.available(at(0)), 1);
        rate_limiter.pause(at(0), Duration::from_secs(5));
        rate_limiter.pause(at(0), Duration::from_secs(1));
        assert_eq!(
            (rate_limiter.available(at(4_999)), rate_limiter.available_at(at(1))),
            (0, Some(at(5_000)))
        );
        assert_eq!((rate_limiter.available(at(5_000)), rate_limiter.available_at(at(5_000))), (1, None));
    }

    #[test]
    fn grants_are_requested_used_and_given_back() {
        let mut rate_limiter = RateLimiter::new(&[rate(100, 1)], usize::MAX, true);
        assert_eq!(rate_limiter.available(at(0)), 0);
        assert_eq!(rate_limiter.grant_request(at(0)), None);
        assert!(rate_limiter.needs_grant(at(0)) && rate_limiter.available_at(at(0)) == Some(at(3)));
        let grant_request = rate_limiter.grant_request(at(0)).unwrap();
        assert_eq!(
            (grant_request.wanted, grant_request.unused, rate_limiter.grant_request(at(0))),
            (10, 0, None)
        );
        rate_limiter.receive(at(1), 4, &[Duration::from_millis(200)]);
        assert_eq!((rate_limiter.available(at(1)), rate_limiter.available_at(at(1))), (4, None));
        for _ in 0..3 {
            rate_limiter.begin(at(1));
        }
        // One is left, and nobody wants it.
        assert_eq!((rate_limiter.available(at(250)), rate_limiter.available(at(251))), (1, 0));
        let grant_request = rate_limiter.grant_request(at(251)).unwrap();
        assert_eq!((grant_request.wanted, grant_request.unused), (0, 1));
        rate_limiter.receive(at(252), 0, &[Duration::from_millis(200)]);
        // Until the next opens nothing need be asked: nine intervals may be borrowed of the 200 ms.
        assert!(!rate_limiter.needs_grant(at(340)), "{rate_limiter:?}");
        assert!(rate_limiter.needs_grant(at(400)));
    }
}
