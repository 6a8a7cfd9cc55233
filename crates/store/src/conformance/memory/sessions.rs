//! Browsers that are signed in, the newest first.

use async_trait::async_trait;
use rowmill_model::TeamId;
use uuid::Uuid;

use super::MemoryStore;
use super::state::State;
use crate::error::Result;
use crate::sessions::{SESSIONS_MAX, Session, SessionStore};

#[async_trait]
impl SessionStore for MemoryStore {
    async fn create_session(&self, session: Session) -> Result<()> {
        self.write(|state, _| {
            state.create_session(session);
            Ok(())
        })
    }

    async fn session(&self, id: Uuid) -> Result<Option<Session>> {
        self.read(|state| Ok(state.sessions.iter().find(|session| session.id == id).cloned()))
    }

    async fn sessions(&self, team: TeamId, now_ms: i64) -> Result<Vec<Session>> {
        self.read(|state| Ok(state.sessions_of(team, now_ms)))
    }

    async fn touch_session(&self, id: Uuid, seen_at_ms: i64) -> Result<()> {
        self.write(|state, _| {
            if let Some(session) = state.sessions.iter_mut().find(|session| session.id == id) {
                session.seen_at_ms = seen_at_ms.max(session.seen_at_ms);
            }
            Ok(())
        })
    }

    async fn delete_sessions(&self, team: TeamId, ids: Vec<Uuid>) -> Result<u64> {
        self.write(|state, _| {
            let before = state.sessions.len();
            state.sessions.retain(|session| session.team != team || !ids.contains(&session.id));
            Ok((before - state.sessions.len()) as u64)
        })
    }

    async fn delete_all_sessions(&self) -> Result<()> {
        self.write(|state, _| {
            state.sessions.clear();
            Ok(())
        })
    }
}

impl State {
    pub(super) fn create_session(&mut self, session: Session) {
        let mut of_team = 0;
        self.sessions.retain(|other| {
            of_team += u32::from(other.team == session.team);
            let has_room = other.team != session.team || of_team < SESSIONS_MAX;
            has_room && other.expires_at_ms > session.created_at_ms
        });
        self.sessions.insert(0, session);
    }

    pub(super) fn sessions_of(&self, team: TeamId, now_ms: i64) -> Vec<Session> {
        let is_live = |session: &&Session| {
            let has_key = self.keys.iter().any(|key| key.id == session.key);
            session.team == team && session.expires_at_ms > now_ms && has_key
        };
        self.sessions.iter().filter(is_live).cloned().collect()
    }
}
