//! The sentences that tell what was corrected.

use std::collections::{HashMap, HashSet};

use crate::nearest::COMPARED_MAX;
use crate::offence::Offence;

/// Collects corrections, each once.
#[derive(Debug, Default)]
pub(super) struct Fixes {
    sentences: Vec<String>,
    /// References that name no column, with their place.
    pub(super) unresolved: Vec<(String, String)>,
    /// The headers that names may be misspellings of; only the first names are compared with them.
    meant: HashMap<String, Option<String>>,
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

    /// The header that may be meant by a name that is no column's, as `find` has it.
    pub(super) fn meant<'h>(&mut self, name: &str, find: impl FnOnce() -> Option<&'h str>) -> Option<String> {
        if let Some(known) = self.meant.get(name) {
            return known.clone();
        }
        if self.meant.len() >= COMPARED_MAX {
            return None;
        }
        let meant = find().map(str::to_owned);
        self.meant.insert(name.to_owned(), meant.clone());
        meant
    }

    /// The same of a name that was compared before.
    pub(super) fn known_meant(&self, name: &str) -> Option<&str> {
        self.meant.get(name)?.as_deref()
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
