//! Rate limits that several nodes keep together.
//!
//! Each node counts for itself and lets through what it may by what it knows; then all hear what was let
//! through elsewhere. So a caller who turns to many nodes at once may get ahead by a burst a node, and waits
//! the longer for it: on average nobody exceeds their rate.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::{Arc, Weak};
use std::time::Duration;

use rowmill_app::Turns;
use rowmill_app::turns::Answer;

use crate::limits::{Buckets, Policies};
use crate::pipeline::Shared;

/// How often nodes hear of each other's callers.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// Keeps in step with the other nodes for as long as requests are served.
pub(crate) async fn keep_in_step<S>(shared: Weak<Shared<S>>, turns: Arc<dyn Turns>) {
    loop {
        tokio::time::sleep(TELL_EVERY).await;
        let Some(shared) = shared.upgrade() else { return };
        let Policies { key, anonymous, webhook, auth_failures } = &shared.policies;
        let told = tokio::try_join!(
            tell(key.as_ref(), &*turns),
            tell(anonymous.as_ref(), &*turns),
            tell(webhook.as_ref(), &*turns),
            tell(auth_failures.as_ref(), &*turns),
        );
        if let Err(error) = told {
            // Each goes on by what it knows itself.
            tracing::debug!(%error, "rate limits could not be compared with other nodes");
        }
    }
}

async fn tell<K: Hash + Eq + Clone + Debug>(
    buckets: Option<&Buckets<K>>,
    turns: &dyn Turns,
) -> rowmill_app::Result<()> {
    let Some(buckets) = buckets else { return Ok(()) };
    let (callers, asks): (Vec<_>, Vec<_>) = buckets.untold().into_iter().unzip();
    if asks.is_empty() {
        return Ok(());
    }
    let answers: Vec<Answer> = turns.take(asks).await?;
    for (caller, answer) in callers.into_iter().zip(&answers) {
        buckets.learn(caller, answer);
    }
    Ok(())
}
