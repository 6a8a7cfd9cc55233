//! Moves everything from or to a data folder (`rowmill move`), while no process serves it.

pub(crate) mod read;
mod write;

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rowmill_model::ProjectId;
use rowmill_store::carry::{CarriedProject, Carry, Derived, Items, Key, PageLimit, Section};
use rowmill_store::{Result, StoreError};
use rusqlite::Connection;

use crate::connection::{READER_CACHE_KIB, connect, in_transaction, run_cached};
use crate::convert::{backend, unusable};
use crate::data_dir::{DATABASE_FILE, check_restored, make_private, restrict_files, take_lock};
use crate::{import_jobs, schema};

/// Writing to indexes needs a large cache; reading everything once does not.
const TARGET_CACHE_KIB: u32 = 64 * 1024;

/// A data directory that is moved from or to.
#[derive(Debug)]
pub struct Carrier {
    connection: Arc<Mutex<Connection>>,
    identity: String,
    place: String,
    _lock: std::fs::File,
}

impl Carrier {
    /// Opens a data directory to read everything that is in it. Nobody can change it meanwhile.
    pub fn source(data_dir: &Path) -> Result<Self> {
        let file = data_dir.join(DATABASE_FILE);
        if !file.is_file() {
            let words =
                format!("{} does not exist: give the data folder of a Rowmill installation", file.display());
            return Err(StoreError::Missing(words));
        }
        let carrier = Self::open(data_dir, READER_CACHE_KIB)?;
        let connection = carrier.connection.lock();
        check_finished(&connection)?;
        check_imports(&connection)?;
        // Held to the end: commands that visit a data directory wait, and cannot write.
        run_cached(&connection, "BEGIN IMMEDIATE").map_err(backend)?;
        drop(connection);
        Ok(carrier)
    }

    /// Opens a data directory to write into, making it if need be.
    pub fn target(data_dir: &Path) -> Result<Self> {
        make_private(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let carrier = Self::open(data_dir, TARGET_CACHE_KIB)?;
        // After a power cut the database is consistent, though the last pages may be missing, and the checkpoint with
        // them. The end is synced in full.
        carrier.connection.lock().pragma_update(None, "synchronous", "normal").map_err(backend)?;
        Ok(carrier)
    }

    fn open(data_dir: &Path, cache_kib: u32) -> Result<Self> {
        let lock = take_lock(data_dir)?;
        check_restored(data_dir)?;
        let mut connection = connect(&data_dir.join(DATABASE_FILE), cache_kib)?;
        schema::migrate(&mut connection)?;
        restrict_files(data_dir);
        let whole = data_dir.canonicalize().map_err(|error| unusable(data_dir, &error))?;
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            identity: format!("sqlite:{}", whole.display()),
            place: data_dir.display().to_string(),
            _lock: lock,
        })
    }

    /// Runs work with the connection, on another thread.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = Arc::clone(&self.connection);
        let working = tokio::task::spawn_blocking(move || work(&connection.lock()));
        working.await.map_err(|failure| StoreError::Backend(failure.into()))?
    }
}

#[async_trait]
impl Carry for Carrier {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn place(&self) -> &str {
        &self.place
    }

    async fn is_empty(&self) -> Result<bool> {
        self.with(read::is_empty).await
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        self.with(read::projects).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<CarriedProject>> {
        self.with(move |connection| read::project(connection, id)).await
    }

    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items> {
        self.with(move |connection| read::page(connection, from, after, page_limit)).await
    }

    async fn derived(&self, id: ProjectId) -> Result<Derived> {
        self.with(move |connection| read::derived(connection, id)).await
    }

    async fn checkpoint(&self) -> Result<Option<String>> {
        self.with(write::checkpoint).await
    }

    async fn begin(&self, checkpoint: String) -> Result<()> {
        self.with(move |connection| {
            in_transaction(connection, |connection| write::begin(connection, &checkpoint))
        })
        .await
    }

    async fn write_project(&self, project: CarriedProject, checkpoint: String) -> Result<()> {
        let work = move |connection: &Connection| {
            write::project(connection, &project)?;
            write::save_checkpoint(connection, &checkpoint)
        };
        self.with(move |connection| in_transaction(connection, work)).await
    }

    async fn write(&self, to: Section, items_page: Items, checkpoint: String) -> Result<()> {
        let work = move |connection: &Connection| {
            write::page(connection, to, &items_page)?;
            write::save_checkpoint(connection, &checkpoint)
        };
        self.with(move |connection| in_transaction(connection, work)).await
    }

    async fn finish(&self) -> Result<()> {
        self.with(write::finish).await
    }
}

/// Refuses a database with imports that are not over: their files stay behind.
fn check_imports(connection: &Connection) -> Result<()> {
    match import_jobs::open_count(connection)? {
        0 => Ok(()),
        count => Err(StoreError::InUse(rowmill_store::open_imports(count))),
    }
}

/// Refuses a database that a move into it has not finished.
pub(crate) fn check_finished(connection: &Connection) -> Result<()> {
    if write::is_target(connection)? { Err(StoreError::Unfinished) } else { Ok(()) }
}
