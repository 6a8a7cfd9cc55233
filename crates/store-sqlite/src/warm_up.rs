//! What to load after a start.

use async_trait::async_trait;
use rowmill_model::ProjectId;
use rowmill_store::warm_up::{ASKED_FOR_MS, AskedColumn, AskedColumns, asked_in, noted};
use rowmill_store::{Result, WarmUpStore};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::convert::{backend, uuid_of};
use crate::readers::ReadKind;
use crate::store::SqliteStore;

#[async_trait]
impl WarmUpStore for SqliteStore {
    async fn note_asked(&self, project: ProjectId, asked: Vec<AskedColumn>, now_ms: i64) -> Result<()> {
        // The writer is not troubled with what is there already.
        if self.readers.read(|connection| new_note(connection, project, &asked, now_ms))?.is_none() {
            return Ok(());
        }
        self.writer.write(move |connection| note(connection, project, &asked, now_ms)).await
    }

    async fn asked_columns(&self, limit: u32, now_ms: i64) -> Result<Vec<AskedColumns>> {
        self.readers.read_long(ReadKind::List, move |connection| read(connection, limit, now_ms)).await
    }

    async fn projects_with_views(&self, rows_min: u64, limit: u32) -> Result<Vec<ProjectId>> {
        self.readers
            .read_long(ReadKind::Scan, move |connection| with_views(connection, rows_min, limit))
            .await
    }
}

/// What is to be written, and for which project number; `None` if there is nothing to write.
fn new_note(
    connection: &Connection,
    project: ProjectId,
    asked: &[AskedColumn],
    now_ms: i64,
) -> Result<Option<(i64, String)>> {
    let found: Option<(i64, Option<String>)> = connection
        .prepare_cached(
            "SELECT num, columns FROM projects LEFT JOIN asked_columns ON project = num WHERE id = ?1",
        )
        .and_then(|mut query| {
            query.query_row([project.uuid().as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))).optional()
        })
        .map_err(backend)?;
    Ok(found.and_then(|(num, known)| Some((num, noted(known.as_deref(), asked, now_ms)?))))
}

fn note(connection: &Connection, project: ProjectId, asked: &[AskedColumn], now_ms: i64) -> Result<()> {
    let Some((num, columns)) = new_note(connection, project, asked, now_ms)? else { return Ok(()) };
    connection
        .prepare_cached(
            "INSERT OR REPLACE INTO asked_columns (project, asked_at, columns) VALUES (?1, ?2, ?3)",
        )
        .and_then(|mut insert| insert.execute((num, now_ms, columns)))
        .map(|_| ())
        .map_err(backend)
}

fn read(connection: &Connection, limit: u32, now_ms: i64) -> Result<Vec<AskedColumns>> {
    let asked = |row: &Row<'_>| {
        let columns: String = row.get(1)?;
        let project = ProjectId::from_uuid(uuid_of(row, 0)?);
        Ok(AskedColumns { project, columns: asked_in(&columns, now_ms) })
    };
    let found: Vec<AskedColumns> = connection
        .prepare_cached(
            "SELECT id, columns FROM asked_columns JOIN projects ON num = project WHERE asked_at > ?1 \
             ORDER BY asked_at DESC, num DESC LIMIT ?2",
        )
        .and_then(|mut query| query.query_map((now_ms - ASKED_FOR_MS, limit), asked)?.collect())
        .map_err(backend)?;
    Ok(found.into_iter().filter(|asked| !asked.columns.is_empty()).collect())
}

fn with_views(connection: &Connection, rows_min: u64, limit: u32) -> Result<Vec<ProjectId>> {
    connection
        .prepare_cached(
            "SELECT id FROM projects JOIN counters ON project = num WHERE row_count >= ?1 AND views <> '[]' \
             ORDER BY document ->> '$.updatedAt' DESC, num DESC LIMIT ?2",
        )
        .and_then(|mut query| {
            query.query_map((rows_min, limit), |row| uuid_of(row, 0).map(ProjectId::from_uuid))?.collect()
        })
        .map_err(backend)
}
