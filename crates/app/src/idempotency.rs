//! Idempotency keys: a request is carried out once, however often it is sent.

use rowmill_store::IdempotentRequest;
use serde::de::DeserializeOwned;

use crate::app::App;
use crate::error::{Error, Result};

/// What a caller names a request by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// A hash over who asks, what for, and the idempotency key.
    pub name: [u8; 32],
    /// A hash over the whole request.
    pub fingerprint: [u8; 32],
}

/// How long an answer is kept.
pub const IDEMPOTENCY_HOURS: u32 = 24;
const KEPT_MS: i64 = IDEMPOTENCY_HOURS as i64 * 60 * 60 * 1000;

impl App {
    /// The answer kept for a request as it is, if there is one.
    pub async fn kept_answer(&self, key: IdempotencyKey) -> Result<Option<String>> {
        match self.once(Some(key)) {
            Some(once) => Ok(self.store.recall(once).await?),
            None => Ok(None),
        }
    }

    /// Keeps the answer to a request that took more than one transaction, once all are done.
    pub async fn keep_answer(&self, key: IdempotencyKey, answer: String) -> Result<()> {
        match self.once(Some(key)) {
            Some(once) => Ok(self.store.remember(once, answer).await?),
            None => Ok(()),
        }
    }

    pub(crate) fn once(&self, key: Option<IdempotencyKey>) -> Option<IdempotentRequest> {
        let now_ms = self.clock.now_ms();
        key.map(|IdempotencyKey { name, fingerprint }| IdempotentRequest {
            name,
            fingerprint,
            now_ms,
            expires_at_ms: now_ms + KEPT_MS,
        })
    }

    /// What this request led to, if it was carried out before. Asked before anything is decided, because
    /// what was right then may be refused now.
    pub(crate) async fn recall<T: DeserializeOwned>(
        &self,
        once: Option<&IdempotentRequest>,
    ) -> Result<Option<T>> {
        let Some(once) = once else { return Ok(None) };
        match self.store.recall(once.clone()).await? {
            Some(outcome) => {
                serde_json::from_str(&outcome).map(Some).map_err(|error| Error::Internal(error.into()))
            }
            None => Ok(None),
        }
    }
}
