//! The time that all nodes go by.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use rowmill_app::Clock as _;
use rowmill_store::Store;

/// The database's clock, told by this machine's and how far that is off. Machines whose clocks disagree agree
/// on it, so what one node writes down another reads right: leases, retries, sessions, what expires.
#[derive(Debug, Clone)]
pub(crate) struct SharedClock(pub(crate) Arc<dyn Store>);

impl SharedClock {
    fn time(&self) -> Timestamp {
        let machine = rowmill_app::SystemClock.now();
        let ahead = SignedDuration::from_millis(self.0.clock_ahead_ms());
        machine.saturating_add(ahead).unwrap_or(machine)
    }
}

impl rowmill_app::Clock for SharedClock {
    fn now(&self) -> Timestamp {
        self.time()
    }
}

#[async_trait]
impl rowmill_providers::Clock for SharedClock {
    fn now(&self) -> Timestamp {
        self.time()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
