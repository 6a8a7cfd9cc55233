//! How long to sleep until a given time, and what time it is after a while.

use std::time::Duration;

use jiff::Timestamp;

/// The time after a wait.
pub(crate) fn after(time: Timestamp, wait: Duration) -> Timestamp {
    time.saturating_add(wait).unwrap_or(Timestamp::MAX)
}

/// The time from `now` to `then`, at least a millisecond, so that a loop that waits for it never spins.
pub(crate) fn time_left(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default().max(Duration::from_millis(1))
}
