//! Deliveries of the event platform, beside the bare store upserting the same rows.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rowmill_model::guest::CarriedFields;
use rowmill_model::{ProjectId, Record, RowId, Table};
use rowmill_store::{GuestWrite, NewRow, Store};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::any_result::AnyResult;
use crate::effort::Effort;
use crate::load::{self, Until};
use crate::report::{Goal, Pairs, Report};
use crate::rowmill::Rowmill;
use crate::runtime::runtime;
use crate::sample;
use crate::store::{Backend, DataLocation};

const CONNECTIONS: usize = 16;
const EVENT: &str = "evt-bench";

/// What the deliveries of a round are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guests {
    /// Nobody was heard of before.
    New,
    /// Each was heard of, and nothing about them is new.
    Repeated,
}

pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let folder = scratch.join("webhook");
    crate::folders::clear(&folder)?;
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": { "eventId": EVENT, "webhookEnabled": true } });
    rowmill.ask("POST", "/v4/projects", &json!({ "title": "Bench", "metadata": metadata }).to_string())?;
    let team: Value = serde_json::from_slice(&rowmill.ask("GET", "/v4/team", "")?)?;
    let team = team.pointer("/team/id").and_then(Value::as_str).ok_or("the team has no id")?;
    let path = format!("/webhooks/eventplatform/{team}");
    let bare = Bare::open(backend.place(&folder.join("bare"))?)?;
    for (guests, word) in [(Guests::New, "new guests"), (Guests::Repeated, "repeats")] {
        let mut pairs = Pairs::default();
        for round in 0..effort.rounds {
            let first = if guests == Guests::New { round * effort.round_deliveries } else { 0 };
            let ids: Vec<usize> = (first..first + effort.round_deliveries).collect();
            let limit = bare.upsert(&ids)?;
            let requests: Vec<_> =
                ids.iter().map(|id| rowmill.request("POST", &path, &delivery(*id))).collect();
            let load = load::run(rowmill.address, CONNECTIONS, &requests, Until::Done, &|_, _| {})?;
            pairs.push(load.answers_per_second(), limit);
        }
        let what = format!("webhook, {CONNECTIONS} connections, {word}");
        report.pair(&what, "deliveries/s", &pairs, Some(Goal::AtLeast(0.5)));
    }
    Ok(())
}

fn delivery(id: usize) -> String {
    json!({ "type": "guest.registered", "created_at": "2026-11-15T10:00:00Z", "data": {
        "id": format!("gst-{id}"), "user_email": format!("guest{id}@example.com"), "user_name": "Ada Lovelace",
        "approval_status": "approved", "registered_at": "2026-11-15T10:00:00Z",
        "event": { "id": EVENT, "name": "Fair" },
    } })
    .to_string()
}

/// The store alone, called by as many at once as there are connections.
struct Bare {
    store: Arc<dyn Store>,
    project: ProjectId,
    runtime: tokio::runtime::Runtime,
    _place: DataLocation,
}

impl Bare {
    fn open(place: DataLocation) -> AnyResult<Self> {
        let runtime = runtime()?;
        let store = runtime.block_on(place.open())?;
        let project = ProjectId::from_uuid(Uuid::from_u128(1));
        runtime.block_on(store.save_project(sample::creation(project, Table::new())))?;
        Ok(Self { store, project, runtime, _place: place })
    }

    /// Upserts these guests; says how many a second.
    fn upsert(&self, ids: &[usize]) -> AnyResult<f64> {
        let ids: Arc<[usize]> = ids.into();
        let next = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        self.runtime.block_on(async {
            let callers: Vec<_> = (0..CONNECTIONS)
                .map(|_| {
                    let (store, project, ids, next) =
                        (Arc::clone(&self.store), self.project, Arc::clone(&ids), Arc::clone(&next));
                    tokio::spawn(async move {
                        while let Some(id) = ids.get(next.fetch_add(1, Ordering::Relaxed)) {
                            store.upsert_guests(vec![guest(project, *id)]).await?;
                        }
                        Ok::<_, rowmill_store::StoreError>(())
                    })
                })
                .collect();
            for caller in callers {
                caller.await??;
            }
            AnyResult::Ok(())
        })?;
        Ok(crate::rates::per_second(ids.len(), start.elapsed()))
    }
}

fn guest(project: ProjectId, id: usize) -> GuestWrite {
    let payload = json!({
        "api_id": format!("gst-{id}"), "user_email": format!("guest{id}@example.com"), "approval_status": "approved",
        "registered_at": "2026-11-15T10:00:00Z", "event_id": EVENT, "event_name": "Fair",
        "guest": { "api_id": format!("gst-{id}"), "email": format!("guest{id}@example.com"), "name": "Ada Lovelace",
            "first_name": "Ada", "last_name": "Lovelace" },
    })
    .to_string();
    GuestWrite {
        project,
        version: 1,
        guest_id: format!("gst-{id}"),
        event_at_ms: Some(1_000),
        may_create: true,
        new_bytes_max: None,
        now_ms: 1_000,
        row: NewRow {
            id: RowId::from_uuid(Uuid::from_u128(id as u128)),
            values: Record::pack([(0, payload.as_str())]),
            cleared: Vec::new(),
            leftover_bytes_max: None,
        },
        carried: CarriedFields::default(),
        cell_bytes_max: 1_048_576,
    }
}
