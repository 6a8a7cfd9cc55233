//! Trying a column on one row, or a provider's credential.

use axum::http::Method;
use rowmill_app::{Correcting, TrialOutcome, Tried, TryColumn};
use rowmill_model::{CellError, CellStatus, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::ProjectPath;
use super::providers::ProviderPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::column::ColumnCreate;

pub(crate) struct TryOnRow;

/// A column to try, and the row to try it on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TryBody {
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    row_id: String,
    /// The column, as in a column creation.
    column: ColumnCreate,
    /// The id of an existing column to edit: fields missing in `column` keep their values.
    #[serde(default)]
    #[schemars(with = "String", extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    column_id: Option<String>,
    /// Only return what would be sent.
    #[serde(default)]
    dry_run: bool,
}

/// What is sent, and the result.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Tried")]
pub(crate) struct TriedOut {
    /// What is sent, with references resolved and secrets as `***`. AI: system, prompt, provider, model, attachments. HTTP
    /// API: method, url, headers, query, body. Scraper: url. Waterfall: firstName, lastName, fullName, domain.
    /// Verification: email. Company: domain, name. People: domain, name, jobTitle.
    resolved: Map<String, Value>,
    /// Omitted in a dry run, unless the row would be skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TriedResult")]
    result: Option<TriedResult>,
    /// Corrections that were made, one sentence each.
    applied_fixes: Vec<String>,
}

/// The result of a try. It is not stored.
#[derive(Debug, Serialize, JsonSchema)]
struct TriedResult {
    /// `completed`, `error` or `skipped`.
    status: CellStatus,
    /// Any JSON value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CellError")]
    error: Option<CellError>,
    /// How the value was produced: provider, model, milliseconds, source.
    #[serde(skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

impl TriedResult {
    fn new(outcome: TrialOutcome) -> Result<Self, Error> {
        Ok(match outcome {
            TrialOutcome::Completed(raw, meta) => {
                let value = RawValue::from_string(raw.into())
                    .map_err(|error| rowmill_app::Error::Internal(error.into()))?;
                Self { status: CellStatus::Completed, value: Some(value), error: None, meta }
            }
            TrialOutcome::Failed(error, meta) => {
                Self { status: CellStatus::Error, value: None, error: Some(error), meta }
            }
            TrialOutcome::Skipped(error) => {
                Self { status: CellStatus::Skipped, value: None, error: Some(error), meta: Map::new() }
            }
        })
    }
}

impl Endpoint<ApiState> for TryOnRow {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "tryColumn";
    const SCOPES: Scopes = Scopes::RUN.and(Scopes::SCHEMA);
    const TAG: &'static str = "Processing";
    const SUMMARY: &'static str = "Try a column on a row";
    const DESCRIPTION: &'static str = "Runs a column on one row once, without saving the column or the value. With `dryRun`, no call is made.";
    const REPEATS: Repeats = Repeats::Freely;
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Json<TryBody>;
    type Out = TriedOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({
                "rowId": "row_0190f0e0b3c47d5e8f60123456789abc",
                "column": { "templateId": "ai-text", "aiConfig": { "prompt": "Greet @{Name}" } },
                "dryRun": true,
            })),
            answer: Some(json!({
                "resolved": { "system": null, "prompt": "Greet Ada", "provider": "openai", "model": "gpt-5-mini" },
                "appliedFixes": [],
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        Json(body): Json<TryBody>,
    ) -> Result<Answer<TriedOut>, Error> {
        let TryBody { row_id, column: ColumnCreate(column), column_id, dry_run } = body;
        let request = TryColumn { row_id, column, column_id, dry_run, correcting: Correcting::Freely };
        let Tried { resolved, outcome, fixes } =
            call.app().try_column(call.caller()?, &path.project_id, request).await?;
        let result = outcome.map(TriedResult::new).transpose()?;
        Ok(Answer::new(TriedOut { resolved, result, applied_fixes: fixes }))
    }
}

pub(crate) struct TestProvider;

/// The result of a credential test.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProviderTested {
    /// Whether the credential works.
    ok: bool,
    /// The provider's response, without the credential.
    #[schemars(length(max = 10_000))]
    message: String,
    milliseconds: u64,
}

impl Endpoint<ApiState> for TestProvider {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "testProvider";
    const SCOPES: Scopes = Scopes::ADMIN;
    const TAG: &'static str = "Credentials";
    const SUMMARY: &'static str = "Test a provider's credential";
    const DESCRIPTION: &'static str = "Makes a small call to the provider with the team's credential: a one-word prompt for a model, or a \
     search for a nonexistent address. Finders that charge per search may charge for it.";
    const REPEATS: Repeats = Repeats::Freely;
    type Path = ProviderPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = ProviderTested;

    fn examples() -> Examples {
        let answer = json!({ "ok": true, "message": "Hunter accepted the key.", "milliseconds": 212 });
        Examples { body: None, answer: Some(answer) }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProviderPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<ProviderTested>, Error> {
        let tested = call.app().test_provider(call.caller()?, &path.provider).await?;
        let rowmill_app::ProviderTest { ok, message, milliseconds } = tested;
        Ok(Answer::new(ProviderTested { ok, message, milliseconds }))
    }
}
