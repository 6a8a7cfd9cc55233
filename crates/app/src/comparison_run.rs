//! Runs the cells of a comparison: within its time, as the team's turn comes, and as long as no spending cap is reached.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rowmill_fairness::Tenant;
use rowmill_model::cell::Meta;
use rowmill_model::pricing::note_list_cost;
use rowmill_model::row::RowView;
use rowmill_model::scoring::{Scoring, score};
use rowmill_model::spending::{COMPARISONS, CapScope, day_of};
use rowmill_model::{Amount, CellError, ColumnId, ErrorCode, Project, SpendingSettings, Spent};
use rowmill_store::StoredRow;
use rowmill_store::spending::{CapStanding, LedgerEntry, Money};
use serde_json::Value;

use crate::app::App;
use crate::comparison_judge::{Judge, Verdict, is_empty};
use crate::error::Result;
use crate::tester::{TrialCell, TrialOutcome};
use crate::trials::TrialColumn;

/// What of a cell's provenance is told.
const TOLD: [&str; 10] = [
    "provider",
    "model",
    "milliseconds",
    "inputTokens",
    "outputTokens",
    "cost",
    "listCost",
    "credits",
    "truncated",
    "calls",
];

/// What all cells of a comparison share.
#[derive(Debug)]
pub(crate) struct Comparing {
    pub(crate) project: Arc<Project>,
    pub(crate) settings: SpendingSettings,
    /// Whose comparison it is, as the ledger names them.
    pub(crate) person: String,
    pub(crate) deadline: Instant,
    pub(crate) seconds_max: u64,
    pub(crate) scoring: Option<Scoring>,
    pub(crate) fields: Vec<String>,
    pub(crate) judge: Option<Judge>,
    /// Bytes of values that can still be told.
    pub(crate) bytes_left: AtomicUsize,
    pub(crate) spent: Mutex<Spent>,
}

/// One cell of a comparison.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) variant: usize,
    pub(crate) place: usize,
    pub(crate) column: Arc<TrialColumn>,
    /// Whom the column pays.
    pub(crate) providers: Arc<Vec<String>>,
    pub(crate) row: StoredRow,
    /// The expected answer, as raw JSON.
    pub(crate) expected: Option<Box<str>>,
}

/// What became of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum ComparedOutcome {
    /// Raw JSON text.
    Completed(Box<str>),
    Failed(CellError),
    Skipped(CellError),
    /// It was not begun: there was no time or no money left.
    NotTried(CellError),
}

/// A cell of a comparison, and what it is worth.
#[derive(Debug, Clone, PartialEq)]
pub struct ComparedCell {
    pub outcome: ComparedOutcome,
    pub meta: Meta,
    /// From 0 to 1; `None` if it cannot be told.
    pub score: Option<f64>,
    /// Why the judge says so, or why there is no score.
    pub reason: Option<String>,
}

impl ComparedCell {
    fn new(outcome: ComparedOutcome) -> Self {
        Self { outcome, meta: Meta::new(), score: None, reason: None }
    }

    pub(crate) fn dollars(&self) -> Option<f64> {
        Spent::of(&self.meta).dollars().map(Amount::number)
    }

    pub(crate) fn milliseconds(&self) -> Option<f64> {
        self.meta.get("milliseconds").and_then(Value::as_f64)
    }
}

/// Runs all cells, a few at the same time. Who goes away ends it: calls in flight are finished and counted, no more
/// are begun.
pub(crate) async fn run_all(
    app: &Arc<App>,
    comparing: Arc<Comparing>,
    jobs: Vec<Job>,
) -> Vec<(usize, usize, ComparedCell)> {
    let count = jobs.len();
    let queue = Mutex::new(VecDeque::from(jobs));
    let done = Mutex::new(Vec::with_capacity(count));
    let tenant = Tenant::current();
    let work = async || {
        loop {
            let Some(job) = queue.lock().pop_front() else { return };
            let (variant, place) = (job.variant, job.place);
            let (app, comparing) = (Arc::clone(app), Arc::clone(&comparing));
            let task = tokio::spawn(tenant.scope(async move { comparing.cell(&app, job).await }));
            let cell = task.await.unwrap_or_else(|error| {
                tracing::error!(%error, "a cell of a comparison ended without an outcome");
                let message = "The cell could not be run. Try again.".to_owned();
                let error = CellError { code: ErrorCode::ProviderError, message };
                ComparedCell::new(ComparedOutcome::Failed(error))
            });
            done.lock().push((variant, place, cell));
        }
    };
    tokio::join!(work(), work(), work(), work(), work(), work());
    done.into_inner()
}

