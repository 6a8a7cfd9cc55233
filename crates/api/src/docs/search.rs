//! The search over operations and guides. Done here, so that the pages need no script.

use maud::{Markup, html};
use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::file::File;
use super::frame::{Frame, content_security_policy};
use super::guide_page::anchor;
use super::guides::GUIDES;
use super::lookup::{entries, fields, inline, resolve, text};
use super::operations::{operations, slug};

pub(crate) const SEARCH_PATH: &str = "/docs/search";

/// Longer questions are cut.
const QUERY_CHARS_MAX: usize = 100;
const RESULTS_MAX: usize = 50;
const ABOUT_CHARS_MAX: usize = 200;

/// Where the query and the results go into the page. No text of ours has these characters.
const QUERY_MARK: &str = "\u{e000}";
const RESULTS_MARK: &str = "\u{e001}";

/// What can be found.
pub(crate) struct Search {
    /// The page up to the query, from there to the results, and the rest.
    page: [String; 3],
    entries: Vec<Entry>,
}

struct Entry {
    title: String,
    about: String,
    target: String,
    /// The title, in small letters.
    names: String,
    /// All that is searched, in small letters.
    words: String,
}

impl Search {
    pub(crate) fn new(document: &Value) -> Self {
        let mut found = Vec::new();
        for tag in entries(document, "/tags") {
            let name = text(tag, "/name");
            for operation in operations(document, name) {
                let title = format!("{} ({name})", text(operation.value, "/summary"));
                let target = format!("{}#{}", slug(name), operation.id());
                let names = format!("{title} {} {} {}", operation.id(), operation.method, operation.path);
                let about = text(operation.value, "/description");
                let words = format!("{about} {}", field_names(document, operation.value));
                found.push(Entry::new(title, about, target, &names, &words));
            }
        }
        for guide in GUIDES {
            for section in format!("\n{}", guide.markdown()).split("\n#").skip(1) {
                let section = section.trim_start_matches('#').trim_start();
                let (heading, body) = section.split_once('\n').unwrap_or((section, ""));
                let is_whole = heading == guide.title();
                let title =
                    if is_whole { heading.to_owned() } else { format!("{}: {heading}", guide.title()) };
                let target = format!("{}#{}", guide.name, anchor(heading));
                found.push(Entry::new(title.replace('`', ""), body.trim(), target, &title, body));
            }
        }
        let page = Frame::search(document, QUERY_MARK).html("Search", &html! { (RESULTS_MARK) });
        let (before, rest) = page.split_once(QUERY_MARK).unwrap_or((&page, ""));
        let (between, after) = rest.split_once(RESULTS_MARK).unwrap_or((rest, ""));
        Self { page: [before, between, after].map(str::to_owned), entries: found }
    }

    /// The page that answers a query string.
    pub(crate) fn answer(&self, query_string: &str) -> File {
        let query = query_of(query_string);
        let results = self.find(&query);
        let main = html! {
            h1 { "Search" }
            @if results.is_empty() { p { "Nothing found for " strong { (query) } "." } }
            ol.results { @for entry in &results { (entry.markup()) } }
        };
        let [before, between, after] = &self.page;
        let (query, main) = (html! { (query) }.into_string(), main.into_string());
        let page = [before, &query, between, &main, after].map(String::as_str).concat();
        File::page(page, content_security_policy())
    }

    /// What contains every word, those whose title has them first.
    fn find(&self, query: &str) -> Vec<&Entry> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        if words.is_empty() {
            return Vec::new();
        }
        let has_all = |text: &str| words.iter().all(|word| text.contains(word));
        let (named, others): (Vec<&Entry>, Vec<&Entry>) = self
            .entries
            .iter()
            .filter(|entry| has_all(&entry.words))
            .partition(|entry| has_all(&entry.names));
        named.into_iter().chain(others).take(RESULTS_MAX).collect()
    }
}

impl Entry {
    fn new(title: String, about: &str, target: String, names: &str, words: &str) -> Self {
        let names = names.to_lowercase();
        let about = about.split("\n\n").next().unwrap_or_default();
        let mut short: String = about.chars().take(ABOUT_CHARS_MAX).collect();
        if short.len() < about.len() {
            short.push('…');
        }
        let words = format!("{names} {}", words.to_lowercase());
        Self { title, about: short, target, names, words }
    }

    fn markup(&self) -> Markup {
        html! {
            li {
                a href=(self.target) { (self.title) }
                p.description { (inline(&self.about)) }
            }
        }
    }
}

/// The names of an operation's parameters and of the fields of its body.
fn field_names(document: &Value, operation: &Value) -> String {
    let parameters =
        entries(operation, "/parameters").iter().map(|parameter| text(resolve(document, parameter), "/name"));
    let body = operation.pointer("/requestBody/content/application~1json/schema");
    let body = body.map_or(&Value::Null, |schema| resolve(document, schema));
    let body = fields(body, "/properties").map(|(name, _)| name.as_str());
    parameters.chain(body).collect::<Vec<_>>().join(" ")
}

/// What `q` is in a query string.
fn query_of(query_string: &str) -> String {
    let value = query_string.split('&').find_map(|pair| pair.strip_prefix("q=")).unwrap_or_default();
    let decoded = percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned();
    decoded.trim().chars().take(QUERY_CHARS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_has_all_words_is_found() {
        let document = json!({
            "tags": [{ "name": "Rows V3" }],
            "paths": { "/v4/rows": {
                "get": { "tags": ["Rows V3"], "operationId": "listRows", "summary": "List rows",
                    "description": "Reads.", "parameters": [{ "name": "cursor" }] },
                "post": { "tags": ["Rows V3"], "operationId": "insertRows", "summary": "Insert rows",
                    "description": "After it, list rows." },
            } },
        });
        let search = Search::new(&document);
        let check = |query: &str, expected: &[&str]| {
            let found: Vec<&str> =
                search.find(query).iter().map(|entry| entry.target.as_str()).take(2).collect();
            assert_eq!(found, expected, "{query}");
        };
        check("LIST rows v3", &["rows-v3#listRows", "rows-v3#insertRows"]);
        check("cursor listrows", &["rows-v3#listRows"]);
        check("malformed_request", &["errors#requests"]);
        check("zebra", &[]);
        check(" ", &[]);
        assert_eq!(query_of("a=1&q=a+%3Cb%3E&q=c"), "a <b>");
        assert_eq!(query_of(""), "");
        let page = search.answer("q=%3Cscript%3E").text;
        assert!(page.contains("&lt;script&gt;") && !page.contains("<script"), "{page}");
    }
}
