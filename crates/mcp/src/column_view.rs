//! Columns as an agent sees them: by header, with flat settings.

use rowmill_model::corrections::to_document;
use rowmill_model::reference::{Reference, for_each_template, rewrite};
use rowmill_model::template::{Catalogue, Template};
use rowmill_model::{Column, Table};
use serde_json::{Map, Value, json};

use crate::answer_size::put;
use crate::column_settings::{OPTIONS, defaults, of_document};
use crate::selection::named_filters;
use crate::value_text::cut_texts;

/// Longer texts are cut where a whole table is described.
const TEXT_CHARS_MAX: usize = 200;

/// A column in short: what differs from a new one of its kind, with long texts cut.
pub(crate) fn brief(table: &Table, column: &Column) -> Value {
    let mut shown = whole(table, column);
    let template = Template::of(column);
    let usual = defaults(template, &Catalogue::default());
    if let Some(settings) = shown.get_mut("settings").and_then(Value::as_object_mut) {
        settings.retain(|name, value| usual.get(name) != Some(value));
        // Finders that are switched off say nothing.
        if let Some(Value::Array(finders)) = settings.get_mut("providers") {
            finders.retain(|finder| finder.get("enabled") != Some(&Value::Bool(false)));
        }
    }
    if let Value::Object(fields) = &mut shown {
        fields.remove("options");
        fields.retain(|_, value| !is_empty(value));
    }
    cut_texts(&mut shown, TEXT_CHARS_MAX);
    if let Some(reason) = column.disabled_reason() {
        // What to do stands at its end.
        put(&mut shown, "disabled", reason.into());
    }
    shown
}

/// A column with all its settings.
pub(crate) fn whole(table: &Table, column: &Column) -> Value {
    let template = Template::of(column);
    let named = by_header(table, column);
    let document = to_document(table, &named);
    let header_of = |id: &str| table.by_id(id).map_or_else(|| id.to_owned(), |other| other.header.clone());
    let waits_for: Vec<String> =
        column.dependencies.iter().map(|dependency| header_of(dependency.column_id.as_str())).collect();
    let mut shown = json!({
        "header": column.header,
        "id": column.id.as_str(),
        "kind": template.id,
        "settings": of_document(template, &document),
        "waitsFor": waits_for,
    });
    let Some(fields) = shown.as_object_mut() else { return shown };
    if let Some(condition) = document.get("runCondition").filter(|condition| !is_empty(condition)) {
        fields.insert("runIf".to_owned(), named_filters(table, condition.clone()));
    }
    if let Some(reason) = column.disabled_reason() {
        fields.insert("disabled".to_owned(), reason.into());
    }
    if let Some(format) = document.get("format") {
        fields.insert("format".to_owned(), format.clone());
    }
    let options = OPTIONS.iter().filter(|name| !matches!(**name, "dependencies" | "format"));
    let options: Map<String, Value> = options
        .filter_map(|name| Some(((*name).to_owned(), document.get(*name)?.clone())))
        .filter(|(_, value)| !value.is_null())
        .collect();
    if column.kind.is_processed() {
        fields.insert("options".to_owned(), Value::Object(options));
    }
    fields.retain(|_, value| !is_empty(value));
    shown
}

/// The column, with headers in place of the ids it refers to.
fn by_header(table: &Table, column: &Column) -> Column {
    let mut named = column.clone();
    // A header with a brace in it would end the reference early.
    let header = |id: &str| {
        table
            .by_id(id)
            .map(|column| column.header.as_str())
            .filter(|header| !header.contains(['{', '}', '@']))
    };
    for_each_template(&mut named, |text| {
        if text.contains("@{") {
            *text = rewrite(text, |inner| match Reference::read(inner) {
                Reference::Column { id, path } => {
                    Some(Reference::Column { id: header(id).unwrap_or(id), path }.inner())
                }
                Reference::Secret { .. } => Some(inner.to_owned()),
            });
        }
    });
    if let Some(config) = &mut named.reference_config
        && let Some(header) = header(&config.column_id)
    {
        header.clone_into(&mut config.column_id);
    }
    named
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::corrections::create;
    use rowmill_model::{ColumnId, Limits};

    use super::*;

    #[test]
    fn references_are_shown_by_header() {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_1"), "First name");
        let body = json!({
            "templateId": "ai-text", "header": "Greeting",
            "aiConfig": { "prompt": format!("Greet @{{First name}} {}", "x".repeat(500)) },
            "runCondition": [{ "columnId": "col_1", "operator": "isNotEmpty" }],
        });
        let body = body.as_object().unwrap();
        let made =
            create(&table, body, ColumnId::new("col_2"), &Catalogue::default(), &Limits::default()).unwrap();
        let column = made.table.by_id("col_2").unwrap();
        let shown = whole(&made.table, column);
        let prompt = shown["settings"]["prompt"].as_str().unwrap();
        assert!(prompt.starts_with("Greet @{First name} xxx"), "{prompt}");
        assert_eq!(shown["waitsFor"], json!(["First name"]));
        assert_eq!(shown["runIf"], json!([{ "column": "First name", "operator": "isNotEmpty" }]));
        let brief = brief(&made.table, column);
        assert_eq!(brief["settings"]["prompt"].as_str().unwrap().chars().count(), TEXT_CHARS_MAX + 1);
        assert_eq!(brief.get("options"), None);
    }
}
