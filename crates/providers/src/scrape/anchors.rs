//! Links as marks in the text, so that they survive an extraction that knows no links.
//!
//! Asked to keep links, trafilatura loses the words that follow them in a paragraph. So each link's text
//! is put between two characters of Unicode's private planes, the first of which numbers the link, and
//! the links are written anew from these.

use scraper::node::Text;
use scraper::{ElementRef, Html, Node};
use url::Url;

const FIRST: u32 = 0xf_0000;
const LINKS_MAX: usize = 0xfff0;
const END: char = '\u{10fffd}';

/// Where the marked links lead, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Anchors(Vec<String>);

#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkMarker<'a> {
    /// A link to this address begins.
    Begin(&'a str),
    End,
}

impl Anchors {
    /// Marks the links of a document.
    pub(super) fn mark_all(document: &mut Html, base: &Url) -> Self {
        let mut anchors = Self::default();
        let elements = document.tree.nodes().filter_map(ElementRef::wrap);
        let links: Vec<_> = elements
            .filter(|element| element.value().name() == "a")
            .filter_map(|element| Some((element.id(), absolute(element.value().attr("href")?, base)?)))
            .take(LINKS_MAX)
            .collect();
        for (id, href) in links {
            let number = u32::try_from(anchors.0.len()).unwrap_or_default();
            let (Some(begin), Some(mut node)) = (char::from_u32(FIRST + number), document.tree.get_mut(id))
            else {
                break;
            };
            node.prepend(text(begin));
            node.append(text(END));
            anchors.0.push(href);
        }
        anchors
    }

    /// What a character stands for, if it is a mark. Pages have such characters too, for their own icons;
    /// they are marks of nothing and fall away.
    pub(super) fn mark(&self, letter: char) -> Option<LinkMarker<'_>> {
        let number = u32::from(letter).checked_sub(FIRST)?;
        let href = usize::try_from(number).ok().and_then(|number| self.0.get(number));
        Some(href.map_or(LinkMarker::End, |href| LinkMarker::Begin(href)))
    }
}

/// The whole address, unless it is one that does something or holds the thing itself.
pub(super) fn absolute(value: &str, base: &Url) -> Option<String> {
    let url = base.join(value.trim()).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto" | "tel").then(|| url.into())
}

fn text(letter: char) -> Node {
    Node::Text(Text { text: letter.to_string().into() })
}

#[cfg(test)]
mod tests {
    use super::super::html::clean_marked;
    use super::*;

    #[test]
    fn links_come_back_as_they_were() {
        let base = Url::parse("https://example.com/").unwrap();
        let html = "<p>a <a href=\"https://example.com/b\">c <b>d</b></a> e</p>";
        let mut document = Html::parse_fragment(html);
        let anchors = Anchors::mark_all(&mut document, &base);
        let without = document.html().replace("<a href=\"https://example.com/b\">", "").replace("</a>", "");
        assert!(!without.contains("href"));
        assert_eq!(clean_marked(&Html::parse_fragment(&without), &base, &anchors), html);
    }

    #[test]
    fn odd_marks_do_no_harm() {
        let base = Url::parse("https://example.com/").unwrap();
        let anchors = Anchors(vec!["https://example.com/\"".to_owned(), "https://b.example/".to_owned()]);
        let (a, b) = ('\u{f0000}', '\u{f0001}');
        for (html, expected) in [
            (format!("<p>{END}x{END}\u{ffffd}</p>"), "<p>x</p>"),
            (format!("<p>{a}{END} x{b} </p>"), "<p> x</p>"),
            (format!("<p>{a}x</p>y{END}"), "<p><a href=\"https://example.com/&quot;\">x</a></p>y"),
            (
                format!("{a}x{b}y{END}"),
                "<a href=\"https://example.com/&quot;\">x</a><a href=\"https://b.example/\">y</a>",
            ),
        ] {
            assert_eq!(clean_marked(&Html::parse_fragment(&html), &base, &anchors), expected, "{html}");
        }
    }
}
