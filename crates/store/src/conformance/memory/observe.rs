//! What an operator sees: looked up in everything.

use async_trait::async_trait;

use super::MemoryStore;
use crate::error::Result;
use crate::observe::{BusyProject, DatabaseStats, ObserveStore, PoolStats};

#[async_trait]
impl ObserveStore for MemoryStore {
    async fn busy_projects(&self, most: u32) -> Result<Vec<BusyProject>> {
        self.read(|state| {
            let busy = state.projects.values().filter(|entry| entry.tally.pending() > 0);
            let busy = busy.map(|entry| BusyProject {
                project: entry.project.id,
                team: entry.project.team,
                version: entry.version,
                tally: entry.tally.clone(),
            });
            Ok(busy.take(usize::try_from(most).unwrap_or(usize::MAX)).collect())
        })
    }

    async fn database_stats(&self) -> Result<DatabaseStats> {
        Ok(DatabaseStats::default())
    }

    fn pool_stats(&self) -> PoolStats {
        PoolStats::default()
    }
}
