//! Runs cells by calling providers, as their columns say.
//!
//! One file a kind of column, each a method of [`ProviderCalls`] that runs a cell to its outcome. A new task is an
//! arm in [`ProviderCalls::ask`] and a file; one that asks providers in order is a [`in_order::Question`]. A new finder without
//! a credential is an arm in `waterfall.rs`.

mod ai;
mod ai_fallback;
mod ai_model;
#[cfg(test)]
mod ai_tests;
mod answer_schemas;
mod api;
mod attachment_room;
mod attachments;
mod batches;
mod call_forecast;
pub(crate) mod call_span;
mod conversation;
mod crawl;
mod credential_calls;
mod dialects;
mod directories;
mod fan_out;
#[cfg(test)]
mod fan_out_tests;
mod fill;
mod in_order;
mod kept_answers;
#[cfg(test)]
mod lookup_tests;
mod payees;
mod prompt;
mod refusal;
mod rejected_credentials;
mod request_gate;
mod research;
mod research_state;
mod scrape;
mod shared_verdicts;
#[cfg(test)]
mod tests;
mod trial;
mod verification;
mod waterfall;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::Timestamp;
use rowmill_clock::Clock;
use rowmill_fairness::FairSemaphore;
use rowmill_model::cell::Meta;
use rowmill_model::column::{FanOut, TaskConfig};
use rowmill_model::{CellError, Column, ColumnType, ErrorCode, LookupTask, Project, Spent, TeamId};
use rowmill_providers::catalogue::Provider;
use rowmill_providers::email::Finders;
use rowmill_providers::scrape::Scraper;
use rowmill_providers::verify::Verifiers;
use rowmill_providers::{Access, Client, Failure};
use rowmill_store::kept_answers::AnswerLimits;
use rowmill_store::{Store, Ticket};

use crate::call_limits::{CallLimit, CallLimits};
use crate::cell_runner::{BatchCalls, CallFailure, CallOutcome, Capacity, Cell, CellRunner, Payees};
use crate::credentials::{Credentials, TeamCredentials};
use crate::digest::Digest;
use crate::limit_counts::LimitCounts;
use crate::row_writer::RowWriter;
use crate::single_flight::{Origin, SingleFlight};
use attachment_room::attachment_room;
pub use call_forecast::CallForecast;
use call_span::in_span;
use dialects::Dialects;
use kept_answers::KeptAnswers;
use rejected_credentials::RejectedCredentials;
use research_state::ResearchState;
pub use shared_verdicts::SharedVerdicts;

/// Calls providers.
#[derive(Debug)]
pub struct ProviderCalls {
    client: Client,
    finders: Finders,
    verifiers: Verifiers,
    scraper: Scraper,
    credentials: Arc<dyn Credentials>,
    call_limits: CallLimits,
    single_flight: SingleFlight<CallOutcome>,
    kept_answers: KeptAnswers,
    rejected_credentials: RejectedCredentials,
    dialects: Dialects,
    research_state: ResearchState,
    /// Room for files that are held in memory.
    attaching: Arc<FairSemaphore>,
    row_writer: Option<Arc<dyn RowWriter>>,
    config: ProviderCallsConfig,
}

/// What bounds a call.
#[derive(Debug, Clone)]
pub struct ProviderCallsConfig {
    /// One answer of a model.
    pub ai_deadline: Duration,
    /// All waits of one search at a finder that searches for minutes.
    pub finder_wait_max: Duration,
    /// The longest answer to an HTTP request.
    pub response_bytes_max: usize,
    /// The longest value a cell can have.
    pub value_bytes_max: usize,
    /// Calls at the same time with one credential, or to one host.
    pub at_once_max: usize,
    /// How long a cell waits for its turn before it is put back.
    pub wait_max: Duration,
    /// Outcomes kept for `cacheTtlSeconds`.
    pub cache_entries_max: usize,
    pub cache_bytes_max: usize,
    /// Those of a team that the store keeps.
    pub kept_answers: AnswerLimits,
}

