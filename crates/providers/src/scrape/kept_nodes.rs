//! What is kept of a page: texts and images, and the elements around them.

use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use scraper::{Html, Node};

use super::boilerplate::{Keep, is_dropped};

/// The texts and images that are kept, and every element that holds one of them.
#[derive(Debug, Default)]
pub(super) struct KeptNodes(HashSet<NodeId>);

impl KeptNodes {
    /// All there is to read.
    pub(super) fn of(document: &Html, keep: Keep) -> Self {
        Self::with(document, leaves(document.tree.root(), keep))
    }

    /// These texts and images, and what they stand in.
    pub(super) fn with(document: &Html, leaves: impl IntoIterator<Item = NodeId>) -> Self {
        let mut kept = HashSet::new();
        for leaf in leaves {
            let mut place = document.tree.get(leaf);
            // Whatever holds a node that is known already is known as well.
            while let Some(node) = place.filter(|node| kept.insert(node.id())) {
                place = node.parent();
            }
        }
        Self(kept)
    }

    pub(super) fn has(&self, id: NodeId) -> bool {
        self.0.contains(&id)
    }

    /// Whether an element is written: it holds something kept, or is a line break or an empty table cell
    /// beside something that does.
    pub(super) fn shows(&self, node: NodeRef<'_, Node>) -> bool {
        let is_filler = node
            .value()
            .as_element()
            .is_some_and(|element| matches!(element.name(), "br" | "hr" | "wbr" | "td" | "th"));
        self.has(node.id()) || (is_filler && node.parent().is_some_and(|parent| self.has(parent.id())))
    }
}

/// The texts and images below a node, in the page's order.
pub(super) fn leaves(root: NodeRef<'_, Node>, keep: Keep) -> Vec<NodeId> {
    let mut leaves = Vec::new();
    let mut skipped = None;
    for edge in root.traverse() {
        match (edge, skipped) {
            (Edge::Close(node), Some(skipping)) if node.id() == skipping => skipped = None,
            (Edge::Open(node), None) => match node.value() {
                Node::Text(text) if !text.trim().is_empty() => leaves.push(node.id()),
                Node::Element(element) if is_dropped(element, keep) => skipped = Some(node.id()),
                Node::Element(element) if element.name() == "img" => leaves.push(node.id()),
                _ => {}
            },
            _ => {}
        }
    }
    leaves
}
