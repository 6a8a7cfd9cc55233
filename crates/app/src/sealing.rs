//! Encrypting and decrypting what teams store: their providers' credentials and their secrets.

use std::sync::Arc;

use rowmill_model::provider::{PROVIDERS, Provider};
use rowmill_model::{Secret, TeamId};
use rowmill_store::{Sealed, SealedKind, StoreError};

use crate::app::App;
use crate::credentials::{Checked, Credentials};
use crate::error::{Error, Result};
use crate::vault::Label;

impl App {
    /// Everything opened for a team. A change made through this process is seen at once, one made through
    /// another within a second.
    pub async fn credentials(&self, team: TeamId) -> Result<Arc<Credentials>> {
        let now = self.clock.monotonic();
        if let Some(credentials) = self.credential_cache.get(team, now) {
            return Ok(credentials);
        }
        let reading = self.credential_cache.begin(now);
        let sealed = self.store.sealed(team).await?;
        let credentials = Arc::new(Credentials::open(team, sealed, &self.vault, &self.environment));
        self.credential_cache.put(team, Arc::clone(&credentials), reading);
        Ok(credentials)
    }

    pub(crate) async fn seal_provider(
        &self,
        team: TeamId,
        provider: &Provider,
        checked: &Checked,
    ) -> Result<()> {
        let plain = checked.to_json().map_err(|error| Error::Internal(error.into()))?;
        let count_max = u32::try_from(PROVIDERS.len()).unwrap_or(u32::MAX);
        self.seal(Label { team, kind: SealedKind::Provider, name: provider.id }, &plain, count_max).await
    }

    pub(crate) async fn seal_secret(&self, team: TeamId, name: &str, value: &Secret) -> Result<()> {
        let label = Label { team, kind: SealedKind::Secret, name };
        self.seal(label, value.expose().as_bytes(), self.limits.secrets_max).await
    }

    async fn seal(&self, label: Label<'_>, plain: &[u8], count_max: u32) -> Result<()> {
        let Label { team, kind, name } = label;
        let bytes = self.vault.seal(label, plain)?;
        let sealed = Sealed { kind, name: name.to_owned(), bytes, updated_at_ms: self.clock.now_ms() };
        let outcome = self.store.put_sealed(team, sealed, count_max).await;
        self.credential_cache.forget(team);
        match outcome {
            // There are never more providers than there is room for.
            Err(StoreError::Full) => {
                Err(Error::limit("", format!("a team can have at most {count_max} secrets (secretsMax)")))
            }
            outcome => Ok(outcome?),
        }
    }

    /// Says whether there was such a thing.
    pub(crate) async fn unseal(&self, team: TeamId, kind: SealedKind, name: &str) -> Result<bool> {
        let outcome = self.store.delete_sealed(team, kind, name.to_owned()).await;
        self.credential_cache.forget(team);
        Ok(outcome?)
    }
}