impl Default for ProviderCallsConfig {
    fn default() -> Self {
        Self {
            ai_deadline: Duration::from_mins(2),
            finder_wait_max: Duration::from_mins(2),
            response_bytes_max: 4 * 1024 * 1024,
            value_bytes_max: 1024 * 1024,
            at_once_max: 128,
            wait_max: Duration::from_secs(2),
            cache_entries_max: 10_000,
            cache_bytes_max: 64 * 1024 * 1024,
            kept_answers: AnswerLimits { count: 100_000, bytes: 256 * 1024 * 1024 },
        }
    }
}

#[async_trait]
impl CellRunner for ProviderCalls {
    async fn capacity(&self, project: &Project, column: &Column) -> Capacity {
        // What is wrong with the credentials is told by the call.
        let Ok(credentials) = self.credentials.of(project.team).await else { return Capacity::default() };
        let mut limits = match column.kind {
            ColumnType::Ai => self.ai_limits(column, &credentials),
            ColumnType::Api => self.api_limits(project.team, column),
            ColumnType::Task => match self.lookup_limits(column, &credentials) {
                Ok(limits) => {
                    let team = project.team;
                    [limits, Self::crawl_limits(team, column), Self::fan_out_limits(team, column)].concat()
                }
                Err(closed) => return closed,
            },
            ColumnType::Manual | ColumnType::Reference => Vec::new(),
        };
        limits.extend(column_limit(project, column));
        self.call_limits.capacity(&limits, self.now())
    }

    async fn payees(&self, project: &Project, column: &Column) -> Payees {
        match self.credentials.of(project.team).await {
            Ok(credentials) => Self::payees_of(column, &credentials),
            Err(_) => Payees::default(),
        }
    }

    async fn call(&self, cell: &Cell) -> CallOutcome {
        match self.credentials.of(cell.project.team).await {
            Ok(credentials) => self.ask(cell, &credentials).await.unwrap_or_else(|outcome| outcome),
            Err(words) => {
                tracing::warn!(team = %cell.project.team, error = %words, "could not read credentials");
                let message = "The team's credentials could not be read. Try again later.".to_owned();
                let error = CellError { code: ErrorCode::ProviderError, message };
                CallOutcome::Failed(Box::new(CallFailure {
                    error,
                    is_transient: true,
                    retry_after: None,
                    is_unreachable: false,
                    meta: Meta::new(),
                }))
            }
        }
    }

    fn batches(&self) -> Option<&dyn BatchCalls> {
        Some(self)
    }

    async fn settled(&self, tickets: &[Ticket]) {
        self.research_state.settled(tickets).await;
    }
}

impl ProviderCalls {
    pub fn new(
        client: Client,
        scraper: Scraper,
        credentials: Arc<dyn Credentials>,
        call_limits: CallLimits,
        shared_verdicts: Option<SharedVerdicts>,
        config: ProviderCallsConfig,
    ) -> Self {
        Self {
            finders: Finders::new(client.clone()),
            verifiers: Verifiers::new(client.clone()),
            scraper,
            client,
            credentials,
            call_limits,
            single_flight: SingleFlight::new(config.cache_entries_max, config.cache_bytes_max),
            kept_answers: KeptAnswers::new(config.kept_answers),
            rejected_credentials: RejectedCredentials::new(shared_verdicts),
            dialects: Dialects::default(),
            research_state: ResearchState::new(config.cache_entries_max, config.cache_bytes_max / 4),
            attaching: attachment_room(),
            row_writer: None,
            config,
        }
    }

    /// Keeps what was paid for in the store: answers that are used again, and the steps of researches.
    #[must_use]
    pub fn with_store(mut self, store: &Arc<dyn Store>) -> Self {
        self.kept_answers.store = Some(Arc::clone(store));
        self.research_state.store = Some(Arc::clone(store));
        self
    }

