//! Imports that run in the background: list, watch, cancel.

use axum::http::Method;
use rowmill_app::{Import, ImportJob, ImportProgress};
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::import_request::FileRequest;
use crate::payload::Nothing;
use crate::state::ApiState;
use crate::wire::import::{CreatedColumn, FileOutcome, JobResult, Rejected};
use crate::wire::import_job::{ImportJobOut, JobOutcome};

const TAG: &str = "Rows";

/// Names an import of a project.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ImportPath {
    /// The project's id.
    #[schemars(length(min = 1, max = 64), extend("example" = "proj_0190f0e0a1b27c3d8e4f0123456789ab"))]
    project_id: String,
    /// The id of the import's job, with or without `imp_`, with or without hyphens.
    #[schemars(length(min = 1, max = 64), extend("example" = "imp_0190f0e0d7e87f908123456789abcdef"))]
    job_id: String,
}

pub(crate) struct ListImports;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportList")]
pub(crate) struct Imports {
    /// Newest first.
    #[schemars(length(max = 10_000))]
    jobs: Vec<ImportJobOut>,
}

impl Endpoint<ApiState> for ListImports {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listImports";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List imports";
    const DESCRIPTION: &'static str = "Lists the project's imports that run in the background, newest first. An import that has ended is kept \
     for 7 days, the newest 100 of a team.";
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Imports;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "jobs": [example()] })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Imports>, Error> {
        let jobs = call.app().import_jobs(call.caller()?, &path.project_id).await?;
        Ok(Answer::new(Imports { jobs: jobs.iter().map(ImportJobOut::from).collect() }))
    }
}

pub(crate) struct GetImport;

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportAnswer")]
pub(crate) struct OneImport {
    job: ImportJobOut,
    /// The result, once the import has ended. If it failed or was cancelled: as far as it came.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "JobResult")]
    result: Option<JobResult>,
}

impl Endpoint<ApiState> for GetImport {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getImport";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get an import";
    const DESCRIPTION: &'static str =
        "Returns how far an import in the background is and, once it has ended, its result.";
    type Path = ImportPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneImport;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "job": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ImportPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneImport>, Error> {
        let job = call.app().import_job(call.caller()?, &path.project_id, &path.job_id).await?;
        answer(&call, &job).await
    }
}

pub(crate) struct CancelImport;

impl Endpoint<ApiState> for CancelImport {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "cancelImport";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Cancel an import";
    const DESCRIPTION: &'static str = "Cancels an import that is queued or running. After the response, no more rows are imported; those that were \
     imported before are kept. An import that has ended stays as it is.";
    type Path = ImportPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = OneImport;

    fn examples() -> Examples {
        Examples { body: None, answer: Some(json!({ "job": example() })) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ImportPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<OneImport>, Error> {
        let job = call.app().cancel_import(call.caller()?, &path.project_id, &path.job_id).await?;
        answer(&call, &job).await
    }
}

async fn answer(call: &Call<ApiState>, job: &ImportJob) -> Result<Answer<OneImport>, Error> {
    let result =
        if job.status.is_over() { Some(JobResult { outcome: result(call, job).await? }) } else { None };
    Ok(Answer::new(OneImport { job: job.into(), result }))
}

/// The result of an import that has ended, from what it noted.
async fn result(call: &Call<ApiState>, job: &ImportJob) -> Result<FileOutcome, Error> {
    let options = FileRequest::read(&job.request)?.query.options(&call.limits)?;
    let import = Import::noted(options, job)?;
    let mut rejected: Vec<Rejected> = Vec::new();
    for noted in call.app().rejected_rows(job).await? {
        let some: Vec<Rejected> =
            serde_json::from_str(&noted).map_err(|error| rowmill_app::Error::Damaged(error.to_string()))?;
        rejected.extend(some);
    }
    rejected.sort_by_key(|rejected| rejected.line);
    let hints = import.hints();
    let column = |(id, header): (rowmill_model::ColumnId, String)| CreatedColumn {
        id: id.as_str().to_owned(),
        header,
    };
    let ImportProgress { rows_read, inserted, updated, unchanged, rejected: rejected_count, .. } =
        job.progress;
    let outcome = FileOutcome {
        status: None,
        imported_count: inserted,
        updated_count: updated,
        unchanged_count: unchanged,
        rejected_count,
        skipped_count: 0,
        columns_created: import.created.into_iter().map(column).collect(),
        fields_ignored: import.ignored,
        hints,
        rejected,
        stopped: JobOutcome::of(job).stopped,
        job: None,
    };
    Ok(FileOutcome { skipped_count: outcome.skipped_of(rows_read), ..outcome })
}

pub(crate) fn example() -> Value {
    json!({
        "id": "imp_0190f0e0d7e87f908123456789abcdef", "status": "running",
        "createdAt": "2026-11-15T09:30:00.000Z", "startedAt": "2026-11-15T09:30:01.000Z", "endedAt": null,
        "fileBytes": 52_428_800, "bytesRead": 20_971_520, "rowsRead": 400_000,
        "importedCount": 399_998, "updatedCount": 0, "unchangedCount": 0, "rejectedCount": 2, "skippedCount": 0,
    })
}
