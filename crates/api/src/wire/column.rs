//! Columns on the wire. `column_schema` describes them.

use rowmill_model::template::Template;
use rowmill_model::value::{member, quote_long_numbers};
use rowmill_model::{Column, ColumnType, DataShape, Table, corrections};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// A column with its whole configuration.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct ColumnFull(Map<String, Value>);

impl ColumnFull {
    pub(crate) fn new(table: &Table, column: &Column) -> Self {
        Self(corrections::to_document(table, column))
    }
}

impl MadeColumn for ColumnFull {
    fn of(table: &Table, column: &Column) -> Self {
        Self::new(table, column)
    }
}

/// What a version answers when a column is made.
pub(crate) trait MadeColumn: Serialize + JsonSchema + Send {
    fn of(table: &Table, column: &Column) -> Self;
}

/// A column to be made, as it was sent.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnCreate(#[serde(deserialize_with = "exact_condition")] pub(crate) Map<String, Value>);

/// A change to a column, as it was sent.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnPatch(#[serde(deserialize_with = "exact_condition")] pub(crate) Map<String, Value>);

/// Reads a column whose `runCondition` keeps all digits of its numbers.
fn exact_condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let mut column: Map<String, Value> = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
    if let Some(condition) = column.get_mut("runCondition")
        && let Some(raw) = member(raw.get(), "runCondition")
    {
        *condition = serde_json::from_str(&quote_long_numbers(raw)).map_err(D::Error::custom)?;
    }
    Ok(column)
}

/// The fields of a new column that v4 returns.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ColumnBrief {
    #[schemars(length(max = 64))]
    id: String,
    #[schemars(length(min = 1, max = 255))]
    header: String,
    #[serde(rename = "type")]
    kind: ColumnType,
    data_shape: DataShape,
    order: usize,
}

impl MadeColumn for ColumnBrief {
    fn of(table: &Table, column: &Column) -> Self {
        Self {
            id: column.id.to_string(),
            header: column.header.clone(),
            kind: column.kind,
            data_shape: column.data_shape,
            order: table.position(column.id.as_str()).unwrap_or_default(),
        }
    }
}

/// A column template.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TemplateItem {
    /// Pass this as `templateId` to create a column.
    #[schemars(length(max = 64))]
    id: &'static str,
    #[schemars(length(max = 255))]
    label: &'static str,
    #[schemars(length(max = 1_000))]
    description: &'static str,
    #[serde(rename = "type")]
    kind: ColumnType,
    data_shape: DataShape,
}

impl TemplateItem {
    pub(crate) fn new(template: &Template, word: &'static str) -> Self {
        let Template { id: _, v3_id: _, label, description, kind, data_shape } = template;
        Self { id: word, label, description, kind: *kind, data_shape: *data_shape }
    }
}
