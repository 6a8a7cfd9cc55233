//! What a page says about itself: its title, its description, its language, its base address.

use scraper::{ElementRef, Html};
use url::Url;

const TITLE_CHARS_MAX: usize = 1_000;
const DESCRIPTION_CHARS_MAX: usize = 5_000;
const LANGUAGE_CHARS_MAX: usize = 35;

pub(super) fn title(document: &Html) -> Option<String> {
    let of_tag = |name: &'static str| {
        elements(document, name)
            .find_map(|element| line(&element.text().collect::<String>(), TITLE_CHARS_MAX))
    };
    let of_meta = || meta(document, &["og:title", "twitter:title"], TITLE_CHARS_MAX);
    of_tag("title").or_else(of_meta).or_else(|| of_tag("h1"))
}

pub(super) fn description(document: &Html) -> Option<String> {
    let names = ["description", "og:description", "twitter:description", "dc.description"];
    meta(document, &names, DESCRIPTION_CHARS_MAX)
}

/// A language tag such as `en` or `pt-BR`.
pub(super) fn language(document: &Html) -> Option<String> {
    let attributes = ["lang", "xml:lang"];
    let of_root = elements(document, "html")
        .find_map(|root| attributes.iter().find_map(|name| language_tag(root.value().attr(name)?)));
    let of_meta = || {
        let found = meta(document, &["content-language", "og:locale", "dc.language"], 1_000)?;
        language_tag(&found)
    };
    of_root.or_else(of_meta)
}

/// A language as a header or an attribute writes it, the first if there are several.
pub(super) fn language_tag(text: &str) -> Option<String> {
    let tag = text.split([',', ';']).next().unwrap_or_default().trim().replace('_', "-");
    let is_tag = !tag.is_empty()
        && tag.len() <= LANGUAGE_CHARS_MAX
        && tag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        && tag.starts_with(|letter: char| letter.is_ascii_alphabetic());
    is_tag.then_some(tag)
}

/// What relative addresses on the page are relative to.
pub(super) fn base(document: &Html, url: &Url) -> Url {
    let named = elements(document, "base").find_map(|element| element.value().attr("href"));
    let joined = named.and_then(|href| url.join(href.trim()).ok());
    joined.filter(|base| matches!(base.scheme(), "http" | "https")).unwrap_or_else(|| url.clone())
}

/// The first of these that some meta element says something for.
pub(super) fn meta(document: &Html, names: &[&str], chars_max: usize) -> Option<String> {
    names.iter().find_map(|wanted| {
        elements(document, "meta").find_map(|element| {
            let element = element.value();
            let keys = ["name", "property", "http-equiv", "itemprop"];
            let is_wanted = keys
                .iter()
                .any(|key| element.attr(key).is_some_and(|name| name.trim().eq_ignore_ascii_case(wanted)));
            is_wanted.then(|| line(element.attr("content")?, chars_max))?
        })
    })
}

/// HTML's own elements only: drawings have titles too.
pub(super) fn elements<'a>(document: &'a Html, name: &'static str) -> impl Iterator<Item = ElementRef<'a>> {
    document.tree.nodes().filter_map(ElementRef::wrap).filter(move |element| {
        let element = element.value();
        element.name() == name && &*element.name.ns == "http://www.w3.org/1999/xhtml"
    })
}

/// The text as one line without blanks around it.
pub(super) fn line(text: &str, chars_max: usize) -> Option<String> {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line: String = line.chars().take(chars_max).collect();
    (!line.is_empty()).then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, expected: [Option<&str>; 3]) {
        let document = Html::parse_document(html);
        let found = [title(&document), description(&document), language(&document)];
        assert_eq!(found.each_ref().map(Option::as_deref), expected, "{html}");
    }

    #[test]
    fn a_page_says_what_it_is() {
        check(
            "<html lang=en_GB><title> A &amp;\n B </title><meta name=Description content=' C  d '>",
            [Some("A & B"), Some("C d"), Some("en-GB")],
        );
        check(
            "<title> </title><meta property=og:title content=A><meta property=og:description content=B>
             <meta property=og:locale content=de_DE>",
            [Some("A"), Some("B"), Some("de-DE")],
        );
        check(
            "<meta http-equiv=Content-Language content='fr, en'><h1>A <i>b</i></h1>",
            [Some("A b"), None, Some("fr")],
        );
        check("<svg><title>A</title></svg><h1>B</h1>", [Some("B"), None, None]);
        check("<html lang='<script>'>", [None, None, None]);
        check("", [None, None, None]);
        let long = format!("<title>{}</title>", "é".repeat(5_000));
        assert_eq!(title(&Html::parse_document(&long)).unwrap().chars().count(), TITLE_CHARS_MAX);
    }

    #[test]
    fn the_base_is_an_address_on_the_web() {
        let url = Url::parse("https://example.com/a/b").unwrap();
        for (html, expected) in [
            ("", "https://example.com/a/b"),
            ("<base href=/c/>", "https://example.com/c/"),
            ("<base target=_top><base href='https://other.example'>", "https://other.example/"),
            ("<base href='javascript:x'>", "https://example.com/a/b"),
            ("<base href='http://['>", "https://example.com/a/b"),
        ] {
            assert_eq!(base(&Html::parse_document(html), &url).as_str(), expected, "{html}");
        }
    }
}
