//! The web scraper: a page's content as Markdown, what it says about itself, and where it leads.
//!
//! A page is fetched through the guarded client, if the site's robots.txt lets us, and read in a child
//! process ([`child`]), because HTML from strangers can bring any parser down.

mod about;
mod address;
mod area;
mod article;
mod beside;
mod boilerplate;
mod charset;
pub mod child;
mod completion;
mod contacts;
mod crawled;
mod edges;
mod embedded;
mod enclosed;
mod extractor;
mod feed;
mod frames;
mod frontier;
mod head;
mod html;
mod html_limits;
mod images;
mod json_ld;
mod kept_nodes;
mod links;
mod main_content;
mod markdown;
mod noscript;
mod open_elements;
mod outline;
pub mod page;
mod page_cache;
mod page_kind;
mod pdf;
mod plain_text;
mod post_names;
mod problem;
mod prose;
mod reader;
mod repeated;
mod robots;
mod scraped;
mod scripts;
mod selectors;
mod shell;
mod site;
mod site_rules;
mod sitemap;
mod thread;
mod thumbnail;
mod thumbnails;
mod url_pattern;
mod usage;

use std::sync::Arc;
use std::time::Duration;

use reqwest::Method;
use rowmill_fairness::FairSemaphore;
use rowmill_model::column::{RenderMode, WebScraper};
use url::Url;

pub use about::About;
use address::without_password;
pub use contacts::Contacts;
pub use crawled::{Crawled, CrawledPage, StoppedBy};
pub use extractor::{Extractor, Program};
pub use feed::Item;
pub use frames::Wanted;
use frames::{Job, Kind};
pub use frontier::{Arrival, Frontier, Visit};
pub use images::Image;
use page_cache::PageCache;
use reader::{Read, Reader};
use robots::Rules;
pub use scraped::{Formats, Metadata, Scraped};
pub use site_rules::{SiteRules, Sitemap, site_name};
pub use thumbnail::{Thumbnail, ThumbnailType};
pub use thumbnails::Thumbnails;

use crate::failure::{Failure, FailureKind};
use crate::gate::Gate;
use crate::render::Browser;
use crate::ssrf_guard::{Client, NetworkPolicy, REDIRECTS_MAX, Request, Response, Room};

const WHO: &str = "The page";
/// Pages up to this size are small: those of all cells together take little.
const SMALL_PAGE_BYTES: usize = 512 * 1024;
/// Larger pages in memory at the same time, those that are still coming included. One team has half of them at most.
const LARGE_PAGES_MAX: usize = 16;

/// The longest page that is read.
pub const BYTES_MAX_DEFAULT: usize = 10 * 1024 * 1024;

const ACCEPT: &str = "text/html,application/xhtml+xml;q=0.9,text/markdown;q=0.8,text/plain;q=0.8,\
    application/rss+xml;q=0.7,application/atom+xml;q=0.7,application/pdf;q=0.7,*/*;q=0.5";

/// Which page is wanted, and what of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// As it stands in the cell: with or without a scheme.
    pub url: String,
    pub wanted: Wanted,
    pub only_main_content: bool,
    pub respect_robots: bool,
    pub render: RenderMode,
    /// Bounds the page's call, redirects included.
    pub timeout: Duration,
    pub bytes_max: usize,
}

impl Target {
    /// The page at `url`, read as the column says.
    pub fn new(url: impl Into<String>, config: &WebScraper) -> Self {
        Self {
            url: url.into(),
            wanted: wanted(config),
            only_main_content: config.only_main_content,
            respect_robots: config.respect_robots,
            render: config.render,
            timeout: Duration::from_secs(config.timeout_seconds.into()),
            bytes_max: BYTES_MAX_DEFAULT,
        }
    }
}

fn wanted(config: &WebScraper) -> Wanted {
    let selectors = config.selectors.clone().unwrap_or_default();
    Wanted {
        formats: config.formats.clone(),
        chars_max: config.max_chars.and_then(|chars| usize::try_from(chars).ok()),
        include: selectors.include,
        exclude: selectors.exclude,
    }
}

/// Reads pages. It remembers the robots.txt of the sites it visits, and pages that may be the same the next time.
#[derive(Debug)]
pub struct Scraper {
    client: Client,
    extractor: Extractor,
    rules: Rules,
    pages: PageCache,
    browser: Option<Browser>,
    /// Large pages that are coming, are being read, or wait for it.
    large_pages: Arc<FairSemaphore>,
}

