//! The clock that all nodes on one database share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rowmill_clock::{Clock, SystemClock};
use rowmill_store::Store;

/// The database's clock, told by this machine's and how far that is off. Machines whose clocks disagree agree
/// on it, so what one node writes down another reads right: leases, retries, sessions, what expires.
#[derive(Debug, Clone)]
pub(crate) struct SharedClock(pub(crate) Arc<dyn Store>);

#[async_trait]
impl Clock for SharedClock {
    fn now(&self) -> Timestamp {
        let machine = SystemClock.now();
        let ahead = SignedDuration::from_millis(self.0.clock_ahead_ms());
        machine.saturating_add(ahead).unwrap_or(machine)
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration).await;
    }
}
