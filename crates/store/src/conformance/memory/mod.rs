//! A store in memory, as simple as possible, which the databases are compared with and the engine's simulation runs on.

mod batches;
mod change;
mod import_job;
mod imports;
mod kept_answers;
mod observe;
mod pages;
mod project;
mod project_writes;
mod received;
mod rows;
mod sessions;
mod spending;
mod state;
mod trash;
mod value_bytes;
mod warm_up;
mod webhooks;
mod work;

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use rowmill_model::integration::connected_event;
use rowmill_model::plan::{EndedRun, StartedBy};
use rowmill_model::{KeyId, ProjectId, RowId, Slug, TeamId};

use self::change::Changes;
use self::pages::only;
use self::project::MemoryProject;
use self::state::State;
use crate::error::{Result, StoreError};
use crate::processing_status::ProcessingStatus;
use crate::shared_rates::SharedRates;
use crate::spans::Spans;
use crate::store::{RowVisitor, Snapshot, Store};
use crate::types::{
    ApiKey, GuestWrite, GuestsWritten, IdempotentRequest, Inserted, LastUse, NewRows, PageStart, ProjectPage,
    ProjectSave, ProjectSummary, RowRef, RowsAt, RowsPage, SavedProject, ScanDetail, ScanLook, Sealed,
    SealedKind, SeenProject, StoredProject, StoredRow, Team, Wanted, WriteCells, WrittenCells,
};
use crate::work::{
    Claim, Claimed, Lanes, Listener, Settle, Settled, Stop, Stopped, Ticket, Trigger, Triggered, WorkerId,
};

/// Keeps everything until it is dropped: one lock, plain maps, no index. A call that can fail halfway works on a copy.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    listeners: Mutex<Vec<Listener>>,
    faults: Option<Box<dyn FaultInjection>>,
}

