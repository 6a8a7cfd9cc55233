//! The addresses that a model may open: those of the row, of a search, and of pages that were read for this row.
//!
//! A model that reads a hostile page may be told to carry a row's values away in an address. It can only open what
//! somebody else has named.

use std::collections::HashSet;

use url::Url;

/// Addresses that have been named, however they were written.
#[derive(Debug, Clone, Default)]
pub(super) struct Addresses(HashSet<String>);

impl Addresses {
    /// More links than anybody follows.
    const LEN_MAX: usize = 5_000;

    pub(super) fn add(&mut self, url: &str) {
        if self.0.len() < Self::LEN_MAX
            && let Some(name) = name(url)
        {
            self.0.insert(name);
        }
    }

    /// Adds every address and every domain in a text.
    pub(super) fn add_text(&mut self, text: &str) {
        for word in text.split(is_delimiter) {
            let word = word.trim_matches(|letter: char| ".,;:!?*_".contains(letter));
            if is_address(word) {
                self.add(word);
            }
        }
    }

    pub(super) fn has(&self, url: &str) -> bool {
        name(url).is_some_and(|name| self.0.contains(&name))
    }
}

/// What two spellings of an address have in common. None if it is none, or has a password in it.
pub(super) fn name(url: &str) -> Option<String> {
    let url = url.trim();
    let url =
        if url.contains("://") { Url::parse(url) } else { Url::parse(&format!("https://{url}")) }.ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    if !matches!(url.scheme(), "http" | "https") || !is_plain {
        return None;
    }
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    let path = url.path().trim_end_matches('/');
    let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
    Some(format!("{host}{port}{path}{query}"))
}

fn is_delimiter(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "()<>\"'`[]{}|,;\\".contains(letter)
}

fn is_address(word: &str) -> bool {
    if word.starts_with("http://") || word.starts_with("https://") {
        return true;
    }
    let host = word.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let is_ending = |ending: &str| ending.len() >= 2 && ending.chars().all(char::is_alphabetic);
    !word.contains('@')
        && !word.contains("://")
        && host.rsplit_once('.').is_some_and(|(before, ending)| !before.is_empty() && is_ending(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_named_is_known() {
        let mut addresses = Addresses::default();
        addresses.add_text(
            "Look at acme.com, https://www.example.org/about/ (and {\"site\":\"http://b.test:8080/x?y=1#z\"}). \
             Ask ada@mail.test. ftp://f.test/ file:///etc/passwd http://u:p@secret.test/",
        );
        for (url, is_known) in [
            ("https://acme.com", true),
            ("http://www.acme.com/", true),
            ("acme.com", true),
            ("https://acme.com/about", false),
            ("https://acme.com/?q=stolen", false),
            ("https://example.org/about", true),
            ("http://b.test:8080/x?y=1", true),
            ("http://b.test/x?y=1", false),
            ("https://mail.test", false),
            ("ftp://f.test/", false),
            ("file:///etc/passwd", false),
            ("http://u:p@secret.test/", false),
            ("http://secret.test/", false),
            ("", false),
        ] {
            assert_eq!(addresses.has(url), is_known, "{url}");
        }
    }
}
