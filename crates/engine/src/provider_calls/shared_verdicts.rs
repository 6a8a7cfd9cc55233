//! What the nodes on one database tell each other about a credential: who asks first in a run, and what came of it.

use std::sync::Arc;
use std::time::Duration;

use rowmill_clock::Clock;
use rowmill_model::{CellError, Spacing};
use rowmill_providers::{Failure, FailureKind};
use rowmill_store::shared_rates::RateRequest;
use rowmill_store::{IdempotentRequest, Result, SharedRates, Store};

use crate::digest::Digest;

/// What came of a first call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Verdict {
    Good,
    Rejected(Failure),
}

/// The verdicts of all nodes. A verdict is kept for a while under the digest of its credential and its run.
#[derive(Debug)]
pub struct SharedVerdicts {
    store: Arc<dyn Store>,
    rates: Arc<dyn SharedRates>,
}

const POLL_EVERY: Duration = Duration::from_millis(200);
/// Runs seldom take longer. After that a node asks once more.
const STORED_FOR: Duration = Duration::from_hours(24);

impl SharedVerdicts {
    /// None for a store that has one node only.
    pub fn of(store: &Arc<dyn Store>) -> Option<Self> {
        store.shared_rates().map(|rates| Self { store: Arc::clone(store), rates })
    }

    /// Waits while another node makes the first call. `None` if this node is to make it: it is the first, the other
    /// took too long, or the database did not answer.
    pub(super) async fn wait(
        &self,
        subject: Digest,
        wait_max: Duration,
        clock: &dyn Clock,
    ) -> Option<Verdict> {
        let wait = async {
            loop {
                if let Some(verdict) = self.recall(subject, clock).await? {
                    return Ok(Some(verdict));
                }
                if self.is_first(subject, wait_max).await? {
                    return Ok(None);
                }
                clock.sleep(POLL_EVERY).await;
            }
        };
        tokio::select! {
            biased;
            verdict = wait => verdict.unwrap_or_else(|error: rowmill_store::StoreError| {
                tracing::debug!(%error, "could not ask other nodes about a credential");
                None
            }),
            () = clock.sleep(wait_max) => None,
        }
    }

    /// Tells the other nodes. If the database does not answer, they find out for themselves.
    pub(super) async fn tell(&self, subject: Digest, verdict: &Verdict, clock: &dyn Clock) {
        let error = match verdict {
            Verdict::Good => None,
            Verdict::Rejected(Failure { kind, message, .. }) => {
                Some(CellError { code: kind.code(), message: message.clone() })
            }
        };
        let Ok(stored) = serde_json::to_string(&error) else { return };
        if let Err(error) = self.store.remember(request(subject, clock), stored).await {
            tracing::debug!(%error, "could not tell other nodes about a credential");
        }
    }

    async fn recall(&self, subject: Digest, clock: &dyn Clock) -> Result<Option<Verdict>> {
        let stored = self.store.recall(request(subject, clock)).await?;
        Ok(stored.and_then(|text| match serde_json::from_str(&text).ok()? {
            None => Some(Verdict::Good),
            Some(CellError { code, message }) => {
                FailureKind::rejecting(code).map(|kind| Verdict::Rejected(Failure::new(kind, message)))
            }
        }))
    }

    /// One node in each period is the first: if it is lost, another follows.
    async fn is_first(&self, subject: Digest, period: Duration) -> Result<bool> {
        let interval_ns = i64::try_from(period.as_nanos()).unwrap_or(i64::MAX);
        let ask = RateRequest {
            key: subject.uuid(),
            spacings: vec![Spacing { interval_ns, slack_ns: 0 }],
            done: 0,
            unused: 0,
            wanted: 1,
            pause: Duration::ZERO,
        };
        Ok(self.rates.take(vec![ask]).await?.iter().any(|grant| grant.granted > 0))
    }
}

fn request(subject: Digest, clock: &dyn Clock) -> IdempotentRequest {
    let now_ms = clock.now().as_millisecond();
    let stored_for_ms = i64::try_from(STORED_FOR.as_millis()).unwrap_or(i64::MAX);
    let name = subject.bytes();
    IdempotentRequest { name, fingerprint: name, now_ms, expires_at_ms: now_ms.saturating_add(stored_for_ms) }
}
