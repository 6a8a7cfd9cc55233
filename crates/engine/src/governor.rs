//! How fast something may be called.
//!
//! A [`Governor`] holds several rates at once, a number of calls at the same time, and a rest that the other
//! side asked for. Where this process is alone it counts for itself; where other nodes call the same, their
//! database hands out turns, and the governor has some in hand.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::Spacing;
use rowmill_model::column::RateLimit;

#[derive(Debug, Clone)]
pub(crate) struct Governor {
    paces: Paces,
    at_once_max: usize,
    at_once: usize,
    rests_until: i64,
}

#[derive(Debug, Clone)]
enum Paces {
    /// Each with the time at which the next call is due.
    Own(Vec<(Spacing, i64)>),
    Shared(Hand),
}

/// Turns that were handed out to this node.
#[derive(Debug, Clone, Default)]
struct Hand {
    spacings: Vec<Spacing>,
    turns: u32,
    /// Those in hand are given back then, for others to use.
    kept_until: i64,
    /// There is nothing to be had before then.
    opens_at: i64,
    /// More were wanted than are in hand.
    is_short: bool,
}

/// How long turns are kept in hand: cells they were meant for begin at once, or not at all.
const KEPT_FOR: i64 = 250_000_000;
/// When to look whether turns have come.
const COMES_IN: i64 = 3_000_000;

/// What is asked of the database: turns wanted, and turns given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) spacings: Vec<Spacing>,
    pub(crate) wanted: u32,
    pub(crate) unused: u32,
}

impl Governor {
    pub(crate) fn new(rates: &[RateLimit], at_once_max: usize, is_shared: bool) -> Self {
        let spacings = rates.iter().map(Spacing::in_every_window);
        let paces = if is_shared && !rates.is_empty() {
            Paces::Shared(Hand { spacings: spacings.collect(), ..Hand::default() })
        } else {
            Paces::Own(spacings.map(|spacing| (spacing, i64::MIN)).collect())
        };
        Self { paces, at_once_max, at_once: 0, rests_until: i64::MIN }
    }

    /// How many calls may begin now.
    pub(crate) fn available(&self, now: Timestamp) -> usize {
        let now = nanos(now);
        if now < self.rests_until {
            return 0;
        }
        let paced = match &self.paces {
            Paces::Own(paces) => {
                paces.iter().map(|(spacing, due)| spacing.available(*due, now)).min().unwrap_or(u64::MAX)
            }
            Paces::Shared(hand) => hand.at(now).into(),
        };
        usize::try_from(paced).unwrap_or(usize::MAX).min(self.at_once_max.saturating_sub(self.at_once))
    }

