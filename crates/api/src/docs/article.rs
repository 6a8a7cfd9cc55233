//! The operations of a tag as HTML.

use maud::{Markup, html};
use serde_json::Value;

use super::lookup::{entries, fields, inline, resolve, text};
use super::operations::{Operation, curl, operations, pretty, slug};
use super::schema;

pub(super) fn tag_section(document: &Value, tag: &Value) -> Markup {
    let name = text(tag, "/name");
    html! {
        section.tag id={ "tag-" (slug(name)) } {
            h1 { (name) }
            (prose(text(tag, "/description")))
            @for operation in operations(document, name) { (article(document, &operation)) }
        }
    }
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
    let (body, answer) = operation.examples();
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

pub(super) fn badge(method: &str) -> Markup {
    html! { span class={ "method " (method) } { (method.to_ascii_uppercase()) } }
}

fn status_badge(status: &str) -> Markup {
    let family = status.get(..1).unwrap_or_default();
    html! { span class={ "code code-" (family) } { (status) } }
}

pub(super) fn path_markup(path: &str) -> Markup {
    html! {
        @for segment in path.split_inclusive('/') {
            @if segment.starts_with('{') { span.variable { (segment.trim_end_matches('/')) } @if segment.ends_with('/') { "/" } }
            @else { (segment) }
        }
    }
}

/// Paragraphs, with `code` and **weight**: all the markup that descriptions use.
pub(super) fn prose(text: &str) -> Markup {
    html! {
        @for paragraph in text.split("\n\n").filter(|paragraph| !paragraph.trim().is_empty()) { p { (inline(paragraph)) } }
    }
}
