//! Which elements hold nothing to read, and which frame the content.

use scraper::node::Element;

/// How much of a page is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Everything,
    /// Without what frames the content: navigation, header, footer, banners.
    WithoutFrame,
}

/// Elements that hold nothing to read.
const SILENT: [&str; 26] = [
    "head", "title", "script", "style", "noscript", "template", "iframe", "frame", "frameset", "noframes",
    "object", "embed", "applet", "svg", "math", "canvas", "audio", "video", "source", "track", "map", "link",
    "meta", "base", "input", "select",
];
/// What frames the content, by element, by role and by the words authors use in `class` and `id`.
const FRAME: [&str; 5] = ["nav", "header", "footer", "aside", "dialog"];
const FRAME_ROLES: [&str; 6] =
    ["navigation", "banner", "contentinfo", "complementary", "dialog", "alertdialog"];
const FRAME_WORDS: [&str; 34] = [
    "ad",
    "ads",
    "advert",
    "advertisement",
    "bottom",
    "breadcrumb",
    "breadcrumbs",
    "consent",
    "cookie",
    "cookies",
    "footer",
    "header",
    "masthead",
    "menu",
    "modal",
    "nav",
    "navbar",
    "navigation",
    "overlay",
    "pagination",
    "popup",
    "share",
    "sharing",
    "side",
    "sidebar",
    "site-footer",
    "site-header",
    "skip-link",
    "social",
    "social-links",
    "social-media",
    "sponsored",
    "topbar",
    "widget",
];

/// Whether an element goes, with everything in it.
pub(super) fn is_dropped(element: &Element, keep: Keep) -> bool {
    SILENT.contains(&element.name())
        || (keep == Keep::WithoutFrame && (Hidden::of(element).is_some() || is_frame(element)))
}

/// How an element is not shown, or not at first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// It folds open after a click, by its name.
    Folded,
    Otherwise,
}

impl Hidden {
    pub(super) fn of(element: &Element) -> Option<Self> {
        if element.attr("hidden").is_none() && element.attr("aria-hidden") != Some("true") {
            return None;
        }
        let mut names = values(element, &["class", "id"]).map(str::to_ascii_lowercase);
        let is_fold = names.any(|names| FOLD_WORDS.iter().any(|word| names.contains(word)));
        Some(if is_fold { Self::Folded } else { Self::Otherwise })
    }
}

fn is_frame(element: &Element) -> bool {
    if matches!(element.name(), "html" | "body" | "main" | "article") {
        return false;
    }
    let has_role = element.attr("role").is_some_and(|role| FRAME_ROLES.contains(&role));
    let names = element.attr("class").into_iter().chain(element.attr("id"));
    let mut names = names.flat_map(str::split_whitespace).map(str::to_ascii_lowercase);
    FRAME.contains(&element.name()) || has_role || names.any(|name| FRAME_WORDS.contains(&name.as_str()))
}

/// Parts of the names of what folds open.
const FOLD_WORDS: [&str; 3] = ["accordion", "collaps", "faq"];

/// Boxes that no page is made for, by any part of the words in `class` and `id`.
const EXTRA_WORDS: [&str; 40] = [
    "basket",
    "breadcrumb",
    "breadcrumbs",
    "calendar",
    "captcha",
    "cart",
    "consent",
    "cookie",
    "cookies",
    "dropdown",
    "facet",
    "facets",
    "filter",
    "filters",
    "flyout",
    "gdpr",
    "login",
    "megamenu",
    "minicart",
    "modal",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "offcanvas",
    "pager",
    "pagination",
    "paginator",
    "popover",
    "popup",
    "refinements",
    "share",
    "sharing",
    "signin",
    "signup",
    "skip",
    "sponsored",
    "subscribe",
    "toolbar",
    "tooltip",
];

/// Whether an element is a box beside the content: a cart, a login, a filter, a form to subscribe.
pub(super) fn is_extra(element: &Element) -> bool {
    if matches!(element.name(), "html" | "body" | "main" | "article") {
        return false;
    }
    let names = element.attr("class").into_iter().chain(element.attr("id"));
    let mut words = names.flat_map(|name| name.split(|letter: char| !letter.is_ascii_alphabetic()));
    words.any(|word| {
        EXTRA_WORDS
            .binary_search_by(|known| known.bytes().cmp(word.bytes().map(|byte| byte.to_ascii_lowercase())))
            .is_ok()
    })
}

/// How sure a word is of what it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    Strong,
    /// Headings of the content have it, too: a question that opens its answer is a button.
    Weak,
    /// What others say of the content.
    Talk,
}

