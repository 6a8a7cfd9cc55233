//! The value of a crawl: the pages of a site as a list, within the bytes of a cell.

use rowmill_model::column::ScrapeFormat;
use serde::Serialize;
use url::Url;

use super::frames::Wanted;
use super::scraped::{Formats, Scraped};

/// What the value has besides its pages.
const FRAME_BYTES: usize = 4 * 1024;
const MESSAGE_CHARS_MAX: usize = 500;

/// The pages of a site as a cell holds them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Crawled {
    /// The start page, after redirects.
    pub url: String,
    pub pages: Vec<CrawledPage>,
    /// Addresses that were found and not read.
    pub unread: usize,
    /// What ended the crawl, if pages were left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<StoppedBy>,
    /// Whether something is missing because of its size or for want of time; left out if not.
    #[serde(rename = "truncated", skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    #[serde(skip)]
    bytes_left: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum StoppedBy {
    MaxPages,
    Timeout,
    Size,
}

/// One page. It has what the column's formats ask for, or an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CrawledPage {
    pub url: String,
    /// Links from the start page.
    pub depth: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
    #[serde(flatten)]
    pub content: Content,
    #[serde(rename = "truncated", skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<PageError>,
}

/// What can be long.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Content {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<Vec<String>>,
    #[serde(flatten)]
    pub formats: Formats,
}

/// Why a page could not be read, as cells tell it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PageError {
    pub code: &'static str,
    pub message: String,
}

impl Crawled {
    /// A list without pages, for a value of so many bytes.
    pub fn new(url: &Url, bytes_max: usize) -> Self {
        Self {
            url: url.as_str().to_owned(),
            pages: Vec::new(),
            unread: 0,
            stopped_by: None,
            is_truncated: false,
            bytes_left: bytes_max.saturating_sub(FRAME_BYTES),
        }
    }

    /// Adds a page. One that does not fit is listed without its content, and is the last.
    pub fn push(&mut self, page: CrawledPage) {
        self.is_truncated |= page.is_truncated;
        let page = if self.take_bytes(&page) {
            page
        } else {
            self.stop(StoppedBy::Size);
            let bare = CrawledPage { content: Content::default(), is_truncated: true, ..page };
            if !self.take_bytes(&bare) {
                return;
            }
            bare
        };
        self.pages.push(page);
    }

    /// Ends the crawl. The first cause counts.
    pub fn stop(&mut self, cause: StoppedBy) {
        self.stopped_by.get_or_insert(cause);
        self.is_truncated |= cause != StoppedBy::MaxPages;
    }

    fn take_bytes(&mut self, page: &CrawledPage) -> bool {
        let bytes = serde_json::to_string(page).map_or(usize::MAX, |text| text.len() + 1);
        let left = self.bytes_left.checked_sub(bytes);
        self.bytes_left = left.unwrap_or(self.bytes_left);
        left.is_some()
    }
}

impl CrawledPage {
    /// What is wanted of a page that was read.
    pub fn new(page: Scraped, depth: u32, wanted: &Wanted) -> Self {
        let Scraped { url, markdown, links, formats, metadata, is_truncated } = page;
        let content = Content {
            markdown: wanted.has(ScrapeFormat::Markdown).then_some(markdown),
            links: wanted.has(ScrapeFormat::Links).then_some(links),
            formats,
        };
        let (title, description, language) = (metadata.title, metadata.description, metadata.language);
        Self { url, depth, title, description, language, content, is_truncated, error: None }
    }

    /// A page that could not be read.
    pub fn failed(url: &Url, depth: u32, code: &'static str, message: &str) -> Self {
        let message = message.chars().take(MESSAGE_CHARS_MAX).collect();
        let error = Some(PageError { code, message });
        Self { url: url.as_str().to_owned(), depth, error, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(bytes: usize) -> CrawledPage {
        let content = Content { markdown: Some("x".repeat(bytes)), ..Content::default() };
        CrawledPage { url: "https://example.com/".to_owned(), content, ..CrawledPage::default() }
    }

    #[test]
    fn the_value_fits_into_a_cell() {
        let mut crawled = Crawled::new(&Url::parse("https://example.com/").unwrap(), 10_000);
        for _ in 0..5 {
            crawled.push(page(1_500));
        }
        let value = serde_json::to_value(&crawled).unwrap();
        assert!(value.to_string().len() <= 10_000, "{}", value.to_string().len());
        assert_eq!((&value["truncated"], &value["stoppedBy"]), (&true.into(), &"size".into()));
        let bare = value["pages"][3].as_object().unwrap();
        assert!(!bare.contains_key("markdown") && bare["truncated"] == true, "{bare:?}");
        assert!(value["pages"][2].get("truncated").is_none());
        // There is room for no page at all.
        let mut crawled = Crawled::new(&Url::parse("https://example.com/").unwrap(), 10);
        crawled.push(page(10));
        assert!(crawled.pages.is_empty() && crawled.is_truncated);
    }
}
