//! The store for many nodes: any number of processes on one PostgreSQL database, and nothing else shared.
//!
//! Whoever changes a project locks its line in `counters` first, so that positions, counts, claims and the
//! change sequence are exact whichever node does it. Everything lies in the schema `rowmill`. Nothing is kept
//! in a session but prepared statements, so a pooler that gives every transaction another session does no
//! harm if it knows about those; only hearing of other nodes' changes needs a session of its own, and without
//! one nodes look every second.

mod apply;
mod carry;
mod change_bus;
mod claimed_rows;
mod connect;
mod connections;
mod convert;
mod copy;
mod database;
mod guests;
mod leases;
mod lookups;
mod offset_cache;
mod pages;
mod project_locks;
mod projects;
mod purge;
mod receipts;
mod row_changes;
mod row_version;
mod rows;
mod runs;
mod scans;
mod schema;
mod sealed;
mod shared_rates;
mod snapshot;
mod state_batcher;
mod teams;
mod work;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rowmill_fairness::{Permit, Tenant};
use rowmill_model::{KeyId, ProjectId, RowId, Slug, TeamId};
use rowmill_store::changes::Parts;
use rowmill_store::{
    ApiKey, Change, Claim, Claimed, GuestWrite, GuestsWritten, IdempotentRequest, Inserted, Lanes, Listener,
    NewRows, PageStart, ProcessingStatus, ProjectPage, ProjectSave, ProjectSummary, Result, RowVisitor, Rows,
    RowsAt, RowsPage, SavedProject, ScanDetail, Sealed, SealedKind, Settle, Settled, SharedRates, Snapshot,
    Spans, Stop, Stopped, Store, StoreError, StoredProject, StoredRow, Team, Ticket, Trigger, WorkerId,
    WriteCells, WrittenCells,
};
use tokio::sync::RwLock;
use tokio::task::JoinHandle;
use uuid::Uuid;

pub use crate::carry::Carrier;
use crate::change_bus::ChangeBus;
use crate::claimed_rows::ClaimedRows;
pub use crate::connect::Options;
use crate::connect::Server;
use crate::database::{CommitDoubt, Database, Tx};
use crate::leases::DepartingWorkers;
use crate::offset_cache::OffsetCache;
use crate::pages::{Asked, Source};
use crate::project_locks::ProjectLocks;
use crate::projects::Documents;
use crate::scans::Scan;
use crate::shared_rates::PostgresSharedRates;
use crate::snapshot::HeldSnapshot;
use crate::state_batcher::StateBatcher;
use crate::work::Tokens;

/// Work that can be begun anew: a closure that makes a future of its own share of what it is given.
macro_rules! retryable {
    (($($shared:ident),*), |$tx:ident| $work:expr) => {
        work_of(move |$tx: &mut Tx| {
            $(let $shared = Clone::clone(&$shared);)*
            Box::pin(async move { $work.await })
        })
    };
}

/// Says of a closure what it is, for the compiler.
fn work_of<T, F: for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>>>(work: F) -> F {
    work
}

/// How often a node sees to what nobody else would.
const CHORES_EVERY: Duration = Duration::from_mins(1);
/// How long other nodes are still told of changes when the store is closed.
const LAST_CHANGES_MAX: Duration = Duration::from_secs(5);
/// A read of up to this many rows is short.
const SHORT_READ_ROWS: u64 = 200;
/// Two clocks that differ by less are taken for one.
const SKEW_MIN_MS: i64 = 50;

#[derive(Debug)]
pub struct PostgresStore {
    node: Arc<Node>,
    /// Sends changes to other nodes; taken when the store is closed.
    sender: Mutex<Option<JoinHandle<()>>>,
    tasks: [JoinHandle<()>; 3],
}

