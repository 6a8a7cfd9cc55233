//! One node: what this process knows and shares between callers, and how its transactions are run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use futures_util::future::BoxFuture;
use rowmill_clock::Clock;
use rowmill_fairness::{Permit, Tenant};
use rowmill_model::ProjectId;
use rowmill_store::{Change, Result, StoreError};
use rowmill_telemetry::TraceContext;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::{Notify, RwLock, oneshot};
use uuid::Uuid;

use crate::change_bus::{ChangeBus, Outgoing};
use crate::claimed_rows::ClaimedRows;
use crate::connect::{Options, Server};
use crate::database::{Access, CommitDoubt, Database};
use crate::documents::Documents;
use crate::offset_cache::OffsetCache;
use crate::project_locks::ProjectLocks;
use crate::retryable::Attempt;
use crate::state_batcher::{StateBatcher, StateRequest};
use crate::tokens::Tokens;
use crate::transaction::Tx;
use crate::{carry, purge, schema, shared_rates};

/// How often a node does the chores that no request does.
const CHORES_EVERY: Duration = Duration::from_mins(1);
/// A read of up to this many rows is short.
const SHORT_READ_ROWS: u64 = 200;
/// Clocks that differ by less count as the same.
const SKEW_MIN_MS: i64 = 50;

#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) database: Arc<Database>,
    pub(crate) documents: Documents,
    pub(crate) state_batcher: StateBatcher,
    project_locks: ProjectLocks,
    pub(crate) change_bus: Arc<ChangeBus>,
    pub(crate) tokens: Tokens,
    pub(crate) claimed_rows: Arc<ClaimedRows>,
    pub(crate) offset_cache: OffsetCache,
    /// How far the database's clock is ahead of this machine's.
    pub(crate) skew_ms: AtomicI64,
    clock: Arc<dyn Clock>,
    /// Notified when a project was deleted.
    pub(crate) purge_pending: Notify,
    /// Shared by all writes in flight; whoever locks it alone waits for them.
    pub(crate) in_flight: RwLock<()>,
}

impl Node {
    /// Connects to the database and brings it up to date. Returns the node, and what its tasks are to serve.
    pub(crate) async fn start(
        server: &Server,
        options: Options,
    ) -> Result<(Arc<Self>, UnboundedReceiver<StateRequest>, UnboundedReceiver<Outgoing>)> {
        let database = Arc::new(Database::new(server.pool(&options)?, options.statement_timeout));
        database.check_pooler().await?;
        database.write(CommitDoubt::Repeat, (), |tx, ()| Box::pin(open_database(tx))).await?;
        let (state_batcher, requests) = StateBatcher::new(Arc::clone(&database));
        let claimed_rows = Arc::<ClaimedRows>::default();
        let (change_bus, outgoing) =
            ChangeBus::new(Uuid::from_u128(fastrand::u128(..)), Arc::clone(&claimed_rows));
        let node = Arc::new(Self {
            database,
            documents: Documents::default(),
            state_batcher,
            project_locks: ProjectLocks::default(),
            change_bus: Arc::new(change_bus),
            tokens: Tokens::default(),
            claimed_rows,
            offset_cache: OffsetCache::default(),
            skew_ms: AtomicI64::new(0),
            clock: options.clock,
            purge_pending: Notify::new(),
            in_flight: RwLock::new(()),
        });
        node.compare_clocks().await?;
        Ok((node, requests, outgoing))
    }

    /// Runs work that only reads, in one snapshot.
    pub(crate) fn read<'a, I: Send + Sync + 'a, T: Send + 'a>(
        &'a self,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'a, Result<T>> {
        self.database.read(input, attempt)
    }

    /// Runs work that changes no rows. It is finished even if its caller goes away.
    pub(crate) fn write<I, T>(
        self: &Arc<Self>,
        doubt: CommitDoubt,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'_, Result<T>>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.write_as(Access::Write, doubt, input, attempt)
    }

    /// Like `write`, but committed without waiting for the disk: if the database server crashes, the last moments of it may
    /// be lost, though never a part of a transaction.
    pub(crate) fn write_lazily<I, T>(
        self: &Arc<Self>,
        doubt: CommitDoubt,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'_, Result<T>>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        self.write_as(Access::LazyWrite, doubt, input, attempt)
    }

    fn write_as<I, T>(
        self: &Arc<Self>,
        access: Access,
        doubt: CommitDoubt,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'_, Result<T>>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let node = Arc::clone(self);
        to_completion(async move {
            let _in_flight = node.in_flight.read().await;
            node.database.write_as(access, doubt, input, attempt).await
        })
    }

