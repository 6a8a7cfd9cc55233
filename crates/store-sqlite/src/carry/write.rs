//! Writing what is carried, and how far that has come.
//!
//! The checkpoint lies in a table that a move makes and removes again: while it is there nobody else opens the
//! database.

use rowmill_model::documents::{read_project, write_tally};
use rowmill_model::integration::connected_event;
use rowmill_model::record::Cells;
use rowmill_store::carry::{
    CarriedBlock, CarriedProject, CarriedRow, CarriedSpending, CarriedWebhooks, Guest, Items, Receipt, Retry,
    Section,
};
use rowmill_store::changes::LiveDelta;
use rowmill_store::{Result, Sealed, StoreError};
use rusqlite::{CachedStatement, Connection, OptionalExtension as _};

use super::read::number_of;
use crate::blocks::block_key;
use crate::connection::run_cached;
use crate::convert::{backend, damaged};
use crate::positions::{POSITION_MAX, PROJECT_MAX};
use crate::{apply, ended_runs, lookups, teams};

pub(super) fn is_target(connection: &Connection) -> Result<bool> {
    connection
        .query_row("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'moving')", (), |row| row.get(0))
        .map_err(backend)
}

pub(super) fn checkpoint(connection: &Connection) -> Result<Option<String>> {
    if !is_target(connection)? {
        return Ok(None);
    }
    connection.query_row("SELECT note FROM moving", (), |row| row.get(0)).optional().map_err(backend)
}

pub(super) fn begin(connection: &Connection, checkpoint: &str) -> Result<()> {
    connection.execute("CREATE TABLE moving (note TEXT NOT NULL)", ()).map_err(backend)?;
    connection.execute("INSERT INTO moving (note) VALUES (?1)", [checkpoint]).map(|_| ()).map_err(backend)
}

pub(super) fn save_checkpoint(connection: &Connection, checkpoint: &str) -> Result<()> {
    prepare(connection, "UPDATE moving SET note = ?1")?.execute([checkpoint]).map(|_| ()).map_err(backend)
}

pub(super) fn finish(connection: &Connection) -> Result<()> {
    // What was written before is synced with this commit.
    connection.pragma_update(None, "synchronous", "full").map_err(backend)?;
    run_cached(connection, "DROP TABLE moving").map_err(backend)?;
    connection.pragma_update(None, "wal_checkpoint", "truncate").map_err(backend)
}

pub(super) fn project(connection: &Connection, carried: &CarriedProject) -> Result<()> {
    let CarriedProject {
        id,
        document,
        views,
        version,
        row_count,
        next_position,
        change_seq,
        lookup_slots,
        tally,
        ended_runs: runs,
    } = carried;
    let project = read_project(document).map_err(damaged)?;
    connection
        .execute(
            "INSERT INTO projects (id, team, title, autoplay, folder_id, column_count, created_at, version, document, \
             views, event_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
            (
                id.uuid().as_bytes(),
                project.team.0.as_bytes(),
                &project.title,
                project.autoplay,
                &project.folder_id,
                project.table.columns.len(),
                project.created_at_ms,
                version,
                document,
                views,
                connected_event(&project.metadata),
            ),
        )
        .map_err(backend)?;
    let num = connection.last_insert_rowid();
    if num > PROJECT_MAX || *next_position > POSITION_MAX {
        return Err(StoreError::Backend("the data exceeds what SQLite can hold".into()));
    }
    connection
        .execute(
            // The rows come later; their bytes are counted when somebody asks.
            "INSERT INTO counters (project, row_count, next_position, change_seq, value_bytes_before) \
             VALUES (?1, ?2, ?3, ?4, NULL)",
            (num, row_count, next_position, change_seq),
        )
        .map_err(backend)?;
    for slot in lookup_slots {
        connection
            .execute("INSERT INTO lookup_columns (project, slot) VALUES (?1, ?2)", (num, slot))
            .map_err(backend)?;
    }
    if let Some((tally, updated_at_ms)) = tally {
        let tally = write_tally(tally).map_err(damaged)?;
        connection
            .execute(
                "INSERT INTO tallies (project, tally, updated_at) VALUES (?1, ?2, ?3)",
                (num, tally, updated_at_ms),
            )
            .map_err(backend)?;
    }
    // Oldest first: with each, those are forgotten that are too old.
    runs.iter().rev().try_for_each(|run| ended_runs::keep(connection, num, run))
}

