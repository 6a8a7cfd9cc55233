//! Search: a text anywhere in a row.

use crate::row::{RowView, Source, Sources};
use crate::table::Table;
use crate::value::{Value, fold};
use crate::weight::Weight;

/// A text looked for in every cell, without regard to case.
#[derive(Debug, Clone)]
pub struct Search {
    text: String,
    sources: Vec<Source>,
}

impl Search {
    pub fn new(text: &str, table: &Table) -> Self {
        Self::compile_with(text, &mut Sources::of(table))
    }

    /// The same, for whoever compiles more of the table. Where no text is looked for, nothing is compiled.
    pub fn compile_with(text: &str, sources: &mut Sources<'_>) -> Self {
        let columns = if text.is_empty() { &[] } else { sources.table().columns.as_slice() };
        let sources = columns.iter().map(|column| sources.source(column)).collect();
        Self { text: fold(text).into_owned(), sources }
    }

    /// Adds what it takes besides itself.
    pub fn weigh(&self, weight: &mut Weight) {
        let Self { text, sources } = self;
        weight.add(text.len() + size_of_val(sources.as_slice()));
        for source in sources {
            source.weigh(weight);
        }
    }

    /// The text, folded; nothing is looked for if it is empty.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where it is looked for.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Whether a cell's raw value contains it.
    pub fn is_in(&self, raw: &str) -> bool {
        fold(&Value::parse(raw).text()).contains(&self.text)
    }

    /// Whether any cell's text contains it; an empty search matches every row.
    pub fn matches(&self, row: &RowView<'_>) -> bool {
        let found_in = |source: &Source| source.value(row).is_some_and(|raw| self.is_in(&raw));
        self.text.is_empty() || self.sources.iter().any(found_in)
    }
}
