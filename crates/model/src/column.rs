//! A column: what it is called, what fills it, and what it waits for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

pub use crate::ai_config::{AiConfig, AiFallback, AiProvider, Processing};
use crate::filter::document::Filters;
use crate::format::Format;
use crate::ids::ColumnId;
use crate::record::Slot;
pub use crate::research::Research;
pub use crate::web_scraper::{Crawl, RenderMode, ScrapeFormat, ScrapeSelectors, WebScraper};

/// The type of a column: what fills its cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ColumnType {
    /// Filled by people and programs.
    Manual,
    /// A language model responds to a prompt.
    Ai,
    /// A built-in task: the e-mail waterfall or the web scraper.
    Task,
    /// An HTTP request.
    Api,
    /// A JSON path into another column.
    Reference,
}

impl ColumnType {
    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Manual => "manual",
            Self::Ai => "ai",
            Self::Task => "task",
            Self::Api => "api",
            Self::Reference => "reference",
        }
    }

    /// The shapes a column of this type may have, the usual one first.
    pub fn data_shapes(self) -> &'static [DataShape] {
        match self {
            Self::Manual | Self::Ai => &[DataShape::Text, DataShape::Json],
            Self::Task => &[DataShape::Waterfall, DataShape::ScrapeResult],
            Self::Api | Self::Reference => &[DataShape::Json],
        }
    }

    /// Whether cells are filled by processing, not by hand and not by following another cell.
    pub fn is_processed(self) -> bool {
        matches!(self, Self::Ai | Self::Task | Self::Api)
    }
}

/// The shape of a column's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DataShape {
    Text,
    Json,
    Waterfall,
    /// Stored as `scrape-result` before the contract named it.
    #[serde(rename = "vendor-scrape-result", alias = "scrape-result")]
    ScrapeResult,
}

impl DataShape {
    pub const ALL: [Self; 4] = [Self::Text, Self::Json, Self::Waterfall, Self::ScrapeResult];

    /// The word the API uses.
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Waterfall => "waterfall",
            Self::ScrapeResult => "vendor-scrape-result",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        let word = if word == "scrape-result" { "vendor-scrape-result" } else { word };
        Self::ALL.into_iter().find(|shape| shape.word() == word)
    }
}

/// One column of a project, with its whole configuration. Its place in [`crate::Table`] is its order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Column {
    pub id: ColumnId,
    /// Where the column's values stand in a row's record.
    pub slot: Slot,
    pub header: String,
    #[serde(rename = "type")]
    pub kind: ColumnType,
    pub data_shape: DataShape,
    /// The type of the values, if somebody has chosen one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<Format>,
    #[serde(default)]
    pub dependencies: Vec<Dependency>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ai_config: Option<AiConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_config: Option<TaskConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_config: Option<ApiConfig>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_config: Option<ReferenceConfig>,
    #[serde(default, skip_serializing_if = "Filters::is_empty")]
    pub run_condition: Filters,
    #[serde(default)]
    pub retry: Retry,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_limit: Option<RateLimit>,
    #[serde(default)]
    pub cache_ttl_seconds: u32,
}

impl Column {
    /// Whether its cells go to the provider in batches.
    pub fn is_in_batches(&self) -> bool {
        let is_batch = |ai: &AiConfig| !ai.processing.is_realtime() && ai.research.is_none();
        self.kind == ColumnType::Ai && self.ai_config.as_ref().is_some_and(is_batch)
    }
}

/// A column that must settle first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dependency {
    /// The id of the column to wait for; `_trigger` is the input column.
    #[schemars(with = "String", length(max = 64))]
    pub column_id: ColumnId,
    /// Whether that column must have a value. If false, it only has to settle.
    #[serde(default)]
    pub required: bool,
}

/// Configuration of a task column: exactly one task, named by `taskType`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskConfig {
    /// `waterfallEmail` or `webScraper`.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub task_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waterfall_email: Option<WaterfallEmail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_scraper: Option<WebScraper>,
}

impl TaskConfig {
    pub const WATERFALL_EMAIL: &str = "waterfallEmail";
    pub const WEB_SCRAPER: &str = "webScraper";
}

/// E-mail finders, tried in order until one succeeds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaterfallEmail {
    /// Always `email`.
    #[serde(default = "WaterfallEmail::waterfall_type_default")]
    #[schemars(length(max = 64))]
    pub waterfall_type: String,
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub providers: Vec<WaterfallProvider>,
    /// The inputs of the search: `first_name`, `last_name`, `full_name`, `domain`; `""` means not mapped.
    #[serde(default)]
    #[schemars(with = "InputMapping")]
    pub input_mapping: BTreeMap<String, String>,
}

