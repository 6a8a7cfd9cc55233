//! The content of pages that are no articles: shops, forums, lists, landing pages.
//!
//! It is all that the page shows inside its frame, less boxes beside the content, lists of short links, and
//! the labels of buttons and fields.

use std::collections::HashSet;

use super::outline::{Outline, Part, Sums};

/// What the page calls its main part is believed if it has so much of the page.
const MAIN_PERCENT_MIN: usize = 50;
/// A box with more of the page is not beside the content, whatever its name.
const EXTRA_PERCENT_MAX: usize = 40;
/// A menu has so many links, which are so much of its text, and so short.
const MENU_LINKS_MIN: usize = 4;
const MENU_LINK_PERCENT_MIN: usize = 80;
const MENU_LINK_CHARS_MAX: usize = 22;

/// The places of the leaves that are content.
pub(super) fn find(outline: &Outline) -> HashSet<usize> {
    let shown = shown(outline);
    let counts = Counts::of(outline, &shown);
    let (start, end) = bounds(outline, &shown);
    let all = shown.between(start, end);
    let mut is_dropped = vec![false; outline.leaves.len()];
    let mut place = 0;
    while let Some(part) = outline.elements.get(place) {
        let chars = shown.of(part);
        let is_extra = part.is_extra && chars * 100 <= all * EXTRA_PERCENT_MAX;
        if is_extra || counts.is_menu(place, part, chars) {
            is_dropped.iter_mut().take(part.end).skip(part.start).for_each(|is_dropped| *is_dropped = true);
            place = part.last.max(place + 1);
        } else {
            place += 1;
        }
    }
    let leaves = outline.leaves.iter().zip(is_dropped).enumerate().take(end).skip(start);
    leaves
        .filter(|(_, (leaf, is_dropped))| !leaf.is_frame && !leaf.is_control && !is_dropped)
        .map(|(place, _)| place)
        .collect()
}

/// The part that the page calls its main one. If there are several, the one that shows most.
pub(super) fn main_part(outline: &Outline) -> Option<&Part> {
    main_of(outline, &shown(outline))
}

fn shown(outline: &Outline) -> Sums {
    outline.sums(|_, leaf| !leaf.is_frame && !leaf.is_control)
}

/// Where the content is: in the part that the page calls so, or anywhere.
fn bounds(outline: &Outline, shown: &Sums) -> (usize, usize) {
    let main = main_of(outline, shown);
    let main = main.filter(|part| shown.of(part) * 100 >= shown.all() * MAIN_PERCENT_MIN);
    main.map_or((0, outline.leaves.len()), |part| (part.start, part.end))
}

fn main_of<'a>(outline: &'a Outline, shown: &Sums) -> Option<&'a Part> {
    let mains = outline.elements.iter().filter(|part| part.is_main && !part.is_frame);
    mains.max_by_key(|part| shown.of(part))
}

/// Links and headings, counted from the first element to before each one.
struct Counts {
    links: Vec<usize>,
    headings: Vec<usize>,
    link_chars: Sums,
}

impl Counts {
    fn of(outline: &Outline, shown: &Sums) -> Self {
        let counted = |is_counted: &dyn Fn(&str) -> bool| {
            let mut count = 0;
            let mut counts = vec![count];
            for part in &outline.elements {
                count += usize::from(is_counted(&part.name) && shown.of(part) > 0);
                counts.push(count);
            }
            counts
        };
        Self {
            links: counted(&|name| name == "a"),
            headings: counted(&|name| matches!(name, "h1" | "h2" | "h3" | "h4" | "h5" | "h6")),
            link_chars: outline.sums(|_, leaf| !leaf.is_frame && !leaf.is_control && leaf.is_link),
        }
    }

    fn is_menu(&self, place: usize, part: &Part, chars: usize) -> bool {
        let count = |counts: &[usize]| {
            let at = |place: usize| counts.get(place).copied().unwrap_or_default();
            at(part.last).saturating_sub(at(place))
        };
        let links = count(&self.links);
        let link_chars = self.link_chars.of(part);
        links >= MENU_LINKS_MIN
            && matches!(part.name.as_str(), "ul" | "ol" | "div" | "section" | "p" | "table" | "dl")
            && count(&self.headings) == 0
            && link_chars * 100 >= chars * MENU_LINK_PERCENT_MIN
            && link_chars < links * MENU_LINK_CHARS_MAX
    }
}

#[cfg(test)]
mod tests {
    use scraper::Html;

    use super::*;

    fn check(html: &str, expected: &str) {
        let document = Html::parse_document(html);
        let outline = Outline::of(&document);
        let area = find(&outline);
        let leaves = outline.leaves.iter().enumerate().filter(|(place, _)| area.contains(place));
        let texts = leaves.filter_map(|(_, leaf)| document.tree.get(leaf.id)?.value().as_text());
        let texts: Vec<&str> = texts.map(|text| text.trim()).collect();
        assert_eq!(texts.join(" "), expected, "{html}");
    }

    #[test]
    fn boxes_beside_the_content_are_left_out() {
        let cards = "<div><h3><a href=/a>Rye flour</a></h3>3 EUR<button>Buy</button></div>".repeat(3);
        let words = "Rye flour 3 EUR Rye flour 3 EUR Rye flour 3 EUR";
        check(
            &format!("<nav>Menu</nav><div id=mini-cart>Your cart</div>{cards}<footer>Imprint</footer>"),
            words,
        );
        check(&format!("<div class='Cookie-Box'>We use cookies</div><main>{cards}</main><p>Beside"), words);
        check(&format!("<main><div class=product-filter>{cards}</div></main>"), words);
        let menu =
            "<ul><li><a href=/a>A</a><li><a href=/b>B</a><li><a href=/c>C</a><li><a href=/d>D</a></ul>";
        check(&format!("{menu}{cards}"), words);
    }

    #[test]
    fn lists_of_headlines_are_no_menus() {
        let line = "The mill by the river grinds again";
        let list = format!("<li><a href=/a>{line}</a>").repeat(4);
        check(&format!("<ul>{list}</ul>"), &[line; 4].join(" "));
        check("", "");
    }
}
