//! Keeps the records of a research, so that no step is paid for twice: a cell that runs again, after a crash or a
//! failure, on this node or another, goes on behind the last of them.
//!
//! They are kept where the outcomes of idempotent requests are: each under a name of its own, for a day.

use std::sync::Arc;
use std::time::Duration;

use rowmill_clock::Clock;
use rowmill_store::{IdempotentRequest, Result, Store};

use super::record::Record;
use crate::digest::Digest;

/// The records of one cell. Without a store they are kept nowhere.
#[derive(Debug)]
pub(super) struct Steps<'a> {
    store: Option<Arc<dyn Store>>,
    clock: &'a dyn Clock,
    key: Digest,
    count: u32,
}

const STORED_FOR: Duration = Duration::from_hours(24);
/// More than a research can have.
const RECORDS_MAX: u32 = 1_000;
/// How often a record is written before the rest goes unrecorded, and how long to wait in between.
const WRITES_MAX: u32 = 3;
const WRITE_PAUSE: Duration = Duration::from_millis(500);

impl<'a> Steps<'a> {
    pub(super) fn new(store: Option<Arc<dyn Store>>, clock: &'a dyn Clock, key: Digest) -> Self {
        Self { store, clock, key, count: 0 }
    }

    /// What was recorded before.
    pub(super) async fn load(&mut self) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        let Some(store) = self.store.clone() else { return Ok(records) };
        while self.count < RECORDS_MAX
            && let Some(text) = store.recall(self.request(self.count)).await?
            // What another version wrote is not understood: from there on all is done anew.
            && let Ok(record) = serde_json::from_str(&text)
        {
            records.push(record);
            self.count += 1;
        }
        Ok(records)
    }

    /// Records a step. If the database does not take it, this and all later ones are done again after a crash.
    pub(super) async fn add(&mut self, record: &Record) {
        let Some(store) = self.store.clone() else { return };
        let Ok(text) = serde_json::to_string(record) else { return };
        for _ in 0..WRITES_MAX {
            match store.remember(self.request(self.count), text.clone()).await {
                Ok(()) => {
                    self.count += 1;
                    return;
                }
                Err(error) => {
                    tracing::warn!(%error, "could not record a step of a research");
                    self.clock.sleep(WRITE_PAUSE).await;
                }
            }
        }
        self.store = None;
    }

    /// The names under which there are records.
    pub(super) fn names(&self) -> Vec<[u8; 32]> {
        (0..self.count).map(|number| self.name(number)).collect()
    }

    fn name(&self, number: u32) -> [u8; 32] {
        Digest::of(["research", &format!("{:?}", self.key), &number.to_string()]).bytes()
    }

    fn request(&self, number: u32) -> IdempotentRequest {
        let name = self.name(number);
        let now_ms = self.clock.now().as_millisecond();
        let stored_for_ms = i64::try_from(STORED_FOR.as_millis()).unwrap_or(i64::MAX);
        IdempotentRequest {
            name,
            fingerprint: name,
            now_ms,
            expires_at_ms: now_ms.saturating_add(stored_for_ms),
        }
    }
}
