//! The [`SessionStore`] of [`SqliteStore`].

use async_trait::async_trait;
use rowmill_model::TeamId;
use rowmill_store::{Result, Session, SessionStore};
use uuid::Uuid;

use crate::sessions;
use crate::store::SqliteStore;

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create_session(&self, session: Session) -> Result<()> {
        self.writer.write(move |connection| sessions::create(connection, &session)).await
    }

    async fn session(&self, id: Uuid) -> Result<Option<Session>> {
        self.readers.read(|connection| sessions::find(connection, id))
    }

    async fn sessions(&self, team: TeamId, now_ms: i64) -> Result<Vec<Session>> {
        self.readers.read(|connection| sessions::list(connection, team, now_ms))
    }

    async fn touch_session(&self, id: Uuid, seen_at_ms: i64) -> Result<()> {
        self.writer.write(move |connection| sessions::touch(connection, id, seen_at_ms)).await
    }

    async fn delete_sessions(&self, team: TeamId, ids: Vec<Uuid>) -> Result<u64> {
        self.writer.write(move |connection| sessions::delete(connection, team, &ids)).await
    }

    async fn delete_all_sessions(&self) -> Result<()> {
        self.writer.write(sessions::delete_all).await
    }
}
