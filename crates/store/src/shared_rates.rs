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

    /// How many workers live now, on all nodes. They share what may be done at the same time.
    async fn live_workers(&self) -> Result<usize>;
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
    /// Pause all nodes for this long.
    pub pause: Duration,
}

/// What a node may do. Times are from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateGrant {
    /// How many of those wanted may be done now.
    pub granted: u32,
    /// By spacing, when the next one is due.
    pub due_in: Vec<Duration>,
    /// How long all nodes are paused.
    pub paused_for: Duration,
}

impl RateRequest {
    /// Whether it only asks for the state.
    pub fn is_question(&self) -> bool {
        self.done == 0 && self.unused == 0 && self.wanted == 0 && self.pause.is_zero()
    }

    /// Grants what the state of the rates allows, and updates the state: when the next call is due by each spacing, and
    /// until when all are paused. All times are nanoseconds of one clock.
    pub fn decide(&self, due_ns: &mut Vec<i64>, paused_until_ns: &mut i64, now_ns: i64) -> RateGrant {
        due_ns.resize(self.spacings.len(), i64::MIN);
        let pause_ns = i64::try_from(self.pause.as_nanos()).unwrap_or(i64::MAX);
        if pause_ns > 0 {
            *paused_until_ns = (*paused_until_ns).max(now_ns.saturating_add(pause_ns));
        }
        for (due_ns, spacing) in due_ns.iter_mut().zip(&self.spacings) {
            *due_ns = spacing.take(spacing.give_back(*due_ns, now_ns, self.unused), now_ns, self.done);
        }
        let available = |(due_ns, spacing): (&i64, &Spacing)| spacing.available(*due_ns, now_ns);
        let available = due_ns.iter().zip(&self.spacings).map(available).min();
        let available = if *paused_until_ns > now_ns { 0 } else { available.unwrap_or(u64::MAX) };
        let granted = self.wanted.min(u32::try_from(available).unwrap_or(u32::MAX));
        for (due_ns, spacing) in due_ns.iter_mut().zip(&self.spacings) {
            *due_ns = spacing.take(*due_ns, now_ns, granted);
        }
        let from_now =
            |then_ns: i64| Duration::from_nanos(u64::try_from(then_ns.saturating_sub(now_ns)).unwrap_or(0));
        RateGrant {
            granted,
            due_in: due_ns.iter().copied().map(from_now).collect(),
            paused_for: from_now(*paused_until_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NS_PER_MS: i64 = 1_000_000;

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
        let mut decide =
            |ask: RateRequest, at_ms: i64| ask.decide(&mut due, &mut rests_until, at_ms * NS_PER_MS);
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
        let mut decide =
            |ask: RateRequest, at_ms: i64| ask.decide(&mut due, &mut rests_until, at_ms * NS_PER_MS);
        assert_eq!(decide(ask(0, 1, 500), 0).granted, 0);
        // A shorter one does not end it.
        assert_eq!(decide(ask(0, 1, 10), 100).paused_for, Duration::from_millis(400));
        assert_eq!(decide(ask(0, 1, 0), 499).granted, 0);
        assert_eq!(decide(ask(0, 1, 0), 500).granted, 1);
    }
}
