//! What there is to read at `/docs`: in parts, with a search, as Markdown, and as lists for agents.

use crate::harness::http::{self, Response};
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario};

pub(crate) const SHARED: &[Scenario] = &scenarios!("documentation", Shared:
    the_documentation_comes_in_parts,
    every_link_leads_somewhere,
    agents_find_everything_as_markdown,
    the_search_finds_operations_and_guides,
);

/// These paths are no operations of the document, so it does not judge them. No key is needed.
fn read(api: &Api, path: &str) -> (Response, String) {
    let response = http::exchange(&api.address, &Request::get(path)).unwrap();
    let text = String::from_utf8(response.body.clone()).unwrap();
    (response, text)
}

#[track_caller]
fn text(api: &Api, path: &str, content_type: &str) -> String {
    let (response, text) = read(api, path);
    assert_eq!((response.status, response.header("Content-Type")), (200, Some(content_type)), "{path}");
    text
}

const HTML: &str = "text/html; charset=utf-8";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// What follows each of these, up to an end.
fn between<'t>(text: &'t str, start: &str, end: char) -> Vec<&'t str> {
    text.split(start).skip(1).filter_map(|rest| rest.split(end).next()).collect()
}

fn the_documentation_comes_in_parts(api: &Api) {
    let first = text(api, "/docs", HTML);
    assert!(first.len() < 150_000, "{} bytes", first.len());
    let rows = text(api, "/docs/rows", HTML);
    assert!(rows.contains("id=\"listRows\"") && rows.contains("curl"), "{}", rows.len());
    // Every operation is on the first page, and in its part.
    for (path, item) in api.document()["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let part = operation["tags"][0].as_str().unwrap().to_lowercase().replace(' ', "-");
            assert!(first.contains(&format!("href=\"docs/{part}#{id}\"")), "{method} {path}");
        }
    }
    let (page, _) = read(api, "/docs/errors");
    assert!(page.header("Content-Security-Policy").unwrap().contains("default-src 'none'"));
    let tag = page.header("ETag").unwrap();
    let again =
        http::exchange(&api.address, &Request::get("/docs/errors").header("If-None-Match", tag)).unwrap();
    assert_eq!(again.status, 304);
    assert_eq!(read(api, "/docs/nothing").0.status, 404);
}

fn every_link_leads_somewhere(api: &Api) {
    let first = text(api, "/docs", HTML);
    let mut parts: Vec<&str> = between(&first, "href=\"docs/", '"');
    for part in &mut parts {
        *part = part.split('#').next().unwrap();
    }
    parts.sort_unstable();
    parts.dedup();
    assert!(parts.len() > 20, "{parts:?}");
    for part in parts {
        let page = text(api, &format!("/docs/{part}"), HTML);
        for target in
            between(&page, "href=\"", '"').into_iter().filter(|target| !target.starts_with("https://"))
        {
            let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match path.strip_prefix("../") {
                Some(rest) => format!("/{rest}"),
                None if path.is_empty() => format!("/docs/{part}"),
                None => format!("/docs/{path}"),
            };
            let (response, linked) = read(api, &path);
            assert_eq!(response.status, 200, "{part}: {target}");
            let is_there = anchor.is_empty() || linked.contains(&format!("id=\"{anchor}\""));
            assert!(is_there, "{part}: {target}");
        }
    }
}

fn agents_find_everything_as_markdown(api: &Api) {
    let index = text(api, "/llms.txt", PLAIN);
    let title = index.lines().next().unwrap();
    assert!(
        title.starts_with("# ") && index.contains("\n> ") && index.contains("\n## Optional\n"),
        "{index}"
    );
    let links = between(&index, "](", ')');
    assert!(links.len() > 20, "{index}");
    for link in links {
        let (response, content) = read(api, &format!("/{link}"));
        assert_eq!(response.status, 200, "{link}");
        if link.strip_suffix(".md").is_some() {
            assert_eq!(response.header("Content-Type"), Some(MARKDOWN));
            assert!(content.starts_with("# ") && content.ends_with('\n'), "{link}");
        }
    }
    let rows = text(api, "/docs/rows.md", MARKDOWN);
    for words in
        ["`GET /v4/projects/{projectId}/rows`", "- `pageSize` (integer, query)", "```sh\ncurl ", "\n  - "]
    {
        assert!(rows.contains(words), "{words}: {rows}");
    }
    let full = text(api, "/llms-full.txt", PLAIN);
    assert!(
        full.contains(&rows) && full.contains("`outcome_unknown`") && !full.contains("/v3/"),
        "{}",
        full.len()
    );
}

fn the_search_finds_operations_and_guides(api: &Api) {
    let found = text(api, "/docs/search?q=insert+rows", HTML);
    assert!(found.contains("href=\"rows#insertRows\""), "{found}");
    assert!(text(api, "/docs/search?q=OUTCOME_unknown", HTML).contains("href=\"errors#requests\""));
    assert!(text(api, "/docs/search", HTML).contains("Nothing found"));
    let hostile = text(api, "/docs/search?q=%22%3E%3Cscript%3Ex%ee%80%81", HTML);
    assert!(!hostile.contains("<script") && hostile.contains("&lt;script&gt;x"), "{hostile}");
}