/// What goes wrong between a caller and the store, for those who want to see it survived.
#[async_trait]
pub trait FaultInjection: Send + Sync {
    /// Before a call is looked at. An error is the call's: nothing happened.
    async fn before(&self, call: &'static str) -> Result<()>;

    /// After a call was carried out. An error is the call's, though it did happen.
    async fn after(&self, call: &'static str) -> Result<()>;
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").finish_non_exhaustive()
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    /// A store in which every call may fail.
    pub fn with_faults(faults: impl FaultInjection + 'static) -> Self {
        Self { faults: Some(Box::new(faults)), ..Self::default() }
    }

    async fn call<T>(&self, name: &'static str, act: impl FnOnce() -> Result<T> + Send) -> Result<T>
    where
        T: Send,
    {
        let Some(faults) = &self.faults else { return act() };
        faults.before(name).await?;
        let outcome = act()?;
        faults.after(name).await?;
        Ok(outcome)
    }

    fn read<T>(&self, look: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        look(&self.state.lock())
    }

    /// A transaction that cannot fail once it has changed something.
    fn write<T>(&self, act: impl FnOnce(&mut State, &mut Changes) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        let mut changes = Changes::default();
        let outcome = act(&mut state, &mut changes)?;
        self.tell(&mut state, changes);
        Ok(outcome)
    }

    /// A transaction that may fail at any point: all of it is kept, or nothing.
    fn attempt<T>(&self, act: impl FnOnce(&mut State, &mut Changes) -> Result<T>) -> Result<T> {
        self.write(|state, changes| {
            let mut next = state.clone();
            let outcome = act(&mut next, changes)?;
            *state = next;
            Ok(outcome)
        })
    }

    fn tell(&self, state: &mut State, changes: Changes) {
        let listeners = self.listeners.lock();
        for change in changes.finish(state) {
            listeners.iter().for_each(|listener| listener(&change));
        }
    }
}

#[async_trait]
impl Store for MemoryStore {
    async fn ping(&self) -> Result<()> {
        Ok(())
    }

    async fn close(&self) -> Result<()> {
        Ok(())
    }

    async fn recall(&self, once: IdempotentRequest) -> Result<Option<String>> {
        self.read(|state| Ok(state.recall(&once)?.map(str::to_owned)))
    }

    async fn remember(&self, once: IdempotentRequest, outcome: String) -> Result<()> {
        self.write(|state, _| {
            state.remember(&once, outcome);
            Ok(())
        })
    }

    async fn forget(&self, names: Vec<[u8; 32]>) -> Result<()> {
        self.write(|state, _| state.forget(&names))
    }

    async fn bootstrap(&self, team: Team, key: ApiKey) -> Result<bool> {
        self.write(|state, _| {
            let is_empty = state.teams.is_empty();
            if is_empty {
                state.teams.push(team);
                state.keys.push(key);
            }
            Ok(is_empty)
        })
    }

    async fn create_team(&self, team: Team) -> Result<()> {
        self.write(|state, _| {
            if state.teams.iter().any(|other| other.slug == team.slug) {
                return Err(StoreError::SlugTaken);
            }
            state.teams.push(team);
            Ok(())
        })
    }

    async fn teams(&self) -> Result<Vec<Team>> {
        self.read(|state| Ok(state.teams.clone()))
    }

    async fn team(&self, id: TeamId) -> Result<Option<Team>> {
        self.read(|state| Ok(state.teams.iter().find(|team| team.id == id).cloned()))
    }

    async fn team_by_slug(&self, slug: &Slug) -> Result<Option<Team>> {
        self.read(|state| Ok(state.teams.iter().find(|team| team.slug == *slug).cloned()))
    }

    async fn rename_team(&self, id: TeamId, name: String) -> Result<bool> {
        self.write(|state, _| {
            let team = state.teams.iter_mut().find(|team| team.id == id);
            Ok(team.map(|team| team.name = name).is_some())
        })
    }

    async fn create_key(&self, key: ApiKey) -> Result<()> {
        self.write(|state, _| {
            state.keys.push(key);
            Ok(())
        })
    }

    async fn keys(&self) -> Result<Vec<ApiKey>> {
        self.read(|state| Ok(state.keys.clone()))
    }

    async fn key(&self, id: KeyId) -> Result<Option<ApiKey>> {
        self.read(|state| Ok(state.keys.iter().find(|key| key.id == id).cloned()))
    }

    async fn revoke_key(&self, id: KeyId) -> Result<bool> {
        self.write(|state, _| {
            let before = state.keys.len();
            state.keys.retain(|key| key.id != id);
            state.sessions.retain(|session| session.key != id);
            Ok(state.keys.len() < before)
        })
    }

    async fn touch_key(&self, id: KeyId, last_use: LastUse) -> Result<()> {
        self.write(|state, _| {
            if let Some(key) = state.keys.iter_mut().find(|key| key.id == id) {
                key.last_used = Some(last_use);
            }
            Ok(())
        })
    }

    async fn rotate_key(&self, old: KeyId, old_expires_at_ms: i64, new: ApiKey) -> Result<bool> {
        self.write(|state, _| {
            let Some(key) = state.keys.iter_mut().find(|key| key.id == old) else { return Ok(false) };
            key.expires_at_ms =
                Some(key.expires_at_ms.map_or(old_expires_at_ms, |at| at.min(old_expires_at_ms)));
            state.keys.push(new);
            Ok(true)
        })
    }

    async fn put_sealed(&self, team: TeamId, sealed: Sealed, count_max: u32) -> Result<()> {
        self.write(|state, _| state.put_sealed(team, sealed, count_max))
    }

    async fn sealed(&self, team: TeamId) -> Result<Vec<Sealed>> {
        self.read(|state| {
            let entry = state.sealed.iter().filter(|((other, ..), _)| *other == team);
            Ok(entry.map(|(_, sealed)| sealed.clone()).collect())
        })
    }

    async fn delete_sealed(&self, team: TeamId, kind: SealedKind, name: String) -> Result<bool> {
        self.write(|state, _| Ok(state.sealed.remove(&(team, kind, name)).is_some()))
    }

    async fn projects(
        &self,
        team: TeamId,
        folder: Option<String>,
        page: ProjectPage,
    ) -> Result<Vec<ProjectSummary>> {
        self.read(|state| {
            let mut found: Vec<&MemoryProject> = state.projects_of(team, folder.as_deref()).collect();
            found.sort_by_key(|entry| std::cmp::Reverse((entry.project.created_at_ms, entry.number)));
            let offset = usize::try_from(page.offset).unwrap_or(usize::MAX);
            Ok(found.into_iter().skip(offset).take(page.limit as usize).map(MemoryProject::summary).collect())
        })
    }

    async fn count_projects(&self, team: TeamId, folder: Option<String>) -> Result<u64> {
        self.read(|state| Ok(state.projects_of(team, folder.as_deref()).count() as u64))
    }

    async fn count_team_rows(&self, team: TeamId) -> Result<u64> {
        self.read(|state| {
            let rows: u64 = state.projects_of(team, None).map(MemoryProject::row_count).sum();
            Ok(rows + state.count_trashed_rows(team))
        })
    }

    async fn projects_with_text(&self, text: String) -> Result<Vec<ProjectId>> {
        let says = |entry: &&MemoryProject| {
            serde_json::to_string(&*entry.project).is_ok_and(|document| document.contains(&text))
        };
        self.read(|state| Ok(state.projects.values().filter(says).map(|entry| entry.project.id).collect()))
    }

    async fn project(&self, id: ProjectId) -> Result<Option<StoredProject>> {
        self.call("project", || self.read(|state| Ok(state.projects.get(&id).map(MemoryProject::stored))))
            .await
    }

    async fn save_project(&self, save: ProjectSave) -> Result<SavedProject> {
        self.attempt(|state, changes| state.save_project(changes, save))
    }

    async fn delete_project(&self, id: ProjectId, seen: Option<SeenProject>) -> Result<bool> {
        self.write(|state, changes| {
            if let (Some(seen), Some(entry)) = (seen, state.projects.get(&id)) {
                seen.check(SeenProject { version: entry.version, row_count: entry.row_count() })?;
            }
            let was_there = state.projects.remove(&id).is_some();
            state.revoke_claims(changes, |lane| lane.project == id);
            state.retries.retain(|(_, lane, _)| lane.project != id);
            Ok(was_there)
        })
    }

    async fn insert_rows(&self, rows: NewRows) -> Result<Inserted> {
        self.attempt(|state, changes| state.insert_rows(changes, rows))
    }

    async fn projects_of_event(&self, team: TeamId, event_id: String) -> Result<Vec<ProjectId>> {
        self.read(|state| {
            let follows =
                |entry: &&MemoryProject| connected_event(&entry.project.metadata) == Some(event_id.as_str());
            let mut found: Vec<&MemoryProject> = state.projects_of(team, None).filter(follows).collect();
            found.sort_by_key(|entry| entry.number);
            Ok(found.into_iter().map(|entry| entry.project.id).collect())
        })
    }

    async fn upsert_guests(&self, guests: Vec<GuestWrite>) -> Result<GuestsWritten> {
        self.attempt(|state, changes| state.upsert_guests(changes, guests))
    }

    async fn write_cells(&self, cells: WriteCells) -> Result<WrittenCells> {
        self.attempt(|state, changes| state.write_cells(changes, cells))
    }

    async fn delete_rows(&self, project: ProjectId, rows: Vec<RowId>) -> Result<u64> {
        self.write(|state, changes| state.delete_rows(changes, project, &rows))
    }

    async fn row(&self, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
        self.read(|state| {
            let entry = state.entry(project)?;
            Ok(entry.position(row).and_then(|position| entry.row(position)))
        })
    }

    async fn rows_within(
        &self,
        project: ProjectId,
        start: PageStart,
        limit: u32,
        wanted: Wanted,
    ) -> Result<RowsPage> {
        self.read(|state| Ok(state.entry(project)?.page(start, limit, &wanted)))
    }

    async fn rows_at_within(
        &self,
        project: ProjectId,
        positions: Vec<u64>,
        wanted: Wanted,
    ) -> Result<RowsAt> {
        self.read(|state| Ok(state.entry(project)?.at(positions, &wanted)))
    }

    async fn snapshot(&self, project: ProjectId) -> Result<Option<Box<dyn Snapshot>>> {
        self.read(|state| Ok(Some(Box::new(state.entry(project)?.clone()) as Box<dyn Snapshot>)))
    }

    async fn positions(&self, project: ProjectId, rows: Vec<RowId>) -> Result<Vec<Option<u64>>> {
        self.read(|state| {
            let entry = state.entry(project)?;
            Ok(rows.into_iter().map(|row| entry.position(row)).collect())
        })
    }

    async fn scan(
        &self,
        project: ProjectId,
        spans: Spans,
        look: ScanLook,
        mut visit: RowVisitor,
    ) -> Result<u64> {
        let scan = |state: &State| {
            let entry = state.entry(project)?;
            let spans = spans.tidied();
            let positions = spans.iter().flat_map(|(first, last)| entry.rows.range(first..=last));
            for position in positions.map(|(at, _)| *at) {
                let Some(row) = entry.row(position) else { continue };
                let StoredRow { id, position, values, states } = &row;
                let values = only(values.clone(), &look.slots);
                let is_whole = look.detail == ScanDetail::Whole;
                let (id, states) =
                    (is_whole.then_some(*id), (is_whole && !states.is_empty()).then_some(states));
                let row = RowRef { id, position: *position, values: values.as_bytes(), states };
                if visit(row) == ControlFlow::Break(()) {
                    break;
                }
            }
            Ok(entry.change_seq)
        };
        self.call("scan", || self.read(scan)).await
    }

    async fn start_run(&self, trigger: Trigger, by: StartedBy) -> Result<Triggered> {
        self.write(|state, changes| state.trigger(changes, &trigger, by))
    }

    async fn ended_runs(&self, project: ProjectId, before: u64, limit: u32) -> Result<Vec<EndedRun>> {
        self.read(|state| {
            let runs =
                state.projects.get(&project).into_iter().flat_map(|entry| entry.ended_runs.iter().rev());
            Ok(runs.filter(|run| run.number < before).take(limit as usize).cloned().collect())
        })
    }

    async fn stop(&self, stop: Stop) -> Result<Stopped> {
        self.write(|state, changes| state.stop(changes, &stop))
    }

    async fn processing_status(&self, project: ProjectId) -> Result<Option<ProcessingStatus>> {
        self.read(|state| Ok(state.projects.get(&project).map(MemoryProject::processing_status)))
    }

    async fn lanes(&self, now_ms: i64) -> Result<Lanes> {
        self.call("lanes", || self.read(|state| Ok(state.lanes(now_ms)))).await
    }

    async fn claim(&self, claim: Claim) -> Result<Vec<Claimed>> {
        self.call("claim", || self.write(|state, changes| state.claim(changes, &claim))).await
    }

    async fn settle_and_claim(&self, settle: Settle) -> Result<Settled> {
        self.call("settle", || self.write(|state, changes| state.settle(changes, settle))).await
    }

    async fn heartbeat(&self, worker: WorkerId, expires_at_ms: i64) -> Result<Vec<Ticket>> {
        self.call("heartbeat", || {
            self.write(|state, _| {
                state.workers.insert(worker, expires_at_ms);
                Ok(state.held_by(worker))
            })
        })
        .await
    }

    async fn requeue_lost(&self, now_ms: i64) -> Result<u64> {
        self.call("requeue_lost", || self.write(|state, changes| state.requeue_lost(changes, now_ms))).await
    }

    async fn leave(&self, worker: WorkerId) -> Result<u64> {
        self.call("leave", || self.write(|state, changes| state.let_go(changes, worker, None))).await
    }

    fn shared_rates(&self) -> Option<Arc<dyn SharedRates>> {
        None
    }

    fn listen(&self, listener: Listener) {
        self.listeners.lock().push(listener);
    }
}
