//! A page's HTML without what nobody reads: scripts, styles, frames, and attributes that say nothing.

use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};
use url::Url;

/// How much of a page is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Everything,
    /// Without what frames the content: navigation, header, footer, banners.
    WithoutFrame,
}

/// The document's content as HTML: readable elements only, their telling attributes, whole addresses.
pub(super) fn clean(document: &Html, base: &Url, keep: Keep) -> String {
    let mut out = String::new();
    let mut skipped = None;
    for edge in document.tree.root().traverse() {
        match (edge, skipped) {
            (Edge::Close(node), Some(skipping)) if node.id() == skipping => skipped = None,
            (_, Some(_)) => {}
            (Edge::Open(node), None) => match node.value() {
                Node::Text(text) => escape(text, &mut out),
                Node::Element(element) if is_dropped(element, keep) => skipped = Some(node.id()),
                Node::Element(element) => open(element, base, &mut out),
                _ => {}
            },
            (Edge::Close(node), None) => {
                if let Node::Element(element) = node.value()
                    && !is_transparent(element.name())
                    && !VOID.contains(&element.name())
                {
                    out.push_str(&["</", element.name(), ">"].concat());
                }
            }
        }
    }
    out.trim().to_owned()
}

const VOID: [&str; 4] = ["br", "hr", "img", "wbr"];

/// Elements that hold nothing to read.
const SILENT: [&str; 26] = [
    "head", "title", "script", "style", "noscript", "template", "iframe", "frame", "frameset", "noframes",
    "object", "embed", "applet", "svg", "math", "canvas", "audio", "video", "source", "track", "map", "link",
    "meta", "base", "input", "select",
];
/// What frames the content, by element, by role and by the words authors use in `class` and `id`.
const FRAME: [&str; 7] = ["nav", "header", "footer", "aside", "dialog", "menu", "button"];
const FRAME_ROLES: [&str; 8] = [
    "navigation", "banner", "contentinfo", "complementary", "search", "dialog", "alertdialog", "menu",
];
const FRAME_WORDS: [&str; 33] = [
    "ad", "ads", "advert", "advertisement", "banner", "breadcrumb", "breadcrumbs", "consent", "cookie",
    "cookies", "footer", "header", "masthead", "menu", "modal", "nav", "navbar", "navigation", "newsletter",
    "overlay", "pagination", "popup", "promo", "related", "share", "sharing", "sidebar", "skip", "social",
    "sponsored", "subscribe", "topbar", "widget",
];

fn is_dropped(element: &Element, keep: Keep) -> bool {
    let is_hidden = element.attr("hidden").is_some() || element.attr("aria-hidden") == Some("true");
    SILENT.contains(&element.name()) || (keep == Keep::WithoutFrame && (is_hidden || is_frame(element)))
}

fn is_frame(element: &Element) -> bool {
    if matches!(element.name(), "html" | "body" | "main" | "article") {
        return false;
    }
    let has_role = element.attr("role").is_some_and(|role| FRAME_ROLES.contains(&role));
    let names = element.attr("class").into_iter().chain(element.attr("id"));
    let says_so = names.flat_map(str::split_whitespace).any(is_frame_name);
    FRAME.contains(&element.name()) || has_role || says_so
}

/// Whether a class or id is one of the words, or begins or ends with one: `site-header`, `nav_main`.
fn is_frame_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(['-', '_']).filter(|word| !word.is_empty());
    let first = words.next();
    let last = words.next_back();
    first.into_iter().chain(last).any(|word| FRAME_WORDS.contains(&word))
}

/// Elements whose tags are left out and whose content is kept.
fn is_transparent(name: &str) -> bool {
    matches!(name, "html" | "body" | "font" | "center") || !name.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

/// Attributes that mean something outside their page.
const TELLING: [&str; 12] = [
    "href", "src", "alt", "title", "lang", "dir", "colspan", "rowspan", "start", "reversed", "datetime", "cite",
];

fn open(element: &Element, base: &Url, out: &mut String) {
    if is_transparent(element.name()) {
        return;
    }
    out.push('<');
    out.push_str(element.name());
    for (name, value) in element.attrs().filter(|(name, _)| TELLING.contains(name)) {
        let value = match name {
            "href" | "src" | "cite" => absolute(value, base),
            _ => Some(value.to_owned()),
        };
        if let Some(value) = value {
            out.push_str(&[" ", name, "=\""].concat());
            escape(&value, out);
            out.push('"');
        }
    }
    out.push('>');
}

/// The whole address, unless it is one that does something or holds the thing itself.
fn absolute(value: &str, base: &Url) -> Option<String> {
    let url = base.join(value.trim()).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto" | "tel").then(|| url.into())
}

fn escape(text: &str, out: &mut String) {
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(html: &str, everything: &str, without_frame: &str) {
        let document = Html::parse_document(html);
        let base = Url::parse("https://example.com/p/").unwrap();
        assert_eq!(clean(&document, &base, Keep::Everything), everything, "{html}");
        assert_eq!(clean(&document, &base, Keep::WithoutFrame), without_frame, "{html}");
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