impl Scraper {
    pub fn new(client: Client, extractor: Extractor) -> Self {
        Self {
            client,
            extractor,
            rules: Rules::default(),
            pages: PageCache::default(),
            browser: None,
            large_pages: FairSemaphore::new(LARGE_PAGES_MAX, LARGE_PAGES_MAX / 2),
        }
    }

    /// Reads pages that need it in this browser.
    #[must_use]
    pub fn with_browser(mut self, browser: Option<Browser>) -> Self {
        self.browser = browser;
        self
    }

    /// Fetches a page and reads it.
    pub async fn scrape(&self, target: &Target, gate: &dyn Gate) -> Result<Scraped, Failure> {
        let source_url = address::parse(&target.url)?;
        selectors::check(&target.wanted)?;
        if target.respect_robots {
            self.rules.check(&self.client, &source_url, gate).await?;
        }
        let (mut response, _room) = self.fetch_in_turn(target, source_url.clone(), gate).await?;
        // The page that was asked for led to another, which its site may not want read.
        if target.respect_robots && response.url != source_url {
            self.rules.check(&self.client, &response.url, gate).await?;
        }
        if !(200..300).contains(&response.status) {
            return Err(refusal(&response));
        }
        let content_type = response.header("content-type").unwrap_or_default().to_owned();
        let mut job = Job {
            kind: kind(&content_type, &response.body)?,
            url: without_password(response.url.clone()),
            content_type,
            only_main_content: target.only_main_content,
            wanted: target.wanted.clone(),
        };
        let reader =
            Reader { client: &self.client, extractor: &self.extractor, browser: self.browser.as_ref() };
        let bytes = response.body.len();
        let mut read = reader.read(target.render, &mut response, &mut job).await?;
        // Scripts may have led elsewhere, too.
        if target.respect_robots && read.is_rendered {
            self.rules.check(&self.client, &job.url, gate).await?;
        }
        read.page.is_truncated |= is_cut(target) && bytes >= bytes_max(target);
        Ok(scraped(&response, job, read, source_url))
    }

    /// Fetches a page. A large one has a place from its first bytes, as long as the answer is kept. If none is free, what
    /// came is let go, and the page is fetched again when it is this team's turn. So who waits holds nothing.
    async fn fetch_in_turn(
        &self,
        target: &Target,
        url: Url,
        gate: &dyn Gate,
    ) -> Result<(Response, Room), Failure> {
        let mut room = Room::of(&self.large_pages, SMALL_PAGE_BYTES);
        let mut fetched = self.fetch(target, url.clone(), &mut room, gate).await;
        if fetched.is_err() && room.is_refused() {
            room.wait().await;
            fetched = self.fetch(target, url, &mut room, gate).await;
        }
        Ok((fetched?, room))
    }

    /// Fetches a page, or takes it as it was if its site says that it is the same.
    async fn fetch(
        &self,
        target: &Target,
        url: Url,
        room: &mut Room,
        gate: &dyn Gate,
    ) -> Result<Response, Failure> {
        let kept = self.pages.get(&url);
        let mut response = self.request(target, url.clone(), kept.as_deref(), room, gate).await?;
        if let Some(kept) = kept.filter(|_| response.status == 304) {
            // Another page than the one that is kept may be the same as it was, too.
            if kept.url == response.url {
                room.grow_to(kept.body.len())?;
                return Ok(Response::clone(&kept));
            }
            response = self.request(target, url.clone(), None, room, gate).await?;
        }
        self.pages.put(&url, &response, response.body.len() < bytes_max(target));
        Ok(response)
    }

    async fn request(
        &self,
        target: &Target,
        url: Url,
        kept: Option<&Response>,
        room: &mut Room,
        gate: &dyn Gate,
    ) -> Result<Response, Failure> {
        let request = Request::new(Method::GET, url, NetworkPolicy::Guarded)
            .header("accept", ACCEPT)?
            .redirects(REDIRECTS_MAX)
            .deadline(target.timeout)
            .bytes_max(bytes_max(target));
        let request = if is_cut(target) { request.cut_short() } else { request };
        let request = match kept {
            Some(kept) => page_cache::unless_same(request, kept)?,
            None => request,
        };
        gate.acquire().await;
        self.client.send_within(request, room).await
    }
}

fn bytes_max(target: &Target) -> usize {
    target.bytes_max.min(frames::PAGE_BYTES_MAX)
}

/// Whether a page that is too long is read from its beginning, as far as that may go.
fn is_cut(target: &Target) -> bool {
    target.wanted.chars_max.is_some()
}

