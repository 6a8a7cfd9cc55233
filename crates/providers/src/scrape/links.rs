//! Where a page leads.

use std::collections::HashSet;

use scraper::{ElementRef, Html};
use url::Url;

use super::head::elements;

const LINKS_MAX: usize = 1_000;
const LINK_BYTES_MAX: usize = 2_000;
/// All links together: a cell's value has a limit of its own.
const BYTES_MAX: usize = 256 * 1024;
const FEEDS: [&str; 3] = ["application/rss+xml", "application/atom+xml", "application/feed+json"];
const FEEDS_MAX: usize = 10;

/// The web addresses a page links to, whole, each once, in the page's order, without fragments.
pub(super) fn of(document: &Html, base: &Url) -> Vec<String> {
    let anchors = document.tree.nodes().filter_map(ElementRef::wrap);
    let hrefs = anchors
        .filter(|element| matches!(element.value().name(), "a" | "area"))
        .filter_map(|element| element.value().attr("href"));
    let mut seen = HashSet::new();
    let mut bytes_left = BYTES_MAX;
    let mut links = Vec::new();
    for link in hrefs.filter_map(|href| absolute(href, base)) {
        if links.len() == LINKS_MAX || link.len() > bytes_left {
            break;
        }
        if seen.insert(link.clone()) {
            bytes_left -= link.len();
            links.push(link);
        }
    }
    links
}

/// The feeds that a page names (RSS, Atom, JSON Feed).
pub(super) fn feeds(document: &Html, base: &Url) -> Vec<String> {
    let links = elements(document, "link").filter(|link| {
        let attribute = |name: &str| link.value().attr(name).unwrap_or_default().to_ascii_lowercase();
        let is_feed = FEEDS.contains(&attribute("type").split(';').next().unwrap_or_default().trim());
        is_feed && attribute("rel").split_whitespace().any(|relation| relation == "alternate")
    });
    let feeds = links.filter_map(|link| absolute(link.value().attr("href")?, base));
    feeds.take(FEEDS_MAX).collect()
}

/// The whole address of a link or an image, unless it is one that does something or holds the thing itself.
pub(super) fn target(value: &str, base: &Url) -> Option<String> {
    let url = base.join(value.trim()).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto" | "tel").then(|| url.into())
}

fn absolute(href: &str, base: &Url) -> Option<String> {
    let href = href.trim();
    if href.starts_with('#') {
        return None;
    }
    let mut url = base.join(href).ok()?;
    url.set_fragment(None);
    let is_page = matches!(url.scheme(), "http" | "https") && url.has_host();
    (is_page && url.as_str().len() <= LINK_BYTES_MAX).then(|| url.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_whole_and_each_once() {
        let html =
            "<a href='/a'>1</a><a href=' /a#x '>2</a><a href=b?c=1&amp;d=2>3</a><a>4</a><a href='#top'>5</a>
            <a href='mailto:a@b.c'>6</a><a href='javascript:x()'>7</a><a href='http://['>8</a>
            <area href='//other.example'><a href=''>9</a><link href=/style.css>";
        let base = Url::parse("https://example.com/p/q").unwrap();
        let expected = [
            "https://example.com/a",
            "https://example.com/p/b?c=1&d=2",
            "https://other.example/",
            "https://example.com/p/q",
        ];
        assert_eq!(of(&Html::parse_document(html), &base), expected);
    }

    #[test]
    fn feeds_are_found() {
        let html = "<link rel=alternate type='application/rss+xml' href=/feed><link rel=alternate hreflang=de href=/de>
            <LINK REL='alternate home' TYPE='application/atom+xml; charset=utf-8' HREF='https://other.example/atom'>
            <link rel=stylesheet type=application/rss+xml href=/x>";
        let base = Url::parse("https://example.com/p/q").unwrap();
        let expected = ["https://example.com/feed", "https://other.example/atom"];
        assert_eq!(feeds(&Html::parse_document(html), &base), expected);
    }

    #[test]
    fn links_are_bounded() {
        let base = Url::parse("https://example.com/").unwrap();
        let many: Vec<String> = (0..5_000).map(|number| format!("<a href={number}>")).collect();
        assert_eq!(of(&Html::parse_document(&many.concat()), &base).len(), LINKS_MAX);
        let long: Vec<String> =
            (0..900).map(|number| format!("<a href={number}{}>", "x".repeat(1_500))).collect();
        let bytes: usize = of(&Html::parse_document(&long.concat()), &base).iter().map(String::len).sum();
        assert!(bytes > BYTES_MAX / 2 && bytes <= BYTES_MAX);
    }
}