impl Comparing {
    async fn cell(&self, app: &App, job: Job) -> ComparedCell {
        let outcome = self.run(app, &job).await;
        let mut cell = outcome.unwrap_or_else(|error| {
            tracing::warn!(%error, "a cell of a comparison could not be run");
            let message = "The database could not be used. Try again later.".to_owned();
            ComparedCell::new(ComparedOutcome::Failed(CellError { code: ErrorCode::ProviderError, message }))
        });
        if let ComparedOutcome::Completed(raw) = &cell.outcome
            && !self.takes(raw.len())
        {
            let message =
                "The values of this comparison are too large to be returned. Compare fewer rows.".to_owned();
            cell.outcome = ComparedOutcome::Failed(CellError { code: ErrorCode::TooLarge, message });
        }
        cell.meta.retain(|name, _| TOLD.contains(&name.as_str()));
        cell
    }

    fn takes(&self, bytes: usize) -> bool {
        let take = |left: usize| left.checked_sub(bytes);
        self.bytes_left.fetch_update(Ordering::AcqRel, Ordering::Acquire, take).is_ok()
    }

    async fn run(&self, app: &App, job: &Job) -> Result<ComparedCell> {
        let TrialColumn { project, column, .. } = job.column.as_ref();
        let skipped = {
            let view = RowView::new(&project.table, job.row.values.cells()?, &job.row.states);
            app.would_skip(project, column, &view)
        };
        if let Some(error) = skipped {
            let mut cell = ComparedCell::new(ComparedOutcome::Skipped(error));
            cell.score = self.worth_of_nothing(job);
            return Ok(cell);
        }
        let trial_cell = TrialCell {
            project: Arc::clone(project),
            column: Arc::clone(column),
            row: job.row.id,
            values: job.row.values.clone(),
        };
        let outcome = match self.call(app, &trial_cell, &job.providers).await? {
            Ok(outcome) => outcome,
            Err(error) => return Ok(ComparedCell::new(ComparedOutcome::NotTried(error))),
        };
        let mut cell = match outcome {
            TrialOutcome::Completed(raw, meta) => {
                ComparedCell { meta, ..ComparedCell::new(ComparedOutcome::Completed(raw)) }
            }
            TrialOutcome::Failed(error, meta) => {
                ComparedCell { meta, ..ComparedCell::new(ComparedOutcome::Failed(error)) }
            }
            TrialOutcome::Skipped(error) => ComparedCell::new(ComparedOutcome::Skipped(error)),
        };
        self.score(app, job, &mut cell).await?;
        Ok(cell)
    }

    /// No answer is a wrong one, where one is expected.
    fn worth_of_nothing(&self, job: &Job) -> Option<f64> {
        self.scoring.and(job.expected.as_ref()).map(|_| 0.0)
    }

