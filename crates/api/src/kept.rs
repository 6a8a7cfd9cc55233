//! Pages of rows as they were last answered, for as long as nothing in their project changes.
//!
//! Tables are looked at more often than they change, and by several at once. Whether something changed is
//! asked of the store each time, so an answer is never older than one that is made anew.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use rowmill_app::{Start, StoredProject};
use rowmill_model::ProjectId;

/// Memory for all pages together. When it is full all are forgotten: those that are asked for often are
/// soon back.
const BYTES_MAX: usize = 16 * 1024 * 1024;
/// Larger pages are not kept: they would only drive out the others.
const PAGE_BYTES_MAX: usize = BYTES_MAX / 16;

/// Everything that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PageName {
    pub(crate) project: ProjectId,
    pub(crate) start: Start,
    pub(crate) size: u32,
    pub(crate) column_ids: Option<String>,
    pub(crate) with_status: bool,
    pub(crate) include_total: bool,
}

#[derive(Debug, Default)]
pub(crate) struct KeptPages(Mutex<Pages>);

#[derive(Debug, Default)]
struct Pages {
    by_name: HashMap<PageName, Kept>,
    bytes: usize,
}

#[derive(Debug)]
struct Kept {
    version: u64,
    change_seq: u64,
    answer: Bytes,
}

impl KeptPages {
    /// The answer, if the project has not changed since.
    pub(crate) fn get(&self, name: &PageName, now: &StoredProject) -> Option<Bytes> {
        let pages = self.pages();
        let kept = pages.by_name.get(name)?;
        (kept.version == now.version && kept.change_seq == now.change_seq).then(|| kept.answer.clone())
    }

    /// Keeps an answer that was made from the project as it was `then`, or later.
    pub(crate) fn keep(&self, name: PageName, then: &StoredProject, answer: &Bytes) {
        if answer.len() > PAGE_BYTES_MAX {
            return;
        }
        let mut pages = self.pages();
        if pages.bytes + answer.len() > BYTES_MAX {
            *pages = Pages::default();
        }
        pages.bytes += answer.len();
        let kept = Kept { version: then.version, change_seq: then.change_seq, answer: answer.clone() };
        if let Some(old) = pages.by_name.insert(name, kept) {
            pages.bytes = pages.bytes.saturating_sub(old.answer.len());
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
