//! The keeper: asks providers how batches stand, finds those again whose creation was not confirmed, and ends them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_model::{CellError, Column, TeamId};
use rowmill_providers::llm::batch::{BatchApi, RemoteBatch, RemoteState};
use rowmill_providers::{Failure, FailureKind};
use rowmill_store::batches::{Batch, BatchState};
use rowmill_store::{StoreError, Ticket};
use tokio::task::JoinSet;

use super::cell_name::CellName;
use super::results::{Read, read_results};
use super::settling::{
    ask, close, fail_cells, given_back, held, keep_lease, lease, log_panic, put_off, save,
};
use crate::cell_runner::BatchCalls;
use crate::shared::Shared;
use crate::time_left::after;

/// Batches that are looked after at the same time, and how many of them may be one team's.
const AT_ONCE_MAX: usize = 16;
const TEAM_AT_ONCE_MAX: usize = 2;
/// How long a batch is looked after before others have their turn. Reading results goes on later where it stopped.
const TURN_MAX: Duration = Duration::from_mins(10);
/// Batches at the provider that are looked into for one whose creation was not confirmed.
const CANDIDATES_MAX: usize = 100;
/// The longest wait between two questions is so many times the first.
const POLL_GROWTH_MAX: u32 = 20;
/// How long a batch that was cancelled may go on before its cells are given back.
const CANCEL_WAIT: Duration = Duration::from_hours(1);
/// How far the provider's clock may be behind ours, in seconds.
const CLOCK_SKEW: i64 = 600;
/// How long cells wait whose batch was too much for the provider's queue.
const QUEUE_WAIT: Duration = Duration::from_mins(15);

/// Looks after batches, for ever.
pub(crate) async fn keep_batches(shared: Arc<Shared>) {
    let mut running = JoinSet::new();
    let teams = Arc::new(TeamShares::default());
    while shared.runner.batches().is_some() {
        let taken = if running.len() < AT_ONCE_MAX {
            let now_ms = shared.clock.now().as_millisecond();
            shared.store.take_batch(lease(&shared), now_ms, teams.with_their_share()).await
        } else {
            Ok(None)
        };
        match taken {
            Ok(Some(batch)) => {
                let (shared, share) = (Arc::clone(&shared), TeamShares::take(&teams, batch.team));
                running.spawn(async move {
                    look_after(&shared, batch).await;
                    drop(share);
                });
                continue;
            }
            Ok(None) => {}
            Err(error) => shared.store_failed("take_batch", &error).await,
        }
        tokio::select! {
            biased;
            Some(ended) = running.join_next(), if !running.is_empty() => log_panic(ended),
            () = shared.batch_lanes.on_revoked.notified() => hurry(&shared).await,
            () = shared.clock.sleep(shared.config.look_every) => {}
        }
    }
}

/// How many batches of each team are looked after.
#[derive(Debug, Default)]
struct TeamShares(Mutex<BTreeMap<TeamId, usize>>);

/// A team's batch that is looked after. Dropping it leaves its place to another.
struct TeamShare(Arc<TeamShares>, TeamId);

impl TeamShares {
    fn take(self: &Arc<Self>, team: TeamId) -> TeamShare {
        *self.0.lock().entry(team).or_default() += 1;
        TeamShare(Arc::clone(self), team)
    }

    fn with_their_share(&self) -> BTreeSet<TeamId> {
        let shares = self.0.lock();
        shares.iter().filter(|(_, count)| **count >= TEAM_AT_ONCE_MAX).map(|(team, _)| *team).collect()
    }
}

impl Drop for TeamShare {
    fn drop(&mut self) {
        let mut shares = self.0.0.lock();
        if let Some(count) = shares.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                shares.remove(&self.1);
            }
        }
    }
}

