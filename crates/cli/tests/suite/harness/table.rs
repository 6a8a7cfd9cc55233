//! A project of a scenario's own, and the calls that most scenarios make on it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::api::{Answer, Api};
use super::http::Request;

pub(crate) struct Table {
    pub(crate) api: Api,
    pub(crate) id: String,
    columns: BTreeMap<String, String>,
}

impl Table {
    pub(crate) fn new(api: Api, project: &Value) -> Self {
        let id = project["id"].as_str().unwrap().to_owned();
        let columns = project["columns"].as_array().unwrap().iter().map(|column| {
            let text = |name: &str| column[name].as_str().unwrap().to_owned();
            (text("header"), text("id"))
        });
        Self { id, columns: columns.collect(), api }
    }

    /// The id of a column it was made with.
    #[track_caller]
    pub(crate) fn column(&self, header: &str) -> &str {
        self.columns.get(header).unwrap_or_else(|| panic!("no column {header}"))
    }

    /// The same project through another key or address.
    pub(crate) fn through(&self, api: &Api) -> Self {
        Self { api: api.clone(), id: self.id.clone(), columns: self.columns.clone() }
    }

    /// The path of something in this project; `""` is the project itself.
    pub(crate) fn path(&self, rest: &str) -> String {
        self.api.path_in(&self.id, rest)
    }

    pub(crate) fn get(&self, rest: &str) -> Answer {
        self.api.get(self.path(rest))
    }

    pub(crate) fn post(&self, rest: &str, body: Value) -> Answer {
        self.api.post(self.path(rest), body)
    }

    pub(crate) fn patch(&self, rest: &str, body: Value) -> Answer {
        self.api.patch(self.path(rest), body)
    }

    pub(crate) fn delete(&self, rest: &str) -> Answer {
        self.api.delete(self.path(rest))
    }

    pub(crate) fn delete_rows(&self, ids: &[impl AsRef<str>]) -> Answer {
        let ids: Vec<&str> = ids.iter().map(AsRef::as_ref).collect();
        self.api.send(Request::new("DELETE", self.path("/rows")).json(&json!({ "rowIds": ids })))
    }

    /// A POST of text as it is.
    pub(crate) fn post_text(&self, rest: &str, body: &str) -> Answer {
        self.api.send(Request::post(self.path(rest)).text(body))
    }

    pub(crate) fn patch_text(&self, rest: &str, body: &str) -> Answer {
        self.api.send(Request::new("PATCH", self.path(rest)).text(body))
    }

    /// Inserts rows and gives their ids.
    #[track_caller]
    pub(crate) fn insert(&self, rows: Value) -> Vec<String> {
        strings(&self.post("/rows", rows).created()["rows"])
    }

    /// A row's cells in single-read form.
    #[track_caller]
    pub(crate) fn cells(&self, row: &str) -> Value {
        self.get(&format!("/rows/{row}")).ok()["row"]["cells"].clone()
    }

    /// A cell's value.
    #[track_caller]
    pub(crate) fn value(&self, row: &str, column: &str) -> Value {
        self.cells(row)[column]["value"].clone()
    }

    /// A page of rows.
    #[track_caller]
    pub(crate) fn rows(&self, query: &[(&str, &str)]) -> Value {
        self.list(query).ok()
    }

    pub(crate) fn list(&self, query: &[(&str, &str)]) -> Answer {
        self.get(&format!("/rows{}", query_of(query)))
    }

    /// The values of one column in a list.
    #[track_caller]
    pub(crate) fn values(&self, header: &str, query: &[(&str, &str)]) -> Vec<Value> {
        let page = self.rows(query);
        let rows = page["rows"].as_array().unwrap();
        rows.iter().map(|row| row["cells"][self.column(header)].clone()).collect()
    }

    /// The full columns, by order.
    #[track_caller]
    pub(crate) fn columns(&self) -> Vec<Value> {
        self.get("/columns").ok()["columns"].as_array().unwrap().clone()
    }

    #[track_caller]
    pub(crate) fn headers(&self) -> Vec<String> {
        self.columns().iter().map(|column| column["header"].as_str().unwrap().to_owned()).collect()
    }

    /// Adds a column and gives its id.
    #[track_caller]
    pub(crate) fn add_column(&self, body: Value) -> String {
        self.post("/columns", body).created()["column"]["id"].as_str().unwrap().to_owned()
    }

    /// A column as it is now.
    #[track_caller]
    pub(crate) fn full_column(&self, id: &str) -> Value {
        self.columns().into_iter().find(|column| column["id"] == id).unwrap_or_default()
    }
}

/// An array of strings.
#[track_caller]
pub(crate) fn strings(array: &Value) -> Vec<String> {
    array.as_array().unwrap().iter().map(|entry| entry.as_str().unwrap().to_owned()).collect()
}

/// A query string, every character that is not plain percent-encoded.
pub(crate) fn query_of(query: &[(&str, &str)]) -> String {
    let mut text = String::new();
    for (name, value) in query {
        text.push(if text.is_empty() { '?' } else { '&' });
        let _ = write!(text, "{name}={}", encoded(value));
    }
    text
}

pub(crate) fn encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}
