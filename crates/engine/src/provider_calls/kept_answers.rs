//! Answers that are used again (`cacheTtlSeconds`), as the store keeps them: they survive a restart, and nodes share them.
//!
//! What is large is kept in memory only, and nothing is kept here for longer than a week. A team has so many at most.
//! Counting them takes time, so it is done only now and then: a team may have a few more for a while.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::TeamId;
use rowmill_model::cell::Meta;
use rowmill_store::Store;
use rowmill_store::kept_answers::{AnswerLimits, KeptAnswer};
use serde::{Deserialize, Serialize};

use crate::cell_runner::CallOutcome;
use crate::digest::Digest;

#[derive(Debug)]
pub(super) struct KeptAnswers {
    /// None where nothing is stored.
    pub(super) store: Option<Arc<dyn Store>>,
    limits: AnswerLimits,
    /// What teams have added since their answers were last counted.
    added: Mutex<HashMap<TeamId, Added>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Added {
    count: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct Kept {
    until_ms: i64,
    /// Raw JSON; none if nothing was found.
    value: Option<Box<str>>,
    meta: Meta,
}

const BYTES_MAX: usize = 64 * 1024;
const KEPT_FOR_MAX: Duration = Duration::from_hours(7 * 24);
/// A team's answers are counted when this part of what it may have was added, or as many.
const COUNTED_PART: u64 = 8;
const COUNTED_AFTER: u64 = 256;
/// How often some are removed before others have their turn. The next count goes on.
const ROUNDS_MAX: u32 = 20;
const TEAMS_MAX: usize = 10_000;

impl KeptAnswers {
    pub(super) fn new(limits: AnswerLimits) -> Self {
        Self { store: None, limits, added: Mutex::default() }
    }

    /// An answer, and until when it is good. If the database does not answer, there is none.
    pub(super) async fn find(&self, key: Digest, now: Timestamp) -> Option<(CallOutcome, Timestamp)> {
        let kept = self.store.as_ref()?.kept_answer(name(key), now.as_millisecond()).await;
        let kept = kept.inspect_err(|error| tracing::debug!(%error, "could not look for a kept answer"));
        let Kept { until_ms, value, meta } = serde_json::from_str(&kept.ok()??).ok()?;
        let until = Timestamp::from_millisecond(until_ms).ok().filter(|until| *until > now)?;
        let outcome = match value {
            Some(value) => CallOutcome::Value(value, meta),
            None => CallOutcome::NoData(meta),
        };
        Some((outcome, until))
    }

    pub(super) async fn insert(
        &self,
        team: TeamId,
        key: Digest,
        outcome: &CallOutcome,
        until: Timestamp,
        now: Timestamp,
    ) {
        let Some(store) = &self.store else { return };
        let (value, meta) = match outcome {
            CallOutcome::Value(value, meta) => (Some(value.clone()), meta.clone()),
            CallOutcome::NoData(meta) => (None, meta.clone()),
            CallOutcome::Skipped(_) | CallOutcome::Failed(_) | CallOutcome::Later(..) => return,
        };
        let until = now.saturating_add(KEPT_FOR_MAX).unwrap_or(Timestamp::MAX).min(until);
        let (at_ms, expires_at_ms) = (now.as_millisecond(), until.as_millisecond());
        let Ok(answer) = serde_json::to_string(&Kept { until_ms: expires_at_ms, value, meta }) else {
            return;
        };
        if answer.len() > BYTES_MAX {
            return;
        }
        let kept = KeptAnswer { team, name: name(key), at_ms, expires_at_ms, answer };
        let bytes = kept.bytes();
        if let Err(error) = store.keep_answer(kept).await {
            tracing::debug!(%error, "could not keep an answer");
        } else if self.is_to_be_counted(team, bytes) {
            self.trim(&**store, team).await;
        }
    }

    /// Counts an answer. The first one of a team since the start has all of them counted.
    fn is_to_be_counted(&self, team: TeamId, bytes: u64) -> bool {
        let AnswerLimits { count: count_max, bytes: bytes_max } = self.limits;
        let mut teams = self.added.lock();
        if teams.len() >= TEAMS_MAX {
            teams.clear();
        }
        let Some(added) = teams.get_mut(&team) else {
            teams.insert(team, Added::default());
            return true;
        };
        let Added { count, bytes } =
            Added { count: added.count + 1, bytes: added.bytes.saturating_add(bytes) };
        let is_due =
            count >= COUNTED_AFTER.min(count_max / COUNTED_PART) || bytes >= bytes_max / COUNTED_PART;
        *added = if is_due { Added::default() } else { Added { count, bytes } };
        is_due
    }

    async fn trim(&self, store: &dyn Store, team: TeamId) {
        for _ in 0..ROUNDS_MAX {
            match store.trim_answers(team, self.limits).await {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    tracing::debug!(%error, "could not remove kept answers");
                    return;
                }
            }
        }
    }
}

fn name(key: Digest) -> [u8; 32] {
    Digest::of(["answer", &format!("{key:?}")]).bytes()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn answers_are_counted_now_and_then() {
        let counted = |limits: AnswerLimits, bytes: u64| -> Vec<usize> {
            let kept = KeptAnswers::new(limits);
            let team = TeamId(Uuid::from_u128(1));
            (0..600).filter(|_| kept.is_to_be_counted(team, bytes)).collect()
        };
        let limits = AnswerLimits { count: 100_000, bytes: 1_000_000 };
        assert_eq!(counted(limits, 1), [0, 256, 512]);
        assert_eq!(counted(limits, 25_000).len(), 120, "one in five is an eighth of the bytes");
        assert_eq!(counted(AnswerLimits { count: 4, ..limits }, 1).len(), 600, "few are counted each time");
    }
}
