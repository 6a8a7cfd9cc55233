//! Pages that are an empty shell: what they show is made by JavaScript, in a browser.

use scraper::{ElementRef, Html};

use super::boilerplate::Keep;
use super::head::elements;
use super::kept_nodes::leaves;

/// A page that shows as much as this has something to read, whatever its scripts would add.
const SHOWN_CHARS_MAX: usize = 200;
/// Beside a notice for browsers without scripts, so much is a logo and a line.
const BESIDE_NOTICE_CHARS_MAX: usize = 60;

/// Where frameworks put what they render.
const ROOTS: [&str; 12] = [
    "root",
    "app",
    "__next",
    "__nuxt",
    "___gatsby",
    "q-app",
    "svelte",
    "app-root",
    "react-root",
    "main-app",
    "application",
    "ember-application",
];
/// What is said next to "JavaScript" to people who have none, in some languages.
const NOTICES: [&str; 18] = [
    "enable",
    "turn on",
    "disabled",
    "require",
    "need",
    "support",
    "without",
    "aktivier",
    "benötig",
    "activ",
    "habilit",
    "abilit",
    "inschakel",
    "włącz",
    "включ",
    "有効",
    "启用",
    "啟用",
];
/// What a page says until its scripts have run.
const WAITING: [&str; 9] = [
    "loading",
    "please wait",
    "lädt",
    "wird geladen",
    "chargement",
    "cargando",
    "caricamento",
    "laden",
    "загрузка",
];

/// Whether a page waits for its scripts to show anything. `html` is the page as it came, with its scripts.
pub(super) fn is_shell(document: &Html, html: &str) -> bool {
    if !has_script(html) {
        return false;
    }
    let shown = text_of(document.root_element(), Keep::WithoutFrame);
    let chars = count(&shown);
    if chars >= SHOWN_CHARS_MAX {
        return false;
    }
    let has_nothing = leaves(document.tree.root(), Keep::Everything).is_empty();
    has_nothing
        || is_notice(&shown)
        || is_waiting(&shown)
        || has_empty_root(document)
        || (chars < BESIDE_NOTICE_CHARS_MAX
            && elements(document, "noscript").any(|element| is_notice(&inside(element))))
}

fn has_script(html: &str) -> bool {
    memchr::memchr_iter(b'<', html.as_bytes())
        .any(|place| html.get(place + 1..place + 7).is_some_and(|name| name.eq_ignore_ascii_case("script")))
}

/// What an element shows, in lower case.
fn text_of(element: ElementRef<'_>, keep: Keep) -> String {
    let shown = leaves(*element, keep).into_iter();
    let text = |leaf| -> Option<&str> { Some(element.tree().get(leaf)?.value().as_text()?) };
    shown.filter_map(text).collect::<Vec<&str>>().join(" ").to_lowercase()
}

/// The text of an element that is never shown.
fn inside(element: ElementRef<'_>) -> String {
    element.text().take(100).collect::<String>().to_lowercase()
}

fn has_empty_root(document: &Html) -> bool {
    let mut roots = document.tree.nodes().filter_map(ElementRef::wrap).filter(|element| {
        let element = element.value();
        ROOTS.contains(&element.name()) || element.attr("id").is_some_and(|id| ROOTS.contains(&id))
    });
    roots.any(|root| {
        let shown = text_of(root, Keep::Everything);
        shown.trim().is_empty() || is_waiting(&shown)
    })
}

fn is_notice(text: &str) -> bool {
    (text.contains("javascript") || text.contains("java script"))
        && NOTICES.iter().any(|word| text.contains(word))
}

fn is_waiting(text: &str) -> bool {
    let text = text.trim();
    count(text) < BESIDE_NOTICE_CHARS_MAX && WAITING.iter().any(|words| text.starts_with(words))
}

fn count(text: &str) -> usize {
    text.chars().filter(|letter| !letter.is_whitespace()).count()
}

#[cfg(test)]
mod tests {
    use super::super::html_limits::limit_html;
    use super::*;

    fn check(html: &str, expected: bool) {
        let document = Html::parse_document(&limit_html(html));
        assert_eq!(is_shell(&document, html), expected, "{html}");
    }

    #[test]
    fn a_page_that_waits_for_scripts_is_a_shell() {
        for body in [
            "<div id=root></div>",
            "<div id=app><div class=spinner></div>Loading…</div>",
            "<app-root></app-root><noscript>Please enable JavaScript to continue.</noscript>",
            "<noscript>Bitte aktivieren Sie JavaScript.</noscript><div><b>Acme</b></div>",
            "You need to enable JavaScript to run this app.",
            "",
            "Loading, please wait",
            "<nav>Home Products About Contact</nav><div id=__next></div><footer>Imprint</footer>",
        ] {
            check(&format!("{body}<SCRIPT src=/app.js></SCRIPT>"), true);
        }
    }

    #[test]
    fn a_page_that_says_something_is_none() {
        let words = "<p>The mill stands by the river and grinds the grain of eleven villages.</p>".repeat(5);
        for html in [
            "<p>Hello</p><script src=/count.js></script>".to_owned(),
            "<div id=root>Hello</div><script src=/app.js></script>".to_owned(),
            "<div id=root></div>".to_owned(),
            "<img src=x alt=y><script>1</script>".to_owned(),
            "<p>We write JavaScript.</p><script>1</script>".to_owned(),
            format!("{words}<div id=root></div><noscript>Enable JavaScript</noscript><script>1</script>"),
            String::new(),
        ] {
            check(&html, false);
        }
    }
}
