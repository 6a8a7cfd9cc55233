//! `Link` headers (RFC 8288), and where the other pages of a list are.

use std::borrow::Cow;

use axum::http::header::HeaderValue;
use percent_encoding::{percent_decode_str, percent_encode_byte};

/// Links beyond this are left out: proxies refuse long heads, many from 4 KiB on. What comes first matters most.
const LINKS_BYTES_MAX: usize = 3 * 1024;

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) rel: &'static str,
    pub(crate) target: String,
}

/// What is known of the pages around one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageLinks {
    /// A page by its number.
    Numbered { page: u64, has_next: bool, pages: Option<u64> },
    /// A page behind a cursor, and the cursor of the next.
    Cursor(Option<String>),
}

impl PageLinks {
    /// The links to them, from an address and the query that was sent: every other parameter stays as it is.
    pub(crate) fn links(&self, base: &str, query: &str) -> Vec<Link> {
        let others = without_page(base, query);
        let steps = self.steps().into_iter();
        steps.map(|(rel, parameter)| Link { rel, target: address(&others, parameter) }).collect()
    }

    /// Which page each relation leads to: the name and value of the parameter that says so. The most useful are first.
    fn steps(&self) -> Vec<(&'static str, Option<(&'static str, String)>)> {
        match self {
            Self::Numbered { page, has_next, pages } => {
                let number = |page: u64| Some(("page", page.to_string()));
                let last = pages.map(|pages| pages.max(1));
                let previous = page.saturating_sub(1).min(last.unwrap_or(u64::MAX));
                let next = has_next.then(|| ("next", number(page.saturating_add(1))));
                let previous = (previous > 0).then(|| ("prev", number(previous)));
                let last = last.map(|last| ("last", number(last)));
                next.into_iter().chain(previous).chain([("first", number(1))]).chain(last).collect()
            }
            Self::Cursor(next) => {
                let next = next.as_ref().map(|cursor| ("next", Some(("cursor", cursor.clone()))));
                next.into_iter().chain([("first", None)]).collect()
            }
        }
    }
}

/// As many of the links as a header has room for.
pub(crate) fn header_value(links: &[Link]) -> Option<HeaderValue> {
    let mut value = String::new();
    for Link { rel, target } in links {
        let target = visible(target);
        let parts = [if value.is_empty() { "<" } else { ", <" }, &target, ">; rel=\"", rel, "\""];
        if value.len() + parts.iter().map(|part| part.len()).sum::<usize>() <= LINKS_BYTES_MAX {
            value.extend(parts);
        }
    }
    HeaderValue::from_str(&value).ok().filter(|value| !value.is_empty())
}

/// With an escape for every byte that cannot stand in an address between angle brackets.
fn visible(target: &str) -> Cow<'_, str> {
    let is_visible = |byte: u8| byte.is_ascii_graphic() && !b"<>\"".contains(&byte);
    if target.bytes().all(is_visible) {
        return target.into();
    }
    let mut text = String::with_capacity(target.len());
    for byte in target.bytes() {
        if is_visible(byte) {
            text.push(char::from(byte));
        } else {
            text.push_str(percent_encode_byte(byte));
        }
    }
    text.into()
}

/// An address with the parameters that say nothing of the page.
fn without_page(base: &str, query: &str) -> String {
    let is_page = |pair: &str| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = percent_decode_str(name).decode_utf8_lossy();
        name == "page" || name == "cursor"
    };
    let mut address = base.to_owned();
    for (index, pair) in query.split('&').filter(|pair| !pair.is_empty() && !is_page(pair)).enumerate() {
        address.extend([if index == 0 { "?" } else { "&" }, pair]);
    }
    address
}

/// The same with another page. Cursors are made of characters that need no escape.
fn address(others: &str, parameter: Option<(&str, String)>) -> String {
    match parameter {
        None => others.to_owned(),
        Some((name, value)) => {
            let separator = if others.contains('?') { '&' } else { '?' };
            format!("{others}{separator}{name}={value}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, pages: &PageLinks, expected: &[(&str, &str)]) {
        let links = pages.links("/rows", query);
        let links: Vec<_> = links.iter().map(|Link { rel, target }| (*rel, target.as_str())).collect();
        assert_eq!(links, expected, "{query}");
    }

    #[test]
    fn pages_lead_to_each_other() {
        let numbered = |page, has_next, pages| PageLinks::Numbered { page, has_next, pages };
        check(
            "search=a%26b&page=2&pageSize=5",
            &numbered(2, true, Some(9)),
            &[
                ("next", "/rows?search=a%26b&pageSize=5&page=3"),
                ("prev", "/rows?search=a%26b&pageSize=5&page=1"),
                ("first", "/rows?search=a%26b&pageSize=5&page=1"),
                ("last", "/rows?search=a%26b&pageSize=5&page=9"),
            ],
        );
        check("", &numbered(1, false, Some(0)), &[("first", "/rows?page=1"), ("last", "/rows?page=1")]);
        check("p%61ge=7", &numbered(7, false, None), &[("prev", "/rows?page=6"), ("first", "/rows?page=1")]);
        // Beyond the end the page before is the last.
        check(
            "page=70",
            &numbered(70, false, Some(3)),
            &[("prev", "/rows?page=3"), ("first", "/rows?page=1"), ("last", "/rows?page=3")],
        );
        check(
            "cursor=abc&keyBy=header",
            &PageLinks::Cursor(Some("def".to_owned())),
            &[("next", "/rows?keyBy=header&cursor=def"), ("first", "/rows?keyBy=header")],
        );
        check("cursor=abc", &PageLinks::Cursor(None), &[("first", "/rows")]);
    }

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
