//! Comparisons of prompts and models on the wire.

use rowmill_app::{ComparedCell, ComparedOutcome, ComparedRow, ComparedVariant, Comparison};
use rowmill_model::column::AiConfig;
use rowmill_model::{Amount, CellError, CellStatus};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Error;

/// What a comparison of variants came to. Nothing of it is stored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Comparison")]
pub(crate) struct ComparisonOut {
    /// The rows that were compared on.
    #[schemars(length(max = 20))]
    rows: Vec<ComparedRowOut>,
    /// In the order they were sent.
    #[schemars(length(max = 6))]
    variants: Vec<ComparedVariantOut>,
    /// The place of the variant with the best score, counted from 0; of equals the cheapest, then the fastest. Omitted
    /// if none has a score.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(max = 5))]
    best: Option<usize>,
    /// US dollars for all calls, the judge's included. Omitted if nobody knows.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    usd: Option<f64>,
    /// How long the comparison took.
    milliseconds: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ComparedRow")]
struct ComparedRowOut {
    #[schemars(length(max = 64))]
    row_id: String,
    /// The expected answer: any JSON value. Omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    expected: Option<Box<RawValue>>,
}

/// A variant, and how it did.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ComparedVariant")]
struct ComparedVariantOut {
    #[schemars(length(max = 100))]
    name: String,
    /// The whole configuration. Save it in the column to use this variant.
    ai_config: AiConfig,
    /// In the order of `rows`.
    #[schemars(length(max = 20))]
    cells: Vec<ComparedCellOut>,
    /// The mean score of the cells, from 0 to 1. A cell without an answer counts as 0. Omitted if none was scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0, max = 1))]
    score: Option<f64>,
    /// Number of cells that were scored.
    scored: u64,
    /// US dollars for 1,000 rows like these, by providers or by the prices. Omitted if nobody knows.
    #[serde(rename = "usdPer1000Rows", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    usd_per_1000_rows: Option<f64>,
    /// The mean time of a cell. Omitted if none was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    milliseconds: Option<u64>,
    /// Corrections that were made, one sentence each.
    applied_fixes: Vec<String>,
}

/// The result of a variant in one row.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ComparedCell")]
struct ComparedCellOut {
    /// `completed`, `error` or `skipped`.
    status: CellStatus,
    /// Whether it was run. If not, `error` says why: the time was up (`timed_out`), or a spending cap is reached
    /// (`spend_limit`).
    tried: bool,
    /// Any JSON value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Value")]
    value: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CellError")]
    error: Option<CellError>,
    /// From 0 to 1. Omitted if it was not scored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0, max = 1))]
    score: Option<f64>,
    /// Why the judge says so, or why there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 11_000))]
    reason: Option<String>,
    /// How the value was produced: provider, model, milliseconds, tokens, cost.
    #[serde(skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
}

impl ComparisonOut {
    pub(crate) fn new(comparison: Comparison) -> Result<Self, Error> {
        let Comparison { rows, variants, best, spent, milliseconds } = comparison;
        Ok(Self {
            rows: rows.into_iter().map(ComparedRowOut::new).collect::<Result<_, _>>()?,
            variants: variants.into_iter().map(ComparedVariantOut::new).collect::<Result<_, _>>()?,
            best,
            usd: spent.dollars().map(Amount::number),
            milliseconds,
        })
    }
}

impl ComparedRowOut {
    fn new(row: ComparedRow) -> Result<Self, Error> {
        let ComparedRow { id, expected } = row;
        Ok(Self { row_id: id.to_string(), expected: expected.map(raw_value).transpose()? })
    }
}

impl ComparedVariantOut {
    fn new(variant: ComparedVariant) -> Result<Self, Error> {
        let ComparedVariant { name, ai_config, cells, score, scored, usd_per_1000_rows, milliseconds, fixes } =
            variant;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a comparison takes minutes"
        )]
        let whole = |number: f64| number.round() as u64;
        Ok(Self {
            name,
            ai_config,
            cells: cells.into_iter().map(ComparedCellOut::new).collect::<Result<_, _>>()?,
            score,
            scored,
            usd_per_1000_rows: usd_per_1000_rows.map(rounded),
            milliseconds: milliseconds.map(whole),
            applied_fixes: fixes,
        })
    }
}

impl ComparedCellOut {
    fn new(cell: ComparedCell) -> Result<Self, Error> {
        let ComparedCell { outcome, meta, score, reason } = cell;
        let tried = !matches!(outcome, ComparedOutcome::NotTried(_));
        let (status, value, error) = match outcome {
            ComparedOutcome::Completed(raw) => (CellStatus::Completed, Some(raw_value(raw)?), None),
            ComparedOutcome::Failed(error) | ComparedOutcome::NotTried(error) => {
                (CellStatus::Error, None, Some(error))
            }
            ComparedOutcome::Skipped(error) => (CellStatus::Skipped, None, Some(error)),
        };
        Ok(Self { status, tried, value, error, score, reason, meta })
    }
}

/// To a hundred-thousandth of a cent.
fn rounded(usd: f64) -> f64 {
    (usd * 1e7).round() / 1e7
}

fn raw_value(raw: Box<str>) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(raw.into()).map_err(|error| rowmill_app::Error::Internal(error.into()).into())
}
