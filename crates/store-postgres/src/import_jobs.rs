//! Imports that run in the background: their files, their leases, and how far they have come.

use rowmill_model::{ImportId, ProjectId, TeamId};
use rowmill_store::{
    ENDED_IMPORTS_MAX, ImportClaim, ImportJob, ImportPart, ImportProgress, ImportStatus, ImportStep,
    NewImport, Result, SWEEP_PARTS, StoreError,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::convert::{signed, unsigned};
use crate::transaction::Tx;

/// What [`read`] reads.
macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, team, project, status, request, file_bytes, created_at, started_at, ended_at, claims, step, \
             rows_read, bytes_read, inserted, updated, unchanged, rejected, fields, outcome FROM rowmill.imports ",
            $rest
        )
    };
}

pub(crate) async fn create(tx: &mut Tx, import: &NewImport) -> Result<()> {
    let NewImport { id, team, project, request, bytes_expected, jobs_max, bytes_max, now_ms, lease_until_ms } =
        import;
    let (count, bytes) = waiting(tx, *team).await?;
    if count >= u64::from(*jobs_max) {
        return Err(StoreError::Full);
    }
    if bytes.saturating_add(*bytes_expected) > *bytes_max {
        return Err(StoreError::BytesFull);
    }
    let sql = "INSERT INTO rowmill.imports (id, team, project, status, request, created_at, lease_until) \
               VALUES ($1, $2, $3, 'receiving', $4, $5, $6)";
    tx.query(sql, &[&id.uuid(), &team.0, &project.uuid(), request, now_ms, lease_until_ms]).await.map(|_| ())
}

/// How many imports of a team wait or run, and the bytes of their files.
async fn waiting(tx: &mut Tx, team: TeamId) -> Result<(u64, u64)> {
    let sql = "SELECT count(*), coalesce(sum(file_bytes), 0)::int8 FROM rowmill.imports \
               WHERE team = $1 AND ended_at IS NULL";
    let found = tx.query(sql, &[&team.0]).await?;
    Ok(found.first().map_or((0, 0), |row| (unsigned(row.get(0)), unsigned(row.get(1)))))
}

pub(crate) async fn put_part(tx: &mut Tx, part: &ImportPart) -> Result<bool> {
    let ImportPart { id, number, bytes, bytes_max, lease_until_ms } = part;
    let sql = "UPDATE rowmill.imports SET file_bytes = file_bytes + $2, lease_until = $3 \
               WHERE id = $1 AND status = 'receiving' RETURNING team";
    let updated = tx.query(sql, &[&id.uuid(), &signed(bytes.len() as u64), lease_until_ms]).await?;
    let Some(team) = updated.first().map(|row| TeamId(row.get(0))) else { return Ok(false) };
    if waiting(tx, team).await?.1 > *bytes_max {
        return Err(StoreError::BytesFull);
    }
    let sql = "INSERT INTO rowmill.import_parts (import, number, bytes) VALUES ($1, $2, $3)";
    tx.query(sql, &[&id.uuid(), &i64::from(*number), bytes]).await.map(|_| true)
}

pub(crate) async fn queue(tx: &mut Tx, id: ImportId) -> Result<bool> {
    let sql = "UPDATE rowmill.imports SET status = 'queued', lease_until = 0 \
               WHERE id = $1 AND status IN ('receiving', 'queued') RETURNING 1";
    changes(tx, sql, &[&id.uuid()]).await
}

pub(crate) async fn drop_file(tx: &mut Tx, id: ImportId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE rowmill.imports SET status = 'dropped', ended_at = $2 \
               WHERE id = $1 AND status = 'receiving' RETURNING 1";
    changes(tx, sql, &[&id.uuid(), &now_ms]).await.map(|_| ())
}

pub(crate) async fn list(tx: &mut Tx, project: ProjectId) -> Result<Vec<ImportJob>> {
    let sql = select!(
        "WHERE project = $1 AND status NOT IN ('receiving', 'dropped') ORDER BY created_at DESC, id DESC"
    );
    Ok(tx.query(sql, &[&project.uuid()]).await?.iter().filter_map(read).collect())
}

pub(crate) async fn find(tx: &mut Tx, project: ProjectId, id: ImportId) -> Result<Option<ImportJob>> {
    let sql = select!("WHERE id = $1 AND project = $2");
    Ok(tx.query(sql, &[&id.uuid(), &project.uuid()]).await?.first().and_then(read))
}

