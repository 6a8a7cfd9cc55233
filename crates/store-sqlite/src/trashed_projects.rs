//! Projects in the trash: deleted, listed, restored and swept up.

use rowmill_model::plan::position_of;
use rowmill_model::{Deletion, ProjectId, TeamId};
use rowmill_store::{Change, ProjectPage, Result, SWEEP_PROJECTS, SeenProject, StoreError, TrashedProject};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::convert::{backend, uuid_of};
use crate::documents::Documents;
use crate::project_state::{self, State};
use crate::projects::read_summary;
use crate::row_changes::OpenProject;
use crate::trash::read_key;
use crate::work;

/// What `projects` and `trashed_projects` have in common.
macro_rules! columns {
    () => {
        "num, id, team, title, autoplay, folder_id, column_count, created_at, version, document, views, event_id, \
         trash_since"
    };
}

/// Moves a project to the trash and revokes its running cells. Its rows stay where they are.
pub(crate) fn trash(
    connection: &Connection,
    id: ProjectId,
    deletion: Deletion,
    seen: Option<SeenProject>,
) -> Result<(bool, Vec<Change>)> {
    let Some(State { head, counters, change_seq, .. }) = project_state::state(connection, id)? else {
        return Ok((false, Vec::new()));
    };
    if let Some(seen) = seen {
        seen.check(SeenProject { version: head.version, row_count: counters.row_count })?;
    }
    let revoked = work::tickets_of(connection, head.num, id)?;
    let by = deletion.by.map(|key| key.uuid().into_bytes());
    connection
        .execute(
            concat!(
                "INSERT INTO trashed_projects (",
                columns!(),
                ", deleted_at, deleted_by) SELECT ",
                columns!(),
                ", ?2, ?3 FROM projects WHERE num = ?1"
            ),
            (head.num, deletion.at_ms, by),
        )
        .map_err(backend)?;
    for sql in [
        "DELETE FROM projects WHERE num = ?1",
        "DELETE FROM ready WHERE project = ?1",
        "DELETE FROM retries WHERE project = ?1",
        "DELETE FROM claims WHERE project = ?1",
        "UPDATE counters SET change_seq = change_seq + 1 WHERE project = ?1",
    ] {
        connection.execute(sql, [head.num]).map_err(backend)?;
    }
    let change = Change { revoked, ..Change::of_all_rows(id, change_seq + 1) };
    Ok((true, vec![change]))
}

/// Brings a project back, and puts the cells that waited or ran when it was deleted back to what they were.
pub(crate) fn restore(
    connection: &Connection,
    documents: &Documents,
    team: TeamId,
    id: ProjectId,
    now_ms: i64,
) -> Result<(bool, Vec<Change>)> {
    let num: Option<i64> = connection
        .query_row(
            "SELECT num FROM trashed_projects WHERE id = ?1 AND team = ?2",
            (id.uuid().as_bytes(), team.0.as_bytes()),
            |row| row.get(0),
        )
        .optional()
        .map_err(backend)?;
    let Some(num) = num else { return Ok((false, Vec::new())) };
    for sql in [
        concat!(
            "INSERT INTO projects (",
            columns!(),
            ") SELECT ",
            columns!(),
            " FROM trashed_projects WHERE num = ?1"
        ),
        "DELETE FROM trashed_projects WHERE num = ?1",
    ] {
        connection.execute(sql, [num]).map_err(backend)?;
    }
    let state = project_state::state(connection, id)?.ok_or(StoreError::UnknownProject)?;
    let mut open = OpenProject::open(connection, documents, state)?;
    let mut next = Some(0);
    while let Some(first) = next {
        let blocks = open.load_blocks_from(first)?;
        let positions = blocks
            .iter()
            .flat_map(|block| (0..=u8::MAX).map(|place| position_of(*block, place)))
            .collect::<Vec<_>>();
        open.changes.stop(positions, None, true)?;
        open.flush()?;
        next = blocks.last().map(|last| last + 1);
    }
    let change = open.finish(now_ms)?;
    Ok((true, vec![Change::of_all_rows(id, change.seq)]))
}

pub(crate) fn list(connection: &Connection, team: TeamId, page: ProjectPage) -> Result<Vec<TrashedProject>> {
    let mut query = connection
        .prepare_cached(
            "SELECT id, title, created_at, autoplay, column_count, folder_id, row_count, deleted_at, deleted_by \
             FROM trashed_projects JOIN counters ON project = num WHERE team = ?1 \
             ORDER BY deleted_at DESC, num DESC LIMIT ?2 OFFSET ?3",
        )
        .map_err(backend)?;
    let mut found = query.query((team.0.as_bytes(), page.limit, page.offset)).map_err(backend)?;
    let mut projects = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        projects.push(read(row)?);
    }
    Ok(projects)
}

fn read(row: &Row<'_>) -> Result<TrashedProject> {
    Ok(TrashedProject {
        summary: read_summary(row).map_err(backend)?,
        row_count: row.get(6).map_err(backend)?,
        deletion: Deletion { at_ms: row.get(7).map_err(backend)?, by: read_key(row, 8)? },
    })
}

pub(crate) fn count(connection: &Connection, team: TeamId) -> Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM trashed_projects WHERE team = ?1")
        .and_then(|mut query| query.query_row([team.0.as_bytes()], |row| row.get(0)))
        .map_err(backend)
}

/// Removes a team's projects for good; their rows are purged later.
pub(crate) fn empty(connection: &Connection, team: TeamId) -> Result<u64> {
    let team = team.0.as_bytes();
    connection
        .execute("INSERT INTO graves (project) SELECT num FROM trashed_projects WHERE team = ?1", [team])
        .and_then(|_| connection.execute("DELETE FROM trashed_projects WHERE team = ?1", [team]))
        .map(|count| count as u64)
        .map_err(backend)
}

/// Some projects with columns or views in the trash that were deleted at a time or before.
pub(crate) fn to_sweep(connection: &Connection, until_ms: i64) -> Result<Vec<ProjectId>> {
    connection
        .prepare_cached("SELECT id FROM projects WHERE trash_since <= ?1 ORDER BY trash_since LIMIT ?2")
        .and_then(|mut query| {
            let id = |row: &Row<'_>| uuid_of(row, 0).map(ProjectId::from_uuid);
            query.query_map((until_ms, SWEEP_PROJECTS), id)?.collect()
        })
        .map_err(backend)
}

/// Removes projects for good that were deleted at a time or before. Says whether there were any.
pub(crate) fn sweep(connection: &Connection, until_ms: i64) -> Result<bool> {
    connection
        .execute(
            "INSERT INTO graves (project) SELECT num FROM trashed_projects WHERE deleted_at <= ?1",
            [until_ms],
        )
        .and_then(|_| connection.execute("DELETE FROM trashed_projects WHERE deleted_at <= ?1", [until_ms]))
        .map(|count| count > 0)
        .map_err(backend)
}
