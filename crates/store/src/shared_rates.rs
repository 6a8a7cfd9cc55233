//! Shared rate limits: how often something is done, counted over all nodes.

use std::time::Duration;

use async_trait::async_trait;
use rowmill_model::Spacing;
use uuid::Uuid;

use crate::error::Result;

/// Where nodes on one database keep to rates together. The database's clock decides.
#[async_trait]
pub trait SharedRates: std::fmt::Debug + Send + Sync + 'static {
    /// Takes turns, and tells what was taken before. One answer each, in order.
    async fn take(&self, asks: Vec<RateRequest>) -> Result<Vec<RateGrant>>;
}

/// What one node has done, and would like to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateRequest {
    /// What is done. The same thing always comes with as many spacings.
    pub key: Uuid,
    /// All of them are kept at once.
    pub spacings: Vec<Spacing>,
    /// Done already, without asking.
    pub done: u32,
    /// Granted before, and not done after all.
    pub unused: u32,
    /// Would be done now, as far as it may be.
    pub wanted: u32,
    /// For so long nobody may do it.
    pub pause: Duration,
}

/// Times are from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateGrant {
    /// How many of those wanted may be done now.
    pub granted: u32,
    /// By spacing, when the next one is due.
    pub due_in: Vec<Duration>,
    /// How long nobody may do it.
    pub paused_for: Duration,
}

impl RateRequest {
    /// Asks for nothing but how things stand.
    pub fn is_question(&self) -> bool {
        self.done == 0 && self.unused == 0 && self.wanted == 0 && self.pause.is_zero()
    }

    /// What becomes of an ask where this is due and rested, all in nanoseconds of one clock.
    pub fn decide(&self, due: &mut Vec<i64>, rests_until: &mut i64, now: i64) -> RateGrant {
        due.resize(self.spacings.len(), i64::MIN);
        let pause = i64::try_from(self.pause.as_nanos()).unwrap_or(i64::MAX);
        if pause > 0 {
            *rests_until = (*rests_until).max(now.saturating_add(pause));
        }
        for (due, spacing) in due.iter_mut().zip(&self.spacings) {
            *due = spacing.take(spacing.give_back(*due, now, self.unused), now, self.done);
        }
        let may = due.iter().zip(&self.spacings).map(|(due, spacing)| spacing.available(*due, now)).min();
        let may = if *rests_until > now { 0 } else { may.unwrap_or(u64::MAX) };
        let granted = self.wanted.min(u32::try_from(may).unwrap_or(u32::MAX));
        for (due, spacing) in due.iter_mut().zip(&self.spacings) {
            *due = spacing.take(*due, now, granted);
        }
        let from_now = |then: i64| Duration::from_nanos(u64::try_from(then.saturating_sub(now)).unwrap_or(0));
        RateGrant {
            granted,
            due_in: due.iter().copied().map(from_now).collect(),
            paused_for: from_now(*rests_until),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn ask(done: u32, wanted: u32, rest_ms: u64) -> RateRequest {
        let spacings = vec![Spacing::of_bucket(10, 3), Spacing::of_bucket(100, 5)];
        RateRequest {
            key: Uuid::nil(),
            spacings,
            done,
            unused: 0,
            wanted,
            pause: Duration::from_millis(rest_ms),
        }
    }

    #[test]
    fn the_narrowest_rate_decides_for_all_who_ask() {
        let (mut due, mut rests_until) = (Vec::new(), i64::MIN);
        let mut decide = |ask: RateRequest, at_ms: i64| ask.decide(&mut due, &mut rests_until, at_ms * MS);
        assert_eq!(decide(ask(0, 2, 0), 0).granted, 2);
        let answer = decide(ask(0, 9, 0), 0);
        assert_eq!((answer.granted, answer.due_in[0]), (1, Duration::from_millis(300)));
        assert_eq!(decide(ask(0, 9, 0), 99).granted, 0);
        assert_eq!(decide(ask(0, 9, 0), 200).granted, 2);
        // What was done without asking counts, too.
        assert_eq!(decide(ask(7, 9, 0), 10_000).granted, 0);
        assert_eq!(decide(ask(0, 9, 0), 10_400).granted, 0);
        assert_eq!(decide(ask(0, 9, 0), 10_500).granted, 1);
        // What was not done after all may be done by another.
        assert_eq!(decide(RateRequest { unused: 1, ..ask(0, 9, 0) }, 10_501).granted, 1);
    }

    #[test]
    fn a_pause_is_for_all() {
        let (mut due, mut rests_until) = (Vec::new(), i64::MIN);
        let mut decide = |ask: RateRequest, at_ms: i64| ask.decide(&mut due, &mut rests_until, at_ms * MS);
        assert_eq!(decide(ask(0, 1, 500), 0).granted, 0);
        // A shorter one does not end it.
        assert_eq!(decide(ask(0, 1, 10), 100).paused_for, Duration::from_millis(400));
        assert_eq!(decide(ask(0, 1, 0), 499).granted, 0);
        assert_eq!(decide(ask(0, 1, 0), 500).granted, 1);
    }
}
