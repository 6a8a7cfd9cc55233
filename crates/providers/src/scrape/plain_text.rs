//! What is kept of a page as plain text, and texts cut to a length.

use ego_tree::iter::Edge;
use scraper::{Html, Node};

use super::kept_nodes::KeptNodes;

/// The words, a line for each block.
pub(super) fn write(document: &Html, kept: &KeptNodes) -> String {
    let mut out = String::new();
    for edge in document.tree.root().traverse() {
        match edge {
            Edge::Open(node) if node.value().is_text() && kept.has(node.id()) => {
                let Node::Text(words) = node.value() else { continue };
                if words.starts_with(char::is_whitespace) {
                    blank(&mut out);
                }
                for (number, word) in words.split_whitespace().enumerate() {
                    if number > 0 {
                        out.push(' ');
                    }
                    out.push_str(word);
                }
                if words.ends_with(char::is_whitespace) {
                    blank(&mut out);
                }
            }
            Edge::Open(node) if node.value().is_text() => blank(&mut out),
            Edge::Open(node) | Edge::Close(node) => {
                let is_block = node.value().as_element().is_some_and(|element| !is_inline(element.name()));
                if is_block && kept.shows(node) && !out.is_empty() && !out.ends_with('\n') {
                    out.truncate(out.trim_end().len());
                    out.push('\n');
                }
            }
        }
    }
    out.trim().to_owned()
}

fn blank(out: &mut String) {
    if !out.is_empty() && !out.ends_with([' ', '\n']) {
        out.push(' ');
    }
}

fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 28] = [
        "a", "abbr", "b", "bdi", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i", "img",
        "ins", "kbd", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var",
    ];
    INLINE.contains(&name)
}

/// Cuts a text to so many characters, at a line's or a word's end if there is one near. Says whether it did.
pub(super) fn cut(text: &mut String, chars_max: usize) -> bool {
    let Some((end, _)) = text.char_indices().nth(chars_max) else { return false };
    let head = text.get(..end).unwrap_or_default();
    let near = end - end / 10;
    let at = [head.rfind('\n'), head.rfind(' ')].into_iter().flatten().find(|place| *place >= near);
    text.truncate(at.unwrap_or(end));
    text.truncate(text.trim_end().len());
    true
}

#[cfg(test)]
mod tests {
    use super::super::boilerplate::Keep;
    use super::*;

    #[test]
    fn blocks_are_lines() {
        let document = Html::parse_document("<h1>A <b>b</b></h1><p>c\n d<br>e</p><ul><li>f<li>g</ul><td>h");
        let kept = KeptNodes::of(&document, Keep::Everything);
        assert_eq!(write(&document, &kept), "A b\nc d\ne\nf\ng\nh");
    }

    #[test]
    fn texts_are_cut_between_words() {
        for (text, chars_max, expected) in [
            ("short", 5, "short"),
            ("one two three four five six", 25, "one two three four five"),
            ("éééééééééééé", 3, "ééé"),
            ("a b", 1, "a"),
            ("", 0, ""),
        ] {
            let mut cut_text = text.to_owned();
            assert_eq!(cut(&mut cut_text, chars_max), text.chars().count() > chars_max, "{text}");
            assert_eq!(cut_text, expected);
        }
    }
}
