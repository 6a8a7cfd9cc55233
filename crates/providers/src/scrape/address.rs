//! What people write into a cell, read as the address of a page.

use url::Url;

use crate::failure::{Failure, FailureKind};

/// No server takes a longer one.
const CHARS_MAX: usize = 8_000;

/// The address in a cell, with or without `https://` and with blanks around it.
pub(super) fn parse(text: &str) -> Result<Url, Failure> {
    let text = text.trim();
    if text.is_empty() {
        return Err(wrong("The URL is empty."));
    }
    if text.chars().count() > CHARS_MAX {
        return Err(wrong(&format!("The URL exceeds the limit of {CHARS_MAX} characters.")));
    }
    let is_scheme = |word: &str| word.chars().all(|letter| letter.is_ascii_alphanumeric());
    let url = if text.split_once("://").is_some_and(|(before, _)| is_scheme(before)) {
        Url::parse(text).ok()
    } else {
        Url::parse(&format!("https://{}", text.trim_start_matches('/'))).ok().filter(is_likely)
    };
    let Some(mut url) = url else {
        let shown: String = text.chars().take(100).collect();
        return Err(wrong(&format!(
            "`{shown}` is not the URL of a web page, such as https://example.com/about."
        )));
    };
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("Only http and https pages can be read."));
    }
    url.set_fragment(None);
    Ok(url)
}

/// Whether what was written without a scheme was meant as an address: `Acme` and `ada@acme.com` were not.
fn is_likely(url: &Url) -> bool {
    let has_host = url.host_str().is_some_and(|host| host.contains('.') || host.starts_with('['));
    has_host && url.username().is_empty() && url.password().is_none()
}

fn wrong(words: &str) -> Failure {
    Failure::new(FailureKind::InvalidInput, words)
}

pub(super) fn without_password(mut url: Url) -> Url {
    // Only an address without a host refuses, and such a one was not fetched.
    _ = url.set_password(None);
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_meant() {
        for (text, expected) in [
            ("https://example.com/a?b#c", Some("https://example.com/a?b")),
            (" http://Example.com \n", Some("http://example.com/")),
            ("example.com", Some("https://example.com/")),
            ("www.example.com:8080/x", Some("https://www.example.com:8080/x")),
            ("//example.com/x", Some("https://example.com/x")),
            ("example.com/x?u=http://y", Some("https://example.com/x?u=http://y")),
            ("bücher.example", Some("https://xn--bcher-kva.example/")),
            ("HTTPS://EXAMPLE.COM", Some("https://example.com/")),
            ("", None),
            ("Acme Inc", None),
            ("acme", None),
            ("ada@example.com", None),
            ("mailto:ada@example.com", None),
            ("ftp://example.com/", None),
            ("file:///etc/passwd", None),
            ("javascript:alert(1)", None),
            ("http://", None),
            ("n/a", None),
        ] {
            let found = parse(text).map(String::from);
            assert_eq!(found.as_deref().ok(), expected, "{text}");
            if let Err(failure) = found {
                assert_eq!((failure.kind, failure.is_transient), (FailureKind::InvalidInput, false));
            }
        }
    }
}
