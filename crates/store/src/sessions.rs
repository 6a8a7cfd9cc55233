//! Browsers that are signed in.

use async_trait::async_trait;
use rowmill_model::{KeyId, TeamId};
use uuid::Uuid;

use crate::error::Result;

/// How many sessions a team has at most: one more ends the oldest.
pub const SESSIONS_MAX: u32 = 1_000;

/// A browser that is signed in. It stands for a key, and is deleted with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    pub id: Uuid,
    pub team: TeamId,
    pub key: KeyId,
    /// What the browser calls itself.
    pub browser: String,
    pub created_at_ms: i64,
    pub seen_at_ms: i64,
    pub expires_at_ms: i64,
}

/// Keeps the sessions of browsers.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Keeps a session, in place of those that have expired and of the team's oldest if it has too many.
    async fn create_session(&self, session: Session) -> Result<()>;

    /// A session, even if it has expired.
    async fn session(&self, id: Uuid) -> Result<Option<Session>>;

    /// A team's sessions that have not expired and whose key is not revoked, newest first.
    async fn sessions(&self, team: TeamId, now_ms: i64) -> Result<Vec<Session>>;

    /// Notes when a session was last used.
    async fn touch_session(&self, id: Uuid, seen_at_ms: i64) -> Result<()>;

    /// Says how many of these sessions the team had.
    async fn delete_sessions(&self, team: TeamId, ids: Vec<Uuid>) -> Result<u64>;

    /// Those of all teams.
    async fn delete_all_sessions(&self) -> Result<()>;
}
