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
    let is_hidden = element.attr("hidden").is_some() || element.attr("aria-hidden") == Some("true");
    SILENT.contains(&element.name()) || (keep == Keep::WithoutFrame && (is_hidden || is_frame(element)))
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
