//! [`SqliteStore`]: every operation of the [`Store`] trait, handed to the module that does it.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use rowmill_model::plan::{EndedRun, StartedBy};
use rowmill_model::{KeyId, ProjectId, RowId, Slug, TeamId};
use rowmill_store::changes::Parts;
use rowmill_store::{
    ApiKey, Change, Claim, Claimed, GuestWrite, GuestsWritten, IdempotentRequest, Inserted, Lanes, LastUse,
    Listener, NewRows, PageStart, ProcessingStatus, ProjectPage, ProjectSave, ProjectSummary, Result,
    RowVisitor, Rows, RowsAt, RowsPage, SavedProject, ScanLook, Sealed, SealedKind, SeenProject, Settle,
    Settled, SharedRates, Snapshot, Spans, Stop, Stopped, Store, StoredProject, StoredRow, Team, Ticket,
    Trigger, Triggered, Wanted, WorkerId, WriteCells, WrittenCells,
};
use rusqlite::Connection;

use crate::checkpointer::Checkpointer;
use crate::connection::{WRITER_CACHE_KIB, connect, in_transaction};
use crate::convert::{backend, unusable};
use crate::data_dir::{
    DATABASE_FILE, check_restored, create_private, make_private, restrict_files, take_lock,
};
use crate::documents::{Documents, Found};
use crate::match_index::MatchIndexer;
use crate::page_reads::ProjectSnapshot;
use crate::readers::{ReadKind, Readers};
use crate::upgrade_copy::{BeforeMigration, keep_copy};
use crate::write_queue::Weight;
use crate::writer::Writer;
use crate::{
    carry, documents, ended_runs, guests, import_jobs, lookup_build, page_checksums, page_reads,
    project_state, projects, receipts, rows, runs, schema, sealed, teams, work,
};

/// Checkpoint: where no server runs, the write-ahead log is folded into the file when it has this many pages.
const CHECKPOINT_PAGES: u32 = 4_000;

/// How a process uses a data folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Serves it, as the only process.
    Serve,
    /// Reads or changes something while another process serves it, as commands do.
    Visit,
}

#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) writer: Arc<Writer>,
    pub(crate) readers: Arc<Readers>,
    match_indexer: MatchIndexer,
    documents: Arc<Documents>,
    purge_pending: Arc<AtomicBool>,
    /// Dropped after the writer.
    _checkpointer: Option<Checkpointer>,
    _lock: Option<File>,
}

impl SqliteStore {
    /// Opens the database in a data folder, and creates both if they do not exist.
    pub fn open(data_dir: &Path, access: Access) -> Result<Self> {
        Self::open_with(data_dir, access, BeforeMigration::Copy)
    }

    /// The same, and says what is done with a database of an older version.
    pub fn open_with(data_dir: &Path, access: Access, before: BeforeMigration) -> Result<Self> {
        make_private(data_dir).map_err(|error| unusable(data_dir, &error))?;
        let lock = match access {
            Access::Serve => Some(take_lock(data_dir)?),
            Access::Visit => None,
        };
        check_restored(data_dir)?;
        let file = data_dir.join(DATABASE_FILE);
        create_private(&file).map_err(|error| unusable(&file, &error))?;
        let mut connection = connect(&file, WRITER_CACHE_KIB)?;
        if before == BeforeMigration::Copy {
            keep_copy(&connection, data_dir)?;
        }
        schema::migrate(&mut connection)?;
        if access == Access::Serve && !page_checksums::are_in(&file) {
            tracing::warn!(
                "this database was made by an earlier version and has no checksums; `rowmill move` to a new folder adds them"
            );
        }
        lookup_build::prepare(&connection)?;
        restrict_files(data_dir);
        carry::check_finished(&connection)?;
        let documents = Arc::new(Documents::default());
        if access == Access::Serve {
            dismiss_workers(&connection, &documents)?;
            import_jobs::release_all(&connection)?;
        }
        let checkpointer = match access {
            Access::Serve => Some(Checkpointer::start(&file, &mut connection)?),
            Access::Visit => {
                connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES).map_err(backend)?;
                None
            }
        };
        let log = checkpointer.as_ref().map(Checkpointer::log);
        let purge_pending = Arc::new(AtomicBool::new(access == Access::Serve));
        let readers = Arc::new(Readers::open(file)?);
        let writer = Arc::new(Writer::start(connection, Arc::clone(&purge_pending), log)?);
        Ok(Self {
            match_indexer: MatchIndexer::new(Arc::clone(&writer), Arc::clone(&readers)),
            readers,
            writer,
            documents,
            purge_pending,
            _checkpointer: checkpointer,
            _lock: lock,
        })
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn ping(&self) -> Result<()> {
        self.readers.read(|connection| connection.query_row("SELECT 1", (), |_| Ok(())).map_err(backend))?;
        self.writer.check().await
    }

