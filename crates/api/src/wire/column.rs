//! Columns on the wire. `column_schema` describes them.

use rowmill_app::Caller;
use rowmill_model::corrections::ColumnField;
use rowmill_model::template::Template;
use rowmill_model::value::{member, quote_long_numbers};
use rowmill_model::{Column, ColumnType, DataShape, Table, corrections};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::error::Error;

/// A column with its whole configuration.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct ColumnFull(Map<String, Value>);

impl ColumnFull {
    pub(crate) fn new(table: &Table, column: &Column) -> Self {
        Self(corrections::to_document(table, column))
    }
}

impl ColumnFull {
    /// As this caller may see it: people without a key see what a column does, but not what it is done with.
    pub(crate) fn seen_by(caller: Caller, table: &Table, column: &Column) -> Self {
        let mut full = Self::new(table, column);
        if matches!(caller, Caller::Anyone(_)) {
            hide_values(&mut full.0);
        }
        full
    }
}

impl ColumnFull {
    /// As a version shows it.
    pub(crate) fn in_version(mut self, has_formats: bool) -> Self {
        if !has_formats {
            self.0.shift_remove(ColumnField::Format.name());
        }
        self
    }
}

/// Refuses the type of values in a version that knows none.
pub(crate) fn check_version(body: &Map<String, Value>, has_formats: bool) -> Result<(), Error> {
    let name = ColumnField::Format.name();
    if has_formats || !body.contains_key(name) {
        return Ok(());
    }
    Err(Error::offence(name, "is not a known field; version 4 of the API knows it"))
}

const HIDDEN: &str = "***";

/// Hides what may be a credential: the values of headers, query and body of a request, and parts of addresses.
fn hide_values(column: &mut Map<String, Value>) {
    if let Some(Value::Object(request)) = column.get_mut("apiConfig") {
        for name in ["headers", "query"] {
            let Some(Value::Object(values)) = request.get_mut(name) else { continue };
            values.values_mut().for_each(|value| *value = HIDDEN.into());
        }
        if let Some(body) = request.get_mut("body").filter(|body| !body.is_null()) {
            *body = HIDDEN.into();
        }
        if let Some(url) = request.get_mut("url") {
            hide_in_url(url);
        }
    }
    // What is written, and where to, is not for those who can see only this project.
    let fan_out = column.get_mut("taskConfig").and_then(|task| task.get_mut("fanOut"));
    if let Some(Value::Object(fan_out)) = fan_out {
        for name in ["targetProjectId", "matchOn"] {
            fan_out.insert(name.to_owned(), HIDDEN.into());
        }
        fan_out.insert("mapping".to_owned(), Value::Object(Map::new()));
    }
    let scraper = column.get_mut("taskConfig").and_then(|task| task.get_mut("webScraper"));
    if let Some(url) = scraper.and_then(|scraper| scraper.get_mut("url")) {
        hide_in_url(url);
    }
}

fn hide_in_url(url: &mut Value) {
    if let Value::String(url) = url {
        *url = hidden_url(url);
    }
}

/// An address without `user:password@` and without the values of its query. It may have references such as `@{col}`.
fn hidden_url(url: &str) -> String {
    let (rest, fragment) = url.split_once('#').map_or((url, ""), |(rest, fragment)| (rest, fragment));
    let (place, query) = rest.split_once('?').map_or((rest, None), |(place, query)| (place, Some(query)));
    let start = place.find("://").map_or(0, |at| at + "://".len());
    let (scheme, place) = place.split_at(start);
    let (authority, path) = place.split_at(place.find('/').unwrap_or(place.len()));
    // What follows the last `@` is the host, unless that begins a reference.
    let host = match authority.rsplit_once('@') {
        Some((_, host)) if !host.starts_with('{') => format!("{HIDDEN}@{host}"),
        Some((user, reference)) if user.rsplit_once('@').is_some_and(|(_, rest)| !rest.starts_with('{')) => {
            format!("{HIDDEN}@@{reference}")
        }
        _ => authority.to_owned(),
    };
    let hide = |pair: &str| match pair.split_once('=') {
        Some((name, _)) => format!("{name}={HIDDEN}"),
        None => HIDDEN.to_owned(),
    };
    let query = query.map(|query| format!("?{}", query.split('&').map(hide).collect::<Vec<_>>().join("&")));
    let fragment = if fragment.is_empty() { String::new() } else { format!("#{HIDDEN}") };
    format!("{scheme}{host}{path}{}{fragment}", query.unwrap_or_default())
}

