//! The part of a page that it was made for.
//!
//! trafilatura says which words that is, and its answer is used for nothing else: every text of the page
//! carries a mark (a character of Unicode's private planes), so that the answer names the texts that are
//! kept, and the page itself says what is a heading, a list, a table, code or a link among them.

use std::collections::HashSet;

use scraper::node::Text;
use scraper::{Html, Node};
use trafilatura::{ExtractionFocus, Options};
use url::Url;

use super::kept_nodes::KeptNodes;
use super::outline::{Leaf, Outline};
use super::{area, article, beside, completion, edges, enclosed, repeated, thread};

/// What trafilatura is sure of counts if it is at least so much of the content.
const SURE_PERCENT_MIN: usize = 85;
/// A longer page is asked once only: it takes seconds each time.
const SURE_BYTES_MAX: usize = 1024 * 1024;
/// An index of other pages has so much text, and so much of it in links.
const INDEX_CHARS_MIN: usize = 1_000;
const INDEX_LINK_PERCENT_MIN: usize = 60;
/// Content with so much of it in links is a list of cards, headlines or services.
const LIST_LINK_PERCENT_MIN: usize = 20;
/// Content with less of it in texts as long as a sentence is made of cards, each of which counts: so much of it is
/// only a part.
const SENTENCE_CHARS_MIN: usize = 80;
const CARDS_SENTENCE_PERCENT_MAX: usize = 45;
const PART_PERCENT_MAX: usize = 60;
/// So much above comments is an article. The question of a thread is shorter.
const ARTICLE_CHARS_MIN: usize = 4_000;
/// Less than this is hardly the content of a page that has more to offer.
const CONTENT_CHARS_MIN: usize = 200;

/// What a page is about.
pub(super) enum MainContent {
    /// These parts of the page itself.
    KeptNodes(KeptNodes),
    /// Text that the page holds as data for programs, and does not show.
    Elsewhere(Html),
}

/// Finds the main content. The document is the same afterwards, but for private characters in its texts.
///
/// Measured best on articles and on mixed pages: trafilatura, with its own fallbacks. It is asked twice,
/// for the page's content and for what of that it is sure of: where the two hardly differ, the difference
/// is captions and teasers. What it skips between the first and the last text that it finds is kept as well
/// (cards, posts, sections). Where it finds next to nothing, much of it in links, or some of many cards,
/// everything inside the page's frame says more; of a thread, its posts do. What the page itself names as reviews,
/// comments or buttons is left out of all this, and so is what is outside its main part or follows an article. Of a page
/// that says of itself that it is an article, what was found is all, less the lines that lead elsewhere.
pub(super) fn find(document: &mut Html, base: &Url) -> MainContent {
    let outline = Outline::of(document);
    let marks = Marks::new(outline.leaves.len());
    for (place, leaf) in outline.leaves.iter().enumerate() {
        set_text(document, leaf.id, Some(marks.mark(place)));
    }
    let marked = document.html();
    for leaf in &outline.leaves {
        set_text(document, leaf.id, None);
    }
    let found = |focus: ExtractionFocus| {
        let options = Options::default().with_fallback(true).with_focus(focus).with_url(base.clone());
        trafilatura::extract(&marked, &options).map(|found| found.content_html).unwrap_or_default()
    };
    let html = found(ExtractionFocus::Balanced);
    let balanced = marks.read(&html);
    let chars_of = |selected: &HashSet<usize>| outline.sums(|place, _| selected.contains(&place)).all();
    let chars = chars_of(&balanced);
    if chars < CONTENT_CHARS_MIN
        && let Some(other) = elsewhere(&html, chars)
    {
        return MainContent::Elsewhere(other);
    }
    let area = area::find(&outline);
    let selected = if chars < CONTENT_CHARS_MIN && chars_of(&area) * 2 > chars {
        // Of so little trafilatura keeps the words and not their order on the page.
        area.clone()
    } else if marked.len() > SURE_BYTES_MAX || chars < CONTENT_CHARS_MIN {
        balanced
    } else {
        let sure = marks.read(&found(ExtractionFocus::FavorPrecision));
        if chars_of(&sure) * 100 >= chars * SURE_PERCENT_MIN { sure } else { balanced }
    };
    let selected = edges::missed_main(&outline, &selected, &area).unwrap_or(selected);
    let completed = completion::complete(&outline, &selected, &area);
    let selected = beside::leave_out(&outline, choose(&outline, &selected, &completed, &area));
    let selected = edges::leave_out(&outline, repeated::leave_out(&outline, selected));
    let selected = article::leave_out(&outline, selected);
    let leaves = outline.leaves.iter().enumerate().filter(|(place, _)| selected.contains(place));
    MainContent::KeptNodes(KeptNodes::with(document, leaves.map(|(_, leaf)| leaf.id)))
}

