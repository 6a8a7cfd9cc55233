//! What an operator sees of a store: the work that waits in it, and how the database is.

use async_trait::async_trait;
use rowmill_model::plan::Tally;
use rowmill_model::{ProjectId, TeamId};

use crate::error::Result;

/// A project in which cells wait or run.
#[derive(Debug, Clone)]
pub struct BusyProject {
    pub project: ProjectId,
    pub team: TeamId,
    /// Of the project's document: it is another one once that changed.
    pub version: u64,
    pub tally: Tally,
}

/// How the database is, as far as that can be told without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DatabaseStats {
    /// What it takes on the disk.
    pub bytes: u64,
    /// The size of the write-ahead log. `None` if only an administrator of the database can tell.
    pub wal_bytes: Option<u64>,
    /// What was ever written to the write-ahead log. `None` if nobody counts.
    pub wal_written_bytes: Option<u64>,
}

/// The connections of this process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PoolStats {
    pub in_use: u64,
    pub idle: u64,
    /// `None` if there are as many as are needed.
    pub max: Option<u64>,
    /// Who waits for a connection or, where there is a single writer, for that.
    pub waiting: u64,
}

#[async_trait]
pub trait ObserveStore: Send + Sync {
    /// The projects with cells that wait or run, by id; at most so many of them.
    async fn busy_projects(&self, most: u32) -> Result<Vec<BusyProject>>;

    async fn database_stats(&self) -> Result<DatabaseStats>;

    /// The connections. The database is not asked: they are of interest when it does not answer.
    fn pool_stats(&self) -> PoolStats;
}
