//! Applying a write set to the database.

use rowmill_model::documents::write_tally;
use rowmill_model::plan::Tally;
use rowmill_store::changes::{CellClaim, TrashEntry, WriteSet};
use rowmill_store::{Result, RowWrite, StoreError};
use rusqlite::{CachedStatement, Connection};

use crate::blocks::block_key;
use crate::convert::backend;
use crate::lookup_build;
use crate::positions::key;
use crate::wide_values;

pub(crate) fn writes(connection: &Connection, num: i64, writes: &WriteSet<()>) -> Result<()> {
    let apply = Apply { connection, num };
    apply.rows(writes)?;
    apply.lookups(writes)?;
    live(connection, num, &writes.live)?;
    apply.blocks(writes)?;
    apply.ready(writes)?;
    apply.claims(writes)?;
    apply.retries(writes)?;
    apply.trash(writes)
}

pub(crate) const INSERT_ROW: &str =
    "INSERT INTO rows (key, id, vals, details, wide, wide_bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Writes a new row with [`INSERT_ROW`], and what of it is stored apart.
pub(crate) fn insert_row(
    connection: &Connection,
    insert: &mut CachedStatement<'_>,
    num: i64,
    row: &RowWrite,
) -> Result<()> {
    let (row_key, id, details) = (key(num, row.position), row.id.uuid(), row.details.as_bytes());
    insert
        .execute((row_key, id.as_bytes(), row.near.as_bytes(), details, row.note(), row.wide_bytes()))
        .map_err(backend)?;
    wide_values::write(connection, row_key, row)
}

/// Brings a row back from the trash.
pub(crate) fn restore_row(connection: &Connection, num: i64, position: u64) -> Result<()> {
    prepare(connection, "UPDATE rows SET key = ?2 WHERE key = ?1")?
        .execute((key(-num, position), key(num, position)))
        .map(|_| ())
        .map_err(backend)
}

/// Writes the marks of a block.
pub(crate) fn marks(connection: &Connection, block_key: i64, marks: &[u8]) -> Result<()> {
    if marks.is_empty() {
        return prepare(connection, "DELETE FROM blocks WHERE key = ?1")?
            .execute([block_key])
            .map(|_| ())
            .map_err(backend);
    }
    prepare(
        connection,
        "INSERT INTO blocks (key, marks) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET marks = excluded.marks",
    )?
    .execute((block_key, marks))
    .map(|_| ())
    .map_err(backend)
}

/// Writes the counts. Without a time they keep theirs.
pub(crate) fn tally(connection: &Connection, num: i64, tally: &str, now_ms: Option<i64>) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO tallies (project, tally, updated_at) VALUES (?1, ?2, coalesce(?3, 0)) \
             ON CONFLICT DO UPDATE SET tally = excluded.tally, updated_at = coalesce(?3, updated_at)",
        )
        .and_then(|mut upsert| upsert.execute((num, tally, now_ms)))
        .map(|_| ())
        .map_err(backend)
}

/// Writes the time of counts that are the same as before.
pub(crate) fn tallied_at(connection: &Connection, num: i64, now_ms: i64) -> Result<()> {
    let none = write_tally(&Tally::default()).map_err(|error| StoreError::Damaged(error.to_string()))?;
    connection
        .prepare_cached(
            "INSERT INTO tallies (project, tally, updated_at) VALUES (?1, ?2, ?3) \
             ON CONFLICT DO UPDATE SET updated_at = excluded.updated_at",
        )
        .and_then(|mut upsert| upsert.execute((num, none, now_ms)))
        .map(|_| ())
        .map_err(backend)
}

/// Writes changes to live counts. An empty run is forgotten, so that walking over many deleted rows stays cheap.
pub(crate) fn live(connection: &Connection, num: i64, live: &[(i64, u64, i64)]) -> Result<()> {
    if live.is_empty() {
        return Ok(());
    }
    let mut upsert = prepare(
        connection,
        "INSERT INTO live (project, level, segment, count) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT DO UPDATE SET count = count + excluded.count",
    )?;
    let mut forget = prepare(
        connection,
        "DELETE FROM live WHERE project = ?1 AND level = ?2 AND segment = ?3 AND count = 0",
    )?;
    for (level, segment, change) in live {
        upsert.execute((num, level, segment, change)).map_err(backend)?;
        if *change < 0 {
            forget.execute((num, level, segment)).map_err(backend)?;
        }
    }
    Ok(())
}

/// Makes a claim; says what names it.
pub(crate) fn claim(connection: &Connection, num: i64, claim: &CellClaim) -> Result<u64> {
    let CellClaim { worker, slot, block, places } = claim;
    prepare(
        connection,
        "INSERT INTO claims (worker, project, slot, block, places) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .insert((worker.as_bytes(), num, slot, block, places.to_bytes()))
    .map(i64::cast_unsigned)
    .map_err(backend)
}

pub(crate) fn delete_claim(connection: &Connection, token: u64) -> Result<()> {
    prepare(connection, "DELETE FROM claims WHERE token = ?1")?.execute([token]).map(|_| ()).map_err(backend)
}

fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(sql).map_err(backend)
}

struct Apply<'c> {
    connection: &'c Connection,
    num: i64,
}

