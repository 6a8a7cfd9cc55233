//! Removes what is too old to be used: lines of the ledger, and kept answers.

use std::time::Duration;

use rowmill_model::spending::day_of;
use rowmill_store::spending::LEDGER_DAYS;

use crate::app::App;
use crate::error::Result;

/// How often it is looked for.
const SWEEP_EVERY: Duration = Duration::from_mins(10);
/// A pause between two slices, so that nobody waits for the sweep.
const SWEEP_PAUSE: Duration = Duration::from_millis(50);

impl App {
    /// Removes old lines of the ledger and kept answers whose time is over, for as long as the process runs.
    pub async fn keep_spending_swept(&self) {
        loop {
            match self.sweep_spending().await {
                Ok(true) => self.clock.sleep(SWEEP_PAUSE).await,
                Ok(false) => self.clock.sleep(SWEEP_EVERY).await,
                Err(failure) => {
                    tracing::warn!(%failure, "could not remove old lines of the ledger; it is tried again");
                    self.clock.sleep(SWEEP_EVERY).await;
                }
            }
        }
    }

    /// A slice of both; says whether there may be more.
    async fn sweep_spending(&self) -> Result<bool> {
        let now_ms = self.clock.now_ms();
        let has_lines = self.store.sweep_ledger(day_of(now_ms) - LEDGER_DAYS).await?;
        Ok(self.store.sweep_answers(now_ms).await? || has_lines)
    }
}
