//! Outbound webhooks: what teams have set up, and the outbox of deliveries.
//!
//! A delivery is written in the transaction that it tells of (`changes/outbox.rs`). It is *due* until it was delivered or
//! given up; whoever claims it moves the time at which it is due on to the end of a lease, so that another node delivers
//! it if this one dies. Deliveries that are done stay for a while, as a log and to be sent again.

use async_trait::async_trait;
use rowmill_model::record::Slot;
use rowmill_model::{ColumnId, EventType, Project, ProjectId, TeamId, Webhook, WebhookId};
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};

/// How many attempts of a delivery are kept.
pub const ATTEMPTS_KEPT: usize = 10;
/// How many deliveries are removed or sent again in one transaction.
pub const DELIVERIES_AT_ONCE: u32 = 1_000;

/// What a team has set up.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TeamWebhooks {
    /// Counts the changes; 0 if there never was one.
    pub version: u64,
    /// Oldest first.
    pub webhooks: Vec<Webhook>,
}

/// All of a team's webhooks, to be saved over the version they were made from.
#[derive(Debug, Clone)]
pub struct WebhooksSave {
    pub team: TeamId,
    pub version: u64,
    pub webhooks: Vec<Webhook>,
    /// To be sent in any case: tests, and what is said of events that were dropped.
    pub deliveries: Vec<NewDelivery>,
}

impl WebhooksSave {
    /// The webhooks as they are stored, and what of them writers must know; `None` if nobody is to be told of anything.
    pub fn to_texts(&self) -> Result<(String, Option<String>)> {
        let told: Vec<Subscription> =
            self.webhooks.iter().filter(|webhook| webhook.is_told()).map(Subscription::of).collect();
        let text =
            |json: serde_json::Result<String>| json.map_err(|error| StoreError::Damaged(error.to_string()));
        let subscriptions = (!told.is_empty()).then(|| text(serde_json::to_string(&told))).transpose()?;
        Ok((text(serde_json::to_string(&self.webhooks))?, subscriptions))
    }
}

/// What a writer must know of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Subscription {
    pub webhook: WebhookId,
    pub events: Vec<EventType>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_ids: Option<Vec<ProjectId>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column_ids: Option<Vec<ColumnId>>,
}

impl Subscription {
    fn of(webhook: &Webhook) -> Self {
        Self {
            webhook: webhook.id,
            events: webhook.events.clone(),
            project_ids: webhook.project_ids.clone(),
            column_ids: webhook.column_ids.clone(),
        }
    }

    /// Reads what [`WebhooksSave::to_texts`] made.
    pub fn read(text: &str) -> Result<Vec<Self>> {
        serde_json::from_str(text).map_err(|error| StoreError::Damaged(error.to_string()))
    }

    /// The columns it is about in a project; `None` if it is about all of them.
    pub(crate) fn slots(&self, project: &Project) -> Option<Vec<Slot>> {
        let ids = self.column_ids.as_ref()?;
        let is_named = |id: &ColumnId| ids.contains(id);
        Some(
            project
                .table
                .columns
                .iter()
                .filter(|column| is_named(&column.id))
                .map(|column| column.slot)
                .collect(),
        )
    }
}

/// A delivery to be made, at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDelivery {
    pub webhook: WebhookId,
    /// What happened, in the word that the API uses.
    pub event: String,
    /// Where; `None` of what is about no project.
    pub project: Option<ProjectId>,
    /// The project's change sequence.
    pub seq: u64,
    pub created_at_ms: i64,
    /// JSON, as it is sent.
    pub body: String,
}

/// What names a delivery for whoever receives it. It is the same over all attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId {
    pub num: u64,
    /// A database that was restored from a backup uses numbers again; the time tells them apart.
    pub created_at_ms: i64,
}

impl DeliveryId {
    const PREFIX: &str = "msg_";

    pub fn parse(text: &str) -> Option<Self> {
        let (num, time) = text.strip_prefix(Self::PREFIX)?.split_once('_')?;
        let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
        let id = Self {
            num: num.parse().ok().filter(|num| *num <= i64::MAX.unsigned_abs())?,
            created_at_ms: i64::from_str_radix(time, 16).ok().filter(|_| is_plain(time))?,
        };
        // One delivery has one spelling.
        (id.to_string() == text).then_some(id)
    }
}

impl std::fmt::Display for DeliveryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}_{:x}", Self::PREFIX, self.num, self.created_at_ms)
    }
}

