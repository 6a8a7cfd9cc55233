//! Authentication: API keys, their secrets, and which project a caller may read or change.

use std::fmt::Write as _;

use rowmill_model::{KeyId, ProjectId};
use rowmill_store::StoredProject;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::app::App;
use crate::caller::{Caller, Principal};
use crate::error::{Error, Noun, Result};
use crate::ids::random;

/// An API key as its owner holds it: `rm_<key id>_<64 hex>`. The id finds the key, the rest proves it.
pub struct Secret(String);

impl Secret {
    pub(crate) fn new(id: KeyId) -> Result<Self> {
        let random: [u8; 32] = random()?;
        let mut text = format!("rm_{}_", id.uuid().as_simple());
        for byte in random {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// To be shown once, to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// What is stored: the secret has 256 random bits, so one round of a fast hash is enough.
    pub(crate) fn hash(&self) -> [u8; 32] {
        hash(&self.0)
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// How often the time of a key's last use is written down, at most.
const TOUCH_EVERY_MS: i64 = 60_000;

impl App {
    /// The principal a bearer token stands for.
    pub async fn authenticate(&self, token: &str) -> Result<Principal> {
        let hash = hash(token);
        let now = self.clock.monotonic();
        if let Some(principal) = self.keys.get(&hash, now) {
            return Ok(principal);
        }
        let id = key_id(token).ok_or(Error::InvalidKey)?;
        let key = self.store.key(id).await?.ok_or(Error::InvalidKey)?;
        if !bool::from(key.hash.ct_eq(&hash)) {
            return Err(Error::InvalidKey);
        }
        let principal = Principal { team: key.team, key: key.id, session: None };
        self.keys.put(hash, principal, now);
        self.touch(key.id, key.last_used_at_ms);
        Ok(principal)
    }

    /// Whoever holds this key, if it is not revoked. The caller has proved it already.
    pub(crate) async fn key_holder(&self, id: KeyId) -> Result<Option<Principal>> {
        // Not what any token hashes to: a token is text, and this has a prefix no text has.
        let cached = Sha256::new().chain_update([0xFF]).chain_update(id.uuid().as_bytes()).finalize().into();
        let now = self.clock.monotonic();
        if let Some(principal) = self.keys.get(&cached, now) {
            return Ok(Some(principal));
        }
        let Some(key) = self.store.key(id).await? else { return Ok(None) };
        let principal = Principal { team: key.team, key: key.id, session: None };
        self.keys.put(cached, principal, now);
        self.touch(key.id, key.last_used_at_ms);
        Ok(Some(principal))
    }

    /// Who calls a path that names a team. Without a key that is anyone, if the project to be read is open.
    pub async fn team_caller(
        &self,
        slug: &str,
        principal: Option<Principal>,
        open_project: Option<&str>,
    ) -> Result<Caller> {
        let team = self.team_by_slug(slug).await?.id;
        match principal {
            Some(principal) if principal.team == team => Ok(Caller::Key(principal)),
            Some(_) => Err(Error::InvalidKey),
            None => {
                let caller = Caller::Anyone(team);
                // A project that is closed answers as one that does not exist.
                self.readable_project(caller, open_project.ok_or(Error::Unauthenticated)?).await?;
                Ok(caller)
            }
        }
    }

    /// A project the caller may read.
    pub async fn project(&self, caller: Caller, id: &str) -> Result<StoredProject> {
        let project = self.readable_project(caller, id).await?;
        if project.project.settings.api.enabled { Ok(project) } else { Err(Error::ApiDisabled) }
    }

    /// A project the caller may change.
    pub(crate) async fn project_to_change(&self, caller: Caller, id: &str) -> Result<StoredProject> {
        caller.with_key()?;
        self.project(caller, id).await
    }

    pub(crate) async fn readable_project(&self, caller: Caller, id: &str) -> Result<StoredProject> {
        let found = match ProjectId::parse(id) {
            Some(id) => self.store.project(id).await?,
            None => None,
        };
        // Another team's project answers as one that does not exist.
        let own = found.filter(|found| found.project.team == caller.team());
        match caller {
            Caller::Key(_) => own.ok_or(Error::NotFound(Noun::Project)),
            Caller::Anyone(_) => {
                own.filter(|found| !found.project.settings.api.require_key).ok_or(Error::Unauthenticated)
            }
        }
    }

    pub(crate) fn touch(&self, key: KeyId, last_used_at_ms: Option<i64>) {
        let now_ms = self.clock.now_ms();
        if last_used_at_ms.is_some_and(|last| now_ms - last < TOUCH_EVERY_MS) {
            return;
        }
        let store = std::sync::Arc::clone(&self.store);
        tokio::spawn(async move {
            if let Err(failure) = store.touch_key(key, now_ms).await {
                tracing::warn!(%failure, "could not save an API key's last use");
            }
        });
    }
}

fn key_id(token: &str) -> Option<KeyId> {
    let (id, _) = token.strip_prefix("rm_")?.split_once('_')?;
    KeyId::parse(id)
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