/// What this process knows and shares between callers.
#[derive(Debug)]
struct Node {
    database: Arc<Database>,
    documents: Documents,
    state_batcher: StateBatcher,
    project_locks: ProjectLocks,
    change_bus: Arc<ChangeBus>,
    tokens: Tokens,
    claimed_rows: Arc<ClaimedRows>,
    offset_cache: OffsetCache,
    /// How far the database's clock is ahead of this machine's.
    skew_ms: AtomicI64,
    machine_ms: fn() -> i64,
    /// Set off when a project was deleted.
    purge_pending: tokio::sync::Notify,
    /// Shared by all writes under way; had alone once there are none.
    under_way: RwLock<()>,
}

impl PostgresStore {
    /// Connects to `postgres://user:password@host/database` and brings the database up to date.
    pub async fn connect(url: &str, options: Options) -> Result<Self> {
        let server = Server::parse(url)?;
        let database = Arc::new(Database::new(server.pool(&options)?, options.statement_timeout));
        database.check_pooler().await?;
        let open = retryable!((), |tx| async {
            schema::migrate(tx).await?;
            carry::check_finished(tx).await
        });
        database.write(CommitDoubt::Repeat, open).await?;
        let (state_batcher, callers) = StateBatcher::new(Arc::clone(&database));
        let claimed_rows = Arc::<ClaimedRows>::default();
        let (change_bus, posted) =
            ChangeBus::new(Uuid::from_u128(fastrand::u128(..)), Arc::clone(&claimed_rows));
        let node = Arc::new(Node {
            database: Arc::clone(&database),
            documents: Documents::default(),
            state_batcher,
            project_locks: ProjectLocks::default(),
            change_bus: Arc::new(change_bus),
            tokens: Tokens::default(),
            claimed_rows,
            offset_cache: OffsetCache::default(),
            skew_ms: AtomicI64::new(0),
            machine_ms: options.machine_ms,
            purge_pending: tokio::sync::Notify::new(),
            under_way: RwLock::new(()),
        });
        node.compare_clocks().await?;
        let sender =
            tokio::spawn(change_bus::send(Arc::clone(&node.change_bus), Arc::clone(&database), posted));
        let tasks = [
            tokio::spawn(state_batcher::serve(Arc::clone(&database), callers)),
            tokio::spawn(change_bus::receive(Arc::clone(&node.change_bus), server, database)),
            tokio::spawn(chores(Arc::clone(&node))),
        ];
        node.change_bus.wait_until_listening().await;
        Ok(Self { node, sender: Mutex::new(Some(sender)), tasks })
    }

    /// Runs work that only reads, in one snapshot.
    async fn read<T>(
        &self,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        self.node.database.read(work).await
    }

    /// Runs work that changes no rows. It goes on when its caller goes away.
    async fn write<T: Send + 'static>(
        &self,
        doubt: CommitDoubt,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync + 'static,
    ) -> Result<T> {
        let node = self.node();
        finished(tokio::spawn(Tenant::current().scope(async move {
            let _under_way = node.under_way.read().await;
            node.database.write(doubt, work).await
        })))
        .await
    }

    /// Runs work that changes rows of these projects, and tells what it changed before it answers.
    async fn change<T: Send + 'static>(
        &self,
        projects: Vec<ProjectId>,
        doubt: CommitDoubt,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<(T, Vec<Change>)>> + Send + Sync + 'static,
    ) -> Result<T> {
        let node = self.node();
        finished(tokio::spawn(Tenant::current().scope(async move {
            let _under_way = node.under_way.read().await;
            let _locked = node.database.within_wait_max(node.project_locks.lock(projects)).await?;
            let (done, changes) = node.database.write(doubt, work).await?;
            for change in changes {
                node.claimed_rows.forget(change.project, &change.touched);
                node.change_bus.publish(change);
            }
            Ok(done)
        })))
        .await
    }

    /// The turn of a read of many rows; few need none.
    async fn long_turn(&self, rows: u64) -> Option<Permit> {
        if rows <= SHORT_READ_ROWS { None } else { Some(self.node.database.long_read().await) }
    }

    fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node)
    }

    /// Lets workers go, with what they hold.
    async fn release_workers(&self, departing: DepartingWorkers) -> Result<u64> {
        let (workers, projects) = self.read(retryable!((), |tx| leases::departing(tx, departing))).await?;
        if workers.is_empty() {
            return Ok(0);
        }
        let node = self.node();
        let (workers, held) = (Arc::new(workers), Arc::new(projects.clone()));
        let work = retryable!((node, workers, held), |tx| leases::release_workers(
            tx,
            &node.documents,
            departing,
            &workers,
            &held
        ));
        self.change(projects, CommitDoubt::Tell, work).await
    }
}