pub(crate) async fn rejections(tx: &mut Tx, id: ImportId) -> Result<Vec<String>> {
    let sql = "SELECT rows FROM rowmill.import_rejections WHERE import = $1 ORDER BY step";
    Ok(tx.query(sql, &[&id.uuid()]).await?.iter().map(|row| row.get(0)).collect())
}

pub(crate) async fn part(tx: &mut Tx, id: ImportId, number: u32) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT bytes FROM rowmill.import_parts WHERE import = $1 AND number = $2";
    Ok(tx.query(sql, &[&id.uuid(), &i64::from(number)]).await?.first().map(|row| row.get(0)))
}

pub(crate) async fn claim(tx: &mut Tx, claim: ImportClaim) -> Result<Option<ImportJob>> {
    let ImportClaim { holder, now_ms, lease_until_ms, running_max } = claim;
    // The order within a project is that of sending.
    let sql = "SELECT id, project FROM rowmill.imports i CROSS JOIN LATERAL \
               (SELECT count(*) FROM rowmill.imports r WHERE r.ended_at IS NULL AND r.team = i.team \
               AND r.status = 'running' AND r.lease_until > $1) AS of_team(running) WHERE ended_at IS NULL \
               AND (status = 'queued' OR (status = 'running' AND lease_until <= $1)) \
               AND NOT EXISTS (SELECT 1 FROM rowmill.imports o WHERE o.ended_at IS NULL AND o.project = i.project \
               AND o.id <> i.id AND (o.status = 'running' \
               OR (o.status = 'queued' AND (o.created_at, o.id) < (i.created_at, i.id)))) \
               AND running <= $2 ORDER BY running, created_at, id LIMIT 1 FOR UPDATE OF i SKIP LOCKED";
    let next = tx.query(sql, &[&now_ms, &i64::from(running_max)]).await?;
    let Some(row) = next.first() else { return Ok(None) };
    let (id, project): (Uuid, Uuid) = (row.get(0), row.get(1));
    let sql = "UPDATE rowmill.imports SET status = 'running', holder = $2, lease_until = $3, claims = claims + 1, \
               started_at = coalesce(started_at, $4) WHERE id = $1";
    tx.query(sql, &[&id, &holder, &lease_until_ms, &now_ms]).await?;
    find(tx, ProjectId::from_uuid(project), ImportId::from_uuid(id)).await
}

pub(crate) async fn renew(
    tx: &mut Tx,
    id: ImportId,
    holder: Uuid,
    lease_until_ms: i64,
    forgives: bool,
) -> Result<bool> {
    let sql = "UPDATE rowmill.imports SET lease_until = $3, claims = greatest(0, claims - $4) \
               WHERE id = $1 AND holder = $2 AND status = 'running' RETURNING 1";
    changes(tx, sql, &[&id.uuid(), &holder, &lease_until_ms, &i64::from(forgives)]).await
}

/// Notes how far an import has come. `written` is how many rows were inserted, updated and unchanged.
pub(crate) async fn checkpoint(tx: &mut Tx, step: &ImportStep, written: [u64; 3]) -> Result<()> {
    let ImportStep { id, holder, after, rows_read, bytes_read, fields, rejected, lease_until_ms } = step;
    let [inserted, updated, unchanged] = written.map(signed);
    let sql = "UPDATE rowmill.imports SET step = step + 1, claims = 0, rows_read = $4, bytes_read = $5, \
               fields = coalesce($6, fields), rejected = rejected + $7, inserted = inserted + $8, \
               updated = updated + $9, unchanged = unchanged + $10, lease_until = greatest(lease_until, $11) \
               WHERE id = $1 AND holder = $2 AND step = $3 AND status = 'running' RETURNING 1";
    let count = signed(rejected.as_ref().map_or(0, |(count, _)| *count));
    let (id, after, read) = (id.uuid(), signed(*after), (signed(*rows_read), signed(*bytes_read)));
    let params: [&(dyn ToSql + Sync); 11] = [
        &id,
        holder,
        &after,
        &read.0,
        &read.1,
        fields,
        &count,
        &inserted,
        &updated,
        &unchanged,
        lease_until_ms,
    ];
    if !changes(tx, sql, &params).await? {
        return Err(StoreError::ImportLost);
    }
    if let Some((_, rows)) = rejected {
        tx.at_last(
            "INSERT INTO rowmill.import_rejections (import, step, rows) VALUES ($1, $2, $3)",
            vec![Box::new(id), Box::new(after), Box::new(rows.clone())],
        );
    }
    Ok(())
}