    /// When to ask again, if time alone helps.
    pub(crate) fn opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        let now = nanos(now);
        let paced = match &self.paces {
            Paces::Own(paces) => paces.iter().map(|(spacing, due)| spacing.opens_at(*due)).max(),
            Paces::Shared(hand) if hand.at(now) > 0 => None,
            Paces::Shared(hand) => Some(hand.opens_at.max(now + COMES_IN)),
        };
        let opens_at = self.rests_until.max(paced.unwrap_or(i64::MIN));
        (opens_at > now).then(|| Timestamp::from_nanosecond(opens_at.into()).unwrap_or(Timestamp::MAX))
    }

    /// Counts a call that begins.
    pub(crate) fn begin(&mut self, now: Timestamp) {
        let now = nanos(now);
        match &mut self.paces {
            Paces::Own(paces) => {
                for (spacing, due) in paces {
                    *due = spacing.take(*due, now, 1);
                }
            }
            Paces::Shared(hand) => hand.turns = hand.turns.saturating_sub(1),
        }
        self.at_once += 1;
    }

    pub(crate) fn end(&mut self) {
        self.at_once = self.at_once.saturating_sub(1);
    }

    /// Nothing begins until then.
    pub(crate) fn rest(&mut self, now: Timestamp, rest: Duration) {
        self.rests_until = self.rests_until.max(after(nanos(now), rest));
    }

    /// Notes that turns are needed; says whether it is time to ask for some.
    pub(crate) fn runs_short(&mut self, now: Timestamp) -> bool {
        let now = nanos(now);
        match &mut self.paces {
            Paces::Shared(hand) if hand.at(now) == 0 && hand.opens_at.max(self.rests_until) <= now => {
                hand.is_short = true;
                true
            }
            Paces::Shared(_) | Paces::Own(_) => false,
        }
    }

    /// What is to be asked of the database, if anything.
    pub(crate) fn wish(&mut self, now: Timestamp) -> Option<Wish> {
        let Paces::Shared(hand) = &mut self.paces else { return None };
        let unused = if hand.kept_until <= nanos(now) { std::mem::take(&mut hand.turns) } else { 0 };
        // As many as may ever begin at once: what is not needed goes back before long.
        let wanted = if std::mem::take(&mut hand.is_short) {
            hand.spacings.iter().map(Spacing::burst).min().unwrap_or(1)
        } else {
            0
        };
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX);
        (wanted > 0 || unused > 0).then(|| Wish { spacings: hand.spacings.clone(), wanted, unused })
    }

    /// Takes what was handed out.
    pub(crate) fn receive(&mut self, now: Timestamp, granted: u32, due_in: &[Duration]) {
        let now = nanos(now);
        let Paces::Shared(hand) = &mut self.paces else { return };
        if granted > 0 {
            hand.turns = hand.at(now).saturating_add(granted);
            hand.kept_until = now + KEPT_FOR;
        }
        let opens_at =
            hand.spacings.iter().zip(due_in).map(|(spacing, due)| spacing.opens_at(after(now, *due)));
        hand.opens_at = opens_at.max().unwrap_or(now);
    }

    /// Whether a new one would behave the same.
    pub(crate) fn is_fresh(&self, now: Timestamp) -> bool {
        let now = nanos(now);
        let is_rested = match &self.paces {
            Paces::Own(paces) => paces.iter().all(|(_, due)| *due <= now),
            Paces::Shared(hand) => hand.turns == 0 && !hand.is_short && hand.opens_at <= now,
        };
        is_rested && self.at_once == 0 && self.rests_until <= now
    }
}

impl Hand {
    /// Turns that may still be used.
    fn at(&self, now: i64) -> u32 {
        if self.kept_until > now { self.turns } else { 0 }
    }
}

fn nanos(time: Timestamp) -> i64 {
    let nanos = time.as_nanosecond();
    i64::try_from(nanos).unwrap_or(if nanos < 0 { i64::MIN } else { i64::MAX })
}

fn after(now: i64, wait: Duration) -> i64 {
    now.saturating_add(i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX))
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
        let mut governor = Governor::new(rates, usize::MAX, false);
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
        let mut governor = Governor::new(&[rate(100, 1)], usize::MAX, false);
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
        let mut governor = Governor::new(&[], 2, false);
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

    #[test]
    fn turns_are_asked_for_used_and_given_back() {
        let mut governor = Governor::new(&[rate(100, 1)], usize::MAX, true);
        assert_eq!(governor.available(at(0)), 0);
        assert_eq!(governor.wish(at(0)), None);
        assert!(governor.runs_short(at(0)) && governor.opens_at(at(0)) == Some(at(3)));
        let wish = governor.wish(at(0)).unwrap();
        assert_eq!((wish.wanted, wish.unused, governor.wish(at(0))), (10, 0, None));
        governor.receive(at(1), 4, &[Duration::from_millis(200)]);
        assert_eq!((governor.available(at(1)), governor.opens_at(at(1))), (4, None));
        for _ in 0..3 {
            governor.begin(at(1));
        }
        // One is left, and nobody wants it.
        assert_eq!((governor.available(at(250)), governor.available(at(251))), (1, 0));
        let wish = governor.wish(at(251)).unwrap();
        assert_eq!((wish.wanted, wish.unused), (0, 1));
        governor.receive(at(252), 0, &[Duration::from_millis(200)]);
        // Until the next opens nothing need be asked: nine intervals may be borrowed of the 200 ms.
        assert!(!governor.runs_short(at(340)), "{governor:?}");
        assert!(governor.runs_short(at(400)));
    }
}