    async fn score(&self, app: &App, job: &Job, cell: &mut ComparedCell) -> Result<()> {
        let (Some(scoring), Some(expected)) = (self.scoring, job.expected.as_deref()) else { return Ok(()) };
        let ComparedOutcome::Completed(answer) = &cell.outcome else {
            cell.score = self.worth_of_nothing(job);
            return Ok(());
        };
        let Some(judge) = self.judge.as_ref().filter(|_| scoring == Scoring::Judge) else {
            cell.score = score(scoring, expected, answer, &self.fields);
            return Ok(());
        };
        if is_empty(answer) {
            cell.score = Some(0.0);
            return Ok(());
        }
        let asked = judge.cell(job.row.id, expected, answer);
        let providers = app.trial()?.forecast(&judge.project, &judge.column).await.providers;
        (cell.score, cell.reason) = match self.call(app, &asked, &providers).await? {
            Ok(TrialOutcome::Completed(raw, _)) => match Verdict::read(&raw) {
                Some(verdict) => (Some(f64::from(verdict.correct)), Some(verdict.reason)),
                None => (None, Some("The judge did not give a verdict.".to_owned())),
            },
            Ok(TrialOutcome::Failed(error, _) | TrialOutcome::Skipped(error)) | Err(error) => {
                (None, Some(format!("The judge could not be asked: {}", error.message)))
            }
        };
        Ok(())
    }

    /// Makes one call, in its turn, and counts what it costs. An error is why it was not made.
    async fn call(
        &self,
        app: &App,
        cell: &TrialCell,
        providers: &[String],
    ) -> Result<Result<TrialOutcome, CellError>> {
        let turn = app.comparing.acquire(Tenant::current());
        let Ok(_permit) = tokio::time::timeout(self.time_left(app), turn).await else {
            return Ok(Err(self.no_time_left()));
        };
        if let Some(error) = self.cap_reached(app, providers).await? {
            return Ok(Err(error));
        }
        let time_left = self.time_left(app);
        if time_left.is_zero() {
            return Ok(Err(self.no_time_left()));
        }
        let mut outcome = app.trial()?.run_within(cell, time_left).await;
        if let TrialOutcome::Completed(_, meta) | TrialOutcome::Failed(_, meta) = &mut outcome {
            note_list_cost(&self.settings, meta);
            self.charge(app, meta).await?;
        }
        Ok(Ok(outcome))
    }

    fn time_left(&self, app: &App) -> Duration {
        self.deadline.saturating_duration_since(app.clock.monotonic())
    }

    fn no_time_left(&self) -> CellError {
        let message = format!(
            "Not tried: a comparison has {} s in all. Compare fewer rows or fewer variants.",
            self.seconds_max
        );
        CellError { code: ErrorCode::TimedOut, message }
    }

    /// Writes down what a call cost, so that caps count it.
    async fn charge(&self, app: &App, meta: &Meta) -> Result<()> {
        let provider = meta.get("provider").and_then(Value::as_str);
        let spent = Spent::of(meta);
        let is_asked = provider.is_some() || spent.dollars().is_some() || spent.credits.is_some();
        if !is_asked || spent == Spent::NOTHING {
            return Ok(());
        }
        *self.spent.lock() += spent;
        let entry = LedgerEntry {
            day: day_of(app.clock.now_ms()),
            column: ColumnId::new(COMPARISONS),
            provider: provider.unwrap_or_default().to_owned(),
            person: self.person.clone(),
            spent,
            tries: 1,
        };
        Ok(app.store.charge(self.project.team, self.project.id, entry).await?)
    }

    /// Why no more may be spent. A comparison is a run of its own.
    async fn cap_reached(&self, app: &App, providers: &[String]) -> Result<Option<CellError>> {
        let is_meant = |standing: &CapStanding| standing.cap.is_about(self.project.id, providers);
        if self.settings.caps.is_empty() {
            return Ok(None);
        }
        let standings = app.store.cap_standings(self.project.team, app.clock.now_ms()).await?;
        let own = Money::spent(&self.spent.lock());
        for CapStanding { cap, spent, reserved } in standings.into_iter().filter(is_meant) {
            let spent = match cap.scope {
                CapScope::Run if cap.is_in_dollars() => own.usd,
                CapScope::Run => own.credits,
                CapScope::Team | CapScope::Project | CapScope::Credential => spent.saturating_add(reserved),
            };
            if spent >= cap.most() {
                let message = format!("Not tried: {} is reached. Raise it, or try again later.", cap.words());
                return Ok(Some(CellError { code: ErrorCode::SpendLimit, message }));
            }
        }
        Ok(None)
    }
}
