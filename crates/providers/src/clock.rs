//! Time comes in by the door, so that waits can be simulated.

use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use jiff::Timestamp;

/// Tells the time and waits.
#[async_trait]
pub trait Clock: std::fmt::Debug + Send + Sync {
    fn now(&self) -> Timestamp;

    async fn sleep(&self, duration: Duration);
}

/// The machine's own clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::try_from(SystemTime::now()).unwrap_or(Timestamp::MAX)
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
