//! Holds teams to their quotas.
//!
//! Counters are added up, so this does not depend on the rows. Requests at the same moment may each use what is left.
//! Results of processing are always written: they were paid for. What they take leaves less for rows and edits.

use rowmill_model::TeamId;
use rowmill_store::StoreError;

use crate::app::App;
use crate::error::{Error, Result};
use crate::quotas::Quotas;

impl App {
    /// How many rows a team may add; none if there is no quota.
    pub(crate) async fn new_rows_max(&self, team: TeamId) -> Result<Option<u64>> {
        let Some(rows_max) = self.quotas.team_rows_max else { return Ok(None) };
        Ok(Some(rows_max.saturating_sub(self.store.count_team_rows(team).await?)))
    }

    /// By how many bytes a team's values may grow; none if there is no quota.
    pub(crate) async fn new_bytes_max(&self, team: TeamId) -> Result<Option<u64>> {
        let Some(bytes_max) = self.quotas.team_bytes_max else { return Ok(None) };
        Ok(Some(bytes_max.saturating_sub(self.team_bytes(team).await?)))
    }

    /// What a team's values take.
    pub(crate) async fn team_bytes(&self, team: TeamId) -> Result<u64> {
        let known = self.store.team_bytes(team).await?;
        if known.uncounted.is_empty() {
            return Ok(known.bytes);
        }
        // Once in a project's life. Whoever comes meanwhile waits, so that no two go over the same rows.
        let _turn = self.counting.lock().await;
        for project in self.store.team_bytes(team).await?.uncounted {
            self.store.count_bytes(project).await?;
        }
        Ok(self.store.team_bytes(team).await?.bytes)
    }

    /// Says of a write that a quota did not let through which one that was.
    pub(crate) fn quota_error(&self, error: StoreError) -> Error {
        match error {
            StoreError::Full => exceeded("rows", self.quotas.team_rows_max, "teamRowsMax", "Delete rows"),
            StoreError::BytesFull => exceeded(
                "bytes of values",
                self.quotas.team_bytes_max,
                "teamBytesMax",
                "Delete rows, write shorter values",
            ),
            other => other.into(),
        }
    }

    pub fn quotas(&self) -> Quotas {
        self.quotas
    }
}

fn exceeded(what: &str, max: Option<u64>, name: &str, remedy: &str) -> Error {
    let max = max.unwrap_or(u64::MAX);
    Error::QuotaExceeded(format!(
        "The team would have more {what} than it can have: {max} ({name}). {remedy}, or ask the operator for more"
    ))
}
