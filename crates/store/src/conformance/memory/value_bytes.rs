//! How many bytes values take: counted anew whenever it is asked.

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};

use super::MemoryStore;
use super::project::MemoryProject;
use super::state::State;
use crate::error::Result;
use crate::value_bytes::{TeamBytes, ValueBytesStore};

#[async_trait]
impl ValueBytesStore for MemoryStore {
    async fn team_bytes(&self, team: TeamId) -> Result<TeamBytes> {
        self.read(|state| {
            let bytes: i64 = state.projects_of(team, None).map(MemoryProject::value_bytes).sum();
            Ok(TeamBytes { bytes: bytes.unsigned_abs(), uncounted: Vec::new() })
        })
    }

    async fn count_bytes(&self, _: ProjectId) -> Result<()> {
        Ok(())
    }
}

impl State {
    /// What a project's values take, where that is to be limited.
    pub(super) fn bytes_if(&self, id: ProjectId, bytes_max: Option<u64>) -> Result<i64> {
        bytes_max.map_or(Ok(0), |_| Ok(self.entry(id)?.value_bytes()))
    }
}

impl MemoryProject {
    pub(super) fn value_bytes(&self) -> i64 {
        let bytes: usize = self.rows.values().map(|row| row.values.as_bytes().len()).sum();
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}