impl Apply<'_> {
    fn rows(&self, writes: &WriteSet<()>) -> Result<()> {
        if !writes.rows_inserted.is_empty() {
            let mut insert = prepare(self.connection, INSERT_ROW)?;
            for row in &writes.rows_inserted {
                insert_row(self.connection, &mut insert, self.num, row)?;
            }
        }
        if !writes.rows_updated.is_empty() {
            let sql = "UPDATE rows SET vals = ?2, details = ?3, wide = ?4, wide_bytes = ?5 WHERE key = ?1";
            let mut update = prepare(self.connection, sql)?;
            for (row, ()) in &writes.rows_updated {
                let (row_key, details) = (key(self.num, row.position), row.details.as_bytes());
                update
                    .execute((row_key, row.near.as_bytes(), details, row.note(), row.wide_bytes()))
                    .map_err(backend)?;
                wide_values::write(self.connection, row_key, row)?;
            }
        }
        if !writes.rows_deleted.is_empty() {
            let mut delete = prepare(self.connection, "DELETE FROM rows WHERE key = ?1")?;
            for position in &writes.rows_deleted {
                delete.execute([key(self.num, *position)]).map_err(backend)?;
                wide_values::delete(self.connection, key(self.num, *position))?;
            }
        }
        Ok(())
    }

    fn lookups(&self, writes: &WriteSet<()>) -> Result<()> {
        if writes.lookups.is_empty() {
            return Ok(());
        }
        let mut insert = prepare(
            self.connection,
            "INSERT INTO lookups (project, slot, hash, position) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )?;
        let mut delete = prepare(
            self.connection,
            "DELETE FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 AND position = ?4",
        )?;
        let under_way = lookup_build::slots_under_way(self.connection, self.num)?;
        for ((slot, hash, position), is_there) in &writes.lookups {
            let change = if *is_there { &mut insert } else { &mut delete };
            change.execute((self.num, slot, hash, position)).map_err(backend)?;
            if under_way.contains(slot) {
                lookup_build::note(self.connection, self.num, *slot, (*hash, *position), *is_there)?;
            }
        }
        Ok(())
    }

    fn blocks(&self, writes: &WriteSet<()>) -> Result<()> {
        for (block, bytes) in &writes.blocks {
            marks(self.connection, block_key(self.num, *block), bytes)?;
        }
        for block in &writes.blocks_deleted {
            marks(self.connection, block_key(self.num, *block), &[])?;
        }
        Ok(())
    }

    /// Rows that come back are moved where they are restored ([`restore_row`]).
    fn trash(&self, writes: &WriteSet<()>) -> Result<()> {
        if !writes.rows_trashed.is_empty() {
            let mut trash = prepare(self.connection, "UPDATE rows SET key = ?2 WHERE key = ?1")?;
            for position in &writes.rows_trashed {
                trash.execute((key(self.num, *position), key(-self.num, *position))).map_err(backend)?;
            }
        }
        for (block, bytes) in &writes.trash_marks {
            marks(self.connection, block_key(-self.num, *block), bytes)?;
        }
        for TrashEntry { batch, block, places, deletion } in &writes.trash_made {
            let by = deletion.by.map(|key| key.uuid().into_bytes());
            prepare(
                self.connection,
                "INSERT INTO trash (project, batch, block, places, deleted_at, deleted_by) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?
            .execute((self.num, batch, block, places.to_bytes(), deletion.at_ms, by))
            .map_err(backend)?;
        }
        for TrashEntry { batch, block, places, .. } in &writes.trash_changed {
            if places.is_empty() {
                prepare(
                    self.connection,
                    "DELETE FROM trash WHERE project = ?1 AND batch = ?2 AND block = ?3",
                )?
                .execute((self.num, batch, block))
                .map_err(backend)?;
                continue;
            }
            let sql = "UPDATE trash SET places = ?4 WHERE project = ?1 AND batch = ?2 AND block = ?3";
            prepare(self.connection, sql)?
                .execute((self.num, batch, block, places.to_bytes()))
                .map_err(backend)?;
        }
        Ok(())
    }

    fn ready(&self, writes: &WriteSet<()>) -> Result<()> {
        if writes.ready_anew {
            prepare(self.connection, "DELETE FROM ready WHERE project = ?1")?
                .execute([self.num])
                .map_err(backend)?;
        }
        for ((slot, block), is_there) in &writes.ready {
            let sql = if *is_there {
                "INSERT INTO ready (project, slot, block) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING"
            } else {
                "DELETE FROM ready WHERE project = ?1 AND slot = ?2 AND block = ?3"
            };
            prepare(self.connection, sql)?.execute((self.num, slot, block)).map_err(backend)?;
        }
        Ok(())
    }

    fn claims(&self, writes: &WriteSet<()>) -> Result<()> {
        for (token, places) in &writes.claims_changed {
            prepare(self.connection, "UPDATE claims SET places = ?2 WHERE token = ?1")?
                .execute((token, places.to_bytes()))
                .map_err(backend)?;
        }
        writes.claims_deleted.iter().try_for_each(|token| delete_claim(self.connection, *token))
    }

    fn retries(&self, writes: &WriteSet<()>) -> Result<()> {
        let done = "DELETE FROM retries WHERE at = ?1 AND project = ?2 AND slot = ?3 AND position = ?4";
        let made = "INSERT INTO retries (at, project, slot, position) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
        for (retries, sql) in [(&writes.retries_done, done), (&writes.retries_made, made)] {
            for (at_ms, slot, position) in retries {
                prepare(self.connection, sql)?.execute((at_ms, self.num, slot, position)).map_err(backend)?;
            }
        }
        Ok(())
    }
}
