//! From a page's bytes to what a table wants of it. Runs in the child: it may be slow, or break.

use scraper::Html;
use trafilatura::{ExtractionFocus, Options};
use url::Url;

use super::anchors::Anchors;
use super::charset::decode;
use super::frames::{Job, Kind, Page};
use super::html::{self, Keep};
use super::html_limits::limit_html;
use super::{head, links};

/// What trafilatura is sure of counts if it is at least so much of the content.
const SURE_PERCENT_MIN: usize = 85;
/// A longer page is asked once only: it takes seconds each time.
const SURE_BYTES_MAX: usize = 1024 * 1024;
/// Less than this is hardly the content of a page that has more to offer.
const CONTENT_CHARS_MIN: usize = 200;

/// Reads a page as the job says.
pub(super) fn read(job: &Job, body: &[u8]) -> Page {
    let text = decode(body, &job.content_type, job.url.host_str());
    match job.kind {
        Kind::Text => Page { markdown: text.replace("\r\n", "\n").trim().to_owned(), ..Page::default() },
        Kind::Html => of_html(job, &limit_html(&text)),
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
    let text = limit_html(&decode(body, "", url.host_str()));
    let html = main_content(Html::parse_document(&text), url);
    Content { markdown: markdown(&html), html }
}

fn of_html(job: &Job, text: &str) -> Page {
    let document = Html::parse_document(text);
    let base = head::base(&document, &job.url);
    let mut page = Page {
        title: head::title(&document),
        description: head::description(&document),
        language: head::language(&document),
        links: links::of(&document, &base),
        ..Page::default()
    };
    let html = if job.only_main_content {
        main_content(document, &base)
    } else {
        html::clean(&document, &base, Keep::Everything)
    };
    page.markdown = markdown(&html);
    page.html = job.with_html.then_some(html);
    page
}

/// The part of the page it was made for, as clean HTML.
///
/// Measured best on articles and on mixed pages: trafilatura, with its own fallbacks. It is asked twice,
/// for the page's content and for what of that it is sure of: where the two hardly differ, the difference
/// is captions and teasers. Where it finds next to nothing (lists, landing pages), the whole page without
/// its frame says more.
fn main_content(mut document: Html, base: &Url) -> String {
    let unframed = html::clean(&document, base, Keep::WithoutFrame);
    let anchors = Anchors::mark_all(&mut document, base);
    let marked = document.html();
    drop(document);
    let found = |focus: ExtractionFocus| {
        let options = Options::default().with_fallback(true).with_focus(focus).with_url(base.clone());
        let html = trafilatura::extract(&marked, &options).map(|found| found.content_html);
        html::clean_marked(&Html::parse_fragment(&html.unwrap_or_default()), base, &anchors)
    };
    let balanced = found(ExtractionFocus::Balanced);
    let chars = chars_of(&balanced);
    if chars < CONTENT_CHARS_MIN {
        // Of so little trafilatura keeps the words and not their order on the page.
        return if chars_of(&unframed) * 2 > chars { unframed } else { balanced };
    }
    if marked.len() > SURE_BYTES_MAX {
        return balanced;
    }
    let sure = found(ExtractionFocus::FavorPrecision);
    if chars_of(&sure) * 100 >= chars * SURE_PERCENT_MIN { sure } else { balanced }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, only_main_content: bool, expected: &str) {
        let job = Job {
            url: Url::parse("https://example.com/p").unwrap(),
            kind: Kind::Html,
            content_type: "text/html; charset=utf-8".to_owned(),
            only_main_content,
            with_html: false,
        };
        assert_eq!(read(&job, html.as_bytes()).markdown, expected, "{html}");
    }

    /// Long enough to be content.
    fn prose() -> String {
        "The mill stands by the river and its wheel turns all day long, winter and summer. ".repeat(5)
    }

    #[test]
    fn the_main_content_is_found() {
        let prose = prose();
        let page = format!(
            "<nav><a href=/>Home</a></nav><article><h1>Mill</h1><p>{prose}</p><p>Read <a href=/on>on</a>, \
             and then some more of it, for there is more to be said about mills and rivers.</p></article>\
             <footer>Imprint</footer>"
        );
        let prose = prose.trim_end();
        check(
            &page,
            true,
            &format!(
                "# Mill\n\n{prose}\n\nRead [on](https://example.com/on), and then some more of it, for there is \
                 more to be said about mills and rivers."
            ),
        );
    }

    #[test]
    fn a_page_with_little_to_say_is_kept_whole_without_its_frame() {
        let page =
            "<header>Acme</header><div><h2>Rockets</h2><a href=/buy>Buy</a></div><footer>Imprint</footer>";
        check(page, true, "## Rockets\n\n[Buy](https://example.com/buy)");
        check(page, false, "Acme\n\n## Rockets\n\n[Buy](https://example.com/buy)\n\nImprint");
        check("<nav>Only this</nav>", true, "Only this");
        check("", true, "");
    }

    #[test]
    fn markdown_is_plain() {
        check(
            "<ul><li>a<li><b>b</b></ul><ol><li>c</ol><pre><code>d\n  e</code></pre><p>1 * 2<br>3",
            false,
            "- a\n- **b**\n\n1. c\n\n```\nd\n  e\n```\n\n1 \\* 2  \n3",
        );
    }
}
