//! What kind of page a page says that it is.

use scraper::{ElementRef, Html};

use super::{head, json_ld};

/// Types of schema.org; `NewsArticle` and its like count as what they end in.
const TYPES: [&str; 2] = ["Article", "BlogPosting"];

/// Whether a page says of itself that it is an article. `og:type` alone is in lists of articles as well, and so are
/// elements of such a type; one of them with the other is enough.
pub(super) fn is_article(document: &Html) -> bool {
    let kind = head::meta(document, &["og:type"], 100).map(|kind| kind.eq_ignore_ascii_case("article"));
    if kind == Some(false) {
        return false;
    }
    let data = json_ld::read(document);
    let things = json_ld::things(&data);
    let is_type = |name: &str| TYPES.iter().any(|kind| name.ends_with(kind));
    let has_type = |element: ElementRef<'_>| {
        element.value().attr("itemtype").is_some_and(|names| names.split_ascii_whitespace().any(is_type))
    };
    let has_element = || document.tree.nodes().filter_map(ElementRef::wrap).any(has_type);
    let is_named = head::meta(document, &["article:published_time"], 100).is_some()
        || things.iter().any(|thing| json_ld::is_a(thing, &TYPES))
        || (kind.is_some() && has_element());
    is_named && !things.iter().any(|thing| json_ld::is_a(thing, &["CollectionPage"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_article_says_that_it_is_one() {
        let check = |html: &str, expected: bool| {
            assert_eq!(is_article(&Html::parse_document(html)), expected, "{html}");
        };
        let data = |kind: &str| format!("<script type=application/ld+json>{{\"@type\": {kind}}}</script>");
        let kind = |kind: &str| format!("<meta property=og:type content={kind}>");
        let time = "<meta property=article:published_time content=2026-01-01>";
        check(&data("\"NewsArticle\""), true);
        check(&data("[\"WebPage\", \"BlogPosting\"]"), true);
        check(&data("\"WebPage\", \"mainEntity\": {\"@type\": \"Article\"}"), true);
        let element = "<div itemscope itemtype='https://schema.org/NewsArticle'>Rye</div>";
        check(&format!("{}{element}", kind("article")), true);
        check(time, true);
        check(&format!("{}{time}", kind("Article")), true);
        // Lists of articles say this, too.
        check(element, false);
        check(&kind("article"), false);
        check(&format!("{}{time}", kind("website")), false);
        check(&format!("{time}{}", data("\"CollectionPage\"")), false);
        check(&data("\"Product\""), false);
        check("<article>Rye</article>", false);
        check("", false);
    }
}
