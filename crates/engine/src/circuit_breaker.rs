//! A circuit breaker: a provider that keeps failing is left alone for a while.
//!
//! After some failures in a row nothing is sent for a while; then one call is let through as a probe. If it
//! fails it stays open twice as long as the one before, if it is answered all is well again.

use std::time::Duration;

use jiff::Timestamp;

/// Failures in a row that make a breaker open.
pub(crate) const FAILURES_MAX: u32 = 10;
const OPEN_MIN: Duration = Duration::from_secs(5);
const OPEN_MAX: Duration = Duration::from_mins(1);

#[derive(Debug, Clone, Default)]
pub(crate) struct CircuitBreaker {
    state: State,
    /// In a row.
    failures: u32,
    /// How often it opened since the last answer.
    openings: u32,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Closed,
    /// Nothing is sent before then.
    Open { until: Timestamp },
    /// One call is under way.
    Probing,
}

/// Where a breaker stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BreakerState {
    Closed,
    Open,
    /// A call may go, or is under way, that tells whether it closes.
    Probing,
}

impl CircuitBreaker {
    pub(crate) fn state(&self, now: Timestamp) -> BreakerState {
        match self.state {
            State::Closed => BreakerState::Closed,
            State::Open { until } if until > now => BreakerState::Open,
            State::Open { .. } | State::Probing => BreakerState::Probing,
        }
    }

    /// How many calls may begin now.
    pub(crate) fn available(&self, now: Timestamp) -> usize {
        match self.state {
            State::Closed => usize::MAX,
            State::Open { until } => usize::from(until <= now),
            State::Probing => 0,
        }
    }

    /// When to ask again, if time alone helps.
    pub(crate) fn available_at(&self, now: Timestamp) -> Option<Timestamp> {
        match self.state {
            State::Open { until } if until > now => Some(until),
            State::Open { .. } | State::Closed | State::Probing => None,
        }
    }

    pub(crate) fn begin(&mut self) {
        if matches!(self.state, State::Open { .. }) {
            self.state = State::Probing;
        }
    }

    /// There was an answer, be it a good one or not.
    pub(crate) fn answered(&mut self) {
        *self = Self::default();
    }

    /// There was none, or one that says: not now. Says whether it opened.
    pub(crate) fn failed(&mut self, now: Timestamp) -> bool {
        self.failures = self.failures.saturating_add(1);
        let opens = match self.state {
            State::Closed => self.failures >= FAILURES_MAX,
            State::Probing => true,
            // A call from before it opened: it says nothing new.
            State::Open { .. } => false,
        };
        if opens {
            let open_for = OPEN_MIN.saturating_mul(1 << self.openings.min(10)).min(OPEN_MAX);
            self.openings = self.openings.saturating_add(1);
            self.state = State::Open { until: now.saturating_add(open_for).unwrap_or(Timestamp::MAX) };
        }
        opens
    }

    /// A call was given up: nothing is known. If it was the probe, another one may go.
    pub(crate) fn abandoned(&mut self) {
        if self.state == State::Probing {
            self.state = State::Open { until: Timestamp::MIN };
        }
    }

    pub(crate) fn is_fresh(&self) -> bool {
        self.state == State::Closed && self.failures == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000 + seconds).unwrap()
    }

    fn open() -> CircuitBreaker {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..FAILURES_MAX {
            assert_eq!(breaker.available(at(0)), usize::MAX);
            breaker.begin();
            breaker.failed(at(0));
        }
        breaker
    }

    #[test]
    fn open_times_grow_and_one_probe_goes_at_a_time() {
        let mut breaker = open();
        let mut now = 0;
        for open_for in [5, 10, 20, 40, 60, 60] {
            assert_eq!(breaker.available_at(at(now)), Some(at(now + open_for)));
            assert_eq!(breaker.available(at(now + open_for - 1)), 0);
            now += open_for;
            assert_eq!(breaker.available(at(now)), 1);
            breaker.begin();
            assert_eq!((breaker.available(at(now)), breaker.available_at(at(now))), (0, None));
            breaker.failed(at(now));
        }
    }

    #[test]
    fn an_answer_closes_it() {
        let mut breaker = open();
        breaker.begin();
        breaker.answered();
        assert!(breaker.is_fresh());
        assert_eq!(breaker.available(at(0)), usize::MAX);
    }

    #[test]
    fn answers_between_failures_keep_it_closed() {
        let mut breaker = CircuitBreaker::default();
        for _ in 0..100 {
            for _ in 1..FAILURES_MAX {
                breaker.failed(at(0));
            }
            breaker.answered();
        }
        assert_eq!(breaker.available(at(0)), usize::MAX);
    }

    #[test]
    fn a_probe_that_is_given_up_leaves_its_place() {
        let mut breaker = open();
        breaker.begin();
        breaker.abandoned();
        assert_eq!(breaker.available(at(0)), 1);
        // A failure of a call from before it opened changes nothing.
        let mut breaker = open();
        breaker.failed(at(3));
        assert_eq!(breaker.available_at(at(3)), Some(at(5)));
    }
}
