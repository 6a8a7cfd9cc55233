//! From a page's bytes to what a table wants of it. Runs in the child: it may be slow, or break.

use rowmill_model::column::ScrapeFormat;
use scraper::Html;
use url::Url;

use super::boilerplate::Keep;
use super::charset::decode;
use super::feed::{self, Feed};
use super::frames::{Job, Kind, Page, Wanted};
use super::html_limits::limit_html;
use super::kept_nodes::KeptNodes;
use super::main_content::{self, MainContent};
use super::problem::Problem;
use super::{
    about, contacts, embedded, head, html, images, json_ld, links, markdown, noscript, pdf, plain_text,
    selectors, shell, sitemap, thumbnail,
};

/// Reads a page as the job says.
pub(super) fn read(job: &Job, body: &[u8]) -> Page {
    let text = || decode(body, &job.content_type, job.url.host_str());
    let mut page = match job.kind {
        Kind::Text => of_text(job, &text()),
        Kind::Html => of_html(job, &text()),
        Kind::Pdf => of_pdf(job, body),
        Kind::Sitemap => sitemap::read(job, body),
        Kind::Image => of_image(body),
    };
    if let Some(chars_max) = job.wanted.chars_max {
        let texts = [Some(&mut page.markdown), page.text.as_mut(), page.html.as_mut()];
        let cut = texts.into_iter().flatten().map(|text| plain_text::cut(text, chars_max));
        // Each of them is cut.
        page.is_truncated |= cut.filter(|is_cut| *is_cut).count() > 0;
        // No tag is cut in two.
        if let Some(html) = &mut page.html
            && let Some(tag) =
                html.rfind('<').filter(|tag| html.get(*tag..).is_some_and(|tag| !tag.contains('>')))
        {
            html.truncate(tag);
        }
    }
    page
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
    let (document, kept) = content_of(noscript::parse(&text), url, true, &Wanted::default());
    Content {
        markdown: markdown::write(&document, &kept, url, false),
        html: html::write(&document, &kept, url),
    }
}

/// Text that is no HTML is kept as it is. A feed is a list.
fn of_text(job: &Job, text: &str) -> Page {
    if let Some(feed) = feed::read(text, &job.url) {
        return of_feed(job, feed);
    }
    let text = text.replace("\r\n", "\n").trim().to_owned();
    Page { text: job.wanted.has(ScrapeFormat::Text).then(|| text.clone()), markdown: text, ..Page::default() }
}

fn of_feed(job: &Job, feed: Feed) -> Page {
    let document = Html::parse_document(&feed::html(&feed));
    let Feed { title, description, language, items } = feed;
    let language = language.and_then(|language| head::language_tag(&language));
    let links = links::of(&document, &job.url);
    let mut page = Page { title, description, language, links, items, ..Page::default() };
    write(&mut page, &job.wanted, &document, &KeptNodes::of(&document, Keep::Everything), &job.url);
    page
}

fn of_pdf(job: &Job, body: &[u8]) -> Page {
    let pdf = match pdf::read(body) {
        Ok(pdf) => pdf,
        Err(problem) => return Page { problem: Some(problem), ..Page::default() },
    };
    let page = of_text(job, &pdf.text);
    Page { title: pdf.title, length: Some(pdf.pages), is_truncated: pdf.is_cut, ..page }
}

fn of_image(body: &[u8]) -> Page {
    match thumbnail::of(body) {
        Ok(thumbnail) => Page { thumbnail: Some(thumbnail), ..Page::default() },
        Err(problem) => Page { problem: Some(problem), ..Page::default() },
    }
}

