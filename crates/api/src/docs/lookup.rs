//! What the page looks up in the document, and how it writes its lines.

use maud::{Markup, html};
use serde_json::Value;

/// A line of text, with `code` and **weight**.
pub(super) fn inline(text: &str) -> Markup {
    html! {
        @for (index, part) in text.split('`').enumerate() {
            @if index % 2 == 1 { code { (part) } }
            @else {
                @for (index, part) in part.split("**").enumerate() {
                    @if index % 2 == 1 { strong { (part) } } @else { (part) }
                }
            }
        }
    }
}

pub(super) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn entries<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

pub(super) fn fields<'v>(value: &'v Value, pointer: &str) -> impl Iterator<Item = (&'v String, &'v Value)> {
    value.pointer(pointer).and_then(Value::as_object).into_iter().flatten()
}

/// What a reference stands for, or the thing itself.
pub(super) fn resolve<'v>(document: &'v Value, value: &'v Value) -> &'v Value {
    let reference = value.get("$ref").and_then(Value::as_str);
    reference.and_then(|reference| document.pointer(reference.strip_prefix('#')?)).unwrap_or(value)
}
