//! Reading everything as it is stored, to check it (`rowmill check`). A process may serve the data folder meanwhile.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rowmill_model::{ProjectId, RowId, TeamId};
use rowmill_store::carry::{Items, Key, PageLimit, Section};
use rowmill_store::changes::{CellClaim, Places};
use rowmill_store::inspect::{
    IndexEntry, IndexSizes, Inspect, InspectedCounters, InspectedProject, InspectedRow, InspectedSummary,
    InspectedWide, orphaned,
};
use rowmill_store::{Result, StoreError};
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, OptionalExtension as _, Params, Row};
use uuid::Uuid;

use crate::blocks::{block_key, block_number, read_tally_text};
use crate::carry::check_finished;
use crate::carry::read::{self, number_of};
use crate::connection::{immutable, read_only};
use crate::convert::{backend, uuid_of};
use crate::data_dir::{DATABASE_FILE, check_restored};
use crate::integrity::integrity;
use crate::page_scan::page_findings;
use crate::positions::{POSITION_MAX, key, split};
use crate::row_changes::StoredClaim;
use crate::{import_jobs, lookups, schema, wide_values};

/// How many findings of SQLite's own check are told.
const FINDINGS_MAX: u32 = 100;

/// A database file that is checked.
#[derive(Debug)]
pub struct Inspector {
    connection: Arc<Mutex<Connection>>,
    file: PathBuf,
    place: String,
}

impl Inspector {
    /// Opens the database of a data folder.
    pub fn of_data_dir(data_dir: &Path) -> Result<Self> {
        check_restored(data_dir)?;
        let file = data_dir.join(DATABASE_FILE);
        if !file.is_file() {
            let words = format!("{} does not exist: choose another --data-dir", file.display());
            return Err(StoreError::Missing(words));
        }
        Self::open(read_only(&file)?, file)
    }

    /// Opens a backup, which nobody uses and nothing is written to.
    pub fn of_backup(file: &Path) -> Result<Self> {
        Self::open(immutable(file)?, file.to_owned())
    }

    fn open(connection: Connection, file: PathBuf) -> Result<Self> {
        schema::check_current(&connection)?;
        check_finished(&connection)?;
        let place = file.display().to_string();
        Ok(Self { connection: Arc::new(Mutex::new(connection)), file, place })
    }

    /// Runs work with the connection, on another thread.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = Arc::clone(&self.connection);
        let working = tokio::task::spawn_blocking(move || work(&connection.lock()));
        working.await.map_err(|failure| StoreError::Backend(failure.into()))?
    }
}

#[async_trait]
impl Inspect for Inspector {
    fn place(&self) -> &str {
        &self.place
    }

    async fn begin(&self) -> Result<()> {
        self.with(|connection| {
            if !connection.is_autocommit() {
                connection.execute_batch("ROLLBACK").map_err(backend)?;
            }
            connection.execute_batch("BEGIN").map_err(backend)
        })
        .await
    }

    async fn integrity(&self) -> Result<Vec<String>> {
        let file = self.file.clone();
        self.with(move |connection| {
            let mut findings = page_findings(&file)?;
            match integrity(connection, FINDINGS_MAX) {
                Ok(found) => findings.extend(found),
                Err(StoreError::Damaged(words)) => findings.push(words),
                Err(other) => return Err(other),
            }
            Ok(findings)
        })
        .await
    }

