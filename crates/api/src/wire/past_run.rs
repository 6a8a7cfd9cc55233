//! Runs in the list of a project's runs.

use rowmill_app::Run;
use rowmill_model::estimate::Estimate;
use rowmill_model::plan::{RunTally, StartedBy};
use rowmill_model::{Amount, Spent, Usage};
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
        let Run { id, started_at_ms, ended_at_ms, started_by, is_stopped, pending, tally, estimate } = run;
        let RunTally { done, empty, failed, skipped, stopped, spent } = tally;
        let Spent { cost, list_cost, credits, usage: Usage { attempts, input_tokens, output_tokens } } =
            spent;
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
            usage: RunUsage { attempts, input_tokens, output_tokens },
            cost: cost.map(Amount::number),
            list_cost: list_cost.map(Amount::number),
            credits: credits.map(Amount::number),
            estimate,
        }
    }
}
