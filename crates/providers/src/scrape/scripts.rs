//! The scripts of a page, as they are written in it.

use super::html_limits::{Tag, raw_text};

/// No page needs more.
const SCRIPTS_MAX: usize = 500;

/// A script with its text.
pub(super) struct Script<'a> {
    attributes: Vec<&'a str>,
    pub(super) text: &'a str,
}

impl Script<'_> {
    /// Whether it holds JSON for other scripts, and not about the page for search engines.
    pub(super) fn is_data(&self) -> bool {
        self.attributes.iter().any(|attribute| {
            let attribute = attribute.to_ascii_lowercase();
            attribute.starts_with("type") && attribute.contains("application/json")
        })
    }
}

/// The scripts of a page in its order. Takes linear time, and builds no tree.
pub(super) fn of(html: &str) -> Vec<Script<'_>> {
    let mut scripts = Vec::new();
    let mut place = 0;
    while let Some(found) = html.get(place..).and_then(|rest| memchr::memchr(b'<', rest.as_bytes())) {
        let rest = html.get(place + found..).unwrap_or_default();
        if !is_start(rest) {
            place += found + 1;
            continue;
        }
        let tag = Tag::read(rest, 1);
        let text = raw_text(rest.get(tag.length..).unwrap_or_default(), "script");
        place += found + tag.length + text.len();
        scripts.push(Script { attributes: tag.attributes, text });
        if scripts.len() == SCRIPTS_MAX {
            break;
        }
    }
    scripts
}

fn is_start(rest: &str) -> bool {
    let is_name = rest.get(1..7).is_some_and(|name| name.eq_ignore_ascii_case("script"));
    is_name
        && rest
            .as_bytes()
            .get(7)
            .is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_found() {
        let html = "<p>a < b<SCRIPT>1 < 2</script><scripty>x</scripty><script\ntype='Application/JSON'>{}</script >\
                    <script type=application/ld+json>[]</script><script>never ends";
        let found: Vec<(bool, &str)> =
            of(html).iter().map(|script| (script.is_data(), script.text)).collect();
        assert_eq!(found, [(false, "1 < 2"), (true, "{}"), (false, "[]"), (false, "never ends")]);
        assert_eq!(of(&"<script>".repeat(100_000)).len(), 1);
        assert_eq!(of(&"<script></script>".repeat(5_000)).len(), SCRIPTS_MAX);
    }
}
