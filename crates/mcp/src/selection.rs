//! `where` and `sort`: the filters and the sorting of a view, with headers in place of ids.

use rowmill_model::limits::FILTER_DEPTH_MAX;
use rowmill_model::{Offence, Table, View};
use serde_json::{Map, Value, json};

use crate::arguments::{Arguments, unknown_name};
use crate::names;
use crate::refusal::Refusal;

/// Which rows a tool is about.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) view_id: Option<String>,
    pub(crate) filters: Option<Value>,
    pub(crate) sorting: Option<Value>,
    pub(crate) search: Option<String>,
}

impl Chosen {
    /// Reads `view`, `where`, `sort` and `search`.
    pub(crate) fn read(arguments: &mut Arguments, table: &Table, views: &[View]) -> Self {
        let mut problems = Vec::new();
        let filters =
            arguments.take("where").map(|sent| filters(Some(table), sent, "where", 0, &mut problems));
        let sorting = arguments.take("sort").map(|sent| sorting(table, sent, &mut problems));
        let view_id = arguments.text("view").and_then(|name| {
            let found = views
                .iter()
                .find(|view| view.id.to_string() == name)
                .or_else(|| views.iter().find(|view| view.name.trim().eq_ignore_ascii_case(name.trim())));
            if found.is_none() {
                let names = views.iter().map(|view| view.name.as_str());
                problems.push(unknown_name("view", &name, "a view of this table", names));
            }
            found.map(|view| view.id.to_string())
        });
        arguments.problems(problems);
        Self { view_id, filters, sorting, search: arguments.text("search").filter(|text| !text.is_empty()) }
    }
}

/// Filters that name columns, as filters that name ids. What else is wrong with them, `model` tells. Without a table
/// the names stay: they are of columns that are yet to be made.
pub(crate) fn filters(
    table: Option<&Table>,
    sent: Value,
    path: &str,
    depth: usize,
    problems: &mut Vec<Offence>,
) -> Value {
    let entries = match sent {
        Value::Array(entries) => entries,
        // One condition is a list of one.
        one @ Value::Object(_) => vec![one],
        other => return other,
    };
    let translated = entries.into_iter().enumerate().map(|(index, entry)| {
        let at = format!("{path}[{index}]");
        let Value::Object(mut fields) = entry else { return entry };
        if let Some(inner) = fields.remove("filters").filter(|_| depth <= FILTER_DEPTH_MAX) {
            let inner = filters(table, inner, &format!("{at}.filters"), depth + 1, problems);
            fields.insert("filters".to_owned(), inner);
        }
        name_by_id(table, &mut fields, &at, problems);
        Value::Object(fields)
    });
    Value::Array(translated.collect())
}

fn sorting(table: &Table, sent: Value, problems: &mut Vec<Offence>) -> Value {
    let entries = match sent {
        Value::Array(entries) => entries,
        one => vec![one],
    };
    let translated = entries.into_iter().enumerate().map(|(index, entry)| {
        let mut fields = match entry {
            Value::Object(fields) => fields,
            Value::String(header) => Map::from_iter([("column".to_owned(), header.into())]),
            other => return other,
        };
        fields.entry("direction").or_insert_with(|| json!("asc"));
        name_by_id(Some(table), &mut fields, &format!("sort[{index}]"), problems);
        Value::Object(fields)
    });
    Value::Array(translated.collect())
}

fn name_by_id(table: Option<&Table>, fields: &mut Map<String, Value>, at: &str, problems: &mut Vec<Offence>) {
    let Some(named) = fields.shift_remove("column").or_else(|| fields.get("columnId").cloned()) else {
        return;
    };
    let found = table.zip(named.as_str());
    let id = match found.map(|(table, name)| names::column(table, &format!("{at}.column"), name)) {
        Some(Ok(column)) => column.id.to_string().into(),
        Some(Err(problem)) => {
            problems.push(problem);
            return;
        }
        None => named,
    };
    fields.insert("columnId".to_owned(), id);
}

/// Names the places of problems as the tools do.
pub(crate) fn renamed(path: &str) -> String {
    let begins = [("filters", "where"), ("sorting", "sort"), ("columnIds", "columns"), ("rowIds", "rows")];
    let named =
        begins.iter().find_map(|(theirs, ours)| Some(format!("{ours}{}", path.strip_prefix(theirs)?)));
    named.unwrap_or_else(|| path.to_owned()).replace(".columnId", ".column")
}

/// A use case's refusal, in a tool's words.
pub(crate) fn refused(error: rowmill_app::Error) -> Refusal {
    Refusal::from(error).renamed(renamed)
}

/// Filters with headers in place of ids, to be shown.
pub(crate) fn named_filters(table: &Table, mut filters: Value) -> Value {
    name_by_header(table, &mut filters);
    filters
}

fn name_by_header(table: &Table, value: &mut Value) {
    match value {
        Value::Array(values) => values.iter_mut().for_each(|value| name_by_header(table, value)),
        Value::Object(fields) => {
            if let Some(Value::String(id)) = fields.shift_remove("columnId") {
                let header = table.by_id(&id).map_or(id.as_str(), |column| column.header.as_str());
                fields.shift_insert(0, "column".to_owned(), header.into());
            }
            fields.get_mut("filters").into_iter().for_each(|inner| name_by_header(table, inner));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use rowmill_model::ColumnId;

    use super::*;

    fn table() -> Table {
        let mut table = Table::new();
        table.push_manual(ColumnId::new("col_1"), "City");
        table
    }

    #[test]
    fn headers_become_ids_and_back() {
        let sent = json!([
            { "column": "city", "operator": "equals", "value": "Bern" },
            { "conjunction": "or", "filters": [{ "column": "City", "operator": "isEmpty" }] },
        ]);
        let mut problems = Vec::new();
        let filters = filters(Some(&table()), sent, "where", 0, &mut problems);
        assert_eq!(problems, []);
        let expected = json!([
            { "operator": "equals", "value": "Bern", "columnId": "col_1" },
            { "conjunction": "or", "filters": [{ "operator": "isEmpty", "columnId": "col_1" }] },
        ]);
        assert_eq!(filters, expected);
        assert_eq!(named_filters(&table(), filters)[0]["column"], "City");
        assert_eq!(
            sorting(&table(), json!("City"), &mut problems),
            json!([{ "direction": "asc", "columnId": "col_1" }])
        );
    }

    #[test]
    fn problems_are_told_in_the_tools_words() {
        let mut problems = Vec::new();
        filters(
            Some(&table()),
            json!([{ "column": "Ctiy", "operator": "isEmpty" }]),
            "where",
            0,
            &mut problems,
        );
        assert_eq!(problems[0].path, "where[0].column");
        assert!(problems[0].message.contains("did you mean \"City\"?"));
        assert_eq!(renamed("filters[0].filters[1].columnId"), "where[0].filters[1].column");
        assert_eq!(renamed("sorting[0].direction"), "sort[0].direction");
        assert_eq!(renamed("rowIds[2]"), "rows[2]");
        assert_eq!(renamed("matchOn"), "matchOn");
    }
}