    /// Writes the rows of fan-out columns.
    #[must_use]
    pub fn with_row_writer(mut self, row_writer: Arc<dyn RowWriter>) -> Self {
        self.row_writer = Some(row_writer);
        self
    }

    /// An error is an outcome, too: it is what `?` is for.
    async fn ask(&self, cell: &Cell, credentials: &TeamCredentials) -> Result<CallOutcome, CallOutcome> {
        let task = cell.column.task_config.as_ref().map(|task| task.task_type.as_str());
        if let (ColumnType::Task, Some(task)) = (cell.column.kind, task.and_then(LookupTask::parse)) {
            return match task {
                LookupTask::WaterfallEmail => Box::pin(self.find_email(cell, credentials)).await,
                LookupTask::VerifyEmail => Box::pin(self.verify_email(cell, credentials)).await,
                LookupTask::FindCompany => Box::pin(self.find_company(cell, credentials)).await,
                LookupTask::FindPeople => Box::pin(self.find_people(cell, credentials)).await,
            };
        }
        match (cell.column.kind, task) {
            (ColumnType::Api, _) => self.ask_api(cell, credentials).await,
            // Boxed, so that a plain request does not carry around what only these need.
            (ColumnType::Ai, _) => Box::pin(self.ask_model(cell, credentials)).await,
            (ColumnType::Task, Some(TaskConfig::WEB_SCRAPER)) => Box::pin(self.read_page(cell)).await,
            (ColumnType::Task, Some(FanOut::TASK)) => Box::pin(self.fan_out(cell)).await,
            (ColumnType::Task | ColumnType::Manual | ColumnType::Reference, _) => {
                Err(invalid("The column's task is unknown to this server."))
            }
        }
    }

    /// How many limits of calls are in which state, by provider.
    pub fn limit_counts(&self) -> BTreeMap<&'static str, LimitCounts> {
        self.call_limits.counts(self.now())
    }

    fn clock(&self) -> &dyn Clock {
        self.client.clock()
    }

    fn now(&self) -> Timestamp {
        self.clock().now()
    }

    /// Makes one call, once its turn has come.
    async fn attempt<T>(
        &self,
        cell: &Cell,
        limits: &[CallLimit],
        provider: &'static str,
        asked: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, CallOutcome> {
        let permit = self.call_limits.acquire(limits, cell, self.clock(), self.config.wait_max).await?;
        let started = self.now();
        let outcome = in_span(provider, Box::pin(asked)).await;
        permit.report(&outcome, self.now());
        self.measure(provider, started, &outcome);
        outcome.map_err(CallOutcome::from)
    }

    fn measure<T>(&self, provider: &'static str, started: Timestamp, outcome: &Result<T, Failure>) {
        let word = outcome.as_ref().err().map_or("ok", |failure| failure.kind.code().word());
        metrics::counter!("rowmill_calls_total", "provider" => provider, "outcome" => word).increment(1);
        let seconds = self.now().duration_since(started).as_secs_f64();
        metrics::histogram!("rowmill_call_seconds", "provider" => provider).record(seconds);
    }

    /// Makes a call that others may be making, or have made. `key` names all that is sent, and by whom.
    async fn reused(
        &self,
        cell: &Cell,
        key: Digest,
        in_flight: bool,
        make: impl Future<Output = CallOutcome>,
    ) -> CallOutcome {
        let ttl = Duration::from_secs(cell.column.cache_ttl_seconds.into());
        if !ttl.is_zero()
            && let Some(outcome) = self.single_flight.find(key, self.now())
        {
            count_lookup("hit");
            return marked_as_reused(outcome);
        }
        if !ttl.is_zero()
            && let Some((outcome, until)) = self.kept_answers.find(key, self.now()).await
        {
            self.single_flight.insert(key, outcome.clone(), bytes_of(&outcome), until);
            count_lookup("hit");
            return marked_as_reused(outcome);
        }
        let is_shared = |outcome: &CallOutcome| !matches!(outcome, CallOutcome::Later(..));
        let kept = |outcome: &CallOutcome| {
            let is_kept =
                matches!(outcome, CallOutcome::Value(..) | CallOutcome::NoData(_)) && !ttl.is_zero();
            let until = self.now().saturating_add(ttl).unwrap_or(Timestamp::MAX);
            is_kept.then_some((bytes_of(outcome), until))
        };
        let (outcome, origin) = if in_flight {
            let now = (!ttl.is_zero()).then(|| self.now());
            self.single_flight.run(key, now, make, is_shared, kept).await
        } else {
            let outcome = make.await;
            if let Some((bytes, until)) = kept(&outcome) {
                self.single_flight.insert(key, outcome.clone(), bytes, until);
            }
            (outcome, Origin::Made)
        };
        if origin == Origin::Shared {
            count_lookup("hit");
            return marked_as_reused(outcome);
        }
        if in_flight || !ttl.is_zero() {
            count_lookup("miss");
        }
        if let Some((_, until)) = kept(&outcome) {
            self.kept_answers.insert(cell.project.team, key, &outcome, until, self.now()).await;
        }
        outcome
    }
}

