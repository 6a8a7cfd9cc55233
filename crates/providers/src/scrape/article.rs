//! The text of pages that say of themselves that they are articles: what was found of it is all, less the lines that lead
//! to other pages.

use std::collections::HashSet;

use super::outline::Outline;

/// An article is at least so much of what may be content, and less than so much of it is in links.
const FOUND_PERCENT_MIN: usize = 10;
const LINK_PERCENT_MAX: usize = 50;
/// A line as long as a sentence, less than half of it in links.
const SENTENCE_CHARS_MIN: usize = 80;
const SENTENCE_LINK_PERCENT_MAX: usize = 50;
/// A line with so much of it in links leads elsewhere.
const LINK_PERCENT_MIN: usize = 80;

/// Whether what was found is the text of an article, so that all else on the page is headlines of others.
pub(super) fn is_text(outline: &Outline, found: &HashSet<usize>, area: &HashSet<usize>) -> bool {
    let chars = outline.sums(|place, _| found.contains(&place)).all();
    let links = outline.sums(|place, leaf| leaf.is_link && found.contains(&place)).all();
    let offered = outline.sums(|place, _| area.contains(&place)).all();
    outline.is_article && chars * 100 >= offered * FOUND_PERCENT_MIN && links * 100 < chars * LINK_PERCENT_MAX
}

/// The selected leaves of an article without lines that are links, such as `Read more: ...`. Headings stay, and before
/// the last sentence also lists, tables and code.
pub(super) fn leave_out(outline: &Outline, mut selected: HashSet<usize>) -> HashSet<usize> {
    if !outline.is_article {
        return selected;
    }
    let lines = Lines::of(outline, &selected);
    let Some(last) = selected.iter().copied().filter(|place| lines.is_sentence(outline, *place)).max() else {
        return selected;
    };
    let headings = inside(outline, &["h1", "h2", "h3", "h4", "h5", "h6"]);
    let structures = inside(outline, &["ul", "ol", "dl", "table", "pre"]);
    let is_inside = |sums: &[bool], place: usize| sums.get(place).copied().unwrap_or_default();
    selected.retain(|place| {
        let is_kept = is_inside(&headings, *place) || (*place < last && is_inside(&structures, *place));
        is_kept || !lines.is_link(outline, *place)
    });
    selected
}

/// Which leaves are in an element of one of these names.
fn inside(outline: &Outline, names: &[&str]) -> Vec<bool> {
    let mut is_inside = vec![false; outline.leaves.len()];
    let mut end = 0;
    for part in outline.elements.iter().filter(|part| names.contains(&part.name.as_str())) {
        // What is in another one was marked with it.
        if part.end > end {
            is_inside.iter_mut().take(part.end).skip(part.start).for_each(|is_inside| *is_inside = true);
            end = part.end;
        }
    }
    is_inside
}

/// Characters of each line, by the element that begins it: all, and those in links.
struct Lines(Vec<(usize, usize)>);

impl Lines {
    fn of(outline: &Outline, selected: &HashSet<usize>) -> Self {
        let mut lines = vec![(0, 0); outline.elements.len()];
        for leaf in selected.iter().filter_map(|place| outline.leaves.get(*place)) {
            if let Some((chars, links)) = lines.get_mut(leaf.block) {
                *chars += leaf.chars;
                *links += if leaf.is_link { leaf.chars } else { 0 };
            }
        }
        Self(lines)
    }

    /// Nothing for an image.
    fn line(&self, outline: &Outline, place: usize) -> Option<(usize, usize)> {
        let leaf = outline.leaves.get(place).filter(|leaf| leaf.chars > 0)?;
        self.0.get(leaf.block).copied()
    }

    fn is_sentence(&self, outline: &Outline, place: usize) -> bool {
        self.line(outline, place).is_some_and(|(chars, links)| {
            chars >= SENTENCE_CHARS_MIN && links * 100 < chars * SENTENCE_LINK_PERCENT_MAX
        })
    }

