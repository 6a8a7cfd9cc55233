//! Patterns of addresses (globs), which say what pages of a site are read.
//!
//! `*` stands for any characters, and nothing else has a meaning of its own. So matching never goes back, and takes time
//! in proportion to the address.

use percent_encoding::{CONTROLS, utf8_percent_encode};
use url::Url;

use crate::failure::{Failure, FailureKind};

/// `/blog/*`, or `https://docs.example.com/*` for another host.
#[derive(Debug, Clone)]
pub(super) struct UrlPattern {
    /// None: the site's own.
    host: Option<Glob>,
    path: Glob,
    has_query: bool,
}

impl UrlPattern {
    /// Reads the patterns of a setting. `name` says where they stand.
    pub(super) fn all(name: &str, texts: &[String]) -> Result<Vec<Self>, Failure> {
        let parsed = texts.iter().enumerate().map(|(place, text)| {
            Self::parse(text.trim()).ok_or_else(|| {
                let shown: String = text.chars().take(100).collect();
                let words = format!(
                    "`crawl.{name}[{place}]` is not a pattern: `{shown}`. It must begin with `/`, `*` or `https://`."
                );
                Failure::new(FailureKind::InvalidInput, words)
            })
        });
        parsed.collect()
    }

    fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let (host, path) = match rest {
            Some(rest) => {
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = host.to_lowercase();
                let host = without_www(&host);
                if host.is_empty() {
                    return None;
                }
                (Some(Glob::new(host)), if path.is_empty() { "*" } else { path })
            }
            None if text.starts_with(['/', '*']) => (None, text),
            None => return None,
        };
        // Addresses have other letters encoded.
        let path = utf8_percent_encode(path, CONTROLS).to_string();
        Some(Self { host, has_query: path.contains('?'), path: Glob::new(&path) })
    }

    /// `is_own` says that the address is one of the site's own.
    pub(super) fn is_match(&self, url: &Url, is_own: bool) -> bool {
        let is_host = match &self.host {
            None => is_own,
            Some(glob) => glob.is_match(without_www(&host(url))),
        };
        let query = url.query().filter(|_| self.has_query);
        let path = query.map(|query| [url.path(), "?", query].concat());
        is_host && self.path.is_match(path.as_deref().unwrap_or_else(|| url.path()))
    }
}

/// The host and its port, if that is not the usual one.
pub(super) fn host(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

pub(super) fn without_www(host: &str) -> &str {
    host.strip_prefix("www.").filter(|rest| rest.contains('.')).unwrap_or(host)
}

/// What stands between the stars.
#[derive(Debug, Clone)]
struct Glob(Vec<String>);

impl Glob {
    fn new(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    fn is_match(&self, text: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|whole| whole == text);
        };
        let between = text.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
        let Some(mut rest) = between.map(str::as_bytes) else { return false };
        // The first place of each is as good as any later one.
        for part in middle {
            let Some(place) = memchr::memmem::find(rest, part.as_bytes()) else { return false };
            rest = rest.get(place + part.len()..).unwrap_or_default();
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_they_read() {
        for (pattern, address, expected) in [
            ("/blog/*", "https://example.com/blog/", true),
            ("/blog/*", "https://example.com/blog/2026/rye?page=2", true),
            ("/blog/*", "https://example.com/blog", false),
            ("/blog/*", "https://example.com/en/blog/x", false),
            ("/blog/*", "https://docs.example.com/blog/x", false),
            ("/blog*", "https://example.com/blog", true),
            ("*/jobs/*", "https://example.com/en/jobs/miller", true),
            ("*.pdf", "https://example.com/a/b.pdf", true),
            ("*.pdf", "https://example.com/a/b.pdf.html", false),
            ("/a", "https://example.com/a", true),
            ("/a", "https://example.com/a/", false),
            ("/a*b*a", "https://example.com/aba", true),
            ("/a*b*a", "https://example.com/ab", false),
            ("/a*a", "https://example.com/a", false),
            ("/bücher/*", "https://example.com/bücher/1", true),
            ("/a?b=*", "https://example.com/a?b=1", true),
            ("/a?b=*", "https://example.com/a?c=1", false),
            ("/a?b=*", "https://example.com/a", false),
            ("https://docs.example.com/*", "https://docs.example.com/x", true),
            ("https://docs.example.com", "http://docs.example.com/x", true),
            ("https://Docs.example.com/*", "https://www.docs.example.com/x", true),
            ("https://*.example.com/*", "https://docs.example.com/x", true),
            ("https://*.example.com/*", "https://evil.example/.example.com/x", false),
            ("https://*.example.com/*", "https://evil.example/?x=.example.com/x", false),
            ("https://docs.example.com/*", "https://docs.example.com:8443/x", false),
            ("https://docs.example.com:8443/*", "https://docs.example.com:8443/x", true),
        ] {
            let url = Url::parse(address).unwrap();
            let is_own = url.host_str() == Some("example.com");
            let parsed = UrlPattern::parse(pattern).unwrap();
            assert_eq!(parsed.is_match(&url, is_own), expected, "{pattern} {address}");
        }
        for wrong in ["", "blog/*", "https://", "https:///x", "ftp://example.com/*"] {
            let failure = UrlPattern::all("include", &["/".to_owned(), wrong.to_owned()]).unwrap_err();
            assert!(failure.message.contains("crawl.include[1]"), "{wrong}: {failure}");
        }
    }

    /// A matcher that goes back would not end before the sun does.
    #[test]
    fn matching_takes_linear_time() {
        let pattern = UrlPattern::parse(&format!("/{}b", "a*".repeat(99))).unwrap();
        let url = Url::parse(&format!("https://example.com/{}", "a".repeat(100_000))).unwrap();
        assert!(!pattern.is_match(&url, true));
    }
}
