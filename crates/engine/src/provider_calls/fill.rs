//! A column's texts, filled in with a row's values.
//!
//! In text a scalar reads as itself, an object or array as compact JSON, an empty value as `""`. In an
//! address what is filled in is percent-encoded, save at its very beginning, where a reference is the
//! address or its base. In a JSON body a string that is one reference and nothing else becomes the value
//! itself, with its JSON type (`null` where there is none); any other string is text.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use rowmill_model::path::Path;
use rowmill_model::path::allowance::{self, ROW_VISITS_MAX};
use rowmill_model::reference::{Piece, Reference, pieces, whole_reference};
use rowmill_model::row::RowView;
use rowmill_model::value::replace_strings;
use rowmill_model::{CellStates, ErrorCode, Value};
use rowmill_providers::Secret;
use serde_json::Value as Json;

use crate::cell_runner::{CallOutcome, Cell};
use crate::credentials::TeamCredentials;

/// Everything but what an address may hold anywhere without a meaning of its own.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Values are read here, never states.
static NO_STATES: CellStates = CellStates::IDLE;

/// Fills in texts for one row.
pub(super) struct Fill<'a> {
    row: RowView<'a>,
    /// Only an HTTP request may name secrets.
    secrets: Option<&'a TeamCredentials>,
    used: Vec<Secret>,
    unknown: Option<String>,
    /// Whether a value would lead to another place of the server: no encoding keeps `..` from that.
    climbs: bool,
    /// The first reference whose path finds too much.
    too_much: Option<String>,
    /// What the paths of all references may still look at.
    visits_left: usize,
}

impl<'a> Fill<'a> {
    pub(super) fn new(cell: &'a Cell, secrets: Option<&'a TeamCredentials>) -> Result<Self, CallOutcome> {
        let cells = cell.values.cells();
        let cells =
            cells.map_err(|error| CallOutcome::failed(ErrorCode::InvalidInput, format!("{error}.")))?;
        let row = RowView::new(&cell.project.table, cells, &NO_STATES);
        Ok(Self {
            row,
            secrets,
            used: Vec::new(),
            unknown: None,
            climbs: false,
            too_much: None,
            visits_left: ROW_VISITS_MAX,
        })
    }

