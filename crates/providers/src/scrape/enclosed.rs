//! What frames a part of the content and not the page: the header of a section, and what shows after a click.

use std::collections::HashSet;

use super::boilerplate::Hidden;
use super::outline::{Outline, Part, Sums};

/// Words that are hidden between others are content if there are so many, most of them in texts as long as a sentence,
/// and few of them in links. Else they are a menu, a dialog or a form.
const HIDDEN_CHARS_MIN: usize = 100;
const SENTENCE_CHARS_MIN: usize = 80;
const SENTENCE_PERCENT_MIN: usize = 50;
const HIDDEN_LINK_PERCENT_MAX: usize = 20;
/// What folds open by its name may have so much in links.
const FOLD_LINK_PERCENT_MAX: usize = 50;

/// The leaves of such parts in what was chosen, or of what folds open anywhere.
pub(super) fn find(outline: &Outline, chosen: &HashSet<usize>) -> HashSet<usize> {
    let (Some(first), Some(last)) = (chosen.iter().min(), chosen.iter().max()) else { return HashSet::new() };
    let counts = Counts::of(outline);
    let (mut found, mut frame_end, mut extra_end) = (HashSet::new(), 0, 0);
    for (place, part) in outline.elements.iter().enumerate() {
        extra_end = if part.is_extra { part.last.max(extra_end) } else { extra_end };
        if place < frame_end || !part.is_frame {
            continue;
        }
        // What is in a frame belongs to it.
        frame_end = part.last;
        let is_inside = (*first..=*last).contains(&part.start);
        let is_content = match part.name.as_str() {
            "header" => is_inside && opens_section(outline, place, part),
            "nav" | "footer" | "aside" | "dialog" => false,
            _ => counts.folds_open(part) || (is_inside && counts.is_hidden_prose(part)),
        };
        if is_content && place >= extra_end {
            found.extend(words_of(outline, place, part));
        }
    }
    found
}

/// Whether a header has a heading, and not that of the page.
fn opens_section(outline: &Outline, place: usize, part: &Part) -> bool {
    let inside = outline.elements.get(place..part.last).unwrap_or_default().iter();
    let mut headings = inside.filter(|part| {
        part.end > part.start && matches!(part.name.as_str(), "h1" | "h2" | "h3" | "h4" | "h5" | "h6")
    });
    headings.next().is_some_and(|first| first.name != "h1") && headings.all(|heading| heading.name != "h1")
}

/// The texts and images of a part, but for what frames it in turn and what is pressed or filled in.
fn words_of(outline: &Outline, place: usize, part: &Part) -> Vec<usize> {
    let inside = outline.elements.get(place + 1..part.last).unwrap_or_default().iter();
    let framing =
        inside.filter(|part| part.is_extra || matches!(part.name.as_str(), "nav" | "aside" | "footer"));
    let left_out: HashSet<usize> = framing.flat_map(|part| part.start..part.end).collect();
    let is_control = |place: usize| outline.leaves.get(place).is_none_or(|leaf| leaf.is_control);
    (part.start..part.end).filter(|place| !left_out.contains(place) && !is_control(*place)).collect()
}

/// Characters by leaf, for parts that are hidden at first.
struct Counts {
    all: Sums,
    links: Sums,
    sentences: Sums,
}

impl Counts {
    fn of(outline: &Outline) -> Self {
        Self {
            all: outline.sums(|_, _| true),
            links: outline.sums(|_, leaf| leaf.is_link),
            sentences: outline.sums(|_, leaf| leaf.chars > SENTENCE_CHARS_MIN),
        }
    }

    fn is_hidden_prose(&self, part: &Part) -> bool {
        let all = self.all.of(part);
        part.hidden.is_some()
            && all > HIDDEN_CHARS_MIN
            && self.sentences.of(part) * 100 > all * SENTENCE_PERCENT_MIN
            && self.links.of(part) * 100 < all * HIDDEN_LINK_PERCENT_MAX
    }

    fn folds_open(&self, part: &Part) -> bool {
        part.hidden == Some(Hidden::Folded)
            && self.links.of(part) * 100 <= self.all.of(part) * FOLD_LINK_PERCENT_MAX
    }
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::*;

    /// What is found if the texts with a `+` were chosen.
    fn check(html: &str, expected: &str) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let text = |place: &usize| {
            let node = document.tree.get(outline.leaves[*place].id).unwrap();
            node.value().as_text().map(|text| text.trim().to_owned()).unwrap_or_default()
        };
        let chosen = (0..outline.leaves.len()).filter(|place| text(place).contains('+')).collect();
        let mut found: Vec<usize> = find(&outline, &chosen).into_iter().collect();
        found.sort_unstable();
        assert_eq!(found.iter().map(text).collect::<Vec<_>>().join(" "), expected, "{html}");
    }

    #[test]
    fn the_header_of_a_section_is_content() {
        let section =
            "<section><header><h2>Rye</h2><p>Dark</p><nav>a</nav><button>Buy</button></header><p>b+</p>";
        check(&format!("<p>a+</p>{section}"), "Rye Dark");
        check("<header><h2>Mill</h2></header><p>a+</p><p>b+</p>", "");
        check("<p>a+</p><header><h1>Mill</h1></header><p>b+</p>", "");
        check("<p>a+</p><header>Mill</header><footer><h2>Mill</h2></footer><p>b+</p>", "");
        check("<p>a+</p><nav><header><h2>Mill</h2></header></nav><p>b+</p>", "");
        check(&format!("<p>a+</p><div class=cart>{section}</div>"), "");
    }

    #[test]
    fn what_shows_after_a_click_is_content() {
        let words = "The mill stands by the river, and its wheel has turned since the year in which the monks built \
            it to grind the grain of eleven villages.";
        check(&format!("<p>a+</p><div hidden>{words}</div><p>b+</p>"), words);
        check(&format!("<p>a+</p><div aria-hidden=true>{words}</div><p>b+</p>"), words);
        check(&format!("<p>a+</p><div hidden>{words}</div>"), "");
        check("<p>a+</p><div hidden>Sign in</div><p>b+</p>", "");
        check(&format!("<p>a+</p><div hidden><a href=/a>{words}</a></div><p>b+</p>"), "");
        check("<p>a+</p><div class='item Accordion-panel' hidden>Rye</div>", "Rye");
        check("<p>a+</p><div class=accordion hidden><a href=/a>Rye</a></div>", "");
        check("<p>a+</p><div class=accordion>Rye</div>", "");
        check("<p>a+</p><nav class=accordion hidden>Rye</nav>", "");
        check("<div hidden>Rye</div>", "");
    }
}
