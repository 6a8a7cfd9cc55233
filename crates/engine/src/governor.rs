//! How fast something may be called.
//!
//! A [`Governor`] holds several rates at once, a number of calls at the same time, and a rest that the other
//! side asked for. A rate of *n* calls in *p* seconds is kept in every window of *p* seconds, not only on
//! average: a tenth of the calls may come at once, the rest evenly spaced behind them (the generic cell
//! rate algorithm, with its interval chosen so that both together are *n*).

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::column::RateLimit;

#[derive(Debug, Clone)]
pub(crate) struct Governor {
    paces: Vec<Pace>,
    at_once_max: usize,
    at_once: usize,
    rests_until: i128,
}

impl Governor {
    pub(crate) fn new(rates: &[RateLimit], at_once_max: usize) -> Self {
        let paces = rates.iter().map(Pace::new).collect();
        Self { paces, at_once_max, at_once: 0, rests_until: i128::MIN }
    }

    /// How many calls may begin now.
    pub(crate) fn available(&self, now: Timestamp) -> usize {
        let now = now.as_nanosecond();
        if now < self.rests_until {
            return 0;
        }
        let paced = self.paces.iter().map(|pace| pace.available(now)).min().unwrap_or(usize::MAX);
        paced.min(self.at_once_max.saturating_sub(self.at_once))
    }

    /// When to ask again, if time alone helps.
    pub(crate) fn opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        let paced = self.paces.iter().map(Pace::opens_at).max().unwrap_or(i128::MIN);
        let opens_at = paced.max(self.rests_until);
        (opens_at > now.as_nanosecond())
            .then(|| Timestamp::from_nanosecond(opens_at).unwrap_or(Timestamp::MAX))
    }

    /// Counts a call that begins.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        let now = now.as_nanosecond();
        self.paces.iter_mut().for_each(|pace| pace.take(now));
        self.at_once += 1;
    }

    pub(crate) fn end(&mut self) {
        self.at_once = self.at_once.saturating_sub(1);
    }

    /// Nothing begins until then.
    pub(crate) fn rest(&mut self, now: Timestamp, rest: Duration) {
        let until = now.as_nanosecond().saturating_add(i128::try_from(rest.as_nanos()).unwrap_or(i128::MAX));
        self.rests_until = self.rests_until.max(until);
    }

    /// Whether a new one would behave the same.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        let now = now.as_nanosecond();
        self.at_once == 0 && self.rests_until <= now && self.paces.iter().all(|pace| pace.due <= now)
    }
}

/// One rate, in nanoseconds.
#[derive(Debug, Clone)]
struct Pace {
    interval: i128,
    /// How far calls may be ahead of their even spacing.
    slack: i128,
    /// When the next call is due by even spacing.
    due: i128,
}

impl Pace {
    fn new(rate: &RateLimit) -> Self {
        let requests = i128::from(rate.requests.max(1));
        let burst = (requests / 10).max(1);
        let window = i128::from(rate.per_seconds.max(1)) * 1_000_000_000;
        // Rounded up: a nanosecond too early would be one call too many.
        let spaced = requests - burst + 1;
        let interval = (window + spaced - 1) / spaced;
        Self { interval, slack: (burst - 1) * interval, due: i128::MIN }
    }

    fn opens_at(&self) -> i128 {
        self.due.saturating_sub(self.slack)
    }

    fn available(&self, now: i128) -> usize {
        let behind = now - self.due.max(now) + self.slack;
        if behind < 0 { 0 } else { usize::try_from(behind / self.interval + 1).unwrap_or(usize::MAX) }
    }

    fn take(&mut self, now: i128) {
        self.due = self.due.max(now) + self.interval;
    }
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
        let mut governor = Governor::new(rates, usize::MAX);
        let mut calls = Vec::new();
        for now in 0..until_ms {
            while governor.available(at(now)) > 0 {
                governor.begin(at(now));
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
        let mut governor = Governor::new(&[rate(100, 1)], usize::MAX);
        assert_eq!(governor.available(at(0)), 10);
        for left in (0..10).rev() {
            governor.begin(at(0));
            assert_eq!(governor.available(at(0)), left);
        }
        let opens_at = governor.opens_at(at(0)).unwrap();
        assert!(opens_at > at(10) && opens_at < at(12), "{opens_at}");
        assert_eq!(governor.available(opens_at), 1);
        assert!(!governor.is_fresh(opens_at));
        assert!(governor.is_fresh(at(2_000)) || governor.at_once > 0);
    }

    #[test]
    fn calls_at_once_and_rests_are_kept() {
        let mut governor = Governor::new(&[], 2);
        governor.begin(at(0));
        governor.begin(at(0));
        assert_eq!((governor.available(at(0)), governor.opens_at(at(0))), (0, None));
        governor.end();
        assert_eq!(governor.available(at(0)), 1);
        governor.rest(at(0), Duration::from_secs(5));
        governor.rest(at(0), Duration::from_secs(1));
        assert_eq!((governor.available(at(4_999)), governor.opens_at(at(1))), (0, Some(at(5_000))));
        assert_eq!((governor.available(at(5_000)), governor.opens_at(at(5_000))), (1, None));
    }
}
