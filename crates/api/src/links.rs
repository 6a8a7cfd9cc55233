//! `Link` headers (RFC 8288).

use axum::http::header::HeaderValue;
use percent_encoding::percent_encode_byte;

/// Links beyond this are left out: proxies refuse long heads, many from 4 KiB on. What comes first matters most.
const LINKS_BYTES_MAX: usize = 3 * 1024;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) rel: &'static str,
    pub(crate) target: String,
}

/// As many of the links as a header has room for.
pub(crate) fn header_value(links: &[Link]) -> Option<HeaderValue> {
    let mut value = String::new();
    for Link { rel, target } in links {
        let link = format!("<{}>; rel=\"{rel}\"", visible(target));
        if value.len() + link.len() > LINKS_BYTES_MAX {
            continue;
        }
        if !value.is_empty() {
            value.push_str(", ");
        }
        value.push_str(&link);
    }
    HeaderValue::from_str(&value).ok().filter(|value| !value.is_empty())
}

/// With an escape for every byte that cannot stand in an address between angle brackets.
fn visible(target: &str) -> String {
    let mut text = String::with_capacity(target.len());
    for byte in target.bytes() {
        if byte.is_ascii_graphic() && !b"<>\"".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(percent_encode_byte(byte));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_short_and_has_no_brackets_inside() {
        let link = |rel, target: &str| Link { rel, target: target.to_owned() };
        let value = header_value(&[link("next", "/a?b=<ü>\"")]).unwrap();
        assert_eq!(value, "</a?b=%3C%C3%BC%3E%22>; rel=\"next\"");
        let long = "x".repeat(LINKS_BYTES_MAX);
        let value = header_value(&[link("next", &long), link("first", "/a")]).unwrap();
        assert_eq!(value, "</a>; rel=\"first\"");
        assert_eq!(header_value(&[link("next", &long)]), None);
    }
}
