//! How far apart things must be for a rate to be kept (the generic cell rate algorithm).
//!
//! All that must be remembered of the past is one number: when the next one is due by even spacing. Some may
//! come at once, ahead of that, by the slack. Times are nanoseconds, since whenever the caller likes.

use crate::column::RateLimit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    pub interval: i64,
    /// How far ahead of their even spacing things may come.
    pub slack: i64,
}

const SECOND: i64 = 1_000_000_000;

impl Spacing {
    /// Keeps a rate of *n* in *p* seconds in every window of *p* seconds, not only on average: a tenth may
    /// come at once, the rest evenly spaced behind them, and both together are *n*.
    pub fn in_every_window(rate: &RateLimit) -> Self {
        let requests = i64::from(rate.requests.max(1));
        let burst = (requests / 10).max(1);
        let window = i64::from(rate.per_seconds.max(1)) * SECOND;
        // Rounded up: a nanosecond too early would be one too many.
        let spaced = requests - burst + 1;
        let interval = (window + spaced - 1) / spaced;
        Self { interval, slack: (burst - 1) * interval }
    }

    /// A bucket of `burst` tokens that gains `per_second`.
    pub fn of_bucket(per_second: u32, burst: u32) -> Self {
        let interval = (SECOND / i64::from(per_second.max(1))).max(1);
        Self { interval, slack: i64::from(burst.max(1) - 1) * interval }
    }

    /// How many may come at once after a long rest.
    pub fn burst(&self) -> u64 {
        self.available(i64::MIN, 0)
    }

    /// How many may come now.
    pub fn available(&self, due: i64, now: i64) -> u64 {
        let ahead = due.max(now) - now;
        if ahead > self.slack {
            0
        } else {
            (self.slack - ahead).unsigned_abs() / self.interval.unsigned_abs() + 1
        }
    }

    /// When the next one may come.
    pub fn available_at(&self, due: i64) -> i64 {
        due.saturating_sub(self.slack)
    }

    /// When the next one is due if so many of those before did not come after all. What is past is past: no
    /// more can come at once than ever.
    pub fn give_back(&self, due: i64, now: i64, count: u32) -> i64 {
        due.saturating_sub(self.interval.saturating_mul(count.into())).max(due.min(now))
    }

    /// When the next one is due after so many have come now, whether they should have or not.
    pub fn take(&self, due: i64, now: i64, count: u32) -> i64 {
        due.max(now).saturating_add(self.interval.saturating_mul(count.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let bucket = Spacing::of_bucket(2, 3);
        assert_eq!((bucket.burst(), bucket.available(i64::MIN, 7)), (3, 3));
        let due = bucket.take(i64::MIN, 0, 3);
        assert_eq!((bucket.available(due, 0), bucket.available_at(due)), (0, SECOND / 2));
        assert_eq!(bucket.available(due, SECOND / 2), 1);
        assert_eq!(bucket.available(due, 60 * SECOND), 3);
    }

    #[test]
    fn what_did_not_come_may_come_later() {
        let bucket = Spacing::of_bucket(2, 3);
        let due = bucket.take(i64::MIN, 0, 3);
        assert_eq!(bucket.available(bucket.give_back(due, 0, 2), 0), 2);
        assert_eq!(bucket.available(bucket.give_back(due, SECOND, 9), SECOND), 3);
        assert_eq!(bucket.give_back(due, 9 * SECOND, 9), due);
    }

    #[test]
    fn what_was_too_much_is_paid_back() {
        let bucket = Spacing::of_bucket(2, 3);
        let due = bucket.take(i64::MIN, 0, 9);
        assert_eq!((bucket.available(due, 3 * SECOND), bucket.available(due, 4 * SECOND)), (0, 2));
    }
}
