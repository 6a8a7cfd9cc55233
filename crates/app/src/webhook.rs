//! Deliveries of the event platform.

use hmac::{Hmac, KeyInit as _, Mac as _};
use rowmill_model::bounded_json::{self, Bounds};
use rowmill_model::guest::{Delivery, GuestEvent};
use rowmill_model::{ColumnId, ColumnType, Record, RowId, TeamId};
use rowmill_store::{GuestWrite, GuestsWritten, NewRow, StoreError, StoredProject};
use sha2::Sha256;
use uuid::Uuid;

use crate::app::App;
use crate::blocking::off_async;
use crate::error::{Error, Noun, Result};
use crate::ids::uuid;
use crate::projects::ATTEMPTS_MAX;
use crate::signing_secrets::{SigningSecret, bytes_of};

/// A delivery as it came in.
#[derive(Debug, Clone, Copy)]
pub struct Webhook<'a> {
    /// By [`App::webhook_team`].
    pub team: TeamId,
    /// The raw body: what is signed.
    pub body: &'a str,
    /// `t=<unix>,v1=<hex>`
    pub signature: Option<&'a str>,
}

/// What became of a delivery.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Delivered {
    pub matched_projects: usize,
    pub rows_created: u64,
    pub rows_updated: u64,
    /// It was of a type that makes no rows, or no project follows its event.
    pub ignored: bool,
}

/// How far the time of a signature may be from now.
const SIGNATURE_AGE_SECONDS_MAX: u64 = 5 * 60;

impl App {
    /// The team that a webhook's address names.
    pub async fn webhook_team(&self, id: &str) -> Result<TeamId> {
        let id = Uuid::try_parse(id).map(TeamId).map_err(|_| Error::MissingTeamId)?;
        let team = self.store.team(id).await?.ok_or(Error::NotFound(Noun::Team))?;
        Ok(team.id)
    }

    /// Takes a delivery into every project of the team that follows its event, or into none.
    pub async fn deliver(&self, webhook: Webhook<'_>) -> Result<Delivered> {
        let team = webhook.team;
        let bounds = Bounds { counts: &[], part_bytes_max: webhook.body.len() };
        let body = off_async(webhook.body.len(), || bounded_json::parse(webhook.body, bounds));
        let body = body.map_err(|_| Error::InvalidPayload)?;
        let delivery = Delivery::read(&body).map_err(|_| Error::InvalidPayload)?;
        let Delivery::Guest(event) = delivery else { return Ok(ignored()) };
        for _ in 0..ATTEMPTS_MAX {
            let connected = self.store.projects_of_event(team, event.event_id.clone()).await?;
            if connected.is_empty() {
                return Ok(ignored());
            }
            let signed = self.signed(connected, webhook);
            if signed.is_empty() {
                return Err(Error::InvalidSignature);
            }
            let left = self.new_rows_max(team).await?.unwrap_or(u64::MAX);
            let new_bytes_max = self.new_bytes_max(team).await?;
            let guests = signed
                .iter()
                .zip(0..)
                .map(|(stored, place): (_, u64)| {
                    let write = self.guest_write(stored, &event, place < left)?;
                    Ok(GuestWrite { new_bytes_max, ..write })
                })
                .collect::<Result<_>>()?;
            match self.store.upsert_guests(guests).await {
                // A project's columns changed meanwhile: lay the values out anew.
                Err(StoreError::Stale | StoreError::UnknownProject) => {}
                outcome => {
                    let GuestsWritten { rows_created, rows_updated } =
                        outcome.map_err(|error| self.quota_error(error))?;
                    return Ok(Delivered {
                        matched_projects: signed.len(),
                        rows_created,
                        rows_updated,
                        ignored: false,
                    });
                }
            }
        }
        Err(Error::Internal("projects changed repeatedly during a delivery; gave up".into()))
    }

    /// The projects that take this delivery: those that ask for no signature, and those it is right for.
    fn signed(&self, connected: Vec<StoredProject>, webhook: Webhook<'_>) -> Vec<StoredProject> {
        let now_seconds = self.clock.now_ms() / 1000;
        let takes = |stored: &StoredProject| match self.signing_secret(&stored.project) {
            SigningSecret::None => true,
            SigningSecret::Known(secret) => webhook
                .signature
                .is_some_and(|signature| is_signed(webhook.body, signature, &secret, now_seconds)),
            SigningSecret::Unopened => {
                tracing::warn!(
                    project = %stored.project.id,
                    "the webhook's signing secret was encrypted with another secret key; set it again"
                );
                false
            }
        };
        connected.into_iter().filter(takes).collect()
    }

