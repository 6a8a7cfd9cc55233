//! The interface to whatever runs a trial: it calls other servers, which the use cases do not.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use rowmill_model::provider::Provider;
use rowmill_model::{CellError, Column, Project, Record, RowId, TeamId};
use serde_json::{Map, Value};

use crate::forecaster::Forecast;

/// Whoever can call the outside: the binary says who that is.
#[async_trait]
pub trait Trial: fmt::Debug + Send + Sync + 'static {
    /// What would be sent for a cell, without secrets; or why nothing would.
    async fn resolve(&self, cell: &TrialCell) -> Result<Map<String, Value>, CellError>;

    /// Runs a cell once. Nothing of it is stored.
    async fn run(&self, cell: &TrialCell) -> TrialOutcome;

    /// Runs a cell for so long at most. Where a rate limit is reached, it waits for its turn.
    async fn run_within(&self, cell: &TrialCell, time: Duration) -> TrialOutcome;

    /// Whom a column asks, and how fast it may.
    async fn forecast(&self, project: &Project, column: &Column) -> Forecast;

    /// Asks a provider something harmless with the team's credential: what it says, or why it does not.
    async fn test(&self, team: TeamId, provider: &'static Provider) -> Result<String, String>;
}

/// A cell as it would be if the column were kept.
#[derive(Debug, Clone)]
pub struct TrialCell {
    pub project: Arc<Project>,
    pub column: Arc<Column>,
    pub row: RowId,
    pub values: Record,
}

/// What became of a try.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialOutcome {
    /// Raw JSON text, null where there is cleanly nothing.
    Completed(Box<str>, Map<String, Value>),
    Failed(CellError, Map<String, Value>),
    Skipped(CellError),
}

/// Who tries, once that is known.
#[derive(Debug, Default)]
pub(crate) struct Tester(OnceLock<Arc<dyn Trial>>);

impl Tester {
    /// The first to be set stays.
    pub(crate) fn set(&self, trial: Arc<dyn Trial>) {
        let _ = self.0.set(trial);
    }

    pub(crate) fn get(&self) -> Option<&dyn Trial> {
        self.0.get().map(AsRef::as_ref)
    }
}
