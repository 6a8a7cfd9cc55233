//! The secrets that outbound webhooks sign with. They are stored with the webhook, encrypted.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rowmill_model::{TeamId, Webhook, WebhookId};

use crate::app::App;
use crate::error::Result;
use crate::ids::random;
use crate::signing_secrets::bytes_of;

/// What the text of a secret begins with, by the Standard Webhooks specification. The rest is base64.
const PREFIX: &str = "whsec_";

impl App {
    /// A new secret: its text, and how it is stored.
    pub(crate) fn new_webhook_secret(&self, team: TeamId, id: WebhookId) -> Result<(String, String)> {
        let key: [u8; 32] = random()?;
        let sealed = self.vault.seal_for(&purpose(team, id), &key)?;
        let hex = sealed.iter().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        Ok((format!("{PREFIX}{}", STANDARD.encode(key)), hex))
    }

    /// The keys that a webhook's deliveries are signed with now, the newest first; the error says why there is none.
    pub fn webhook_signing_keys(
        &self,
        team: TeamId,
        webhook: &Webhook,
        now_ms: i64,
    ) -> Result<Vec<Vec<u8>>, String> {
        let purpose = purpose(team, webhook.id);
        let open = |hex: &str| bytes_of(hex).and_then(|sealed| self.vault.open_for(&purpose, &sealed));
        let key = open(&webhook.sealed_secret).ok_or(
            "The secret was encrypted with another secret key of this server, so nothing can be signed. Rotate the secret.",
        )?;
        let old = webhook.old_secret.as_ref().filter(|old| now_ms < old.until_ms);
        Ok(std::iter::once(key).chain(old.and_then(|old| open(&old.sealed))).collect())
    }
}

/// What a secret is sealed under: another webhook's does not open here.
fn purpose(team: TeamId, id: WebhookId) -> String {
    format!("webhook secret of {team} {id}")
}
