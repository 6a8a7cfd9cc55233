//! What is kept of a page as Markdown (GitHub's flavour).
//!
//! The structure is the page's own: its headings, lists, tables, quotes and code blocks, in their order.
//! Words that a page sets apart with boxes are set apart with blanks.

mod code;
mod flow;
mod lists;
mod table;
mod tables;
mod text;

use ego_tree::NodeRef;
use scraper::node::Element;
use scraper::{Html, Node};
use url::Url;

use self::flow::{BlockKind, Flow};
use super::kept_nodes::KeptNodes;
use super::links::target;
use super::open_elements::ENDS_P;

/// Lists and quotes in one another; what lies deeper is not moved further to the right.
const NESTING_MAX: u8 = 10;

/// What is kept of a document as Markdown, images only if they are wanted.
pub(super) fn write(document: &Html, kept: &KeptNodes, base: &Url, with_images: bool) -> String {
    let writer = Writer { kept, base, with_images };
    let mut flow = Flow::default();
    writer.children(document.tree.root(), &mut flow, Context::default());
    flow.into_text(false)
}

struct Writer<'a> {
    kept: &'a KeptNodes,
    base: &'a Url,
    with_images: bool,
}

/// What an element stands in.
#[derive(Debug, Clone, Copy, Default)]
struct Context {
    nesting: u8,
    is_bold: bool,
    is_italic: bool,
    inside: Inside,
}

/// What bounds the words: a heading and a cell are one line each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Page,
    Heading,
    Cell,
}

type Place<'a> = NodeRef<'a, Node>;

impl Writer<'_> {
    fn children(&self, node: Place<'_>, flow: &mut Flow, context: Context) {
        let mut follows_element = false;
        for child in node.children() {
            match child.value() {
                Node::Text(words) if self.kept.has(child.id()) => flow.words(words),
                Node::Text(words) if !words.is_empty() && words.trim().is_empty() => flow.blank(),
                Node::Element(element) if self.kept.shows(child) => {
                    let (blocks, place) = (flow.blocks.len(), flow.line.len());
                    self.element(child, element, flow, context);
                    if follows_element && flow.blocks.len() == blocks {
                        set_apart(&mut flow.line, place, context.inside == Inside::Heading);
                    }
                    follows_element = true;
                    continue;
                }
                Node::Element(_) => {
                    // An element around a blank sets words apart, too.
                    let is_blank =
                        |node: Place<'_>| node.value().as_text().is_some_and(|it| it.trim().is_empty());
                    if child.first_child().is_some_and(is_blank) {
                        flow.blank();
                    }
                    continue;
                }
                _ => {}
            }
            follows_element = false;
        }
    }

    fn element(&self, node: Place<'_>, element: &Element, flow: &mut Flow, context: Context) {
        match element.name() {
            "br" => flow.line_break(),
            "hr" => {
                flow.end_line();
                if flow.blocks.last().is_some_and(|block| block.text != RULE)
                    && context.inside == Inside::Page
                {
                    flow.block(RULE.to_owned(), BlockKind::Other);
                }
            }
            "img" => self.image(element, flow),
            "a" => self.link(node, element, flow, context),
            "em" | "i" | "cite" | "var" | "dfn"
                if !context.is_italic && context.inside != Inside::Heading =>
            {
                self.marked(node, "*", flow, Context { is_italic: true, ..context });
            }
            "strong" | "b" if !context.is_bold && context.inside != Inside::Heading => {
                self.marked(node, "**", flow, Context { is_bold: true, ..context });
            }
            "del" | "s" | "strike" => self.marked(node, "~~", flow, context),
            "code" | "samp" | "tt" => code_words(node, flow, context),
            "kbd" => key(node, flow),
            "q" => {
                flow.line.push('"');
                self.children(node, flow, context);
                flow.line.push('"');
            }
            "button" | "label" | "option" | "output" => {
                flow.blank();
                self.children(node, flow, context);
                flow.blank();
            }
            name if !is_block(name) => {
                let is_own = name.contains('-');
                if is_own {
                    flow.blank();
                }
                self.children(node, flow, context);
                if is_own {
                    flow.blank();
                }
            }
            name => {
                flow.end_line();
                self.block(node, name, flow, context);
                flow.end_line();
            }
        }
    }

    fn block(&self, node: Place<'_>, name: &str, flow: &mut Flow, context: Context) {
        let is_deep = context.nesting >= NESTING_MAX;
        let is_page = context.inside == Inside::Page;
        match name {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" if is_page => {
                let mut inner = Flow::default();
                self.children(node, &mut inner, Context { inside: Inside::Heading, ..context });
                let words = inner.into_line(" ");
                let level = name.as_bytes().get(1).map_or(1, |digit| usize::from(digit - b'0'));
                if !words.is_empty() {
                    flow.block(format!("{} {words}", "#".repeat(level)), BlockKind::Heading);
                }
            }
            "pre" if !is_page => flow.words(&code::lines(node)),
            "pre" => flow.block(code::fenced(node).unwrap_or_default(), BlockKind::Other),
            "ul" | "ol" | "menu" if is_page && !is_deep => self.list(node, name == "ol", flow, context),
            "dl" if is_page && !is_deep => self.definitions(node, flow, context),
            "blockquote" if is_page && !is_deep => {
                let mut inner = Flow::default();
                self.children(node, &mut inner, Context { nesting: context.nesting + 1, ..context });
                let text = inner.into_text(false);
                if !text.is_empty() {
                    flow.block(text::quoted(&text), BlockKind::Other);
                }
            }
            "table" if is_page => self.table(node, flow, context),
            _ => self.children(node, flow, context),
        }
    }

    /// Words between two marks, with the blanks around them outside.
    fn marked(&self, node: Place<'_>, mark: &str, flow: &mut Flow, context: Context) {
        let mut inner = Flow::default();
        self.children(node, &mut inner, context);
        if !inner.blocks.is_empty() {
            inner.end_line();
            flow.end_line();
            flow.blocks.append(&mut inner.blocks);
            return;
        }
        inline(&inner, flow, |words| [mark, words, mark].concat());
    }

    fn link(&self, node: Place<'_>, element: &Element, flow: &mut Flow, context: Context) {
        let mut inner = Flow::default();
        self.children(node, &mut inner, context);
        let href = element.attr("href").and_then(|href| target(href, self.base));
        let href = href.map(|href| href.replace('(', "%28").replace(')', "%29"));
        let is_permalink = context.inside == Inside::Heading
            && matches!(inner.line.trim(), "" | "#" | "¶" | "§" | "🔗" | "\u{200b}");
        if is_permalink && inner.blocks.is_empty() {
            return;
        }
        let Some(href) = href else {
            return unmarked(inner, flow);
        };
        if inner.blocks.is_empty() {
            if flow.line.ends_with(')') {
                flow.blank();
            }
            return inline(&inner, flow, |words| format!("[{words}]({href})"));
        }
        // A card that is one link: its first line leads there.
        inner.end_line();
        let is_line = |kind: BlockKind| matches!(kind, BlockKind::Text | BlockKind::Heading);
        let first = inner.blocks.iter_mut().find(|block| is_line(block.kind) && !block.text.contains('\n'));
        if let Some(block) = first.filter(|block| !block.text.contains("](")) {
            let words = block.text.trim_start_matches('#').trim_start();
            let start = block.text.get(..block.text.len() - words.len()).unwrap_or_default();
            let start = if block.kind == BlockKind::Heading { start } else { "" };
            block.text = if start.is_empty() {
                format!("[{}]({href})", block.text)
            } else {
                format!("{start}[{words}]({href})")
            };
        }
        flow.end_line();
        flow.blocks.append(&mut inner.blocks);
    }

    fn image(&self, element: &Element, flow: &mut Flow) {
        let source = ["src", "data-src", "data-lazy-src"]
            .iter()
            .find_map(|name| target(element.attr(name)?, self.base));
        if let Some(source) = source.filter(|_| self.with_images) {
            let mut words = String::new();
            text::push_words(&mut words, element.attr("alt").unwrap_or_default().trim());
            let source = source.replace('(', "%28").replace(')', "%29");
            flow.line.push_str(&["![", &words, "](", &source, ")"].concat());
        }
    }
}

