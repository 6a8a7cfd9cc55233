//! Sessions of people in a browser. One stands for an API key and ends with it, or when somebody ends it.

use std::net::IpAddr;
use std::sync::Arc;

use rowmill_model::{KeyId, TeamId};
use rowmill_store::Session;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::app::App;
use crate::caller::{Caller, Principal};
use crate::error::{Error, Noun, Result};
use crate::ids::{random, uuid};

/// How long a session lasts.
pub const SESSION_DAYS: u32 = 30;
const SESSION_MS: i64 = SESSION_DAYS as i64 * 24 * 60 * 60 * 1000;
/// How long a sign-in link can be used.
const LINK_MS: i64 = 60 * 60 * 1000;
/// How often the time a session was last seen is written down, at most.
const TOUCH_EVERY_MS: i64 = 60_000;
/// The longest name of a browser that is kept, in characters.
const BROWSER_CHARS_MAX: usize = 255;
/// What comes before the id of a session in texts.
const ID_PREFIX: &str = "sess_";

/// What sessions are sealed under, so that nothing else that was sealed passes for one. Cookies of version 0.1, under
/// `session`, named a key and could not be ended.
const PURPOSE: &str = "stored session";

impl App {
    /// A session for the holder of a key: bytes that only this service can make and read.
    pub async fn open_session(&self, principal: Principal, browser: &str) -> Result<Vec<u8>> {
        let now_ms = self.clock.now_ms();
        let session = Session {
            id: uuid(now_ms)?,
            team: principal.team,
            key: principal.key,
            browser: browser.chars().filter(|char| !char.is_control()).take(BROWSER_CHARS_MAX).collect(),
            created_at_ms: now_ms,
            seen_at_ms: now_ms,
            expires_at_ms: now_ms + SESSION_MS,
        };
        let sealed = self.vault.seal_for(PURPOSE, session.id.as_bytes())?;
        self.store.create_session(session).await?;
        Ok(sealed)
    }

    /// Whom a session stands for. Forged, expired, ended, or with a key that cannot be used here and now: nobody.
    pub async fn session(&self, sealed: &[u8], client: IpAddr) -> Result<Option<Principal>> {
        let Some(id) = self.session_id(sealed) else { return Ok(None) };
        let now = self.clock.monotonic();
        let cached = cache_key(id);
        if let Some(key) = self.keys.get(&cached, now) {
            return Ok(self.check_usable(&key, client).ok().map(|()| Principal::of(&key, Some(id))));
        }
        let Some(session) = self.live_session(id).await? else { return Ok(None) };
        // Not from the cache: together they would outlive a revoked key by more than a second.
        let key = self.store.key(session.key).await?;
        let Some(key) = key.filter(|key| self.check_usable(key, client).is_ok()).map(Arc::new) else {
            return Ok(None);
        };
        let principal = Principal::of(&key, Some(id));
        self.touch(&key, client);
        self.keys.put(cached, key, now);
        let now_ms = self.clock.now_ms();
        if now_ms - session.seen_at_ms >= TOUCH_EVERY_MS {
            let store = Arc::clone(&self.store);
            tokio::spawn(async move {
                if let Err(failure) = store.touch_session(id, now_ms).await {
                    tracing::warn!(%failure, "could not save a session's last use");
                }
            });
        }
        Ok(Some(principal))
    }

    /// Whether a principal's key, and its session if it has one, still hold, as the store says now.
    pub(crate) async fn is_still(&self, principal: Principal) -> Result<bool> {
        if let Some(id) = principal.session
            && self.live_session(id).await?.is_none()
        {
            return Ok(false);
        }
        let now_ms = self.clock.now_ms();
        let key = self.store.key(principal.key).await?;
        Ok(key.is_some_and(|key| key.expires_at_ms.is_none_or(|at_ms| now_ms < at_ms)))
    }

    async fn live_session(&self, id: Uuid) -> Result<Option<Session>> {
        let now_ms = self.clock.now_ms();
        Ok(self.store.session(id).await?.filter(|session| now_ms < session.expires_at_ms))
    }

    /// The sessions of the caller's team, newest first.
    pub async fn sessions(&self, caller: Caller) -> Result<Vec<Session>> {
        let team = caller.with_key()?.team;
        Ok(self.store.sessions(team, self.clock.now_ms()).await?)
    }

    /// Ends a session of the caller's team. Other nodes notice within a second.
    pub async fn end_session(&self, caller: Caller, id: &str) -> Result<()> {
        let team = caller.with_key()?.team;
        let id = id.strip_prefix(ID_PREFIX).and_then(|id| Uuid::try_parse(id).ok());
        let id = id.ok_or(Error::NotFound(Noun::Session))?;
        if self.end_sessions(team, vec![id]).await? == 0 {
            Err(Error::NotFound(Noun::Session))
        } else {
            Ok(())
        }
    }

    /// Ends all sessions of the caller's team but the caller's own; says how many.
    pub async fn end_other_sessions(&self, caller: Caller) -> Result<u64> {
        let principal = caller.with_key()?;
        let sessions = self.store.sessions(principal.team, self.clock.now_ms()).await?;
        let others = sessions.iter().map(|session| session.id).filter(|id| Some(*id) != principal.session);
        self.end_sessions(principal.team, others.collect()).await
    }

    /// Ends the session of a browser that signs out.
    pub async fn sign_out(&self, sealed: &[u8]) -> Result<()> {
        let Some(id) = self.session_id(sealed) else { return Ok(()) };
        if let Some(session) = self.store.session(id).await? {
            self.end_sessions(session.team, vec![id]).await?;
        }
        Ok(())
    }

    async fn end_sessions(&self, team: TeamId, ids: Vec<Uuid>) -> Result<u64> {
        let ended = self.store.delete_sessions(team, ids.clone()).await?;
        for id in ids {
            self.keys.forget(&cache_key(id));
        }
        Ok(ended)
    }

    fn session_id(&self, sealed: &[u8]) -> Option<Uuid> {
        self.vault.open_for(PURPOSE, sealed).and_then(|plain| Uuid::from_slice(&plain).ok())
    }

    /// A token that signs in once, within the hour, as the holder of this key.
    pub fn sign_in_link(&self, key: KeyId) -> Result<String> {
        let half = || random().map(|bytes| Uuid::from_bytes(bytes).simple().to_string());
        let token = half()? + &half()?;
        self.link.set(&token, key, self.clock.now_ms() + LINK_MS);
        Ok(token)
    }

    /// Whom a link signs in, the first time it is used.
    pub async fn use_sign_in_link(&self, token: &str, client: IpAddr) -> Result<Option<Principal>> {
        match self.link.take(token, self.clock.now_ms()) {
            Some(key) => self.key_holder(key, client).await,
            None => Ok(None),
        }
    }

    /// Whether the caller's team runs this installation: the oldest team does.
    pub async fn is_operator(&self, team: TeamId) -> Result<bool> {
        Ok(self.store.teams().await?.first().is_some_and(|oldest| oldest.id == team))
    }

    /// The same, or a refusal.
    pub(crate) async fn require_operator(&self, team: TeamId) -> Result<()> {
        if self.is_operator(team).await? { Ok(()) } else { Err(Error::NotOperator) }
    }
}

/// A session's id as the API shows it.
pub fn session_name(id: Uuid) -> String {
    format!("{ID_PREFIX}{}", id.simple())
}

/// Not what any token or key hashes to: no text begins with this byte, and keys have another.
fn cache_key(id: Uuid) -> [u8; 32] {
    Sha256::new().chain_update([0xFE]).chain_update(id.as_bytes()).finalize().into()
}
