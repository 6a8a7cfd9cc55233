//! Runs: start, stop, watch.

use std::marker::PhantomData;

use axum::http::Method;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::ProjectPath;
use crate::endpoint::{Access, Answer, Call, Endpoint, Examples, Nothing, Optional};
use crate::error::Error;
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::run::{Status, StopBody, TriggerBody};

const TAG: &str = "Processing";

pub(crate) struct Trigger<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Triggered {
    /// Rows with at least one cell queued.
    triggered_count: u64,
}

impl<V: Version> Endpoint<ApiState> for Trigger<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "trigger";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Process rows";
    const DESCRIPTION: &'static str = "Queues cells that never ran, failed, were skipped or are stale. Cells that are \
         queued or running already are left alone, so triggering twice does the work once. Hand-written cells \
         are run only with `force`.";
    const READS_ROWS: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Optional<TriggerBody>;
    type Out = Triggered;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "statuses": ["error"], "errorCodes": ["rate_limited"], "limit": 100 })),
            answer: Some(json!({ "triggeredCount": 42 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        Optional(body): Optional<TriggerBody>,
    ) -> Result<Answer<Triggered>, Error> {
        let path = V::within(path);
        let trigger = body.into_trigger(call.once()?);
        let triggered_count = call.app().trigger(call.caller()?, &path.project_id, trigger).await?;
        Ok(Answer::new(Triggered { triggered_count }))
    }
}

pub(crate) struct Stop<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StoppedOut {
    /// Rows in which something was stopped.
    stopped_count: u64,
    stopped_cells: u64,
}

impl<V: Version> Endpoint<ApiState> for Stop<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "stop";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Stop processing";
    const DESCRIPTION: &'static str = "Puts queued and running cells back to what they were. Once this has answered, no \
         call for them is begun, calls in flight are aborted, and late results are dropped.";
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
        let stop = body.into_stop(call.once()?);
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
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get the status of processing";
    const DESCRIPTION: &'static str = "How many rows and cells stand where. The counts are kept, so asking costs the same for any number of rows.";
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
                        "error": 0, "skipped": 0,
                    },
                },
                "processing": true,
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
