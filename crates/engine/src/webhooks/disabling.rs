//! What deliveries say of their webhook: since when it fails, and when it is disabled.

use std::time::Duration;

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
    if !apply(&mut seen, news, shared.clock.now_ms(), shared.config.disabled_after) {
        return;
    }
    if let Err(error) = save(shared, team, webhook.id, news).await {
        tracing::warn!(%team, %error, webhook = %webhook.id, "could not note how a webhook's delivery went");
    }
}

async fn save(shared: &Shared, team: TeamId, id: WebhookId, news: News) -> Result<()> {
    for _ in 0..TRIES_MAX {
        let mut stored = shared.store.webhooks(team).await?;
        let webhook = stored.webhooks.iter_mut().find(|webhook| webhook.id == id);
        let Some(webhook) = webhook else { return Ok(()) };
        if !apply(webhook, news, shared.clock.now_ms(), shared.config.disabled_after) {
            return Ok(());
        }
        if let Some(Disabled { reason, .. }) = webhook.disabled {
            tracing::warn!(%team, webhook = %id, ?reason, "a webhook was disabled");
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
fn apply(webhook: &mut Webhook, news: News, now_ms: i64, disabled_after: Duration) -> bool {
    if webhook.disabled.is_some() {
        return false;
    }
    let disabled_after_ms = i64::try_from(disabled_after.as_millis()).unwrap_or(i64::MAX);
    let before = (webhook.failing_since_ms, webhook.disabled);
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
    (webhook.failing_since_ms, webhook.disabled) != before
}

#[cfg(test)]
mod tests {
    use rowmill_model::EventType;
    use uuid::Uuid;

    use super::*;

    #[test]
    fn days_of_failure_disable_a_webhook_and_a_success_does_not() {
        let mut webhook = Webhook {
            id: WebhookId::from_uuid(Uuid::from_u128(1)),
            url: "https://example.com".to_owned(),
            description: String::new(),
            events: vec![EventType::RowCreated],
            project_ids: None,
            column_ids: None,
            created_at_ms: 0,
            sealed_secret: String::new(),
            old_secret: None,
            disabled: None,
            failing_since_ms: None,
            dropping_since_ms: None,
            last_gap: None,
        };
        let mut note = |news, now_ms| {
            let is_new = apply(&mut webhook, news, now_ms, Duration::from_secs(5));
            (is_new, webhook.failing_since_ms, webhook.disabled.map(|disabled| disabled.reason))
        };
        assert_eq!(note(News::Delivered, 0), (false, None, None));
        assert_eq!(note(News::Failed, 1_000), (true, Some(1_000), None));
        assert_eq!(note(News::Failed, 5_999), (false, Some(1_000), None));
        assert_eq!(note(News::Delivered, 6_000), (true, None, None));
        assert_eq!(note(News::Failed, 7_000), (true, Some(7_000), None));
        let failing = Some(DisabledReason::Failing);
        assert_eq!(note(News::Failed, 12_000), (true, Some(7_000), failing));
        assert_eq!(note(News::Disable(DisabledReason::Gone), 13_000), (false, Some(7_000), failing));
    }
}
