//! The one clock. Code that asks for the time takes a [`Clock`], so that a test can put a simulated one in its place.
//!
//! Reading the time in any other way is banned in clippy.toml.

use std::time::{Duration, Instant};

use async_trait::async_trait;
use jiff::Timestamp;

/// Tells the time, and waits.
#[async_trait]
pub trait Clock: std::fmt::Debug + Send + Sync + 'static {
    /// The time of day. It may jump in either direction when the machine's clock is set.
    fn now(&self) -> Timestamp;

    /// The time of day, in milliseconds since 1970.
    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }

    /// Monotonic time, for measuring and for deadlines: it never goes back, whatever happens to the time of day.
    fn monotonic(&self) -> Instant;

    async fn sleep(&self, duration: Duration);
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "everybody else asks this clock")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }

    #[expect(clippy::disallowed_methods, reason = "everybody else asks this clock")]
    fn monotonic(&self) -> Instant {
        Instant::now()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// The clock of the async runtime. A test can pause the runtime's time; this clock then stands still while anything
/// has work to do, and jumps to the next timer when nothing has.
#[derive(Debug, Clone, Copy)]
pub struct RuntimeClock {
    epoch: Timestamp,
    started: tokio::time::Instant,
}

impl RuntimeClock {
    /// A clock that says `epoch` now.
    #[expect(clippy::disallowed_methods, reason = "everybody else asks this clock")]
    pub fn new(epoch: Timestamp) -> Self {
        Self { epoch, started: tokio::time::Instant::now() }
    }
}

#[async_trait]
impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        self.epoch.saturating_add(self.started.elapsed()).unwrap_or(Timestamp::MAX)
    }

    fn monotonic(&self) -> Instant {
        (self.started + self.started.elapsed()).into_std()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}
