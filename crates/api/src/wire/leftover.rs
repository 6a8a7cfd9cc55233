//! What an answer says of fields that name no column.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// How many fields a note names, and how much of each name.
const NOTED_MAX: usize = 5;
const NAME_CHARS_MAX: usize = 100;

/// Fields that name no column, and what became of them.
pub(crate) struct Leftover<'a> {
    pub(crate) kept: &'a [String],
    pub(crate) ignored: &'a [String],
    /// To the headers that they may be misspellings of.
    pub(crate) hints: &'a BTreeMap<String, String>,
    pub(crate) match_on: Option<&'a str>,
    pub(crate) any_inserted: bool,
}

impl Leftover<'_> {
    /// What happened and what to do, where somebody most likely meant a column. Other fields are a payload.
    pub(crate) fn note(&self) -> Option<String> {
        let Self { kept, ignored, hints, match_on, any_inserted } = self;
        if (kept.is_empty() && ignored.is_empty()) || (hints.is_empty() && match_on.is_none()) {
            return None;
        }
        let mut note = String::new();
        for (names, became) in [(kept, "kept in the column _trigger"), (ignored, "not stored")] {
            if !names.is_empty() {
                _ = write!(note, "No column is named {}: {became}. ", self.named(names));
            }
        }
        if let Some(column) = match_on.filter(|_| *any_inserted) {
            _ = write!(note, "A row without a value for {column:?} matches no row and is inserted. ");
        }
        note.push_str("To refuse such rows, add strict=true to the query.");
        Some(note)
    }

    fn named(&self, names: &[String]) -> String {
        let name = |name: &String| {
            let shown: String = name.chars().take(NAME_CHARS_MAX).collect();
            match self.hints.get(name) {
                Some(header) => format!("{shown:?} (did you mean {header:?}?)"),
                None => format!("{shown:?}"),
            }
        };
        let more = (names.len() > NOTED_MAX).then(|| "…".to_owned());
        let shown: Vec<String> = names.iter().take(NOTED_MAX).map(name).chain(more).collect();
        shown.join(", ")
    }
}
