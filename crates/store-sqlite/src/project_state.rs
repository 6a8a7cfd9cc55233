//! The state of projects: number, version and counters.

use rowmill_model::ProjectId;
use rowmill_store::{Result, StoreError};
use rusqlite::{Connection, OptionalExtension};

use crate::convert::{backend, uuid_of};

/// What every write needs to know of a project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) num: i64,
    pub(crate) version: u64,
}

pub(crate) fn head(connection: &Connection, id: ProjectId) -> Result<Option<Head>> {
    connection
        .prepare_cached("SELECT num, version FROM projects WHERE id = ?1")
        .and_then(|mut query| {
            query
                .query_row([id.uuid().as_bytes()], |row| Ok(Head { num: row.get(0)?, version: row.get(1)? }))
                .optional()
        })
        .map_err(backend)
}

/// What every read needs to know of a project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) head: Head,
    pub(crate) counters: Counters,
    pub(crate) change_seq: u64,
}

pub(crate) fn state(connection: &Connection, id: ProjectId) -> Result<Option<State>> {
    connection
        .prepare_cached(
            "SELECT num, version, row_count, next_position, change_seq FROM projects JOIN counters ON project = num \
             WHERE id = ?1",
        )
        .and_then(|mut query| {
            query
                .query_row([id.uuid().as_bytes()], |row| {
                    Ok(State {
                        head: Head { num: row.get(0)?, version: row.get(1)? },
                        counters: Counters { row_count: row.get(2)?, next_position: row.get(3)? },
                        change_seq: row.get(4)?,
                    })
                })
                .optional()
        })
        .map_err(backend)
}

/// The state of a project that must exist and be at this version.
pub(crate) fn state_at(connection: &Connection, id: ProjectId, version: u64) -> Result<State> {
    let state = state(connection, id)?.ok_or(StoreError::UnknownProject)?;
    if state.head.version == version { Ok(state) } else { Err(StoreError::Stale) }
}

/// The project with a number, if it has not been deleted.
pub(crate) fn id_of(connection: &Connection, num: i64) -> Result<Option<ProjectId>> {
    connection
        .prepare_cached("SELECT id FROM projects WHERE num = ?1")
        .and_then(|mut query| query.query_row([num], |row| uuid_of(row, 0)).optional())
        .map(|id| id.map(ProjectId::from_uuid))
        .map_err(backend)
}

/// What changes with every row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) row_count: u64,
    pub(crate) next_position: u64,
}

/// Writes the counters, and the change sequence as it is from now on. The bytes of values are counted on.
pub(crate) fn write_counters(
    connection: &Connection,
    num: i64,
    counters: Counters,
    value_bytes_change: i64,
    seq: u64,
) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE counters SET row_count = ?2, next_position = ?3, change_seq = ?4, value_bytes = value_bytes + ?5 \
             WHERE project = ?1",
        )
        .and_then(|mut update| {
            update.execute((num, counters.row_count, counters.next_position, seq, value_bytes_change))
        })
        .map(|_| ())
        .map_err(backend)
}
