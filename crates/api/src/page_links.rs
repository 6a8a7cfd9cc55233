//! Where the other pages of a list are.

use axum::http::header::{HeaderValue, LINK, VARY};
use percent_encoding::percent_decode_str;
use serde::Serialize;

use crate::answer::Answer;
use crate::endpoint::Call;
use crate::links::{Link, header_value};
use crate::public_url::PublicUrl;
use crate::state::ApiState;

/// What is known of the pages around one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageLinks {
    /// A page by its number.
    Numbered { page: u64, has_next: bool, pages: Option<u64> },
    /// A page behind a cursor, and the cursor of the next.
    Cursor(Option<String>),
}

impl PageLinks {
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

/// Says in an answer where the pages around it are, with every other parameter as it was sent.
pub(crate) fn linked<T: Serialize>(call: &Call<ApiState>, pages: &PageLinks, answer: Answer<T>) -> Answer<T> {
    let base = format!("{}{}", call.reached().base_url(), call.path);
    let links: Vec<Link> = pages
        .steps()
        .into_iter()
        .map(|(rel, parameter)| Link { rel, target: address(&base, &call.query, parameter) })
        .collect();
    let answer = answer.with_header(VARY, HeaderValue::from_static(PublicUrl::VARY));
    match header_value(&links) {
        Some(value) => answer.with_header(LINK, value),
        None => answer,
    }
}

/// An address with another page than the query names.
fn address(base: &str, query: &str, parameter: Option<(&str, String)>) -> String {
    let is_page = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        let name = percent_decode_str(name).decode_utf8_lossy();
        name == "page" || name == "cursor"
    };
    let kept = query.split('&').filter(|pair| !pair.is_empty() && !is_page(pair)).map(str::to_owned);
    // Cursors are made of characters that need no escape.
    let pairs: Vec<String> = kept.chain(parameter.map(|(name, value)| format!("{name}={value}"))).collect();
    if pairs.is_empty() { base.to_owned() } else { format!("{base}?{}", pairs.join("&")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, pages: &PageLinks, expected: &[(&str, &str)]) {
        let links = pages.steps().into_iter().map(|(rel, step)| (rel, address("/rows", query, step)));
        let links: Vec<_> = links.collect();
        let links: Vec<(&str, &str)> = links.iter().map(|(rel, target)| (*rel, target.as_str())).collect();
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
}
