//! Projects: one document each, with what lists need beside it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rowmill_model::integration::connected_event;
use rowmill_model::plan::{Plan, Tally};
use rowmill_model::record::Slot;
use rowmill_model::{Project, ProjectId, TeamId, View};
use rowmill_store::{
    Change, ChangedRows, ProjectPage, ProjectSave, ProjectSummary, Result, SavedProject, Spans, StoreError,
    StoredProject,
};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::convert::{damaged, narrow, signed, unsigned};
use crate::database::{Database, Tx};
use crate::row_changes::OpenProject;
use crate::{leases, receipts};

/// What every read and write needs to know of a project: its line in `counters`.
#[derive(Debug, Clone)]
pub(crate) struct State {
    pub(crate) num: i64,
    pub(crate) id: ProjectId,
    pub(crate) version: u64,
    pub(crate) row_count: u64,
    pub(crate) next_position: u64,
    pub(crate) change_seq: u64,
    pub(crate) lookup_slots: Vec<Slot>,
    pub(crate) tally: Option<String>,
    pub(crate) tallied_at: Option<i64>,
}

impl State {
    pub(crate) fn tally(&self) -> Result<Tally> {
        let tally = self.tally.as_deref().map(serde_json::from_str).transpose();
        tally.map(Option::unwrap_or_default).map_err(damaged)
    }
}

macro_rules! state_columns {
    ($rest:literal) => {
        concat!(
            "SELECT project, id, version, row_count, next_position, change_seq, lookup_slots, tally, \
             tallied_at FROM rowmill.counters ",
            $rest
        )
    };
}

pub(crate) async fn state(tx: &mut Tx, id: ProjectId) -> Result<Option<State>> {
    let found = tx.query(state_columns!("WHERE id = $1"), &[&id.uuid()]).await?;
    found.first().map(read_state).transpose()
}

/// How these projects stand, those that exist.
pub(crate) async fn states(database: &Database, ids: Vec<uuid::Uuid>) -> Result<Vec<State>> {
    let found = database.ask(state_columns!("WHERE id = ANY($1)"), &[&ids]).await?;
    found.iter().map(read_state).collect()
}

pub(crate) async fn existing(tx: &mut Tx, id: ProjectId) -> Result<State> {
    state(tx, id).await?.ok_or(StoreError::UnknownProject)
}

/// What to do about a project that another transaction changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Busy {
    Wait,
    Skip,
}

/// Takes projects for this transaction alone, always in the order of their ids, so that no two wait for
/// each other. What is gone is left out.
pub(crate) async fn lock(tx: &mut Tx, ids: &[ProjectId], busy: Busy) -> Result<Vec<State>> {
    Ok(lock_and_ask(tx, ids, busy, &[]).await?.0)
}

