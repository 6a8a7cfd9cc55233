//! What every engine of web search shares: the query, what is found, and how an answer is read.

use rowmill_model::Spent;
use serde_json::Value;

use crate::access::Access;
use crate::failure::Failure;
use crate::ssrf_guard::{Request, Response};

/// What is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Query {
    pub text: String,
    /// A country's two letters, in lower case.
    pub country: Option<String>,
}

/// A page that an engine found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub title: String,
    pub url: String,
    /// Some words of the page.
    pub snippet: String,
}

/// What a search came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The best first.
    pub hits: Vec<Hit>,
    pub spent: Spent,
}

/// How an engine is asked, and what it answers.
pub(super) trait SearchEngine: Sync {
    fn request(&self, access: &Access, query: &Query) -> Result<Request, Failure>;
    fn read(&self, response: &Response) -> Result<Found, Failure>;
}

/// Pages that are asked for, and taken.
pub(super) const HITS_MAX: usize = 10;
/// The longest text that every engine takes.
const QUERY_CHARS_MAX: usize = 400;
const QUERY_WORDS_MAX: usize = 50;
const TITLE_CHARS_MAX: usize = 200;
pub(super) const SNIPPET_CHARS_MAX: usize = 600;
/// What no browser opens.
const URL_CHARS_MAX: usize = 2_000;

impl Query {
    /// A query that every engine takes; none if nothing is asked.
    pub fn new(text: &str, country: Option<&str>) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().take(QUERY_WORDS_MAX).collect();
        let text = shortened(&words.join(" "), QUERY_CHARS_MAX);
        let is_code = |code: &&str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphabetic());
        let country = country.map(str::trim).filter(is_code).map(str::to_ascii_lowercase);
        (!text.is_empty()).then_some(Self { text, country })
    }
}

/// The entries of a list, each with these names for its title, address and words.
pub(super) fn hits(list: Option<&Value>, [title, url, snippet]: [&str; 3]) -> Vec<Hit> {
    let text = |entry: &Value, name: &str, chars_max: usize| {
        let text = entry.get(name).and_then(Value::as_str).unwrap_or_default();
        shortened(&text.split_whitespace().collect::<Vec<_>>().join(" "), chars_max)
    };
    let entries = list.and_then(Value::as_array).into_iter().flatten();
    let hits = entries.map(|entry| Hit {
        title: text(entry, title, TITLE_CHARS_MAX),
        url: entry.get(url).and_then(Value::as_str).unwrap_or_default().trim().to_owned(),
        snippet: text(entry, snippet, SNIPPET_CHARS_MAX),
    });
    hits.filter(|hit| is_page(&hit.url)).take(HITS_MAX).collect()
}

fn is_page(url: &str) -> bool {
    (url.starts_with("http://") || url.starts_with("https://")) && url.len() <= URL_CHARS_MAX
}

fn shortened(text: &str, chars_max: usize) -> String {
    text.chars().filter(|character| !character.is_control()).take(chars_max).collect()
}

pub(super) fn is_success(response: &Response) -> bool {
    (200..300).contains(&response.status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_one_that_every_engine_takes() {
        let query = |text: &str, country| Query::new(text, country).map(|query| (query.text, query.country));
        assert_eq!(query(" \n ", None), None);
        assert_eq!(query(" a\n b\t", Some(" DE ")), Some(("a b".to_owned(), Some("de".to_owned()))));
        for wrong in ["deu", "d", "1a", "&q"] {
            assert_eq!(query("a", Some(wrong)), Some(("a".to_owned(), None)), "{wrong}");
        }
        let (text, _) = query(&"word ".repeat(60), None).unwrap();
        assert_eq!(text.split(' ').count(), QUERY_WORDS_MAX);
        let (text, _) = query(&"é".repeat(500), None).unwrap();
        assert_eq!(text.chars().count(), QUERY_CHARS_MAX);
    }
}
