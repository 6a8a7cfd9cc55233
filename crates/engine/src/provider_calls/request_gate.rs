//! Where each request of a search, or of a page, waits its turn.

use std::time::Duration;

use async_trait::async_trait;
use rowmill_clock::Clock;
use rowmill_providers::Gate;

use crate::call_limits::{CallLimit, CallLimits, LimitReached};
use crate::cell_runner::Cell;
use crate::time_left::time_left;

/// Where each request of a search waits its turn.
pub(super) struct RequestGate<'a> {
    pub(super) call_limits: &'a CallLimits,
    pub(super) limits: Vec<CallLimit>,
    pub(super) clock: &'a dyn Clock,
    pub(super) cell: &'a Cell,
}

#[async_trait]
impl Gate for RequestGate<'_> {
    async fn acquire(&self) {
        loop {
            if self.cell.is_revoked() {
                // The task is being aborted: nothing more may be sent.
                std::future::pending::<()>().await;
            }
            let now = self.clock.now();
            match self.call_limits.try_acquire(&self.limits, now) {
                Ok(permit) => return drop(permit),
                Err(LimitReached { available_at, cause: _ }) => {
                    let wait = available_at
                        .map_or(Duration::from_millis(100), |available_at| time_left(now, available_at));
                    self.clock.sleep(wait).await;
                }
            }
        }
    }
}
