//! Projects: saving, deleting and listing them.

use rowmill_model::documents::{write_project, write_views};
use rowmill_model::integration::connected_event;
use rowmill_model::{Project, ProjectId, TeamId, View};
use rowmill_store::changes::{came_back, refreshed};
use rowmill_store::{
    Change, ProjectPage, ProjectSave, ProjectSummary, Result, SavedProject, SeenProject, StoreError,
};
use tokio_postgres::Row;

use crate::convert::{damaged, signed, unsigned};
use crate::documents::{self, Documents};
use crate::project_state::{self, Busy};
use crate::row_changes::OpenProject;
use crate::transaction::Tx;
use crate::{leases, receipts};

/// Saves a project, and updates its rows if its columns changed.
pub(crate) async fn save(
    tx: &mut Tx,
    cache: &Documents,
    save: &ProjectSave,
) -> Result<(SavedProject, Vec<Change>)> {
    let ProjectSave { project, views, version, row_count, subject, fixes, once } = save;
    if let Some(kept) = receipts::begin(tx, once.as_ref()).await? {
        return Ok((kept, Vec::new()));
    }
    let mut changes = Vec::new();
    match version {
        None => create(tx, project, views).await?,
        Some(version) => {
            let state = project_state::lock_at(tx, project.id, *version).await?;
            if row_count.is_some_and(|count| count != state.row_count) {
                return Err(StoreError::Stale);
            }
            let old = documents::planned(tx, cache, &state).await?;
            let came_back = came_back(&old.project, project);
            let num = state.num;
            tx.at_last(
                "UPDATE rowmill.projects SET views = $2 WHERE project = $1",
                vec![Box::new(num), Box::new(write_views(views).map_err(damaged)?)],
            );
            let mut open = OpenProject::open_saved(tx, state, project.clone())?;
            if let Some(change) = open.changes.plan.change_since(&old.plan) {
                let refreshed =
                    if came_back.is_empty() { Vec::new() } else { refreshed(&came_back, &change) };
                open.replan(tx, &change, &refreshed).await?;
            }
            changes.push(open.finish(tx, project.updated_at_ms)?);
        }
    }
    let saved = SavedProject {
        project: project.clone(),
        views: views.clone(),
        subject: subject.clone(),
        fixes: fixes.clone(),
    };
    receipts::end(tx, once.as_ref(), &saved)?;
    Ok((saved, changes))
}

async fn create(tx: &mut Tx, project: &Project, views: &[View]) -> Result<()> {
    tx.query(
        "WITH made AS (INSERT INTO rowmill.projects (id, team, title, autoplay, folder_id, column_count, \
         created_at, document, views, event_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         RETURNING project, id) \
         INSERT INTO rowmill.counters (project, id, version, row_count, next_position, change_seq, lookup_slots) \
         SELECT project, id, 1, 0, 0, 0, '{}' FROM made",
        &[
            &project.id.uuid(),
            &project.team.0,
            &project.title,
            &project.autoplay,
            &project.folder_id,
            &i64::try_from(project.table.columns.len()).unwrap_or(i64::MAX),
            &project.created_at_ms,
            &write_project(project).map_err(damaged)?,
            &write_views(views).map_err(damaged)?,
            &connected_event(&project.metadata),
        ],
    )
    .await
    .map(|_| ())
}

/// Deletes a project at once, together with the row that writers lock, and revokes its running cells. Its rows are
/// purged later.
pub(crate) async fn delete(
    tx: &mut Tx,
    id: ProjectId,
    seen: Option<SeenProject>,
) -> Result<(bool, Vec<Change>)> {
    let Some(state) = project_state::lock(tx, &[id], Busy::Wait).await?.pop() else {
        return Ok((false, Vec::new()));
    };
    if let Some(seen) = seen {
        seen.check(SeenProject { version: state.version, row_count: state.row_count })?;
    }
    let revoked = leases::tickets_of(tx, state.num).await?;
    for sql in [
        "INSERT INTO rowmill.graves (project) VALUES ($1)",
        "DELETE FROM rowmill.projects WHERE project = $1",
        "DELETE FROM rowmill.counters WHERE project = $1",
    ] {
        tx.at_last(sql, vec![Box::new(state.num)]);
    }
    Ok((true, vec![Change { revoked, ..Change::of_all_rows(id, state.change_seq + 1) }]))
}

pub(crate) async fn list(
    tx: &mut Tx,
    team: TeamId,
    folder: Option<&str>,
    page: ProjectPage,
) -> Result<Vec<ProjectSummary>> {
    let found = tx
        .query(
            "SELECT id, title, created_at, autoplay, column_count, folder_id FROM rowmill.projects \
             WHERE team = $1 AND ($2::text IS NULL OR folder_id = $2) \
             ORDER BY created_at DESC, project DESC LIMIT $3 OFFSET $4",
            &[&team.0, &folder, &i64::from(page.limit), &signed(page.offset)],
        )
        .await?;
    Ok(found.iter().map(read_summary).collect())
}

/// Reads id, title, creation, autoplay, number of columns and folder.
pub(crate) fn read_summary(row: &Row) -> ProjectSummary {
    ProjectSummary {
        id: ProjectId::from_uuid(row.get(0)),
        title: row.get(1),
        created_at_ms: row.get(2),
        autoplay: row.get(3),
        column_count: u32::try_from(row.get::<_, i64>(4)).unwrap_or(u32::MAX),
        folder_id: row.get(5),
    }
}

pub(crate) async fn count(tx: &mut Tx, team: TeamId, folder: Option<&str>) -> Result<u64> {
    let sql =
        "SELECT count(*) FROM rowmill.projects WHERE team = $1 AND ($2::text IS NULL OR folder_id = $2)";
    let counted = tx.query(sql, &[&team.0, &folder]).await?;
    Ok(counted.first().map_or(0, |row| unsigned(row.get(0))))
}

/// The projects whose document has this text.
pub(crate) async fn with_text(tx: &mut Tx, text: &str) -> Result<Vec<ProjectId>> {
    let sql = "SELECT id FROM rowmill.projects WHERE position($1 IN document) > 0 ORDER BY project";
    let found = tx.query(sql, &[&text]).await?;
    Ok(found.iter().map(|row| ProjectId::from_uuid(row.get(0))).collect())
}

/// The rows of all of a team's projects, with those in the trash.
pub(crate) async fn count_rows(tx: &mut Tx, team: TeamId) -> Result<u64> {
    let sql = "SELECT coalesce(sum(row_count + trashed_count), 0)::int8 FROM \
               (SELECT row_count, trashed_count FROM rowmill.projects JOIN rowmill.counters USING (project) \
               WHERE team = $1 UNION ALL \
               SELECT row_count, trashed_count FROM rowmill.trashed_projects WHERE team = $1) counted";
    let counted = tx.query(sql, &[&team.0]).await?;
    Ok(counted.first().map_or(0, |row| unsigned(row.get(0))))
}
