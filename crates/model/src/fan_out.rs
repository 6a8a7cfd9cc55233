//! Fan-out: a list in a cell becomes rows of another project.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::Path;

/// Writes each item of a list as a row of another project. A row is updated if it is there already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FanOut {
    /// The list: one reference, such as `@{col_people}` or `@{col_site.pages}`. A single object is a list of one.
    #[serde(default)]
    #[schemars(length(max = 2_000))]
    pub list: String,
    /// The id of the project that gets the rows: another one of the team. `""` means not set.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub target_project_id: String,
    /// What is written, by target column (its id; a header is accepted, too). A value that starts with `$` is a JSONPath
    /// into the item: `$.email`, or `$` for the whole item. Any other is a text for all rows, which may refer to columns of
    /// the list's row: `@{col_company}`. An entry with `""` is removed.
    #[serde(default)]
    pub mapping: BTreeMap<String, String>,
    /// The target column by which rows are found again: an item with the same value there updates its row. It must be in
    /// `mapping`. Items without a value there are left out.
    #[serde(default)]
    #[schemars(length(max = 255))]
    pub match_on: String,
    /// The most items that a list can have. A longer one is an error, and nothing is written.
    #[serde(default = "FanOut::limit_default")]
    #[schemars(range(min = 1, max = 10_000))]
    pub limit: u32,
}

impl FanOut {
    /// The word of `taskType`.
    pub const TASK: &str = "fanOut";
    pub const LIMIT_DEFAULT: u32 = 1_000;
    pub const LIMIT_MAX: u32 = 10_000;
    /// The most target columns, and the longest text for one, in characters.
    pub const MAPPING_MAX: usize = 100;
    pub const TEXT_CHARS_MAX: usize = 10_000;

    fn limit_default() -> u32 {
        Self::LIMIT_DEFAULT
    }
}

impl Default for FanOut {
    fn default() -> Self {
        Self {
            list: String::new(),
            target_project_id: String::new(),
            mapping: BTreeMap::new(),
            match_on: String::new(),
            limit: Self::LIMIT_DEFAULT,
        }
    }
}

/// Where the value of a target column comes from.
#[derive(Debug, Clone, PartialEq)]
pub enum MappedFrom<'a> {
    /// A part of the item.
    Item(Path),
    /// A text with references to the list's row.
    Row(&'a str),
}

impl<'a> MappedFrom<'a> {
    /// Reads a value of `mapping`; the error is a sentence for whoever wrote it.
    pub fn read(text: &'a str) -> Result<Self, String> {
        if text.trim_start().starts_with('$') {
            Path::parse(text).map(Self::Item)
        } else {
            Ok(Self::Row(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_of_the_item_or_of_the_row() {
        for (text, is_of_item) in [
            ("$", true),
            (" $.email", true),
            ("$['a b']", true),
            ("@{Company}", false),
            ("", false),
            ("5 $", false),
        ] {
            let read = MappedFrom::read(text).unwrap();
            assert_eq!(matches!(read, MappedFrom::Item(_)), is_of_item, "{text}");
        }
        assert!(MappedFrom::read("$5").is_err());
    }
}
