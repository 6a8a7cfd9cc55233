//! A page as a list of its texts and of the elements around them, for decisions about what to keep.

use std::hash::{DefaultHasher, Hasher as _};

use ego_tree::NodeId;
use ego_tree::iter::Edge;
use scraper::node::Element;
use scraper::{Html, Node};

use super::boilerplate::{BesideWords, Hidden, Keep, beside_words, is_dropped, is_extra};
use super::page_kind;
use super::post_names::InThread;

/// The readable texts and elements of a page, both in its order.
#[derive(Debug, Default)]
pub(super) struct Outline {
    pub(super) leaves: Vec<Leaf>,
    pub(super) elements: Vec<Part>,
    /// Whether the page says of itself that it is an article.
    pub(super) is_article: bool,
}

/// A text, or an image, which has no characters.
#[derive(Debug)]
pub(super) struct Leaf {
    pub(super) id: NodeId,
    /// Characters that are not blank.
    pub(super) chars: usize,
    /// Tells these characters from others.
    pub(super) text_hash: u64,
    pub(super) is_link: bool,
    /// Whether it stands in what frames the content.
    pub(super) is_frame: bool,
    /// Whether it is the label of something to press or to fill in.
    pub(super) is_control: bool,
    /// The innermost element that begins a line, by its place among the elements.
    pub(super) block: usize,
}

/// An element, and the leaves that it holds: from `start` to before `end`.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: String,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The elements inside it: from the one behind it to before this one.
    pub(super) last: usize,
    pub(super) is_frame: bool,
    /// Whether and how it is not shown at first.
    pub(super) hidden: Option<Hidden>,
    /// Whether the page itself says that its content is in here.
    pub(super) is_main: bool,
    /// Whether it is a box beside the content: a cart, a filter, a login.
    pub(super) is_extra: bool,
    /// Which words it has for what is hardly part of the content, a bit for each.
    pub(super) beside_words: BesideWords,
    pub(super) in_thread: InThread,
}

impl Outline {
    pub(super) fn of(document: &Html) -> Self {
        let mut outline = Self { is_article: page_kind::is_article(document), ..Self::default() };
        let mut open = vec![Open { part: 0, block: 0, is_link: false, is_frame: false, is_control: false }];
        let mut skipped = None;
        for edge in document.tree.root().traverse() {
            match (edge, skipped) {
                (Edge::Close(node), Some(skipping)) if node.id() == skipping => skipped = None,
                (_, Some(_)) => {}
                (Edge::Open(node), None) => match node.value() {
                    Node::Text(text) => outline.leaf(node.id(), text, &open),
                    Node::Element(element) if is_dropped(element, Keep::Everything) => {
                        skipped = Some(node.id());
                    }
                    Node::Element(element) => outline.open(node.id(), element, &mut open),
                    _ => {}
                },
                (Edge::Close(node), None) => {
                    if node.value().is_element()
                        && let Some(closed) = open.pop()
                    {
                        let (end, last) = (outline.leaves.len(), outline.elements.len());
                        if let Some(part) = outline.elements.get_mut(closed.part) {
                            (part.end, part.last) = (end, last);
                        }
                    }
                }
            }
        }
        outline
    }

    fn open(&mut self, id: NodeId, element: &Element, open: &mut Vec<Open>) {
        let Some(outer) = open.last().copied() else { return };
        let part = self.elements.len();
        let is_frame = outer.is_frame || is_dropped(element, Keep::WithoutFrame);
        let start = self.leaves.len();
        let name = element.name().to_owned();
        let block = if is_block(&name) { part } else { outer.block };
        let is_link = outer.is_link || name == "a";
        let is_control =
            outer.is_control || matches!(name.as_str(), "button" | "label" | "textarea" | "legend");
        if name == "img" {
            self.leaves.push(Leaf { id, chars: 0, text_hash: 0, is_link, is_frame, is_control, block });
        }
        self.elements.push(Part {
            start,
            end: start,
            last: part + 1,
            is_frame,
            is_main: name == "main" || element.attr("role") == Some("main"),
            is_extra: is_extra(element),
            hidden: Hidden::of(element),
            beside_words: beside_words(element),
            in_thread: InThread::of(element),
            name,
        });
        open.push(Open { part, block, is_link, is_frame, is_control });
    }

    fn leaf(&mut self, id: NodeId, text: &str, open: &[Open]) {
        let mut hasher = DefaultHasher::new();
        let letters = text.chars().filter(|letter| !letter.is_whitespace());
        let chars = letters.inspect(|letter| hasher.write_u32(u32::from(*letter))).count();
        if let Some(outer) = open.last().filter(|_| chars > 0) {
            let Open { block, is_link, is_frame, is_control, .. } = *outer;
            let text_hash = hasher.finish();
            self.leaves.push(Leaf { id, chars, text_hash, is_link, is_frame, is_control, block });
        }
    }

    /// How many characters the leaves have that are counted, from the first leaf to before each one.
    pub(super) fn sums(&self, is_counted: impl Fn(usize, &Leaf) -> bool) -> Sums {
        let mut sums = Vec::with_capacity(self.leaves.len() + 1);
        let mut sum = 0;
        sums.push(sum);
        for (place, leaf) in self.leaves.iter().enumerate() {
            sum += if is_counted(place, leaf) { leaf.chars } else { 0 };
            sums.push(sum);
        }
        Sums(sums)
    }
}

/// Characters by leaf, so that those of any part are found at once.
#[derive(Debug)]
pub(super) struct Sums(Vec<usize>);

impl Sums {
    pub(super) fn all(&self) -> usize {
        self.0.last().copied().unwrap_or_default()
    }

    pub(super) fn of(&self, part: &Part) -> usize {
        self.between(part.start, part.end)
    }

    pub(super) fn between(&self, start: usize, end: usize) -> usize {
        let at = |place: usize| self.0.get(place).copied().unwrap_or_default();
        at(end).saturating_sub(at(start))
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    part: usize,
    block: usize,
    is_link: bool,
    is_frame: bool,
    is_control: bool,
}

/// Whether words in an element begin a line of their own.
fn is_block(name: &str) -> bool {
    const INLINE: [&str; 30] = [
        "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font", "i",
        "img", "ins", "kbd", "label", "mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup",
        "time", "u", "var",
    ];
    !INLINE.contains(&name) && name != "br" && name != "wbr"
}
