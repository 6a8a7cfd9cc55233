//! How many bytes the values of rows take.
//!
//! A project's counter grows and shrinks with every write, so that nothing is read to know it. Projects that an earlier
//! version made, or that were moved here, have to be counted once. That needs no lock: in one snapshot, what the rows
//! take is compared with how far the counter has come, and the difference holds from then on.

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};

use crate::error::{Result, StoreError};

/// What the rows of a team's projects take, as stored: the JSON texts of their cells, and a few bytes for each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamBytes {
    /// Of the projects whose bytes are known.
    pub bytes: u64,
    /// The others.
    pub uncounted: Vec<ProjectId>,
}

/// Knows how many bytes values take.
#[async_trait]
pub trait ValueBytesStore: Send + Sync {
    /// Adds up the counters of a team's projects.
    async fn team_bytes(&self, team: TeamId) -> Result<TeamBytes>;

    /// Counts a project that is [uncounted](TeamBytes::uncounted). It goes over all its rows.
    async fn count_bytes(&self, project: ProjectId) -> Result<()>;
}

/// Holds a write to `new_bytes_max`, if it makes the values take so many bytes more, or fewer.
pub fn check_new_bytes(change: i64, new_bytes_max: Option<u64>) -> Result<()> {
    match (u64::try_from(change), new_bytes_max) {
        (Ok(new), Some(max)) if new > max => Err(StoreError::BytesFull),
        _ => Ok(()),
    }
}
