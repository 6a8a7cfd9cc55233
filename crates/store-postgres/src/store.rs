//! [`PostgresStore`]: every operation of the [`Store`] trait, handed to the module that does it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use rowmill_model::plan::{EndedRun, StartedBy};
use rowmill_model::{KeyId, ProjectId, RowId, Slug, TeamId};
use rowmill_store::{
    ApiKey, Claim, Claimed, GuestWrite, GuestsWritten, IdempotentRequest, Inserted, Lanes, LastUse, Listener,
    NewRows, PageStart, ProcessingStatus, ProjectPage, ProjectSave, ProjectSummary, Result, RowVisitor,
    RowsAt, RowsPage, SavedProject, ScanLook, Sealed, SealedKind, SeenProject, Settle, Settled, SharedRates,
    Snapshot, Spans, Stop, Stopped, Store, StoredProject, StoredRow, Team, Ticket, Trigger, Triggered,
    Wanted, WorkerId, WriteCells, WrittenCells,
};
use tokio::task::JoinHandle;

use crate::connect::{Options, Server};
use crate::database::CommitDoubt::{self, Repeat, Tell};
use crate::leases::DepartingWorkers;
use crate::node::Node;
use crate::page_answer::Source;
use crate::pages::Asked;
use crate::retryable::Attempt;
use crate::scans::Scan;
use crate::shared_rates::PostgresSharedRates;
use crate::snapshot::HeldSnapshot;
use crate::{
    change_notifications, documents, ended_runs, guests, leases, node, pages, project_state, projects,
    receipts, rows, run_parts, runs, sealed, state_batcher, teams, work,
};

/// How long other nodes are still told of changes when the store is closed.
const LAST_CHANGES_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) node: Arc<Node>,
    /// Sends changes to other nodes; taken when the store is closed.
    sender: Mutex<Option<JoinHandle<()>>>,
    tasks: [JoinHandle<()>; 3],
}

impl PostgresStore {
    /// Connects to `postgres://user:password@host/database` and brings the database up to date.
    pub async fn connect(url: &str, options: Options) -> Result<Self> {
        let server = Server::parse(url)?;
        let (node, requests, outgoing) = Node::start(&server, options).await?;
        let (change_bus, database) = (Arc::clone(&node.change_bus), Arc::clone(&node.database));
        let sender = tokio::spawn(change_notifications::send(
            Arc::clone(&change_bus),
            Arc::clone(&database),
            outgoing,
        ));
        let tasks = [
            tokio::spawn(state_batcher::serve(Arc::clone(&database), requests)),
            tokio::spawn(change_notifications::receive(change_bus, server, database)),
            tokio::spawn(node::run_chores(Arc::clone(&node))),
        ];
        node.change_bus.wait_until_listening().await;
        Ok(Self { node, sender: Mutex::new(Some(sender)), tasks })
    }

    pub(crate) fn node(&self) -> Arc<Node> {
        Arc::clone(&self.node)
    }

    /// Releases workers, with the cells they hold.
    async fn release_workers(&self, departing: DepartingWorkers) -> Result<u64> {
        let (workers, projects) =
            self.node.read(departing, |tx, departing| Box::pin(leases::departing(tx, *departing))).await?;
        if workers.is_empty() {
            return Ok(0);
        }
        let input = (self.node(), departing, workers, projects.clone());
        self.node
            .change(projects, Tell, input, |tx, (node, departing, workers, projects)| {
                Box::pin(leases::release_workers(tx, &node.documents, *departing, workers, projects))
            })
            .await
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
        self.node.read((), |tx, ()| Box::pin(async { tx.query("SELECT 1", &[]).await.map(|_| ()) })).await?;
        self.node.check_writes().await
    }

    async fn close(&self) -> Result<()> {
        let _alone = self.node.in_flight.write().await;
        self.node.change_bus.close();
        let sender = self.sender.lock().take();
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
        self.node.read(once, |tx, once| Box::pin(receipts::recall(tx, once))).await
    }

    async fn remember(&self, once: IdempotentRequest, outcome: String) -> Result<()> {
        let kept = (once, outcome);
        self.node
            .write(Repeat, kept, |tx, (once, outcome)| Box::pin(receipts::remember(tx, once, outcome)))
            .await
    }