const RULE: &str = "* * *";

fn inline(inner: &Flow, flow: &mut Flow, written: impl Fn(&str) -> String) {
    let words = inner.line.trim();
    if inner.has_leading_blank {
        flow.blank();
    }
    if !words.is_empty() {
        flow.line.push_str(&written(words));
    }
    if inner.line.ends_with(char::is_whitespace) {
        flow.blank();
    }
}

fn unmarked(mut inner: Flow, flow: &mut Flow) {
    if inner.blocks.is_empty() {
        return inline(&inner, flow, str::to_owned);
    }
    inner.end_line();
    flow.end_line();
    flow.blocks.append(&mut inner.blocks);
}

/// Code within a line. With line breaks of its own it is a block, whatever its page calls it.
fn code_words(node: Place<'_>, flow: &mut Flow, context: Context) {
    let has_breaks =
        node.descendants().any(|node| node.value().as_element().is_some_and(|it| it.name() == "br"));
    if has_breaks && context.inside == Inside::Page {
        return flow.block(code::fenced(node).unwrap_or_default(), BlockKind::Other);
    }
    let text = code::lines(node);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if text.starts_with(char::is_whitespace) {
        flow.blank();
    }
    if !words.is_empty() {
        flow.line.push_str(&text::code_span(&words));
    }
}

/// A key to press: Markdown has HTML's own element for it.
fn key(node: Place<'_>, flow: &mut Flow) {
    let text = code::lines(node);
    let mut words = String::new();
    text::push_words(&mut words, text.trim());
    if !words.is_empty() {
        flow.line.push_str(&["<kbd>", &words, "</kbd>"].concat());
    }
}

/// Puts a blank between two elements whose words would run together: `Free` and `Pro`, not `H` and `ello`.
/// In a heading, elements are parts of it: a name, a title, a label.
fn set_apart(line: &mut String, place: usize, is_heading: bool) {
    let before = line.get(..place).and_then(|text| text.chars().next_back());
    let after =
        line.get(place..).and_then(|text| text.trim_start_matches(['*', '[', '~', '`']).chars().next());
    let ends = before
        .is_some_and(|before| before.is_lowercase() || before.is_numeric() || ".!?:;)".contains(before));
    let is_glued = is_heading
        && before.is_some_and(|before| before.is_alphanumeric() || before == ')')
        && after.is_some_and(char::is_alphanumeric);
    if is_glued || (ends && after.is_some_and(char::is_uppercase)) {
        line.insert(place, ' ');
    }
}

/// Whether an element stands on lines of its own: those that end a paragraph, and parts of lists, tables and forms.
fn is_block(name: &str) -> bool {
    ENDS_P.contains(&name)
        || matches!(name, "html" | "body" | "caption" | "dd" | "dt" | "legend" | "li" | "search")
        || matches!(name, "colgroup" | "optgroup" | "tbody" | "td" | "tfoot" | "th" | "thead" | "tr")
}

#[cfg(test)]
mod tests;
