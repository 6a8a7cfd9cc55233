//! The runs of a project, present and past.

use std::marker::PhantomData;

use axum::http::Method;
use rowmill_model::{Offence, RunId, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{ProjectPath, page_size};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::Nothing;
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::past_run::RunOut;

const TAG: &str = "Processing";

/// Names a run of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The run's id, with or without `run_`.
    #[schemars(length(min = 1, max = 64), extend("example" = "run_17"))]
    run_id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RunsQuery {
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
    page_size: Option<u32>,
    /// `nextCursor` of the previous page.
    #[schemars(length(min = 1, max = 64))]
    cursor: Option<String>,
}

pub(crate) struct ListRuns<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunList")]
pub(crate) struct Runs {
    /// Newest first.
    runs: Vec<RunOut>,
    pagination: RunsPagination,
}

/// Pagination by cursor.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunsPagination {
    page_size: u32,
    /// The `cursor` of the next page; null at the end.
    #[schemars(length(max = 64))]
    next_cursor: Option<String>,
}

impl<V: Version> Endpoint<ApiState> for ListRuns<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listRuns";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List runs";
    const DESCRIPTION: &'static str = "Lists the project's runs, newest first. A project has one run at a time: it starts when a cell is queued \
     while none is waiting or running, whether by a trigger, autoplay or the webhook, and lasts while any is. \
     Triggers in between join it. The newest 1,000 runs are kept, for up to 90 days.";
    type Path = V::Path<ProjectPath>;
    type Query = RunsQuery;
    type Body = Nothing;
    type Out = Runs;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "runs": [example()],
                "pagination": { "pageSize": 50, "nextCursor": null },
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        query: RunsQuery,
        _: Nothing,
    ) -> Result<Answer<Runs>, Error> {
        let path = V::within(path);
        let page_size = page_size(query.page_size, &call.limits);
        let before = match query.cursor.as_deref().map(RunId::parse) {
            Some(None) => {
                let offence = Offence::new("cursor", "must be a nextCursor from a previous page");
                return Err(Error::offences(vec![offence]));
            }
            before => before.flatten(),
        };
        let page = call.app().runs(call.caller()?, &path.project_id, before, page_size).await?;
        let next_cursor = page.runs.last().filter(|_| page.more).map(|run| run.id.to_string());
        let runs = page.runs.into_iter().map(RunOut::from).collect();
        Ok(Answer::new(Runs { runs, pagination: RunsPagination { page_size, next_cursor } }))
    }
}

pub(crate) struct GetRun<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RunAnswer")]
pub(crate) struct OneRun {
    run: RunOut,
}

impl<V: Version> Endpoint<ApiState> for GetRun<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getRun";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a run";
    const DESCRIPTION: &'static str =
        "Returns a run with its counts. While it is running, the counts are those of this moment.";
    type Path = V::Path<RunPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneRun;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "run": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<RunPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneRun>, Error> {
        let path = V::within(path);
        let run = call.app().run(call.caller()?, &path.project_id, &path.run_id).await?;
        Ok(Answer::new(OneRun { run: run.into() }))
    }
}

fn example() -> Value {
    json!({
        "id": "run_17", "status": "finished", "startedBy": { "type": "key", "name": "Nightly job" },
        "startedAt": "2026-11-15T09:30:00.000Z", "endedAt": "2026-11-15T09:31:12.000Z",
        "cells": 42, "queued": 0, "done": 39, "empty": 1, "failed": 2, "skipped": 0, "stopped": 0,
        "failures": [{ "code": "rate_limited", "cells": 2 }], "skips": [],
        "usage": { "attempts": 44, "inputTokens": 12_300, "outputTokens": 1_840 }, "cost": 0.021,
    })
}