/// Counts an answer that was asked for again, or had to be made.
fn count_lookup(result: &'static str) {
    metrics::counter!("rowmill_cache_lookups_total", "cache" => "answers", "result" => result).increment(1);
}

/// What an outcome takes beside its value, roughly.
const CACHE_ENTRY_BYTES: usize = 512;

/// What an outcome takes in memory, roughly.
fn bytes_of(outcome: &CallOutcome) -> usize {
    let value = match outcome {
        CallOutcome::Value(raw, _) => raw.len(),
        CallOutcome::NoData(_)
        | CallOutcome::Skipped(_)
        | CallOutcome::Failed(_)
        | CallOutcome::Later(..) => 0,
    };
    value + CACHE_ENTRY_BYTES
}

fn marked_as_reused(mut outcome: CallOutcome) -> CallOutcome {
    match &mut outcome {
        CallOutcome::Value(_, meta) | CallOutcome::NoData(meta) => {
            meta.insert("cached".to_owned(), true.into());
            Spent::forget(meta);
        }
        CallOutcome::Failed(call_failure) => {
            Spent::forget(&mut call_failure.meta);
            // There is no value that they would say something of.
            Spent::forget_tokens(&mut call_failure.meta);
        }
        CallOutcome::Skipped(_) | CallOutcome::Later(..) => {}
    }
    outcome
}

fn invalid(message: impl Into<String>) -> CallOutcome {
    CallOutcome::failed(ErrorCode::InvalidInput, message)
}

/// Milliseconds since then, for a cell's provenance.
fn millis_since(started: Timestamp, now: Timestamp) -> serde_json::Value {
    u64::try_from(now.duration_since(started).as_millis()).unwrap_or_default().into()
}

/// Names a credential. The same key at the same address is the same account, whoever uses it.
fn identity(provider: &Provider, access: &Access) -> Digest {
    let key = access.api_key.as_ref().map_or("", |key| key.expose());
    Digest::of(["credential", provider.about.id, access.base_url.as_str(), key])
}

/// A column's own rate.
fn column_limit(project: &Project, column: &Column) -> Option<CallLimit> {
    let rate = column.rate_limit.clone()?;
    let parts = [project.id.to_string(), column.id.as_str().to_owned(), rate.requests.to_string()];
    let mut parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let per_seconds = rate.per_seconds.to_string();
    parts.extend(["column", &per_seconds]);
    Some(CallLimit {
        provider: "column",
        key: Digest::of(parts),
        rates: vec![rate],
        at_once_max: usize::MAX,
        has_circuit_breaker: false,
    })
}

/// Outcomes are reused within a team only.
fn team_part(team: TeamId) -> String {
    format!("team {team}")
}