    fn is_link(&self, outline: &Outline, place: usize) -> bool {
        self.line(outline, place).is_some_and(|(chars, links)| links * 100 >= chars * LINK_PERCENT_MIN)
    }
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::*;

    const WORDS: &str = "The mill stands by the river, and its wheel has turned since the year in which the monks \
        built it to grind the grain of eleven villages.";

    fn named(html: &str) -> (Html, Outline) {
        let document =
            Html::parse_document(&format!("<meta property=article:published_time content=2026>{html}"));
        let outline = Outline::of(&document);
        (document, outline)
    }

    fn text(document: &Html, outline: &Outline, place: usize) -> String {
        let node = outline.leaves.get(place).and_then(|leaf| document.tree.get(leaf.id));
        node.and_then(|node| node.value().as_text()).map(|text| text.trim().to_owned()).unwrap_or_default()
    }

    #[test]
    fn what_was_found_of_an_article_is_its_text() {
        let check = |html: &str, expected: bool| {
            let (document, outline) = named(html);
            let all: HashSet<usize> = (0..outline.leaves.len()).collect();
            let found = all.iter().copied().filter(|place| text(&document, &outline, *place).contains('+'));
            assert_eq!(is_text(&outline, &found.collect(), &all), expected, "{html}");
            let unnamed = Outline { is_article: false, ..outline };
            assert!(!is_text(&unnamed, &all, &all), "{html}");
        };
        let found = format!("<p>{WORDS}+</p>");
        let headlines = |count: usize| "<p><a href=/a>The mill by the river grinds</a></p>".repeat(count);
        check(&format!("{found}{}", headlines(20)), true);
        // Too little of the page.
        check(&format!("{found}{}", headlines(60)), false);
        check(&format!("{found}<a href=/a>{WORDS}{WORDS}+</a>"), false);
    }

    #[test]
    fn lines_that_lead_elsewhere_are_left_out() {
        let check = |html: &str, expected: &str| {
            let (document, outline) = named(html);
            let all: HashSet<usize> = (0..outline.leaves.len()).collect();
            let left = |selected: HashSet<usize>| {
                let mut places: Vec<usize> = selected.into_iter().collect();
                places.sort_unstable();
                places.iter().map(|place| text(&document, &outline, *place)).collect::<Vec<_>>().join(" ")
            };
            assert_eq!(left(leave_out(&outline, all.clone())), expected, "{html}");
            let unnamed = Outline { is_article: false, ..outline };
            assert_eq!(leave_out(&unnamed, all.clone()), all, "{html}");
        };
        let link = "<a href=/a>The barn by the river burns</a>";
        check(&format!("<p>{WORDS}<p>{link}<p>{WORDS}"), &[WORDS; 2].join(" "));
        check(&format!("<p>{WORDS}<p>More: {link}<p>{WORDS}"), &[WORDS; 2].join(" "));
        check(
            &format!("<p>{WORDS}<p>See how {link} at night<p>{WORDS}"),
            &format!("{WORDS} See how The barn by the river burns at night {WORDS}"),
        );
        for name in ["h2", "li"] {
            let element = if name == "li" {
                format!("<ul><li>{link}</ul>")
            } else {
                format!("<{name}>{link}</{name}>")
            };
            check(
                &format!("<p>{WORDS}</p>{element}<p>{WORDS}"),
                &format!("{WORDS} The barn by the river burns {WORDS}"),
            );
        }
        check(&format!("<p>{WORDS}</p><ul><li>{link}</ul>"), WORDS);
        check(
            &format!("<p>{WORDS}</p><ul><li>Rye</ul><h2>{link}</h2>"),
            &format!("{WORDS} Rye The barn by the river burns"),
        );
        // No sentence, no article.
        check(&format!("<p>{link}"), "The barn by the river burns");
        check("", "");
    }
}