/// A delivery that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delivery {
    pub id: DeliveryId,
    pub team: TeamId,
    pub webhook: WebhookId,
    pub body: String,
    /// Attempts that were made before, since it was written or last sent again by hand.
    pub attempts: u32,
    /// The end of the lease. It must be brought back with the outcome.
    pub leased_until_ms: i64,
}

/// Which deliveries a node takes.
#[derive(Debug, Clone)]
pub struct ClaimDeliveries {
    pub now_ms: i64,
    pub leased_until_ms: i64,
    /// How many of each webhook, unless it is in `rooms`.
    pub each: u32,
    pub rooms: Vec<(WebhookId, u32)>,
    /// How many in all.
    pub most: u32,
}

impl ClaimDeliveries {
    /// How many deliveries of a webhook are taken.
    pub fn room(&self, webhook: WebhookId) -> u32 {
        self.rooms.iter().find(|(id, _)| *id == webhook).map_or(self.each, |(_, room)| *room)
    }

    /// How many deliveries are taken of each webhook for which any are due. Those that have room share alike, and who
    /// comes first changes with the time: so a few busy ones do not starve the others.
    pub fn shares(&self, due: Vec<WebhookId>) -> Vec<(WebhookId, u32)> {
        let with_room =
            |webhook: WebhookId| Some((webhook, self.room(webhook))).filter(|(_, room)| *room > 0);
        let mut waiting: Vec<(WebhookId, u32)> = due.into_iter().filter_map(with_room).collect();
        let count = i64::try_from(waiting.len()).unwrap_or(i64::MAX).max(1);
        waiting.rotate_left(usize::try_from(self.now_ms.rem_euclid(count)).unwrap_or_default());
        let (mut left, mut others) = (self.most, u32::try_from(waiting.len()).unwrap_or(u32::MAX));
        for (_, room) in &mut waiting {
            *room = (*room).min(left.div_ceil(others.max(1)));
            left -= *room;
            others = others.saturating_sub(1);
        }
        waiting.retain(|(_, share)| *share > 0);
        waiting
    }
}

/// How an attempt went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Attempt {
    pub at_ms: i64,
    pub took_ms: u64,
    /// The HTTP status; `None` if there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The beginning of the answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub answer: String,
    /// Why it failed, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What became of a claimed delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverySettlement {
    pub id: DeliveryId,
    /// That of the claim: if it is another one now, somebody else has the delivery, and this is dropped.
    pub leased_until_ms: i64,
    pub attempt: Option<Attempt>,
    pub outcome: DeliveryOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryOutcome {
    Delivered,
    /// To be tried again at this time, in Unix milliseconds.
    Retry(i64),
    GivenUp,
    /// Its webhook is gone: it is forgotten.
    Forgotten,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryStatus {
    Pending,
    Delivered,
    Failed,
}

impl DeliveryStatus {
    pub const ALL: [Self; 3] = [Self::Pending, Self::Delivered, Self::Failed];

    /// How it is stored.
    pub fn number(self) -> i64 {
        match self {
            Self::Pending => 0,
            Self::Delivered => 1,
            Self::Failed => 2,
        }
    }

    pub fn of_number(number: i64) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|status| status.number() == number);
        known.ok_or_else(|| StoreError::Damaged("not the status of a delivery".to_owned()))
    }
}

/// A delivery as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    pub id: DeliveryId,
    pub event: String,
    pub project: Option<ProjectId>,
    pub seq: u64,
    pub status: DeliveryStatus,
    /// When the next attempt is, in Unix milliseconds, or the lease of the present one ends; 0 is at once.
    pub due_at_ms: Option<i64>,
    /// The last ones, oldest first.
    pub attempts: Vec<Attempt>,
    pub body: String,
}

/// The log of attempts with another one.
pub fn with_attempt(log: Option<&str>, attempt: Option<Attempt>) -> Result<Option<String>> {
    let mut attempts = read_attempts(log)?;
    attempts.extend(attempt);
    let excess = attempts.len().saturating_sub(ATTEMPTS_KEPT);
    attempts.drain(..excess);
    if attempts.is_empty() {
        return Ok(None);
    }
    serde_json::to_string(&attempts).map(Some).map_err(|error| StoreError::Damaged(error.to_string()))
}

pub fn read_attempts(log: Option<&str>) -> Result<Vec<Attempt>> {
    let attempts = log.map(serde_json::from_str).transpose();
    attempts.map(Option::unwrap_or_default).map_err(|error| StoreError::Damaged(error.to_string()))
}

/// Which deliveries are sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replay {
    One(DeliveryId),
    /// Some of those that are done, were made at this time, in Unix milliseconds, or later, and have a number above.
    Since {
        at_ms: i64,
        only_failed: bool,
        after: u64,
    },
}

