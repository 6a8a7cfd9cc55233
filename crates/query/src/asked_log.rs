//! Notes which columns questions ask for, so that they can be loaded after the next start (`warm_up.rs`).
//!
//! Nobody waits for this: it is written in the background, what comes within some seconds together. What cannot be written is
//! lost.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::ProjectId;
use rowmill_store::Store;
use rowmill_store::warm_up::{ASKED_COLUMNS_MAX, AskedColumn, NOTED_FOR_MS};

/// For how long notes are gathered before they are written.
const GATHER_TIME: Duration = Duration::from_secs(10);
/// Of more projects than this nothing is noted until others are written.
const WAITING_MAX: usize = 1_000;

/// What was noted of one project lately.
#[derive(Debug, Default)]
pub(crate) struct NotedColumns(Mutex<Vec<(AskedColumn, i64)>>);

impl NotedColumns {
    /// Whether one of these was not noted lately. From now on they are.
    fn note(&self, asked: &[AskedColumn], now_ms: i64) -> bool {
        let mut noted = self.0.lock();
        let is_noted = |asked: &AskedColumn| {
            let is_recent = |at: i64| at.abs_diff(now_ms) < NOTED_FOR_MS.unsigned_abs();
            noted.iter().any(|(column, at)| column == asked && is_recent(*at))
        };
        if asked.iter().all(is_noted) {
            return false;
        }
        noted.retain(|(column, _)| !asked.contains(column));
        let new: Vec<(AskedColumn, i64)> = asked.iter().map(|asked| (asked.clone(), now_ms)).collect();
        noted.splice(..0, new);
        noted.truncate(ASKED_COLUMNS_MAX);
        true
    }
}

#[derive(Debug)]
pub(crate) struct AskedLog {
    store: Arc<dyn Store>,
    /// The newest columns first, with the time of the last question.
    waiting: Mutex<HashMap<ProjectId, (Vec<AskedColumn>, i64)>>,
}

impl AskedLog {
    pub(crate) fn new(store: Arc<dyn Store>) -> Self {
        Self { store, waiting: Mutex::default() }
    }

    /// Notes what a question asked for that was just answered.
    pub(crate) fn note(
        self: &Arc<Self>,
        project: ProjectId,
        noted: &NotedColumns,
        asked: Vec<AskedColumn>,
        now: Timestamp,
    ) {
        let now_ms = now.as_millisecond();
        if !noted.note(&asked, now_ms) {
            return;
        }
        let is_first = {
            let mut waiting = self.waiting.lock();
            if waiting.len() >= WAITING_MAX {
                return;
            }
            let is_first = waiting.is_empty();
            let (columns, at_ms) = waiting.entry(project).or_default();
            columns.retain(|column| !asked.contains(column));
            columns.splice(..0, asked);
            columns.truncate(ASKED_COLUMNS_MAX);
            *at_ms = now_ms;
            is_first
        };
        if is_first {
            let log = Arc::clone(self);
            tokio::spawn(async move {
                tokio::time::sleep(GATHER_TIME).await;
                log.flush().await;
            });
        }
    }

    /// Writes what waits.
    pub(crate) async fn flush(&self) {
        let waiting = std::mem::take(&mut *self.waiting.lock());
        for (project, (columns, now_ms)) in waiting {
            if let Err(failure) = self.store.note_asked(project, columns, now_ms).await {
                tracing::debug!(%failure, "could not note which columns were asked for");
            }
        }
    }
}
