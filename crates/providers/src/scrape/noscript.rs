//! Pages that show their content only where no scripts run: forums put it into `<noscript>` for search engines.

use scraper::{Html, Node};

use super::boilerplate::Keep;
use super::head::elements;
use super::kept_nodes::leaves;

/// Less than this asks people to turn scripts on.
const CHARS_MIN: usize = 500;
/// The same, of words that do not ask for scripts.
const WORDS_CHARS_MIN: usize = 200;

/// The page as it is without scripts, if most of its words are for that case.
pub(super) fn parse(text: &str) -> Html {
    let document = Html::parse_document(text);
    let hidden = hidden_chars(&document);
    if hidden < CHARS_MIN || hidden < shown_chars(&document) {
        return document;
    }
    Html::parse_document(&without_tags(text))
}

/// The page as it is without scripts, if it says something to people who have none but that they need them.
pub(super) fn read(text: &str) -> Option<Html> {
    let hidden = Html::parse_document(text);
    let asks = elements(&hidden, "noscript")
        .any(|element| element.text().any(|words| words.to_lowercase().contains("javascript")));
    (hidden_chars(&hidden) >= WORDS_CHARS_MIN && !asks).then(|| Html::parse_document(&without_tags(text)))
}

fn shown_chars(document: &Html) -> usize {
    let shown = leaves(document.tree.root(), Keep::Everything).into_iter();
    let texts = shown.filter_map(|leaf| document.tree.get(leaf)?.value().as_text());
    texts.map(|text| count(text)).sum()
}

/// The characters of all such elements but those of tags.
fn hidden_chars(document: &Html) -> usize {
    let is_inside = |node: &ego_tree::NodeRef<'_, Node>| {
        let element = node.parent().and_then(|parent| parent.value().as_element());
        element.is_some_and(|element| element.name() == "noscript")
    };
    let texts = document.tree.nodes().filter(is_inside).filter_map(|node| node.value().as_text());
    let parts = texts.flat_map(|text| {
        text.split('<').enumerate().map(|(number, part)| match part.split_once('>') {
            Some((_, words)) if number > 0 => words,
            _ => part,
        })
    });
    parts.map(count).sum()
}

fn count(text: &str) -> usize {
    text.chars().filter(|letter| !letter.is_whitespace()).count()
}

/// The HTML without the tags of these elements, so that their content is the page's own.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(place) = memchr::memmem::find(rest.as_bytes(), b"noscript") {
        let (before, after) = rest.split_at_checked(place).unwrap_or((rest, ""));
        let tag = before.strip_suffix("</").or_else(|| before.strip_suffix('<'));
        if let (Some(before), Some((_, behind))) = (tag, after.split_once('>')) {
            out.push_str(before);
            rest = behind;
        } else {
            let (word, behind) = after.split_at_checked("noscript".len()).unwrap_or((after, ""));
            out.push_str(before);
            out.push_str(word);
            rest = behind;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_readers_without_scripts_count_if_they_are_the_page() {
        let words = "The mill stands by the river. ".repeat(40);
        let page =
            format!("<body><noscript data-path='/'><h1>A</h1><p>{words} noscript</p></noscript><p>Loading");
        let names = |html: &str| {
            let document = parse(html);
            let names = document.tree.nodes().filter_map(|node| node.value().as_element());
            names.map(|element| element.name().to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(names(&page), ["html", "head", "body", "h1", "p", "p"]);
        let shown = format!("<p>{}</p>{page}", words.repeat(2));
        assert!(names(&shown).contains(&"noscript".to_owned()));
        let asking = "<noscript>Please enable JavaScript.</noscript><div id=root></div>";
        assert!(names(asking).contains(&"noscript".to_owned()));
    }

    #[test]
    fn odd_tags_do_no_harm() {
        for (html, expected) in [
            ("<noscript>a</noscript>b", "ab"),
            ("noscript <b>noscript</b>", "noscript <b>noscript</b>"),
            ("<noscript", "<noscript"),
            ("", ""),
        ] {
            assert_eq!(without_tags(html), expected);
        }
    }
}
