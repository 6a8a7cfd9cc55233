//! The [`Store`] trait: what a backend does.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use rowmill_model::plan::{EndedRun, StartedBy};
use rowmill_model::{KeyId, ProjectId, RowId, Slug, TeamId};

use crate::batches::BatchStore;
use crate::error::Result;
use crate::import_jobs::ImportStore;
use crate::kept_answers::AnswerStore;
use crate::observe::ObserveStore;
use crate::processing_status::ProcessingStatus;
use crate::received::ReceivedStore;
use crate::sessions::SessionStore;
use crate::shared_rates::SharedRates;
use crate::spans::Spans;
use crate::spending::SpendingStore;
use crate::trash::TrashStore;
use crate::types::{
    ApiKey, GuestWrite, GuestsWritten, IdempotentRequest, Inserted, LastUse, NewRows, PageStart, ProjectPage,
    ProjectSave, ProjectSummary, RowRef, RowsAt, RowsPage, SavedProject, ScanLook, Sealed, SealedKind,
    SeenProject, StoredProject, StoredRow, Team, Wanted, WriteCells, WrittenCells,
};
use crate::value_bytes::ValueBytesStore;
use crate::warm_up::WarmUpStore;
use crate::webhooks::WebhookStore;
use crate::work::{
    Claim, Claimed, Lanes, Listener, Settle, Settled, Settlement, Stop, Stopped, Ticket, Trigger, Triggered,
    WorkerId,
};

