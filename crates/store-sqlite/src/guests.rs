//! Guests of events: one row each in every project that follows the event.

use rowmill_model::TeamId;
use rowmill_store::{Change, GuestWrite, GuestsWritten, Result, RowAction, StoredProject};
use rusqlite::{Connection, OptionalExtension};

use crate::desk::Desk;
use crate::pages::read_raw;
use crate::positions::key;
use crate::projects::{self, Documents};
use crate::{backend, uuid_of};

pub(crate) fn projects_of_event(
    connection: &Connection,
    documents: &Documents,
    team: TeamId,
    event_id: &str,
) -> Result<Vec<StoredProject>> {
    let ids = connection
        .prepare_cached("SELECT id FROM projects WHERE team = ?1 AND event_id = ?2 ORDER BY num")
        .and_then(|mut query| {
            let ids = query.query_map((team.0.as_bytes(), event_id), |row| uuid_of(row, 0))?;
            ids.collect::<rusqlite::Result<Vec<_>>>()
        })
        .map_err(backend)?;
    let load =
        |id| projects::load(connection, documents, rowmill_model::ProjectId::from_uuid(id)).transpose();
    ids.into_iter().filter_map(load).collect()
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
    let GuestWrite { project, version, guest_id, event_at_ms, now_ms, row } = guest;
    let state = projects::state_at(connection, *project, *version)?;
    let head = state.head;
    let known: Option<(u64, i64)> = connection
        .prepare_cached("SELECT position, event_at FROM guests WHERE project = ?1 AND guest_id = ?2")
        .and_then(|mut query| {
            query.query_row((head.num, guest_id), |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(backend)?;
    let last_event_at = known.map_or(i64::MIN, |(_, event_at)| event_at);
    let event_at = event_at_ms.unwrap_or(last_event_at.max(*now_ms));
    // A row that somebody deleted comes back with the guest's next event.
    let position = match known {
        Some(_) if event_at < last_event_at => return Ok(None),
        Some((position, _)) => read_raw(connection, key(head.num, position))?.map(|row| row.position),
        None => None,
    };
    let mut desk = Desk::open(connection, documents, state)?;
    let (position, action) = match position {
        Some(position) => (position, desk.update(position, row, *now_ms)?.1),
        None => (desk.next_position(), desk.insert(row, *now_ms)?.1),
    };
    let change = desk.finish(*now_ms)?;
    connection
        .prepare_cached(
            "INSERT INTO guests (project, guest_id, position, event_at) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET position = excluded.position, event_at = excluded.event_at",
        )
        .and_then(|mut upsert| upsert.execute((head.num, guest_id, position, event_at)))
        .map_err(backend)?;
    Ok(Some((action, change)))
}
