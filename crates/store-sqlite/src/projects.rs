//! Projects: one document each, with what lists need beside it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rowmill_model::integration::connected_event;
use rowmill_model::plan::Plan;
use rowmill_model::{Project, ProjectId, TeamId, View};
use rowmill_store::{
    Change, ChangedRows, ProjectPage, ProjectSave, ProjectSummary, Result, SavedProject, Spans, StoreError,
    StoredProject,
};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::positions::PROJECT_MAX;
use crate::row_changes::OpenProject;
use crate::{backend, damaged, receipts, uuid_of, work};

/// What every write needs to know of a project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    pub(crate) num: i64,
    pub(crate) version: u64,
}

pub(crate) fn head(connection: &Connection, id: ProjectId) -> Result<Option<Head>> {
    connection
        .prepare_cached("SELECT num, version FROM projects WHERE id = ?1")
        .and_then(|mut query| {
            query
                .query_row([id.uuid().as_bytes()], |row| Ok(Head { num: row.get(0)?, version: row.get(1)? }))
                .optional()
        })
        .map_err(backend)
}

/// What every read needs to know of a project.
#[derive(Debug, Clone, Copy)]
pub(crate) struct State {
    pub(crate) head: Head,
    pub(crate) counters: Counters,
    pub(crate) change_seq: u64,
}

pub(crate) fn state(connection: &Connection, id: ProjectId) -> Result<Option<State>> {
    connection
        .prepare_cached(
            "SELECT num, version, row_count, next_position, change_seq FROM projects JOIN counters ON project = num \
             WHERE id = ?1",
        )
        .and_then(|mut query| {
            query
                .query_row([id.uuid().as_bytes()], |row| {
                    Ok(State {
                        head: Head { num: row.get(0)?, version: row.get(1)? },
                        counters: Counters { row_count: row.get(2)?, next_position: row.get(3)? },
                        change_seq: row.get(4)?,
                    })
                })
                .optional()
        })
        .map_err(backend)
}

/// The state of a project that must exist and be at this version.
pub(crate) fn state_at(connection: &Connection, id: ProjectId, version: u64) -> Result<State> {
    let state = state(connection, id)?.ok_or(StoreError::UnknownProject)?;
    if state.head.version == version { Ok(state) } else { Err(StoreError::Stale) }
}

/// Parsed documents by project and version. A version's document never changes once it is committed,
/// and only committed ones are put in, so an entry is never wrong, only unused.
#[derive(Debug, Default)]
pub(crate) struct Documents(Mutex<HashMap<i64, Parsed>>);

#[derive(Debug, Clone)]
struct Parsed {
    version: u64,
    project: Arc<Project>,
    plan: Arc<Plan>,
    views: Arc<Vec<View>>,
}

impl Documents {
    const LEN_MAX: usize = 1_000;

    fn get(&self, head: Head) -> Option<Parsed> {
        let documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        documents.get(&head.num).filter(|parsed| parsed.version == head.version).cloned()
    }

    fn put(&self, num: i64, parsed: Parsed) {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.len() >= Self::LEN_MAX {
            documents.clear();
        }
        documents.insert(num, parsed);
    }
}

/// Reads a project; only on a reader's connection, where everything seen is committed.
pub(crate) fn load(
    connection: &Connection,
    documents: &Documents,
    id: ProjectId,
) -> Result<Option<StoredProject>> {
    let Some(State { head, counters, change_seq }) = state(connection, id)? else { return Ok(None) };
    let parsed = if let Some(parsed) = documents.get(head) {
        parsed
    } else {
        let parsed = parse(connection, head)?;
        documents.put(head.num, parsed.clone());
        parsed
    };
    let Parsed { version, project, views, .. } = parsed;
    Ok(Some(StoredProject { project, views, version, row_count: counters.row_count, change_seq }))
}

/// A project's document and plan. What a writer sees may be undone, so nothing is put into the cache here.
pub(crate) fn planned(
    connection: &Connection,
    documents: &Documents,
    head: Head,
) -> Result<(Arc<Project>, Arc<Plan>)> {
    let parsed = documents.get(head).map_or_else(|| parse(connection, head), Ok)?;
    Ok((parsed.project, parsed.plan))
}

/// The project with a number, if it has not been deleted.
pub(crate) fn id_of(connection: &Connection, num: i64) -> Result<Option<ProjectId>> {
    connection
        .prepare_cached("SELECT id FROM projects WHERE num = ?1")
        .and_then(|mut query| query.query_row([num], |row| uuid_of(row, 0)).optional())
        .map(|id| id.map(ProjectId::from_uuid))
        .map_err(backend)
}

