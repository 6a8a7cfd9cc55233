//! The receivers that deliveries go to: how many each gets at once, and which of them rest.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rowmill_model::WebhookId;

/// How many deliveries a receiver gets at once that nothing is known of.
pub(super) const WINDOW_START: u32 = 4;
/// And one that answers quickly.
const WINDOW_MAX: u32 = 32;
/// A receiver that takes longer than this gets fewer at once.
const SLOW: Duration = Duration::from_secs(2);
/// The longest rest, as a multiple of the first.
const RESTS_MAX: u32 = 64;

/// What is known of receivers. It is forgotten with the process, and learned again.
#[derive(Debug)]
pub(super) struct Receivers {
    known: Mutex<HashMap<WebhookId, Receiver>>,
    /// The rest after the first failure; it doubles with each.
    rest: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Receiver {
    in_flight: u32,
    window: u32,
    failures: u32,
    rests_until: Option<Instant>,
}

/// How an attempt went, as far as it says anything of the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// It answered, within this time.
    Answered(Duration),
    /// It did not answer, or asked to be left alone.
    Failed,
}

impl Receivers {
    pub(super) fn new(rest: Duration) -> Self {
        Self { known: Mutex::default(), rest }
    }

    /// How many more deliveries each receiver can get, of those that do not get [`WINDOW_START`].
    pub(super) fn rooms(&self, now: Instant) -> Vec<(WebhookId, u32)> {
        let known = self.known.lock();
        known.iter().map(|(webhook, receiver)| (*webhook, receiver.room(now))).collect()
    }

    /// When the first of those that rest can be tried.
    pub(super) fn next_rested(&self, now: Instant) -> Option<Duration> {
        let known = self.known.lock();
        let ends = known.values().filter_map(|receiver| receiver.rests_until);
        ends.map(|until| until.saturating_duration_since(now)).filter(|wait| !wait.is_zero()).min()
    }

    pub(super) fn begin(&self, webhook: WebhookId) {
        self.known.lock().entry(webhook).or_insert(Receiver::NEW).in_flight += 1;
    }

    /// An attempt ended. Without a health it was none.
    pub(super) fn end(&self, webhook: WebhookId, health: Option<Health>, now: Instant) {
        let mut known = self.known.lock();
        let Some(receiver) = known.get_mut(&webhook) else { return };
        receiver.in_flight = receiver.in_flight.saturating_sub(1);
        match health {
            Some(Health::Answered(took)) => receiver.answered(took),
            Some(Health::Failed) => receiver.failed(self.rest, now),
            None => {}
        }
        if receiver.is_forgettable() {
            known.remove(&webhook);
        }
    }
}

impl Receiver {
    const NEW: Self = Self { in_flight: 0, window: WINDOW_START, failures: 0, rests_until: None };

    fn room(&self, now: Instant) -> u32 {
        match self.rests_until {
            Some(until) if now < until => 0,
            // After a rest one delivery finds out whether it is over.
            Some(_) => 1_u32.saturating_sub(self.in_flight),
            None => self.window.saturating_sub(self.in_flight),
        }
    }

    fn answered(&mut self, took: Duration) {
        let window = if took > SLOW { self.window / 2 } else { self.window * 2 };
        self.window = window.clamp(2, WINDOW_MAX);
        (self.failures, self.rests_until) = (0, None);
    }

    fn failed(&mut self, rest: Duration, now: Instant) {
        let is_resting = self.rests_until.is_some_and(|until| now < until);
        if !is_resting {
            // Of those that were sent together, one counts.
            let times = 1_u32.checked_shl(self.failures).unwrap_or(RESTS_MAX).min(RESTS_MAX);
            self.failures = self.failures.saturating_add(1);
            self.rests_until = Some(now + rest.saturating_mul(times));
        }
        self.window = 1;
    }

    /// Whether it is as one that nothing is known of.
    fn is_forgettable(&self) -> bool {
        self.in_flight == 0 && self.rests_until.is_none() && self.window == WINDOW_START
    }
}

#[cfg(test)]
mod tests {
    use rowmill_clock::{Clock as _, SystemClock};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_dead_receiver_rests_and_a_quick_one_gets_more() {
        let (dead, quick) =
            (WebhookId::from_uuid(Uuid::from_u128(1)), WebhookId::from_uuid(Uuid::from_u128(2)));
        let rest = Duration::from_secs(1);
        let (receivers, now) = (Receivers::new(rest), SystemClock.monotonic());
        let room = |webhook: WebhookId, now: Instant| {
            let rooms = receivers.rooms(now);
            rooms.iter().find(|(id, _)| *id == webhook).map_or(WINDOW_START, |(_, room)| *room)
        };
        for _ in 0..3 {
            receivers.begin(quick);
            receivers.end(quick, Some(Health::Answered(Duration::from_millis(3))), now);
        }
        assert_eq!(room(quick, now), WINDOW_MAX);
        for _ in 0..3 {
            receivers.begin(dead);
        }
        for _ in 0..3 {
            receivers.end(dead, Some(Health::Failed), now);
        }
        assert_eq!((room(dead, now), receivers.next_rested(now)), (0, Some(rest)));
        let later = now + rest;
        assert_eq!(room(dead, later), 1);
        receivers.begin(dead);
        assert_eq!(room(dead, later), 0, "one finds out");
        receivers.end(dead, Some(Health::Failed), later);
        assert_eq!(receivers.next_rested(later), Some(2 * rest));
        receivers.begin(dead);
        receivers.end(dead, Some(Health::Answered(Duration::ZERO)), later + 2 * rest);
        assert_eq!(room(dead, later + 2 * rest), 2);
    }
}
