//! Threads: pages that people wrote in turns, such as a forum's topics, or a question with its answers.
//!
//! The software of a forum names each of its posts, and also what it puts around their words: who wrote it, how many
//! posts that person has, signatures, votes, buttons, and quotes of posts above.

use std::collections::{BTreeMap, HashSet};

use super::outline::{Outline, Part, Sums};

const POSTS_MIN: usize = 2;
/// The posts of a thread have so much of what may be content, and of what was found. An article has more above its
/// comments.
const POSTS_PERCENT_MIN: usize = 50;
/// A post with more of the words of all is an article, and the others are teasers.
const LONGEST_PERCENT_MAX: usize = 90;
/// Posts with more of their words in links are headlines.
const LINK_PERCENT_MAX: usize = 33;
/// So much of a thread is left without what stands around the words of its posts.
const LEFT_PERCENT_MIN: usize = 20;
/// The title is one of the last texts before the first post.
const TITLE_TEXTS: usize = 8;

/// The title and the posts, if the page is a thread. `selected` is what was found to be content, and `area` what may
/// be.
pub(super) fn find(
    outline: &Outline,
    selected: &HashSet<usize>,
    area: &HashSet<usize>,
) -> Option<HashSet<usize>> {
    let in_area = outline.sums(|place, _| area.contains(&place));
    let found = outline.sums(|place, _| selected.contains(&place));
    let mut families: BTreeMap<&str, Posts<'_>> = BTreeMap::new();
    for (place, part) in outline.elements.iter().enumerate().filter(|(_, part)| !part.is_frame) {
        for name in &part.in_thread.post_names {
            let posts = families.entry(name).or_default();
            // A post inside another one is part of it.
            if place >= posts.end {
                posts.end = part.last;
                posts.chars += in_area.of(part);
                posts.parts.push(part);
            }
        }
    }
    let families = families.into_values().filter(|posts| posts.parts.len() >= POSTS_MIN);
    let posts = families.max_by_key(|posts| posts.chars)?;
    let links = outline.sums(|place, leaf| leaf.is_link && area.contains(&place));
    let longest = posts.parts.iter().map(|part| in_area.of(part)).max()?;
    let is_thread = posts.chars > 0
        && posts.chars * 100 >= in_area.all() * POSTS_PERCENT_MIN
        && posts.count(&found) * 100 >= found.all() * POSTS_PERCENT_MIN
        && posts.count(&links) * 100 <= posts.chars * LINK_PERCENT_MAX
        && longest * 100 <= posts.chars * LONGEST_PERCENT_MAX;
    if !is_thread {
        return None;
    }
    let first = posts.parts.first()?.start;
    let title = selected.iter().copied().filter(|place| *place < first && first - place < TITLE_TEXTS);
    let places = posts.parts.iter().flat_map(|part| part.start..part.end);
    let thread = title.chain(places.filter(|place| area.contains(place))).collect();
    Some(without_furniture(outline, thread))
}

/// The elements of one name that are not inside one another.
#[derive(Default)]
struct Posts<'a> {
    parts: Vec<&'a Part>,
    chars: usize,
    /// The first element behind the last one.
    end: usize,
}

impl Posts<'_> {
    fn count(&self, sums: &Sums) -> usize {
        self.parts.iter().map(|part| sums.of(part)).sum()
    }
}

fn without_furniture(outline: &Outline, thread: HashSet<usize>) -> HashSet<usize> {
    let mut is_dropped = vec![false; outline.leaves.len()];
    let mut end = 0;
    // What is inside was dropped with what is around it.
    for part in outline.elements.iter().filter(|part| part.in_thread.is_furniture) {
        if part.end > end {
            is_dropped.iter_mut().take(part.end).skip(part.start).for_each(|is_dropped| *is_dropped = true);
            end = part.end;
        }
    }
    let is_left = |place: usize| thread.contains(&place) && is_dropped.get(place) == Some(&false);
    let all = outline.sums(|place, _| thread.contains(&place)).all();
    if outline.sums(|place, _| is_left(place)).all() * 100 < all * LEFT_PERCENT_MIN {
        return thread;
    }
    thread.iter().copied().filter(|place| is_left(*place)).collect()
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::super::area;
    use super::*;

    const WORDS: &str = "The wheel of our mill turns, but the stones do not.";

    /// What is kept if the texts with a `+` were found.
    fn check(html: &str, expected: Option<&str>) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let text = |place: &usize| {
            let node = document.tree.get(outline.leaves[*place].id).unwrap();
            node.value().as_text().map(|text| text.trim().to_owned()).unwrap_or_default()
        };
        let selected = (0..outline.leaves.len()).filter(|place| text(place).contains('+')).collect();
        let thread = find(&outline, &selected, &area::find(&outline)).map(|thread| {
            let mut thread: Vec<usize> = thread.into_iter().collect();
            thread.sort_unstable();
            thread.iter().map(text).collect::<Vec<String>>().join(" ")
        });
        assert_eq!(thread.as_deref(), expected, "{html}");
    }

    #[test]
    fn a_thread_is_its_posts() {
        let post = |words: &str| {
            format!(
                "<div class='b forumPost'><div class=Message-User>Ann, miller</div><p>{words}</p>\
                <div class='post'>{WORDS}+</div><i class=signature>Grind!</i></div>"
            )
        };
        check(
            &format!("<p>Beside<h1>Stones+</h1>{}{}<p>More topics", post("A+"), post("B")),
            Some(&format!("Stones+ A+ {WORDS}+ B {WORDS}+")),
        );
        // Nothing else would be left.
        let signatures =
            "<div class=post><p class=signature>The mill stands by the river+</p>a</div>".repeat(2);
        check(&signatures, Some("The mill stands by the river+ a The mill stands by the river+ a"));
    }

    #[test]
    fn an_article_with_comments_is_no_thread() {
        let comments = format!("<div class=comment>{WORDS}</div>").repeat(9);
        check(&format!("<article>{WORDS}+</article>{comments}"), None);
        check(&format!("<div class=post>{WORDS}+</div>"), None);
        check(&format!("<p>{}</p><div class=post>a+</div><div class=post>b+</div>", WORDS.repeat(9)), None);
        check("<div class=post></div><div class=post></div>", None);
        let teaser = "<div class=post>Next: the river+</div>";
        check(&format!("<div class=post>{}+</div>{teaser}", WORDS.repeat(9)), None);
        check(&"<div class=post-card><a href=/a>The mill+</a> by Ann</div>".repeat(9), None);
        check("", None);
    }
}
