//! Answers that are used again (`cacheTtlSeconds`), as the store keeps them: they survive a restart, and nodes share them.
//!
//! They are kept where the outcomes of idempotent requests are. What is large is kept in memory only, and nothing is
//! kept here for longer than a week.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_store::{IdempotentRequest, Store};
use serde::{Deserialize, Serialize};

use crate::cell_runner::CallOutcome;
use crate::digest::Digest;

#[derive(Debug, Default)]
pub(super) struct KeptAnswers {
    /// None where nothing is stored.
    pub(super) store: Option<Arc<dyn Store>>,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    until_ms: i64,
    /// Raw JSON; none if nothing was found.
    value: Option<Box<str>>,
    meta: Meta,
}

const BYTES_MAX: usize = 64 * 1024;
const KEPT_FOR_MAX: Duration = Duration::from_hours(7 * 24);

impl KeptAnswers {
    /// An answer, and until when it is good. If the database does not answer, there is none.
    pub(super) async fn find(&self, key: Digest, now: Timestamp) -> Option<(CallOutcome, Timestamp)> {
        let kept = self.store.as_ref()?.recall(request(key, now, now)).await;
        let kept = kept.inspect_err(|error| tracing::debug!(%error, "could not look for a kept answer"));
        let Kept { until_ms, value, meta } = serde_json::from_str(&kept.ok()??).ok()?;
        let until = Timestamp::from_millisecond(until_ms).ok().filter(|until| *until > now)?;
        let outcome = match value {
            Some(value) => CallOutcome::Value(value, meta),
            None => CallOutcome::NoData(meta),
        };
        Some((outcome, until))
    }

    pub(super) async fn insert(&self, key: Digest, outcome: &CallOutcome, until: Timestamp, now: Timestamp) {
        let Some(store) = &self.store else { return };
        let (value, meta) = match outcome {
            CallOutcome::Value(value, meta) => (Some(value.clone()), meta.clone()),
            CallOutcome::NoData(meta) => (None, meta.clone()),
            CallOutcome::Skipped(_) | CallOutcome::Failed(_) | CallOutcome::Later(..) => return,
        };
        let until = now.saturating_add(KEPT_FOR_MAX).unwrap_or(Timestamp::MAX).min(until);
        let kept = Kept { until_ms: until.as_millisecond(), value, meta };
        let Ok(text) = serde_json::to_string(&kept) else { return };
        if text.len() > BYTES_MAX {
            return;
        }
        if let Err(error) = store.remember(request(key, now, until), text).await {
            tracing::debug!(%error, "could not keep an answer");
        }
    }
}

fn request(key: Digest, now: Timestamp, until: Timestamp) -> IdempotentRequest {
    let name = Digest::of(["answer", &format!("{key:?}")]).bytes();
    let (now_ms, expires_at_ms) = (now.as_millisecond(), until.as_millisecond());
    IdempotentRequest { name, fingerprint: name, now_ms, expires_at_ms }
}
