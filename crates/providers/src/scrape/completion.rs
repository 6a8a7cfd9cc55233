//! Mends what an extraction tore apart: half a table, a list without its first item, a code block between
//! two paragraphs that were kept.

use std::collections::HashSet;

use super::outline::{Outline, Part, Sums};

/// The content's block holds so much of what was selected.
const BLOCK_PERCENT_MIN: usize = 90;
/// A line, a list or a table of which so much was selected is kept whole.
const LINE_PERCENT_MIN: usize = 50;
const LIST_PERCENT_MIN: usize = 50;
const TABLE_PERCENT_MIN: usize = 30;
/// What has more of its words in links leads elsewhere.
const LINK_PERCENT_MAX: usize = 40;

/// The places of the selected leaves, and of those that belong to them.
pub(super) fn complete(outline: &Outline, selected: &HashSet<usize>) -> HashSet<usize> {
    let mut completion = Completion::new(outline, selected);
    completion.lines();
    completion.structures();
    completion.headings();
    completion.images();
    completion.selected
}

struct Completion<'a> {
    outline: &'a Outline,
    selected: HashSet<usize>,
    all: Sums,
    links: Sums,
    /// The part that holds nearly everything selected, and the selected leaves' first and last place.
    block: (usize, usize),
}

impl<'a> Completion<'a> {
    fn new(outline: &'a Outline, selected: &HashSet<usize>) -> Self {
        let all = outline.sums(|_, leaf| !leaf.is_frame);
        let links = outline.sums(|_, leaf| !leaf.is_frame && leaf.is_link);
        let chosen = outline.sums(|place, _| selected.contains(&place));
        let block = content_block(outline, &chosen);
        Self { outline, selected: selected.clone(), all, links, block }
    }

    fn chosen(&self) -> Sums {
        self.outline.sums(|place, leaf| !leaf.is_frame && self.selected.contains(&place))
    }

    fn keep(&mut self, part: &Part) {
        for place in part.start..part.end {
            if self.outline.leaves.get(place).is_some_and(|leaf| !leaf.is_frame || part.is_frame) {
                self.selected.insert(place);
            }
        }
    }

    /// A line is kept whole or not at all: words after a link, a name in bold.
    fn lines(&mut self) {
        let mut counts = vec![(0_usize, 0_usize); self.outline.elements.len()];
        for (place, leaf) in self.outline.leaves.iter().enumerate() {
            if let Some((chosen, all)) = counts.get_mut(leaf.block) {
                *all += leaf.chars;
                *chosen += if self.selected.contains(&place) { leaf.chars } else { 0 };
            }
        }
        for (place, leaf) in self.outline.leaves.iter().enumerate() {
            let (chosen, all) = counts.get(leaf.block).copied().unwrap_or_default();
            if leaf.chars > 0 && chosen > 0 && chosen * 100 >= all * LINE_PERCENT_MIN {
                self.selected.insert(place);
            }
        }
    }

    fn is_within(&self, part: &Part) -> bool {
        part.start >= self.block.0 && part.end <= self.block.1
    }

    /// Code, tables and lists inside the content.
    fn structures(&mut self) {
        let chosen = self.chosen();
        for part in &self.outline.elements {
            let (all, chosen, links) = (self.all.of(part), chosen.of(part), self.links.of(part));
            if all == 0 || part.is_frame {
                continue;
            }
            let is_share = |percent: usize| chosen > 0 && chosen * 100 >= all * percent;
            let is_prose = links * 100 <= all * LINK_PERCENT_MAX;
            let is_kept = match part.name.as_str() {
                "pre" => chosen > 0 || self.is_within(part),
                "table" => is_share(TABLE_PERCENT_MIN) || (is_prose && self.is_within(part)),
                "ul" | "ol" | "dl" => is_share(LIST_PERCENT_MIN) || (is_prose && self.is_within(part)),
                _ => false,
            };
            if is_kept {
                self.keep(part);
            }
        }
    }

    /// A heading stands with what follows it.
    fn headings(&mut self) {
        for part in self.outline.elements.iter().rev() {
            let is_heading = matches!(part.name.as_str(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6");
            if !is_heading || part.is_frame || self.all.of(part) == 0 {
                continue;
            }
            let rest = self.outline.leaves.get(part.end..).unwrap_or_default().iter();
            let next = rest.enumerate().find(|(_, leaf)| leaf.chars > 0).map(|(number, _)| part.end + number);
            if next.is_some_and(|next| self.selected.contains(&next)) {
                self.keep(part);
            }
        }
    }

    /// Images between texts that are kept.
    fn images(&mut self) {
        let mut last = false;
        let mut waiting = Vec::new();
        for (place, leaf) in self.outline.leaves.iter().enumerate() {
            if leaf.chars > 0 {
                let is_selected = self.selected.contains(&place);
                if is_selected && last {
                    self.selected.extend(waiting.drain(..));
                }
                waiting.clear();
                last = is_selected;
            } else if !leaf.is_frame {
                waiting.push(place);
            }
        }
    }
}

/// From the first to behind the last leaf of the smallest part that holds nearly everything selected. Of a
/// selection that is strewn over the page it is what lies between the first and the last selected leaf.
fn content_block(outline: &Outline, chosen: &Sums) -> (usize, usize) {
    let all = chosen.all();
    let mut block: Option<&Part> = None;
    for part in
        outline.elements.iter().filter(|part| all > 0 && chosen.of(part) * 100 >= all * BLOCK_PERCENT_MIN)
    {
        block = Some(part);
    }
    let Some(part) = block else { return (0, 0) };
    if !matches!(part.name.as_str(), "html" | "body") {
        return (part.start, part.end);
    }
    let is_chosen = |place: &usize| chosen.between(*place, place + 1) > 0;
    let first = (part.start..part.end).find(is_chosen).unwrap_or(part.start);
    let last = (part.start..part.end).rev().find(is_chosen).unwrap_or(part.start);
    (first, last + 1)
}