/// What stands in the content and is hardly part of it, by the words in `class`, `id`, `role` and `itemprop`.
/// Measured one by one: leaving it out is right more often than not.
const BESIDE_WORDS: [(&str, Beside); 33] = [
    ("actions", Beside::Weak),
    ("author", Beside::Strong),
    ("badge", Beside::Weak),
    ("banner", Beside::Weak),
    ("bar", Beside::Weak),
    ("btn", Beside::Weak),
    ("button", Beside::Weak),
    ("buttons", Beside::Weak),
    ("byline", Beside::Weak),
    ("caption", Beside::Strong),
    ("comment", Beside::Talk),
    ("comments", Beside::Talk),
    ("dialog", Beside::Strong),
    ("disclaimer", Beside::Weak),
    ("footer", Beside::Weak),
    ("form", Beside::Strong),
    ("hidden", Beside::Weak),
    ("latest", Beside::Weak),
    ("links", Beside::Weak),
    ("modal", Beside::Strong),
    ("navigation", Beside::Strong),
    ("news", Beside::Weak),
    ("newsletter", Beside::Strong),
    ("popup", Beside::Strong),
    ("related", Beside::Strong),
    ("review", Beside::Talk),
    ("reviews", Beside::Talk),
    ("share", Beside::Strong),
    ("sidebar", Beside::Strong),
    ("sr-only", Beside::Weak),
    ("tooltip", Beside::Weak),
    ("visually", Beside::Weak),
    ("widget", Beside::Weak),
];

/// A set of these words, a bit for each.
pub(super) type BesideWords = u64;
const _: () = assert!(BESIDE_WORDS.len() <= BesideWords::BITS as usize, "each word has a bit");

/// The bits of the words that say nothing of a heading.
pub(super) fn weak_words() -> BesideWords {
    bits_of(Beside::Weak)
}

/// The bits of the words for what others say of the content.
pub(super) fn talk_words() -> BesideWords {
    bits_of(Beside::Talk)
}

/// Which of these words an element has, a bit for each.
pub(super) fn beside_words(element: &Element) -> BesideWords {
    let names = values(element, &["class", "id", "role", "itemprop"]).flat_map(str::split_ascii_whitespace);
    match element.name() {
        "html" | "body" | "main" => 0,
        "button" => bits(["button"]),
        "figcaption" => bits(["caption"]),
        _ => names.map(words_of_name).fold(0, |words, more| words | more),
    }
}

fn words_of_name(name: &str) -> BesideWords {
    let has = |part: &str| name_parts(name).any(|word| word.eq_ignore_ascii_case(part));
    let words = bits(name_parts(name).chain([name]));
    // What is too wide for its box is cut off, and the rest is shown.
    let words = if has("overflow") { words & !bits(["hidden"]) } else { words };
    // Under stars, not under an image.
    if has("rating") { words & !bits(["caption"]) } else { words }
}

fn bits<'a>(words: impl IntoIterator<Item = &'a str>) -> BesideWords {
    words.into_iter().filter_map(bit).fold(0, |words, bit| words | bit)
}

/// The values of those of these attributes that an element has.
pub(super) fn values<'a>(element: &'a Element, names: &[&str]) -> impl Iterator<Item = &'a str> {
    names.iter().filter_map(|name| element.attr(name))
}

/// The words of a name: `forum-Post_list` and `productReviews`.
pub(super) fn name_parts(name: &str) -> impl Iterator<Item = &str> {
    name.split(|letter: char| !letter.is_ascii_alphabetic()).flat_map(parts)
}

fn bits_of(kind: Beside) -> BesideWords {
    bits(BESIDE_WORDS.iter().filter(|(_, beside)| *beside == kind).map(|(word, _)| *word))
}

fn bit(word: &str) -> Option<BesideWords> {
    let lower = word.bytes().map(|byte| byte.to_ascii_lowercase());
    let place = BESIDE_WORDS.binary_search_by(|(known, _)| known.bytes().cmp(lower.clone())).ok()?;
    1_u64.checked_shl(u32::try_from(place).ok()?)
}

/// `productReviews` is two words.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    let bytes = word.as_bytes();
    let is_inside = |place: usize| {
        let letters = place.checked_sub(1).and_then(|before| bytes.get(before)).zip(bytes.get(place));
        letters.is_some_and(|(last, next)| !(last.is_ascii_lowercase() && next.is_ascii_uppercase()))
    };
    let starts = (0..bytes.len()).filter(move |place| !is_inside(*place));
    starts.filter_map(move |start| {
        let end = (start + 1..bytes.len()).find(|place| !is_inside(*place)).unwrap_or(bytes.len());
        word.get(start..end)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_in_order() {
        assert!(EXTRA_WORDS.is_sorted() && BESIDE_WORDS.is_sorted_by_key(|(word, _)| *word));
        assert_eq!(parts("productReviewsAB").collect::<Vec<_>>(), ["product", "Reviews", "AB"]);
        assert_eq!(parts("").count(), 0);
    }
}
