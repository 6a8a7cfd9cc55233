//! How long a task that could run waits for a thread.

use std::time::Duration;

use rowmill_clock::{Clock as _, SystemClock};

const LOOK_EVERY: Duration = Duration::from_millis(500);

/// Measures how late a timer fires, for as long as the process lives.
pub(crate) async fn watch() {
    loop {
        let due = SystemClock.monotonic() + LOOK_EVERY;
        SystemClock.sleep(LOOK_EVERY).await;
        let delay = SystemClock.monotonic().saturating_duration_since(due);
        metrics::histogram!("rowmill_event_loop_delay_seconds").record(delay);
    }
}
