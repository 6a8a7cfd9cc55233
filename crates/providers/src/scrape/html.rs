//! A page's HTML without what nobody reads: scripts, styles, frames, and attributes that say nothing.

use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};
use url::Url;

use super::kept_nodes::KeptNodes;
use super::links::target;

/// What is kept of a document as HTML: readable elements only, their telling attributes, whole addresses.
pub(super) fn write(document: &Html, kept: &KeptNodes, base: &Url) -> String {
    let mut out = String::new();
    let mut skipped = None;
    for edge in document.tree.root().traverse() {
        match (edge, skipped) {
            (Edge::Close(node), Some(skipping)) if node.id() == skipping => skipped = None,
            (_, Some(_)) => {}
            (Edge::Open(node), None) => match node.value() {
                Node::Text(text) if kept.has(node.id()) || text.trim().is_empty() => {
                    text.chars().for_each(|letter| escape(letter, &mut out));
                }
                Node::Element(_) if !kept.shows(node) => skipped = Some(node.id()),
                Node::Element(element) => open(element, base, &mut out),
                _ => {}
            },
            (Edge::Close(node), None) => {
                if let Node::Element(element) = node.value() {
                    close(element, &mut out);
                }
            }
        }
    }
    out.trim().to_owned()
}

fn open(element: &Element, base: &Url, out: &mut String) {
    if is_transparent(element.name()) {
        return;
    }
    out.push('<');
    out.push_str(element.name());
    for (name, value) in element.attrs().filter(|(name, _)| TELLING.contains(name)) {
        let value = match name {
            "href" | "src" | "cite" => target(value, base),
            _ => Some(value.to_owned()),
        };
        if let Some(value) = value {
            out.push_str(&[" ", name, "=\""].concat());
            value.chars().for_each(|letter| escape(letter, out));
            out.push('"');
        }
    }
    out.push('>');
}

fn close(element: &Element, out: &mut String) {
    if !is_transparent(element.name()) && !VOID.contains(&element.name()) {
        out.push_str(&["</", element.name(), ">"].concat());
    }
}

const VOID: [&str; 4] = ["br", "hr", "img", "wbr"];

/// Elements whose tags are left out and whose content is kept.
fn is_transparent(name: &str) -> bool {
    matches!(name, "html" | "body" | "font" | "center")
        || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Attributes that mean something outside their page.
const TELLING: [&str; 12] = [
    "href", "src", "alt", "title", "lang", "dir", "colspan", "rowspan", "start", "reversed", "datetime",
    "cite",
];

fn escape(letter: char, out: &mut String) {
    match letter {
        '&' => out.push_str("&amp;"),
        '<' => out.push_str("&lt;"),
        '>' => out.push_str("&gt;"),
        '"' => out.push_str("&quot;"),
        _ => out.push(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::super::boilerplate::Keep;
    use super::*;

    fn check(html: &str, everything: &str, without_frame: &str) {
        let document = Html::parse_document(html);
        let base = Url::parse("https://example.com/p/").unwrap();
        let written = |keep: Keep| write(&document, &KeptNodes::of(&document, keep), &base);
        assert_eq!(written(Keep::Everything), everything, "{html}");
        assert_eq!(written(Keep::WithoutFrame), without_frame, "{html}");
    }

    #[test]
    fn what_people_read_is_kept() {
        check(
            "<title>T</title><p class=a onclick=x style=y>1 &lt; 2 <a href=q#r title='\"'>3</a><br>4",
            "<p>1 &lt; 2 <a href=\"https://example.com/p/q#r\" title=\"&quot;\">3</a><br>4</p>",
            "<p>1 &lt; 2 <a href=\"https://example.com/p/q#r\" title=\"&quot;\">3</a><br>4</p>",
        );
        check(
            "<script>x</script><svg><text>x</text></svg><p>a<img src=data:x alt=b><a href=javascript:x>c</a>",
            "<p>a<img alt=\"b\"><a>c</a></p>",
            "<p>a<img alt=\"b\"><a>c</a></p>",
        );
        check(
            "<nav>a</nav><div class='x Site-Header'>b</div><div role=banner>c</div><p hidden>d</p><p>e</p>",
            "<nav>a</nav><div>b</div><div>c</div><p>d</p><p>e</p>",
            "<p>e</p>",
        );
        check("<article class=header>a</article>", "<article>a</article>", "<article>a</article>");
        check("<my-tag>a</my-tag>", "a", "a");
    }
}