    async fn forget(&self, names: Vec<[u8; 32]>) -> Result<()> {
        self.node.write(Repeat, names, |tx, names| Box::pin(receipts::forget(tx, names))).await
    }

    async fn bootstrap(&self, team: Team, key: ApiKey) -> Result<bool> {
        self.node.write(Tell, (team, key), |tx, (team, key)| Box::pin(teams::bootstrap(tx, team, key))).await
    }

    async fn create_team(&self, team: Team) -> Result<()> {
        self.node.write(Tell, team, |tx, team| Box::pin(teams::create_team(tx, team))).await
    }

    async fn teams(&self) -> Result<Vec<Team>> {
        self.node.read((), |tx, ()| Box::pin(teams::teams(tx))).await
    }

    async fn team(&self, id: TeamId) -> Result<Option<Team>> {
        self.node.read(id, |tx, id| Box::pin(teams::team(tx, *id))).await
    }

    async fn team_by_slug(&self, slug: &Slug) -> Result<Option<Team>> {
        self.node.read(slug.clone(), |tx, slug| Box::pin(teams::team_by_slug(tx, slug))).await
    }

    async fn rename_team(&self, id: TeamId, name: String) -> Result<bool> {
        self.node
            .write(Repeat, (id, name), |tx, (id, name)| Box::pin(teams::rename_team(tx, *id, name)))
            .await
    }

    async fn create_key(&self, key: ApiKey) -> Result<()> {
        self.node.write(Tell, key, |tx, key| Box::pin(teams::create_key(tx, key))).await
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.node.read((), |tx, ()| Box::pin(teams::keys(tx))).await
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.node.read(id, |tx, id| Box::pin(teams::key(tx, *id))).await
    }

    async fn revoke_key(&self, id: KeyId) -> Result<bool> {
        self.node.write(Tell, id, |tx, id| Box::pin(teams::revoke_key(tx, *id))).await
    }

    async fn touch_key(&self, id: KeyId, last_use: LastUse) -> Result<()> {
        let touch: Attempt<(KeyId, LastUse), ()> =
            |tx, (id, last_use)| Box::pin(teams::touch_key(tx, *id, *last_use));
        self.node.write(Repeat, (id, last_use), touch).await
    }

    async fn rotate_key(&self, old: KeyId, old_expires_at_ms: i64, new: ApiKey) -> Result<bool> {
        let rotate: Attempt<(KeyId, i64, ApiKey), bool> =
            |tx, (old, at_ms, new)| Box::pin(teams::rotate_key(tx, *old, *at_ms, new));
        self.node.write(Tell, (old, old_expires_at_ms, new), rotate).await
    }

    async fn put_sealed(&self, team: TeamId, sealed: Sealed, count_max: u32) -> Result<()> {
        let put: Attempt<(TeamId, Sealed, u32), ()> =
            |tx, (team, sealed, count_max)| Box::pin(sealed::put(tx, *team, sealed, *count_max));
        self.node.write(Repeat, (team, sealed, count_max), put).await
    }

    async fn sealed(&self, team: TeamId) -> Result<Vec<Sealed>> {
        self.node.read(team, |tx, team| Box::pin(sealed::list(tx, *team))).await
    }

    async fn delete_sealed(&self, team: TeamId, kind: SealedKind, name: String) -> Result<bool> {
        let input = (team, kind, name);
        self.node
            .write(Tell, input, |tx, (team, kind, name)| Box::pin(sealed::delete(tx, *team, *kind, name)))
            .await
    }

    async fn projects(
        &self,
        team: TeamId,
        folder: Option<String>,
        page: ProjectPage,
    ) -> Result<Vec<ProjectSummary>> {
        self.node
            .read((team, folder, page), |tx, (team, folder, page)| {
                Box::pin(projects::list(tx, *team, folder.as_deref(), *page))
            })
            .await
    }

    async fn count_projects(&self, team: TeamId, folder: Option<String>) -> Result<u64> {
        self.node
            .read((team, folder), |tx, (team, folder)| {
                Box::pin(projects::count(tx, *team, folder.as_deref()))
            })
            .await
    }

