//! Mends what an extraction tore apart: half a table, a list without its first item, a code block or a card
//! between two paragraphs that were kept.

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

/// The places of the selected leaves, and of those that belong to them. `area` is what may be content at all.
pub(super) fn complete(
    outline: &Outline,
    selected: &HashSet<usize>,
    area: &HashSet<usize>,
) -> HashSet<usize> {
    let mut completion = Completion::new(outline, selected);
    completion.lines();
    completion.structures();
    completion.headings();
    completion.gaps(area);
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

    /// What may be content and stands between texts that are kept.
    fn gaps(&mut self, area: &HashSet<usize>) {
        let (start, end) = content_block(self.outline, &self.chosen());
        let is_inside = |place: &usize| (start..end).contains(place);
        let kept = self.selected.iter().copied().filter(is_inside);
        let Some((first, last)) = kept.clone().min().zip(kept.max()) else { return };
        self.selected.extend(area.iter().copied().filter(|place| (first..last).contains(place)));
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

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::super::area;
    use super::*;

    /// What is kept if the texts with a `+` were selected.
    fn check(html: &str, expected: &str) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let text = |place: &usize| {
            let node = document.tree.get(outline.leaves[*place].id).unwrap();
            node.value().as_text().map(|text| text.trim().to_owned()).unwrap_or_default()
        };
        let selected = (0..outline.leaves.len()).filter(|place| text(place).contains('+')).collect();
        let kept = complete(&outline, &selected, &area::find(&outline));
        let mut kept: Vec<usize> = kept.into_iter().collect();
        kept.sort_unstable();
        let texts: Vec<String> = kept.iter().map(text).collect();
        assert_eq!(texts.join(" "), expected, "{html}");
    }

    #[test]
    fn what_belongs_together_is_kept_together() {
        check("<div><p>a+ <b>b</b></p></div><p>c</p>", "a+ b");
        check("<div><h2>a</h2><p>b+</p><pre>c</pre><p>d+</p></div>", "a b+ c d+");
        check("<table><tr><td>a+<td>b<tr><td>c<td>d</table>", "a+ b c d");
        check("<ul><li>a<li>b+<li>c+</ul><ul><li>d</ul>", "a b+ c+");
    }

    #[test]
    fn what_stands_between_texts_is_kept() {
        let menu =
            "<ul><li><a href=/a>w</a><li><a href=/b>x</a><li><a href=/c>y</a><li><a href=/d>z</a></ul>";
        check(
            &format!(
                "<p>before</p><div><p>a+</p><div>card</div>{menu}<aside>ad</aside><p>b+</p></div><p>after</p>"
            ),
            "a+ card b+",
        );
    }
}
