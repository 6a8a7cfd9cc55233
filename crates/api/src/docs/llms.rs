//! `/llms.txt` and `/llms-full.txt`: what there is to read, for agents (<https://llmstxt.org>).

use std::fmt::Write as _;

use serde_json::Value;

use super::guides::{GUIDES, Guide};
use super::lookup::{entries, text};
use super::markdown;
use super::operations::{is_old, slug};

/// The list of what there is to read, with a line on each.
pub(super) fn index(document: &Value) -> String {
    let title = text(document, "/info/title");
    let description = text(document, "/info/description");
    let summary = description.split("\n\n").next().unwrap_or_default();
    let mut out = format!("# {title}\n\n> {summary}\n\n");
    out.push_str(
        "The API is HTTP with JSON; send an API key as `Authorization: Bearer <key>`. Agents can use the MCP server at \
         `/mcp` instead. [llms-full.txt](llms-full.txt) is everything below in one file, without what is optional.\n",
    );
    out.push_str("\n## API\n\n- [Overview](docs/api.md): authentication, errors, ids, idempotency, concurrency, limits\n");
    let tags = entries(document, "/tags");
    for tag in tags.iter().filter(|tag| !is_old(tag)) {
        write_tag(tag, &mut out);
    }
    out.push_str("\n## Guides\n\n");
    for guide in GUIDES.iter().filter(|guide| !guide.is_for_operators) {
        write_guide(guide, &mut out);
    }
    out.push_str("\n## Optional\n\n- [openapi.json](openapi.json): the API as an OpenAPI 3.0.3 document\n");
    for guide in GUIDES.iter().filter(|guide| guide.is_for_operators) {
        write_guide(guide, &mut out);
    }
    for tag in tags.iter().filter(|tag| is_old(tag)) {
        write_tag(tag, &mut out);
    }
    out
}

/// All of it but what is optional.
pub(super) fn full(document: &Value) -> String {
    let tags = entries(document, "/tags").iter().filter(|tag| !is_old(tag));
    let guides = GUIDES.iter().filter(|guide| !guide.is_for_operators);
    let parts: Vec<String> = std::iter::once(markdown::introduction(document))
        .chain(guides.map(Guide::markdown))
        .chain(tags.map(|tag| markdown::tag(document, tag)))
        .collect();
    parts.join("\n---\n\n")
}

fn write_tag(tag: &Value, out: &mut String) {
    let name = text(tag, "/name");
    let _ = writeln!(out, "- [{name}](docs/{}.md): {}", slug(name), text(tag, "/description"));
}

fn write_guide(guide: &Guide, out: &mut String) {
    let _ = writeln!(out, "- [{}](docs/{}.md): {}", guide.title(), guide.name, guide.about);
}
