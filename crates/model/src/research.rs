//! The settings of a column that researches.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a model may do to find the answer: search the web, read pages, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Research {
    /// The search providers to ask, such as `searxng` or `brave`, in this order: the next one is asked if one fails or
    /// finds nothing. Empty: all that are configured.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(min = 1, max = 64)))]
    pub search_providers: Vec<String>,
    /// Whether the model's provider searches, instead of the search providers: OpenAI's or Anthropic's own web search.
    #[serde(default)]
    pub hosted_search: bool,
    /// The two-letter code of the country to search for, such as `de`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 2))]
    pub country: Option<String>,
    /// Maximum number of answers of the model. The last one gives the result.
    #[serde(default = "steps_default")]
    #[schemars(range(min = 1, max = 50))]
    pub max_steps: u32,
    /// Maximum number of searches and pages together.
    #[serde(default = "calls_default")]
    #[schemars(range(min = 0, max = 200))]
    pub max_calls: u32,
    /// Maximum number of searches.
    #[serde(default = "searches_default")]
    #[schemars(range(min = 0, max = 200))]
    pub max_searches: u32,
    /// Maximum number of input tokens of all steps together. Each step sends what was found before.
    #[serde(default = "input_tokens_default")]
    #[schemars(range(min = 1_000, max = 10_000_000))]
    pub max_input_tokens: u32,
    /// Maximum number of output tokens of all steps together.
    #[serde(default = "output_tokens_default")]
    #[schemars(range(min = 100, max = 1_000_000))]
    pub max_output_tokens: u32,
    /// Maximum time, in seconds.
    #[serde(default = "seconds_default")]
    #[schemars(range(min = 1, max = 800))]
    pub max_seconds: u32,
    /// Maximum cost in US dollars, as far as providers tell their costs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 1_000.0))]
    pub max_cost: Option<f64>,
    /// Whether the value is an object with `value`, `confidence` and `sources`. They are always in the cell's details.
    #[serde(default)]
    pub include_sources: bool,
}

impl Default for Research {
    fn default() -> Self {
        Self {
            search_providers: Vec::new(),
            hosted_search: false,
            country: None,
            max_steps: steps_default(),
            max_calls: calls_default(),
            max_searches: searches_default(),
            max_input_tokens: input_tokens_default(),
            max_output_tokens: output_tokens_default(),
            max_seconds: seconds_default(),
            max_cost: None,
            include_sources: false,
        }
    }
}

fn steps_default() -> u32 {
    8
}

fn calls_default() -> u32 {
    12
}

fn searches_default() -> u32 {
    6
}

fn input_tokens_default() -> u32 {
    100_000
}

fn output_tokens_default() -> u32 {
    10_000
}

fn seconds_default() -> u32 {
    180
}
