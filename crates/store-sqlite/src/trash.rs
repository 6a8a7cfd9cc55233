//! Rows in the trash: deleted, listed, restored, emptied and swept up.

use rowmill_model::plan::{Block, block_of, place_of, position_of};
use rowmill_model::{Deletion, KeyId, ProjectId, RowId};
use rowmill_store::changes::{Look, Places, TrashEntry};
use rowmill_store::{
    Change, Restored, Result, SWEEP_ENTRIES, StoreError, TrashPage, TrashPlace, TrashedRow, WantedSlots,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::blocks::{block_key, read_marks};
use crate::convert::{backend, uuid_of};
use crate::documents::Documents;
use crate::positions::{find_key, key, split};
use crate::project_state;
use crate::row_changes::OpenProject;
use crate::{apply, pages, rows, wide_values};

/// Moves rows to the trash.
pub(crate) fn trash(
    connection: &Connection,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
    deletion: Deletion,
) -> Result<(u64, Vec<Change>)> {
    let mut open = rows::open_for_deletion(connection, documents, project, rows)?;
    let mut deleted = 0_u64;
    for row in rows {
        // A row that is named twice is gone the second time.
        let Some(position) = open.changes.position(*row) else { continue };
        let block = block_of(position);
        open.load_block(block)?;
        if !open.changes.is_trash_open(block) {
            let marks = read_marks(connection, -open.num, block)?.unwrap_or_default();
            open.changes.open_trash(block, marks, [])?;
        }
        open.changes.trash(position, deletion)?;
        deleted += 1;
    }
    Ok((deleted, vec![open.finish(None)?]))
}

/// Brings rows back.
pub(crate) fn restore(
    connection: &Connection,
    documents: &Documents,
    project: ProjectId,
    rows: &[RowId],
    now_ms: i64,
) -> Result<(Restored, Vec<Change>)> {
    let state = project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let num = state.head.num;
    let mut open = OpenProject::open(connection, documents, state)?;
    let mut restored = Restored::default();
    for row in rows {
        let Some(row_key) = find_key(connection, -num, *row)? else { continue };
        let position = split(row_key).1;
        let block = block_of(position);
        if !open.changes.is_trash_open(block) {
            let marks = read_marks(connection, -num, block)?.unwrap_or_default();
            open.changes.open_trash(block, marks, entries_of(connection, num, block)?)?;
        }
        if !open.changes.is_trashed(position) {
            continue;
        }
        if !take_guest_back(connection, num, position)? {
            restored.guests_elsewhere.push(*row);
            continue;
        }
        let Some(mut stored) = pages::read_part(connection, row_key)? else { continue };
        for slot in open.changes.unread(&stored, Look::Restore) {
            stored.fill(slot, wide_values::one(connection, row_key, slot)?)?;
        }
        open.load_block(block)?;
        open.changes.restore(&stored)?;
        restored.rows += 1;
        // Written at once, so that whether a guest has a row can be seen.
        apply::restore_row(connection, num, position)?;
    }
    let changes = if restored.rows == 0 { Vec::new() } else { vec![open.finish(now_ms)?] };
    Ok((restored, changes))
}

/// Makes a row its guest's again, if it was one's and the guest has no other; says whether it may come back.
fn take_guest_back(connection: &Connection, num: i64, position: u64) -> Result<bool> {
    let found: Option<(String, u64)> = connection
        .prepare_cached(
            "SELECT guest_id, guests.position FROM past_guests JOIN guests USING (project, guest_id) \
             WHERE past_guests.project = ?1 AND past_guests.position = ?2",
        )
        .and_then(|mut query| {
            query.query_row((num, position), |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(backend)?;
    let Some((guest_id, other)) = found else { return Ok(true) };
    let is_there = connection
        .prepare_cached("SELECT 1 FROM rows WHERE key = ?1")
        .and_then(|mut query| query.exists([key(num, other)]))
        .map_err(backend)?;
    if is_there {
        return Ok(false);
    }
    connection
        .execute("DELETE FROM past_guests WHERE project = ?1 AND position = ?2", (num, position))
        .and_then(|_| {
            connection.execute(
                "UPDATE guests SET position = ?3 WHERE project = ?1 AND guest_id = ?2",
                (num, &guest_id, position),
            )
        })
        .map_err(backend)?;
    keep_past_guest(connection, num, other, &guest_id)?;
    Ok(true)
}

/// Notes that a row was a guest's who has another by now.
pub(crate) fn keep_past_guest(
    connection: &Connection,
    num: i64,
    position: u64,
    guest_id: &str,
) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO past_guests (project, position, guest_id) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )
        .and_then(|mut insert| insert.execute((num, position, guest_id)))
        .map(|_| ())
        .map_err(backend)
}

const ENTRY: &str = "SELECT batch, block, places, deleted_at, deleted_by FROM trash";

fn read_entry(row: &Row<'_>) -> Result<TrashEntry> {
    let places: Vec<u8> = row.get(2).map_err(backend)?;
    let deletion = Deletion { at_ms: row.get(3).map_err(backend)?, by: read_key(row, 4)? };
    Ok(TrashEntry {
        batch: row.get(0).map_err(backend)?,
        block: row.get(1).map_err(backend)?,
        places: Places::from_bytes(&places)?,
        deletion,
    })
}

/// Who deleted something, if that is known.
pub(crate) fn read_key(row: &Row<'_>, column: usize) -> Result<Option<KeyId>> {
    let is_null = row.get_ref(column).map_err(backend)? == rusqlite::types::ValueRef::Null;
    if is_null { Ok(None) } else { Ok(Some(KeyId::from_uuid(uuid_of(row, column).map_err(backend)?))) }
}

fn entries_of(connection: &Connection, num: i64, block: u64) -> Result<Vec<TrashEntry>> {
    let sql = format!("{ENTRY} WHERE project = ?1 AND block = ?2");
    let mut query = connection.prepare_cached(&sql).map_err(backend)?;
    let mut found = query.query((num, block)).map_err(backend)?;
    let mut entries = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        entries.push(read_entry(row)?);
    }
    Ok(entries)
}

/// A page of a project's trash, the last deleted rows first.
pub(crate) fn page(
    connection: &Connection,
    project: ProjectId,
    after: Option<TrashPlace>,
    limit: u32,
    bytes_max: usize,
) -> Result<TrashPage> {
    let state = project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let num = state.head.num;
    let mut page = TrashPage { total: state.counters.trashed_count, ..TrashPage::default() };
    let after =
        after.unwrap_or(TrashPlace { batch: i64::MAX.unsigned_abs(), position: u64::from(u32::MAX) << 8 });
    let sql =
        format!("{ENTRY} WHERE project = ?1 AND (batch, block) <= (?2, ?3) ORDER BY batch DESC, block DESC");
    let mut query = connection.prepare_cached(&sql).map_err(backend)?;
    let mut found = query.query((num, after.batch, block_of(after.position))).map_err(backend)?;
    let mut bytes = 0_usize;
    while let Some(row) = found.next().map_err(backend)? {
        let TrashEntry { batch, block, places, deletion } = read_entry(row)?;
        let mut places: Vec<u8> = places.iter().collect();
        places.reverse();
        for place in places {
            let place = TrashPlace { batch, position: position_of(block, place) };
            if place >= after {
                continue;
            }
            if page.rows.len() >= limit as usize || bytes >= bytes_max {
                page.more = true;
                return Ok(page);
            }
            let Some(stored) = pages::read_raw(connection, key(-num, place.position), &WantedSlots::All)?
            else {
                continue;
            };
            bytes = bytes.saturating_add(stored.values.as_bytes().len());
            page.rows.push(TrashedRow { id: stored.id, place, values: stored.values, deletion });
        }
    }
    Ok(page)
}

/// Empties a project's trash: nobody sees its rows any more, and they are swept up later.
pub(crate) fn empty(connection: &Connection, project: ProjectId) -> Result<u64> {
    let state = project_state::state(connection, project)?.ok_or(StoreError::UnknownProject)?;
    let num = state.head.num;
    for sql in [
        "UPDATE trash SET project = -project, deleted_at = 0 WHERE project = ?1",
        "UPDATE counters SET trashed_count = 0 WHERE project = ?1",
    ] {
        connection.execute(sql, [num]).map_err(backend)?;
    }
    Ok(state.counters.trashed_count)
}

/// Removes some of the rows that were deleted at a time or before. Says whether there may be more.
pub(crate) fn sweep_some(connection: &Connection, until_ms: i64) -> Result<bool> {
    let mut query = connection
        .prepare_cached(
            "SELECT project, batch, block, places FROM trash WHERE deleted_at <= ?1 ORDER BY deleted_at LIMIT ?2",
        )
        .map_err(backend)?;
    let mut found = query.query((until_ms, SWEEP_ENTRIES)).map_err(backend)?;
    let mut entries: Vec<(i64, i64, u64, Places)> = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get::<_, Vec<u8>>(3)?));
        let (project, batch, block, places) = read(row).map_err(backend)?;
        entries.push((project, batch, block, Places::from_bytes(&places)?));
    }
    for (project, batch, block, places) in &entries {
        sweep_entry(connection, project.abs(), *block, *places)?;
        connection
            .execute(
                "DELETE FROM trash WHERE project = ?1 AND batch = ?2 AND block = ?3",
                (project, batch, block),
            )
            .map_err(backend)?;
        // What was emptied out is not counted any more.
        let count = i64::try_from(places.count()).unwrap_or_default();
        connection
            .execute(
                "UPDATE counters SET trashed_count = max(trashed_count - ?2, 0) WHERE project = ?1",
                (project, count),
            )
            .map_err(backend)?;
    }
    Ok(!entries.is_empty())
}

fn sweep_entry(connection: &Connection, num: i64, block: u64, places: Places) -> Result<()> {
    let mut delete_row = connection.prepare_cached("DELETE FROM rows WHERE key = ?1").map_err(backend)?;
    let mut forget_guest = connection
        .prepare_cached("DELETE FROM past_guests WHERE project = ?1 AND position = ?2")
        .map_err(backend)?;
    let marks = read_marks(connection, -num, block)?;
    let mut kept = marks.as_deref().map(Block::decode).transpose()?.unwrap_or_default();
    for position in places.iter().map(|place| position_of(block, place)) {
        delete_row.execute([key(-num, position)]).map_err(backend)?;
        wide_values::delete(connection, key(-num, position))?;
        forget_guest.execute((num, position)).map_err(backend)?;
        kept.clear(place_of(position));
    }
    if marks.is_some() {
        apply::marks(connection, block_key(-num, block), &kept.encode())?;
    }
    Ok(())
}
