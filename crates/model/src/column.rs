//! A column: what it is called, what fills it, and what it waits for.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::ai_config::{AiConfig, AiFallback, AiProvider, Processing};
pub use crate::fan_out::FanOut;
use crate::filter::document::Filters;
use crate::format::Format;
use crate::ids::ColumnId;
pub use crate::lookup::{
    ALL_DISABLED, FindCompany, FindPeople, Lookup, LookupTask, VerifyEmail, WaterfallEmail, WaterfallProvider,
};
use crate::raw_json::RawJson;
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
    /// A built-in task: the e-mail waterfall, the web scraper, e-mail verification, companies, people or fan-out.
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
            Self::Task => &[DataShape::Waterfall, DataShape::ScrapeResult, DataShape::Json],
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

    /// Why its cells cannot run and what to do, if all its providers are disabled.
    pub fn disabled_reason(&self) -> Option<&'static str> {
        self.task_config.as_ref()?.lookup()?.disabled_reason()
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
    /// `waterfallEmail`, `webScraper`, `verifyEmail`, `findCompany`, `findPeople` or `fanOut`.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub task_type: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waterfall_email: Option<WaterfallEmail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub web_scraper: Option<WebScraper>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_email: Option<VerifyEmail>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find_company: Option<FindCompany>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub find_people: Option<FindPeople>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<FanOut>,
}

impl TaskConfig {
    pub const WEB_SCRAPER: &str = "webScraper";

    /// A task with nothing set yet.
    pub fn bare(task_type: &str) -> Self {
        Self {
            task_type: task_type.to_owned(),
            waterfall_email: None,
            web_scraper: None,
            verify_email: None,
            find_company: None,
            find_people: None,
            fan_out: None,
        }
    }

    /// What turns a list into rows of another project, if that is the task.
    pub fn fan_out(&self) -> Option<&FanOut> {
        self.fan_out.as_ref().filter(|_| self.task_type == FanOut::TASK)
    }

    /// The task's providers and inputs, if it is one that asks providers in order.
    pub fn lookup(&self) -> Option<Lookup<'_>> {
        let task = LookupTask::parse(&self.task_type)?;
        self.lookups().into_iter().flatten().find(|lookup| lookup.task == task)
    }

    fn lookups(&self) -> [Option<Lookup<'_>>; 4] {
        let Self {
            task_type: _,
            waterfall_email,
            web_scraper: _,
            verify_email,
            find_company,
            find_people,
            fan_out: _,
        } = self;
        [
            waterfall_email.as_ref().map(|WaterfallEmail { waterfall_type: _, providers, input_mapping }| {
                Lookup { task: LookupTask::WaterfallEmail, providers, input_mapping }
            }),
            verify_email.as_ref().map(|VerifyEmail { providers, input_mapping }| Lookup {
                task: LookupTask::VerifyEmail,
                providers,
                input_mapping,
            }),
            find_company.as_ref().map(|FindCompany { providers, input_mapping }| Lookup {
                task: LookupTask::FindCompany,
                providers,
                input_mapping,
            }),
            find_people.as_ref().map(|FindPeople { providers, input_mapping, limit: _ }| Lookup {
                task: LookupTask::FindPeople,
                providers,
                input_mapping,
            }),
        ]
    }

    /// The providers and the inputs of every task that is set, to be changed.
    pub fn lookups_mut(
        &mut self,
    ) -> impl Iterator<Item = (LookupTask, &mut Vec<WaterfallProvider>, &mut BTreeMap<String, String>)> {
        let Self {
            task_type: _,
            waterfall_email,
            web_scraper: _,
            verify_email,
            find_company,
            find_people,
            fan_out: _,
        } = self;
        let email =
            waterfall_email.as_mut().map(|WaterfallEmail { waterfall_type: _, providers, input_mapping }| {
                (LookupTask::WaterfallEmail, providers, input_mapping)
            });
        let verify = verify_email.as_mut().map(|VerifyEmail { providers, input_mapping }| {
            (LookupTask::VerifyEmail, providers, input_mapping)
        });
        let company = find_company.as_mut().map(|FindCompany { providers, input_mapping }| {
            (LookupTask::FindCompany, providers, input_mapping)
        });
        let people = find_people.as_mut().map(|FindPeople { providers, input_mapping, limit: _ }| {
            (LookupTask::FindPeople, providers, input_mapping)
        });
        [email, verify, company, people].into_iter().flatten()
    }
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
    #[serde(default, skip_serializing_if = "RawJson::is_null")]
    pub body: RawJson,
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