/// Batches that have lost all their cells are looked after at once: they are to be cancelled.
async fn hurry(shared: &Shared) {
    for project in shared.batch_lanes.take_revoked() {
        let found = async {
            for batch in shared.store.batches(Some(project)).await? {
                let is_new = batch.record.cancelled_at_ms.is_none();
                if is_new
                    && batch.record.state == BatchState::Waiting
                    && held(shared, &batch).await?.is_empty()
                {
                    let now_ms = shared.clock.now().as_millisecond();
                    return shared.store.hurry_batches(project, now_ms).await;
                }
            }
            Ok(())
        };
        if let Err(error) = found.await {
            tracing::warn!(%error, "could not look for batches to cancel");
        }
    }
}

async fn look_after(shared: &Shared, batch: Batch) {
    let id = batch.id;
    let mut keeping = Keeping { shared, batch: batch.clone() };
    let kept = tokio::select! {
        biased;
        kept = keeping.look() => Some(kept),
        () = keep_lease(shared, &batch) => Some(Ok(())),
        () = shared.clock.sleep(TURN_MAX) => None,
    };
    let kept = match kept {
        Some(kept) => kept,
        None => keeping.wait().await,
    };
    if let Err(error) = kept {
        // Whoever finds it next goes on.
        tracing::warn!(%error, batch = %id, "a batch could not be looked after");
    }
}

struct Keeping<'a> {
    shared: &'a Shared,
    batch: Batch,
}

