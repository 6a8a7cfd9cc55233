//! The embedded store: one SQLite file in the data directory.
//!
//! One thread writes and commits many callers' work at once; everyone reads beside it, each in a snapshot
//! of their own. Everything acknowledged is on the disk: the log is synced at every commit.

mod guests;
mod lookups;
mod pages;
mod positions;
mod projects;
mod purge;
mod readers;
mod receipts;
mod rows;
mod schema;
mod sealed;
mod teams;
mod writer;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use rowmill_model::{KeyId, ProjectId, RowId, Slug, TeamId};
use rowmill_store::{
    ApiKey, GuestWrite, GuestsWritten, Inserted, NewRows, Once, PageStart, ProjectPage, ProjectSave,
    ProjectSummary, Result, RowsPage, SavedProject, Sealed, SealedKind, Store, StoreError, StoredProject,
    StoredRow, Team, Visit, WriteCells, WrittenCells,
};
use rusqlite::Connection;
use uuid::Uuid;

use crate::projects::Documents;
use crate::readers::Readers;
use crate::writer::Writer;

/// The database's file in the data directory.
pub const DATABASE_FILE: &str = "rowmill.db";
/// Held by the process that serves the data directory.
const LOCK_FILE: &str = "rowmill.lock";

const WRITER_CACHE_KIB: u32 = 16 * 1024;
const READER_CACHE_KIB: u32 = 4 * 1024;
/// A page of up to this many rows is a short read.
const SHORT_PAGE_ROWS: u32 = 200;
/// The log is folded into the file when it has this many pages.
const CHECKPOINT_PAGES: u32 = 4_000;

/// What a process wants with a data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To serve it, alone.
    Serve,
    /// To look or change something beside the process that serves it, as commands do.
    Visit,
}

#[derive(Debug)]
pub struct SqliteStore {
    writer: Writer,
    readers: Arc<Readers>,
    documents: Documents,
    graves: Arc<AtomicBool>,
    _lock: Option<File>,
}