    /// Runs work that changes rows of these projects, and tells listeners what it changed before it answers.
    pub(crate) fn change<I, T>(
        self: &Arc<Self>,
        projects: Vec<ProjectId>,
        doubt: CommitDoubt,
        input: I,
        attempt: Attempt<I, (T, Vec<Change>)>,
    ) -> BoxFuture<'_, Result<T>>
    where
        I: Send + Sync + 'static,
        T: Send + 'static,
    {
        let node = Arc::clone(self);
        to_completion(async move {
            let _in_flight = node.in_flight.read().await;
            let _locked = node.database.within_wait_max(node.project_locks.lock(projects)).await?;
            let (done, changes) = node.database.write(doubt, input, attempt).await?;
            node.publish(changes);
            Ok(done)
        })
    }

    fn publish(&self, changes: Vec<Change>) {
        for change in changes {
            self.claimed_rows.forget(change.project, &change.touched);
            self.change_bus.publish(change);
        }
    }

    /// Waits for the turn of a read of many rows. Few rows need none.
    pub(crate) async fn long_turn(&self, rows: u64) -> Option<Permit> {
        if rows <= SHORT_READ_ROWS { None } else { Some(self.database.long_read().await) }
    }

    /// Says why nothing can be written, if the last write told so. Tries now and then whether that is over.
    pub(crate) async fn check_writes(&self) -> Result<()> {
        let health = &self.database.health;
        if health.wants_probe(self.clock.monotonic()) {
            // How it ends is noted like the end of any other write.
            let probe = "UPDATE rowmill.migrations SET name = name WHERE version = 1";
            let _ = self.database.write(CommitDoubt::Repeat, probe, |tx, sql| Box::pin(tx.run(sql))).await;
        }
        health.check()
    }

    async fn compare_clocks(&self) -> Result<()> {
        let asked_at_ms = self.clock.now_ms();
        let answer = self
            .read((), |tx, ()| {
                Box::pin(tx.query("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8", &[]))
            })
            .await?;
        let answered_at_ms = self.clock.now_ms();
        let Some(database_ms) = answer.first().map(|row| row.get::<_, i64>(0)) else { return Ok(()) };
        let skew_ms = database_ms - i64::midpoint(asked_at_ms, answered_at_ms);
        let unsure_ms = SKEW_MIN_MS + (answered_at_ms - asked_at_ms) / 2;
        self.skew_ms.store(if skew_ms.abs() < unsure_ms { 0 } else { skew_ms }, Ordering::Relaxed);
        Ok(())
    }

    async fn purge_some(&self) -> Result<bool> {
        self.database.write(CommitDoubt::Repeat, (), |tx, ()| Box::pin(purge::sweep_some(tx))).await
    }
}

/// Migrates the database, and refuses one that `rowmill move` has not finished writing.
async fn open_database(tx: &mut Tx) -> Result<()> {
    schema::migrate(tx).await?;
    carry::check_finished(tx).await
}

/// Purges deleted projects, and now and then compares clocks and forgets old rates.
pub(crate) async fn run_chores(node: Arc<Node>) {
    loop {
        while node.purge_some().await.is_ok_and(|more| more) {}
        if tokio::time::timeout(CHORES_EVERY, node.purge_pending.notified()).await.is_err() {
            // If this fails, the offset known before stays in use.
            let _ = node.compare_clocks().await;
            let _ = node
                .database
                .write(CommitDoubt::Repeat, (), |tx, ()| Box::pin(shared_rates::forget(tx)))
                .await;
        }
    }
}

/// Runs a task to its end, for the same tenant and trace, even if the caller goes away. Both futures are boxed, so that spawning
/// and waiting are compiled once and not for every kind of task.
fn to_completion<'a, T: Send + 'static>(
    task: impl Future<Output = Result<T>> + Send + 'static,
) -> BoxFuture<'a, Result<T>> {
    let (answer, answered) = oneshot::channel();
    let task: BoxFuture<'static, ()> = Box::pin(async move {
        // A caller that has gone away wants no answer.
        let _ = answer.send(task.await);
    });
    Box::pin(async move {
        let task = TraceContext::scope(TraceContext::current(), task);
        tokio::spawn(Tenant::current().scope(task));
        let panicked = || StoreError::Backend("a write panicked and was rolled back".into());
        answered.await.unwrap_or_else(|_| Err(panicked()))
    })
}
