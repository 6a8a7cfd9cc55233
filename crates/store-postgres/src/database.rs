//! Transactions: begun, retried and committed in one place.

use std::time::Duration;

use deadpool_postgres::Pool;
use futures_util::future::BoxFuture;
use rowmill_fairness::Permit;
use rowmill_store::{PoolStats, Result, StoreError, WriteHealth};
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;

use crate::connections::{Connections, DiscardOnDrop};
use crate::retryable::{Attempt, Retryable, Work};
use crate::server_error::{answered_within, code, is_refused, is_transient, is_usable};
use crate::transaction::{ANSWER_GRACE, Tx};

/// How often a transaction is tried that met a deadlock or lost its connection.
const TRIES_MAX: u32 = 6;
const PAUSE_MIN: Duration = Duration::from_millis(5);

const POOLER: &str = "the database URL points to a connection pooler in transaction mode without support for prepared \
 statements; use PgBouncer 1.21 or later with max_prepared_statements above 0, set its pool_mode to \
 session, or connect to PostgreSQL directly";

const WRITE: &str = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";

/// The server, behind a pool of connections.
#[derive(Debug)]
pub(crate) struct Database {
    connections: Connections,
    /// How long to wait for an answer of the server.
    wait_max: Duration,
    /// Whether the server's disk takes writes.
    pub(crate) health: WriteHealth,
    begin_write: String,
    begin_lazy_write: String,
    begin_read: String,
}

/// What to do if the connection is lost during a commit: nobody knows then whether it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitDoubt {
    /// Tell the caller.
    Tell,
    /// Do it again: doing it twice is the same as once.
    Repeat,
}

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// Commits without waiting for the disk.
    LazyWrite,
}

impl Database {
    pub(crate) fn new(pool: Pool, statement_timeout: Duration) -> Self {
        // Settings of the transaction, not of the session: behind a pooler the session is not ours.
        let limit = format!("SET LOCAL statement_timeout = {}", statement_timeout.as_millis());
        Self {
            connections: Connections::new(pool),
            wait_max: statement_timeout + ANSWER_GRACE,
            health: WriteHealth::default(),
            begin_write: format!("{WRITE}; {limit}"),
            begin_lazy_write: format!("{WRITE}; {limit}; SET LOCAL synchronous_commit = off"),
            begin_read: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {limit}"),
        }
    }

    pub(crate) fn pool_stats(&self) -> PoolStats {
        self.connections.stats()
    }

    pub(crate) fn close(&self) {
        self.connections.close();
    }

    /// Refuses a pooler in transaction mode that does not support prepared statements: a later transaction would not
    /// find its statement, or find another one under its name.
    pub(crate) async fn check_pooler(&self) -> Result<()> {
        let one = self.connections.get().await?;
        let other = self.connections.get().await?;
        let asking = async {
            let statement = one.prepare("SELECT 1").await?;
            // While `other` holds the session, the pooler gives `one` another one, if it has one.
            other.batch_execute("BEGIN; SELECT 1").await?;
            one.query(&statement, &[]).await?;
            other.batch_execute("ROLLBACK").await
        };
        let asked = answered_within(ANSWER_GRACE, asking).await;
        let is_lost = |code: &SqlState| {
            [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code)
        };
        // Their state is unknown, so they are not returned to the pool.
        drop((DiscardOnDrop(Some(one)), DiscardOnDrop(Some(other))));
        match asked {
            Err(failure) if code(&failure).is_some_and(is_lost) => Err(StoreError::Backend(POOLER.into())),
            // A pooler with a single session lets nobody else in, and that is fine.
            _ => Ok(()),
        }
    }

