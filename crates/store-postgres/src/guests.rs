//! Guests of events: one row each in every project that follows the event.

use std::collections::BTreeMap;

use rowmill_model::plan::{StartedBy, block_of};
use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::changes::{GuestRow, Look, slots_of};
use rowmill_store::{Change, GuestWrite, GuestsWritten, Result, RowAction, StoreError};

use crate::convert::{signed, unsigned};
use crate::documents::Documents;
use crate::project_state::{self, Busy};
use crate::row_changes::OpenProject;
use crate::transaction::Tx;
use crate::trash;

pub(crate) async fn projects_of_event(tx: &mut Tx, team: TeamId, event_id: &str) -> Result<Vec<ProjectId>> {
    let sql = "SELECT id FROM rowmill.projects WHERE team = $1 AND event_id = $2 ORDER BY project";
    let found = tx.query(sql, &[&team.0, &event_id]).await?;
    Ok(found.iter().map(|row| ProjectId::from_uuid(row.get(0))).collect())
}

pub(crate) async fn upsert(
    tx: &mut Tx,
    documents: &Documents,
    guests: &[GuestWrite],
) -> Result<(GuestsWritten, Vec<Change>)> {
    let mut by_project: BTreeMap<ProjectId, Vec<&GuestWrite>> = BTreeMap::new();
    for guest in guests {
        by_project.entry(guest.project).or_default().push(guest);
    }
    let ids: Vec<ProjectId> = by_project.keys().copied().collect();
    let states = project_state::lock(tx, &ids, Busy::Wait).await?;
    if states.len() < ids.len() {
        return Err(StoreError::UnknownProject);
    }
    let mut written = GuestsWritten::default();
    let mut changes = Vec::new();
    for state in states {
        let guests = by_project.remove(&state.id).unwrap_or_default();
        if guests.iter().any(|guest| guest.version != state.version) {
            return Err(StoreError::Stale);
        }
        let mut open = OpenProject::open(tx, documents, state).await?;
        open.changes.started_by = StartedBy::Webhook;
        changes.extend(upsert_into(tx, open, &guests, &mut written).await?);
    }
    Ok((written, changes))
}

async fn upsert_into(
    tx: &mut Tx,
    mut open: OpenProject,
    guests: &[&GuestWrite],
    written: &mut GuestsWritten,
) -> Result<Option<Change>> {
    let names: Vec<&str> = guests.iter().map(|guest| guest.guest_id.as_str()).collect();
    let sql =
        "SELECT guest_id, position, event_at FROM rowmill.guests WHERE project = $1 AND guest_id = ANY($2)";
    let found = tx.query(sql, &[&open.num(), &names]).await?;
    let mut known: BTreeMap<String, GuestRow> = found
        .iter()
        .map(|row| (row.get(0), GuestRow { position: unsigned(row.get(1)), event_at_ms: row.get(2) }))
        .collect();
    let positions: Vec<u64> = known.values().map(|known| known.position).collect();
    let mut blocks = open.changes.blocks_of_new(guests.len());
    blocks.extend(positions.iter().copied().map(block_of));
    open.load(tx, positions, blocks).await?;
    let mut looks: Vec<(u64, Vec<Slot>)> = Vec::new();
    for guest in guests {
        if let Some(known) = known.get(&guest.guest_id) {
            looks.push((known.position, slots_of(&guest.row, None)?));
        }
    }
    let looks: Vec<_> = looks.iter().map(|(position, slots)| (*position, Look::Write(slots))).collect();
    open.load_values(tx, &looks).await?;
    let mut taken: BTreeMap<&str, GuestRow> = BTreeMap::new();
    let mut left: (Vec<String>, Vec<i64>) = (Vec::new(), Vec::new());
    let mut now_ms = None;
    for guest in guests {
        let guest_id = guest.guest_id.as_str();
        let Some((row, action)) = open.changes.upsert_guest(known.get(guest_id).copied(), guest)? else {
            continue;
        };
        match action {
            RowAction::Inserted => written.rows_created += 1,
            RowAction::Updated => written.rows_updated += 1,
            RowAction::Unchanged => {}
        }
        let before = known.insert(guest_id.to_owned(), row);
        if let Some(before) = before.filter(|before| before.position != row.position) {
            left.0.push(guest_id.to_owned());
            left.1.push(signed(before.position));
        }
        taken.insert(guest_id, row);
        now_ms = Some(guest.now_ms);
    }
    let Some(now_ms) = now_ms else { return Ok(None) };
    tx.at_last(
        "INSERT INTO rowmill.guests (project, guest_id, position, event_at) \
         SELECT $1, * FROM unnest($2::text[], $3::int8[], $4::int8[]) \
         ON CONFLICT (project, guest_id) DO UPDATE SET position = excluded.position, event_at = excluded.event_at",
        vec![
            Box::new(open.num()),
            Box::new(taken.keys().map(|name| (*name).to_owned()).collect::<Vec<String>>()),
            Box::new(taken.values().map(|known| signed(known.position)).collect::<Vec<i64>>()),
            Box::new(taken.values().map(|known| known.event_at_ms).collect::<Vec<i64>>()),
        ],
    );
    trash::keep_past_guests(tx, open.num(), left.0, left.1);
    open.finish(tx, now_ms).map(Some)
}