fn parse(connection: &Connection, head: Head) -> Result<Parsed> {
    let (document, views): (String, String) = connection
        .prepare_cached("SELECT document, views FROM projects WHERE num = ?1")
        .and_then(|mut query| query.query_row([head.num], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(backend)?;
    let project: Project = serde_json::from_str(&document).map_err(damaged)?;
    Ok(Parsed {
        version: head.version,
        plan: Arc::new(Plan::of(&project)),
        project: Arc::new(project),
        views: Arc::new(serde_json::from_str(&views).map_err(damaged)?),
    })
}

/// Saves a project; with it, what a change of its columns changes in its rows.
pub(crate) fn save(
    connection: &Connection,
    documents: &Documents,
    save: ProjectSave,
) -> Result<(SavedProject, Vec<Change>)> {
    let ProjectSave { project, views, version, subject, fixes, once } = save;
    let mut changes = Vec::new();
    let saved = receipts::once(connection, once.as_ref(), || {
        match version {
            None => create(connection, &project, &views)?,
            Some(version) => {
                let state = state_at(connection, project.id, version)?;
                let (_, old) = planned(connection, documents, state.head)?;
                write_views(connection, state.head, &views)?;
                write_document(connection, state.head, &project)?;
                let mut open = OpenProject::open_saved(connection, state, project.clone())?;
                if !old.is_like(&open.changes.plan) {
                    open.replan()?;
                }
                changes.push(open.finish(project.updated_at_ms)?);
            }
        }
        Ok(SavedProject { project, views, subject, fixes })
    })?;
    Ok((saved, changes))
}

/// Writes a changed document and moves the version on.
pub(crate) fn write_document(connection: &Connection, head: Head, project: &Project) -> Result<()> {
    connection
        .execute(
            "UPDATE projects SET title = ?2, autoplay = ?3, folder_id = ?4, column_count = ?5, version = version + 1, \
             document = ?6, event_id = ?7 WHERE num = ?1",
            (
                head.num,
                &project.title,
                project.autoplay,
                &project.folder_id,
                project.table.columns.len(),
                to_text(project)?,
                connected_event(&project.metadata),
            ),
        )
        .map(|_| ())
        .map_err(backend)
}

fn write_views(connection: &Connection, head: Head, views: &[View]) -> Result<()> {
    connection
        .execute("UPDATE projects SET views = ?2 WHERE num = ?1", (head.num, to_text(views)?))
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
                to_text(project)?,
                to_text(views)?,
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

/// The project is gone at once, and whoever runs its cells is told; its rows are left to be swept up.
pub(crate) fn delete(connection: &Connection, id: ProjectId) -> Result<(bool, Vec<Change>)> {
    let Some(State { head, change_seq, .. }) = state(connection, id)? else { return Ok((false, Vec::new())) };
    let revoked = work::tickets_of(connection, head.num, id)?;
    connection.execute("INSERT INTO graves (project) VALUES (?1)", [head.num]).map_err(backend)?;
    connection.execute("DELETE FROM projects WHERE num = ?1", [head.num]).map_err(backend)?;
    let (seq, rows, touched) = (change_seq + 1, ChangedRows::Many, Spans::all());
    Ok((true, vec![Change { project: id, seq, rows, touched, restated: true, revoked, ready: false }]))
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

/// What changes with every row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Counters {
    pub(crate) row_count: u64,
    pub(crate) next_position: u64,
}

/// Writes the counters, and the change sequence as it is from now on.
pub(crate) fn write_counters(connection: &Connection, num: i64, counters: Counters, seq: u64) -> Result<()> {
    connection
        .prepare_cached(
            "UPDATE counters SET row_count = ?2, next_position = ?3, change_seq = ?4 WHERE project = ?1",
        )
        .and_then(|mut update| update.execute((num, counters.row_count, counters.next_position, seq)))
        .map(|_| ())
        .map_err(backend)
}

fn read_summary(row: &Row<'_>) -> rusqlite::Result<ProjectSummary> {
    Ok(ProjectSummary {
        id: ProjectId::from_uuid(uuid_of(row, 0)?),
        title: row.get(1)?,
        created_at_ms: row.get(2)?,
        autoplay: row.get(3)?,
        column_count: row.get(4)?,
        folder_id: row.get(5)?,
    })
}

fn to_text(document: &(impl serde::Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(document).map_err(damaged)
}
