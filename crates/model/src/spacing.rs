//! How far apart things must be for a rate to be kept (the generic cell rate algorithm).
//!
//! All that must be remembered of the past is one number: when the next one is due by even spacing. Some may
//! come at once, ahead of that, by the slack. Times are nanoseconds since any moment that the caller chooses.

use crate::column::RateLimit;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spacing {
    pub interval_ns: i64,
    /// How far ahead of their even spacing things may come.
    pub slack_ns: i64,
}

const SECOND_NS: i64 = 1_000_000_000;

impl Spacing {
    /// Keeps a rate of *n* in *p* seconds in every window of *p* seconds, not only on average: a tenth may
    /// come at once, the rest evenly spaced behind them, and both together are *n*.
    pub fn in_every_window(rate: &RateLimit) -> Self {
        let requests = i64::from(rate.requests.max(1));
        let burst = (requests / 10).max(1);
        let window_ns = i64::from(rate.per_seconds.max(1)) * SECOND_NS;
        // Rounded up: a nanosecond too early would be one too many.
        let spaced = requests - burst + 1;
        let interval_ns = (window_ns + spaced - 1) / spaced;
        Self { interval_ns, slack_ns: (burst - 1) * interval_ns }
    }

    /// A bucket of `burst` tokens that gains `per_second`.
    pub fn of_bucket(per_second: u32, burst: u32) -> Self {
        let interval_ns = (SECOND_NS / i64::from(per_second.max(1))).max(1);
        Self { interval_ns, slack_ns: i64::from(burst.max(1) - 1) * interval_ns }
    }

    /// How many may come at once after a long rest.
    pub fn burst(&self) -> u64 {
        self.available(i64::MIN, 0)
    }

    /// How many may come now.
    pub fn available(&self, due_ns: i64, now_ns: i64) -> u64 {
        let ahead_ns = due_ns.max(now_ns) - now_ns;
        if ahead_ns > self.slack_ns {
            0
        } else {
            (self.slack_ns - ahead_ns).unsigned_abs() / self.interval_ns.unsigned_abs() + 1
        }
    }

    /// When the next one may come.
    pub fn available_at_ns(&self, due_ns: i64) -> i64 {
        due_ns.saturating_sub(self.slack_ns)
    }

    /// When the next one is due if so many of those before did not come after all. What is past is past: no
    /// more can come at once than ever.
    pub fn give_back(&self, due_ns: i64, now_ns: i64, count: u32) -> i64 {
        due_ns.saturating_sub(self.interval_ns.saturating_mul(count.into())).max(due_ns.min(now_ns))
    }

    /// When the next one is due after so many have come now, whether they should have or not.
    pub fn take(&self, due_ns: i64, now_ns: i64, count: u32) -> i64 {
        due_ns.max(now_ns).saturating_add(self.interval_ns.saturating_mul(count.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_its_rate() {
        let bucket = Spacing::of_bucket(2, 3);
        assert_eq!((bucket.burst(), bucket.available(i64::MIN, 7)), (3, 3));
        let due_ns = bucket.take(i64::MIN, 0, 3);
        assert_eq!((bucket.available(due_ns, 0), bucket.available_at_ns(due_ns)), (0, SECOND_NS / 2));
        assert_eq!(bucket.available(due_ns, SECOND_NS / 2), 1);
        assert_eq!(bucket.available(due_ns, 60 * SECOND_NS), 3);
    }

    #[test]
    fn what_did_not_come_may_come_later() {
        let bucket = Spacing::of_bucket(2, 3);
        let due_ns = bucket.take(i64::MIN, 0, 3);
        assert_eq!(bucket.available(bucket.give_back(due_ns, 0, 2), 0), 2);
        assert_eq!(bucket.available(bucket.give_back(due_ns, SECOND_NS, 9), SECOND_NS), 3);
        assert_eq!(bucket.give_back(due_ns, 9 * SECOND_NS, 9), due_ns);
    }

    #[test]
    fn what_was_too_much_is_paid_back() {
        let bucket = Spacing::of_bucket(2, 3);
        let due_ns = bucket.take(i64::MIN, 0, 9);
        assert_eq!(
            (bucket.available(due_ns, 3 * SECOND_NS), bucket.available(due_ns, 4 * SECOND_NS)),
            (0, 2)
        );
    }
}
