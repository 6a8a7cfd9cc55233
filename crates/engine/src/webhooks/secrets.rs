//! What deliveries are signed with.

use rowmill_model::{TeamId, Webhook};

/// Opens the secrets of webhooks.
pub trait WebhookSecrets: std::fmt::Debug + Send + Sync {
    /// The keys that sign now, the newest first; the error says why there is none.
    fn signing_keys(&self, team: TeamId, webhook: &Webhook, now_ms: i64) -> Result<Vec<Vec<u8>>, String>;
}