    async fn close(&self) -> Result<()> {
        self.writer.close();
        Ok(())
    }

    async fn recall(&self, once: IdempotentRequest) -> Result<Option<String>> {
        self.readers.read(|connection| receipts::recall(connection, &once))
    }

    async fn remember(&self, once: IdempotentRequest, outcome: String) -> Result<()> {
        self.writer.write(move |connection| receipts::keep(connection, &once, &outcome)).await
    }

    async fn forget(&self, names: Vec<[u8; 32]>) -> Result<()> {
        self.writer.write(move |connection| receipts::forget(connection, &names)).await
    }

    async fn bootstrap(&self, team: Team, key: ApiKey) -> Result<bool> {
        self.writer.write(move |connection| teams::bootstrap(connection, &team, &key)).await
    }

    async fn create_team(&self, team: Team) -> Result<()> {
        self.writer.write(move |connection| teams::create_team(connection, &team)).await
    }

    async fn teams(&self) -> Result<Vec<Team>> {
        self.readers.read_long(ReadKind::List, teams::teams).await
    }

    async fn team(&self, id: TeamId) -> Result<Option<Team>> {
        self.readers.read(|connection| teams::team(connection, id))
    }

    async fn team_by_slug(&self, slug: &Slug) -> Result<Option<Team>> {
        self.readers.read(|connection| teams::team_by_slug(connection, slug))
    }

    async fn rename_team(&self, id: TeamId, name: String) -> Result<bool> {
        self.writer.write(move |connection| teams::rename_team(connection, id, &name)).await
    }

    async fn create_key(&self, key: ApiKey) -> Result<()> {
        self.writer.write(move |connection| teams::create_key(connection, &key)).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.readers.read_long(ReadKind::List, teams::keys).await
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.readers.read(|connection| teams::key(connection, id))
    }

    async fn revoke_key(&self, id: KeyId) -> Result<bool> {
        self.writer.write(move |connection| teams::revoke_key(connection, id)).await
    }

    async fn touch_key(&self, id: KeyId, last_use: LastUse) -> Result<()> {
        self.writer.write(move |connection| teams::touch_key(connection, id, last_use)).await
    }

    async fn rotate_key(&self, old: KeyId, old_expires_at_ms: i64, new: ApiKey) -> Result<bool> {
        self.writer.write(move |connection| teams::rotate_key(connection, old, old_expires_at_ms, &new)).await
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
            .read_long(ReadKind::List, move |connection| {
                projects::list(connection, team, folder.as_deref(), page)
            })
            .await
    }

    async fn count_projects(&self, team: TeamId, folder: Option<String>) -> Result<u64> {
        self.readers
            .read_long(ReadKind::List, move |connection| projects::count(connection, team, folder.as_deref()))
            .await
    }

    async fn count_team_rows(&self, team: TeamId) -> Result<u64> {
        self.readers.read_long(ReadKind::List, move |connection| projects::count_rows(connection, team)).await
    }