    fn guest_write(
        &self,
        stored: &StoredProject,
        event: &GuestEvent,
        may_create: bool,
    ) -> Result<GuestWrite> {
        let now_ms = self.clock.now_ms();
        let table = &stored.project.table;
        let internal = |error: serde_json::Error| Error::Internal(error.into());
        let mut payload = event.payload.clone();
        if payload.registered_at.is_empty() {
            payload.registered_at = arrival(now_ms);
        }
        let payload = serde_json::to_string(&payload).map_err(internal)?;
        let cell_bytes_max = usize::try_from(self.limits.cell_bytes_max).unwrap_or(usize::MAX);
        if payload.len() > cell_bytes_max {
            return Err(Error::InvalidPayload);
        }
        let status = serde_json::to_string(&event.payload.approval_status).map_err(internal)?;
        let slot_of = |id: &str| {
            table.by_id(id).filter(|column| column.kind == ColumnType::Manual).map(|column| column.slot)
        };
        let trigger = slot_of(ColumnId::TRIGGER).map(|slot| (slot, payload.as_str()));
        let guest_status = slot_of(ColumnId::GUEST_STATUS).map(|slot| (slot, status.as_str()));
        let row = NewRow {
            id: RowId::from_uuid(uuid(now_ms)?),
            values: Record::pack(trigger.into_iter().chain(guest_status)),
            cleared: Vec::new(),
            leftover_bytes_max: None,
        };
        Ok(GuestWrite {
            project: stored.project.id,
            version: stored.version,
            guest_id: event.guest_id.clone(),
            event_at_ms: event.created_at_ms,
            may_create,
            new_bytes_max: None,
            now_ms,
            row,
            carried: event.carried.clone(),
            cell_bytes_max,
        })
    }
}

/// A moment, as ISO 8601 in UTC with milliseconds.
fn arrival(unix_ms: i64) -> String {
    format!("{:.3}", jiff::Timestamp::from_millisecond(unix_ms).unwrap_or_default())
}

fn ignored() -> Delivered {
    Delivered { ignored: true, ..Delivered::default() }
}

/// Whether `t=<unix>,v1=<hex>` is an HMAC-SHA256 of `{t}.{body}` made lately.
fn is_signed(body: &str, signature: &str, secret: &[u8], now_seconds: i64) -> bool {
    let field =
        |name: &str| signature.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
    let (Some(time), Some(hex)) = (field("t"), field("v1")) else { return false };
    let is_recent =
        time.parse::<i64>().is_ok_and(|time| time.abs_diff(now_seconds) <= SIGNATURE_AGE_SECONDS_MAX);
    let Some(sent) = bytes_of(hex).filter(|_| is_recent) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body.as_bytes());
    // Compares in constant time.
    mac.verify_slice(&sent).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_right_recent_and_whole() {
        // printf '1000.{}' | openssl dgst -sha256 -hmac secret
        let right = "026360fb6284f077f1148b1ae7c62679730497810a6a0321574de01e8b009e7a";
        let wrong = right.replace('a', "b");
        let check = |signature: &str, now_seconds: i64, expected: bool| {
            assert_eq!(
                is_signed("{}", signature, b"secret", now_seconds),
                expected,
                "{signature} at {now_seconds}"
            );
        };
        check(&format!("t=1000,v1={right}"), 1000, true);
        check(&format!("v1={right}, t=1000"), 1300, true);
        check(&format!("t=1000,v1={right}"), 1301, false);
        check(&format!("t=1000,v1={right}"), 699, false);
        check(&format!("t=1001,v1={right}"), 1000, false);
        check(&format!("t=1000,v1={wrong}"), 1000, false);
        for malformed in ["", "t=1000", "t=x,v1=00", "t=1000,v1=0", "t=1000,v1=zz", "t=1000,v1=\u{e9}a"] {
            check(malformed, 1000, false);
        }
        assert!(!is_signed("{} ", &format!("t=1000,v1={right}"), b"secret", 1000));
    }
}