impl Keeping<'_> {
    async fn look(&mut self) -> Result<(), StoreError> {
        let Some(calls) = self.shared.runner.batches() else { return Ok(()) };
        let column = self.column().await?;
        let api = match calls.api(self.batch.team, &self.batch.record.provider).await {
            Ok(api) => api,
            Err(_) if self.batch.record.state == BatchState::Preparing => {
                return close(self.shared, &self.batch).await;
            }
            Err(failure) => return self.fails(column.as_ref(), &failure).await,
        };
        match self.batch.record.state {
            // Whoever made it is gone. Nothing was paid for.
            BatchState::Preparing => self.end(&api, &[]).await,
            BatchState::Creating => self.find(&api).await,
            BatchState::Waiting => self.poll(calls, &api, column.as_ref()).await,
        }
    }

    /// The column as it is now; nothing if it or its project is gone.
    async fn column(&self) -> Result<Option<Column>, StoreError> {
        let lane = self.batch.lane;
        let stored = self.shared.store.project(lane.project).await?;
        let columns = stored.into_iter().flat_map(|stored| stored.project.table.columns.clone());
        Ok(columns.into_iter().find(|column| column.slot == lane.slot))
    }

    fn sent_at(&self) -> Timestamp {
        let record = &self.batch.record;
        let sent_at_ms = record.sent_at_ms.unwrap_or(record.since_ms);
        Timestamp::from_millisecond(sent_at_ms).unwrap_or(Timestamp::MIN)
    }

    /// Looks for a batch whose creation was not confirmed.
    async fn find(&mut self, api: &BatchApi) -> Result<(), StoreError> {
        let (sent_at, now) = (self.sent_at(), self.shared.clock.now());
        // Nobody makes it any more: whoever did gave it back, or lost the lease.
        let sought_since_ms = *self.batch.record.sought_since_ms.get_or_insert(now.as_millisecond());
        let sought_since = Timestamp::from_millisecond(sought_since_ms).unwrap_or(now);
        let found = match ask(&self.batch, api.recent(sent_at.as_second().saturating_sub(CLOCK_SKEW))).await {
            Ok(found) => found,
            Err(failure) => {
                tracing::warn!(error = %failure, "could not look for a batch at its provider");
                let is_over = now >= after(sent_at, self.shared.config.batch.wait_max);
                return if is_over { self.end(api, &[]).await } else { self.wait().await };
            }
        };
        let marker = self.batch.id.simple().to_string();
        let own = found.iter().find(|remote| remote.marker.as_ref() == Some(&marker));
        let (mut own, mut may_be_there) = (own.cloned(), false);
        if own.is_none() {
            for remote in self.candidates(found).await? {
                match self.is_own(api, &remote).await {
                    Some(true) => {
                        own = Some(remote);
                        break;
                    }
                    Some(false) => {}
                    None => may_be_there = true,
                }
            }
        }
        if let Some(remote) = own {
            tracing::info!(batch = %self.batch.id, "found a batch whose creation was not confirmed");
            self.batch.record.state = BatchState::Waiting;
            self.batch.record.remote = Some(remote.id);
            self.batch.record.polls = 0;
            return self.give_back(now).await;
        }
        if may_be_there || now < after(sought_since, self.shared.config.batch.doubt) {
            return self.wait().await;
        }
        // Nobody knows of it: its cells go into another batch.
        self.end(api, &[]).await
    }

    /// Those without our name that may be it: created at that time, with as many requests, and nobody else's.
    async fn candidates(&self, found: Vec<RemoteBatch>) -> Result<Vec<RemoteBatch>, StoreError> {
        let known = self.shared.store.batches(None).await?;
        let known: BTreeSet<String> = known.into_iter().filter_map(|batch| batch.record.remote).collect();
        let cells = self.batch.record.cells;
        let may_be = |remote: &RemoteBatch| {
            remote.marker.is_none()
                && remote.count.is_none_or(|count| count == cells)
                && !known.contains(&remote.id)
        };
        Ok(found.into_iter().filter(may_be).take(CANDIDATES_MAX).collect())
    }

    /// Whether a batch is this one, by the names of its cells. They are not told before it has ended.
    async fn is_own(&self, api: &BatchApi, remote: &RemoteBatch) -> Option<bool> {
        let place = remote.results.first()?;
        let mut results = ask(&self.batch, api.results(place)).await.ok()?;
        for _ in 0..3 {
            match results.next().await.ok()? {
                Some(Some(result)) => return Some(CellName::is_of(&result.custom_id, self.batch.id)),
                Some(None) => {}
                None => return Some(false),
            }
        }
        Some(false)
    }

    /// Asks how a batch stands.
    async fn poll(
        &mut self,
        calls: &dyn BatchCalls,
        api: &BatchApi,
        column: Option<&Column>,
    ) -> Result<(), StoreError> {
        let held = held(self.shared, &self.batch).await?;
        let Some(id) = self.batch.record.remote.clone() else { return self.end(api, &[]).await };
        let now = self.shared.clock.now();
        let is_overdue = now >= after(self.sent_at(), self.shared.config.batch.wait_max);
        if (held.is_empty() || is_overdue) && self.batch.record.cancelled_at_ms.is_none() {
            if let Err(failure) = ask(&self.batch, api.cancel(&id)).await {
                tracing::debug!(error = %failure, "a batch could not be cancelled");
            }
            self.batch.record.cancelled_at_ms = Some(now.as_millisecond());
            self.batch.record.polls = 0;
            if !save(self.shared, &self.batch, lease(self.shared), now).await? {
                return Ok(());
            }
        }
        let remote = match ask(&self.batch, api.status(&id)).await {
            Ok(remote) => remote,
            Err(failure) => return self.fails(column, &failure).await,
        };
        match &remote.state {
            RemoteState::Running if self.has_given_up(now) => {
                let words = "The provider did not finish the batch in time.";
                let failure = Failure { is_transient: true, ..Failure::new(FailureKind::TimedOut, words) };
                self.fail(api, column, &held, &failure).await
            }
            RemoteState::Running => self.wait().await,
            RemoteState::Failed(failure) if failure.kind == FailureKind::RateLimited => {
                self.shared.batch_lanes.too_many(self.batch.lane, self.batch.record.cells);
                let error = CellError { code: failure.kind.code(), message: failure.message.clone() };
                put_off(self.shared, &self.batch, &held, after(now, QUEUE_WAIT), Some(error)).await?;
                self.end(api, &[]).await
            }
            RemoteState::Failed(failure) => self.fail(api, column, &held, failure).await,
            RemoteState::Ended => self.read(calls, api, column, &remote, held).await,
        }
    }

    async fn read(
        &mut self,
        calls: &dyn BatchCalls,
        api: &BatchApi,
        column: Option<&Column>,
        remote: &RemoteBatch,
        held: BTreeSet<Ticket>,
    ) -> Result<(), StoreError> {
        // Nobody wants the results of a column that is gone, nor knows what they cost.
        let Some(column) = column else { return self.end(api, &remote.results).await };
        match read_results(self.shared, calls, api, column, &mut self.batch, remote, held).await? {
            Read::All(missing) => {
                let words = "The batch ended without a result for this cell.";
                let failure =
                    Failure { is_transient: true, ..Failure::new(FailureKind::ProviderError, words) };
                fail_cells(self.shared, &self.batch, column, &missing, &failure).await?;
                self.shared.batch_lanes.succeeded(self.batch.lane);
                self.end(api, &remote.results).await
            }
            Read::Failed(failure) => self.fails(Some(column), &failure).await,
            Read::Lost => Ok(()),
        }
    }

    /// Whether a batch that was cancelled has gone on for too long.
    fn has_given_up(&self, now: Timestamp) -> bool {
        let cancelled = self.batch.record.cancelled_at_ms.and_then(|at| Timestamp::from_millisecond(at).ok());
        let wait = CANCEL_WAIT.min(self.shared.config.batch.wait_max);
        cancelled.is_some_and(|cancelled| now >= after(cancelled, wait))
    }

    /// A question that failed is asked again, but not for ever.
    async fn fails(&mut self, column: Option<&Column>, failure: &Failure) -> Result<(), StoreError> {
        tracing::warn!(error = %failure, batch = %self.batch.id, "could not ask how a batch stands");
        let now = self.shared.clock.now();
        let wait_max = self.shared.config.batch.wait_max + CANCEL_WAIT.min(self.shared.config.batch.wait_max);
        if now < after(self.sent_at(), wait_max) {
            return self.wait().await;
        }
        let held = held(self.shared, &self.batch).await?;
        if let Some(column) = column {
            fail_cells(self.shared, &self.batch, column, &held, failure).await?;
        }
        close(self.shared, &self.batch).await
    }

    /// Ends a batch that has no results.
    async fn fail(
        &self,
        api: &BatchApi,
        column: Option<&Column>,
        held: &BTreeSet<Ticket>,
        failure: &Failure,
    ) -> Result<(), StoreError> {
        if let Some(column) = column {
            fail_cells(self.shared, &self.batch, column, held, failure).await?;
        }
        self.end(api, &[]).await
    }

    /// Forgets a batch, and deletes its files at the provider.
    async fn end(&self, api: &BatchApi, results: &[String]) -> Result<(), StoreError> {
        close(self.shared, &self.batch).await?;
        for file in self.batch.record.file.iter().chain(results) {
            if let Err(failure) = ask(&self.batch, api.delete_file(file)).await {
                tracing::debug!(error = %failure, "a file of a batch could not be deleted");
            }
        }
        Ok(())
    }

    /// Comes back later: the longer it takes, the later.
    async fn wait(&mut self) -> Result<(), StoreError> {
        let polls = self.batch.record.polls;
        self.batch.record.polls = polls.saturating_add(1);
        let growth = 1.5_f64.powi(i32::try_from(polls.min(20)).unwrap_or_default());
        let growth = growth.min(f64::from(POLL_GROWTH_MAX)) * (0.9 + 0.2 * self.shared.random().f64());
        let due_at = after(self.shared.clock.now(), self.shared.config.batch.poll.mul_f64(growth));
        self.give_back(due_at).await
    }

    /// Saves the batch and leaves it to whoever looks after it next.
    async fn give_back(&self, due_at: Timestamp) -> Result<(), StoreError> {
        save(self.shared, &self.batch, given_back(self.shared), due_at).await.map(|_| ())
    }
}
