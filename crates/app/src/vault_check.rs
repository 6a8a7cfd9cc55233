//! Checks that the vault's key is the one that this database's secrets were encrypted with.
//!
//! Whoever comes first seals a proof; a server that cannot open it has another key, and would keep things that
//! no other can use.

use rowmill_model::TeamId;
use rowmill_store::{Sealed, SealedKind, StoreError};
use uuid::Uuid;

use crate::app::App;
use crate::error::Result;
use crate::ids::random;
use crate::vault::Label;

/// Whose the proof is: no team has this id.
const NOBODY: TeamId = TeamId(Uuid::nil());
const KIND: SealedKind = SealedKind::Secret;
const PLAIN: &[u8] = b"Rowmill's secret key";

impl App {
    /// Whether this server has the key that others on this database have, or had before it.
    pub async fn has_vault_key(&self) -> Result<bool> {
        if let Some(opens) = self.opens_proof().await? {
            return Ok(opens);
        }
        // Nobody left a proof yet; what teams sealed is one, too.
        if self.opens_none().await? {
            return Ok(false);
        }
        self.leave_proof().await?;
        // Another node may have been first.
        Ok(self.opens_proof().await?.unwrap_or(false))
    }

    /// From now on this server's key is the one. What was sealed with another is not opened any more, and no browser is
    /// signed in: its cookie was sealed, too.
    pub async fn adopt_key(&self) -> Result<()> {
        for proof in self.store.sealed(NOBODY).await? {
            self.store.delete_sealed(NOBODY, proof.kind, proof.name).await?;
        }
        self.store.delete_all_sessions().await?;
        self.leave_proof().await
    }

    /// `None` if there is no proof.
    async fn opens_proof(&self) -> Result<Option<bool>> {
        let proofs = self.store.sealed(NOBODY).await?;
        Ok(proofs.first().map(|proof| self.opens(NOBODY, proof)))
    }

    /// Whether teams have sealed things of which none opens.
    async fn opens_none(&self) -> Result<bool> {
        let mut is_any = false;
        for team in self.store.teams().await? {
            for sealed in self.store.sealed(team.id).await? {
                if self.opens(team.id, &sealed) {
                    return Ok(false);
                }
                is_any = true;
            }
        }
        Ok(is_any)
    }

    async fn leave_proof(&self) -> Result<()> {
        // Each comes with a name of its own, and there is room for one: the first stays.
        let name = Uuid::from_bytes(random()?).simple().to_string();
        let bytes = self.vault.seal(Label { team: NOBODY, kind: KIND, name: &name }, PLAIN)?;
        let proof = Sealed { kind: KIND, name, bytes, updated_at_ms: self.clock.now_ms() };
        match self.store.put_sealed(NOBODY, proof, 1).await {
            Ok(()) | Err(StoreError::Full) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn opens(&self, team: TeamId, sealed: &Sealed) -> bool {
        let label = Label { team, kind: sealed.kind, name: &sealed.name };
        self.vault.open(label, &sealed.bytes).is_some()
    }
}