/// Takes projects and asks more in the same round trip. Each question is answered as things are once the
/// projects are taken: a statement sees all that was committed before it begins.
pub(crate) async fn lock_and_ask(
    tx: &mut Tx,
    ids: &[ProjectId],
    busy: Busy,
    more: &[(&'static str, &[&(dyn ToSql + Sync)])],
) -> Result<(Vec<State>, Vec<Vec<Row>>)> {
    let ids: Vec<uuid::Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let sql = match busy {
        Busy::Wait => state_columns!("WHERE id = ANY($1) ORDER BY id FOR UPDATE"),
        Busy::Skip => state_columns!("WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED"),
    };
    let locking: [&(dyn ToSql + Sync); 1] = [&ids];
    let mut questions: Vec<(&'static str, &[&(dyn ToSql + Sync)])> = vec![(sql, &locking)];
    questions.extend(more);
    let mut answers = tx.queries(&questions).await?;
    let rest = answers.split_off(1);
    Ok((answers.iter().flatten().map(read_state).collect::<Result<_>>()?, rest))
}

/// Takes one project that must exist.
pub(crate) async fn lock_one(tx: &mut Tx, id: ProjectId) -> Result<State> {
    lock(tx, &[id], Busy::Wait).await?.pop().ok_or(StoreError::UnknownProject)
}

/// Takes a project that must exist and be at this version.
pub(crate) async fn lock_at(tx: &mut Tx, id: ProjectId, version: u64) -> Result<State> {
    let state = lock_one(tx, id).await?;
    if state.version == version { Ok(state) } else { Err(StoreError::Stale) }
}

fn read_state(row: &Row) -> Result<State> {
    Ok(State {
        num: row.get(0),
        id: ProjectId::from_uuid(row.get(1)),
        version: unsigned(row.get(2)),
        row_count: unsigned(row.get(3)),
        next_position: unsigned(row.get(4)),
        change_seq: unsigned(row.get(5)),
        lookup_slots: row.get::<_, Vec<i64>>(6).into_iter().map(narrow).collect::<Result<_>>()?,
        tally: row.get(7),
        tallied_at: row.get(8),
    })
}

/// Parsed documents by project and version. A version's document never changes once it is committed, and
/// only committed ones are put in, so an entry is never wrong, only unused.
#[derive(Debug, Default)]
pub(crate) struct Documents(Mutex<CachedDocuments>);

#[derive(Debug, Default)]
struct CachedDocuments {
    parsed: HashMap<i64, Parsed>,
    nums: HashMap<ProjectId, i64>,
}

#[derive(Debug, Clone)]
pub(crate) struct Parsed {
    version: u64,
    pub(crate) project: Arc<Project>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) views: Arc<Vec<View>>,
}

impl Documents {
    const LEN_MAX: usize = 1_000;

    pub(crate) fn get(&self, num: i64, version: u64) -> Option<Parsed> {
        let documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        documents.parsed.get(&num).filter(|parsed| parsed.version == version).cloned()
    }

    /// A project's number, if its document is at hand. Numbers never change.
    pub(crate) fn num(&self, id: ProjectId) -> Option<i64> {
        let documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        documents.nums.get(&id).copied()
    }

    fn put(&self, num: i64, parsed: Parsed) {
        let mut documents = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if documents.parsed.len() >= Self::LEN_MAX {
            *documents = CachedDocuments::default();
        }
        documents.nums.insert(parsed.project.id, num);
        documents.parsed.insert(num, parsed);
    }
}

pub(crate) async fn load(tx: &mut Tx, documents: &Documents, id: ProjectId) -> Result<Option<StoredProject>> {
    let Some(state) = state(tx, id).await? else { return Ok(None) };
    let parsed = planned(tx, documents, &state).await?;
    Ok(Some(parsed.stored(&state)))
}

/// A project that stands so, if its document is at hand.
pub(crate) fn at_hand(documents: &Documents, state: &State) -> Option<StoredProject> {
    Some(documents.get(state.num, state.version)?.stored(state))
}

impl Parsed {
    fn stored(self, state: &State) -> StoredProject {
        let Self { version, project, views, plan: _ } = self;
        StoredProject { project, views, version, row_count: state.row_count, change_seq: state.change_seq }
    }
}

/// A project's document and plan. The state must be of this transaction's snapshot, or locked by it and not
/// yet written over: what is read here is put into the cache and must be committed.
pub(crate) async fn planned(tx: &mut Tx, documents: &Documents, state: &State) -> Result<Parsed> {
    if let Some(parsed) = documents.get(state.num, state.version) {
        return Ok(parsed);
    }
    let sql = "SELECT document, views FROM rowmill.projects WHERE project = $1";
    let found = tx.query(sql, &[&state.num]).await?;
    let row = found.first().ok_or_else(|| StoreError::Damaged("a project has no document".to_owned()))?;
    let project: Project = serde_json::from_str(row.get(0)).map_err(damaged)?;
    let parsed = Parsed {
        version: state.version,
        plan: Arc::new(Plan::of(&project)),
        project: Arc::new(project),
        views: Arc::new(serde_json::from_str(row.get(1)).map_err(damaged)?),
    };
    documents.put(state.num, parsed.clone());
    Ok(parsed)
}

/// Saves a project; with it, what a change of its columns changes in its rows.
pub(crate) async fn save(
    tx: &mut Tx,
    documents: &Documents,
    save: &ProjectSave,
) -> Result<(SavedProject, Vec<Change>)> {
    let ProjectSave { project, views, version, subject, fixes, once } = save;
    if let Some(kept) = receipts::begin(tx, once.as_ref()).await? {
        return Ok((kept, Vec::new()));
    }
    let mut changes = Vec::new();
    match version {
        None => create(tx, project, views).await?,
        Some(version) => {
            let state = lock_at(tx, project.id, *version).await?;
            let old = planned(tx, documents, &state).await?.plan;
            let num = state.num;
            tx.at_last(
                "UPDATE rowmill.projects SET views = $2 WHERE project = $1",
                vec![Box::new(num), Box::new(to_text(views)?)],
            );
            let mut open = OpenProject::open_saved(tx, state, project.clone())?;
            if !old.is_like(&open.changes.plan) {
                open.replan(tx).await?;
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

/// Writes a changed document. The version is moved on by whoever holds the state.
pub(crate) fn write_document(tx: &mut Tx, num: i64, project: &Project) -> Result<()> {
    tx.at_last(
        "UPDATE rowmill.projects SET title = $2, autoplay = $3, folder_id = $4, column_count = $5, \
         document = $6, event_id = $7 WHERE project = $1",
        vec![
            Box::new(num),
            Box::new(project.title.clone()),
            Box::new(project.autoplay),
            Box::new(project.folder_id.clone()),
            Box::new(i64::try_from(project.table.columns.len()).unwrap_or(i64::MAX)),
            Box::new(to_text(project)?),
            Box::new(connected_event(&project.metadata).map(str::to_owned)),
        ],
    );
    Ok(())
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
            &to_text(project)?,
            &to_text(views)?,
            &connected_event(&project.metadata),
        ],
    )
    .await
    .map(|_| ())
}

/// The project is gone at once, with the line everybody locks, and whoever runs its cells is told; its rows
/// are left to be swept up.
pub(crate) async fn delete(tx: &mut Tx, id: ProjectId) -> Result<(bool, Vec<Change>)> {
    let Some(state) = lock(tx, &[id], Busy::Wait).await?.pop() else { return Ok((false, Vec::new())) };
    let revoked = leases::tickets_of(tx, state.num).await?;
    for sql in [
        "INSERT INTO rowmill.graves (project) VALUES ($1)",
        "DELETE FROM rowmill.projects WHERE project = $1",
        "DELETE FROM rowmill.counters WHERE project = $1",
    ] {
        tx.at_last(sql, vec![Box::new(state.num)]);
    }
    let seq = state.change_seq + 1;
    let (rows, touched) = (ChangedRows::Many, Spans::all());
    Ok((true, vec![Change { project: id, seq, rows, touched, restated: true, revoked, ready: false }]))
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
    let summary = |row: &Row| ProjectSummary {
        id: ProjectId::from_uuid(row.get(0)),
        title: row.get(1),
        created_at_ms: row.get(2),
        autoplay: row.get(3),
        column_count: u32::try_from(row.get::<_, i64>(4)).unwrap_or(u32::MAX),
        folder_id: row.get(5),
    };
    Ok(found.iter().map(summary).collect())
}

pub(crate) async fn count(tx: &mut Tx, team: TeamId, folder: Option<&str>) -> Result<u64> {
    let sql =
        "SELECT count(*) FROM rowmill.projects WHERE team = $1 AND ($2::text IS NULL OR folder_id = $2)";
    let counted = tx.query(sql, &[&team.0, &folder]).await?;
    Ok(counted.first().map_or(0, |row| unsigned(row.get(0))))
}

fn to_text(document: &(impl serde::Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(document).map_err(damaged)
}
