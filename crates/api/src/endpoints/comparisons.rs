//! Comparing prompts and models of an AI column on some rows.

use axum::http::Method;
use rowmill_app::{CompareColumn, Comparison, Expected, JudgeModel, NewVariant, SampleRows};
use rowmill_model::Scopes;
use rowmill_model::column::{AiConfig, AiProvider};
use rowmill_model::scoring::Scoring;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::column::ColumnCreate;
use crate::wire::comparison::ComparisonOut;

const ROWS_DEFAULT: u32 = 5;

/// Variants of an AI column, and the rows to compare them on.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompareBody {
    /// The column, as in a column creation.
    column: ColumnCreate,
    /// The id of an existing column to edit: fields missing in `column` keep their values.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 64))]
    column_id: Option<String>,
    #[schemars(length(min = 1, max = 6))]
    variants: Vec<VariantBody>,
    /// The rows to compare on.
    #[serde(default)]
    #[schemars(with = "Vec<String>", length(min = 1, max = 20))]
    row_ids: Option<Vec<String>>,
    /// Without `rowIds`: the number of rows, from the first one on. With `expected`, only rows with an expected answer
    /// count. Default: 5.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 1, max = 20))]
    rows: Option<u32>,
    /// The right answers, to score the variants against.
    #[serde(default)]
    #[schemars(with = "ExpectedBody")]
    expected: Option<ExpectedBody>,
}

/// A variant of the column.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CompareVariant")]
struct VariantBody {
    /// Default: `Variant 1` and so on.
    #[serde(default)]
    #[schemars(with = "String", length(max = 100))]
    name: Option<String>,
    /// What is different from the column. Other settings are the column's.
    #[serde(default)]
    #[schemars(with = "AiConfig")]
    ai_config: Map<String, Value>,
}

/// Where the right answers are, and how they are compared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "CompareExpected")]
struct ExpectedBody {
    /// The column with the right answers, by id or header. Rows without one are not scored.
    #[schemars(length(min = 1, max = 255))]
    column_id: String,
    scoring: Scoring,
    /// For `json`: the fields that count. Default: all fields of the expected answer.
    #[serde(default)]
    #[schemars(with = "Vec<String>", length(max = 100), inner(length(min = 1, max = 255)))]
    fields: Vec<String>,
    /// For `judge`: the provider of the model that judges. Without a provider and a model, the first variant's judges.
    #[serde(default)]
    #[schemars(with = "AiProvider")]
    judge_provider: Option<AiProvider>,
    /// For `judge`: the model that judges.
    #[serde(default)]
    #[schemars(with = "String", length(min = 1, max = 200))]
    judge_model: Option<String>,
}

impl CompareBody {
    fn into_request(self, is_session: bool) -> Result<CompareColumn, Error> {
        let Self { column: ColumnCreate(column), column_id, variants, row_ids, rows, expected } = self;
        let rows = match (row_ids, rows) {
            (Some(_), Some(_)) => {
                return Err(Error::offence("rows", "cannot be combined with rowIds; send one of them"));
            }
            (Some(ids), None) => SampleRows::Ids(ids),
            (None, count) => SampleRows::First(count.unwrap_or(ROWS_DEFAULT)),
        };
        let variants =
            variants.into_iter().map(|VariantBody { name, ai_config }| NewVariant { name, ai_config });
        let expected = expected.map(|expected| {
            let ExpectedBody { column_id, scoring, fields, judge_provider, judge_model } = expected;
            let judge = JudgeModel { provider: judge_provider, model: judge_model };
            Expected { column_id, scoring, fields, judge }
        });
        Ok(CompareColumn { column, column_id, variants: variants.collect(), rows, expected, is_session })
    }
}

pub(crate) struct CompareOnRows;

impl Endpoint<ApiState> for CompareOnRows {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "compareColumn";
    const SCOPES: Scopes = Scopes::RUN.and(Scopes::SCHEMA);
    const TAG: &'static str = "Processing";
    const SUMMARY: &'static str = "Compare prompts and models";
    const DESCRIPTION: &'static str = "Runs variants of an AI column on some rows, without saving the column or the values, and returns each \
     variant's values, score, cost and time. To use a variant, save its `aiConfig` in the column. Takes at most 2 minutes: \
     cells that were not begun by then, or that a spending cap does not allow, have `tried: false`. What it costs is \
     counted as spending.";
    const REPEATS: Repeats = Repeats::Freely;
    const READS_ROWS: bool = true;
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Json<CompareBody>;
    type Out = ComparisonOut;

    fn examples() -> Examples {
        let config = |prompt: &str, model: &str| json!({ "prompt": prompt, "model": model });
        let cell = |value: &str, score: u32| {
            json!({
                "status": "completed", "tried": true, "value": value, "score": score,
                "meta": { "provider": "openai", "model": "gpt-5-mini", "milliseconds": 800, "listCost": 0.0002 },
            })
        };
        Examples {
            body: Some(json!({
                "column": { "templateId": "ai-text" },
                "variants": [
                    { "name": "Short", "aiConfig": config("City of @{Company}?", "gpt-5-mini") },
                    { "name": "Long", "aiConfig": config("In which city is @{Company}? City only.", "gpt-5-mini") },
                ],
                "rows": 1,
                "expected": { "columnId": "City", "scoring": "exact" },
            })),
            answer: Some(json!({
                "rows": [{ "rowId": "row_0190f0e0b3c47d5e8f60123456789abc", "expected": "Ulm" }],
                "variants": [
                    {
                        "name": "Short", "aiConfig": config("City of @{col_4fJq0ZtR9xWb}?", "gpt-5-mini"),
                        "cells": [cell("It is in Ulm.", 0)], "score": 0.0, "scored": 1, "usdPer1000Rows": 0.2,
                        "milliseconds": 800, "appliedFixes": [],
                    },
                    {
                        "name": "Long", "aiConfig": config("In which city is @{col_4fJq0ZtR9xWb}? City only.", "gpt-5-mini"),
                        "cells": [cell("Ulm", 1)], "score": 1.0, "scored": 1, "usdPer1000Rows": 0.2,
                        "milliseconds": 800, "appliedFixes": [],
                    },
                ],
                "best": 1, "usd": 0.0004, "milliseconds": 950,
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        Json(body): Json<CompareBody>,
    ) -> Result<Answer<ComparisonOut>, Error> {
        let request = body.into_request(call.is_session())?;
        let compared: Comparison =
            call.shared_app().compare(call.caller()?, &path.project_id, request).await?;
        Ok(Answer::new(ComparisonOut::new(compared)?))
    }
}
