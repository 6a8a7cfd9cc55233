//! The seam to whoever writes rows of other projects: fan-out columns make such rows.

use async_trait::async_trait;
use rowmill_model::{CellError, ProjectId, TeamId};

/// Writes rows of a team's projects, as if they had been posted. It holds the team to its quotas.
#[async_trait]
pub trait RowWriter: std::fmt::Debug + Send + Sync + 'static {
    /// Inserts rows, and updates those that are there. All or none are written.
    async fn write(&self, rows: RowsToWrite<'_>) -> Result<RowCounts, RowRefusal>;
}

/// Rows for another project.
#[derive(Debug, Clone, Copy)]
pub struct RowsToWrite<'a> {
    pub team: TeamId,
    /// The project that the list is in.
    pub source: ProjectId,
    /// The id of the project that gets the rows, as the column has it.
    pub target: &'a str,
    /// The id of the target's column by which rows are found again.
    pub match_on: &'a str,
    /// Each the JSON object of a row: column ids and values.
    pub rows: &'a [String],
}

/// What became of rows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RowCounts {
    pub created: u64,
    pub updated: u64,
    pub unchanged: u64,
}

/// Why rows were not written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowRefusal {
    pub error: CellError,
    /// Whether another try may succeed.
    pub is_transient: bool,
}
