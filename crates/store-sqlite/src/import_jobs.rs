//! Imports that run in the background: their files, their leases, and how far they have come.

use rowmill_model::{ImportId, ProjectId, TeamId};
use rowmill_store::{
    ENDED_IMPORTS_MAX, ImportClaim, ImportJob, ImportPart, ImportProgress, ImportStatus, ImportStep,
    NewImport, Result, SWEEP_PARTS, StoreError,
};
use rusqlite::{Connection, OptionalExtension, Params, Row};
use uuid::Uuid;

use crate::convert::{backend, uuid_of};

/// What [`read`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, team, project, status, request, file_bytes, created_at, started_at, ended_at, claims, step, \
             rows_read, bytes_read, inserted, updated, unchanged, rejected, fields, outcome FROM imports ",
            $rest
        )
    };
}

pub(crate) fn create(connection: &Connection, import: &NewImport) -> Result<()> {
    let NewImport { id, team, project, request, bytes_expected, jobs_max, bytes_max, .. } = import;
    let (count, bytes) = waiting(connection, *team)?;
    if count >= u64::from(*jobs_max) {
        return Err(StoreError::Full);
    }
    if bytes.saturating_add(*bytes_expected) > *bytes_max {
        return Err(StoreError::BytesFull);
    }
    let sql = "INSERT INTO imports (id, team, project, status, request, created_at, lease_until) \
               VALUES (?1, ?2, ?3, 'receiving', ?4, ?5, ?6)";
    let (id, team, project) = (id.uuid(), team.0, project.uuid());
    let keys = (id.as_bytes(), team.as_bytes(), project.as_bytes());
    let params = (keys.0, keys.1, keys.2, request, import.now_ms, import.lease_until_ms);
    run(connection, sql, params).map(|_| ())
}

