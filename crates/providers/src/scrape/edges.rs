//! Where the content begins and ends: in the part that the page calls its main one, and with the last of an article's
//! sentences.

use std::collections::HashSet;

use super::area;
use super::outline::{Outline, Part};

/// What is outside the main part is no content if so much of what was found is inside.
const INSIDE_PERCENT_MIN: usize = 50;
/// Less than this inside of a main part with so much to read, and what was found is a notice, such as one about
/// cookies. Longer texts are articles, wherever they are.
const MISSED_PERCENT_MAX: usize = 10;
const MAIN_CHARS_MIN: usize = 200;
const NOTICE_CHARS_MAX: usize = 4_000;
/// An article is so long, so much of it is in lines as long as a sentence, and so many of these are in one element.
const ARTICLE_CHARS_MIN: usize = 2_000;
const SENTENCE_CHARS_MIN: usize = 80;
const SENTENCES_PERCENT_MIN: usize = 60;
const BODY_PERCENT_MIN: usize = 90;

/// What may be content in the main part, if that has the title and next to nothing of what was found.
pub(super) fn missed_main(
    outline: &Outline,
    found: &HashSet<usize>,
    area: &HashSet<usize>,
) -> Option<HashSet<usize>> {
    let main = area::main_part(outline)?;
    let mut inside = outline.elements.iter().filter(|part| part.start >= main.start && part.end <= main.end);
    let has_title = inside.any(|part| part.name == "h1" && part.end > part.start);
    let chars = outline.sums(|place, _| found.contains(&place));
    let is_missed = chars.of(main) * 100 < chars.all() * MISSED_PERCENT_MAX;
    let offered = outline.sums(|place, _| area.contains(&place)).of(main);
    let is_better = has_title && is_missed && chars.all() < NOTICE_CHARS_MAX && offered >= MAIN_CHARS_MIN;
    is_better.then(|| area.iter().copied().filter(|place| (main.start..main.end).contains(place)).collect())
}

/// The selected leaves without those outside the main part, and without those behind an article: about its author,
/// more articles, offers.
pub(super) fn leave_out(outline: &Outline, mut selected: HashSet<usize>) -> HashSet<usize> {
    let chars = outline.sums(|place, _| selected.contains(&place));
    if let Some(main) = area::main_part(outline)
        && chars.of(main) * 100 >= chars.all() * INSIDE_PERCENT_MIN
    {
        selected.retain(|place| (main.start..main.end).contains(place));
    }
    if let Some(body) = body(outline, &selected) {
        selected.retain(|place| *place < body.end);
    }
    selected
}

/// The smallest element that holds nearly all of the sentences of an article.
fn body<'a>(outline: &'a Outline, selected: &HashSet<usize>) -> Option<&'a Part> {
    let all = outline.sums(|place, _| selected.contains(&place)).all();
    let mut lines = vec![0_usize; outline.elements.len()];
    for (_, leaf) in outline.leaves.iter().enumerate().filter(|(place, _)| selected.contains(place)) {
        lines.get_mut(leaf.block).into_iter().for_each(|chars| *chars += leaf.chars);
    }
    let is_long = |block: usize| lines.get(block).is_some_and(|chars| *chars >= SENTENCE_CHARS_MIN);
    let sentences =
        outline.sums(|place, leaf| !leaf.is_link && is_long(leaf.block) && selected.contains(&place));
    if all < ARTICLE_CHARS_MIN || sentences.all() * 100 < all * SENTENCES_PERCENT_MIN {
        return None;
    }
    let holds_most = |part: &&Part| sentences.of(part) * 100 >= sentences.all() * BODY_PERCENT_MIN;
    outline.elements.iter().rfind(holds_most)
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::*;

    const WORDS: &str = "The mill stands by the river, and its wheel has turned since the year in which the monks \
        built it to grind the grain of eleven villages.";

    fn texts(document: &Html, outline: &Outline, places: HashSet<usize>) -> String {
        let mut places: Vec<usize> = places.into_iter().collect();
        places.sort_unstable();
        let text = |place: &usize| {
            Some(document.tree.get(outline.leaves.get(*place)?.id)?.value().as_text()?.trim())
        };
        places.iter().filter_map(text).collect::<Vec<_>>().join(" ")
    }

    /// What is left of all texts.
    fn check_left(html: &str, expected: &str) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let left = leave_out(&outline, (0..outline.leaves.len()).collect());
        assert_eq!(texts(&document, &outline, left), expected, "{html}");
    }

    #[test]
    fn what_is_outside_the_main_part_is_left_out() {
        check_left("<p>Sale<main><h1>Rye</h1><p>Dark flour</main><p>Beside", "Rye Dark flour");
        check_left("<p>Sale<div role=main>Rye flour</div>", "Rye flour");
        check_left("<main>Rye</main><p>The flour of the mill", "Rye The flour of the mill");
        check_left("<p>Rye", "Rye");
        check_left("", "");
    }

    #[test]
    fn what_follows_an_article_is_left_out() {
        let page = |count: usize, end: &str| {
            let article =
                [WORDS; 30].map(|words| format!("<p>{words}")).get(..count).unwrap_or_default().concat();
            format!("<h1>Mills</h1><div>{article}</div>{end}")
        };
        let words = |count: usize| format!("Mills {}", vec![WORDS; count].join(" "));
        let ends = [
            ("<p>About Ann".to_owned(), "About Ann".to_owned()),
            (format!("<h2>More</h2><p><a href=/a>{WORDS}</a>"), format!("More {WORDS}")),
            (format!("<p>{WORDS}"), WORDS.to_owned()),
        ];
        for (end, text) in ends {
            check_left(&page(25, &end), &words(25));
            // Too short for an article.
            check_left(&page(9, &end), &format!("{} {text}", words(9)));
        }
        // Too much of it is elsewhere.
        let rest = format!("<p>{WORDS}").repeat(4);
        check_left(&page(25, &rest), &words(29));
        // Cards are no sentences.
        let cards = "<div>Rye flour of the mill</div>".repeat(140);
        let all = vec!["Rye flour of the mill"; 140].join(" ");
        check_left(&page(25, &cards), &format!("{} {all}", words(25)));
    }

    #[test]
    fn a_notice_is_no_content_beside_a_main_part_with_the_title() {
        let check = |html: &str, expected: Option<&str>| {
            let document = Html::parse_document(html);
            let outline = Outline::of(&document);
            let text = |place: &usize| texts(&document, &outline, HashSet::from([*place]));
            let found = (0..outline.leaves.len()).filter(|place| text(place).contains('+')).collect();
            let area = area::find(&outline);
            let main = missed_main(&outline, &found, &area).map(|main| texts(&document, &outline, main));
            assert_eq!(main.as_deref(), expected, "{html}");
        };
        let notice = format!("<p>We ship to eleven villages+</p><p>{WORDS}+</p>");
        let inside = format!("<p>{WORDS}</p>").repeat(2);
        let main = format!("<main><h1>Rye</h1>{inside}</main>");
        check(&format!("{notice}{main}"), Some(&format!("Rye {WORDS} {WORDS}")));
        check(&format!("{notice}<h1>Rye</h1><main>{inside}</main>"), None);
        check(&format!("{notice}<main><h1>Rye</h1></main>"), None);
        check(&format!("{}{main}", notice.repeat(40)), None);
        check(&format!("{notice}<main><h1>Rye</h1>{inside}{WORDS}+</main>"), None);
        check(&format!("{notice}<h1>Rye</h1>{inside}"), None);
    }
}