    /// Runs work that only reads, in one snapshot.
    pub(crate) fn read<'a, I: Send + Sync + 'a, T: Send + 'a>(
        &'a self,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move {
            let mut work = Work::new(input, attempt);
            self.transact(Access::Read, CommitDoubt::Repeat, &mut work).await?;
            work.into_done()
        })
    }

    /// Runs work and commits it.
    pub(crate) fn write<'a, I: Send + Sync + 'a, T: Send + 'a>(
        &'a self,
        doubt: CommitDoubt,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'a, Result<T>> {
        self.write_as(Access::Write, doubt, input, attempt)
    }

    pub(crate) fn write_as<'a, I: Send + Sync + 'a, T: Send + 'a>(
        &'a self,
        access: Access,
        doubt: CommitDoubt,
        input: I,
        attempt: Attempt<I, T>,
    ) -> BoxFuture<'a, Result<T>> {
        Box::pin(async move {
            let mut work = Work::new(input, attempt);
            let written = self.transact(access, doubt, &mut work).await;
            self.health.note(&written);
            written?;
            work.into_done()
        })
    }

    /// Runs one statement without a transaction around it: a single statement sees one moment anyway, and this is a
    /// third of the work. The time limit is ours, because the server has none here.
    pub(crate) fn ask<'a>(
        &'a self,
        sql: &'static str,
        params: &'a [&'a (dyn ToSql + Sync)],
    ) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(async move {
            let mut tries = 1;
            loop {
                let failure = match self.ask_once(sql, params).await {
                    Ok(found) => return Ok(found),
                    Err(failure) => failure,
                };
                if !is_transient(&failure) || tries == TRIES_MAX {
                    return Err(failure);
                }
                tokio::time::sleep(pause(tries)).await;
                tries += 1;
            }
        })
    }

    async fn ask_once(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let mut guard = DiscardOnDrop(Some(self.connections.get().await?));
        let Some(client) = guard.0.as_ref() else { return Err(StoreError::Closed) };
        let asking = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, params).await
        };
        let answer = answered_within(self.wait_max, asking).await;
        // A connection whose answer did not arrive is not used again.
        if answer.as_ref().map_or_else(is_usable, |_| true) {
            drop(guard.0.take());
        }
        answer
    }

    /// A snapshot for reading that is never retried, because what was read has gone out already.
    pub(crate) fn snapshot(&self) -> BoxFuture<'_, Result<Tx>> {
        Box::pin(async move {
            let client = self.connections.get().await?;
            Ok(Tx::new(client, &self.begin_read, self.wait_max))
        })
    }

    /// A snapshot that stays readable; `None` if too many are open already.
    pub(crate) async fn held_snapshot(&self) -> Result<Option<(Tx, Permit)>> {
        let Some(permit) = self.connections.try_keep() else { return Ok(None) };
        Ok(Some((self.snapshot().await?, permit)))
    }

    /// Waits for the turn of a read that may be long.
    pub(crate) async fn long_read(&self) -> Permit {
        self.connections.long_read().await
    }

    /// Waits for something that others of this process are busy with, for as long as for the server.
    pub(crate) async fn within_wait_max<T>(&self, waiting: impl Future<Output = T>) -> Result<T> {
        let waited = tokio::time::timeout(self.wait_max, waiting).await;
        waited.map_err(|_| StoreError::Unavailable("a shared query took too long".into()))
    }

    /// Tries work until it is committed, it fails for good, or the tries are used up.
    fn transact<'a>(
        &'a self,
        access: Access,
        doubt: CommitDoubt,
        work: &'a mut dyn Retryable,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut tries = 1;
            loop {
                let (failure, is_safe) = match self.attempt(access, work).await {
                    Ok(()) => return Ok(()),
                    Err(Failed::Before(failure)) => {
                        let is_safe = is_transient(&failure);
                        (failure, is_safe)
                    }
                    Err(Failed::Committing(failure)) => {
                        // What the server refused did not happen.
                        let is_refused = is_refused(&failure);
                        let is_safe = is_transient(&failure) && (doubt == CommitDoubt::Repeat || is_refused);
                        let failure = match failure {
                            StoreError::Unavailable(cause) if !is_refused => StoreError::InDoubt(cause),
                            other => other,
                        };
                        (failure, is_safe)
                    }
                };
                if !is_safe || tries == TRIES_MAX {
                    return Err(failure);
                }
                tracing::debug!(%failure, tries, "retrying a transaction");
                tokio::time::sleep(pause(tries)).await;
                tries += 1;
            }
        })
    }

    async fn attempt(&self, access: Access, work: &mut dyn Retryable) -> Result<(), Failed> {
        let begin = match access {
            Access::Read => &self.begin_read,
            Access::Write => &self.begin_write,
            Access::LazyWrite => &self.begin_lazy_write,
        };
        let client = self.connections.get().await.map_err(Failed::Before)?;
        let mut tx = Tx::new(client, begin, self.wait_max);
        let mut worked = work.attempt(&mut tx).await;
        if worked.is_ok() && access == Access::Read {
            // What was read is known; nobody needs to wait for the end of the transaction.
            tokio::spawn(tx.commit());
            return Ok(());
        }
        if worked.is_ok() {
            worked = tx.copy().await;
        }
        match worked {
            Ok(()) => tx.commit().await.map_err(Failed::Committing),
            Err(failure) => {
                // A server that cannot be written to, or does not answer, is not asked again.
                if is_usable(&failure) {
                    tx.roll_back().await;
                }
                Err(Failed::Before(failure))
            }
        }
    }
}

/// Exponential backoff with jitter.
fn pause(tries: u32) -> Duration {
    PAUSE_MIN.mul_f64(f64::from(1_u32 << tries) * (0.5 + fastrand::f64()))
}

enum Failed {
    /// Nothing has happened.
    Before(StoreError),
    /// Something may have.
    Committing(StoreError),
}
