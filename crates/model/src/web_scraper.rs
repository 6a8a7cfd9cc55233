//! The settings of a scraper column.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the scraper fetches, and what it stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebScraper {
    /// The URL, such as `@{col_website}`.
    #[serde(default)]
    #[schemars(length(max = 10_000))]
    pub url: String,
    /// What the value has besides `url`, `markdown`, `links` and `metadata`, which it always has.
    #[serde(default = "formats_default")]
    #[schemars(length(min = 1, max = 7))]
    pub formats: Vec<ScrapeFormat>,
    #[serde(default = "yes")]
    pub only_main_content: bool,
    #[serde(default = "yes")]
    pub respect_robots: bool,
    #[serde(default = "timeout_seconds_default")]
    #[schemars(range(min = 1, max = 300))]
    pub timeout_seconds: u32,
    /// Cuts `markdown`, `text` and `html` to so many characters each. The value then has `truncated: true`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub max_chars: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selectors: Option<ScrapeSelectors>,
}

/// Which parts of a page are read, as CSS selectors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScrapeSelectors {
    /// Read what these match, in place of the main content.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(min = 1, max = 500)))]
    pub include: Vec<String>,
    /// Leave out what these match.
    #[serde(default)]
    #[schemars(length(max = 20), inner(length(min = 1, max = 500)))]
    pub exclude: Vec<String>,
}

/// A part of a scraped page's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScrapeFormat {
    Markdown,
    Html,
    /// Plain text.
    Text,
    Links,
    /// The page's images with their alternative texts, also in the Markdown.
    Images,
    /// E-mail addresses, telephone numbers and social profiles of the whole page.
    Contacts,
    /// Structured data (JSON-LD).
    Jsonld,
}

fn formats_default() -> Vec<ScrapeFormat> {
    vec![ScrapeFormat::Markdown]
}

fn yes() -> bool {
    true
}

fn timeout_seconds_default() -> u32 {
    30
}
