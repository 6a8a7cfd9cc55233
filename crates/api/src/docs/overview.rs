//! The first page: what holds for all operations, and where to find each.

use maud::{Markup, html};
use serde_json::Value;

use super::article::{badge, path_markup, prose};
use super::guides::GUIDES;
use super::lookup::{entries, text};
use super::operations::{operations, slug};

pub(super) fn main(document: &Value) -> Markup {
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
        section.tag {
            h2 { "Guides" }
            ul.overview {
                @for guide in GUIDES { li { a href={ "docs/" (guide.name) } { (guide.title()) } } }
            }
        }
        @for tag in entries(document, "/tags") { (tag_list(document, tag)) }
    }
}

fn tag_list(document: &Value, tag: &Value) -> Markup {
    let name = text(tag, "/name");
    let part = slug(name);
    html! {
        section.tag id={ "tag-" (part) } {
            h2 { a.anchor href={ "docs/" (part) } { (name) } }
            (prose(text(tag, "/description")))
            ul.overview {
                @for operation in operations(document, name) {
                    li id=(operation.id()) {
                        a href={ "docs/" (part) "#" (operation.id()) } { (text(operation.value, "/summary")) }
                        span.route { (badge(operation.method)) code { (path_markup(operation.path)) } }
                    }
                }
            }
        }
    }
}
