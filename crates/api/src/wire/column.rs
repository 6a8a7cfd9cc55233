//! Columns on the wire.

use std::borrow::Cow;

use rowmill_model::column::{AiConfig, ApiConfig, Dependency, RateLimit, ReferenceConfig, Retry, TaskConfig};
use rowmill_model::filter::Filters;
use rowmill_model::template::Template;
use rowmill_model::{Column, ColumnType, DataShape, Table, corrections};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::patch::Patch;

/// Gives a JSON object the schema of a struct that is only there to describe it.
macro_rules! described_by {
    ($name:ident, $schema:ty) => {
        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                <$schema>::json_schema(generator)
            }
        }
    };
}

/// A column with its whole configuration.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct ColumnFull(Map<String, Value>);

impl ColumnFull {
    pub(crate) fn new(table: &Table, column: &Column) -> Self {
        Self(corrections::to_wire(table, column))
    }
}

impl MadeColumn for ColumnFull {
    fn of(table: &Table, column: &Column) -> Self {
        Self::new(table, column)
    }
}

described_by!(ColumnFull, FullShape);

/// What a version answers when a column is made.
pub(crate) trait MadeColumn: Serialize + JsonSchema + Send {
    fn of(table: &Table, column: &Column) -> Self;
}

/// A column to be made, as it was sent.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnCreate(pub(crate) Map<String, Value>);

described_by!(ColumnCreate, CreateShape);

/// A change to a column, as it was sent.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnPatch(pub(crate) Map<String, Value>);

described_by!(ColumnPatch, Patch<PatchShape>);

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

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "describes ColumnFull")]
struct FullShape {
    #[schemars(length(max = 64))]
    id: String,
    #[schemars(length(min = 1, max = 255))]
    header: String,
    #[serde(rename = "type")]
    kind: ColumnType,
    data_shape: DataShape,
    /// The column's position. The input column is 0.
    order: u32,
    /// Present and true on the input column.
    #[schemars(extend("enum" = [true]))]
    #[serde(skip_serializing_if = "Option::is_none")]
    trigger: Option<bool>,
    dependencies: Vec<Dependency>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ai_config: Option<AiConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_config: Option<TaskConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    api_config: Option<ApiConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference_config: Option<ReferenceConfig>,
    run_condition: Filters,
    retry: Retry,
    rate_limit: Option<RateLimit>,
    cache_ttl_seconds: u32,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "describes ColumnCreate")]
struct CreateShape {
    /// The id of a template. The ids of all API versions are accepted.
    #[schemars(extend("x-document" = { "enum": [
        "manual", "ai", "ai-text", "ai-json", "waterfall-email", "web-scraper", "http-api", "reference"
    ] }))]
    template_id: String,
    /// 1 to 255 characters, not counting leading and trailing spaces. Default: the template's label.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    header: Option<String>,
    /// The column's position; later columns move up. Default: the end.
    order: Option<u32>,
    #[schemars(length(max = 500))]
    dependencies: Option<Vec<Dependency>>,
    ai_config: Option<AiConfig>,
    task_config: Option<TaskConfig>,
    api_config: Option<ApiConfig>,
    reference_config: Option<ReferenceConfig>,
    /// The column runs only in rows that match these filters. Columns can be named by header.
    #[schemars(extend("x-unchecked" = true))]
    run_condition: Option<Filters>,
    retry: Option<Retry>,
    rate_limit: Option<RateLimit>,
    /// How long the result of an identical call is reused.
    #[schemars(range(max = 31_536_000))]
    cache_ttl_seconds: Option<u32>,
}

#[derive(JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "describes ColumnPatch")]
struct PatchShape {
    /// Read-only. If present, it must be unchanged.
    #[schemars(length(max = 64))]
    id: String,
    /// Read-only. If present, it must be unchanged.
    #[serde(rename = "type")]
    kind: ColumnType,
    /// Read-only. If present, it must be unchanged.
    trigger: bool,
    /// Corrected to a value that the column's type allows.
    #[schemars(length(max = 64))]
    data_shape: String,
    /// 1 to 255 characters, not counting leading and trailing spaces.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    header: String,
    order: u32,
    #[schemars(length(max = 500))]
    dependencies: Vec<Dependency>,
    ai_config: AiConfig,
    task_config: TaskConfig,
    api_config: ApiConfig,
    reference_config: ReferenceConfig,
    #[schemars(extend("x-unchecked" = true))]
    run_condition: Filters,
    retry: Retry,
    rate_limit: RateLimit,
    #[schemars(range(max = 31_536_000))]
    cache_ttl_seconds: u32,
}
