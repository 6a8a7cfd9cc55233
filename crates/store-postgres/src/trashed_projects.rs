//! Projects in the trash: deleted, listed, restored and swept up.

use rowmill_model::plan::position_of;
use rowmill_model::{Deletion, KeyId, ProjectId, TeamId};
use rowmill_store::{Change, ProjectPage, Result, SWEEP_PROJECTS, SeenProject, TrashedProject};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::{signed, unsigned};
use crate::documents::Documents;
use crate::leases;
use crate::project_state::{self, Busy};
use crate::projects::read_summary;
use crate::row_changes::OpenProject;
use crate::transaction::Tx;

/// Moves a project to the trash, together with the row that writers lock, and revokes its running cells. Its rows stay
/// where they are.
pub(crate) async fn trash(
    tx: &mut Tx,
    id: ProjectId,
    deletion: Deletion,
    seen: Option<SeenProject>,
) -> Result<(bool, Vec<Change>)> {
    let Some(state) = project_state::lock(tx, &[id], Busy::Wait).await?.pop() else {
        return Ok((false, Vec::new()));
    };
    if let Some(seen) = seen {
        seen.check(SeenProject { version: state.version, row_count: state.row_count })?;
    }
    let revoked = leases::tickets_of(tx, state.num).await?;
    tx.at_last(
        "INSERT INTO rowmill.trashed_projects (project, id, team, title, autoplay, folder_id, column_count, \
         created_at, event_id, document, views, trash_since, version, row_count, next_position, change_seq, lookup_slots, \
         tally, tallied_at, trashed_count, value_bytes, value_bytes_before, deleted_at, deleted_by) \
         SELECT p.project, p.id, p.team, p.title, p.autoplay, p.folder_id, p.column_count, p.created_at, p.event_id, \
         p.document, p.views, p.trash_since, c.version, c.row_count, c.next_position, c.change_seq + 1, c.lookup_slots, c.tally, \
         c.tallied_at, c.trashed_count, c.value_bytes, c.value_bytes_before, $2, $3 \
         FROM rowmill.projects p JOIN rowmill.counters c USING (project) WHERE p.project = $1",
        vec![Box::new(state.num), Box::new(deletion.at_ms), Box::new(deletion.by.map(KeyId::uuid))],
    );
    for sql in [
        "DELETE FROM rowmill.projects WHERE project = $1",
        "DELETE FROM rowmill.counters WHERE project = $1",
        "DELETE FROM rowmill.ready WHERE project = $1",
        "DELETE FROM rowmill.retries WHERE project = $1",
        "DELETE FROM rowmill.claims WHERE project = $1",
    ] {
        tx.at_last(sql, vec![Box::new(state.num)]);
    }
    Ok((true, vec![Change { revoked, ..Change::of_all_rows(id, state.change_seq + 1) }]))
}