/// What was found and completed, or what says more on a page that is no article. Comments and reviews are content if
/// some of them were found, or in a thread.
fn choose(
    outline: &Outline,
    found: &HashSet<usize>,
    completed: &HashSet<usize>,
    area: &HashSet<usize>,
) -> HashSet<usize> {
    let talk = beside::unfound_talk(outline, found);
    let selected = completed - &talk;
    let is_article = outline.sums(|place, _| found.contains(&place)).all() >= ARTICLE_CHARS_MIN;
    let in_thread = if is_article { &selected } else { completed };
    if let Some(thread) = thread::find(outline, in_thread, area) {
        return thread;
    }
    let mut chosen = if article::is_text(outline, found, area) {
        selected
    } else {
        list_or_text(outline, selected, area - &talk)
    };
    let enclosed = enclosed::find(outline, &chosen);
    chosen.extend(enclosed.difference(&talk));
    chosen
}

/// What was selected, or everything inside the frame where that says more.
fn list_or_text(outline: &Outline, mut selected: HashSet<usize>, area: HashSet<usize>) -> HashSet<usize> {
    if is_index(outline) {
        let leaves = outline.leaves.iter().enumerate().filter(|(_, leaf)| !leaf.is_frame);
        selected.extend(leaves.map(|(place, _)| place));
        return selected;
    }
    let chars = outline.sums(|place, _| selected.contains(&place)).all();
    let links = outline.sums(|place, leaf| leaf.is_link && selected.contains(&place)).all();
    let chars_inside = outline.sums(|place, _| area.contains(&place)).all();
    let is_long = |leaf: &Leaf| leaf.chars > SENTENCE_CHARS_MIN;
    let sentences = outline.sums(|place, leaf| is_long(leaf) && area.contains(&place)).all();
    let is_list = links * 100 >= chars * LIST_LINK_PERCENT_MIN;
    let is_part = chars * 100 < chars_inside * PART_PERCENT_MAX;
    let is_cards = sentences * 100 < chars_inside * CARDS_SENTENCE_PERCENT_MAX;
    if chars_inside >= CONTENT_CHARS_MIN && (is_list || (is_part && is_cards)) { area } else { selected }
}

/// Whether a page is made to lead elsewhere, so that its links are its content.
fn is_index(outline: &Outline) -> bool {
    let shown = outline.sums(|_, leaf| !leaf.is_frame).all();
    let links = outline.sums(|_, leaf| !leaf.is_frame && leaf.is_link).all();
    shown >= INDEX_CHARS_MIN && links * 100 >= shown * INDEX_LINK_PERCENT_MIN
}

/// What was found, if hardly a word of it is shown on the page.
fn elsewhere(html: &str, chars_shown: usize) -> Option<Html> {
    let document = Html::parse_fragment(html);
    let texts = document.root_element().text();
    let chars = texts.flat_map(str::chars).filter(|letter| !letter.is_whitespace()).count();
    (chars >= CONTENT_CHARS_MIN && chars > chars_shown * 4).then_some(document)
}

/// Puts a mark before a text, or takes all marks away.
fn set_text(document: &mut Html, id: ego_tree::NodeId, mark: Option<char>) {
    let Some(mut node) = document.tree.get_mut(id) else { return };
    if let Node::Text(Text { text }) = node.value() {
        let words = text.chars().filter(|letter| u32::from(*letter) < FIRST);
        *text = mark.into_iter().chain(words).collect::<String>().into();
    }
}

