//! Signing secrets of webhooks. They are part of a project's metadata, and encrypted in it.

use std::fmt::Write as _;

use rowmill_model::integration;
use rowmill_model::{Project, ProjectId};
use rowmill_store::{ProjectSave, StoreError};
use serde_json::{Map, Value};

use crate::app::App;
use crate::error::{Error, Result};
use crate::projects::ATTEMPTS_MAX;

/// Tells an encrypted secret from one that an older version saved as it was. The rest is hexadecimal.
const PREFIX: &str = "sealed:1:";

/// How a secret begins in the document of a project.
const STORED_BEGINS: &str = "\"signingSecret\":\"";

/// What a delivery to a project must be signed with.
pub(crate) enum SigningSecret {
    /// Nothing: every delivery is taken.
    None,
    Known(Vec<u8>),
    /// It was encrypted with another key: no delivery can be checked.
    Unopened,
}

impl App {
    /// Encrypts the secret in metadata that a caller sent. What is not a secret is left for the check to refuse.
    pub(crate) fn seal_sent_secret(&self, id: ProjectId, metadata: &mut Map<String, Value>) -> Result<()> {
        let Some(secret) = integration::sent_secret(metadata) else { return Ok(()) };
        let sealed = self.vault.seal_for(&purpose(id), secret.as_bytes())?;
        let text = sealed.iter().fold(PREFIX.to_owned(), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        });
        integration::set_signing_secret(metadata, text);
        Ok(())
    }

    /// Encrypts the secrets that an older version saved as they were; says how many. For the start of a server.
    pub async fn seal_signing_secrets(&self) -> Result<u64> {
        let mut sealed = 0;
        for id in self.store.projects_with_text(STORED_BEGINS.to_owned()).await? {
            sealed += u64::from(self.seal_stored_secret(id).await?);
        }
        if sealed > 0 {
            tracing::info!(sealed, "encrypted the signing secrets of webhooks");
        }
        Ok(sealed)
    }

    async fn seal_stored_secret(&self, id: ProjectId) -> Result<bool> {
        for _ in 0..ATTEMPTS_MAX {
            let Some(stored) = self.store.project(id).await? else { return Ok(false) };
            let secret = integration::sent_secret(&stored.project.metadata);
            if secret.is_none_or(|secret| secret.starts_with(PREFIX)) {
                return Ok(false);
            }
            let mut project = (*stored.project).clone();
            self.seal_sent_secret(id, &mut project.metadata)?;
            let views = (*stored.views).clone();
            let version = Some(stored.version);
            let save = ProjectSave { project, views, version, subject: None, fixes: Vec::new(), once: None };
            match self.store.save_project(save).await {
                // Another node does the same.
                Err(StoreError::Stale | StoreError::UnknownProject) => {}
                outcome => return Ok(outcome.map(|_| true)?),
            }
        }
        Err(Error::Internal("a project changed repeatedly while its secret was encrypted; gave up".into()))
    }

    pub(crate) fn signing_secret(&self, project: &Project) -> SigningSecret {
        let Some(stored) = integration::signing_secret(&project.metadata) else { return SigningSecret::None };
        let Some(hex) = stored.strip_prefix(PREFIX) else {
            return SigningSecret::Known(stored.as_bytes().to_vec());
        };
        let opened = bytes_of(hex).and_then(|sealed| self.vault.open_for(&purpose(project.id), &sealed));
        opened.map_or(SigningSecret::Unopened, SigningSecret::Known)
    }
}

/// What a secret is sealed under: another project's does not open here.
fn purpose(id: ProjectId) -> String {
    format!("signing secret of {id}")
}

/// The bytes that hexadecimal digits stand for.
pub(crate) fn bytes_of(hex: &str) -> Option<Vec<u8>> {
    if !hex.is_ascii() || !hex.len().is_multiple_of(2) {
        return None;
    }
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()).collect()
}