/// What of the deliveries that are done is kept.
#[derive(Debug, Clone, Copy)]
pub struct KeepDeliveries {
    pub count: u64,
    pub bytes: u64,
    /// Made at this time, in Unix milliseconds, or later.
    pub since_ms: i64,
}

/// How much waits for a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backlog {
    pub team: TeamId,
    pub webhook: WebhookId,
    pub bytes: u64,
}

/// What a store does for webhooks.
#[async_trait]
pub trait WebhookStore: Send + Sync {
    async fn webhooks(&self, team: TeamId) -> Result<TeamWebhooks>;

    /// The teams that have any.
    async fn webhook_teams(&self) -> Result<Vec<TeamId>>;

    /// Saves a team's webhooks, over the version they were made from; another one is
    /// [`StoreError::Stale`](crate::error::StoreError::Stale). Whoever writes after that goes by them.
    async fn save_webhooks(&self, save: WebhooksSave) -> Result<()>;

    /// Takes deliveries that are due, those that are due longest first.
    async fn claim_deliveries(&self, claim: ClaimDeliveries) -> Result<Vec<Delivery>>;

    async fn settle_deliveries(&self, done: Vec<DeliverySettlement>) -> Result<()>;

    /// A webhook's deliveries, newest first: those with a number below `before`.
    async fn deliveries(
        &self,
        webhook: WebhookId,
        before: Option<u64>,
        status: Option<DeliveryStatus>,
        limit: u32,
    ) -> Result<Vec<DeliveryRecord>>;

    async fn delivery(&self, webhook: WebhookId, id: DeliveryId) -> Result<Option<DeliveryRecord>>;

    /// Makes deliveries due; says which, by number. Of many it takes [`DELIVERIES_AT_ONCE`].
    async fn replay_deliveries(&self, webhook: WebhookId, replay: Replay) -> Result<Vec<u64>>;

    /// How much waits, of each webhook for which anything does.
    async fn backlogs(&self) -> Result<Vec<Backlog>>;

    /// Removes some of the deliveries that are done; says whether there may be more.
    async fn trim_deliveries(&self, webhook: WebhookId, keep: KeepDeliveries) -> Result<bool>;

    /// Removes some of the deliveries of a webhook that is gone; says whether there may be more.
    async fn forget_deliveries(&self, webhook: WebhookId) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_has_one_spelling() {
        let id = DeliveryId { num: 4_711, created_at_ms: 1_700_000_000_123 };
        assert_eq!(id.to_string(), "msg_4711_18bcfe5687b");
        assert_eq!(DeliveryId::parse(&id.to_string()), Some(id));
        for text in [
            "msg_04711_18bcfe5687b",
            "msg_4711_18BCFE5687B",
            "msg_4711",
            "4711_18bcfe5687b",
            "msg_-1_1",
            "msg_1_+1",
        ] {
            assert_eq!(DeliveryId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn webhooks_share_alike() {
        let id = |number| WebhookId::from_uuid(uuid::Uuid::from_u128(number));
        let shares = |now_ms, most, rooms: &[(u128, u32)]| {
            let rooms = rooms.iter().map(|(number, room)| (id(*number), *room)).collect();
            let claim = ClaimDeliveries { now_ms, leased_until_ms: 0, each: 4, rooms, most };
            claim.shares(vec![id(1), id(2), id(3)])
        };
        assert_eq!(shares(0, 100, &[(2, 0)]), [(id(1), 4), (id(3), 4)]);
        assert_eq!(shares(0, 7, &[]), [(id(1), 3), (id(2), 2), (id(3), 2)]);
        assert_eq!(shares(0, 7, &[(1, 1), (2, 32)]), [(id(1), 1), (id(2), 3), (id(3), 3)]);
        assert_eq!((shares(0, 1, &[]), shares(2, 1, &[])), (vec![(id(1), 1)], vec![(id(3), 1)]));
    }

    #[test]
    fn the_last_attempts_are_kept() {
        let mut log = None;
        for at_ms in 0..15 {
            let attempt =
                Attempt { at_ms, took_ms: 1, status: Some(500), answer: String::new(), error: None };
            log = with_attempt(log.as_deref(), Some(attempt)).unwrap();
        }
        let attempts = read_attempts(log.as_deref()).unwrap();
        assert_eq!(
            attempts.iter().map(|attempt| attempt.at_ms).collect::<Vec<_>>(),
            (5..15).collect::<Vec<_>>()
        );
    }
}
