//! What a request says about the file that it imports, kept with the file if that is read later.

use std::collections::BTreeMap;

use axum::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use rowmill_app::{ImportOptions, Principal};
use rowmill_model::{Format, KeyId, Limits, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::files::delimiter::Delimiter;
use crate::files::empty_cells::EmptyCells;
use crate::files::formulas::Formulas;
use crate::json_guard::guard;

const PREFER: &str = "prefer";

/// What can be said about a file in the query.
#[derive(Debug, Clone, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ImportQuery {
    /// Whether the first line of a CSV file contains column names. Default: true.
    pub(crate) header: Option<bool>,
    /// The cell separator. Default: `auto`, which detects it from the first line, or takes it from a first line
    /// `sep=;` as Excel writes it.
    #[serde(default)]
    #[schemars(with = "Delimiter")]
    pub(crate) delimiter: Option<Delimiter>,
    /// Whether unknown fields become columns. Default: true. Otherwise they are ignored.
    pub(crate) create_columns: Option<bool>,
    /// A JSON object that maps the file's fields (without a header: their positions from 0) to column ids
    /// or headers, or to null to ignore them.
    #[schemars(length(max = 60_000))]
    pub(crate) mapping: Option<String>,
    /// A JSON object with the types of columns that the import makes: fields (without a header: their positions from 0)
    /// to formats, as in a column. `guessFormats` suggests some.
    #[schemars(length(max = 60_000))]
    pub(crate) formats: Option<String>,
    /// A column id or header. A row with the same value in this column is updated instead of inserted.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) match_on: Option<String>,
    /// Set to false to match without regard to letter case and outer blanks. Default: true.
    pub(crate) match_case: Option<bool>,
    /// `clear` makes an empty cell of CSV clear what is stored in a row that `matchOn` finds. `keep` (default)
    /// leaves it.
    #[serde(default)]
    #[schemars(with = "EmptyCells")]
    pub(crate) empty_cells: Option<EmptyCells>,
    /// `neutralize` (default) removes the apostrophe that an export adds to CSV cells that a spreadsheet would
    /// run as formulas. `keep` imports cells unchanged. Other apostrophes are always kept.
    #[serde(default)]
    #[schemars(with = "Formulas")]
    pub(crate) formulas: Option<Formulas>,
    /// Set to true to import in the background: the answer is 202, as soon as the file is here in full. Its `job` says how
    /// the import goes on. `Prefer: respond-async` asks for the same. Default: false.
    #[serde(rename = "async")]
    pub(crate) is_async: Option<bool>,
}

impl ImportQuery {
    pub(crate) fn options(&self, limits: &Limits) -> Result<ImportOptions, Error> {
        Ok(ImportOptions {
            mapping: mapping(self.mapping.as_deref(), limits)?,
            create_columns: self.create_columns.unwrap_or(true),
            formats: formats(self.formats.as_deref(), limits)?,
            match_on: self.match_on.clone(),
            any_case: self.match_case == Some(false),
        })
    }
}

/// How a file is to be read that is kept: who sent it, and what its request said.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileRequest {
    pub(crate) key: KeyId,
    /// What the key could do then.
    pub(crate) scopes: Scopes,
    pub(crate) query: ImportQuery,
    content_type: String,
    content_encoding: Option<String>,
}

impl FileRequest {
    /// `mapping` is what became of the query's.
    pub(crate) fn new(
        principal: Principal,
        query: ImportQuery,
        mapping: &BTreeMap<String, Option<String>>,
        headers: &HeaderMap,
    ) -> Result<Self, Error> {
        let text =
            |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        // Ids: a column that is given another header meanwhile is still the one that was meant.
        let mapping = match &query.mapping {
            Some(_) => Some(serde_json::to_string(mapping).map_err(internal)?),
            None => None,
        };
        Ok(Self {
            key: principal.key,
            scopes: principal.scopes,
            query: ImportQuery { mapping, ..query },
            content_type: text(CONTENT_TYPE).unwrap_or_default(),
            content_encoding: text(CONTENT_ENCODING),
        })
    }

    pub(crate) fn read(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|error| rowmill_app::Error::Damaged(error.to_string()).into())
    }

    pub(crate) fn to_text(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(internal)
    }

    /// The headers that say what the file is.
    pub(crate) fn headers(&self) -> HeaderMap {
        let encoding = self.content_encoding.as_deref().map(|value| (CONTENT_ENCODING, value));
        let all = encoding.into_iter().chain([(CONTENT_TYPE, self.content_type.as_str())]);
        all.filter_map(|(name, value)| Some((name, HeaderValue::from_str(value).ok()?))).collect()
    }
}

fn internal(error: serde_json::Error) -> Error {
    rowmill_app::Error::Internal(error.into()).into()
}

/// Whether a caller would rather not wait (RFC 7240).
pub(crate) fn prefers_async(headers: &HeaderMap) -> bool {
    let sent = headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
    let preferences = sent.flat_map(|value| value.split(','));
    preferences
        .filter_map(|preference| preference.split(';').next())
        .any(|name| name.trim().eq_ignore_ascii_case("respond-async"))
}

fn mapping(text: Option<&str>, limits: &Limits) -> Result<BTreeMap<String, Option<String>>, Error> {
    let Some(text) = text else { return Ok(BTreeMap::new()) };
    let text = guard(text.as_bytes().to_vec(), limits.nesting_max)?;
    serde_json::from_str(&text).map_err(|error| {
        Error::offence(
            "mapping",
            format!("must be a JSON object that maps fields to columns or null, such as {{\"Mail\": \"Email\"}} ({error})"),
        )
    })
}

fn formats(text: Option<&str>, limits: &Limits) -> Result<BTreeMap<String, Format>, Error> {
    let Some(text) = text else { return Ok(BTreeMap::new()) };
    let text = guard(text.as_bytes().to_vec(), limits.nesting_max)?;
    let sent: BTreeMap<String, serde_json::Value> = serde_json::from_str(&text).map_err(|error| {
        Error::offence("formats", format!("must be a JSON object that maps fields to formats, such as {{\"Price\": {{\"type\": \"number\"}}}} ({error})"))
    })?;
    let (mut formats, mut offences) = (BTreeMap::new(), Vec::new());
    for (field, json) in sent {
        match Format::parse(&json, &format!("formats.{field}")) {
            Ok(format) => _ = formats.insert(field, format),
            Err(wrong) => offences.extend(wrong),
        }
    }
    if offences.is_empty() { Ok(formats) } else { Err(rowmill_app::Error::invalid(offences).into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preferences_are_read() {
        let check = |sent: &[&str], expected: bool| {
            let header = |value: &&str| (HeaderName::from_static(PREFER), value.parse().unwrap());
            assert_eq!(prefers_async(&sent.iter().map(header).collect()), expected, "{sent:?}");
        };
        check(&[], false);
        check(&["respond-async"], true);
        check(&["return=minimal", "wait=10, Respond-Async; a=b"], true);
        check(&["respond-asynchronously, handling=lenient"], false);
    }
}