/// Brings a project back, and puts the cells that waited or ran when it was deleted back to what they were.
pub(crate) async fn restore(
    tx: &mut Tx,
    documents: &Documents,
    team: TeamId,
    id: ProjectId,
    now_ms: i64,
) -> Result<(bool, Vec<Change>)> {
    let sql = "DELETE FROM rowmill.trashed_projects WHERE id = $1 AND team = $2 RETURNING 1";
    let back = "WITH back AS (SELECT project, id, team, title, autoplay, folder_id, column_count, created_at, event_id, \
         document, views, trash_since, version, row_count, next_position, change_seq, lookup_slots, tally, tallied_at, \
         trashed_count, value_bytes, value_bytes_before \
         FROM rowmill.trashed_projects WHERE id = $1 AND team = $2 FOR UPDATE), \
         made AS (INSERT INTO rowmill.projects (project, id, team, title, autoplay, folder_id, column_count, \
         created_at, event_id, document, views, trash_since) OVERRIDING SYSTEM VALUE \
         SELECT project, id, team, title, autoplay, folder_id, column_count, created_at, event_id, document, views, \
         trash_since FROM back) \
         INSERT INTO rowmill.counters (project, id, version, row_count, next_position, change_seq, lookup_slots, \
         tally, tallied_at, trashed_count, value_bytes, value_bytes_before) \
         SELECT project, id, version, row_count, next_position, change_seq, lookup_slots, tally, tallied_at, \
         trashed_count, value_bytes, value_bytes_before FROM back RETURNING 1";
    if tx.query(back, &[&id.uuid(), &team.0]).await?.is_empty() {
        return Ok((false, Vec::new()));
    }
    tx.query(sql, &[&id.uuid(), &team.0]).await?;
    let state = project_state::lock_one(tx, id).await?;
    let mut open = OpenProject::open(tx, documents, state).await?;
    let blocks = open.load_blocks_from(tx, 0, u64::MAX >> 1).await?;
    let positions: Vec<u64> =
        blocks.iter().flat_map(|block| (0..=u8::MAX).map(|place| position_of(*block, place))).collect();
    open.changes.stop(positions, None, true)?;
    let change = open.finish(tx, now_ms)?;
    Ok((true, vec![Change::of_all_rows(id, change.seq)]))
}

pub(crate) async fn list(tx: &mut Tx, team: TeamId, page: ProjectPage) -> Result<Vec<TrashedProject>> {
    let sql = "SELECT id, title, created_at, autoplay, column_count, folder_id, row_count, deleted_at, deleted_by \
               FROM rowmill.trashed_projects WHERE team = $1 \
               ORDER BY deleted_at DESC, project DESC LIMIT $2 OFFSET $3";
    let found = tx.query(sql, &[&team.0, &i64::from(page.limit), &signed(page.offset)]).await?;
    let trashed = |row: &Row| TrashedProject {
        summary: read_summary(row),
        row_count: unsigned(row.get(6)),
        deletion: Deletion { at_ms: row.get(7), by: row.get::<_, Option<Uuid>>(8).map(KeyId::from_uuid) },
    };
    Ok(found.iter().map(trashed).collect())
}

pub(crate) async fn count(tx: &mut Tx, team: TeamId) -> Result<u64> {
    let sql = "SELECT count(*) FROM rowmill.trashed_projects WHERE team = $1";
    let counted = tx.query(sql, &[&team.0]).await?;
    Ok(counted.first().map_or(0, |row| unsigned(row.get(0))))
}

/// Removes a team's projects for good; their rows are purged later.
pub(crate) async fn empty(tx: &mut Tx, team: TeamId) -> Result<u64> {
    let sql = "WITH gone AS (DELETE FROM rowmill.trashed_projects WHERE team = $1 RETURNING project) \
               INSERT INTO rowmill.graves (project) SELECT project FROM gone RETURNING project";
    Ok(tx.query(sql, &[&team.0]).await?.len() as u64)
}

/// Some projects with columns or views in the trash that were deleted at a time or before.
pub(crate) async fn to_sweep(tx: &mut Tx, until_ms: i64) -> Result<Vec<ProjectId>> {
    let sql = "SELECT id FROM rowmill.projects WHERE trash_since <= $1 ORDER BY trash_since LIMIT $2";
    let found = tx.query(sql, &[&until_ms, &i64::from(SWEEP_PROJECTS)]).await?;
    Ok(found.iter().map(|row| ProjectId::from_uuid(row.get(0))).collect())
}

/// Removes projects for good that were deleted at a time or before. Says whether there were any.
pub(crate) async fn sweep(tx: &mut Tx, until_ms: i64) -> Result<bool> {
    let sql = "WITH gone AS (DELETE FROM rowmill.trashed_projects WHERE deleted_at <= $1 RETURNING project) \
               INSERT INTO rowmill.graves (project) SELECT project FROM gone RETURNING project";
    Ok(!tx.query(sql, &[&until_ms]).await?.is_empty())
}