impl SqliteStore {
    /// Opens the database in a data directory, making both if need be.
    pub fn open(data_dir: &Path, access: Access) -> Result<Self> {
        make_private(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let lock = match access {
            Access::Serve => Some(take_lock(data_dir)?),
            Access::Visit => None,
        };
        let file = data_dir.join(DATABASE_FILE);
        let mut connection = connect(&file, WRITER_CACHE_KIB)?;
        connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(backend)?;
        schema::migrate(&mut connection)?;
        let graves = Arc::new(AtomicBool::new(access == Access::Serve));
        Ok(Self {
            readers: Arc::new(Readers::open(file)?),
            writer: Writer::start(connection, Arc::clone(&graves))?,
            documents: Documents::default(),
            graves,
            _lock: lock,
        })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<()> {
        self.readers.read(|connection| connection.query_row("SELECT 1", (), |_| Ok(())).map_err(backend))
    }

    async fn close(&self) -> Result<()> {
        self.writer.close();
        Ok(())
    }

    async fn recall(&self, once: Once) -> Result<Option<String>> {
        self.readers.read(|connection| receipts::recall(connection, &once))
    }

    async fn bootstrap(&self, team: Team, key: ApiKey) -> Result<bool> {
        self.writer.write(move |connection| teams::bootstrap(connection, &team, &key)).await
    }

    async fn create_team(&self, team: Team) -> Result<()> {
        self.writer.write(move |connection| teams::create_team(connection, &team)).await
    }

    async fn teams(&self) -> Result<Vec<Team>> {
        self.readers.read_long(teams::teams).await
    }

    async fn team(&self, id: TeamId) -> Result<Option<Team>> {
        self.readers.read(|connection| teams::team(connection, id))
    }

    async fn team_by_slug(&self, slug: &Slug) -> Result<Option<Team>> {
        self.readers.read(|connection| teams::team_by_slug(connection, slug))
    }

    async fn create_key(&self, key: ApiKey) -> Result<()> {
        self.writer.write(move |connection| teams::create_key(connection, &key)).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.readers.read_long(teams::keys).await
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.readers.read(|connection| teams::key(connection, id))
    }

    async fn revoke_key(&self, id: KeyId) -> Result<bool> {
        self.writer.write(move |connection| teams::revoke_key(connection, id)).await
    }

    async fn touch_key(&self, id: KeyId, used_at_ms: i64) -> Result<()> {
        self.writer.write(move |connection| teams::touch_key(connection, id, used_at_ms)).await
    }

    async fn put_sealed(&self, team: TeamId, sealed: Sealed, count_max: u32) -> Result<()> {
        self.writer.write(move |connection| sealed::put(connection, team, &sealed, count_max)).await
    }

    async fn sealed(&self, team: TeamId) -> Result<Vec<Sealed>> {
        self.readers.read(|connection| sealed::list(connection, team))
    }

    async fn delete_sealed(&self, team: TeamId, kind: SealedKind, name: String) -> Result<bool> {
        self.writer.write(move |connection| sealed::delete(connection, team, kind, &name)).await
    }

    async fn projects(
        &self,
        team: TeamId,
        folder: Option<String>,
        page: ProjectPage,
    ) -> Result<Vec<ProjectSummary>> {
        self.readers
            .read_long(move |connection| projects::list(connection, team, folder.as_deref(), page))
            .await
    }

    async fn count_projects(&self, team: TeamId, folder: Option<String>) -> Result<u64> {
        self.readers.read_long(move |connection| projects::count(connection, team, folder.as_deref())).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<StoredProject>> {
        self.readers.read(|connection| projects::load(connection, &self.documents, id))
    }

    async fn save_project(&self, save: ProjectSave) -> Result<SavedProject> {
        self.writer.write(move |connection| projects::save(connection, save)).await
    }

    async fn delete_project(&self, id: ProjectId) -> Result<bool> {
        let deleted = self.writer.write(move |connection| projects::delete(connection, id)).await?;
        self.graves.store(true, Ordering::Release);
        // The writer may be waiting for work; any write wakes it to sweep.
        if deleted {
            self.writer.write(|_| Ok(())).await?;
        }
        Ok(deleted)
    }

    async fn insert_rows(&self, batch: NewRows) -> Result<Inserted> {
        self.writer.write(move |connection| rows::insert(connection, batch)).await
    }

    async fn projects_of_event(&self, team: TeamId, event_id: String) -> Result<Vec<StoredProject>> {
        self.readers
            .read(|connection| guests::projects_of_event(connection, &self.documents, team, &event_id))
    }

    async fn upsert_guests(&self, guests: Vec<GuestWrite>) -> Result<GuestsWritten> {
        self.writer.write(move |connection| guests::upsert(connection, &guests)).await
    }

    async fn write_cells(&self, batch: WriteCells) -> Result<WrittenCells> {
        self.writer.write(move |connection| rows::write_cells(connection, batch)).await
    }

    async fn delete_rows(&self, project: ProjectId, ids: Vec<RowId>) -> Result<u64> {
        self.writer.write(move |connection| rows::delete(connection, project, &ids)).await
    }

    async fn row(&self, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
        self.readers.read(|connection| pages::one(connection, project, row))
    }

    async fn rows(&self, project: ProjectId, start: PageStart, limit: u32) -> Result<RowsPage> {
        let page = move |connection: &Connection| pages::page(connection, project, start, limit);
        if limit <= SHORT_PAGE_ROWS { self.readers.read(page) } else { self.readers.read_long(page).await }
    }

    async fn rows_at(&self, project: ProjectId, positions: Vec<u64>) -> Result<Vec<StoredRow>> {
        self.readers.read_long(move |connection| pages::at(connection, project, &positions)).await
    }

    async fn scan(&self, project: ProjectId, after: Option<u64>, visit: Visit) -> Result<()> {
        self.readers.read_long(move |connection| pages::scan(connection, project, after, visit)).await
    }
}

fn connect(file: &Path, cache_kib: u32) -> Result<Connection> {
    let connection = Connection::open(file).map_err(|error| unusable(file, &error))?;
    schema::configure(&connection, cache_kib)?;
    Ok(connection)
}

fn read_only(file: &Path) -> Result<Connection> {
    let connection = connect(file, READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", "on").map_err(backend)?;
    Ok(connection)
}

/// Runs a statement without parameters that is parsed once a connection: for the likes of `BEGIN`, parsing
/// would cost more than running.
fn run_cached(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(()).map(|_| ())
}

/// Makes the folder, for its owner alone: it holds what teams keep, and secrets.
fn make_private(data_dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(data_dir)
}

/// Of all processes that would serve a data directory, one gets the lock. The system frees it when that
/// process ends, however it ends.
fn take_lock(data_dir: &Path) -> Result<File> {
    let path = data_dir.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| unusable(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse(format!(
            "the data directory {} is in use by another rowmill: stop that one, or choose another --data-dir",
            data_dir.display()
        ))),
        Err(std::fs::TryLockError::Error(error)) => Err(unusable(&path, &error)),
    }
}

fn unusable(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Backend(format!("{} cannot be used: {error}", path.display()).into())
}

fn backend(error: rusqlite::Error) -> StoreError {
    StoreError::Backend(error.into())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}

fn uuid_of(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<Uuid> {
    row.get(index).map(Uuid::from_bytes)
}
