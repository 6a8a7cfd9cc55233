//! The document as a page to read: made on the server, complete in itself, no script, no other host.

mod lookup;
mod schema;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use self::lookup::{entries, fields, inline, resolve, text};

const STYLE: &str = include_str!("docs/style.css");

pub(crate) struct Page {
    pub html: String,
    /// Allows this page its own style and nothing else.
    pub content_security_policy: String,
}

pub(crate) fn page(document: &Value) -> Page {
    let hash = BASE64_STANDARD.encode(Sha256::digest(STYLE));
    let content_security_policy = format!(
        "default-src 'none'; style-src 'sha256-{hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    );
    let title = text(document, "/info/title");
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " API" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to content" }
                (sidebar(document))
                main id="main" {
                    (introduction(document))
                    @for tag in entries(document, "/tags") { (tag_section(document, tag)) }
                }
            }
        }
    };
    Page { html: html.into_string(), content_security_policy }
}

fn sidebar(document: &Value) -> Markup {
    html! {
        nav.sidebar aria-label="Operations" {
            a.brand href="#main" {
                span.mark aria-hidden="true" {}
                span { (text(document, "/info/title")) }
                span.version { (text(document, "/info/version")) }
            }
            @for tag in entries(document, "/tags") {
                @let name = text(tag, "/name");
                h2 { a href={ "#tag-" (slug(name)) } { (name) } }
                ul {
                    @for operation in operations(document, name) {
                        li {
                            a href={ "#" (operation.id()) } {
                                (badge(operation.method))
                                span { (text(operation.value, "/summary")) }
                            }
                        }
                    }
                }
            }
            a.raw href="/openapi.json" { "openapi.json" }
        }
    }
}

fn introduction(document: &Value) -> Markup {
    html! {
        header.introduction {
            h1 { (text(document, "/info/title")) " API" }
            p.facts {
                span.pill { "Version " (text(document, "/info/version")) }
                span.pill { "OpenAPI " (text(document, "/openapi")) }
                span.pill { (text(document, "/info/license/name")) }
            }
            (prose(text(document, "/info/description")))
        }
    }
}

fn tag_section(document: &Value, tag: &Value) -> Markup {
    let name = text(tag, "/name");
    html! {
        section.tag id={ "tag-" (slug(name)) } {
            h2 { (name) }
            (prose(text(tag, "/description")))
            @for operation in operations(document, name) { (article(document, &operation)) }
        }
    }
}

/// One operation and where it is mounted.
struct Operation<'d> {
    method: &'d str,
    path: &'d str,
    value: &'d Value,
}

impl<'d> Operation<'d> {
    fn id(&self) -> &'d str {
        text(self.value, "/operationId")
    }
}

fn operations<'d>(document: &'d Value, tag: &str) -> Vec<Operation<'d>> {
    let mut found = Vec::new();
    for (path, item) in fields(document, "/paths") {
        for (method, value) in item.as_object().into_iter().flatten() {
            if text(value, "/tags/0") == tag {
                found.push(Operation { method, path, value });
            }
        }
    }
    found
}

fn article(document: &Value, operation: &Operation<'_>) -> Markup {
    let Operation { method, path, value } = *operation;
    let needs_key = value.pointer("/security/0").is_some();
    html! {
        article.operation id=(operation.id()) {
            h3 {
                a.anchor href={ "#" (operation.id()) } { (text(value, "/summary")) }
            }
            p.route {
                (badge(method)) code { (path_markup(path)) }
                @if needs_key { span.pill title="Send Authorization: Bearer <key>" { "API key" } }
            }
            (prose(text(value, "/description")))
            div.columns {
                div.reference {
                    (parameters(document, value))
                    (request_body(document, value))
                    (answers(document, value))
                }
                div.samples { (samples(operation)) }
            }
        }
    }
}

fn parameters(document: &Value, operation: &Value) -> Markup {
    let parameters: Vec<_> =
        entries(operation, "/parameters").iter().map(|parameter| resolve(document, parameter)).collect();
    html! {
        @if !parameters.is_empty() {
            h4 { "Parameters" }
            ul.fields {
                @for parameter in parameters { (schema::parameter(parameter)) }
            }
        }
    }
}

