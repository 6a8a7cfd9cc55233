//! The value of one page.

use serde::Serialize;
use serde_json::Value;

use super::about::About;
use super::contacts::Contacts;
use super::feed::Item;
use super::images::Image;

/// A page as a cell holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Scraped {
    /// Where the page was found, after redirects.
    pub url: String,
    pub markdown: String,
    pub links: Vec<String>,
    #[serde(flatten)]
    pub formats: Formats,
    pub metadata: Metadata,
    /// Whether a text was cut to the column's `maxChars`; left out if none was.
    #[serde(rename = "truncated", skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
}

/// What there is only if a column asks for it, or if the page is a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Formats {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What a feed lists; left out for anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub items: Vec<Item>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<Vec<Image>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contacts: Option<Contacts>,
    #[serde(rename = "jsonld", skip_serializing_if = "Option::is_none")]
    pub json_ld: Option<Vec<Value>>,
    /// The page as a browser shows it: a JPEG image as a data URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub screenshot: Option<String>,
}

impl Scraped {
    /// Whether the page wants its links followed (`<meta name=robots>`).
    pub fn may_be_followed(&self) -> bool {
        let mut meta = self.metadata.about.meta.iter();
        let words = meta.find(|(name, _)| name.eq_ignore_ascii_case("robots")).map(|(_, words)| words);
        let mut words = words.into_iter().flat_map(|words| words.split(',')).map(str::trim);
        !words.any(|word| word.eq_ignore_ascii_case("nofollow") || word.eq_ignore_ascii_case("none"))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    pub title: Option<String>,
    pub description: Option<String>,
    pub language: Option<String>,
    /// Where the page was looked for.
    #[serde(rename = "sourceURL")]
    pub source_url: String,
    pub url: String,
    pub status_code: u16,
    pub content_type: Option<String>,
    /// Whether the content was read from the data of the page's scripts, because it shows nothing without them.
    #[serde(rename = "embedded", skip_serializing_if = "std::ops::Not::not")]
    pub is_embedded: bool,
    /// Whether the page was read in a browser, after its scripts had run.
    #[serde(rename = "rendered", skip_serializing_if = "std::ops::Not::not")]
    pub is_rendered: bool,
    /// How many pages a document has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_count: Option<u32>,
    #[serde(flatten)]
    pub about: About,
}