    pub(super) fn text(&mut self, template: &str) -> String {
        let mut out = String::with_capacity(template.len());
        for piece in pieces(template) {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Reference(inner) => out.push_str(&self.value_text(inner)),
            }
        }
        out
    }

    pub(super) fn address(&mut self, template: &str) -> String {
        let mut out = String::with_capacity(template.len());
        for piece in pieces(template.trim_start()) {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Reference(inner) => {
                    let text = self.value_text(inner);
                    if out.is_empty() {
                        out.push_str(text.trim());
                    } else {
                        self.climbs |= matches!(text.as_str(), "." | "..");
                        out.extend(utf8_percent_encode(&text, ENCODED));
                    }
                }
            }
        }
        out
    }

    /// JSON text with its strings filled in; one that is nothing but a reference becomes the value it leads to.
    pub(super) fn json(&mut self, template: &str) -> String {
        replace_strings(template, |text| text.contains("@{").then(|| self.json_text(text))).into_owned()
    }

    /// One string of it.
    pub(super) fn json_text(&mut self, text: &str) -> String {
        match whole_reference(text) {
            Some(inner) => self.value_json(inner),
            None => Json::from(self.text(text)).to_string(),
        }
    }

    /// Refuses texts with a reference that could not be filled in.
    pub(super) fn check(&self) -> Result<(), CallOutcome> {
        match &self.too_much {
            None => Ok(()),
            Some(message) => Err(CallOutcome::failed(ErrorCode::TooLarge, message.clone())),
        }
    }

    /// The secrets that were filled in, or the one that is unknown.
    pub(super) fn into_secrets(self) -> Result<Vec<Secret>, CallOutcome> {
        self.check()?;
        match self.unknown {
            None if self.climbs => {
                let message = "A value in the URL is `.` or `..`, which would change the path.";
                Err(CallOutcome::failed(ErrorCode::InvalidInput, message))
            }
            None => Ok(self.used),
            Some(name) => {
                let message = format!("The team has no secret named `{name}`. Add it in the settings.");
                Err(CallOutcome::failed(ErrorCode::MissingCredentials, message))
            }
        }
    }

    /// What a reference reads as in text.
    pub(super) fn value_text(&mut self, inner: &str) -> String {
        match Reference::read(inner) {
            Reference::Column { id, path } => {
                let raw = self.raw(id, path);
                raw.map(|raw| Value::parse(&raw).text().into_owned()).unwrap_or_default()
            }
            Reference::Secret { name } => self.secret(name),
        }
    }

    /// What a reference reads as in JSON; `null` where there is nothing.
    pub(super) fn value_json(&mut self, inner: &str) -> String {
        match Reference::read(inner) {
            Reference::Column { id, path } => {
                self.raw(id, path).map_or_else(|| "null".to_owned(), Cow::into_owned)
            }
            Reference::Secret { name } => Json::from(self.secret(name)).to_string(),
        }
    }

    /// The raw JSON a reference leads to.
    fn raw(&mut self, id: &str, path: &str) -> Option<Cow<'a, str>> {
        let (raw, visits) = allowance::within(self.visits_left, || self.find(id, path));
        self.visits_left -= visits;
        raw
    }

    fn find(&mut self, id: &str, path: &str) -> Option<Cow<'a, str>> {
        let column = self.row.table().by_id(id)?;
        let Some(value) = self.row.value(column) else {
            if let Some(error) = self.row.too_much_found(column) {
                let header = &column.header;
                let message = || format!("The path of the reference column \"{header}\" {error}.");
                self.too_much.get_or_insert_with(message);
            }
            return None;
        };
        if path.is_empty() {
            return Some(value);
        }
        match Path::parse(path).ok()?.find(&value) {
            Ok(found) => found.map(|found| Cow::Owned(found.into_owned())),
            Err(error) => {
                let message =
                    || format!("The path `{path}` of a reference to \"{}\" {error}.", column.header);
                self.too_much.get_or_insert_with(message);
                None
            }
        }
    }

    fn secret(&mut self, name: &str) -> String {
        let Some(credentials) = self.secrets else { return String::new() };
        let Some(secret) = credentials.secrets.get(name) else {
            self.unknown.get_or_insert_with(|| name.to_owned());
            return String::new();
        };
        self.used.push(secret.clone());
        secret.expose().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::provider_calls::tests::cell_of;

    fn credentials() -> TeamCredentials {
        let secrets = [("TOKEN".to_owned(), Secret::new("s3 cret"))].into();
        TeamCredentials { secrets, ..TeamCredentials::default() }
    }

    fn cell() -> Cell {
        let row = json!({"name": "Ada & Bob/Ö", "n": 1.50, "deep": {"a": [1, {"b": "x"}]}, "none": null});
        cell_of(&[(0, &row.to_string()), (1, "\"https://example.com/a\""), (2, "12345678901234567890")])
    }

    #[test]
    fn texts_read_values_as_people_do() {
        let cell = cell();
        let mut fill = Fill::new(&cell, None).unwrap();
        for (template, expected) in [
            ("Hello", "Hello"),
            ("Hi @{_trigger.name}!", "Hi Ada & Bob/Ö!"),
            ("@{_trigger.deep}", r#"{"a":[1,{"b":"x"}]}"#),
            ("@{_trigger.deep.a[1].b}@{_trigger.n}", "x1.5"),
            ("@{b}", "12345678901234567890"),
            ("[@{_trigger.none}@{_trigger.missing}@{gone}@{secret.TOKEN}]", "[]"),
            ("@{open", "@{open"),
        ] {
            assert_eq!(fill.text(template), expected, "{template}");
        }
    }

    #[test]
    fn a_path_that_finds_too_much_is_told() {
        let deep = format!("{}{}{}", "[".repeat(58), vec!["0"; 1_000].join(","), "]".repeat(58));
        let cell = cell_of(&[(0, &deep)]);
        let mut fill = Fill::new(&cell, None).unwrap();
        assert_eq!(fill.text("a@{_trigger.$..x}b"), "ab");
        assert!(fill.check().is_ok(), "it finds nothing");
        let many = format!("@{{_trigger.$..*..[{}]}}", vec!["*"; 64].join(","));
        assert_eq!(fill.text(&many), "");
        let Err(CallOutcome::Failed(call_failure)) = fill.check() else { panic!("it finds too much") };
        assert_eq!(call_failure.error.code, ErrorCode::TooLarge);
        assert!(call_failure.error.message.contains("finds too much"), "{}", call_failure.error.message);
    }

    #[test]
    fn addresses_are_encoded_but_for_their_base() {
        let cell = cell();
        let mut fill = Fill::new(&cell, None).unwrap();
        for (template, expected) in [
            ("@{a}", "https://example.com/a"),
            ("@{a}/x?q=@{_trigger.name}", "https://example.com/a/x?q=Ada%20%26%20Bob%2F%C3%96"),
            ("https://x/@{a}", "https://x/https%3A%2F%2Fexample.com%2Fa"),
        ] {
            assert_eq!(fill.address(template), expected, "{template}");
        }
    }

    #[test]
    fn bodies_keep_the_types_of_values() {
        let cell = cell();
        let credentials = credentials();
        let mut fill = Fill::new(&cell, Some(&credentials)).unwrap();
        let template = json!({
            "whole": "@{b}", "deep": "@{_trigger.deep}", "text": "<@{b}>", "none": "@{_trigger.none}",
            "@{b}": [1, true, null, "@{secret.TOKEN}"]
        });
        let expected = r#"{"whole":12345678901234567890,"deep":{"a":[1,{"b":"x"}]},"text":"<12345678901234567890>","none":null,"@{b}":[1,true,null,"s3 cret"]}"#;
        assert_eq!(fill.json(&template.to_string()), expected);
        assert_eq!(fill.json(r#"[1.10,"@{b}"]"#), "[1.10,12345678901234567890]");
        assert_eq!(fill.into_secrets().unwrap(), [Secret::new("s3 cret")]);
    }

    #[test]
    fn an_unknown_secret_is_named() {
        let cell = cell();
        let credentials = credentials();
        let mut fill = Fill::new(&cell, Some(&credentials)).unwrap();
        assert_eq!(fill.text("a@{secret.OTHER}b"), "ab");
        let Err(CallOutcome::Failed(call_failure)) = fill.into_secrets() else { panic!("it is unknown") };
        assert_eq!(call_failure.error.code, ErrorCode::MissingCredentials);
        assert!(call_failure.error.message.contains("`OTHER`"));
    }
}
