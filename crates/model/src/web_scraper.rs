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
    #[schemars(length(min = 1, max = 8))]
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
    /// Whether the page is read in a browser, after its scripts have run. It needs a server with a browser.
    #[serde(default, skip_serializing_if = "RenderMode::is_auto")]
    pub render: RenderMode,
    /// Reads more pages of the site, beginning at `url`. The value is then `{url, pages}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crawl: Option<Crawl>,
}

/// When a page is read in a browser.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RenderMode {
    /// If it shows nothing without one, and the server has one.
    #[default]
    Auto,
    Always,
    Never,
}

impl RenderMode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
    fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
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

/// Which pages of a site are read, and how many.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Crawl {
    /// Read only pages that match one of these, such as `/blog/*`. `*` stands for any characters. Patterns that begin
    /// with `https://` name pages of other hosts. Empty: all pages of the start page's host.
    #[serde(default)]
    #[schemars(
        length(max = 20),
        inner(length(min = 1, max = 200), regex(pattern = r"^(/|\*|https?://)[^\u0000]*$"))
    )]
    pub include: Vec<String>,
    /// Leave out pages that match one of these.
    #[serde(default)]
    #[schemars(
        length(max = 20),
        inner(length(min = 1, max = 200), regex(pattern = r"^(/|\*|https?://)[^\u0000]*$"))
    )]
    pub exclude: Vec<String>,
    /// How many links lead from the start page to a page, at most.
    #[serde(default = "max_depth_default")]
    #[schemars(range(max = Self::DEPTH_MAX))]
    pub max_depth: u32,
    #[serde(default = "max_pages_default")]
    #[schemars(range(min = 1, max = Self::PAGES_MAX))]
    pub max_pages: u32,
    /// Looks for pages in the site's sitemaps, too.
    #[serde(default = "yes")]
    pub sitemap: bool,
    /// For all pages together. The value has the pages that were read by then.
    #[serde(default = "crawl_seconds_default")]
    #[schemars(range(min = 1, max = Self::SECONDS_MAX))]
    pub timeout_seconds: u32,
}

impl Crawl {
    pub const DEPTH_MAX: u32 = 10;
    pub const PAGES_MAX: u32 = 50;
    pub const SECONDS_MAX: u32 = 600;
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
    /// The page as a browser shows it: a JPEG image as a data URL. It needs a server with a browser.
    Screenshot,
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

fn max_depth_default() -> u32 {
    2
}

fn max_pages_default() -> u32 {
    10
}

fn crawl_seconds_default() -> u32 {
    300
}
