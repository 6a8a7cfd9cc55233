//! Time comes in by the door.

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: std::fmt::Debug + Send + Sync + 'static {
    fn now(&self) -> Timestamp;

    fn now_ms(&self) -> i64 {
        self.now().as_millisecond()
    }
}

/// The machine's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}
