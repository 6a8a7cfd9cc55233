//! Deliveries of the event platform.

use hmac::{Hmac, KeyInit as _, Mac as _};
use rowmill_model::bounded_json::{self, Bounds};
use rowmill_model::guest::{Delivery, GuestEvent};
use rowmill_model::{ColumnId, ColumnType, Project, ProjectId, Record, RowId, TeamId};
use rowmill_store::received::NewReceived;
use rowmill_store::{GuestWrite, GuestsWritten, NewRow, StoreError, StoredProject};
use sha2::Sha256;
use uuid::Uuid;

use crate::app::App;
use crate::blocking::off_async;
use crate::error::{Error, Noun, Result};
use crate::hook_body::guarded;
use crate::ids::uuid;
use crate::projects::ATTEMPTS_MAX;
use crate::received::{Taken, kept_head};
use crate::signing_secrets::{SigningSecret, bytes_of};

/// A delivery as it came in.
#[derive(Debug)]
pub struct Webhook {
    /// By [`App::webhook_team`].
    pub team: TeamId,
    pub content_type: Option<String>,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The raw body: what is signed.
    pub body: Vec<u8>,
    /// `t=<unix>,v1=<hex>`
    pub signature: Option<String>,
}

/// Who says that a delivery is the platform's.
#[derive(Debug, Clone, Copy)]
enum Proof<'a> {
    /// The signature that it came with.
    Signature(Option<&'a str>),
    /// The signature was right for these projects when it came in.
    Before(&'a [ProjectId]),
}

/// What a delivery led to.
#[derive(Debug, Default)]
struct Event {
    matched_projects: usize,
    is_ignored: bool,
    taken: Taken,
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

    /// Takes a delivery into every project of the team that follows its event, or into none, and writes down what became
    /// of it.
    pub async fn deliver(&self, webhook: Webhook) -> Result<Delivered> {
        let Webhook { team, content_type, headers, body, signature } = webhook;
        let mut head = kept_head(content_type.as_deref(), &headers, |_| false);
        let proof = Proof::Signature(signature.as_deref());
        let event = self.take_event(team, &body, proof, &mut head.signed_for).await;
        let (delivered, taken) = match event {
            Ok(Event { matched_projects, is_ignored, taken }) => {
                let Taken { rows_created, rows_updated, .. } = taken;
                let delivered =
                    Delivered { matched_projects, rows_created, rows_updated, ignored: is_ignored };
                (Some(delivered), Ok(taken))
            }
            Err(error) => (None, Err(error)),
        };
        let outcome = self.outcome(&taken, false);
        let received_at_ms = outcome.at_ms;
        let new = NewReceived { team, hook: None, project: None, received_at_ms, head, outcome, body };
        self.log_received(new).await;
        taken.map(|_| delivered.unwrap_or_default())
    }

    /// Takes a delivery again that came in before.
    pub(crate) async fn retake_event(
        &self,
        team: TeamId,
        body: &[u8],
        signed_for: &[ProjectId],
    ) -> Result<Taken> {
        Ok(self.take_event(team, body, Proof::Before(signed_for), &mut Vec::new()).await?.taken)
    }

    /// Which projects' signature it has is put into `signed_for`, also if it fails after that.
    async fn take_event(
        &self,
        team: TeamId,
        body: &[u8],
        proof: Proof<'_>,
        signed_for: &mut Vec<ProjectId>,
    ) -> Result<Event> {
        let event = match off_async(body.len(), || self.read_event(body))? {
            Ok(event) => event,
            Err(taken) => return Ok(Event { is_ignored: true, taken, ..Event::default() }),
        };
        for _ in 0..ATTEMPTS_MAX {
            let following = self.store.projects_of_event(team, event.event_id.clone()).await?;
            let (mut connected_count, mut guests) = (0, Vec::new());
            signed_for.clear();
            // One at a time, because together their documents may be large.
            for id in following {
                let Some(stored) = self.store.project(id).await? else { continue };
                connected_count += 1;
                if self.takes(&stored.project, body, proof, signed_for) {
                    guests.push(self.guest_write(&stored, &event)?);
                }
            }
            if connected_count == 0 {
                let taken = Taken::ignored(unfollowed(&event.event_id));
                return Ok(Event { is_ignored: true, taken, ..Event::default() });
            }
            if guests.is_empty() {
                return Err(Error::InvalidSignature);
            }
            let left = self.new_rows_max(team).await?.unwrap_or(u64::MAX);
            let new_bytes_max = self.new_bytes_max(team).await?;
            for (guest, place) in guests.iter_mut().zip(0..) {
                guest.may_create = place < left;
                guest.new_bytes_max = new_bytes_max;
            }
            let matched_projects = guests.len();
            match self.store.upsert_guests(guests).await {
                // A project's columns changed meanwhile: lay the values out anew.
                Err(StoreError::Stale | StoreError::UnknownProject) => {}
                outcome => {
                    let written = outcome.map_err(|error| self.quota_error(error))?;
                    let taken = taken_of(written, matched_projects, connected_count);
                    return Ok(Event { matched_projects, is_ignored: false, taken });
                }
            }
        }
        Err(Error::Internal("projects changed repeatedly during a delivery; gave up".into()))
    }

    /// The guest that a delivery is about; or why it is about none.
    fn read_event(&self, body: &[u8]) -> Result<std::result::Result<Box<GuestEvent>, Taken>> {
        let text = guarded(body, &self.limits).map_err(|_| Error::InvalidPayload)?;
        let bounds = Bounds { counts: &[], part_bytes_max: text.len() };
        let body = bounded_json::parse(text, bounds).map_err(|_| Error::InvalidPayload)?;
        Ok(match Delivery::read(&body).map_err(|_| Error::InvalidPayload)? {
            Delivery::Guest(event) => Ok(event),
            Delivery::Ignored => {
                let kind = body.get("type").and_then(serde_json::Value::as_str).unwrap_or_default();
                let kind: String = kind.chars().take(100).collect();
                Err(Taken::ignored(format!(
                    "Events of the type {kind:?} make no rows; only guest.registered and guest.updated do."
                )))
            }
        })
    }

    /// Whether a project takes this delivery: it asks for no signature, or the delivery has the right one. Then it is put into
    /// `signed_for`.
    fn takes(
        &self,
        project: &Project,
        body: &[u8],
        proof: Proof<'_>,
        signed_for: &mut Vec<ProjectId>,
    ) -> bool {
        let now_seconds = self.clock.now_ms() / 1000;
        let id = project.id;
        let is_right = match (self.signing_secret(project), proof) {
            (SigningSecret::None, _) => return true,
            (_, Proof::Before(projects)) => projects.contains(&id),
            (SigningSecret::Known(secret), Proof::Signature(signature)) => {
                signature.is_some_and(|signature| is_signed(body, signature, &secret, now_seconds))
            }
            (SigningSecret::Unopened, Proof::Signature(_)) => {
                tracing::warn!(
                    project = %id,
                    "the webhook's signing secret was encrypted with another secret key; set it again"
                );
                false
            }
        };
        if is_right {
            signed_for.push(id);
        }
        is_right
    }

    fn guest_write(&self, stored: &StoredProject, event: &GuestEvent) -> Result<GuestWrite> {
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
            may_create: true,
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

/// Why nothing is made of an event.
fn unfollowed(event_id: &str) -> String {
    let event_id: String = event_id.chars().take(100).collect();
    format!(
        "No project of this team follows the event {event_id:?}: its metadata must have the integration \
         \"eventplatform-event\", and under eventplatform this eventId and webhookEnabled true."
    )
}

fn taken_of(written: GuestsWritten, taking: usize, connected: usize) -> Taken {
    let GuestsWritten { rows_created, rows_updated } = written;
    let rows_unchanged = (taking as u64).saturating_sub(rows_created + rows_updated);
    let refused = connected.saturating_sub(taking);
    let reason = if rows_created + rows_updated == 0 {
        Some("The guest's row has the same values already, or those of a newer event.".to_owned())
    } else if refused > 0 {
        Some(format!(
            "Not taken by {refused} of {connected} projects, whose signing secret it was not signed with."
        ))
    } else {
        None
    };
    Taken { rows_created, rows_updated, rows_unchanged, ignored_keys: Vec::new(), reason }
}

/// Whether `t=<unix>,v1=<hex>` is an HMAC-SHA256 of `{t}.{body}` made lately.
fn is_signed(body: &[u8], signature: &str, secret: &[u8], now_seconds: i64) -> bool {
    let field =
        |name: &str| signature.split(',').find_map(|part| part.trim().strip_prefix(name)?.strip_prefix('='));
    let (Some(time), Some(hex)) = (field("t"), field("v1")) else { return false };
    let is_recent =
        time.parse::<i64>().is_ok_and(|time| time.abs_diff(now_seconds) <= SIGNATURE_AGE_SECONDS_MAX);
    let Some(sent) = bytes_of(hex).filter(|_| is_recent) else { return false };
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return false };
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
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
                is_signed(b"{}", signature, b"secret", now_seconds),
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
        assert!(!is_signed(b"{} ", &format!("t=1000,v1={right}"), b"secret", 1000));
    }
}
