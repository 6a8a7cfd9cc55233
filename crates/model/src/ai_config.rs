//! What an AI column asks, and whom.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::raw_json::RawJson;
use crate::research::Research;

/// Configuration of an AI column.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AiConfig {
    /// The prompt. `@{columnId}` inserts a cell of the same row.
    #[serde(default)]
    #[schemars(length(max = 100_000))]
    pub prompt: String,
    /// The system message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 100_000))]
    pub system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AiProvider>,
    /// The model's name. Default: the provider's default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 2.0))]
    pub temperature: Option<f64>,
    /// Maximum length of the response, in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub max_tokens: Option<u32>,
    /// The JSON Schema for the response of an `ai-json` or `ai-research` column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Map<String, serde_json::Value>>")]
    pub output_schema: Option<RawJson>,
    /// Whom to ask if the first choice fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback: Option<AiFallback>,
    /// Addresses of images (PNG, JPEG, GIF, WebP) and PDF documents that are fetched and sent with the prompt, such as
    /// `@{columnId}`. Empty ones are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4), inner(length(max = 2_000)))]
    pub attachments: Vec<String>,
    /// When the model is asked. `batch` is not available with `fallback`, `attachments` and `research`.
    #[serde(default, skip_serializing_if = "Processing::is_realtime")]
    pub processing: Processing,
    /// How an `ai-research` column finds its answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub research: Option<Research>,
}

impl AiConfig {
    /// The schema for the response, parsed.
    pub fn schema(&self) -> Option<serde_json::Value> {
        self.output_schema.as_ref().map(RawJson::value)
    }
}

/// `realtime`: each cell is asked as soon as it is its turn. `batch`: cells are collected and sent through the provider's
/// batch API, at half the price, with results within 24 hours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Processing {
    #[default]
    Realtime,
    Batch,
}

impl Processing {
    pub fn is_realtime(&self) -> bool {
        *self == Self::Realtime
    }
}

/// The second choice of an AI column: another model, another provider, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AiFallback {
    /// Default: the provider of the first choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<AiProvider>,
    /// The model's name. Default: the provider's default model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200))]
    pub model: Option<String>,
}

/// The provider of an AI column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AiProvider {
    /// Any OpenAI-compatible server.
    Openai,
    Anthropic,
}