    async fn strays(&self) -> Result<Vec<String>> {
        self.with(strays).await
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        self.with(read::projects).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<InspectedProject>> {
        self.with(move |connection| project(connection, id)).await
    }

    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items> {
        self.with(move |connection| read::page(connection, from, after, page_limit)).await
    }

    async fn rows(&self, id: ProjectId, first: u64, page_limit: PageLimit) -> Result<Vec<InspectedRow>> {
        self.with(move |connection| rows(connection, id, first, page_limit)).await
    }

    async fn blocks(&self, id: ProjectId, first: u64, count_max: u32) -> Result<Vec<(u64, Vec<u8>)>> {
        self.with(move |connection| {
            let num = number_of(connection, id)?;
            let sql = "SELECT key, marks FROM blocks WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3";
            let range = (block_key(num, first), block_key(num + 1, 0) - 1, count_max);
            collect(connection, sql, range, |row| Ok((block_number(row.get(0)?), row.get(1)?)))
        })
        .await
    }

    async fn live(&self, id: ProjectId, level: u32, first: u64, count_max: u32) -> Result<Vec<(u64, i64)>> {
        self.with(move |connection| {
            let num = number_of(connection, id)?;
            let sql = "SELECT segment, count FROM live WHERE project = ?1 AND level = ?2 AND segment >= ?3 \
                       ORDER BY segment LIMIT ?4";
            collect(connection, sql, (num, level, first, count_max), |row| Ok((row.get(0)?, row.get(1)?)))
        })
        .await
    }

    async fn trashed_rows(&self, id: ProjectId) -> Result<u64> {
        self.with(move |connection| {
            let num = number_of(connection, id)?;
            let sql = "SELECT places FROM trash WHERE project = ?1";
            let found: Vec<Vec<u8>> = collect(connection, sql, (num,), |row| row.get(0))?;
            found.iter().map(|places| Ok(Places::from_bytes(places)?.count())).sum()
        })
        .await
    }

    async fn claims(&self, id: ProjectId) -> Result<Vec<CellClaim>> {
        self.with(move |connection| {
            let sql = "SELECT token, worker, project, slot, block, places FROM claims WHERE project = ?1";
            let mut query = prepare(connection, sql)?;
            let mut found = query.query([number_of(connection, id)?]).map_err(backend)?;
            let mut claims = Vec::new();
            while let Some(row) = found.next().map_err(backend)? {
                claims.push(StoredClaim::read(row)?.claim);
            }
            Ok(claims)
        })
        .await
    }

    async fn missing(&self, id: ProjectId, entries: Vec<IndexEntry>) -> Result<Vec<IndexEntry>> {
        self.with(move |connection| missing(connection, id, entries)).await
    }

    async fn index_sizes(&self, id: ProjectId) -> Result<IndexSizes> {
        self.with(move |connection| {
            let num = number_of(connection, id)?;
            let count =
                |sql: &str| prepare(connection, sql)?.query_row([num], |row| row.get(0)).map_err(backend);
            Ok(IndexSizes {
                lookups: lookups::count(connection, num)?,
                ready: count("SELECT count(*) FROM ready WHERE project = ?1")?,
            })
        })
        .await
    }
}

fn project(connection: &Connection, id: ProjectId) -> Result<Option<InspectedProject>> {
    let sql = "SELECT num, document, views, team, title, autoplay, folder_id, column_count, created_at, event_id \
               FROM projects WHERE id = ?1";
    let read = |row: &Row<'_>| {
        let summary = InspectedSummary {
            team: TeamId(uuid_of(row, 3)?),
            title: row.get(4)?,
            autoplay: row.get(5)?,
            folder_id: row.get(6)?,
            column_count: row.get(7)?,
            created_at_ms: row.get(8)?,
            event_id: row.get(9)?,
        };
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, summary))
    };
    let found =
        prepare(connection, sql)?.query_row([id.uuid().as_bytes()], read).optional().map_err(backend)?;
    let Some((num, document, views, summary)) = found else { return Ok(None) };
    let num: i64 = num;
    let sql = "SELECT row_count, next_position, trashed_count, value_bytes + value_bytes_before FROM counters \
               WHERE project = ?1";
    let counters = |row: &Row<'_>| {
        Ok(InspectedCounters {
            row_count: row.get(0)?,
            next_position: row.get(1)?,
            trashed_count: row.get(2)?,
            value_bytes: row.get(3)?,
        })
    };
    let counters = prepare(connection, sql)?.query_row([num], counters).optional().map_err(backend)?;
    let lookup_slots = lookups::whole_slots(connection, num)?;
    let tally = read_tally_text(connection, num)?.map(|(tally, _)| tally);
    Ok(Some(InspectedProject { document, views, summary, counters, lookup_slots, tally }))
}

fn rows(
    connection: &Connection,
    id: ProjectId,
    first: u64,
    page_limit: PageLimit,
) -> Result<Vec<InspectedRow>> {
    let num = number_of(connection, id)?;
    if first > POSITION_MAX {
        return Ok(Vec::new());
    }
    let sql = "SELECT key, id, vals, details, wide, wide_bytes FROM rows WHERE key BETWEEN ?1 AND ?2 \
               ORDER BY key LIMIT ?3";
    let mut query = prepare(connection, sql)?;
    let range = (key(num, first), key(num, POSITION_MAX), page_limit.items);
    let mut found = query.query(range).map_err(backend)?;
    let (mut rows, mut bytes) = (Vec::new(), 0);
    while bytes < page_limit.bytes
        && let Some(row) = found.next().map_err(backend)?
    {
        let row_key = row.get(0).map_err(backend)?;
        let (_, position) = split(row_key);
        let blob = |column: usize| match row.get_ref(column) {
            Ok(ValueRef::Null) => Ok(None),
            Ok(ValueRef::Blob(bytes) | ValueRef::Text(bytes)) => Ok(Some(Box::<[u8]>::from(bytes))),
            // A number is not what was written; as bytes it cannot be decoded either.
            Ok(ValueRef::Integer(_) | ValueRef::Real(_)) => Ok(Some(Box::from([0xff]))),
            Err(error) => Err(backend(error)),
        };
        let (id, mut values, details) = (blob(1)?, blob(2)?, blob(3)?);
        let wide = InspectedWide {
            note: blob(4)?,
            bytes: row.get(5).map_err(backend)?,
            stored: wide_values::all(connection, row_key)?,
        };
        let damage = wide.join_to(&mut values).err();
        let id = id.and_then(|id| Uuid::from_slice(&id).ok()).map(RowId::from_uuid);
        bytes += values.as_ref().map_or(0, |values| values.len());
        bytes += details.as_ref().map_or(0, |details| details.len());
        rows.push(InspectedRow { position, id, values, details, damage });
    }
    Ok(rows)
}

