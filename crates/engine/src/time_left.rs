//! How long to sleep until a given time.

use std::time::Duration;

use jiff::Timestamp;

/// The time from `now` to `then`, at least a millisecond, so that a loop that waits for it never spins.
pub(crate) fn time_left(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default().max(Duration::from_millis(1))
}
