//! What stands in the content and is not part of it: reviews, comments, buttons, captions, related pages.

use std::collections::HashSet;

use super::boilerplate::{BesideWords, talk_words, weak_words};
use super::outline::Outline;

/// What is more of the content is what the page is made for: the comments of a forum.
const PERCENT_MAX: usize = 30;
/// So much of the content stays in any case.
const LEFT_PERCENT_MIN: usize = 40;

/// The selected leaves without what stands beside the content.
pub(super) fn leave_out(outline: &Outline, mut selected: HashSet<usize>) -> HashSet<usize> {
    // Nesting is limited, so a leaf is in few elements.
    let mut words = vec![BesideWords::MIN; outline.leaves.len()];
    for part in outline.elements.iter().filter(|part| part.beside_words != 0) {
        words.iter_mut().take(part.end).skip(part.start).for_each(|words| *words |= part.beside_words);
    }
    for part in &outline.elements {
        // A heading is named as what it opens and closes, and code as how it is shown.
        let kept = match part.name.as_str() {
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => weak_words(),
            "pre" => BesideWords::MAX,
            _ => continue,
        };
        words.iter_mut().take(part.end).skip(part.start).for_each(|words| *words &= !kept);
    }
    let leaves = outline.leaves.iter().zip(&words).enumerate();
    let leaves: Vec<(usize, BesideWords)> = leaves
        .filter(|(place, _)| selected.contains(place))
        .map(|(_, (leaf, words))| (leaf.chars, *words))
        .collect();
    let all: usize = leaves.iter().map(|(chars, _)| chars).sum();
    let mut chars_by_word = [0_usize; BesideWords::BITS as usize];
    for (chars, words) in leaves.iter().filter(|(_, words)| *words != 0) {
        for (bit, sum) in chars_by_word.iter_mut().enumerate() {
            *sum += if words >> bit & 1 == 1 { *chars } else { 0 };
        }
    }
    let is_beside = |sum: &usize| sum * 100 <= all * PERCENT_MAX;
    let beside =
        chars_by_word.iter().rev().fold(0, |bits, sum| bits << 1 | BesideWords::from(is_beside(sum)));
    let left: usize = leaves.iter().filter(|(_, words)| words & beside == 0).map(|(chars, _)| chars).sum();
    if left * 100 >= all * LEFT_PERCENT_MIN {
        selected.retain(|place| words.get(*place).is_none_or(|words| words & beside == 0));
    }
    selected
}

/// The leaves of comments and reviews in which nothing was found.
pub(super) fn unfound_talk(outline: &Outline, found: &HashSet<usize>) -> HashSet<usize> {
    let talk_words = talk_words();
    let found = outline.sums(|place, _| found.contains(&place));
    let talk = outline.elements.iter().filter(|part| part.beside_words & talk_words != 0);
    talk.filter(|part| found.of(part) == 0).flat_map(|part| part.start..part.end).collect()
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::*;

    fn check(html: &str, expected: &str) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let mut left: Vec<usize> =
            leave_out(&outline, (0..outline.leaves.len()).collect()).into_iter().collect();
        left.sort_unstable();
        let texts = left.iter().filter_map(|place| {
            Some(document.tree.get(outline.leaves.get(*place)?.id)?.value().as_text()?.trim())
        });
        assert_eq!(texts.collect::<Vec<&str>>().join(" "), expected, "{html}");
    }

    #[test]
    fn what_is_beside_the_content_is_left_out() {
        let words = "The mill stands by the river.";
        check(&format!("<p>{words}<p class='b productReviews'>Good!</p><p>{words}"), &[words; 2].join(" "));
        check(&format!("<p>{words}<span id=buy-BUTTON>Buy</span>"), words);
        check(&format!("<p>{words}<p class=buttoned>Buy</p>"), &format!("{words} Buy"));
        // The posts of a forum are its content.
        check(&format!("<h1>Mills</h1><p class=comment>{words}"), &format!("Mills {words}"));
        let few = "<b class=author>Ann</b><b class=caption>Eva</b><b class=share>Bob</b><b class=bar>Kim</b>";
        check(&format!("<p>Mill</p>{few}"), "Mill Ann Eva Bob Kim");
        check(&format!("<h3><b class=button>Where?</b></h3><p>{words}"), &format!("Where? {words}"));
        check(&format!("<p>{words}<div class=reviews><h3>New</h3>Good!</div>"), words);
        check(&format!("<p>{words}<div class=hidden><pre>a</pre>b</div>"), &format!("{words} a"));
        check(&format!("<p>{words}<button>Buy</button><figcaption>Rye</figcaption>"), words);
        check(&format!("<p>{words}<i class=sr-only>New</i><i class='btn-big'>Buy</i>"), words);
        // Of what is hidden in other ways there is too much to leave it out.
        let hidden = "<i class=hidden>Dark rye flour</i>";
        check(
            &format!("<p>{words}<i class=visually-hidden>New</i>{hidden}"),
            &format!("{words} Dark rye flour"),
        );
        check("", "");
    }

    #[test]
    fn names_are_read_as_they_are_meant() {
        let words = "The mill stands by the river.";
        let check_kept = |name: &str| {
            check(&format!("<p>{words}<i class='{name}'>Rye</i>"), &format!("{words} Rye"));
        };
        for name in ["overflow-hidden", "overflow-x-hidden", "rating__caption", "only-sr"] {
            check_kept(name);
        }
        check(&format!("<p>{words}<i class='overflow-hidden hidden'>Rye</i>"), words);
        check(&format!("<p>{words}<i class='rating caption'>Rye</i>"), words);
    }

    #[test]
    fn talk_of_which_nothing_was_found_is_known() {
        let html = "<p>Mill</p><ol class=comments><li class=comment>A</li></ol>\
            <div class=review>B<b>C</b></div><p>D</p>";
        let outline = Outline::of(&Html::parse_document(html));
        for (found, expected) in [(vec![], vec![1, 2, 3]), (vec![0, 2], vec![1]), (vec![0, 1, 3], vec![])] {
            let mut talk: Vec<usize> =
                unfound_talk(&outline, &found.iter().copied().collect()).into_iter().collect();
            talk.sort_unstable();
            assert_eq!(talk, expected, "{found:?}");
        }
    }
}