fn of_html(job: &Job, text: &str) -> Page {
    // Some servers call their feeds pages.
    if text.trim_start().starts_with("<?xml")
        && let Some(feed) = feed::read(text, &job.url)
    {
        return of_feed(job, feed);
    }
    let limited = limit_html(text);
    let document = noscript::parse(&limited);
    let base = head::base(&document, &job.url);
    let wanted = &job.wanted;
    let with_images = wanted.has(ScrapeFormat::Images);
    let data = json_ld::read(&document);
    let found = contacts::find(&document, &base, &data);
    let is_shell = shell::is_shell(&document, text);
    let held =
        || noscript::read(&limited).or_else(|| Some(Html::parse_document(&embedded::read(text, &data)?)));
    let held = is_shell.then(held).flatten();
    let mut page = Page {
        title: head::title(&document),
        description: head::description(&document),
        language: head::language(&document),
        links: links::of(&document, &base),
        images: with_images.then(|| images::of(&document, &base)),
        about: about::find(&document, &base, &data, &found),
        contacts: wanted.has(ScrapeFormat::Contacts).then_some(found),
        json_ld: wanted.has(ScrapeFormat::Jsonld).then_some(data),
        ..Page::default()
    };
    let (document, kept) = content_of(document, &base, job.only_main_content, wanted);
    write(&mut page, wanted, &document, &kept, &base);
    match held {
        _ if !is_shell => {}
        // Selectors are for what the page shows, and match nothing of its data.
        _ if !wanted.include.is_empty() => {
            page.problem = page.markdown.is_empty().then_some(Problem::NeedsBrowser);
        }
        Some(held) => {
            page.is_embedded = true;
            write(&mut page, wanted, &held, &KeptNodes::of(&held, Keep::Everything), &base);
        }
        None => page.problem = Some(Problem::NeedsBrowser),
    }
    page
}

/// Writes what is kept of a document in the formats that are wanted.
fn write(page: &mut Page, wanted: &Wanted, document: &Html, kept: &KeptNodes, base: &Url) {
    page.markdown = markdown::write(document, kept, base, wanted.has(ScrapeFormat::Images));
    page.html = wanted.has(ScrapeFormat::Html).then(|| html::write(document, kept, base));
    page.text = wanted.has(ScrapeFormat::Text).then(|| plain_text::write(document, kept));
}

/// What is read of a document, which may be another one than the page's own.
fn content_of(mut document: Html, base: &Url, only_main_content: bool, wanted: &Wanted) -> (Html, KeptNodes) {
    selectors::exclude(&mut document, &wanted.exclude);
    if !wanted.include.is_empty() {
        let kept = selectors::include(&document, &wanted.include);
        return (document, kept);
    }
    if only_main_content {
        match main_content::find(&mut document, base) {
            MainContent::KeptNodes(kept) => return (document, kept),
            MainContent::Elsewhere(other) => document = other,
        }
    }
    let kept = KeptNodes::of(&document, Keep::Everything);
    (document, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(only_main_content: bool) -> Job {
        Job {
            url: Url::parse("https://example.com/p").unwrap(),
            kind: Kind::Html,
            content_type: "text/html; charset=utf-8".to_owned(),
            only_main_content,
            wanted: Wanted::default(),
        }
    }

    fn check(html: &str, only_main_content: bool, expected: &str) {
        assert_eq!(read(&job(only_main_content), html.as_bytes()).markdown, expected, "{html}");
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
    fn a_shell_is_read_from_its_data() {
        let prose = prose();
        let shell =
            |held: &str| format!("<title>Mill</title><div id=root></div>{held}<script src=/a.js></script>");
        let state = format!(
            "<script>window.__INITIAL_STATE__ = {{\"title\": \"Mill\", \"text\": {prose:?}}}</script>"
        );
        let noscript = format!("<noscript><h1>Mill</h1><p>{prose}</p></noscript>");
        for held in [state, noscript] {
            let text = shell(&held);
            let mut job = job(true);
            job.wanted.formats = vec![ScrapeFormat::Html, ScrapeFormat::Text];
            let page = read(&job, text.as_bytes());
            assert!(
                page.markdown.ends_with(prose.trim_end()) && page.markdown.contains("# Mill\n\n"),
                "{page:?}"
            );
            assert!(
                page.problem.is_none()
                    && page.html.unwrap().contains("<p>")
                    && page.text.unwrap().contains("Mill\n")
            );
            job.wanted.include = vec!["article".to_owned()];
            assert_eq!(read(&job, text.as_bytes()).problem, Some(Problem::NeedsBrowser));
        }
        let notice = format!("<noscript>{}</noscript>", "Please enable JavaScript. ".repeat(12));
        for held in [String::new(), notice, "<script>window.__NUXT__={}</script>".to_owned()] {
            let page = read(&job(true), shell(&held).as_bytes());
            assert!(page.problem == Some(Problem::NeedsBrowser) && !page.is_embedded, "{page:?}");
            assert_eq!(page.title.as_deref(), Some("Mill"));
        }
        let whole = read(&job(true), format!("<p>{prose}</p>{}", shell("")).as_bytes());
        assert!(whole.problem.is_none() && !whole.is_embedded);
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
