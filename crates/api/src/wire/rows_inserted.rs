//! The answer to an insert.

use std::collections::BTreeMap;

use rowmill_app::{Inserted, RowAction};
use schemars::JsonSchema;
use serde::Serialize;

use super::leftover::Leftover;

/// The result of an insert.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowsInserted {
    inserted_count: usize,
    /// The row ids, in the order of the request.
    #[schemars(extend("x-limit" = { "maxItems": "insertRowsMax" }), inner(length(max = 36)))]
    rows: Vec<String>,
    /// Present with `matchOn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    updated_count: Option<usize>,
    /// Present with `matchOn`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    unchanged_count: Option<usize>,
    /// Present with `matchOn`: the result for each row of the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<RowResult>")]
    results: Option<Vec<RowResult>>,
    /// Fields that do not name a column and were not stored.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_keys: Vec<String>,
    /// Fields that do not name a column and were stored in `_trigger`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kept_as_input: Vec<String>,
    /// Fields of `keptAsInput` and `ignoredKeys` that may be misspelt, and the headers they resemble.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hints: BTreeMap<String, String>,
    /// What became of fields that may be misspelt, and how to have them refused. Present with `hints`, and with `matchOn` if a
    /// field does not name a column.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    note: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct RowResult {
    /// The row's index in the body.
    index: usize,
    #[schemars(length(max = 36))]
    id: String,
    action: RowActionOut,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "RowAction")]
enum RowActionOut {
    Inserted,
    Updated,
    Unchanged,
}

impl From<RowAction> for RowActionOut {
    fn from(action: RowAction) -> Self {
        match action {
            RowAction::Inserted => Self::Inserted,
            RowAction::Updated => Self::Updated,
            RowAction::Unchanged => Self::Unchanged,
        }
    }
}

impl RowsInserted {
    pub(crate) fn new(inserted: Inserted, match_on: Option<&str>) -> Self {
        let Inserted { rows, ignored_keys, kept_input } = inserted;
        let matched = match_on.is_some();
        let count = |wanted| rows.iter().filter(|(_, action)| *action == wanted).count();
        let leftover = Leftover {
            kept: &kept_input.fields,
            ignored: &ignored_keys,
            hints: &kept_input.hints,
            match_on,
            any_inserted: count(RowAction::Inserted) > 0,
        };
        let note = leftover.note();
        let result = |(index, (id, action)): (usize, &(_, RowAction))| RowResult {
            index,
            id: ToString::to_string(id as &rowmill_model::RowId),
            action: (*action).into(),
        };
        Self {
            inserted_count: count(RowAction::Inserted),
            rows: rows.iter().map(|(id, _)| id.to_string()).collect(),
            updated_count: matched.then(|| count(RowAction::Updated)),
            unchanged_count: matched.then(|| count(RowAction::Unchanged)),
            results: matched.then(|| rows.iter().enumerate().map(result).collect()),
            ignored_keys,
            kept_as_input: kept_input.fields,
            hints: kept_input.hints,
            note,
        }
    }

    pub(crate) fn any_inserted(&self) -> bool {
        self.inserted_count > 0
    }
}
