//! The documents of projects, and a cache of those that were parsed.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rowmill_model::documents::{read_project, read_views, write_project};
use rowmill_model::integration::connected_event;
use rowmill_model::plan::Plan;
use rowmill_model::{Project, ProjectId, View};
use rowmill_store::{Result, StoreError, StoredProject};

use crate::convert::damaged;
use crate::project_state::{self, State};
use crate::transaction::Tx;

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
        let documents = self.0.lock();
        documents.parsed.get(&num).filter(|parsed| parsed.version == version).cloned()
    }

    /// A project's number, if its document is cached. Numbers never change.
    pub(crate) fn num(&self, id: ProjectId) -> Option<i64> {
        let documents = self.0.lock();
        documents.nums.get(&id).copied()
    }

    /// A project in this state, if its document is cached.
    pub(crate) fn stored(&self, state: &State) -> Option<StoredProject> {
        Some(self.get(state.num, state.version)?.stored(state))
    }

    fn put(&self, num: i64, parsed: Parsed) {
        let mut documents = self.0.lock();
        if documents.parsed.len() >= Self::LEN_MAX {
            *documents = CachedDocuments::default();
        }
        documents.nums.insert(parsed.project.id, num);
        documents.parsed.insert(num, parsed);
    }
}

pub(crate) async fn load(tx: &mut Tx, documents: &Documents, id: ProjectId) -> Result<Option<StoredProject>> {
    let Some(state) = project_state::state(tx, id).await? else { return Ok(None) };
    let parsed = planned(tx, documents, &state).await?;
    Ok(Some(parsed.stored(&state)))
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
    let project = read_project(row.get(0)).map_err(damaged)?;
    let parsed = Parsed {
        version: state.version,
        plan: Arc::new(Plan::of(&project)),
        project: Arc::new(project),
        views: Arc::new(read_views(row.get(1)).map_err(damaged)?),
    };
    documents.put(state.num, parsed.clone());
    Ok(parsed)
}

/// Writes a changed document. The version is moved on by whoever holds the state.
pub(crate) fn write_document(tx: &mut Tx, num: i64, project: &Project) -> Result<()> {
    tx.at_last(
        "UPDATE rowmill.projects SET title = $2, autoplay = $3, folder_id = $4, column_count = $5, \
         document = $6, event_id = $7, trash_since = $8 WHERE project = $1",
        vec![
            Box::new(num),
            Box::new(project.title.clone()),
            Box::new(project.autoplay),
            Box::new(project.folder_id.clone()),
            Box::new(i64::try_from(project.table.columns.len()).unwrap_or(i64::MAX)),
            Box::new(write_project(project).map_err(damaged)?),
            Box::new(connected_event(&project.metadata).map(str::to_owned)),
            Box::new(project.trash.oldest_ms()),
        ],
    );
    Ok(())
}
