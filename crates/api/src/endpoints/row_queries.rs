//! The query parameters of operations on rows.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::wire::key_by::KeyBy;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct InsertQuery {
    /// A column id or header. A row with the same value in this column is updated instead of inserted. Values
    /// are the same if their text is: `1` matches `"1"`, and `1.0` matches `1`.
    #[schemars(length(min = 1, max = 255))]
    pub(crate) match_on: Option<String>,
    /// Set to false to match without regard to letter case and outer blanks. Default: true.
    pub(crate) match_case: Option<bool>,
    /// Set to true to refuse fields that do not name a column. All are listed in `details`, and nothing is
    /// inserted.
    pub(crate) strict: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RowQuery {
    /// What names the cells: the column id (default), or the column's `header`.
    #[serde(default)]
    #[schemars(with = "KeyBy")]
    pub(crate) key_by: Option<KeyBy>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchQuery {
    /// What names the cells of the answer: the column id (default), or the column's `header`.
    #[serde(default)]
    #[schemars(with = "KeyBy")]
    pub(crate) key_by: Option<KeyBy>,
    /// Set to true to refuse fields that do not name a column. All are listed in `details`, and nothing is
    /// changed.
    pub(crate) strict: Option<bool>,
}