/// Called with each row of a scan, in order of creation; may stop it. A scan whose caller has gone away goes
/// on until this says so.
pub type RowVisitor = Box<dyn FnMut(RowRef<'_>) -> ControlFlow<()> + Send>;

/// Rows of one project as they were at one moment, read in parts.
#[async_trait]
pub trait Snapshot: std::fmt::Debug + Send {
    /// As [`Store::rows_within`].
    async fn rows_within(&mut self, start: PageStart, limit: u32, wanted: Wanted) -> Result<RowsPage>;

    /// As [`Store::rows_at_within`].
    async fn rows_at_within(&mut self, positions: Vec<u64>, wanted: Wanted) -> Result<RowsAt>;
}

#[async_trait]
pub trait Store:
    AnswerStore
    + BatchStore
    + ImportStore
    + ObserveStore
    + ReceivedStore
    + SessionStore
    + SpendingStore
    + TrashStore
    + ValueBytesStore
    + WarmUpStore
    + WebhookStore
    + std::fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// Whether the database answers, and its disk takes writes as far as is known.
    async fn ping(&self) -> Result<()>;

    /// Finishes what was accepted and closes the database.
    async fn close(&self) -> Result<()>;

    /// The outcome kept for a request, as JSON of what the method returned then. A request under the same
    /// name that was not this one is [`StoreError::OnceConflict`](crate::error::StoreError::OnceConflict).
    async fn recall(&self, once: IdempotentRequest) -> Result<Option<String>>;

    /// Keeps the outcome of a request that takes more than one transaction, once all are done.
    async fn remember(&self, once: IdempotentRequest, outcome: String) -> Result<()>;

    /// Forgets the outcomes kept under these names before their time is over.
    async fn forget(&self, names: Vec<[u8; 32]>) -> Result<()>;

    /// Makes the first team and its key, if there is no team yet. Says whether it did.
    async fn bootstrap(&self, team: Team, key: ApiKey) -> Result<bool>;

    async fn create_team(&self, team: Team) -> Result<()>;

    /// All teams, oldest first.
    async fn teams(&self) -> Result<Vec<Team>>;

    async fn team(&self, id: TeamId) -> Result<Option<Team>>;

    async fn team_by_slug(&self, slug: &Slug) -> Result<Option<Team>>;

    /// Changes a team's name for people. Says whether there was such a team.
    async fn rename_team(&self, id: TeamId, name: String) -> Result<bool>;

    async fn create_key(&self, key: ApiKey) -> Result<()>;

    /// All keys that are not revoked, oldest first.
    async fn keys(&self) -> Result<Vec<ApiKey>>;

    /// A key that is not revoked.
    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>>;

    /// Says whether there was such a key.
    async fn revoke_key(&self, id: KeyId) -> Result<bool>;

    /// Notes when and from where a key was last used.
    async fn touch_key(&self, id: KeyId, last_use: LastUse) -> Result<()>;

    /// Creates a key in place of another, which expires then, unless it expires earlier. Says whether there was such a
    /// key; if not, nothing is written.
    async fn rotate_key(&self, old: KeyId, old_expires_at_ms: i64, new: ApiKey) -> Result<bool>;

    /// Keeps what a team has sealed, over what was kept under that name. One more than `count_max` of its
    /// kind is [`StoreError::Full`](crate::error::StoreError::Full).
    async fn put_sealed(&self, team: TeamId, sealed: Sealed, count_max: u32) -> Result<()>;

    /// All that a team has sealed, by kind and name.
    async fn sealed(&self, team: TeamId) -> Result<Vec<Sealed>>;

    /// Says whether there was such a thing.
    async fn delete_sealed(&self, team: TeamId, kind: SealedKind, name: String) -> Result<bool>;

    /// A team's projects, newest first.
    async fn projects(
        &self,
        team: TeamId,
        folder: Option<String>,
        page: ProjectPage,
    ) -> Result<Vec<ProjectSummary>>;

    async fn count_projects(&self, team: TeamId, folder: Option<String>) -> Result<u64>;

    /// How many rows all of a team's projects have, by their counters, with those in the trash.
    async fn count_team_rows(&self, team: TeamId) -> Result<u64>;

    /// The projects of all teams whose document has this text. It goes over all of them: only for the start of a server.
    async fn projects_with_text(&self, text: String) -> Result<Vec<ProjectId>>;

    async fn project(&self, id: ProjectId) -> Result<Option<StoredProject>>;

    /// Creates a project, or writes a changed one over the version it was made from.
    async fn save_project(&self, save: ProjectSave) -> Result<SavedProject>;

    /// Says whether there was such a project. Its rows are gone for every reader at once. One that is not as it was
    /// seen is [`StoreError::Stale`](crate::error::StoreError::Stale) and stays.
    async fn delete_project(&self, id: ProjectId, seen: Option<SeenProject>) -> Result<bool>;

    /// Inserts rows, or with a match column updates those that match. All or nothing.
    async fn insert_rows(&self, rows: NewRows) -> Result<Inserted>;

    /// A team's projects that follow an event and take webhooks for it, oldest first. Only their ids: together their documents
    /// may be large.
    async fn projects_of_event(&self, team: TeamId, event_id: String) -> Result<Vec<ProjectId>>;

    /// Makes or updates one row a guest and project, however many callers do so at once. An event older
    /// than the one last taken changes nothing. All of one delivery is written, or none.
    async fn upsert_guests(&self, guests: Vec<GuestWrite>) -> Result<GuestsWritten>;

    /// Writes cells. All or nothing; an unknown row is [`StoreError::UnknownRows`](crate::error::StoreError::UnknownRows).
    async fn write_cells(&self, cells: WriteCells) -> Result<WrittenCells>;

    /// Deletes rows; ids that name nothing are not counted.
    async fn delete_rows(&self, project: ProjectId, rows: Vec<RowId>) -> Result<u64>;

    async fn row(&self, project: ProjectId, row: RowId) -> Result<Option<StoredRow>>;

    /// A page of rows in order of creation. The cost does not depend on where the page starts.
    /// Rows are read until they have [`Wanted::bytes_max`] bytes, and at least one; where the others lie is said in
    /// [`RowsPage::rest`]. Only what is read counts.
    async fn rows_within(
        &self,
        project: ProjectId,
        start: PageStart,
        limit: u32,
        wanted: Wanted,
    ) -> Result<RowsPage>;

    /// The rows at these positions that still exist, in the order asked for, bounded in the same way.
    async fn rows_at_within(&self, project: ProjectId, positions: Vec<u64>, wanted: Wanted)
    -> Result<RowsAt>;

    /// A moment of a project that stays readable until it is dropped; `None` if too many are open already. It
    /// holds something scarce (a connection, the log's end), so whoever has one hurries.
    async fn snapshot(&self, project: ProjectId) -> Result<Option<Box<dyn Snapshot>>>;

    /// A whole page, whatever its bytes.
    async fn rows(&self, project: ProjectId, start: PageStart, limit: u32) -> Result<RowsPage> {
        self.rows_within(project, start, limit, Wanted::ALL).await
    }

    /// All of these rows, whatever their bytes.
    async fn rows_at(&self, project: ProjectId, positions: Vec<u64>) -> Result<RowsAt> {
        self.rows_at_within(project, positions, Wanted::ALL).await
    }

    /// Where rows stand in the order of creation; `None` for ids that name no row of the project.
    async fn positions(&self, project: ProjectId, rows: Vec<RowId>) -> Result<Vec<Option<u64>>>;

    /// Visits the rows that lie here, in one consistent snapshot; says which change that is the last of.
    async fn scan(&self, project: ProjectId, spans: Spans, look: ScanLook, visit: RowVisitor) -> Result<u64>;

    /// Queues cells and says in how many rows, and to which run they belong: the present one, or one that this
    /// starts. Over many rows it takes several transactions, so that other writers are let in between; each leaves
    /// everything consistent.
    async fn start_run(&self, trigger: Trigger, by: StartedBy) -> Result<Triggered>;

    /// The same for those who need only the number of rows.
    async fn trigger(&self, trigger: Trigger) -> Result<u64> {
        Ok(self.start_run(trigger, StartedBy::Autoplay).await?.rows)
    }

    /// Runs of a project that are over, newest first: those with a number below `before`. The newest
    /// [`ENDED_RUNS_MAX`](crate::ENDED_RUNS_MAX) are kept, and none for longer than
    /// [`ENDED_RUNS_KEPT_MS`](crate::ENDED_RUNS_KEPT_MS) once a newer one ends.
    async fn ended_runs(&self, project: ProjectId, before: u64, limit: u32) -> Result<Vec<EndedRun>>;

    /// Puts queued and running cells back to what they were. Once it has answered, none of them can be
    /// claimed or settled. Over many rows it takes several transactions, like a trigger.
    async fn stop(&self, stop: Stop) -> Result<Stopped>;

    /// The processing status of a project, at a cost that does not depend on its rows: the counts are kept with it.
    async fn processing_status(&self, project: ProjectId) -> Result<Option<ProcessingStatus>>;

    /// Which columns have cells to run.
    async fn lanes(&self, now_ms: i64) -> Result<Lanes>;

    /// Takes ready cells for a worker: they are its own until it settles them, is lost, or they are revoked.
    /// Cells that the plan would not run are skipped on the way.
    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>>;

    /// Writes results, with all they cause. Says of each whether it was taken; one whose ticket does not
    /// hold any more is dropped.
    async fn settle(&self, worker: WorkerId, now_ms: i64, results: Vec<Settlement>) -> Result<Vec<bool>> {
        Ok(self.settle_and_claim(Settle { worker, now_ms, results, next: None }).await?.taken)
    }

    /// Writes results, and then takes as many as are asked for of the cells that are ready in the same rows: what
    /// waited for them goes on in the same transaction.
    async fn settle_and_claim(&self, settle: Settle) -> Result<Settled>;

    /// Says that a worker lives, and tells it what it still holds.
    async fn heartbeat(&self, worker: WorkerId, expires_at_ms: i64) -> Result<Vec<Ticket>>;

    /// Queues again what workers held that were not heard of in time; says how many cells.
    async fn requeue_lost(&self, now_ms: i64) -> Result<u64>;

    /// Queues again what a worker holds that ends.
    async fn leave(&self, worker: WorkerId) -> Result<u64>;

    /// Where nodes keep to rates together; `None` if this process is alone and can count for itself.
    fn shared_rates(&self) -> Option<Arc<dyn SharedRates>>;

    /// How far the clock that all nodes go by, the database's, is ahead of this machine's. Every time that is
    /// handed in here is to be by that clock.
    fn clock_ahead_ms(&self) -> i64 {
        0
    }

    /// Has a listener called with every change this process makes.
    fn listen(&self, listener: Listener);
}