fn request_body(document: &Value, operation: &Value) -> Markup {
    let Some(body) = operation.get("requestBody") else { return html! {} };
    let is_required = body.get("required").and_then(Value::as_bool).unwrap_or(false);
    html! {
        h4 { "Body" @if !is_required { span.optional { "optional" } } }
        @if let Some(schema) = body.pointer("/content/application~1json/schema") {
            (schema::tree(document, schema))
        } @else {
            @for (media_type, _) in fields(body, "/content") { p.media { code { (media_type) } } }
        }
    }
}

fn answers(document: &Value, operation: &Value) -> Markup {
    html! {
        h4 { "Responses" }
        @for (status, response) in fields(operation, "/responses") {
            @let is_shared = response.get("$ref").is_some();
            @let response = resolve(document, response);
            @if !is_shared {
                p.status { (status_badge(status)) (inline(text(response, "/description"))) }
                @if let Some((media_type, media)) = fields(response, "/content").next() {
                    @if media_type == "application/json" {
                        @if let Some(schema) = media.get("schema") { (schema::tree(document, schema)) }
                    } @else {
                        p.media { code { (media_type) } }
                    }
                }
            }
        }
        details.failures {
            summary { "Errors" }
            @for (status, response) in fields(operation, "/responses").filter(|(_, response)| response.get("$ref").is_some()) {
                p.status { (status_badge(status)) (inline(text(resolve(document, response), "/description"))) }
            }
        }
    }
}

fn samples(operation: &Operation<'_>) -> Markup {
    let body = operation.value.pointer("/requestBody/content/application~1json/example");
    let answer = fields(operation.value, "/responses").find_map(|(status, response)| {
        Some((status, response.pointer("/content/application~1json/example")?))
    });
    html! {
        figure {
            figcaption { "Request" }
            pre tabindex="0" { code { (curl(operation, body)) } }
        }
        @if let Some((status, example)) = answer {
            figure {
                figcaption { "Answer " (status_badge(status)) }
                pre tabindex="0" { code { (pretty(example)) } }
            }
        }
    }
}

/// A command that can be pasted into a shell once the capitals are filled in.
fn curl(operation: &Operation<'_>, body: Option<&Value>) -> String {
    let method = operation.method.to_ascii_uppercase();
    let mut path = operation.path.to_owned();
    for parameter in entries(operation.value, "/parameters") {
        if text(parameter, "/in") == "path"
            && let Some(example) = parameter.get("example").and_then(Value::as_str)
        {
            path = path.replace(&format!("{{{}}}", text(parameter, "/name")), example);
        }
    }
    let mut lines = vec![match method.as_str() {
        "GET" => format!("curl \"$ROWMILL{path}\""),
        _ => format!("curl -X {method} \"$ROWMILL{path}\""),
    }];
    if operation.value.pointer("/security/0").is_some() {
        lines.push("  -H \"Authorization: Bearer $ROWMILL_KEY\"".to_owned());
    }
    if let Some(body) = body {
        lines.push("  -H \"Content-Type: application/json\"".to_owned());
        lines.push(format!("  -d '{}'", pretty(body).replace('\'', r"'\''")));
    }
    lines.join(" \\\n")
}

fn badge(method: &str) -> Markup {
    html! { span class={ "method " (method) } { (method.to_ascii_uppercase()) } }
}

fn status_badge(status: &str) -> Markup {
    let family = status.get(..1).unwrap_or_default();
    html! { span class={ "code code-" (family) } { (status) } }
}

fn path_markup(path: &str) -> Markup {
    html! {
        @for segment in path.split_inclusive('/') {
            @if segment.starts_with('{') { span.variable { (segment.trim_end_matches('/')) } @if segment.ends_with('/') { "/" } }
            @else { (segment) }
        }
    }
}

/// Paragraphs, with `code` and **weight**: all the markup that descriptions use.
fn prose(text: &str) -> Markup {
    html! {
        @for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) { p { (inline(paragraph)) } }
    }
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn slug(name: &str) -> String {
    name.to_ascii_lowercase().replace(' ', "-")
}
