//! Guests of events: one row each in every project that follows the event.

use rowmill_model::plan::StartedBy;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::changes::{GuestRow, Look, slots_of};
use rowmill_store::{Change, GuestWrite, GuestsWritten, Result, RowAction};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::convert::{backend, uuid_of};
use crate::documents::Documents;
use crate::project_state;
use crate::row_changes::OpenProject;
use crate::trash;

pub(crate) fn projects_of_event(
    connection: &Connection,
    team: TeamId,
    event_id: &str,
) -> Result<Vec<ProjectId>> {
    connection
        .prepare_cached("SELECT id FROM projects WHERE team = ?1 AND event_id = ?2 ORDER BY num")
        .and_then(|mut query| {
            let ids = query.query_map((team.0.as_bytes(), event_id), |row| uuid_of(row, 0))?;
            ids.map(|id| id.map(ProjectId::from_uuid)).collect()
        })
        .map_err(backend)
}

pub(crate) fn upsert(
    connection: &Connection,
    documents: &Documents,
    guests: &[GuestWrite],
) -> Result<(GuestsWritten, Vec<Change>)> {
    let mut written = GuestsWritten::default();
    let mut changes = Vec::new();
    for guest in guests {
        let Some((action, change)) = upsert_one(connection, documents, guest)? else { continue };
        match action {
            RowAction::Inserted => written.rows_created += 1,
            RowAction::Updated => written.rows_updated += 1,
            RowAction::Unchanged => {}
        }
        changes.push(change);
    }
    Ok((written, changes))
}

/// What became of a guest's row; none if its event is older than the one last taken.
fn upsert_one(
    connection: &Connection,
    documents: &Documents,
    guest: &GuestWrite,
) -> Result<Option<(RowAction, Change)>> {
    let GuestWrite { project, version, guest_id, now_ms, .. } = guest;
    let state = project_state::state_at(connection, *project, *version)?;
    let head = state.head;
    let known: Option<GuestRow> = connection
        .prepare_cached("SELECT position, event_at FROM guests WHERE project = ?1 AND guest_id = ?2")
        .and_then(|mut query| {
            let known = |row: &Row<'_>| Ok(GuestRow { position: row.get(0)?, event_at_ms: row.get(1)? });
            query.query_row((head.num, guest_id), known).optional()
        })
        .map_err(backend)?;
    let mut open = OpenProject::open(connection, documents, state)?;
    open.changes.started_by = StartedBy::Webhook;
    open.load_block_of_new()?;
    if let Some(known) = known {
        open.load_row_and_block(known.position)?;
        open.load_values(known.position, Look::Write(&slots_of(&guest.row, None)?))?;
    }
    let Some((taken, action)) = open.changes.upsert_guest(known, guest)? else { return Ok(None) };
    let change = open.finish(*now_ms)?;
    connection
        .prepare_cached(
            "INSERT INTO guests (project, guest_id, position, event_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET position = excluded.position, event_at = excluded.event_at",
        )
        .and_then(|mut upsert| upsert.execute((head.num, guest_id, taken.position, taken.event_at_ms)))
        .map_err(backend)?;
    if let Some(known) = known.filter(|known| known.position != taken.position) {
        trash::keep_past_guest(connection, head.num, known.position, guest_id)?;
    }
    Ok(Some((action, change)))
}
