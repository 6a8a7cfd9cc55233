//! Authentication: API keys, their secrets, and which project a caller may read or change.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::sync::Arc;

use rowmill_model::{KeyId, ProjectId, Restrictions, Scopes};
use rowmill_store::{ApiKey, LastUse, StoredProject};
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
    pub async fn authenticate(&self, token: &str, client: IpAddr) -> Result<Principal> {
        let hash = hash(token);
        let now = self.clock.monotonic();
        if let Some(key) = self.keys.get(&hash, now) {
            self.check_usable(&key, client)?;
            return Ok(Principal::of(&key, None));
        }
        let id = key_id(token).ok_or(Error::InvalidKey)?;
        let key = self.store.key(id).await?.ok_or(Error::InvalidKey)?;
        if !bool::from(key.hash.ct_eq(&hash)) {
            return Err(Error::InvalidKey);
        }
        self.check_usable(&key, client)?;
        let key = Arc::new(key);
        self.touch(&key, client);
        let principal = Principal::of(&key, None);
        self.keys.put(hash, key, now);
        Ok(principal)
    }

    /// Whoever holds this key, if it is not revoked. The caller has proved it already.
    pub(crate) async fn key_holder(&self, id: KeyId, client: IpAddr) -> Result<Option<Principal>> {
        let Some(key) = self.key_record(id).await? else { return Ok(None) };
        self.check_usable(&key, client)?;
        self.touch(&key, client);
        Ok(Some(Principal::of(&key, None)))
    }

    /// A key as it was less than a second ago.
    pub(crate) async fn key_record(&self, id: KeyId) -> Result<Option<Arc<ApiKey>>> {
        // Not what any token hashes to: a token is text, and this has a prefix no text has.
        let cached = Sha256::new().chain_update([0xFF]).chain_update(id.uuid().as_bytes()).finalize().into();
        let now = self.clock.monotonic();
        if let Some(key) = self.keys.get(&cached, now) {
            return Ok(Some(key));
        }
        let Some(key) = self.store.key(id).await?.map(Arc::new) else { return Ok(None) };
        self.keys.put(cached, Arc::clone(&key), now);
        Ok(Some(key))
    }

    /// That a key has not expired, and may be used from this address.
    pub(crate) fn check_usable(&self, key: &ApiKey, client: IpAddr) -> Result<()> {
        if let Some(expired_at_ms) = key.expires_at_ms.filter(|at_ms| *at_ms <= self.clock.now_ms()) {
            return Err(Error::KeyExpired(moment(expired_at_ms)));
        }
        if !key.restrictions.allows_address(client) {
            return Err(Error::AddressNotAllowed(client.to_canonical()));
        }
        Ok(())
    }

    /// That a caller's key has these scopes, and reaches the project that a path names. One that it does not reach
    /// answers as one that does not exist.
    pub async fn authorize(&self, caller: Caller, scopes: Scopes, project: Option<&str>) -> Result<()> {
        caller.needs(scopes)?;
        let Some(limits) = self.project_limits(caller).await? else { return Ok(()) };
        let is_reached = |id: &str| ProjectId::parse(id).is_some_and(|id| limits.allows_project(id));
        if project.is_none_or(is_reached) { Ok(()) } else { Err(Error::NotFound(Noun::Project)) }
    }

    /// What a key that is limited to some projects is restricted to.
    pub(crate) async fn project_limits(&self, caller: Caller) -> Result<Option<Restrictions>> {
        match caller {
            Caller::Key(principal) if principal.is_limited => {
                let key = self.key_record(principal.key).await?.ok_or(Error::InvalidKey)?;
                Ok(Some(key.restrictions.clone()))
            }
            Caller::Key(_) | Caller::Anyone(_) => Ok(None),
        }
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
        let stored = self.project(caller, id).await?;
        if stored.project.copying.is_some() { Err(Error::Copying) } else { Ok(stored) }
    }

    pub(crate) async fn readable_project(&self, caller: Caller, id: &str) -> Result<StoredProject> {
        let found = match ProjectId::parse(id) {
            Some(id) => self.store.project(id).await?,
            None => None,
        };
        let found = self.without_lost_copy(found).await?;
        // Another team's project answers as one that does not exist.
        let limits = self.project_limits(caller).await?;
        let is_reached = |id: ProjectId| limits.as_ref().is_none_or(|limits| limits.allows_project(id));
        let own = found.filter(|found| found.project.team == caller.team() && is_reached(found.project.id));
        match caller {
            Caller::Key(_) => own.ok_or(Error::NotFound(Noun::Project)),
            Caller::Anyone(_) => {
                own.filter(|found| !found.project.settings.api.require_key).ok_or(Error::Unauthenticated)
            }
        }
    }

    /// Notes the use of a key, now and then.
    pub(crate) fn touch(&self, key: &ApiKey, client: IpAddr) {
        let now_ms = self.clock.now_ms();
        if key.last_used.is_some_and(|last| now_ms - last.at_ms < TOUCH_EVERY_MS) {
            return;
        }
        let last_use = LastUse { at_ms: now_ms, from: Some(client.to_canonical()) };
        let (store, id) = (Arc::clone(&self.store), key.id);
        tokio::spawn(async move {
            if let Err(failure) = store.touch_key(id, last_use).await {
                tracing::warn!(%failure, "could not save an API key's last use");
            }
        });
    }
}

/// A moment, for people and programs.
pub(crate) fn moment(unix_ms: i64) -> String {
    format!("{:.0}", jiff::Timestamp::from_millisecond(unix_ms).unwrap_or_default())
}

fn key_id(token: &str) -> Option<KeyId> {
    let (id, _) = token.strip_prefix("rm_")?.split_once('_')?;
    KeyId::parse(id)
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}