impl MadeColumn for ColumnFull {
    /// Only versions before 4 answer whole columns; these know no formats.
    fn of(table: &Table, column: &Column) -> Self {
        Self::new(table, column).in_version(false)
    }
}

/// What a version answers when a column is made.
pub(crate) trait MadeColumn: Serialize + JsonSchema + Send {
    fn of(table: &Table, column: &Column) -> Self;
}

/// A column to be made, as it was sent.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnCreate(#[serde(deserialize_with = "exact_condition")] pub(crate) Map<String, Value>);

/// A change to a column, as it was sent.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct ColumnPatch(#[serde(deserialize_with = "exact_condition")] pub(crate) Map<String, Value>);

/// Reads a column whose `runCondition` keeps all digits of its numbers.
fn exact_condition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let raw = Box::<RawValue>::deserialize(deserializer)?;
    let mut column: Map<String, Value> = serde_json::from_str(raw.get()).map_err(D::Error::custom)?;
    if let Some(condition) = column.get_mut("runCondition")
        && let Some(raw) = member(raw.get(), "runCondition")
    {
        *condition = serde_json::from_str(&quote_long_numbers(raw)).map_err(D::Error::custom)?;
    }
    Ok(column)
}

/// The fields of a new column that v4 returns.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ColumnBrief {
    #[schemars(length(max = 64))]
    id: String,
    #[schemars(length(min = 1, max = 255))]
    header: String,
    #[serde(rename = "type")]
    kind: ColumnType,
    data_shape: DataShape,
    order: usize,
}

impl MadeColumn for ColumnBrief {
    fn of(table: &Table, column: &Column) -> Self {
        Self {
            id: column.id.to_string(),
            header: column.header.clone(),
            kind: column.kind,
            data_shape: column.data_shape,
            order: table.position(column.id.as_str()).unwrap_or_default(),
        }
    }
}

/// A column template.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Template")]
pub(crate) struct TemplateItem {
    /// Pass this as `templateId` to create a column.
    #[schemars(length(max = 64))]
    id: &'static str,
    #[schemars(length(max = 255))]
    label: &'static str,
    #[schemars(length(max = 1_000))]
    description: &'static str,
    #[serde(rename = "type")]
    kind: ColumnType,
    data_shape: DataShape,
}

impl TemplateItem {
    pub(crate) fn new(template: &Template, word: &'static str) -> Self {
        let Template { id: _, v3_id: _, label, description, kind, data_shape } = template;
        Self { id: word, label, description, kind: *kind, data_shape: *data_shape }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn addresses_lose_what_may_be_a_credential() {
        for (url, expected) in [
            ("https://a.example/b", "https://a.example/b"),
            ("https://u:p@a.example/b?key=k&q=@{col}&flag", "https://***@a.example/b?key=***&q=***&***"),
            ("https://k@a.example", "https://***@a.example"),
            ("https://@{col}/b", "https://@{col}/b"),
            ("https://u:p@@{col}/b", "https://***@@{col}/b"),
            ("https://a.example/u@b", "https://a.example/u@b"),
            ("https://a.example/#token=1", "https://a.example/#***"),
            ("@{col}", "@{col}"),
            ("", ""),
        ] {
            assert_eq!(hidden_url(url), expected, "{url}");
        }
    }

    #[test]
    fn targets_of_fan_outs_are_hidden() {
        let column = json!({ "taskConfig": { "taskType": "fanOut", "fanOut": {
            "list": "@{a}", "targetProjectId": "p", "mapping": { "c": "$" }, "matchOn": "c", "limit": 5,
        }}});
        let Value::Object(mut column) = column else { panic!("an object") };
        hide_values(&mut column);
        assert_eq!(
            column["taskConfig"]["fanOut"],
            json!({ "list": "@{a}", "targetProjectId": "***", "mapping": {}, "matchOn": "***", "limit": 5 })
        );
    }

    #[test]
    fn values_of_requests_are_hidden_and_names_shown() {
        let column = json!({ "apiConfig": {
            "method": "POST", "url": "https://a.example?k=1", "headers": { "X-Key": "s" }, "query": { "q": "s" },
            "body": { "deep": ["s"] },
        }});
        let Value::Object(mut column) = column else { panic!("an object") };
        hide_values(&mut column);
        assert_eq!(
            column["apiConfig"],
            json!({
                "method": "POST", "url": "https://a.example?k=***", "headers": { "X-Key": "***" },
                "query": { "q": "***" }, "body": "***",
            })
        );
    }
}
