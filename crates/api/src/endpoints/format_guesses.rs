//! Guessing the types of columns from their values.

use axum::http::Method;
use rowmill_model::format::{Guess, guess};
use rowmill_model::{Format, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, Repeats};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;

pub(crate) struct GuessFormats;

/// Columns with some of their values.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GuessBody {
    #[schemars(extend("x-limit" = { "maxItems": "columnsMax" }))]
    columns: Vec<ColumnSample>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ColumnSample {
    /// The column's header: numbers in a column called `Zip` are no amounts.
    #[serde(default)]
    #[schemars(length(max = 255))]
    header: String,
    /// Values of any kind. The first 1,000 are looked at.
    #[schemars(with = "Vec<Value>", length(max = 10_000))]
    values: Vec<Box<RawValue>>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GuessedFormats {
    /// In the order of the request.
    columns: Vec<GuessedFormat>,
}

#[derive(Debug, Default, Serialize, JsonSchema)]
struct GuessedFormat {
    /// The type that at least nine of ten values fit. Omitted if they are plain text.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Format")]
    format: Option<Format>,
    /// How many of the values fit it. Empty ones are not counted.
    fits: usize,
    /// How many do not.
    misfits: usize,
}

impl Endpoint<ApiState> for GuessFormats {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "guessFormats";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Columns";
    const SUMMARY: &'static str = "Guess types of values";
    const DESCRIPTION: &'static str = "Returns the type that the values of each column seem to have, for the `format` of a column or the `formats` \
         of an import. Nothing is stored.";
    const REPEATS: Repeats = Repeats::Freely;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<GuessBody>;
    type Out = GuessedFormats;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "columns": [{ "header": "Revenue", "values": ["$1,200", "$85.50"] }] })),
            answer: None,
        }
    }

    async fn handle(
        _: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(body): Json<GuessBody>,
    ) -> Result<Answer<GuessedFormats>, Error> {
        let columns = body.columns.iter().map(|ColumnSample { header, values }| {
            let raws: Vec<&str> = values.iter().map(|value| value.get()).collect();
            guess(header, &raws).map_or_else(GuessedFormat::default, |Guess { format, fits, misfits }| {
                GuessedFormat { format: Some(format), fits, misfits }
            })
        });
        Ok(Answer::new(GuessedFormats { columns: columns.collect() }))
    }
}
