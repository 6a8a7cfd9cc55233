//! What every page has: its head, the search, and the list of pages.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::article::badge;
use super::guides::GUIDES;
use super::lookup::{entries, text};
use super::operations::{operations, slug};

const STYLE: &str = include_str!("style.css");

/// Allows a page its own style, the search, and nothing else.
pub(super) fn content_security_policy() -> String {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
}

pub(super) struct Frame<'d> {
    document: &'d Value,
    /// The part that is shown; none on the first page.
    part: Option<&'d str>,
    /// What was searched for.
    query: &'d str,
}

impl<'d> Frame<'d> {
    pub(super) fn index(document: &'d Value) -> Self {
        Self { document, part: None, query: "" }
    }

    pub(super) fn part(document: &'d Value, part: &'d str) -> Self {
        Self { document, part: Some(part), query: "" }
    }

    pub(super) fn search(document: &'d Value, query: &'d str) -> Self {
        Self { document, part: Some("search"), query }
    }

    /// The way to the server's root. Relative, so that it is right behind a proxy with a prefix, too.
    fn up(&self) -> &'static str {
        if self.part.is_some() { "../" } else { "" }
    }

    pub(super) fn html(&self, title: &str, main: &Markup) -> String {
        let product = text(self.document, "/info/title");
        let html = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { @if !title.is_empty() { (title) " · " } (product) " API" }
                    style { (PreEscaped(STYLE)) }
                }
                body {
                    a.skip href="#main" { "Skip to content" }
                    (self.sidebar())
                    main id="main" { (main) }
                }
            }
        };
        html.into_string()
    }

    fn sidebar(&self) -> Markup {
        let up = self.up();
        html! {
            nav.sidebar aria-label="Documentation" {
                a.brand href={ (up) "docs" } {
                    span.mark aria-hidden="true" {}
                    span { (text(self.document, "/info/title")) }
                    span.version { (text(self.document, "/info/version")) }
                }
                form.search role="search" method="get" action={ (up) "docs/search" } {
                    input type="search" name="q" value=(self.query) maxlength="100" required
                        aria-label="Search the documentation" placeholder="Search";
                }
                h2 { "Guides" }
                ul {
                    @for guide in GUIDES { (self.entry(guide.name, guide.title())) }
                }
                h2 { "API" }
                ul {
                    @for tag in entries(self.document, "/tags") {
                        @let name = text(tag, "/name");
                        (self.entry(&slug(name), name))
                        @if self.part == Some(slug(name).as_str()) { (self.operations(name)) }
                    }
                }
                a.raw href={ (up) "openapi.json" } { "openapi.json" }
                a.raw href={ (up) "llms.txt" } { "llms.txt" }
            }
        }
    }

    fn entry(&self, part: &str, title: &str) -> Markup {
        let current = (self.part == Some(part)).then_some("page");
        html! { li { a href={ (self.up()) "docs/" (part) } aria-current=[current] { (title) } } }
    }

    /// The operations of the page that is shown.
    fn operations(&self, tag: &str) -> Markup {
        html! {
            @for operation in operations(self.document, tag) {
                li.inner {
                    a href={ "#" (operation.id()) } {
                        (badge(operation.method))
                        span { (text(operation.value, "/summary")) }
                    }
                }
            }
        }
    }
}