    async fn projects_with_text(&self, text: String) -> Result<Vec<ProjectId>> {
        self.readers.read_long(ReadKind::Scan, move |connection| projects::with_text(connection, &text)).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<StoredProject>> {
        let find = || self.readers.read_one(|connection| documents::find(connection, &self.documents, id));
        if let Found::Whole(project) = find()? {
            return Ok(project);
        }
        let _turn = self.documents.read_turn(id).await;
        self.readers.read_then(
            |connection| documents::read(connection, &self.documents, id),
            |loaded| loaded.map(|loaded| loaded.parse(&self.documents)).transpose(),
        )
    }

    async fn save_project(&self, save: ProjectSave) -> Result<SavedProject> {
        self.change(move |connection, documents| projects::save(connection, documents, save)).await
    }

    async fn delete_project(&self, id: ProjectId, seen: Option<SeenProject>) -> Result<bool> {
        let deleted = self.change(move |connection, _| projects::delete(connection, id, seen)).await?;
        if deleted {
            self.purge_soon().await?;
        }
        Ok(deleted)
    }

    async fn insert_rows(&self, batch: NewRows) -> Result<Inserted> {
        if let Some(slot) = batch.match_on {
            self.match_indexer.index(batch.project, slot).await?;
        }
        let weight = Weight::of_rows(batch.rows.len());
        self.change_by(weight, move |connection, documents| rows::insert(connection, documents, batch)).await
    }

    async fn projects_of_event(&self, team: TeamId, event_id: String) -> Result<Vec<ProjectId>> {
        self.readers.read(|connection| guests::projects_of_event(connection, team, &event_id))
    }

    async fn upsert_guests(&self, guests: Vec<GuestWrite>) -> Result<GuestsWritten> {
        let weight = Weight::of_rows(guests.len());
        let guests = Arc::new(guests);
        self.change_by(weight, move |connection, documents| guests::upsert(connection, documents, &guests))
            .await
    }

    async fn write_cells(&self, batch: WriteCells) -> Result<WrittenCells> {
        let weight = Weight::of_rows(batch.cells.len());
        // A bulk write may be done again. The values are not copied for that.
        let batch = Arc::new(batch);
        self.change_by(weight, move |connection, documents| rows::write_cells(connection, documents, &batch))
            .await
    }

    async fn delete_rows(&self, project: ProjectId, ids: Vec<RowId>) -> Result<u64> {
        let weight = Weight::of_rows(ids.len());
        let delete = move |connection: &Connection, documents: &Documents| {
            rows::delete(connection, documents, project, &ids)
        };
        self.change_by(weight, delete).await
    }

    async fn row(&self, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
        page_reads::one(&self.readers, project, row).await
    }

    async fn rows_within(
        &self,
        project: ProjectId,
        start: PageStart,
        limit: u32,
        wanted: Wanted,
    ) -> Result<RowsPage> {
        page_reads::page(&self.readers, project, (start, limit), wanted).await
    }

    async fn rows_at_within(
        &self,
        project: ProjectId,
        positions: Vec<u64>,
        wanted: Wanted,
    ) -> Result<RowsAt> {
        page_reads::at(&self.readers, project, positions, wanted).await
    }

    async fn snapshot(&self, project: ProjectId) -> Result<Option<Box<dyn Snapshot>>> {
        let held = self.readers.snapshot()?;
        Ok(held.map(|held| -> Box<dyn Snapshot> { Box::new(ProjectSnapshot { held, project }) }))
    }

    async fn positions(&self, project: ProjectId, ids: Vec<RowId>) -> Result<Vec<Option<u64>>> {
        self.readers
            .read_long(ReadKind::Scan, move |connection| rows::positions(connection, project, &ids))
            .await
    }

    async fn scan(&self, project: ProjectId, spans: Spans, look: ScanLook, visit: RowVisitor) -> Result<u64> {
        page_reads::scan(&self.readers, project, (spans, look), visit).await
    }

    async fn start_run(&self, mut trigger: Trigger, by: StartedBy) -> Result<Triggered> {
        let rows = std::mem::replace(&mut trigger.rows, Rows::All);
        let dry_run = trigger.dry_run;
        let limit = trigger.limit.unwrap_or(u64::MAX);
        let trigger = Arc::new((trigger, by));
        let mut parts = Parts::of(rows);
        let mut triggered = Triggered::default();
        while let Some(part) = parts.next_part().filter(|_| triggered.rows < limit) {
            let (asked, left) = (Arc::clone(&trigger), limit - triggered.rows);
            let done = if dry_run {
                let documents = Arc::clone(&self.documents);
                let look = move |connection: &Connection| {
                    runs::trigger(connection, &documents, (&asked.0, &asked.1), part, left)
                        .map(|(done, _)| done)
                };
                self.readers.read_long(ReadKind::Scan, look).await?
            } else {
                let queue = move |connection: &Connection, documents: &Documents| {
                    runs::trigger(connection, documents, (&asked.0, &asked.1), part, left)
                };
                self.change_by(Weight::Bulk, queue).await?
            };
            triggered = triggered.and(done.count);
            parts.resume_at(done.next_block);
        }
        Ok(triggered)
    }

    async fn ended_runs(&self, project: ProjectId, before: u64, limit: u32) -> Result<Vec<EndedRun>> {
        self.readers.read(|connection| {
            let Some(head) = project_state::head(connection, project)? else { return Ok(Vec::new()) };
            ended_runs::read(connection, head.num, before, limit)
        })
    }

    async fn stop(&self, mut stop: Stop) -> Result<Stopped> {
        let rows = std::mem::replace(&mut stop.rows, Rows::All);
        let stop = Arc::new(stop);
        let mut parts = Parts::of(rows);
        let mut stopped = Stopped::default();
        while let Some(part) = parts.next_part() {
            let asked = Arc::clone(&stop);
            let end = move |connection: &Connection, documents: &Documents| {
                runs::stop(connection, documents, &asked, part)
            };
            let done = self.change_by(Weight::Bulk, end).await?;
            stopped.rows += done.count.rows;
            stopped.cells += done.count.cells;
            parts.resume_at(done.next_block);
        }
        Ok(stopped)
    }

    async fn processing_status(&self, project: ProjectId) -> Result<Option<ProcessingStatus>> {
        let Some(_used) = self.project(project).await? else { return Ok(None) };
        self.readers.read(|connection| runs::processing_status(connection, &self.documents, project))
    }

    async fn lanes(&self, now_ms: i64) -> Result<Lanes> {
        self.readers.read(|connection| work::lanes(connection, now_ms))
    }

    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>> {
        self.change(move |connection, documents| work::claim(connection, documents, &claim)).await
    }

    async fn settle_and_claim(&self, settle: Settle) -> Result<Settled> {
        let weight = Weight::of_rows(settle.results.len());
        self.change_by(weight, move |connection, documents| work::settle(connection, documents, settle)).await
    }

    async fn heartbeat(&self, worker: WorkerId, expires_at_ms: i64) -> Result<Vec<Ticket>> {
        self.writer.write(move |connection| work::heartbeat(connection, worker, expires_at_ms)).await
    }

    async fn requeue_lost(&self, now_ms: i64) -> Result<u64> {
        self.change(move |connection, documents| work::requeue_lost(connection, documents, now_ms)).await
    }

    async fn leave(&self, worker: WorkerId) -> Result<u64> {
        self.change(move |connection, documents| work::leave(connection, documents, worker)).await
    }

    fn shared_rates(&self) -> Option<Arc<dyn SharedRates>> {
        None
    }

    fn listen(&self, listener: Listener) {
        self.writer.listen(listener);
    }
}

impl SqliteStore {
    /// Runs work that changes rows.
    async fn change<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &Documents) -> Result<(T, Vec<Change>)> + Clone + Send + 'static,
    ) -> Result<T> {
        self.change_by(Weight::Light, work).await
    }

    /// Has what is left of deleted projects swept up, and disk space given back, when nobody waits for the writer.
    pub(crate) async fn purge_soon(&self) -> Result<()> {
        self.purge_pending.store(true, Ordering::Release);
        // The writer may be waiting for work; any write wakes it to sweep.
        self.writer.write(|_| Ok(())).await
    }

    /// Runs work that changes rows and may take long.
    pub(crate) async fn change_by<T: Send + 'static>(
        &self,
        weight: Weight,
        work: impl FnOnce(&Connection, &Documents) -> Result<(T, Vec<Change>)> + Clone + Send + 'static,
    ) -> Result<T> {
        let documents = Arc::clone(&self.documents);
        self.writer.change(weight, move |connection| work(connection, &documents)).await
    }
}

/// Releases all workers: they ended with their process, and only one process serves a data folder.
fn dismiss_workers(connection: &Connection, documents: &Documents) -> Result<()> {
    in_transaction(connection, |connection| work::dismiss_all(connection, documents)).map(|_| ())
}
