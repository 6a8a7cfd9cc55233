//! The [`SessionStore`] of [`PostgresStore`].

use async_trait::async_trait;
use rowmill_model::TeamId;
use rowmill_store::{Result, Session, SessionStore};
use uuid::Uuid;

use crate::database::CommitDoubt::{Repeat, Tell};
use crate::sessions;
use crate::store::PostgresStore;

#[async_trait]
impl SessionStore for PostgresStore {
    async fn create_session(&self, session: Session) -> Result<()> {
        self.node().write(Tell, session, |tx, session| Box::pin(sessions::create(tx, session))).await
    }

    async fn session(&self, id: Uuid) -> Result<Option<Session>> {
        self.node().read(id, |tx, id| Box::pin(sessions::find(tx, *id))).await
    }

    async fn sessions(&self, team: TeamId, now_ms: i64) -> Result<Vec<Session>> {
        let input = (team, now_ms);
        self.node().read(input, |tx, (team, now_ms)| Box::pin(sessions::list(tx, *team, *now_ms))).await
    }

    async fn touch_session(&self, id: Uuid, seen_at_ms: i64) -> Result<()> {
        let input = (id, seen_at_ms);
        self.node().write(Repeat, input, |tx, (id, at_ms)| Box::pin(sessions::touch(tx, *id, *at_ms))).await
    }

    async fn delete_sessions(&self, team: TeamId, ids: Vec<Uuid>) -> Result<u64> {
        self.node()
            .write(Tell, (team, ids), |tx, (team, ids)| Box::pin(sessions::delete(tx, *team, ids)))
            .await
    }

    async fn delete_all_sessions(&self) -> Result<()> {
        self.node().write(Repeat, (), |tx, ()| Box::pin(sessions::delete_all(tx))).await
    }
}
