//! What inbound webhooks received, as it came, and what became of it.
//!
//! A delivery is written down once it was processed, well or not, together with others. It is kept for some days and within a number of bytes a
//! team, so that its owner can see why it made no row, and process it again.

use async_trait::async_trait;
use rowmill_model::{HookId, ProjectId, TeamId};
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};
use crate::webhooks::DeliveryId;

/// How many outcomes of a delivery are kept: that of its arrival, and of the last replays.
pub const OUTCOMES_KEPT: usize = 10;
/// How many deliveries are removed in one transaction.
pub const RECEIVED_AT_ONCE: u32 = 1_000;
/// What a delivery counts beside its own bytes.
pub(crate) const OVERHEAD_BYTES: u64 = 512;

/// A delivery to be kept.
#[derive(Debug, Clone)]
pub struct NewReceived {
    pub team: TeamId,
    /// The hook that took it; `None` for the event platform's webhook.
    pub hook: Option<HookId>,
    /// The hook's project.
    pub project: Option<ProjectId>,
    pub received_at_ms: i64,
    pub head: ReceivedHead,
    pub outcome: ReceivedOutcome,
    pub body: Vec<u8>,
}

/// How much of what a team received is kept. The oldest make room.
#[derive(Debug, Clone, Copy)]
pub struct KeepReceived {
    pub count: u64,
    pub bytes: u64,
}

impl KeepReceived {
    /// How many deliveries and bytes of a team are too much; `None` if all fit.
    pub fn over(self, count: u64, bytes: u64) -> Option<(u64, u64)> {
        let over = (count.saturating_sub(self.count), bytes.saturating_sub(self.bytes));
        (over != (0, 0)).then_some(over)
    }
}

/// What is kept of a request beside its body.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceivedHead {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// Names in lower case. Those that may carry a secret are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The projects whose signature it had when it came in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub signed_for: Vec<ProjectId>,
}

/// What became of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReceivedOutcome {
    pub at_ms: i64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_replay: bool,
    pub status: ReceivedStatus,
    #[serde(default)]
    pub rows_created: u64,
    #[serde(default)]
    pub rows_updated: u64,
    #[serde(default)]
    pub rows_unchanged: u64,
    /// Keys that went nowhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ignored_keys: Vec<String>,
    /// Why it was ignored, or why it failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ReceivedStatus {
    /// Rows were made or changed.
    Processed,
    /// It is right, but nothing was to be done.
    Ignored,
    Failed,
}

impl ReceivedStatus {
    pub const ALL: [Self; 3] = [Self::Processed, Self::Ignored, Self::Failed];

    /// How it is stored.
    pub fn number(self) -> i64 {
        match self {
            Self::Processed => 0,
            Self::Ignored => 1,
            Self::Failed => 2,
        }
    }

    pub fn of_number(number: i64) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|status| status.number() == number);
        known.ok_or_else(|| StoreError::Damaged("not the status of a delivery".to_owned()))
    }
}

/// A delivery as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedRecord {
    pub id: DeliveryId,
    pub hook: Option<HookId>,
    pub project: Option<ProjectId>,
    /// That of the last outcome.
    pub status: ReceivedStatus,
    pub body_bytes: u64,
    pub head: ReceivedHead,
    /// Oldest first.
    pub outcomes: Vec<ReceivedOutcome>,
    /// Not in lists.
    pub body: Option<Vec<u8>>,
}

/// Which deliveries of a team are listed.
#[derive(Debug, Clone, Copy, Default)]
pub struct ReceivedFilter {
    pub source: Option<ReceivedSource>,
    pub status: Option<ReceivedStatus>,
    /// Those with a number below.
    pub before: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceivedSource {
    EventPlatform,
    Hooks,
    Hook(HookId),
}

impl ReceivedSource {
    /// Whether it is about hooks, and not about the event platform's webhook.
    pub fn is_of_hooks(self) -> bool {
        self != Self::EventPlatform
    }

