//! Sessions of people in a browser. One stands for an API key and ends with it.

use rowmill_model::{KeyId, TeamId};
use uuid::Uuid;

use crate::app::App;
use crate::caller::Principal;
use crate::error::{Error, Result};
use crate::ids::random;

/// How long a session lasts.
pub const SESSION_DAYS: u32 = 30;
const SESSION_MS: i64 = SESSION_DAYS as i64 * 24 * 60 * 60 * 1000;
/// How long a sign-in link can be used.
const LINK_MS: i64 = 60 * 60 * 1000;

/// What sessions are sealed under, so that nothing else that was sealed passes for one.
const PURPOSE: &str = "session";

impl App {
    /// A session for the holder of a key: bytes that only this service can make and read.
    pub fn open_session(&self, principal: Principal) -> Result<Vec<u8>> {
        let expires_at_ms = self.clock.now_ms() + SESSION_MS;
        let plain = [principal.key.uuid().as_bytes().as_slice(), &expires_at_ms.to_be_bytes()].concat();
        self.vault.seal_for(PURPOSE, &plain)
    }

    /// Whom a session stands for. Forged, expired, or its key revoked: nobody.
    pub async fn session(&self, sealed: &[u8]) -> Result<Option<Principal>> {
        let Some((key, expires_at_ms)) = self.vault.open_for(PURPOSE, sealed).and_then(|plain| read(&plain))
        else {
            return Ok(None);
        };
        if self.clock.now_ms() >= expires_at_ms {
            return Ok(None);
        }
        self.key_holder(key).await
    }

    /// A token that signs in once, within the hour, as the holder of this key.
    pub fn sign_in_link(&self, key: KeyId) -> Result<String> {
        let half = || random().map(|bytes| Uuid::from_bytes(bytes).simple().to_string());
        let token = half()? + &half()?;
        self.link.set(&token, key, self.clock.now_ms() + LINK_MS);
        Ok(token)
    }

    /// Whom a link signs in, the first time it is used.
    pub async fn use_sign_in_link(&self, token: &str) -> Result<Option<Principal>> {
        match self.link.take(token, self.clock.now_ms()) {
            Some(key) => self.key_holder(key).await,
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

fn read(plain: &[u8]) -> Option<(KeyId, i64)> {
    let (key, expires_at_ms) = plain.split_first_chunk::<16>()?;
    let expires_at_ms = i64::from_be_bytes(expires_at_ms.try_into().ok()?);
    Some((KeyId::from_uuid(Uuid::from_bytes(*key)), expires_at_ms))
}
