//! What deliveries say of their webhook: since when it fails, and when it is disabled.

use rowmill_model::webhook::{Disabled, DisabledReason};
use rowmill_model::{TeamId, Webhook, WebhookId};
use rowmill_store::webhooks::WebhooksSave;
use rowmill_store::{Result, StoreError};

use super::shared::Shared;

/// How often a change is made anew when others change a team's webhooks at the same moment.
const TRIES_MAX: usize = 5;

/// What an attempt says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    Delivered,
    Failed,
    Disable(DisabledReason),
}

/// Notes what an attempt says, if it says anything new. If that fails, the next attempt says it again.
pub(super) async fn note(shared: &Shared, team: TeamId, webhook: &Webhook, news: News) {
    let mut seen = webhook.clone();
    if !apply(shared, &mut seen, news) {
        return;
    }
    if let Err(error) = save(shared, team, webhook.id, news).await {
        tracing::warn!(%error, webhook = %webhook.id, "could not note how a webhook's delivery went");
    }
}

async fn save(shared: &Shared, team: TeamId, id: WebhookId, news: News) -> Result<()> {
    for _ in 0..TRIES_MAX {
        let mut stored = shared.store.webhooks(team).await?;
        let webhook = stored.webhooks.iter_mut().find(|webhook| webhook.id == id);
        let Some(webhook) = webhook else { return Ok(()) };
        if !apply(shared, webhook, news) {
            return Ok(());
        }
        if let Some(Disabled { reason, .. }) = webhook.disabled {
            tracing::warn!(webhook = %id, ?reason, "a webhook was disabled");
        }
        let (version, webhooks) = (stored.version, stored.webhooks);
        let save = WebhooksSave { team, version, webhooks, deliveries: Vec::new() };
        match shared.store.save_webhooks(save).await {
            Err(StoreError::Stale) => {}
            outcome => return outcome,
        }
    }
    Ok(())
}

/// Changes a webhook; says whether it is another one now.
fn apply(shared: &Shared, webhook: &mut Webhook, news: News) -> bool {
    if webhook.disabled.is_some() {
        return false;
    }
    let now_ms = shared.clock.now_ms();
    let disabled_after_ms = i64::try_from(shared.config.disabled_after.as_millis()).unwrap_or(i64::MAX);
    let before = webhook.clone();
    match news {
        News::Delivered => webhook.failing_since_ms = None,
        News::Disable(reason) => webhook.disabled = Some(Disabled { at_ms: now_ms, reason }),
        News::Failed => {
            let since_ms = *webhook.failing_since_ms.get_or_insert(now_ms);
            if now_ms.saturating_sub(since_ms) >= disabled_after_ms {
                webhook.disabled = Some(Disabled { at_ms: now_ms, reason: DisabledReason::Failing });
            }
        }
    }
    *webhook != before
}