/// How many imports of a team wait or run, and the bytes of their files.
fn waiting(connection: &Connection, team: TeamId) -> Result<(u64, u64)> {
    let sql =
        "SELECT count(*), coalesce(sum(file_bytes), 0) FROM imports WHERE team = ?1 AND ended_at IS NULL";
    connection
        .prepare_cached(sql)
        .and_then(|mut query| query.query_row([team.0.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(backend)
}

pub(crate) fn put_part(connection: &Connection, part: &ImportPart) -> Result<bool> {
    let ImportPart { id, number, bytes, bytes_max, lease_until_ms } = part;
    let sql = "UPDATE imports SET file_bytes = file_bytes + ?2, lease_until = ?3 \
               WHERE id = ?1 AND status = 'receiving' RETURNING team";
    let team = connection
        .prepare_cached(sql)
        .and_then(|mut update| {
            let length = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
            update.query_row((id.uuid().as_bytes(), length, lease_until_ms), |row| uuid_of(row, 0)).optional()
        })
        .map_err(backend)?;
    let Some(team) = team else { return Ok(false) };
    if waiting(connection, TeamId(team))?.1 > *bytes_max {
        return Err(StoreError::BytesFull);
    }
    let sql = "INSERT INTO import_parts (import, number, bytes) VALUES (?1, ?2, ?3)";
    run(connection, sql, (id.uuid().as_bytes(), number, bytes)).map(|_| true)
}

pub(crate) fn queue(connection: &Connection, id: ImportId) -> Result<bool> {
    let sql = "UPDATE imports SET status = 'queued', lease_until = 0 WHERE id = ?1 AND status = 'receiving'";
    Ok(run(connection, sql, [id.uuid().as_bytes()])? > 0)
}

pub(crate) fn drop_file(connection: &Connection, id: ImportId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE imports SET status = 'dropped', ended_at = ?2 WHERE id = ?1 AND status = 'receiving'";
    run(connection, sql, (id.uuid().as_bytes(), now_ms)).map(|_| ())
}

pub(crate) fn list(connection: &Connection, project: ProjectId) -> Result<Vec<ImportJob>> {
    let sql = select!(
        "WHERE project = ?1 AND status NOT IN ('receiving', 'dropped') ORDER BY created_at DESC, id DESC"
    );
    let read = |mut query: rusqlite::CachedStatement<'_>| {
        query.query_map([project.uuid().as_bytes()], read)?.collect::<rusqlite::Result<Vec<_>>>()
    };
    Ok(connection.prepare_cached(sql).and_then(read).map_err(backend)?.into_iter().flatten().collect())
}

pub(crate) fn find(connection: &Connection, project: ProjectId, id: ImportId) -> Result<Option<ImportJob>> {
    let sql = select!("WHERE id = ?1 AND project = ?2");
    connection
        .prepare_cached(sql)
        .and_then(|mut query| {
            query.query_row((id.uuid().as_bytes(), project.uuid().as_bytes()), read).optional()
        })
        .map(Option::flatten)
        .map_err(backend)
}

pub(crate) fn rejections(connection: &Connection, id: ImportId) -> Result<Vec<String>> {
    connection
        .prepare_cached("SELECT rows FROM import_rejections WHERE import = ?1 ORDER BY step")
        .and_then(|mut query| query.query_map([id.uuid().as_bytes()], |row| row.get(0))?.collect())
        .map_err(backend)
}

pub(crate) fn part(connection: &Connection, id: ImportId, number: u32) -> Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT bytes FROM import_parts WHERE import = ?1 AND number = ?2")
        .and_then(|mut query| query.query_row((id.uuid().as_bytes(), number), |row| row.get(0)).optional())
        .map_err(backend)
}

pub(crate) fn claim(connection: &Connection, claim: ImportClaim) -> Result<Option<ImportJob>> {
    let ImportClaim { holder, now_ms, lease_until_ms, running_max } = claim;
    // The order within a project is that of sending.
    let sql = "SELECT id, project, (SELECT count(*) FROM imports r WHERE r.ended_at IS NULL AND r.team = i.team \
               AND r.status = 'running' AND r.lease_until > ?1) AS running FROM imports i WHERE ended_at IS NULL \
               AND (status = 'queued' OR (status = 'running' AND lease_until <= ?1)) \
               AND NOT EXISTS (SELECT 1 FROM imports o WHERE o.ended_at IS NULL AND o.project = i.project \
               AND o.id <> i.id AND (o.status = 'running' \
               OR (o.status = 'queued' AND (o.created_at, o.id) < (i.created_at, i.id)))) \
               AND running <= ?2 ORDER BY running, created_at, id LIMIT 1";
    let next = connection
        .prepare_cached(sql)
        .and_then(|mut query| {
            query.query_row((now_ms, running_max), |row| Ok((uuid_of(row, 0)?, uuid_of(row, 1)?))).optional()
        })
        .map_err(backend)?;
    let Some((id, project)) = next else { return Ok(None) };
    let sql = "UPDATE imports SET status = 'running', holder = ?2, lease_until = ?3, claims = claims + 1, \
               started_at = coalesce(started_at, ?4) WHERE id = ?1";
    run(connection, sql, (id.as_bytes(), holder.as_bytes(), lease_until_ms, now_ms))?;
    find(connection, ProjectId::from_uuid(project), ImportId::from_uuid(id))
}

pub(crate) fn renew(
    connection: &Connection,
    id: ImportId,
    holder: Uuid,
    lease_until_ms: i64,
    forgives: bool,
) -> Result<bool> {
    let sql = "UPDATE imports SET lease_until = ?3, claims = max(0, claims - ?4) \
               WHERE id = ?1 AND holder = ?2 AND status = 'running'";
    let id = id.uuid();
    let params = (id.as_bytes(), holder.as_bytes(), lease_until_ms, i64::from(forgives));
    Ok(run(connection, sql, params)? > 0)
}

/// Notes how far an import has come. `written` is how many rows were inserted, updated and unchanged.
pub(crate) fn checkpoint(connection: &Connection, step: &ImportStep, written: [u64; 3]) -> Result<()> {
    let ImportStep { id, holder, after, rows_read, bytes_read, fields, rejected, lease_until_ms } = step;
    let id = id.uuid();
    let [inserted, updated, unchanged] = written;
    let sql = "UPDATE imports SET step = step + 1, claims = 0, rows_read = ?4, bytes_read = ?5, \
               fields = coalesce(?6, fields), rejected = rejected + ?7, inserted = inserted + ?8, \
               updated = updated + ?9, unchanged = unchanged + ?10, lease_until = max(lease_until, ?11) \
               WHERE id = ?1 AND holder = ?2 AND step = ?3 AND status = 'running'";
    let count = rejected.as_ref().map_or(0, |(count, _)| *count);
    let params = rusqlite::params![
        id.as_bytes(),
        holder.as_bytes(),
        after,
        rows_read,
        bytes_read,
        fields,
        count,
        inserted,
        updated,
        unchanged,
        lease_until_ms
    ];
    if run(connection, sql, params)? == 0 {
        return Err(StoreError::ImportLost);
    }
    if let Some((_, rows)) = rejected {
        let sql = "INSERT INTO import_rejections (import, step, rows) VALUES (?1, ?2, ?3)";
        run(connection, sql, (id.as_bytes(), after, rows))?;
    }
    Ok(())
}

pub(crate) fn end(
    connection: &Connection,
    (id, holder): (ImportId, Uuid),
    status: ImportStatus,
    outcome: &str,
    now_ms: i64,
) -> Result<bool> {
    let sql = "UPDATE imports SET status = ?3, outcome = ?4, ended_at = ?5, holder = NULL \
               WHERE id = ?1 AND holder = ?2 AND status = 'running'";
    let id = id.uuid();
    let params = (id.as_bytes(), holder.as_bytes(), status.word(), outcome, now_ms);
    Ok(run(connection, sql, params)? > 0)
}

pub(crate) fn cancel(connection: &Connection, project: ProjectId, id: ImportId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE imports SET status = 'cancelled', ended_at = ?3, holder = NULL \
               WHERE id = ?1 AND project = ?2 AND status IN ('queued', 'running')";
    run(connection, sql, (id.uuid().as_bytes(), project.uuid().as_bytes(), now_ms)).map(|_| ())
}

pub(crate) fn leave(connection: &Connection, holder: Uuid) -> Result<()> {
    let sql = "UPDATE imports SET lease_until = 0, claims = max(0, claims - 1) \
               WHERE holder = ?1 AND status = 'running'";
    run(connection, sql, [holder.as_bytes()]).map(|_| ())
}

/// Whoever had a lease or sent a file did so in a process that has ended: only one serves a data folder. What ended it may
/// have been the import, so the claim counts.
pub(crate) fn release_all(connection: &Connection) -> Result<()> {
    let sql =
        "UPDATE imports SET lease_until = 0 WHERE ended_at IS NULL AND status IN ('running', 'receiving')";
    run(connection, sql, ()).map(|_| ())
}

pub(crate) fn sweep(connection: &Connection, now_ms: i64, ended_before_ms: i64) -> Result<bool> {
    let sql = "UPDATE imports SET status = 'dropped', ended_at = ?1 \
               WHERE ended_at IS NULL AND status = 'receiving' AND lease_until <= ?1";
    run(connection, sql, [now_ms])?;
    let sql = "SELECT id FROM imports WHERE ended_at IS NOT NULL AND has_file = 1 LIMIT 1";
    if let Some(id) = first(connection, sql, ())? {
        let sql = "DELETE FROM import_parts WHERE import = ?1 AND number IN \
                   (SELECT number FROM import_parts WHERE import = ?1 LIMIT ?2)";
        if run(connection, sql, (id.as_bytes(), SWEEP_PARTS))? == 0 {
            run(connection, "UPDATE imports SET has_file = 0 WHERE id = ?1", [id.as_bytes()])?;
        }
        return Ok(true);
    }
    let sql = "SELECT id FROM imports i WHERE ended_at IS NOT NULL AND (ended_at < ?1 OR status = 'dropped' \
               OR (SELECT count(*) FROM imports n WHERE n.team = i.team AND n.ended_at > i.ended_at) >= ?2) LIMIT 1";
    let Some(id) = first(connection, sql, (ended_before_ms, ENDED_IMPORTS_MAX))? else { return Ok(false) };
    run(connection, "DELETE FROM import_rejections WHERE import = ?1", [id.as_bytes()])?;
    run(connection, "DELETE FROM imports WHERE id = ?1", [id.as_bytes()])?;
    Ok(true)
}

/// How many imports are not over.
pub(crate) fn open_count(connection: &Connection) -> Result<u64> {
    connection
        .query_row("SELECT count(*) FROM imports WHERE status IN ('queued', 'running')", (), |row| row.get(0))
        .map_err(backend)
}

/// Files without an import, and imports that wait or run whose file is not what it was, a sentence each.
pub(crate) fn strays(connection: &Connection) -> Result<Vec<String>> {
    let sql =
        "SELECT DISTINCT import FROM import_parts WHERE import NOT IN (SELECT id FROM imports) LIMIT 100";
    let lost = ids(connection, sql)?.into_iter().map(rowmill_store::stray_file);
    let sql = "SELECT id FROM imports i WHERE status IN ('queued', 'running') AND file_bytes <> \
               (SELECT coalesce(sum(octet_length(bytes)), 0) FROM import_parts WHERE import = i.id)";
    let cut = ids(connection, sql)?.into_iter().map(rowmill_store::cut_file);
    Ok(lost.chain(cut).collect())
}

fn ids(connection: &Connection, sql: &str) -> Result<Vec<ImportId>> {
    connection
        .prepare_cached(sql)
        .and_then(|mut query| query.query_map((), |row| uuid_of(row, 0).map(ImportId::from_uuid))?.collect())
        .map_err(backend)
}

fn run(connection: &Connection, sql: &str, params: impl Params) -> Result<usize> {
    connection.prepare_cached(sql).and_then(|mut statement| statement.execute(params)).map_err(backend)
}

fn first(connection: &Connection, sql: &str, params: impl Params) -> Result<Option<Uuid>> {
    connection
        .prepare_cached(sql)
        .and_then(|mut query| query.query_row(params, |row| uuid_of(row, 0)).optional())
        .map_err(backend)
}

/// `None` for one whose file is not here in full.
fn read(row: &Row<'_>) -> rusqlite::Result<Option<ImportJob>> {
    let Some(status) = ImportStatus::read(&row.get::<_, String>(3)?) else { return Ok(None) };
    Ok(Some(ImportJob {
        id: ImportId::from_uuid(uuid_of(row, 0)?),
        team: TeamId(uuid_of(row, 1)?),
        project: ProjectId::from_uuid(uuid_of(row, 2)?),
        status,
        request: row.get(4)?,
        file_bytes: row.get(5)?,
        created_at_ms: row.get(6)?,
        started_at_ms: row.get(7)?,
        ended_at_ms: row.get(8)?,
        claims: row.get(9)?,
        progress: ImportProgress {
            step: row.get(10)?,
            rows_read: row.get(11)?,
            bytes_read: row.get(12)?,
            inserted: row.get(13)?,
            updated: row.get(14)?,
            unchanged: row.get(15)?,
            rejected: row.get(16)?,
        },
        fields: row.get(17)?,
        outcome: row.get(18)?,
    }))
}