pub(crate) async fn end(
    tx: &mut Tx,
    (id, holder): (ImportId, Uuid),
    status: ImportStatus,
    outcome: &str,
    now_ms: i64,
) -> Result<bool> {
    let sql = "UPDATE rowmill.imports SET status = $3, outcome = $4, ended_at = $5, holder = NULL \
               WHERE id = $1 AND holder = $2 AND status = 'running' RETURNING 1";
    changes(tx, sql, &[&id.uuid(), &holder, &status.word(), &outcome, &now_ms]).await
}

pub(crate) async fn cancel(tx: &mut Tx, project: ProjectId, id: ImportId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE rowmill.imports SET status = 'cancelled', ended_at = $3, holder = NULL \
               WHERE id = $1 AND project = $2 AND status IN ('queued', 'running') RETURNING 1";
    changes(tx, sql, &[&id.uuid(), &project.uuid(), &now_ms]).await.map(|_| ())
}

pub(crate) async fn leave(tx: &mut Tx, holder: Uuid) -> Result<()> {
    let sql = "UPDATE rowmill.imports SET lease_until = 0, claims = greatest(0, claims - 1) \
               WHERE holder = $1 AND status = 'running' AND ended_at IS NULL RETURNING 1";
    changes(tx, sql, &[&holder]).await.map(|_| ())
}

pub(crate) async fn sweep(tx: &mut Tx, now_ms: i64, ended_before_ms: i64) -> Result<bool> {
    let sql = "UPDATE rowmill.imports SET status = 'dropped', ended_at = $1 WHERE id IN (SELECT id \
               FROM rowmill.imports WHERE ended_at IS NULL AND status = 'receiving' AND lease_until <= $1 \
               FOR UPDATE SKIP LOCKED)";
    tx.query(sql, &[&now_ms]).await?;
    let sql = "SELECT id FROM rowmill.imports WHERE ended_at IS NOT NULL AND has_file LIMIT 1 FOR UPDATE SKIP LOCKED";
    if let Some(id) = first(tx, sql, &[]).await? {
        let sql = "DELETE FROM rowmill.import_parts WHERE import = $1 AND number IN \
                   (SELECT number FROM rowmill.import_parts WHERE import = $1 LIMIT $2) RETURNING 1";
        if !changes(tx, sql, &[&id, &i64::from(SWEEP_PARTS)]).await? {
            tx.at_last("UPDATE rowmill.imports SET has_file = false WHERE id = $1", vec![Box::new(id)]);
        }
        return Ok(true);
    }
    let sql = "SELECT id FROM rowmill.imports i WHERE ended_at IS NOT NULL AND (ended_at < $1 OR status = 'dropped' \
               OR (SELECT count(*) FROM rowmill.imports n WHERE n.team = i.team AND n.ended_at > i.ended_at) >= $2) \
               LIMIT 1 FOR UPDATE SKIP LOCKED";
    let Some(id) = first(tx, sql, &[&ended_before_ms, &i64::from(ENDED_IMPORTS_MAX)]).await? else {
        return Ok(false);
    };
    tx.at_last("DELETE FROM rowmill.import_rejections WHERE import = $1", vec![Box::new(id)]);
    tx.at_last("DELETE FROM rowmill.imports WHERE id = $1", vec![Box::new(id)]);
    Ok(true)
}

/// Whether a statement that returns what it changes changed anything.
async fn changes(tx: &mut Tx, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<bool> {
    Ok(!tx.query(sql, params).await?.is_empty())
}

async fn first(tx: &mut Tx, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Option<Uuid>> {
    Ok(tx.query(sql, params).await?.first().map(|row| row.get(0)))
}

/// `None` for one whose file is not here in full.
fn read(row: &Row) -> Option<ImportJob> {
    let number = |index: usize| unsigned(row.get(index));
    Some(ImportJob {
        id: ImportId::from_uuid(row.get(0)),
        team: TeamId(row.get(1)),
        project: ProjectId::from_uuid(row.get(2)),
        status: ImportStatus::read(row.get(3))?,
        request: row.get(4),
        file_bytes: number(5),
        created_at_ms: row.get(6),
        started_at_ms: row.get(7),
        ended_at_ms: row.get(8),
        claims: u32::try_from(number(9)).unwrap_or(u32::MAX),
        progress: ImportProgress {
            step: number(10),
            rows_read: number(11),
            bytes_read: number(12),
            inserted: number(13),
            updated: number(14),
            unchanged: number(15),
            rejected: number(16),
        },
        fields: row.get(17),
        outcome: row.get(18),
    })
}
