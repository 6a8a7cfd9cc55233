//! Projects: saving, deleting and listing them.

use rowmill_model::documents::{write_project, write_views};
use rowmill_model::integration::connected_event;
use rowmill_model::{Project, ProjectId, TeamId, View};
use rowmill_store::changes::{came_back, refreshed};
use rowmill_store::{
    Change, ProjectPage, ProjectSave, ProjectSummary, Result, SavedProject, SeenProject, StoreError,
};
use rusqlite::{Connection, Row};

use crate::convert::{backend, damaged, uuid_of};
use crate::documents::{self, Documents};
use crate::positions::PROJECT_MAX;
use crate::project_state::{self, Head, State};
use crate::row_changes::OpenProject;
use crate::{receipts, work};

/// Saves a project, and updates its rows if its columns changed.
pub(crate) fn save(
    connection: &Connection,
    cache: &Documents,
    save: ProjectSave,
) -> Result<(SavedProject, Vec<Change>)> {
    let ProjectSave { project, views, version, row_count, subject, fixes, once } = save;
    let mut changes = Vec::new();
    let saved = receipts::once(connection, once.as_ref(), || {
        match version {
            None => create(connection, &project, &views)?,
            Some(version) => {
                let state = project_state::state_at(connection, project.id, version)?;
                if row_count.is_some_and(|count| count != state.counters.row_count) {
                    return Err(StoreError::Stale);
                }
                let (old_project, old) = documents::planned(connection, cache, state.head)?;
                let came_back = came_back(&old_project, &project);
                save_views(connection, state.head, &views)?;
                documents::write_document(connection, state.head, &project)?;
                let mut open = OpenProject::open_saved(connection, state, project.clone())?;
                if let Some(change) = open.changes.plan.change_since(&old) {
                    let refreshed =
                        if came_back.is_empty() { Vec::new() } else { refreshed(&came_back, &change) };
                    open.replan(&change, &refreshed)?;
                }
                changes.push(open.finish(project.updated_at_ms)?);
            }
        }
        Ok(SavedProject { project, views, subject, fixes })
    })?;
    Ok((saved, changes))
}

fn save_views(connection: &Connection, head: Head, views: &[View]) -> Result<()> {
    connection
        .execute(
            "UPDATE projects SET views = ?2 WHERE num = ?1",
            (head.num, write_views(views).map_err(damaged)?),
        )
        .map(|_| ())
        .map_err(backend)
}

fn create(connection: &Connection, project: &Project, views: &[View]) -> Result<()> {
    connection
        .execute(
            "INSERT INTO projects (id, team, title, autoplay, folder_id, column_count, created_at, version, document, \
             views, event_id) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 1, ?8, ?9, ?10)",
            (
                project.id.uuid().as_bytes(),
                project.team.0.as_bytes(),
                &project.title,
                project.autoplay,
                &project.folder_id,
                project.table.columns.len(),
                project.created_at_ms,
                write_project(project).map_err(damaged)?,
                write_views(views).map_err(damaged)?,
                connected_event(&project.metadata),
            ),
        )
        .map_err(backend)?;
    let num = connection.last_insert_rowid();
    if num > PROJECT_MAX {
        return Err(StoreError::Backend(
            format!("this database has reached the limit of {PROJECT_MAX} projects over its lifetime").into(),
        ));
    }
    connection
        .execute(
            "INSERT INTO counters (project, row_count, next_position, change_seq) VALUES (?1, 0, 0, 0)",
            [num],
        )
        .map(|_| ())
        .map_err(backend)
}

/// Deletes a project at once and revokes its running cells. Its rows are purged later.
pub(crate) fn delete(
    connection: &Connection,
    id: ProjectId,
    seen: Option<SeenProject>,
) -> Result<(bool, Vec<Change>)> {
    let Some(State { head, counters, change_seq }) = project_state::state(connection, id)? else {
        return Ok((false, Vec::new()));
    };
    if let Some(seen) = seen {
        seen.check(SeenProject { version: head.version, row_count: counters.row_count })?;
    }
    let revoked = work::tickets_of(connection, head.num, id)?;
    connection.execute("INSERT INTO graves (project) VALUES (?1)", [head.num]).map_err(backend)?;
    connection.execute("DELETE FROM projects WHERE num = ?1", [head.num]).map_err(backend)?;
    Ok((true, vec![Change { revoked, ..Change::of_all_rows(id, change_seq + 1) }]))
}

pub(crate) fn list(
    connection: &Connection,
    team: TeamId,
    folder: Option<&str>,
    page: ProjectPage,
) -> Result<Vec<ProjectSummary>> {
    let mut query = connection
        .prepare_cached(
            "SELECT id, title, created_at, autoplay, column_count, folder_id FROM projects \
             WHERE team = ?1 AND (?2 IS NULL OR folder_id = ?2) ORDER BY created_at DESC, num DESC LIMIT ?3 OFFSET ?4",
        )
        .map_err(backend)?;
    let projects = query
        .query_map((team.0.as_bytes(), folder, page.limit, page.offset), read_summary)
        .map_err(backend)?;
    projects.collect::<rusqlite::Result<_>>().map_err(backend)
}

pub(crate) fn count(connection: &Connection, team: TeamId, folder: Option<&str>) -> Result<u64> {
    connection
        .prepare_cached("SELECT count(*) FROM projects WHERE team = ?1 AND (?2 IS NULL OR folder_id = ?2)")
        .and_then(|mut query| query.query_row((team.0.as_bytes(), folder), |row| row.get(0)))
        .map_err(backend)
}

/// The rows of all of a team's projects, with those in the trash.
pub(crate) fn count_rows(connection: &Connection, team: TeamId) -> Result<u64> {
    connection
        .prepare_cached(
            "SELECT coalesce(sum(row_count + trashed_count), 0) FROM counters JOIN \
             (SELECT num FROM projects WHERE team = ?1 UNION ALL \
             SELECT num FROM trashed_projects WHERE team = ?1) ON project = num",
        )
        .and_then(|mut query| query.query_row([team.0.as_bytes()], |row| row.get(0)))
        .map_err(backend)
}

/// The projects whose document has this text.
pub(crate) fn with_text(connection: &Connection, text: &str) -> Result<Vec<ProjectId>> {
    connection
        .prepare("SELECT id FROM projects WHERE instr(document, ?1) > 0 ORDER BY num")
        .and_then(|mut query| {
            let ids = query.query_map([text], |row| Ok(ProjectId::from_uuid(uuid_of(row, 0)?)))?;
            ids.collect()
        })
        .map_err(backend)
}

pub(crate) fn read_summary(row: &Row<'_>) -> rusqlite::Result<ProjectSummary> {
    Ok(ProjectSummary {
        id: ProjectId::from_uuid(uuid_of(row, 0)?),
        title: row.get(1)?,
        created_at_ms: row.get(2)?,
        autoplay: row.get(3)?,
        column_count: row.get(4)?,
        folder_id: row.get(5)?,
    })
}
