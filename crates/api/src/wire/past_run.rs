//! Runs in the list of a project's runs.

use rowmill_app::{RateWait, Run};
use rowmill_model::column::RateLimit;
use rowmill_model::estimate::Estimate;
use rowmill_model::plan::{Causes, RunTally, StartedBy};
use rowmill_model::{Amount, ErrorCode, Spent, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use super::timestamp;

/// A run: everything from the first queued cell until no cell of the project is queued or running.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Run")]
pub(crate) struct RunOut {
    /// Unique in its project.
    #[schemars(length(max = 64))]
    id: String,
    status: RunStatus,
    /// Who queued the first cell. Omitted if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunStarter")]
    started_by: Option<RunStarter>,
    #[schemars(extend("format" = "date-time"))]
    started_at: String,
    /// Null while it is running.
    #[schemars(extend("format" = "date-time"))]
    ended_at: Option<String>,
    /// All cells of the run, in one of the ways below. A cell that runs twice counts twice.
    cells: u64,
    /// Waiting or running.
    queued: u64,
    /// Completed with a value.
    done: u64,
    /// Completed without a result (`no_data`).
    empty: u64,
    failed: u64,
    skipped: u64,
    /// Stopped before they finished, or their row was deleted.
    stopped: u64,
    /// Why cells failed, the most frequent code first. Empty for runs of earlier versions.
    #[schemars(length(max = 15))]
    failures: Vec<RunCause>,
    /// Why cells were skipped, the most frequent code first. Empty for runs of earlier versions.
    #[schemars(length(max = 15))]
    skips: Vec<RunCause>,
    usage: RunUsage,
    /// Cost in US dollars, as reported by providers. Omitted if none reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    cost: Option<f64>,
    /// Cost in US dollars by the price list, of calls for which no provider reported it. Omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    list_cost: Option<f64>,
    /// Provider credits used, as reported by providers. Omitted if none reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    credits: Option<f64>,
    /// What the run was estimated to take, if it was started with `estimate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Estimate")]
    estimate: Option<Estimate>,
    /// While it is running: the rate limit under which the cells that are left take longest. Omitted in lists, and if they
    /// wait for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunRateLimit")]
    rate_limit: Option<RunRateLimit>,
}

/// Cells of a run that ended for the same reason.
#[derive(Debug, Serialize, JsonSchema)]
struct RunCause {
    code: ErrorCode,
    cells: u64,
}

/// A rate limit that a run keeps to.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunRateLimit {
    /// `column`: the column's own `rateLimit`. `provider`: the limit of the provider that it calls.
    scope: RateLimitScope,
    #[schemars(length(max = 64))]
    column_id: String,
    #[schemars(length(max = 255))]
    header: String,
    requests: u32,
    per_seconds: u32,
    /// Cells under this limit that are waiting or running.
    cells: u64,
    /// How long they take at this rate.
    seconds: u64,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RateLimitScope {
    Column,
    Provider,
}

impl From<RateWait> for RunRateLimit {
    fn from(wait: RateWait) -> Self {
        let RateWait { column_id, header, rate: RateLimit { requests, per_seconds }, is_own, cells, seconds } =
            wait;
        let scope = if is_own { RateLimitScope::Column } else { RateLimitScope::Provider };
        Self { scope, column_id, header, requests, per_seconds, cells, seconds }
    }
}

fn causes(causes: Causes) -> Vec<RunCause> {
    causes.counts().into_iter().map(|(code, cells)| RunCause { code, cells }).collect()
}

/// How a run ended: `stopped` if somebody stopped what was left of it.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum RunStatus {
    Running,
    Finished,
    Stopped,
}

/// Who started a run.
#[derive(Debug, Serialize, JsonSchema)]
struct RunStarter {
    #[serde(rename = "type")]
    kind: StarterKind,
    /// The name of the API key. Omitted for `autoplay` and `webhook`, and for callers without a key.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 255))]
    name: Option<String>,
}

/// `key`: a program with an API key. `session`: a person in the browser. `autoplay`: rows or inputs changed while
/// autoplay is on. `webhook`: the same through the event webhook.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum StarterKind {
    Key,
    Session,
    Autoplay,
    Webhook,
}

/// What a run used, whatever it cost.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunUsage {
    /// Attempts to fill a cell, retries included. Reused answers are not counted.
    attempts: u64,
    /// Tokens, as reported by language models.
    input_tokens: u64,
    output_tokens: u64,
    /// Of the input tokens: those that came from a server's cache, and those that it put there. Omitted if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    cached_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    cache_written_tokens: Option<u64>,
}

impl From<StartedBy> for RunStarter {
    fn from(by: StartedBy) -> Self {
        let named = |name: String| Some(name).filter(|name| !name.is_empty());
        match by {
            StartedBy::Key(name) => Self { kind: StarterKind::Key, name: named(name) },
            StartedBy::Session(name) => Self { kind: StarterKind::Session, name: named(name) },
            StartedBy::Autoplay => Self { kind: StarterKind::Autoplay, name: None },
            StartedBy::Webhook => Self { kind: StarterKind::Webhook, name: None },
        }
    }
}

impl From<Run> for RunOut {
    fn from(run: Run) -> Self {
        let Run {
            id,
            started_at_ms,
            ended_at_ms,
            started_by,
            is_stopped,
            pending,
            tally,
            estimate,
            rate_wait,
        } = run;
        let RunTally { done, empty, failed, skipped, stopped, spent, failures, skips } = tally;
        let Spent { cost, list_cost, credits, usage } = spent;
        let Usage { attempts, input_tokens, output_tokens, cached_tokens, cache_written_tokens } = usage;
        Self {
            id: id.to_string(),
            status: match (ended_at_ms, is_stopped) {
                (None, _) => RunStatus::Running,
                (Some(_), false) => RunStatus::Finished,
                (Some(_), true) => RunStatus::Stopped,
            },
            started_by: started_by.map(RunStarter::from),
            started_at: timestamp(started_at_ms),
            ended_at: ended_at_ms.map(timestamp),
            cells: pending + tally.ended(),
            queued: pending,
            done,
            empty,
            failed,
            skipped,
            stopped,
            failures: causes(failures),
            skips: causes(skips),
            usage: RunUsage {
                attempts,
                input_tokens,
                output_tokens,
                cached_tokens: Some(cached_tokens).filter(|tokens| *tokens > 0),
                cache_written_tokens: Some(cache_written_tokens).filter(|tokens| *tokens > 0),
            },
            cost: cost.map(Amount::number),
            list_cost: list_cost.map(Amount::number),
            credits: credits.map(Amount::number),
            estimate,
            rate_limit: rate_wait.map(RunRateLimit::from),
        }
    }
}
