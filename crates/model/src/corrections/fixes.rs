//! The sentences that tell what was corrected.

use std::collections::HashSet;

/// Collects corrections, each once.
#[derive(Debug, Default)]
pub(super) struct Fixes {
    sentences: Vec<String>,
    /// Where each correction was made, such as `aiConfig.prompt`, or nothing if nothing was wrong; as many as there are
    /// sentences.
    places: Vec<String>,
    /// References that name no column, with their place.
    pub(super) unresolved: Vec<(String, String)>,
    told: HashSet<String>,
    /// Names the column where it is not plain which one is meant.
    ending: String,
}

impl Fixes {
    /// Fixes to another column than the one that was changed.
    pub(super) fn of_column(header: &str) -> Self {
        Self { ending: format!(" in column {}", quoted(header)), ..Self::default() }
    }

    /// Takes a sentence without its full stop, and the field it is about.
    pub(super) fn add(&mut self, place: &str, sentence: impl Into<String>) {
        let sentence = format!("{}{}.", sentence.into(), self.ending);
        if self.told.insert(sentence.clone()) {
            self.sentences.push(sentence);
            self.places.push(place.to_owned());
        }
    }

    /// The same about something that was not wrong, only said otherwise than it is kept.
    pub(super) fn note(&mut self, sentence: impl Into<String>) {
        self.add("", sentence);
    }

    /// Where each correction was made.
    pub(super) fn take_places(&mut self) -> Vec<String> {
        std::mem::take(&mut self.places)
    }

    pub(super) fn into_sentences(self) -> Vec<String> {
        self.sentences
    }
}

/// A text in quotation marks, cut to a length that one can read.
pub(super) fn quoted(text: &str) -> String {
    const CHARS_MAX: usize = 80;
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("\"{}…\"", text.get(..end).unwrap_or_default()),
        None => format!("\"{text}\""),
    }
}