pub(super) fn page(connection: &Connection, section: Section, items_page: &Items) -> Result<()> {
    let num = section.project().map_or(Ok(0), |id| number_of(connection, id))?;
    match items_page {
        Items::Teams(items) => items.iter().try_for_each(|team| teams::create_team(connection, team)),
        Items::Keys(items) => items.iter().try_for_each(|key| teams::create_key(connection, key)),
        Items::Sealed(items) => {
            let sql = "INSERT INTO sealed (team, kind, name, bytes, updated_at) VALUES (?1, ?2, ?3, ?4, ?5)";
            let mut insert = prepare(connection, sql)?;
            items.iter().try_for_each(|(team, sealed)| {
                let Sealed { kind, name, bytes, updated_at_ms } = sealed;
                insert
                    .execute((team.0.as_bytes(), kind.word(), name, bytes, updated_at_ms))
                    .map(|_| ())
                    .map_err(backend)
            })
        }
        Items::Webhooks(items) => {
            let sql = "INSERT INTO webhooks (team, version, document, subscriptions) VALUES (?1, ?2, ?3, ?4)";
            let mut insert = prepare(connection, sql)?;
            items.iter().try_for_each(|webhooks| {
                let CarriedWebhooks { team, version, document, subscriptions } = webhooks;
                insert
                    .execute((team.0.as_bytes(), version, document, subscriptions))
                    .map(|_| ())
                    .map_err(backend)
            })
        }
        Items::Spending(items) => {
            let sql = "INSERT INTO spending_settings (team, version, document) VALUES (?1, ?2, ?3)";
            let mut insert = prepare(connection, sql)?;
            items.iter().try_for_each(|CarriedSpending { team, version, document }| {
                insert.execute((team.0.as_bytes(), version, document)).map(|_| ()).map_err(backend)
            })
        }
        Items::Receipts(items) => {
            let sql = "INSERT INTO receipts (name, fingerprint, outcome, expires_at) VALUES (?1, ?2, ?3, ?4)";
            let mut insert = prepare(connection, sql)?;
            items.iter().try_for_each(|receipt| {
                let Receipt { name, fingerprint, outcome, expires_at_ms } = receipt;
                insert.execute((name, fingerprint, outcome, expires_at_ms)).map(|_| ()).map_err(backend)
            })
        }
        Items::Rows(rows) => write_rows(connection, num, rows),
        Items::Blocks(blocks) => write_blocks(connection, num, blocks),
        Items::Guests(items) => {
            let sql = "INSERT INTO guests (project, guest_id, position, event_at) VALUES (?1, ?2, ?3, ?4)";
            let mut insert = prepare(connection, sql)?;
            items.iter().try_for_each(|guest| {
                let Guest { guest_id, position, event_at_ms } = guest;
                insert.execute((num, guest_id, position, event_at_ms)).map(|_| ()).map_err(backend)
            })
        }
        Items::Retries(items) => {
            let sql = "INSERT INTO retries (at, project, slot, position) VALUES (?1, ?2, ?3, ?4)";
            let mut insert = prepare(connection, sql)?;
            items.iter().try_for_each(|retry| {
                let Retry { at_ms, slot, position } = retry;
                insert.execute((at_ms, num, slot, position)).map(|_| ()).map_err(backend)
            })
        }
    }
}

/// With rows go their live counts and, in columns that rows are matched on, where their values stand.
fn write_rows(connection: &Connection, num: i64, rows: &[CarriedRow]) -> Result<()> {
    let slots = lookups::slots(connection, num)?;
    let mut live = LiveDelta::default();
    let mut insert = prepare(connection, apply::INSERT_ROW)?;
    for row in rows {
        apply::insert_row(connection, &mut insert, num, &row.to_write()?)?;
        let CarriedRow { position, values, .. } = row;
        live.add(*position, 1);
        if !slots.is_empty() {
            let cells = Cells::unpack(values)?;
            lookups::add(connection, num, &slots, *position, &cells)?;
        }
    }
    apply::live(connection, num, &live.by_level())
}

fn write_blocks(connection: &Connection, num: i64, blocks: &[CarriedBlock]) -> Result<()> {
    let mut insert = prepare(connection, "INSERT INTO blocks (key, marks) VALUES (?1, ?2)")?;
    let mut ready_insert =
        prepare(connection, "INSERT INTO ready (project, slot, block) VALUES (?1, ?2, ?3)")?;
    for CarriedBlock { number, block, ready } in blocks {
        insert.execute((block_key(num, *number), block.encode())).map_err(backend)?;
        for slot in ready {
            ready_insert.execute((num, slot, number)).map_err(backend)?;
        }
    }
    Ok(())
}

fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(sql).map_err(backend)
}
