//! The sentences that tell what was corrected.

use std::collections::HashSet;

use crate::offence::Offence;

/// Collects corrections, each once.
#[derive(Debug, Default)]
pub(super) struct Fixes {
    sentences: Vec<String>,
    /// References that name no column, with their place.
    pub(super) unresolved: Vec<(String, String)>,
    /// The corrections that change what was asked for, as whoever wants none is told them.
    pub(super) refusals: Vec<Offence>,
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
        let sentence = sentence.into();
        let refusal = format!("needs a correction: {sentence}");
        self.add_refusable(place, sentence, refusal);
    }

    /// The same, with other words for whoever wants no corrections.
    pub(super) fn add_refusable(&mut self, place: &str, sentence: String, refusal: String) {
        if self.note(sentence) {
            self.refusals.push(Offence::new(place, refusal));
        }
    }

    /// A correction that does as was asked: a name written as an id, or what is missing filled in. Says whether it
    /// is news.
    pub(super) fn note(&mut self, sentence: impl Into<String>) -> bool {
        let sentence = format!("{}{}.", sentence.into(), self.ending);
        let is_new = self.told.insert(sentence.clone());
        if is_new {
            self.sentences.push(sentence);
        }
        is_new
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
