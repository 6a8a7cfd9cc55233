//! The documents of projects.

use std::sync::Arc;

use rowmill_model::documents::write_project;
use rowmill_model::integration::connected_event;
use rowmill_model::plan::Plan;
use rowmill_model::{Project, ProjectId};
use rowmill_store::{DocumentCache, ParsedDocument, Result, StoredProject};
use rusqlite::Connection;

use crate::convert::{backend, damaged};
use crate::project_state::{self, Head, State};

pub(crate) type Documents = DocumentCache;

fn stored(parsed: ParsedDocument, State { counters, change_seq, .. }: State) -> StoredProject {
    parsed.stored(counters.row_count, change_seq)
}

/// A project as far as one statement tells of it.
#[derive(Debug)]
pub(crate) enum Found {
    /// None if there is no such project.
    Whole(Option<StoredProject>),
    /// Its document is not in the cache.
    Unparsed,
}

/// Finds a project whose document is in the cache, by one statement.
pub(crate) fn find(connection: &Connection, documents: &Documents, id: ProjectId) -> Result<Found> {
    let Some(state) = project_state::state(connection, id)? else { return Ok(Found::Whole(None)) };
    let parsed = documents.get(state.head.num, state.head.version);
    Ok(parsed.map_or(Found::Unparsed, |parsed| Found::Whole(Some(stored(parsed, state)))))
}

/// A project as it was read, perhaps not parsed yet.
#[derive(Debug)]
pub(crate) struct Loaded {
    state: State,
    document: Document,
}

#[derive(Debug)]
enum Document {
    Parsed(ParsedDocument),
    Text { document: String, views: String },
}

/// Reads a project; only on a reader's connection, where everything seen is committed.
pub(crate) fn load(
    connection: &Connection,
    documents: &Documents,
    id: ProjectId,
) -> Result<Option<StoredProject>> {
    read(connection, documents, id)?.map(|loaded| loaded.parse(documents)).transpose()
}

/// The part of [`load`] that needs the disk.
pub(crate) fn read(connection: &Connection, documents: &Documents, id: ProjectId) -> Result<Option<Loaded>> {
    let Some(state) = project_state::state(connection, id)? else { return Ok(None) };
    let document = if let Some(parsed) = documents.get(state.head.num, state.head.version) {
        Document::Parsed(parsed)
    } else {
        let (document, views) = texts(connection, state.head)?;
        Document::Text { document, views }
    };
    Ok(Some(Loaded { state, document }))
}

impl Loaded {
    /// The part of [`load`] that needs only the processor.
    pub(crate) fn parse(self, documents: &Documents) -> Result<StoredProject> {
        let Self { state, document } = self;
        let parsed = match document {
            Document::Parsed(parsed) => parsed,
            Document::Text { document, views } => {
                let parsed = ParsedDocument::parse(state.head.version, &document, &views)?;
                documents.put(state.head.num, parsed.clone());
                parsed
            }
        };
        Ok(stored(parsed, state))
    }
}

/// A project's document and plan. What a writer sees may be undone, so nothing is put into the cache here.
pub(crate) fn planned(
    connection: &Connection,
    documents: &Documents,
    head: Head,
) -> Result<(Arc<Project>, Arc<Plan>)> {
    let parsed = documents.get(head.num, head.version).map_or_else(|| parse(connection, head), Ok)?;
    Ok((parsed.project, parsed.plan))
}

fn texts(connection: &Connection, head: Head) -> Result<(String, String)> {
    connection
        .prepare_cached("SELECT document, views FROM projects WHERE num = ?1")
        .and_then(|mut query| query.query_row([head.num], |row| Ok((row.get(0)?, row.get(1)?))))
        .map_err(backend)
}

fn parse(connection: &Connection, head: Head) -> Result<ParsedDocument> {
    let (document, views) = texts(connection, head)?;
    ParsedDocument::parse(head.version, &document, &views)
}

/// Writes a changed document and moves the version on.
pub(crate) fn write_document(connection: &Connection, head: Head, project: &Project) -> Result<()> {
    connection
        .execute(
            "UPDATE projects SET title = ?2, autoplay = ?3, folder_id = ?4, column_count = ?5, version = version + 1, \
             document = ?6, event_id = ?7, trash_since = ?8 WHERE num = ?1",
            (
                head.num,
                &project.title,
                project.autoplay,
                &project.folder_id,
                project.table.columns.len(),
                write_project(project).map_err(damaged)?,
                connected_event(&project.metadata),
                project.trash.oldest_ms(),
            ),
        )
        .map(|_| ())
        .map_err(backend)
}