    /// The one hook, if it is about one.
    pub fn hook(self) -> Option<HookId> {
        match self {
            Self::Hook(hook) => Some(hook),
            Self::EventPlatform | Self::Hooks => None,
        }
    }
}

/// A delivery in the form it is stored in.
#[derive(Debug)]
pub struct ReceivedTexts {
    pub head: String,
    pub log: String,
    /// What it counts.
    pub bytes: u64,
}

impl NewReceived {
    pub fn to_texts(&self) -> Result<ReceivedTexts> {
        let head = to_text(&self.head)?;
        let log = to_text(&[&self.outcome])?;
        let bytes = OVERHEAD_BYTES + (head.len() + self.body.len()) as u64;
        Ok(ReceivedTexts { head, log, bytes })
    }
}

impl ReceivedHead {
    /// Reads what [`NewReceived::to_texts`] made.
    pub fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(damaged)
    }
}

impl ReceivedOutcome {
    pub fn read_all(log: &str) -> Result<Vec<Self>> {
        serde_json::from_str(log).map_err(damaged)
    }

    /// The log with this outcome. That of the arrival stays.
    pub fn added_to(&self, log: &str) -> Result<String> {
        let mut outcomes = Self::read_all(log)?;
        if outcomes.len() >= OUTCOMES_KEPT {
            outcomes.remove(1);
        }
        outcomes.push(self.clone());
        to_text(&outcomes)
    }
}

/// Which of a team's oldest deliveries make room: up to which number, how many, and their bytes. `oldest` are numbers
/// and bytes, `over` is what is too much.
pub fn making_room(
    oldest: impl IntoIterator<Item = (u64, u64)>,
    over_count: u64,
    over_bytes: u64,
) -> Option<(u64, u64, u64)> {
    let (mut last, mut count, mut freed) = (None, 0, 0);
    for (num, bytes) in oldest {
        if count >= over_count && freed >= over_bytes {
            break;
        }
        (last, count, freed) = (Some(num), count + 1, freed + bytes);
    }
    last.map(|last| (last, count, freed))
}

fn to_text(value: &impl Serialize) -> Result<String> {
    serde_json::to_string(value).map_err(damaged)
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}

/// Keeps what inbound webhooks received.
#[async_trait]
pub trait ReceivedStore: Send + Sync {
    /// Keeps deliveries, in one transaction. Where a team has too many, those that were there longest make room.
    async fn keep_received(&self, new: Vec<NewReceived>, keep: KeepReceived) -> Result<()>;

    /// A team's deliveries, newest first, without their bodies.
    async fn received(&self, team: TeamId, filter: ReceivedFilter, limit: u32)
    -> Result<Vec<ReceivedRecord>>;

    /// One with its body.
    async fn received_one(&self, team: TeamId, id: DeliveryId) -> Result<Option<ReceivedRecord>>;

    /// Adds what became of a delivery this time. Says whether it is still there.
    async fn add_outcome(&self, team: TeamId, id: DeliveryId, outcome: ReceivedOutcome) -> Result<bool>;

    /// Removes some of the deliveries that came in before a time; says whether there may be more.
    async fn sweep_received(&self, before_ms: i64) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_make_room_than_must() {
        let oldest = [(1, 10), (2, 20), (3, 30)];
        assert_eq!(making_room(oldest, 0, 0), None);
        let keep = KeepReceived { count: 2, bytes: 30 };
        assert_eq!(
            [keep.over(2, 30), keep.over(3, 30), keep.over(1, 41)],
            [None, Some((1, 0)), Some((0, 11))]
        );
        assert_eq!(making_room(oldest, 1, 0), Some((1, 1, 10)));
        assert_eq!(making_room(oldest, 1, 11), Some((2, 2, 30)));
        assert_eq!(making_room(oldest, 0, 1_000), Some((3, 3, 60)));
    }

    #[test]
    fn the_first_outcome_and_the_last_ones_are_kept() {
        let outcome = |at_ms| ReceivedOutcome {
            at_ms,
            is_replay: at_ms > 0,
            status: ReceivedStatus::Ignored,
            rows_created: 0,
            rows_updated: 0,
            rows_unchanged: 0,
            ignored_keys: Vec::new(),
            reason: None,
        };
        let mut log = to_text(&[outcome(0)]).unwrap();
        for at_ms in 1..20 {
            log = outcome(at_ms).added_to(&log).unwrap();
        }
        let times: Vec<i64> =
            ReceivedOutcome::read_all(&log).unwrap().iter().map(|outcome| outcome.at_ms).collect();
        assert_eq!(times, [0, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    }
}