impl Drop for PostgresStore {
    fn drop(&mut self) {
        self.node.change_bus.close();
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn ping(&self) -> Result<()> {
        self.read(retryable!((), |tx| async move { tx.query("SELECT 1", &[]).await.map(|_| ()) })).await
    }

    async fn close(&self) -> Result<()> {
        let _alone = self.node.under_way.write().await;
        self.node.change_bus.close();
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut sender) = sender
            && tokio::time::timeout(LAST_CHANGES_MAX, &mut sender).await.is_err()
        {
            sender.abort();
        }
        self.tasks.iter().for_each(JoinHandle::abort);
        self.node.database.close();
        Ok(())
    }

    async fn recall(&self, once: IdempotentRequest) -> Result<Option<String>> {
        self.read(retryable!((once), |tx| receipts::recall(tx, &once))).await
    }

    async fn remember(&self, once: IdempotentRequest, outcome: String) -> Result<()> {
        let work = retryable!((once, outcome), |tx| async move {
            receipts::keep(tx, &once, outcome);
            Ok(())
        });
        self.write(CommitDoubt::Repeat, work).await
    }

    async fn bootstrap(&self, team: Team, key: ApiKey) -> Result<bool> {
        self.write(CommitDoubt::Tell, retryable!((team, key), |tx| teams::bootstrap(tx, &team, &key))).await
    }

    async fn create_team(&self, team: Team) -> Result<()> {
        self.write(CommitDoubt::Tell, retryable!((team), |tx| teams::create_team(tx, &team))).await
    }

    async fn teams(&self) -> Result<Vec<Team>> {
        self.read(retryable!((), |tx| teams::teams(tx))).await
    }

    async fn team(&self, id: TeamId) -> Result<Option<Team>> {
        self.read(retryable!((), |tx| teams::team(tx, id))).await
    }

    async fn team_by_slug(&self, slug: &Slug) -> Result<Option<Team>> {
        let slug = slug.clone();
        self.read(retryable!((slug), |tx| teams::team_by_slug(tx, &slug))).await
    }

    async fn rename_team(&self, id: TeamId, name: String) -> Result<bool> {
        self.write(CommitDoubt::Repeat, retryable!((name), |tx| teams::rename_team(tx, id, &name))).await
    }

    async fn create_key(&self, key: ApiKey) -> Result<()> {
        self.write(CommitDoubt::Tell, retryable!((key), |tx| teams::create_key(tx, &key))).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.read(retryable!((), |tx| teams::keys(tx))).await
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.read(retryable!((), |tx| teams::key(tx, id))).await
    }

    async fn revoke_key(&self, id: KeyId) -> Result<bool> {
        self.write(CommitDoubt::Tell, retryable!((), |tx| teams::revoke_key(tx, id))).await
    }

    async fn touch_key(&self, id: KeyId, used_at_ms: i64) -> Result<()> {
        self.write(CommitDoubt::Repeat, retryable!((), |tx| teams::touch_key(tx, id, used_at_ms))).await
    }

    async fn put_sealed(&self, team: TeamId, sealed: Sealed, count_max: u32) -> Result<()> {
        self.write(CommitDoubt::Repeat, retryable!((sealed), |tx| sealed::put(tx, team, &sealed, count_max)))
            .await
    }

    async fn sealed(&self, team: TeamId) -> Result<Vec<Sealed>> {
        self.read(retryable!((), |tx| sealed::list(tx, team))).await
    }

