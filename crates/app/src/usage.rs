//! What a team's tables hold.

use rowmill_model::plan::ColumnTally;
use rowmill_store::ProjectPage;

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Result};

/// What one project holds.
#[derive(Debug, Clone)]
pub struct ProjectUsage {
    pub id: String,
    pub title: String,
    pub rows: u64,
    /// The cells of all processed columns.
    pub cells: ColumnTally,
}

impl App {
    /// What the values of the team's rows take, in bytes. Nobody counts it by project, so a key that is limited to some is
    /// not told.
    pub async fn stored_bytes(&self, caller: Caller) -> Result<Option<u64>> {
        match caller.for_whole_team() {
            Ok(principal) => self.team_bytes(principal.team).await.map(Some),
            Err(Error::LimitedToProjects) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The team's projects, newest first. The counts are kept, so that this does not depend on the rows.
    pub async fn usage(&self, caller: Caller) -> Result<Vec<ProjectUsage>> {
        let team = caller.with_key()?.team;
        let limits = self.project_limits(caller).await?;
        let mut usage = Vec::new();
        for summary in self.store.projects(team, None, ProjectPage::ALL).await? {
            if limits.as_ref().is_some_and(|limits| !limits.allows_project(summary.id)) {
                continue;
            }
            // Deleted meanwhile.
            let Some(standing) = self.store.processing_status(summary.id).await? else { continue };
            let processed = standing.project.table.columns.iter().filter(|column| column.kind.is_processed());
            let columns = processed.map(|column| standing.tally.column(column.slot, standing.row_count));
            usage.push(ProjectUsage {
                id: summary.id.to_string(),
                title: summary.title,
                rows: standing.row_count,
                cells: columns.fold(NONE, sum),
            });
        }
        Ok(usage)
    }
}

const NONE: ColumnTally =
    ColumnTally { idle: 0, queued: 0, generating: 0, completed: 0, error: 0, skipped: 0, stale: 0 };

fn sum(one: ColumnTally, other: ColumnTally) -> ColumnTally {
    ColumnTally {
        idle: one.idle + other.idle,
        queued: one.queued + other.queued,
        generating: one.generating + other.generating,
        completed: one.completed + other.completed,
        error: one.error + other.error,
        skipped: one.skipped + other.skipped,
        stale: one.stale + other.stale,
    }
}
