//! The documents of projects.

use rowmill_model::documents::write_project;
use rowmill_model::integration::connected_event;
use rowmill_model::{Project, ProjectId};
use rowmill_store::{DocumentCache, ParsedDocument, Result, StoreError, StoredProject};

use crate::convert::damaged;
use crate::project_state::{self, State};
use crate::transaction::Tx;

pub(crate) type Documents = DocumentCache;

/// A project in this state, if its document is cached.
pub(crate) fn cached(documents: &Documents, state: &State) -> Option<StoredProject> {
    Some(documents.get(state.num, state.version)?.stored(state.row_count, state.change_seq))
}

pub(crate) async fn load(tx: &mut Tx, documents: &Documents, id: ProjectId) -> Result<Option<StoredProject>> {
    let Some(state) = project_state::state(tx, id).await? else { return Ok(None) };
    let parsed = planned(tx, documents, &state).await?;
    Ok(Some(parsed.stored(state.row_count, state.change_seq)))
}

/// A project's document and plan. The state must be of this transaction's snapshot, or locked by it and not
/// yet written over: what is read here is put into the cache and must be committed.
pub(crate) async fn planned(tx: &mut Tx, documents: &Documents, state: &State) -> Result<ParsedDocument> {
    if let Some(parsed) = documents.get(state.num, state.version) {
        return Ok(parsed);
    }
    let _turn = documents.parse_turn().await;
    if let Some(parsed) = documents.get(state.num, state.version) {
        return Ok(parsed);
    }
    let sql = "SELECT document, views FROM rowmill.projects WHERE project = $1";
    let found = tx.query(sql, &[&state.num]).await?;
    let row = found.first().ok_or_else(|| StoreError::Damaged("a project has no document".to_owned()))?;
    let parsed = ParsedDocument::parse(state.version, row.get(0), row.get(1))?;
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