    async fn delete_sealed(&self, team: TeamId, kind: SealedKind, name: String) -> Result<bool> {
        self.write(CommitDoubt::Tell, retryable!((name), |tx| sealed::delete(tx, team, kind, &name))).await
    }

    async fn projects(
        &self,
        team: TeamId,
        folder: Option<String>,
        page: ProjectPage,
    ) -> Result<Vec<ProjectSummary>> {
        self.read(retryable!((folder), |tx| projects::list(tx, team, folder.as_deref(), page))).await
    }

    async fn count_projects(&self, team: TeamId, folder: Option<String>) -> Result<u64> {
        self.read(retryable!((folder), |tx| projects::count(tx, team, folder.as_deref()))).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<StoredProject>> {
        let Some(state) = self.node.state_batcher.state(id).await? else { return Ok(None) };
        if let Some(project) = projects::at_hand(&self.node.documents, &state) {
            return Ok(Some(project));
        }
        let node = self.node();
        self.read(retryable!((node), |tx| projects::load(tx, &node.documents, id))).await
    }

    async fn save_project(&self, save: ProjectSave) -> Result<SavedProject> {
        let (project, doubt) = (save.project.id, doubt(save.once.as_ref()));
        let (node, save) = (self.node(), Arc::new(save));
        let work = retryable!((node, save), |tx| projects::save(tx, &node.documents, &save));
        self.change(vec![project], doubt, work).await
    }

    async fn delete_project(&self, id: ProjectId) -> Result<bool> {
        let work = retryable!((), |tx| projects::delete(tx, id));
        let deleted = self.change(vec![id], CommitDoubt::Tell, work).await?;
        self.node.purge_pending.notify_one();
        Ok(deleted)
    }

    async fn insert_rows(&self, batch: NewRows) -> Result<Inserted> {
        let (project, doubt) = (batch.project, doubt(batch.once.as_ref()));
        let (node, batch) = (self.node(), Arc::new(batch));
        let work = retryable!((node, batch), |tx| rows::insert(tx, &node.documents, &batch));
        self.change(vec![project], doubt, work).await
    }

    async fn projects_of_event(&self, team: TeamId, event_id: String) -> Result<Vec<StoredProject>> {
        let node = self.node();
        let work = retryable!((node, event_id), |tx| guests::projects_of_event(
            tx,
            &node.documents,
            team,
            &event_id
        ));
        self.read(work).await
    }

    async fn upsert_guests(&self, guests: Vec<GuestWrite>) -> Result<GuestsWritten> {
        let projects = guests.iter().map(|guest| guest.project).collect();
        let (node, guests) = (self.node(), Arc::new(guests));
        let work = retryable!((node, guests), |tx| guests::upsert(tx, &node.documents, &guests));
        self.change(projects, CommitDoubt::Tell, work).await
    }

    async fn write_cells(&self, batch: WriteCells) -> Result<WrittenCells> {
        let project = batch.project;
        let (node, batch) = (self.node(), Arc::new(batch));
        let work = retryable!((node, batch), |tx| rows::write_cells(tx, &node.documents, &batch));
        self.change(vec![project], CommitDoubt::Tell, work).await
    }

    async fn delete_rows(&self, project: ProjectId, ids: Vec<RowId>) -> Result<u64> {
        let (node, ids) = (self.node(), Arc::new(ids));
        let work = retryable!((node, ids), |tx| rows::delete(tx, &node.documents, project, &ids));
        self.change(vec![project], CommitDoubt::Tell, work).await
    }

    async fn row(&self, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
        pages::one(&self.node.database, project, row).await
    }

    async fn rows_within(
        &self,
        project: ProjectId,
        start: PageStart,
        limit: u32,
        bytes_max: usize,
    ) -> Result<RowsPage> {
        let Node { database, documents, offset_cache, .. } = &*self.node;
        let _turn = self.long_turn(u64::from(limit)).await;
        pages::page(database, documents, offset_cache, Asked { project, start, limit, bytes_max }).await
    }

    async fn rows_at_within(
        &self,
        project: ProjectId,
        positions: Vec<u64>,
        bytes_max: usize,
    ) -> Result<RowsAt> {
        let _turn = self.long_turn(positions.len() as u64).await;
        pages::at(Source::Pool(&self.node.database), project, &positions, bytes_max).await
    }

    async fn snapshot(&self, project: ProjectId) -> Result<Option<Box<dyn Snapshot>>> {
        let held = self.node.database.held_snapshot().await?;
        Ok(held.map(|(tx, permit)| -> Box<dyn Snapshot> { Box::new(HeldSnapshot::new(tx, permit, project)) }))
    }

    async fn positions(&self, project: ProjectId, ids: Vec<RowId>) -> Result<Vec<Option<u64>>> {
        let ids = Arc::new(ids);
        self.read(retryable!((ids), |tx| pages::positions(tx, project, &ids))).await
    }

    async fn scan(
        &self,
        project: ProjectId,
        spans: Spans,
        look: ScanDetail,
        mut visit: RowVisitor,
    ) -> Result<u64> {
        let _turn = self.long_turn(spans.rows_max()).await;
        let mut tx = self.node.database.snapshot().await?;
        let state = projects::existing(&mut tx, project).await?;
        let mut scan = Scan::of(spans, state.next_position, look);
        while !scan.is_done() {
            scan.some(&mut tx, state.num, &mut visit).await?;
        }
        tx.commit().await?;
        Ok(state.change_seq)
    }

    async fn trigger(&self, mut trigger: Trigger) -> Result<u64> {
        let mut parts = Parts::of(std::mem::replace(&mut trigger.rows, Rows::All));
        let (project, dry_run) = (trigger.project, trigger.dry_run);
        let limit = trigger.limit.unwrap_or(u64::MAX);
        let trigger = Arc::new(trigger);
        let mut triggered = 0;
        while let Some(part) = parts.next_part().filter(|_| triggered < limit) {
            let (node, asked, part) = (self.node(), Arc::clone(&trigger), Arc::new(part));
            let left = limit - triggered;
            let work =
                retryable!((node, asked, part), |tx| runs::trigger(tx, &node.documents, &asked, &part, left));
            let done = if dry_run {
                self.read(work).await?.0
            } else {
                self.change(vec![project], CommitDoubt::Tell, work).await?
            };
            triggered += done.count;
            parts.resume_at(done.next_block);
        }
        Ok(triggered)
    }

    async fn stop(&self, mut stop: Stop) -> Result<Stopped> {
        let mut parts = Parts::of(std::mem::replace(&mut stop.rows, Rows::All));
        let project = stop.project;
        let stop = Arc::new(stop);
        let (mut stopped, mut losers) = (Stopped::default(), BTreeSet::new());
        while let Some(part) = parts.next_part() {
            let (node, asked, part) = (self.node(), Arc::clone(&stop), Arc::new(part));
            let work = retryable!((node, asked, part), |tx| runs::stop(tx, &node.documents, &asked, &part));
            let done = self.change(vec![project], CommitDoubt::Tell, work).await?;
            let (count, workers) = done.count;
            stopped.rows += count.rows;
            stopped.cells += count.cells;
            losers.extend(workers);
            parts.resume_at(done.next_block);
        }
        // Once this is answered, nothing more is begun on any node.
        self.node.change_bus.wait_until_heard(losers).await;
        Ok(stopped)
    }

    async fn standing(&self, project: ProjectId) -> Result<Option<ProcessingStatus>> {
        let Some(state) = self.node.state_batcher.state(project).await? else { return Ok(None) };
        if let Some(parsed) = self.node.documents.get(state.num, state.version) {
            return runs::standing_of(parsed, &state).map(Some);
        }
        let node = self.node();
        self.read(retryable!((node), |tx| runs::standing(tx, &node.documents, project))).await
    }

    async fn lanes(&self, now_ms: i64) -> Result<Lanes> {
        work::lanes(&self.node.database, now_ms).await
    }

    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>> {
        self.node.change_bus.register_worker(claim.worker.0);
        let projects = claim.asks.iter().map(|(lane, _)| lane.project).collect();
        let (node, claim) = (self.node(), Arc::new(claim));
        let work = retryable!((node, claim), |tx| work::claim(tx, &node.documents, &node.tokens, &claim));
        let (claimed, rows) = self.change(projects, CommitDoubt::Tell, work).await?;
        self.node.claimed_rows.put_all(rows);
        Ok(claimed)
    }

    async fn settle_and_claim(&self, settle: Settle) -> Result<Settled> {
        self.node.change_bus.register_worker(settle.worker.0);
        let projects = settle.results.iter().map(|settlement| settlement.ticket.lane.project).collect();
        let (node, settle) = (self.node(), Arc::new(settle));
        let work = retryable!((node, settle), |tx| async {
            let Node { documents, claimed_rows, tokens, .. } = &*node;
            work::settle(tx, documents, claimed_rows, tokens, &settle).await
        });
        let (settled, rows) = self.change(projects, CommitDoubt::Tell, work).await?;
        self.node.claimed_rows.put_all(rows);
        Ok(settled)
    }

    async fn heartbeat(&self, worker: WorkerId, expires_at_ms: i64) -> Result<Vec<Ticket>> {
        self.write(CommitDoubt::Repeat, retryable!((), |tx| leases::heartbeat(tx, worker, expires_at_ms)))
            .await
    }

    async fn requeue_lost(&self, now_ms: i64) -> Result<u64> {
        self.release_workers(DepartingWorkers::Lost(now_ms)).await
    }

    async fn leave(&self, worker: WorkerId) -> Result<u64> {
        self.release_workers(DepartingWorkers::One(worker)).await
    }

    fn shared_rates(&self) -> Option<Arc<dyn SharedRates>> {
        Some(Arc::new(PostgresSharedRates(Arc::clone(&self.node.database))))
    }

    fn clock_ahead_ms(&self) -> i64 {
        self.node.skew_ms.load(Ordering::Relaxed)
    }

    fn listen(&self, listener: Listener) {
        self.node.change_bus.listen(listener);
    }
}

impl Node {
    async fn compare_clocks(&self) -> Result<()> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8";
        let asked_at = (self.machine_ms)();
        let answer = self.database.read(retryable!((), |tx| tx.query(sql, &[]))).await?;
        let answered_at = (self.machine_ms)();
        let Some(database_ms) = answer.first().map(|row| row.get::<_, i64>(0)) else { return Ok(()) };
        let skew_ms = database_ms - i64::midpoint(asked_at, answered_at);
        let unsure_ms = SKEW_MIN_MS + (answered_at - asked_at) / 2;
        self.skew_ms.store(if skew_ms.abs() < unsure_ms { 0 } else { skew_ms }, Ordering::Relaxed);
        Ok(())
    }
}

/// Sweeps up after deleted projects, and compares clocks now and then.
async fn chores(node: Arc<Node>) {
    loop {
        while node
            .database
            .write(CommitDoubt::Repeat, retryable!((), |tx| purge::sweep_some(tx)))
            .await
            .is_ok_and(|more| more)
        {}
        if tokio::time::timeout(CHORES_EVERY, node.purge_pending.notified()).await.is_err() {
            // It goes by what was known before.
            let _ = node.compare_clocks().await;
            let _ =
                node.database.write(CommitDoubt::Repeat, retryable!((), |tx| shared_rates::forget(tx))).await;
        }
    }
}

fn doubt(once: Option<&IdempotentRequest>) -> CommitDoubt {
    // A request that is carried out once is answered with what it did the first time.
    if once.is_some() { CommitDoubt::Repeat } else { CommitDoubt::Tell }
}

async fn finished<T>(task: JoinHandle<Result<T>>) -> Result<T> {
    task.await.unwrap_or_else(|_| Err(StoreError::Backend("a write panicked and was rolled back".into())))
}
