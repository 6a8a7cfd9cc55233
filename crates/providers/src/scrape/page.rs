//! From a page's bytes to what a table wants of it. Runs in the child: it may be slow, or break.

use scraper::Html;
use trafilatura::Options;
use url::Url;

use super::charset::decode;
use super::frames::{Job, Kind, Page};
use super::html::{self, Keep};
use super::tame::tame;
use super::{head, links};

/// Less than this is hardly the content of a page that has more to offer.
const CONTENT_CHARS_MIN: usize = 200;

/// Reads a page as the job says.
pub(super) fn read(job: &Job, body: &[u8]) -> Page {
    let text = decode(body, &job.content_type, job.url.host_str());
    match job.kind {
        Kind::Text => Page { markdown: text.replace("\r\n", "\n").trim().to_owned(), ..Page::default() },
        Kind::Html => of_html(job, &tame(&text)),
    }
}

/// The main content of an HTML page, as clean HTML and as Markdown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    pub html: String,
    pub markdown: String,
}

/// The main content alone, in this process: for measuring with pages one trusts.
pub fn content(body: &[u8], url: &Url) -> Content {
    let text = tame(&decode(body, "", url.host_str()));
    let html = main_content(&text, &Html::parse_document(&text), url);
    Content { markdown: markdown(&html), html }
}

fn of_html(job: &Job, text: &str) -> Page {
    let document = Html::parse_document(text);
    let base = head::base(&document, &job.url);
    let html = if job.only_main_content {
        main_content(text, &document, &base)
    } else {
        html::clean(&document, &base, Keep::Everything)
    };
    Page {
        title: head::title(&document),
        description: head::description(&document),
        language: head::language(&document),
        markdown: markdown(&html),
        links: links::of(&document, &base),
        html: job.with_html.then_some(html),
    }
}

/// The part of the page it was made for, as clean HTML.
///
/// Measured best on articles and on mixed pages: trafilatura, with its own fallbacks. Where it finds next
/// to nothing (lists, landing pages), the whole page without its frame says more.
fn main_content(text: &str, document: &Html, base: &Url) -> String {
    let options = Options::default().with_fallback(true).with_links(true).with_url(base.clone());
    let found = trafilatura::extract(text, &options).ok();
    let html = found.map(|found| html::clean(&Html::parse_fragment(&found.content_html), base, Keep::Everything));
    let html = html.unwrap_or_default();
    let chars = chars_of(&html);
    if chars >= CONTENT_CHARS_MIN {
        return html;
    }
    let unframed = html::clean(document, base, Keep::WithoutFrame);
    if chars_of(&unframed) > chars { unframed } else { html }
}

/// How much text there is, blanks apart.
fn chars_of(html: &str) -> usize {
    let document = Html::parse_fragment(html);
    let texts = document.root_element().text();
    texts.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).count()
}

fn markdown(html: &str) -> String {
    let options = htmd::options::Options {
        bullet_list_marker: htmd::options::BulletListMarker::Dash,
        ul_bullet_spacing: 1,
        ol_number_spacing: 1,
        ..htmd::options::Options::default()
    };
    let converter = htmd::HtmlToMarkdown::builder().options(options).build();
    converter.convert(html).unwrap_or_default().trim().to_owned()
}
