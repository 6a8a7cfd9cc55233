//! What the team's tables hold.

use axum::http::Method;
use rowmill_app::ProjectUsage;
use rowmill_model::Scopes;
use rowmill_model::plan::ColumnTally;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint};
use crate::error::Error;
use crate::payload::Nothing;
use crate::state::ApiState;

pub(crate) struct GetUsage;

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Usage {
    /// Newest first.
    projects: Vec<ProjectUsageOut>,
    totals: UsageTotals,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProjectUsage")]
struct ProjectUsageOut {
    #[schemars(length(max = 37))]
    id: String,
    #[schemars(length(max = 255))]
    name: String,
    rows: u64,
    cells: CellCounts,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct UsageTotals {
    projects: u64,
    rows: u64,
    /// Bytes of the values of all rows, as they are stored: the JSON text of each cell, and a few bytes more.
    /// `teamBytesMax` limits it. Omitted for a key that is limited to projects.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_bytes: Option<u64>,
    cells: CellCounts,
}

/// Number of cells of processed columns in each state.
#[derive(Debug, Default, Clone, Serialize, JsonSchema)]
struct CellCounts {
    idle: u64,
    queued: u64,
    generating: u64,
    completed: u64,
    error: u64,
    skipped: u64,
}

impl From<ColumnTally> for CellCounts {
    fn from(tally: ColumnTally) -> Self {
        let ColumnTally { idle, queued, generating, completed, error, skipped, stale: _ } = tally;
        Self { idle, queued, generating, completed, error, skipped }
    }
}

impl CellCounts {
    fn add(&mut self, other: &Self) {
        let Self { idle, queued, generating, completed, error, skipped } = other;
        self.idle += idle;
        self.queued += queued;
        self.generating += generating;
        self.completed += completed;
        self.error += error;
        self.skipped += skipped;
    }
}

impl Endpoint<ApiState> for GetUsage {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getUsage";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Team";
    const SUMMARY: &'static str = "Get usage";
    const DESCRIPTION: &'static str = "Returns the number of rows and processed cells for each project of the team, and the totals. Projects of an \
         earlier version are counted at the first call, which can take a while.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Usage;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Usage>, Error> {
        let stored_bytes = call.app().stored_bytes(call.caller()?).await?;
        let mut totals = UsageTotals { stored_bytes, ..UsageTotals::default() };
        let mut projects = Vec::new();
        for ProjectUsage { id, title, rows, cells } in call.app().usage(call.caller()?).await? {
            let cells = CellCounts::from(cells);
            totals.projects += 1;
            totals.rows += rows;
            totals.cells.add(&cells);
            projects.push(ProjectUsageOut { id, name: title, rows, cells });
        }
        Ok(Answer::new(Usage { projects, totals }))
    }
}