fn missing(connection: &Connection, id: ProjectId, entries: Vec<IndexEntry>) -> Result<Vec<IndexEntry>> {
    let num = number_of(connection, id)?;
    let mut by_id =
        prepare(connection, "SELECT 1 FROM rows INDEXED BY rows_by_id WHERE id = ?1 AND key = ?2")?;
    let mut lookups = prepare(
        connection,
        "SELECT 1 FROM lookups WHERE project = ?1 AND slot = ?2 AND hash = ?3 AND position = ?4",
    )?;
    let mut ready =
        prepare(connection, "SELECT 1 FROM ready WHERE project = ?1 AND slot = ?2 AND block = ?3")?;
    let mut retries = prepare(
        connection,
        "SELECT 1 FROM retries WHERE at = ?1 AND project = ?2 AND slot = ?3 AND position = ?4",
    )?;
    let mut missing = Vec::new();
    for entry in entries {
        let is_there = match entry {
            IndexEntry::Id(row, position) => by_id.exists((row.uuid().as_bytes(), key(num, position))),
            IndexEntry::Lookup(slot, hash, position) => lookups.exists((num, slot, hash, position)),
            IndexEntry::Ready(slot, block) => ready.exists((num, slot, block)),
            IndexEntry::Retry(at_ms, slot, position) => retries.exists((at_ms, num, slot, position)),
        };
        if !is_there.map_err(backend)? {
            missing.push(entry);
        }
    }
    Ok(missing)
}

/// The tables, with what finds the first project's number from a number on, and what people call their content.
const OF_PROJECTS: &[(&str, &str)] = &[
    ("SELECT key >> 40 FROM rows WHERE key >= ?1 << 40 ORDER BY key LIMIT 1", "rows"),
    ("SELECT key >> 40 FROM wide_values WHERE key >= ?1 << 40 ORDER BY key LIMIT 1", "wide values"),
    ("SELECT key >> 32 FROM blocks WHERE key >= ?1 << 32 ORDER BY key LIMIT 1", "cell states"),
    ("SELECT project FROM counters WHERE project >= ?1 ORDER BY project LIMIT 1", "counters"),
    ("SELECT project FROM live WHERE project >= ?1 ORDER BY project LIMIT 1", "live counts"),
    ("SELECT project FROM lookup_columns WHERE project >= ?1 ORDER BY project LIMIT 1", "match columns"),
    ("SELECT project FROM lookups WHERE project >= ?1 ORDER BY project LIMIT 1", "match index entries"),
    ("SELECT project FROM guests WHERE project >= ?1 ORDER BY project LIMIT 1", "guests"),
    ("SELECT project FROM tallies WHERE project >= ?1 ORDER BY project LIMIT 1", "counts"),
    ("SELECT project FROM ready WHERE project >= ?1 ORDER BY project LIMIT 1", "cells to run"),
    ("SELECT min(project) FROM retries WHERE project >= ?1", "retries"),
    ("SELECT project FROM claims WHERE project >= ?1 ORDER BY project LIMIT 1", "claims"),
    ("SELECT project FROM runs WHERE project >= ?1 ORDER BY project LIMIT 1", "runs"),
    (
        "SELECT project FROM asked_columns WHERE project >= ?1 ORDER BY project LIMIT 1",
        "columns that were asked for",
    ),
    ("SELECT project FROM trash WHERE project >= ?1 ORDER BY project LIMIT 1", "entries of the trash"),
    ("SELECT project FROM past_guests WHERE project >= ?1 ORDER BY project LIMIT 1", "former guests"),
];

fn strays(connection: &Connection) -> Result<Vec<String>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM projects WHERE num = ?1) OR EXISTS (SELECT 1 FROM graves WHERE project = ?1) \
               OR EXISTS (SELECT 1 FROM trashed_projects WHERE num = ?1)";
    let mut is_known = prepare(connection, sql)?;
    let mut strays = Vec::new();
    for (sql, what) in OF_PROJECTS {
        let mut next = prepare(connection, sql)?;
        let mut first = 0_i64;
        while let Some(Some(num)) =
            next.query_row([first], |row| row.get::<_, Option<i64>>(0)).optional().map_err(backend)?
        {
            if !is_known.query_row([num], |row| row.get::<_, bool>(0)).map_err(backend)? {
                strays.push(format!("there are {what} of project number {num}, which does not exist"));
            }
            first = num + 1;
        }
    }
    let orphans = wide_values::orphans(connection)?;
    if orphans > 0 {
        strays.push(orphaned(orphans));
    }
    strays.extend(import_jobs::strays(connection)?);
    Ok(strays)
}

fn collect<T>(
    connection: &Connection,
    sql: &str,
    params: impl Params,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut query = prepare(connection, sql)?;
    let found = query.query_map(params, read).map_err(backend)?;
    found.collect::<rusqlite::Result<_>>().map_err(backend)
}

fn prepare<'c>(connection: &'c Connection, sql: &str) -> Result<CachedStatement<'c>> {
    connection.prepare_cached(sql).map_err(backend)
}
