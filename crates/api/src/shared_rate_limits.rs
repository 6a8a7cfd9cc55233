//! The API's rate limits, shared by all nodes on one database.
//!
//! Each node counts for itself and lets through what it may by what it knows; then all hear what was let
//! through elsewhere. So a caller who turns to many nodes at once may get ahead by a burst a node, and waits
//! the longer for it: on average nobody exceeds their rate.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rowmill_app::SharedRates;
use rowmill_app::shared_rates::RateGrant;

use crate::pipeline::Shared;
use crate::rate_limits::{RateLimiters, TokenBuckets};

/// How often nodes hear of each other's callers.
const SYNC_EVERY: Duration = Duration::from_millis(100);

/// Keeps in step with the other nodes for as long as requests are served.
pub(crate) async fn sync_rate_limits<S>(shared: Weak<Shared<S>>, shared_rates: Arc<dyn SharedRates>) {
    loop {
        tokio::time::sleep(SYNC_EVERY).await;
        let Some(shared) = shared.upgrade() else { return };
        let RateLimiters { key, team, anonymous, webhook, auth_failures } = &shared.rate_limiters;
        let told = tokio::try_join!(
            sync_buckets(key.as_ref(), &*shared_rates),
            sync_buckets(team.as_ref(), &*shared_rates),
            sync_buckets(anonymous.as_ref(), &*shared_rates),
            sync_buckets(webhook.as_ref(), &*shared_rates),
            sync_buckets(auth_failures.as_ref(), &*shared_rates),
        );
        if let Err(error) = told {
            // Each goes on by what it knows itself.
            tracing::debug!(%error, "could not exchange rate limit counts with other nodes");
        }
    }
}

async fn sync_buckets<K: Hash + Eq + Clone + Debug>(
    buckets: Option<&TokenBuckets<K>>,
    shared_rates: &dyn SharedRates,
) -> rowmill_app::Result<()> {
    let Some(buckets) = buckets else { return Ok(()) };
    let (callers, asks): (Vec<_>, Vec<_>) = buckets.unsynced().into_iter().unzip();
    if asks.is_empty() {
        return Ok(());
    }
    let answers: Vec<RateGrant> = shared_rates.take(asks).await?;
    for (caller, answer) in callers.into_iter().zip(&answers) {
        buckets.apply_shared(caller, answer);
    }
    Ok(())
}
