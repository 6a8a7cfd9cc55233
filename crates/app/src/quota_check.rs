//! Holds teams to their quotas.

use rowmill_model::TeamId;

use crate::app::App;
use crate::error::{Error, Result};
use crate::quotas::Quotas;

impl App {
    /// How many rows a team may add; none if there is no quota. The counters of its projects are added up, so this
    /// does not depend on the rows. Requests at the same moment may each use what is left.
    pub(crate) async fn new_rows_max(&self, team: TeamId) -> Result<Option<u64>> {
        let Some(rows_max) = self.quotas.team_rows_max else { return Ok(None) };
        Ok(Some(rows_max.saturating_sub(self.store.count_team_rows(team).await?)))
    }

    pub(crate) fn rows_quota_exceeded(&self) -> Error {
        let rows_max = self.quotas.team_rows_max.unwrap_or(u64::MAX);
        Error::QuotaExceeded(format!(
            "The team has as many rows as it can have: {rows_max} (teamRowsMax), counting the rows in the \
             trash. Delete rows and empty the trash, or ask the operator for more"
        ))
    }

    pub fn quotas(&self) -> Quotas {
        self.quotas
    }
}