impl WaterfallEmail {
    pub const TYPE: &str = "email";
    pub const INPUT_KEYS: [&str; 4] = ["first_name", "last_name", "full_name", "domain"];

    fn waterfall_type_default() -> String {
        Self::TYPE.to_owned()
    }
}

/// Describes [`WaterfallEmail::input_mapping`]. It is shown with its four keys; what is sent is brought to them.
struct InputMapping;

impl JsonSchema for InputMapping {
    fn schema_name() -> Cow<'static, str> {
        "InputMapping".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = || json_schema!({ "type": "string" });
        let properties: serde_json::Map<_, _> =
            WaterfallEmail::INPUT_KEYS.iter().map(|key| ((*key).to_owned(), text().to_value())).collect();
        let mut schema = json_schema!({
            "type": "object",
            "description": "The inputs of the search: a text with references such as `@{col_name}`, or `\"\"`. \
             Other keys are dropped.",
            "properties": properties,
        });
        if generator.contract().is_serialize() {
            schema.insert("required".to_owned(), WaterfallEmail::INPUT_KEYS.to_vec().into());
            schema.insert("additionalProperties".to_owned(), false.into());
        } else {
            schema.insert("additionalProperties".to_owned(), text().to_value());
            // In TypeScript, fields that may be missing do not go together with a type for all others.
            let told = serde_json::json!({ "additionalProperties": true });
            schema.insert("x-document".to_owned(), told);
        }
        schema
    }
}

/// One finder of a waterfall.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WaterfallProvider {
    /// The entry's id, unique in its column.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub id: String,
    /// The finder to call, such as `hunter` or `pattern`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub task_type: String,
    #[serde(default)]
    pub enabled: bool,
    #[serde(default)]
    #[schemars(range(min = 0, max = 100_000))]
    pub order: u32,
}

/// An HTTP request made for each cell. `@{columnId}` can be used in `url`, `headers`, `query` and `body`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ApiConfig {
    #[serde(default)]
    pub method: HttpMethod,
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub url: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub query: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub body: serde_json::Value,
    /// The part of the response to store: a dotted path or JSONPath.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 1_000))]
    pub response_path: Option<String>,
    /// Statuses that mean success: numbers, or ranges such as `"200..299"`.
    #[serde(default = "ApiConfig::success_statuses_default")]
    #[schemars(length(max = 100))]
    pub success_statuses: Vec<StatusRange>,
    /// Statuses that mean that nothing was found.
    #[serde(default = "ApiConfig::empty_on_default")]
    #[schemars(length(max = 100))]
    pub empty_on: Vec<StatusRange>,
    #[serde(default = "timeout_seconds_default")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout_seconds: u32,
}

impl ApiConfig {
    fn success_statuses_default() -> Vec<StatusRange> {
        vec![StatusRange::Range("200..299".to_owned())]
    }

    fn empty_on_default() -> Vec<StatusRange> {
        vec![StatusRange::One(404)]
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    #[default]
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl HttpMethod {
    /// The word on the wire.
    pub fn word(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

/// An HTTP status or a range of statuses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StatusRange {
    One(#[schemars(range(min = 100, max = 599))] u16),
    Range(#[schemars(regex(pattern = r"^[1-5][0-9]{2}\.\.[1-5][0-9]{2}$"), length(max = 8))] String),
}

impl StatusRange {
    pub fn holds(&self, status: u16) -> bool {
        match self {
            Self::One(one) => *one == status,
            Self::Range(text) => text
                .split_once("..")
                .and_then(|(low, high)| Some(low.parse().ok()?..=high.parse().ok()?))
                .is_some_and(|range: std::ops::RangeInclusive<u16>| range.contains(&status)),
        }
    }
}

/// The source column and path of a reference column.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReferenceConfig {
    /// The id of the source column; `""` means not set.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub column_id: String,
    /// A dotted path (`guest.email`, `items[0].name`) or JSONPath starting with `$`; `""` is the whole value.
    #[serde(default)]
    #[schemars(length(max = 1_000))]
    pub path: String,
}

/// How often a call is tried if it fails temporarily.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Retry {
    #[serde(default = "Retry::max_attempts_default")]
    #[schemars(range(min = 1, max = 20))]
    pub max_attempts: u32,
}

impl Retry {
    fn max_attempts_default() -> u32 {
        5
    }
}

impl Default for Retry {
    fn default() -> Self {
        Self { max_attempts: Self::max_attempts_default() }
    }
}

/// The rate limit of a column's calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RateLimit {
    #[schemars(range(min = 1, max = 1_000_000))]
    pub requests: u32,
    #[schemars(range(min = 1, max = 86_400))]
    pub per_seconds: u32,
}

fn timeout_seconds_default() -> u32 {
    30
}