fn scraped(response: &Response, job: Job, read: Read, source_url: Url) -> Scraped {
    let Read { page, screenshot, is_rendered } = read;
    let frames::Page {
        title,
        description,
        language,
        markdown,
        html,
        text,
        links,
        images,
        contacts,
        json_ld,
        about,
        is_truncated,
        is_embedded,
        items,
        length: page_count,
        sitemaps: _,
        thumbnail: _,
        problem: _,
    } = page;
    let language = language.or_else(|| head::language_tag(response.header("content-language")?));
    let url = String::from(job.url);
    let screenshot = screenshot.map(|image| format!("data:image/jpeg;base64,{image}"));
    Scraped {
        url: url.clone(),
        markdown,
        links,
        formats: Formats { html, text, items, images, contacts, json_ld, screenshot },
        is_truncated,
        metadata: Metadata {
            title,
            description,
            language,
            source_url: without_password(source_url).into(),
            url,
            status_code: response.status,
            content_type: Some(job.content_type).filter(|text| !text.is_empty()),
            is_embedded,
            is_rendered,
            page_count,
            about,
        },
    }
}

/// A page that is not there, or not for everybody. No key would help, and the words say so.
fn refusal(response: &Response) -> Failure {
    let mut failure = response.failure(WHO);
    let words = match response.status {
        401 => "it requires a login",
        403 => "it denies access to programs or requires a login",
        404 | 410 => "the page does not exist",
        429 => "too many requests",
        _ => return failure,
    };
    failure.message = format!("{WHO} responded with {}: {words}.", response.status);
    failure
}

/// How the body is read, by its type and, where that says nothing, by its first bytes.
fn kind(content_type: &str, body: &[u8]) -> Result<Kind, Failure> {
    let essence = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_data =
        |format: &str| essence == format!("application/{format}") || essence.ends_with(&format!("+{format}"));
    match essence.as_str() {
        "text/html" | "application/xhtml+xml" => Ok(Kind::Html),
        "application/pdf" | "application/x-pdf" => Ok(Kind::Pdf),
        "" | "unknown/unknown" | "application/unknown" => sniffed(body),
        // What a server has no name for.
        "application/octet-stream" | "binary/octet-stream" if is_pdf(body) => Ok(Kind::Pdf),
        "image/svg+xml" => Err(unreadable(&essence)),
        _ if essence.starts_with("text/") || is_data("json") || is_data("xml") => Ok(Kind::Text),
        _ => Err(unreadable(&essence)),
    }
}

fn sniffed(body: &[u8]) -> Result<Kind, Failure> {
    let start = body.get(..1024).unwrap_or(body);
    if start.trim_ascii_start().starts_with(b"<") {
        Ok(Kind::Html)
    } else if is_pdf(body) {
        Ok(Kind::Pdf)
    } else if start.contains(&0) {
        Err(unreadable("no type that it names"))
    } else {
        Ok(Kind::Text)
    }
}

/// Whether a document says so at its beginning, behind a few other bytes at most.
fn is_pdf(body: &[u8]) -> bool {
    memchr::memmem::find(body.get(..1024).unwrap_or(body), b"%PDF-").is_some()
}

fn unreadable(content_type: &str) -> Failure {
    let shown: String = content_type.chars().take(100).collect();
    let words = format!("{WHO} has the type {shown}; only HTML, text, feeds and PDF can be read.");
    Failure::new(FailureKind::InvalidOutput, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_says_how_to_read() {
        for (content_type, body, expected) in [
            ("text/html; charset=utf-8", "", Some(Kind::Html)),
            ("Application/XHTML+XML", "", Some(Kind::Html)),
            ("text/plain", "<html>", Some(Kind::Text)),
            ("text/markdown", "", Some(Kind::Text)),
            ("application/json", "", Some(Kind::Text)),
            ("application/rss+xml", "", Some(Kind::Text)),
            ("", " \n<!doctype html>", Some(Kind::Html)),
            ("", "words", Some(Kind::Text)),
            ("", "%PDF-1.7", Some(Kind::Pdf)),
            ("application/octet-stream", "\0\n%PDF-1.7\n\0", Some(Kind::Pdf)),
            ("", "\0\x01", None),
            ("application/pdf", "", Some(Kind::Pdf)),
            ("image/png", "", None),
            ("image/svg+xml", "", None),
            ("application/zip", "", None),
            ("application/octet-stream", "", None),
        ] {
            let found = kind(content_type, body.as_bytes());
            assert_eq!(found.as_ref().ok().copied(), expected, "{content_type}");
            if let Err(failure) = found {
                assert_eq!(failure.kind, FailureKind::InvalidOutput);
                assert!(content_type.is_empty() || failure.message.contains(content_type));
            }
        }
    }
}
