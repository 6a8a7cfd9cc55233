//! Answers of providers that are used again.

use async_trait::async_trait;
use rowmill_model::TeamId;

use super::MemoryStore;
use crate::error::Result;
use crate::kept_answers::{ANSWERS_AT_ONCE, AnswerLimits, AnswerStore, KeptAnswer};

#[async_trait]
impl AnswerStore for MemoryStore {
    async fn kept_answer(&self, name: [u8; 32], now_ms: i64) -> Result<Option<String>> {
        self.read(|state| {
            let mut kept = state.kept_answers.iter();
            let found = kept.find(|kept| kept.name == name && kept.expires_at_ms > now_ms);
            Ok(found.map(|kept| kept.answer.clone()))
        })
    }

    async fn keep_answer(&self, kept: KeptAnswer) -> Result<()> {
        self.write(|state, _| {
            state.kept_answers.retain(|known| known.name != kept.name);
            state.kept_answers.push(kept);
            Ok(())
        })
    }

    async fn trim_answers(&self, team: TeamId, limits: AnswerLimits) -> Result<bool> {
        self.write(|state, _| {
            let mut own: Vec<&KeptAnswer> =
                state.kept_answers.iter().filter(|kept| kept.team == team).collect();
            own.sort_by_key(|kept| kept.at_ms);
            let (count, bytes) = (own.len() as u64, own.iter().map(|kept| kept.bytes()).sum());
            let oldest = own.iter().take(ANSWERS_AT_ONCE as usize);
            let oldest = oldest.map(|kept| (kept.name, kept.bytes())).collect();
            let going = limits.too_old(count, bytes, oldest);
            state.kept_answers.retain(|kept| !going.contains(&kept.name));
            Ok(!going.is_empty())
        })
    }

    async fn sweep_answers(&self, now_ms: i64) -> Result<bool> {
        self.write(|state, _| {
            let count = state.kept_answers.len();
            state.kept_answers.retain(|kept| kept.expires_at_ms > now_ms);
            Ok(state.kept_answers.len() < count)
        })
    }
}
