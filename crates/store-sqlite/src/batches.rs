//! Batches of cells that a provider works off.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::batches::{Batch, BatchLease, BatchRecord, BatchStore};
use rowmill_store::spending::LedgerEntry;
use rowmill_store::{Lane, Result, StoreError, WorkerId};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::convert::{backend, uuid_of};
use crate::ledger;
use crate::store::SqliteStore;

const COLUMNS: &str = "id, team, project, slot, record";

#[async_trait]
impl BatchStore for SqliteStore {
    async fn open_batch(&self, batch: Batch, lease: BatchLease) -> Result<()> {
        self.writer.write(move |connection| open(connection, &batch, lease)).await
    }

    async fn take_batch(
        &self,
        lease: BatchLease,
        now_ms: i64,
        except: BTreeSet<TeamId>,
    ) -> Result<Option<Batch>> {
        let except: Vec<String> = except.iter().map(|team| team.0.simple().to_string()).collect();
        let except =
            serde_json::to_string(&except).map_err(|error| StoreError::Damaged(error.to_string()))?;
        // The writer is not troubled while there is nothing to take.
        if self.readers.read(|connection| next(connection, now_ms, &except))?.is_none() {
            return Ok(None);
        }
        self.writer.write(move |connection| take(connection, lease, now_ms, &except)).await
    }

    async fn save_batch(
        &self,
        batch: Batch,
        lease: BatchLease,
        due_at_ms: i64,
        charge: Option<LedgerEntry>,
    ) -> Result<bool> {
        let save = move |connection: &Connection| {
            let is_saved = save(connection, &batch, lease, due_at_ms)?;
            if let Some(entry) = charge.as_ref().filter(|_| is_saved) {
                ledger::add(connection, batch.team, batch.lane.project, std::slice::from_ref(entry))?;
            }
            Ok(is_saved)
        };
        self.writer.write(save).await
    }

    async fn hold_batch(&self, id: Uuid, lease: BatchLease) -> Result<bool> {
        self.writer.write(move |connection| hold(connection, id, lease)).await
    }

    async fn close_batch(&self, id: Uuid, holder: WorkerId) -> Result<()> {
        self.writer.write(move |connection| close(connection, id, holder)).await
    }

    async fn batches(&self, project: Option<ProjectId>) -> Result<Vec<Batch>> {
        self.readers.read(|connection| list(connection, project))
    }

    async fn hurry_batches(&self, project: ProjectId, now_ms: i64) -> Result<()> {
        self.writer.write(move |connection| hurry(connection, project, now_ms)).await
    }
}

fn open(connection: &Connection, batch: &Batch, lease: BatchLease) -> Result<()> {
    let Batch { id, team, lane, record } = batch;
    let document = record.to_document()?;
    connection
        .prepare_cached(
            "INSERT INTO batches (id, team, project, slot, since, due_at, holder, held_until, record) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7, ?8)",
        )
        .and_then(|mut insert| {
            insert.execute((
                id.as_bytes(),
                team.0.as_bytes(),
                lane.project.uuid().as_bytes(),
                lane.slot,
                record.since_ms,
                lease.holder.0.as_bytes(),
                lease.until_ms,
                document,
            ))
        })
        .map(|_| ())
        .map_err(backend)
}

/// The batch to look after next. `except` is a JSON list of teams.
fn next(connection: &Connection, now_ms: i64, except: &str) -> Result<Option<Uuid>> {
    connection
        .prepare_cached(
            "SELECT id FROM batches WHERE due_at <= ?1 AND held_until <= ?1 \
             AND lower(hex(team)) NOT IN (SELECT value FROM json_each(?2)) ORDER BY due_at, id LIMIT 1",
        )
        .and_then(|mut query| query.query_row((now_ms, except), |row| uuid_of(row, 0)).optional())
        .map_err(backend)
}

fn take(connection: &Connection, lease: BatchLease, now_ms: i64, except: &str) -> Result<Option<Batch>> {
    let Some(id) = next(connection, now_ms, except)? else { return Ok(None) };
    connection
        .prepare_cached("UPDATE batches SET holder = ?2, held_until = ?3 WHERE id = ?1")
        .and_then(|mut update| update.execute((id.as_bytes(), lease.holder.0.as_bytes(), lease.until_ms)))
        .map_err(backend)?;
    let found = connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM batches WHERE id = ?1"))
        .and_then(|mut query| query.query_row([id.as_bytes()], read).optional())
        .map_err(backend)?;
    found.map(opened).transpose()
}

fn save(connection: &Connection, batch: &Batch, lease: BatchLease, due_at_ms: i64) -> Result<bool> {
    let document = batch.record.to_document()?;
    let saved = connection
        .prepare_cached(
            "UPDATE batches SET record = ?3, held_until = ?4, due_at = ?5 WHERE id = ?1 AND holder = ?2",
        )
        .and_then(|mut update| {
            let holder = lease.holder.0;
            update.execute((batch.id.as_bytes(), holder.as_bytes(), document, lease.until_ms, due_at_ms))
        })
        .map_err(backend)?;
    Ok(saved > 0)
}

fn hold(connection: &Connection, id: Uuid, lease: BatchLease) -> Result<bool> {
    let held = connection
        .prepare_cached("UPDATE batches SET held_until = ?3 WHERE id = ?1 AND holder = ?2")
        .and_then(|mut update| update.execute((id.as_bytes(), lease.holder.0.as_bytes(), lease.until_ms)))
        .map_err(backend)?;
    Ok(held > 0)
}

fn close(connection: &Connection, id: Uuid, holder: WorkerId) -> Result<()> {
    let sql = "DELETE FROM batches WHERE id = ?1 AND holder = ?2";
    connection.execute(sql, [id.as_bytes(), holder.0.as_bytes()]).map(|_| ()).map_err(backend)
}

fn list(connection: &Connection, project: Option<ProjectId>) -> Result<Vec<Batch>> {
    let sql = format!("SELECT {COLUMNS} FROM batches WHERE ?1 IS NULL OR project = ?1 ORDER BY since, id");
    let project = project.map(ProjectId::uuid);
    let found: Vec<Stored> = connection
        .prepare_cached(&sql)
        .and_then(|mut query| query.query_map([project.as_ref().map(Uuid::as_bytes)], read)?.collect())
        .map_err(backend)?;
    found.into_iter().map(opened).collect()
}

fn hurry(connection: &Connection, project: ProjectId, now_ms: i64) -> Result<()> {
    connection
        .prepare_cached("UPDATE batches SET due_at = min(due_at, ?2) WHERE project = ?1")
        .and_then(|mut update| update.execute((project.uuid().as_bytes(), now_ms)))
        .map(|_| ())
        .map_err(backend)
}

/// A batch with its record as it is stored.
type Stored = (Uuid, TeamId, Lane, String);

fn read(row: &Row<'_>) -> rusqlite::Result<Stored> {
    let lane = Lane { project: ProjectId::from_uuid(uuid_of(row, 2)?), slot: row.get(3)? };
    Ok((uuid_of(row, 0)?, TeamId(uuid_of(row, 1)?), lane, row.get(4)?))
}

fn opened((id, team, lane, document): Stored) -> Result<Batch> {
    Ok(Batch { id, team, lane, record: BatchRecord::of_document(&document)? })
}
