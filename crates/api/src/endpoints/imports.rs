//! Rows from a file.

use axum::http::header::{HeaderName, HeaderValue, LOCATION};
use axum::http::{Method, StatusCode};
use rowmill_app::Caller;
use rowmill_model::Scopes;
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats, RequestHeader};
use crate::error::Error;
use crate::files::incoming::{Format, Incoming};
use crate::files::whole::WholeFile;
use crate::import_request::{FileRequest, ImportQuery, prefers_async};
use crate::importing::{RowImporter, read_file};
use crate::payload::File;
use crate::state::ApiState;
use crate::wire::import::FileOutcome;
use crate::wire::import_job::ImportJobOut;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

pub(crate) struct ImportFile;

impl Endpoint<ApiState> for ImportFile {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "importFile";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Import rows";
    const DESCRIPTION: &'static str = "Imports rows from CSV (`text/csv`) or JSON Lines (`application/x-ndjson`) in UTF-8. The file is \
     streamed. Each field goes to the column given in `mapping`, or else to the column with that id or \
     header. CSV cells are text; empty cells are ignored unless `emptyCells` is `clear`. Rows are committed in batches: rows imported \
     before a lost connection are kept. A row that cannot be imported is listed with its line and the \
     reason, and does not stop the others. A file that makes columns also needs the scope `schema`; without it, send \
     `createColumns=false`. With `async=true` or `Prefer: respond-async` the answer is 202 as soon as \
     the file is here in full: its `status` is `queued`, its counts are 0 because nothing is imported yet, and `Location` is where the import can be watched: no proxy's time limit ends it, and it \
     survives a restart of the server.";
    const REPEATS: Repeats = Repeats::WithAnswer;
    const STATUS_ALSO: Option<StatusCode> = Some(StatusCode::ACCEPTED);
    const REQUEST_HEADERS: &'static [RequestHeader] = &[RequestHeader::Prefer];
    const ANSWER_HEADERS: &'static [&'static str] = &["Location", "Preference-Applied"];
    type Path = ProjectPath;
    type Query = ImportQuery;
    type Body = File;
    type Out = FileOutcome;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "importedCount": 2, "updatedCount": 0, "unchangedCount": 0, "rejectedCount": 1, "skippedCount": 0,
                "columnsCreated": [{ "id": "col_4fJq0ZtR9xWb", "header": "City" }], "fieldsIgnored": [],
                "rejected": [{ "line": 3, "reason": "has 4 cells, but the header has 2", "values": ["a", "b", "c", "d"] }], "stopped": false,
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: ImportQuery,
        File(body): File,
    ) -> Result<Answer<FileOutcome>, Error> {
        // Who may not write to the project learns nothing else.
        call.app().project_for_import(call.caller()?, &path.project_id).await?;
        let format = Format::of(&call.headers)?;
        if query.is_async == Some(true) || prefers_async(&call.headers) {
            return start(&call, &path.project_id, query, WholeFile::new(&call.headers, body, &call.limits)?)
                .await;
        }
        let options = query.options(&call.limits)?;
        let mut incoming = Incoming::new(&call.headers, body, &call.limits)?;
        let read = async {
            let import = call.app().begin_import(call.caller()?, &path.project_id, options).await?;
            let mut importer = RowImporter::new(call.app(), &call.limits, import, None);
            read_file(&mut importer, &mut incoming, format, &query).await?;
            Ok(importer.finish())
        };
        let outcome: Result<FileOutcome, Error> = read.await;
        if !matches!(&outcome, Ok(FileOutcome { stopped: false, .. })) {
            incoming.drain().await;
        }
        outcome.map(Answer::new)
    }
}

/// Keeps the file, and has it imported in the background.
async fn start(
    call: &Call<ApiState>,
    project: &str,
    query: ImportQuery,
    mut file: WholeFile,
) -> Result<Answer<FileOutcome>, Error> {
    let (app, caller) = (call.app(), call.caller()?);
    let Caller::Key(principal) = caller else { return Err(rowmill_app::Error::Unauthenticated.into()) };
    // What can be known before the file is read is said before it is read.
    let import = app.begin_import(caller, project, query.options(&call.limits)?).await?;
    let request = FileRequest::new(principal, query, import.mapping(), &call.headers)?.to_text()?;
    let mut upload = app.begin_upload(caller, project, request, file.length).await?;
    let received = async {
        while let Some(part) = file.next().await? {
            app.put_part(&mut upload, part).await?;
        }
        Ok::<_, Error>(())
    };
    if let Err(error) = received.await {
        app.drop_upload(&upload).await?;
        file.drain().await;
        return Err(error);
    }
    let job = app.end_upload(&upload).await?;
    let location = format!("{}/v4/projects/{}/imports/{}", call.reached().base_url(), job.project, job.id);
    let location =
        HeaderValue::from_str(&location).map_err(|error| rowmill_app::Error::Internal(error.into()))?;
    let job = ImportJobOut::from(&job);
    let outcome = FileOutcome { status: Some(job.status), job: Some(job), ..FileOutcome::default() };
    let answer = Answer::new(outcome).with_status(StatusCode::ACCEPTED).with_header(LOCATION, location);
    let applied = prefers_async(&call.headers).then_some(HeaderValue::from_static("respond-async"));
    Ok(match applied {
        Some(applied) => answer.with_header(PREFERENCE_APPLIED, applied),
        None => answer,
    })
}