    async fn count_team_rows(&self, team: TeamId) -> Result<u64> {
        self.node.read(team, |tx, team| Box::pin(projects::count_rows(tx, *team))).await
    }

    async fn projects_with_text(&self, text: String) -> Result<Vec<ProjectId>> {
        self.node.read(text, |tx, text| Box::pin(projects::with_text(tx, text))).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<StoredProject>> {
        let Some(state) = self.node.state_batcher.state(id).await? else { return Ok(None) };
        if let Some(project) = documents::cached(&self.node.documents, &state) {
            return Ok(Some(project));
        }
        let _turn = self.node.documents.read_turn(id).await;
        let input = (self.node(), id);
        self.node.read(input, |tx, (node, id)| Box::pin(documents::load(tx, &node.documents, *id))).await
    }
    async fn save_project(&self, save: ProjectSave) -> Result<SavedProject> {
        let (projects, doubt) = (vec![save.project.id], doubt(save.once.as_ref()));
        let input = (self.node(), save);
        self.node
            .change(projects, doubt, input, |tx, (node, save)| {
                Box::pin(projects::save(tx, &node.documents, save))
            })
            .await
    }

    async fn delete_project(&self, id: ProjectId, seen: Option<SeenProject>) -> Result<bool> {
        let deleted = self
            .node
            .change(vec![id], Tell, (id, seen), |tx, (id, seen)| Box::pin(projects::delete(tx, *id, *seen)))
            .await?;
        self.node.purge_pending.notify_one();
        Ok(deleted)
    }

    async fn insert_rows(&self, batch: NewRows) -> Result<Inserted> {
        let (projects, doubt) = (vec![batch.project], doubt(batch.once.as_ref()));
        let input = (self.node(), batch);
        self.node
            .change(projects, doubt, input, |tx, (node, batch)| {
                Box::pin(rows::insert(tx, &node.documents, batch))
            })
            .await
    }

    async fn projects_of_event(&self, team: TeamId, event_id: String) -> Result<Vec<ProjectId>> {
        self.node
            .read((team, event_id), |tx, (team, event_id)| {
                Box::pin(guests::projects_of_event(tx, *team, event_id))
            })
            .await
    }

    async fn upsert_guests(&self, guests: Vec<GuestWrite>) -> Result<GuestsWritten> {
        let projects = guests.iter().map(|guest| guest.project).collect();
        let input = (self.node(), guests);
        self.node
            .change(projects, Tell, input, |tx, (node, guests)| {
                Box::pin(guests::upsert(tx, &node.documents, guests))
            })
            .await
    }

    async fn write_cells(&self, batch: WriteCells) -> Result<WrittenCells> {
        let (projects, input) = (vec![batch.project], (self.node(), batch));
        self.node
            .change(projects, Tell, input, |tx, (node, batch)| {
                Box::pin(rows::write_cells(tx, &node.documents, batch))
            })
            .await
    }

    async fn delete_rows(&self, project: ProjectId, ids: Vec<RowId>) -> Result<u64> {
        let input = (self.node(), project, ids);
        self.node
            .change(vec![project], Tell, input, |tx, (node, project, ids)| {
                Box::pin(rows::delete(tx, &node.documents, *project, ids))
            })
            .await
    }

    async fn row(&self, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
        pages::one(&self.node.database, project, row).await
    }

    async fn rows_within(
        &self,
        project: ProjectId,
        start: PageStart,
        limit: u32,
        wanted: Wanted,
    ) -> Result<RowsPage> {
        let Node { database, documents, offset_cache, .. } = &*self.node;
        let _turn = self.node.long_turn(u64::from(limit)).await;
        let asked = Asked { project, start, limit, wanted: &wanted.into() };
        pages::page(database, documents, offset_cache, asked).await
    }

    async fn rows_at_within(
        &self,
        project: ProjectId,
        positions: Vec<u64>,
        wanted: Wanted,
    ) -> Result<RowsAt> {
        let _turn = self.node.long_turn(positions.len() as u64).await;
        pages::at(Source::Pool(&self.node.database), project, &positions, wanted).await
    }

    async fn snapshot(&self, project: ProjectId) -> Result<Option<Box<dyn Snapshot>>> {
        let held = self.node.database.held_snapshot().await?;
        Ok(held.map(|(tx, permit)| -> Box<dyn Snapshot> { Box::new(HeldSnapshot::new(tx, permit, project)) }))
    }

    async fn positions(&self, project: ProjectId, ids: Vec<RowId>) -> Result<Vec<Option<u64>>> {
        self.node
            .read((project, ids), |tx, (project, ids)| Box::pin(pages::positions(tx, *project, ids)))
            .await
    }

    async fn scan(
        &self,
        project: ProjectId,
        spans: Spans,
        look: ScanLook,
        mut visit: RowVisitor,
    ) -> Result<u64> {
        let _turn = self.node.long_turn(spans.rows_max()).await;
        let mut tx = self.node.database.snapshot().await?;
        let state = project_state::existing(&mut tx, project).await?;
        let mut scan = Scan::of(spans, state.next_position, look);
        while !scan.is_done() {
            scan.some(&mut tx, state.num, &mut visit).await?;
        }
        scan.check(&mut tx, state.num).await?;
        tx.commit().await?;
        Ok(state.change_seq)
    }

    async fn start_run(&self, trigger: Trigger, by: StartedBy) -> Result<Triggered> {
        run_parts::trigger(&self.node, trigger, by).await
    }

    async fn ended_runs(&self, project: ProjectId, before: u64, limit: u32) -> Result<Vec<EndedRun>> {
        ended_runs::read(&self.node.database, project, before, limit).await
    }

    async fn stop(&self, stop: Stop) -> Result<Stopped> {
        run_parts::stop(&self.node, stop).await
    }

    async fn processing_status(&self, project: ProjectId) -> Result<Option<ProcessingStatus>> {
        let Some(state) = self.node.state_batcher.state(project).await? else { return Ok(None) };
        if let Some(parsed) = self.node.documents.get(state.num, state.version) {
            return runs::processing_status_of(parsed, &state).map(Some);
        }
        let _turn = self.node.documents.read_turn(project).await;
        self.node
            .read((self.node(), project), |tx, (node, project)| {
                Box::pin(runs::processing_status(tx, &node.documents, *project))
            })
            .await
    }

    async fn lanes(&self, now_ms: i64) -> Result<Lanes> {
        work::lanes(&self.node.database, now_ms).await
    }

    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>> {
        self.node.change_bus.register_worker(claim.worker.0);
        let projects = claim.asks.iter().map(|(lane, _)| lane.project).collect();
        let input = (self.node(), claim);
        let (claimed, rows) = self
            .node
            .change(projects, Tell, input, |tx, (node, claim)| {
                Box::pin(work::claim(tx, &node.documents, &node.tokens, claim))
            })
            .await?;
        self.node.claimed_rows.put_all(rows);
        Ok(claimed)
    }

    async fn settle_and_claim(&self, settle: Settle) -> Result<Settled> {
        self.node.change_bus.register_worker(settle.worker.0);
        let projects = settle.results.iter().map(|settlement| settlement.ticket.lane.project).collect();
        let input = (self.node(), settle);
        let (settled, rows) = self
            .node
            .change(projects, Tell, input, |tx, (node, settle)| {
                let Node { documents, claimed_rows, tokens, .. } = &**node;
                Box::pin(work::settle(tx, documents, claimed_rows, tokens, settle))
            })
            .await?;
        self.node.claimed_rows.put_all(rows);
        Ok(settled)
    }

    async fn heartbeat(&self, worker: WorkerId, expires_at_ms: i64) -> Result<Vec<Ticket>> {
        self.node
            .write(Repeat, (worker, expires_at_ms), |tx, (worker, expires_at_ms)| {
                Box::pin(leases::heartbeat(tx, *worker, *expires_at_ms))
            })
            .await
    }

    async fn requeue_lost(&self, now_ms: i64) -> Result<u64> {
        self.release_workers(DepartingWorkers::Lost { now_ms }).await
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

/// A request with an idempotency key can be repeated: it is answered with what it did the first time.
fn doubt(once: Option<&IdempotentRequest>) -> CommitDoubt {
    if once.is_some() { Repeat } else { Tell }
}
