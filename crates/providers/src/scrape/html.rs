//! A page's HTML without what nobody reads: scripts, styles, frames, and attributes that say nothing.

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};
use url::Url;

use super::anchors::{Anchors, LinkMarker, absolute};

/// How much of a page is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Everything,
    /// Without what frames the content: navigation, header, footer, banners.
    WithoutFrame,
}

/// The document's content as HTML: readable elements only, their telling attributes, whole addresses.
pub(super) fn clean(document: &Html, base: &Url, keep: Keep) -> String {
    write(document, base, keep, &Anchors::default())
}

/// The same of a document whose links were taken for marks, which become links again.
pub(super) fn clean_marked(document: &Html, base: &Url, anchors: &Anchors) -> String {
    write(document, base, Keep::Everything, anchors)
}

fn write(document: &Html, base: &Url, keep: Keep, anchors: &Anchors) -> String {
    let mut writer = Writer { out: String::new(), base, anchors, link: None };
    let mut skipped = None;
    for edge in document.tree.root().traverse() {
        match (edge, skipped) {
            (Edge::Close(node), Some(skipping)) if node.id() == skipping => skipped = None,
            (_, Some(_)) => {}
            (Edge::Open(node), None) => match node.value() {
                Node::Text(text) => writer.text(text, node.parent().map(|parent| parent.id())),
                Node::Element(element) if is_dropped(element, keep) => skipped = Some(node.id()),
                Node::Element(element) => writer.open(element),
                _ => {}
            },
            (Edge::Close(node), None) => {
                if let Node::Element(element) = node.value() {
                    writer.close(element, node.id());
                }
            }
        }
    }
    writer.out.trim().to_owned()
}

struct Writer<'a> {
    out: String,
    base: &'a Url,
    anchors: &'a Anchors,
    link: Option<Link>,
}

/// A marked link that is being written.
struct Link {
    /// The element it stands in, and ends with.
    inside: Option<NodeId>,
    tag_start: usize,
    tag_end: usize,
}

impl Writer<'_> {
    fn text(&mut self, text: &str, inside: Option<NodeId>) {
        for letter in text.chars() {
            match self.anchors.mark(letter) {
                None => escape(letter, &mut self.out),
                Some(LinkMarker::Begin(href)) => {
                    self.end_link();
                    let tag_start = self.out.len();
                    self.out.push_str("<a href=\"");
                    href.chars().for_each(|letter| escape(letter, &mut self.out));
                    self.out.push_str("\">");
                    self.link = Some(Link { inside, tag_start, tag_end: self.out.len() });
                }
                Some(LinkMarker::End) if self.link.as_ref().is_some_and(|link| link.inside == inside) => {
                    self.end_link();
                }
                Some(LinkMarker::End) => {}
            }
        }
    }

    /// A link around nothing is none.
    fn end_link(&mut self) {
        let Some(link) = self.link.take() else { return };
        if self.out.get(link.tag_end..).is_some_and(|words| words.trim().is_empty()) {
            self.out.truncate(link.tag_start);
        } else {
            self.out.push_str("</a>");
        }
    }

    fn open(&mut self, element: &Element) {
        if is_transparent(element.name()) {
            return;
        }
        self.out.push('<');
        self.out.push_str(element.name());
        for (name, value) in element.attrs().filter(|(name, _)| TELLING.contains(name)) {
            let value = match name {
                "href" | "src" | "cite" => absolute(value, self.base),
                _ => Some(value.to_owned()),
            };
            if let Some(value) = value {
                self.out.push_str(&[" ", name, "=\""].concat());
                value.chars().for_each(|letter| escape(letter, &mut self.out));
                self.out.push('"');
            }
        }
        self.out.push('>');
    }

    fn close(&mut self, element: &Element, id: NodeId) {
        if self.link.as_ref().is_some_and(|link| link.inside == Some(id)) {
            self.end_link();
        }
        if !is_transparent(element.name()) && !VOID.contains(&element.name()) {
            self.out.push_str(&["</", element.name(), ">"].concat());
        }
    }
}

const VOID: [&str; 4] = ["br", "hr", "img", "wbr"];

/// Elements that hold nothing to read.
const SILENT: [&str; 26] = [
    "head", "title", "script", "style", "noscript", "template", "iframe", "frame", "frameset", "noframes",
    "object", "embed", "applet", "svg", "math", "canvas", "audio", "video", "source", "track", "map", "link",
    "meta", "base", "input", "select",
];
/// What frames the content, by element, by role and by the words authors use in `class` and `id`.
const FRAME: [&str; 5] = ["nav", "header", "footer", "aside", "dialog"];
const FRAME_ROLES: [&str; 6] =
    ["navigation", "banner", "contentinfo", "complementary", "dialog", "alertdialog"];
const FRAME_WORDS: [&str; 34] = [
    "ad",
    "ads",
    "advert",
    "advertisement",
    "bottom",
    "breadcrumb",
    "breadcrumbs",
    "consent",
    "cookie",
    "cookies",
    "footer",
    "header",
    "masthead",
    "menu",
    "modal",
    "nav",
    "navbar",
    "navigation",
    "overlay",
    "pagination",
    "popup",
    "share",
    "sharing",
    "side",
    "sidebar",
    "site-footer",
    "site-header",
    "skip-link",
    "social",
    "social-links",
    "social-media",
    "sponsored",
    "topbar",
    "widget",
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
    let mut names = names.flat_map(str::split_whitespace).map(str::to_ascii_lowercase);
    FRAME.contains(&element.name()) || has_role || names.any(|name| FRAME_WORDS.contains(&name.as_str()))
}

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
