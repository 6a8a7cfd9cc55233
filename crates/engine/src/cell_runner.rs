//! The trait by which the engine runs a cell, and the outcome of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, Column, ErrorCode, Project, Record, RowId, TeamId};
use rowmill_providers::Failure;
use rowmill_providers::llm::batch::{BatchApi, BatchOutcome};
use rowmill_providers::llm::{Dialect, Question};
use rowmill_store::{Lane, RowValues, Ticket};
use rowmill_telemetry::TraceContext;

use crate::digest::Digest;

/// Finds the values of cells.
#[async_trait]
pub trait CellRunner: std::fmt::Debug + Send + Sync + 'static {
    /// How many cells of a column may be begun now.
    async fn capacity(&self, project: &Project, column: &Column) -> Capacity;

    /// Whom a column pays. One that pays nobody is under no spending cap.
    async fn payees(&self, _project: &Project, _column: &Column) -> Payees {
        Payees::default()
    }

    /// Runs a cell to one outcome. Dropping the future aborts whatever it does.
    async fn call(&self, cell: &Cell) -> CallOutcome;

    /// How cells are run in batches, if they can be.
    fn batches(&self) -> Option<&dyn BatchCalls> {
        None
    }

    /// The results of these cells are stored: what was kept in case they had to run again can go.
    async fn settled(&self, _tickets: &[Ticket]) {}
}

/// A cell's question, and whom it is for. All questions of a batch are for the same model.
#[derive(Debug)]
pub struct BatchQuestion {
    pub provider: &'static str,
    pub question: Question,
    pub dialect: Dialect,
}

/// Asks models in batches.
#[async_trait]
pub trait BatchCalls: Send + Sync {
    /// What a cell asks; its outcome if it cannot be asked.
    async fn question(&self, cell: &Cell) -> Result<BatchQuestion, CallOutcome>;

    /// The batch API of a provider, by its id, with what the team has.
    async fn api(&self, team: TeamId, provider: &str) -> Result<BatchApi, Failure>;

    /// What a result comes to. `asked` is the provider's id and the model.
    fn outcome(
        &self,
        api: &BatchApi,
        asked: (&str, &str),
        column: &Column,
        outcome: BatchOutcome,
    ) -> CallOutcome;
}

/// Whom a column pays, and what one of its cells may take.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Payees {
    /// By id. A model's own provider comes first.
    pub providers: Vec<String>,
    /// The model that is asked, if it is one.
    pub model: Option<String>,
    pub input_tokens: f64,
    pub output_tokens: f64,
    /// Web searches, and who is asked for them, in order.
    pub searches: f64,
    pub search_providers: Vec<String>,
    /// Whether the model is asked in batches, which costs less.
    pub is_batch: bool,
}

/// A cell to run.
#[derive(Debug, Clone)]
pub struct Cell {
    pub ticket: Ticket,
    pub row: RowId,
    /// What the column reads of the row, as it was claimed.
    pub values: RowValues,
    /// Tries of this run that failed.
    pub attempts: u32,
    /// When it first failed or was put off in this run.
    pub waiting_since: Option<Timestamp>,
    /// The number of the project's run; none for a trial.
    pub run: Option<u64>,
    /// The trace of the request that started that run.
    pub trace: Option<TraceContext>,
    pub project: Arc<Project>,
    pub column: Arc<Column>,
    pub(crate) revoked: Arc<AtomicBool>,
}

impl Cell {
    /// A cell that nobody claimed: what becomes of it is stored nowhere.
    pub fn in_trial(project: Arc<Project>, column: Arc<Column>, row: RowId, values: Record) -> Self {
        let lane = Lane { project: project.id, slot: column.slot };
        Self {
            ticket: Ticket { token: 0, lane, position: 0 },
            row,
            values: values.into(),
            attempts: 0,
            waiting_since: None,
            run: None,
            trace: None,
            project,
            column,
            revoked: Arc::default(),
        }
    }

    /// What becomes of a cell that a value was missed for: it was claimed without it, and must not be taken for empty.
    pub(crate) fn incomplete(&self) -> Option<CallOutcome> {
        self.values.missed()?;
        let message = "An internal error: an input of this cell was not read.";
        Some(CallOutcome::failed(ErrorCode::ProviderError, message))
    }

    /// Whether the cell was taken away meanwhile: then nothing may be begun for it.
    pub fn is_revoked(&self) -> bool {
        self.revoked.load(Ordering::Acquire)
    }
}

/// What became of a try.
#[derive(Debug, Clone, PartialEq)]
pub enum CallOutcome {
    /// Raw JSON text, and where it came from.
    Value(Box<str>, Meta),
    /// Cleanly nothing.
    NoData(Meta),
    /// An input is missing after all.
    Skipped(CellError),
    Failed(Box<CallFailure>),
    /// The way out is closed until then. No try is counted. What was paid before, and to whom, is the last part.
    Later(Timestamp, Option<Box<Cause>>, Meta),
}

/// Why a provider or host rests: how its last call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub error: CellError,
    /// Whether nobody was there at all.
    pub is_unreachable: bool,
}

/// Why a cell cannot run at once, for a trial: nobody waits for one.
pub fn busy(cause: Option<Box<Cause>>) -> CellError {
    cause.map_or_else(
        || {
            let message =
                "A rate limit of the column or its provider is reached. Try again later.".to_owned();
            CellError { code: ErrorCode::RateLimited, message }
        },
        |cause| cause.error,
    )
}

/// How a try failed.
#[derive(Debug, Clone, PartialEq)]
pub struct CallFailure {
    pub error: CellError,
    /// Whether another try may succeed.
    pub is_transient: bool,
    /// How long the other side asks to be left alone.
    pub retry_after: Option<Duration>,
    /// Whether nobody was there at all.
    pub is_unreachable: bool,
    pub meta: Meta,
}

impl CallOutcome {
    /// A failure that no other try mends.
    pub fn failed(code: ErrorCode, message: impl Into<String>) -> Self {
        let error = CellError { code, message: message.into() };
        Self::Failed(Box::new(CallFailure {
            error,
            is_transient: false,
            retry_after: None,
            is_unreachable: false,
            meta: Meta::new(),
        }))
    }
}

impl From<Failure> for CallFailure {
    fn from(failure: Failure) -> Self {
        let Failure { kind, message, is_transient, retry_after, is_unreachable, spent } = failure;
        let mut meta = Meta::new();
        spent.note(&mut meta);
        let error = CellError { code: kind.code(), message };
        Self { error, is_transient, retry_after, is_unreachable, meta }
    }
}

impl From<Failure> for CallOutcome {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure.into()))
    }
}

/// How many cells of a column may be begun: as many as each of the limits allows. Columns that name the
/// same limit share it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacity {
    pub limits: Vec<(Digest, usize)>,
    /// When there is more, if there is none now.
    pub retry_at: Option<Timestamp>,
}