const FIRST: u32 = 0xf_0000;
/// Two planes, less the two last characters of each.
const PLANE: usize = 0xfffe;
const SECOND: u32 = 0x10_0000;

/// Which mark stands for which texts. A page with more texts than marks has one for several in a row.
struct Marks {
    texts: usize,
    stride: usize,
}

impl Marks {
    fn new(texts: usize) -> Self {
        Self { texts, stride: texts.div_ceil(2 * PLANE).max(1) }
    }

    fn mark(&self, place: usize) -> char {
        let number = place / self.stride;
        let (first, number) = if number < PLANE { (FIRST, number) } else { (SECOND, number - PLANE) };
        u32::try_from(number).ok().and_then(|number| char::from_u32(first + number)).unwrap_or(' ')
    }

    /// The texts whose marks are there.
    fn read(&self, html: &str) -> HashSet<usize> {
        let mut found = HashSet::new();
        for letter in html.chars().map(u32::from).filter(|letter| *letter >= FIRST) {
            let number = if letter < SECOND { letter - FIRST } else { letter - SECOND + 0xfffe };
            let first = usize::try_from(number).unwrap_or(usize::MAX).saturating_mul(self.stride);
            found.extend((first..first.saturating_add(self.stride)).filter(|place| *place < self.texts));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_is_kept_whole() {
        let links = "<p><a href=/a>Rye</a> <a href=/b>Wheat</a></p>".repeat(150);
        let words = "<p>The mill stands by the river.</p>".repeat(50);
        for (html, expected) in [
            (links.clone(), true),
            (format!("{links}{words}"), false),
            (format!("<nav>{links}</nav>"), false),
            ("<p><a href=/a>Rye</a></p>".to_owned(), false),
        ] {
            assert_eq!(is_index(&Outline::of(&Html::parse_document(&html))), expected, "{html}");
        }
        let menu =
            "<ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/c>C</a><li><a href=/d>D</a></ul>";
        let mut document = Html::parse_document(&format!("<h1>Mills</h1>{links}{menu}"));
        let MainContent::KeptNodes(kept) = find(&mut document, &Url::parse("https://example.com/").unwrap())
        else {
            panic!("the page shows its links");
        };
        let texts =
            document.tree.nodes().filter(|node| node.value().is_text() && kept.has(node.id())).count();
        assert_eq!(texts, 1 + 300 + 4);
    }

    #[test]
    fn the_main_part_counts_and_not_what_is_around_it() {
        let check = |html: &str, expected: &str| {
            let mut document = Html::parse_document(html);
            let MainContent::KeptNodes(kept) =
                find(&mut document, &Url::parse("https://example.com/").unwrap())
            else {
                panic!("the page shows its words");
            };
            let nodes = document.tree.nodes().filter(|node| kept.has(node.id()));
            let texts: Vec<&str> = nodes.filter_map(|node| Some(&**node.value().as_text()?)).collect();
            assert_eq!(texts.concat(), expected, "{html}");
        };
        let lines = |words: &str, count: usize| -> Vec<String> {
            (0..count).map(|number| words.replace('#', &number.to_string())).collect()
        };
        let blocks = |name: &str, lines: &[String]| {
            let inside = lines.join(&format!("</{name}><{name}>"));
            format!("<{name}>{inside}</{name}>")
        };
        let words = "The mill # stands by the river, and its wheel has turned since the year in which the monks built \
            it to grind the grain of eleven villages.";
        let article = lines(words, 30);
        let about =
            "<p>About Ann</p><p>She lives by the river, and writes about mills and the people in them.</p>";
        check(&format!("<div>{}</div>{about}", blocks("p", &article)), &article.concat());
        let notice = lines(
            "We ship flour to village #, and each order that comes before noon leaves the mill on the same day, by cart.",
            12,
        );
        let main = lines("Flour of rye, kind #", 14);
        let html =
            format!("<div>{}</div><main><h1>Rye</h1>{}</main>", blocks("p", &notice), blocks("div", &main));
        check(&html, &format!("Rye{}", main.concat()));
    }

    /// Whether everything inside the frame is chosen if the texts with a `+` were found.
    fn check_choice(html: &str, is_area: bool) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let text = |leaf: &Leaf| document.tree.get(leaf.id).and_then(|node| node.value().as_text());
        let leaves = outline.leaves.iter().enumerate();
        let is_found = |leaf: &Leaf| text(leaf).is_some_and(|text| text.contains('+'));
        let selected: HashSet<usize> =
            leaves.filter(|(_, leaf)| is_found(leaf)).map(|(place, _)| place).collect();
        let area = area::find(&outline);
        let expected = if is_area { area.clone() } else { selected.clone() };
        assert!(area != selected, "{html}");
        assert_eq!(choose(&outline, &selected, &selected, &area), expected, "{html}");
    }

    #[test]
    fn lists_and_cards_are_kept_whole() {
        let words = "The mill stands by the river, and its wheel has turned since the year in which the monks \
            built it to grind the grain of eleven villages.";
        let (found, other) = (format!("<p>{words}+</p>").repeat(2), format!("<p>{words}</p>").repeat(4));
        check_choice(&format!("{found}{other}"), false);
        let links = "<p><a href=/rye>Rye flour of the mill+</a> by Ann</p>".repeat(4);
        check_choice(&format!("{found}{links}{other}"), true);
        let cards = "<div><h3>Rye flour</h3><p>Ground at night</p></div>".repeat(40);
        check_choice(&format!("{found}{cards}"), true);
        let most = found.repeat(9);
        check_choice(&format!("{most}{cards}"), false);
        check_choice("<p><a href=/a>A+</a></p><p>B</p>", false);
    }

    #[test]
    fn comments_are_left_out_of_an_article_and_not_of_a_thread() {
        let words = "The wheel of our mill turns, but its stones do not, and nobody knows why. ";
        let comments = format!("<div class=comment>{words}</div>").repeat(90);
        for (count, has_comments) in [(9, true), (90, false)] {
            let html = format!("<p>{}</p>{comments}", words.repeat(count));
            let outline = Outline::of(&Html::parse_document(&html));
            let all: HashSet<usize> = (0..outline.leaves.len()).collect();
            let chosen = choose(&outline, &HashSet::from([0]), &all, &all);
            assert_eq!(chosen.contains(&1), has_comments, "{count}");
        }
        // The links make a list of it, of which the comments are no part.
        let links = "<p><a href=/rye>Rye flour of the mill</a></p>".repeat(9);
        let html = format!("<p>{}</p>{links}<div class=comment>{words}</div>", words.repeat(9));
        let outline = Outline::of(&Html::parse_document(&html));
        let all: HashSet<usize> = (0..outline.leaves.len()).collect();
        let found: HashSet<usize> = (0..10).collect();
        assert_eq!(choose(&outline, &found, &all, &all), found);
    }

    #[test]
    fn a_short_article_is_no_index_of_the_headlines_around_it() {
        let words = "<p>The mill stands by the river, and its wheel turns all day and grinds the grain.</p>"
            .repeat(4);
        let headlines = "<p><a href=/a>Rye</a> <a href=/b>Wheat</a></p>".repeat(150);
        let named = "<meta property=article:published_time content=2026-01-01>";
        for (sign, is_alone) in [(named, true), ("", false)] {
            let outline = Outline::of(&Html::parse_document(&format!("{sign}{words}{headlines}")));
            let (found, all) = ((0..4).collect(), (0..outline.leaves.len()).collect());
            let chosen = choose(&outline, &found, &found, &all);
            assert_eq!(chosen, if is_alone { found } else { all }, "{sign}");
        }
    }

    #[test]
    fn marks_are_read_as_they_were_made() {
        for texts in [1, 5, PLANE + 3, 2 * PLANE + 7, 1_000_000] {
            let marks = Marks::new(texts);
            for place in [0, texts / 2, texts - 1] {
                let found = marks.read(&format!("<p>a{}b</p>", marks.mark(place)));
                assert!(found.contains(&place) && found.len() <= marks.stride, "{place} of {texts}");
            }
        }
        assert!(Marks::new(3).read("\u{ffffd}\u{10fffd}x").is_empty());
    }
}
