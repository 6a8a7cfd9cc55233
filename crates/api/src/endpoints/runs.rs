//! Runs: start, stop, watch.

use std::marker::PhantomData;

use axum::http::Method;
use rowmill_app::{TriggerRows, TriggeredRows};
use rowmill_model::Scopes;
use rowmill_model::estimate::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Nothing, Optional};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::run::{Status, StopBody, TriggerBody};

const TAG: &str = "Processing";

pub(crate) struct Trigger<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Triggered {
    /// Number of rows with at least one queued cell.
    #[serde(rename = "triggeredCount")]
    rows: u64,
    /// The run that the queued cells belong to. Omitted if none was queued.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    run_id: Option<String>,
    /// What the run is likely to take: with `dryRun` or `estimate`. Omitted for more than 50 columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Estimate")]
    estimate: Option<Estimate>,
}

impl<V: Version> Endpoint<ApiState> for Trigger<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "trigger";
    const SCOPES: Scopes = Scopes::RUN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Process rows";
    const DESCRIPTION: &'static str = "Queues cells that never ran, failed, were skipped or are stale. Cells that are already queued or \
     running are not affected, so triggering twice runs them once. Manual values are replaced only with \
     `force`. The cells join the current run if there is one, else they start a new one.";
    const READS_ROWS: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Optional<TriggerBody>;
    type Out = Triggered;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "statuses": ["error"], "errorCodes": ["rate_limited"], "limit": 100 })),
            answer: Some(json!({ "triggeredCount": 42, "runId": "run_17" })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        Optional(body): Optional<TriggerBody>,
    ) -> Result<Answer<Triggered>, Error> {
        let path = V::within(path);
        let trigger = TriggerRows { is_session: call.is_session(), ..body.into_trigger(call.once()) };
        let triggered = call.app().trigger(call.caller()?, &path.project_id, trigger).await?;
        let run_id = triggered.run.map(|id| id.to_string());
        let TriggeredRows { count, estimate, .. } = triggered;
        Ok(Answer::new(Triggered { rows: count, run_id, estimate }))
    }
}

pub(crate) struct Stop<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Stopped")]
pub(crate) struct StoppedOut {
    /// Number of rows with at least one stopped cell.
    stopped_count: u64,
    stopped_cells: u64,
}

impl<V: Version> Endpoint<ApiState> for Stop<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "stop";
    const SCOPES: Scopes = Scopes::RUN;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Stop processing";
    const DESCRIPTION: &'static str = "Resets queued and running cells to their previous state. After the response, no new calls start for \
     them, calls in flight are aborted, and late results are discarded.";
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Optional<StopBody>;
    type Out = StoppedOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "columnIds": ["col_4fJq0ZtR9xWb"] })),
            answer: Some(json!({ "stoppedCount": 40, "stoppedCells": 80 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        Optional(body): Optional<StopBody>,
    ) -> Result<Answer<StoppedOut>, Error> {
        let path = V::within(path);
        let stop = body.into_stop(call.once());
        let stopped = call.app().stop(call.caller()?, &path.project_id, stop).await?;
        Ok(Answer::new(StoppedOut { stopped_count: stopped.rows, stopped_cells: stopped.cells }))
    }
}

pub(crate) struct GetStatus<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for GetStatus<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getStatus";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get processing status";
    const DESCRIPTION: &'static str =
        "Returns the number of rows and cells in each state. The cost does not depend on the number of rows.";
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Status;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "rows": { "total": 3, "idle": 1, "queued": 1, "generating": 0, "complete": 1, "error": 0 },
                "columns": {
                    "col_4fJq0ZtR9xWb": {
                        "header": "Summary", "type": "ai", "idle": 1, "queued": 1, "generating": 0, "complete": 1,
                        "error": 0, "skipped": 0, "stale": 0,
                    },
                },
                "processing": true,
                "runId": "run_17",
                "updatedAt": "2026-11-15T09:30:00.000Z",
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Status>, Error> {
        let path = V::within(path);
        let standing = call.app().standing(call.caller()?, &path.project_id).await?;
        Ok(Answer::new(Status::new(&standing)))
    }
}
