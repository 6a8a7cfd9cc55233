//! Transactions: begun, retried and committed in one place.

use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::{Pool, PoolError};
use futures_util::SinkExt as _;
use futures_util::future::BoxFuture;
use rowmill_fairness::Permit;
use rowmill_store::{Result, StoreError};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{CopyOutStream, Error, Row};

use crate::connections::{Connection, Connections};

/// How often work is tried that met a deadlock or lost its connection.
const TRIES_MAX: u32 = 6;
const PAUSE_MIN: Duration = Duration::from_millis(5);
/// How much later than the server itself we give up on a statement.
const ANSWER_GRACE: Duration = Duration::from_secs(5);

const POOLER: &str = "the database URL points to a connection pooler in transaction mode without support for prepared \
 statements; use PgBouncer 1.21 or later with max_prepared_statements above 0, set its pool_mode to \
 session, or connect to PostgreSQL directly";

pub(crate) type Param = Box<dyn ToSql + Sync + Send>;
/// Sent when it is first polled.
type Request<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// The server, behind a pool of connections.
#[derive(Debug)]
pub(crate) struct Database {
    connections: Connections,
    /// How long a server that does not answer is waited for.
    wait_max: Duration,
    begin_write: String,
    begin_read: String,
}

/// What is to be done when the connection is lost while a commit is under way: nobody knows then whether
/// it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommitDoubt {
    /// Tell the caller.
    Tell,
    /// Do it again: done twice is as done once.
    Repeat,
}

impl Database {
    pub(crate) fn new(pool: Pool, statement_timeout: Duration) -> Self {
        // Settings of the transaction, not of the session: behind a pooler the session is not ours.
        let limit = format!("SET LOCAL statement_timeout = {}", statement_timeout.as_millis());
        Self {
            connections: Connections::new(pool),
            wait_max: statement_timeout + ANSWER_GRACE,
            begin_write: format!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {limit}"),
            begin_read: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {limit}"),
        }
    }

    pub(crate) fn close(&self) {
        self.connections.close();
    }

    /// Refuses a pooler that gives every transaction another session and takes no notice of prepared statements:
    /// what was prepared is not there the next time, or something else is, at some time or other.
    pub(crate) async fn check_pooler(&self) -> Result<()> {
        let one = self.connections.get().await?;
        let other = self.connections.get().await?;
        let asking = async {
            let statement = one.prepare("SELECT 1").await?;
            // While the other has the session, the first is given another one, if it is given one at all.
            other.batch_execute("BEGIN; SELECT 1").await?;
            one.query(&statement, &[]).await?;
            other.batch_execute("ROLLBACK").await
        };
        let asked = answered_within(ANSWER_GRACE, asking).await;
        let is_lost = |code: &SqlState| {
            [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT].contains(code)
        };
        // In whatever state they are, nobody is to have them.
        drop((DiscardOnDrop(Some(one)), DiscardOnDrop(Some(other))));
        match asked {
            Err(failure) if code(&failure).is_some_and(is_lost) => Err(StoreError::Backend(POOLER.into())),
            // A pooler with a single session lets nobody in beside the first, and that is well.
            _ => Ok(()),
        }
    }

    /// Runs work that only reads, in one snapshot.
    pub(crate) async fn read<T>(
        &self,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        self.transact(&self.begin_read, CommitDoubt::Repeat, work).await
    }

    /// Asks one thing, without a transaction around it: a statement by itself sees one moment, and that is a
    /// third of the work. Its time is taken here.
    pub(crate) async fn ask(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
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
    }

    async fn ask_once(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let mut guard = DiscardOnDrop(Some(self.connections.get().await?));
        let Some(client) = guard.0.as_ref() else { return Err(StoreError::Closed) };
        let asking = async {
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, params).await
        };
        let answer = answered_within(self.wait_max, asking).await;
        // A connection whose answer was not waited for is not used again.
        if answer.as_ref().map_or_else(is_usable, |_| true) {
            drop(guard.0.take());
        }
        answer
    }

    /// A snapshot for reading that cannot be begun anew, because what was read has gone out already.
    pub(crate) async fn snapshot(&self) -> Result<Tx> {
        let client = self.connections.get().await?;
        Ok(self.tx(client, &self.begin_read))
    }

    /// A moment that is kept readable; `None` if too many are kept already.
    pub(crate) async fn held_snapshot(&self) -> Result<Option<(Tx, Permit)>> {
        let Some(permit) = self.connections.try_keep() else { return Ok(None) };
        Ok(Some((self.snapshot().await?, permit)))
    }

    /// Waits for the turn of a read that may be long.
    pub(crate) async fn long_read(&self) -> Permit {
        self.connections.long_read().await
    }

    fn tx(&self, client: Connection, begin: &str) -> Tx {
        let (begin, copies, last) = (Some(begin.to_owned()), Vec::new(), Vec::new());
        Tx { client: Some(client), begin, copies, last, wait_max: self.wait_max }
    }

    /// Waits for something that others of this process are busy with, for as long as for the server.
    pub(crate) async fn within_wait_max<T>(&self, waiting: impl Future<Output = T>) -> Result<T> {
        let waited = tokio::time::timeout(self.wait_max, waiting).await;
        waited.map_err(|_| StoreError::Unavailable("a shared query took too long".into()))
    }

    /// Runs work and commits it.
    pub(crate) async fn write<T>(
        &self,
        doubt: CommitDoubt,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        self.transact(&self.begin_write, doubt, work).await
    }

    async fn transact<T>(
        &self,
        begin: &str,
        doubt: CommitDoubt,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        let mut tries = 1;
        loop {
            let (failure, is_safe) = match self.attempt(begin, &work).await {
                Ok(done) => return Ok(done),
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
    }

    async fn attempt<T>(
        &self,
        begin: &str,
        work: &(impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync),
    ) -> Result<T, Failed> {
        let client = self.connections.get().await.map_err(Failed::Before)?;
        let mut tx = self.tx(client, begin);
        match work(&mut tx).await {
            // What was read is known; that the transaction ends need not be waited for.
            Ok(done) if begin == self.begin_read => {
                tokio::spawn(tx.commit());
                Ok(done)
            }
            Ok(done) => match tx.copy().await {
                Ok(()) => tx.commit().await.map(|()| done).map_err(Failed::Committing),
                Err(failure) => {
                    if is_usable(&failure) {
                        tx.roll_back().await;
                    }
                    Err(Failed::Before(failure))
                }
            },
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

/// One transaction. Dropped before its end, it takes its connection down, and nothing has happened.
pub(crate) struct Tx {
    client: Option<Connection>,
    /// Sent together with the first statement, which saves a round trip.
    begin: Option<String>,
    /// Rows for COPY, sent before the writes below.
    copies: Vec<(&'static str, Vec<Bytes>)>,
    /// Writes nobody waits for, sent together with the commit.
    last: Vec<(&'static str, Vec<Param>)>,
    wait_max: Duration,
}

impl Tx {
    pub(crate) async fn query(
        &mut self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        let mut answers = self.queries(&[(sql, params)]).await?;
        Ok(answers.pop().unwrap_or_default())
    }

    /// Asks several things at the cost of one round trip.
    pub(crate) async fn queries(
        &mut self,
        questions: &[(&'static str, &[&(dyn ToSql + Sync)])],
    ) -> Result<Vec<Vec<Row>>> {
        let begin = self.begin.take();
        let client = self.client.as_ref().ok_or(StoreError::Closed)?;
        let asking = async {
            let mut statements = Vec::with_capacity(questions.len());
            for (sql, _) in questions {
                statements.push(client.prepare_cached(sql).await?);
            }
            let mut sent: Vec<Request<'_, Vec<Row>>> = Vec::new();
            if let Some(begin) = &begin {
                sent.push(Box::pin(async { client.batch_execute(begin).await.map(|()| Vec::new()) }));
            }
            for (statement, (_, params)) in statements.iter().zip(questions) {
                sent.push(Box::pin(client.query(statement, params)));
            }
            pipelined(sent).await
        };
        let mut answers = answered_within(self.wait_max, asking).await?;
        if begin.is_some() {
            answers.remove(0);
        }
        Ok(answers)
    }

    /// Runs statements without parameters or answers.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<()> {
        let begin = self.begin.take();
        let client = self.client.as_ref().ok_or(StoreError::Closed)?;
        let running = async {
            if let Some(begin) = begin {
                client.batch_execute(&begin).await?;
            }
            client.batch_execute(sql).await
        };
        answered_within(self.wait_max, running).await
    }

    /// Begins to copy out what a query finds.
    pub(crate) async fn copy_out(&mut self, query: &str) -> Result<CopyOutStream> {
        let begin = self.begin.take();
        let client = self.client.as_ref().ok_or(StoreError::Closed)?;
        let sql = format!("COPY ({query}) TO STDOUT (FORMAT binary)");
        let copying = async {
            if let Some(begin) = begin {
                client.batch_execute(&begin).await?;
            }
            client.copy_out(&sql).await
        };
        answered_within(self.wait_max, copying).await
    }

    /// Waits for the next of what is copied out.
    pub(crate) async fn next<T>(&self, coming: impl Future<Output = Result<T, Error>>) -> Result<T> {
        answered_within(self.wait_max, coming).await
    }

    /// Copies rows at the end, before all that is written there.
    pub(crate) fn copy_at_last(&mut self, sql: &'static str, chunks: Vec<Bytes>) {
        self.copies.push((sql, chunks));
    }

    /// Writes at the end, in the order given, together with the commit.
    pub(crate) fn at_last(&mut self, sql: &'static str, params: Vec<Param>) {
        self.last.push((sql, params));
    }

    /// Sends what is to be copied.
    async fn copy(&mut self) -> Result<()> {
        let copies = std::mem::take(&mut self.copies);
        if self.begin.is_some() && !copies.is_empty() {
            self.run("").await?;
        }
        let client = self.client.as_ref().ok_or(StoreError::Closed)?;
        let copying = async {
            for (sql, chunks) in copies {
                let statement = client.prepare_cached(sql).await?;
                let sink = client.copy_in::<_, Bytes>(&statement).await?;
                let mut sink = std::pin::pin!(sink);
                for chunk in chunks {
                    sink.feed(chunk).await?;
                }
                sink.finish().await?;
            }
            Ok(())
        };
        answered_within(self.wait_max, copying).await
    }

    pub(crate) async fn commit(mut self) -> Result<()> {
        let last = std::mem::take(&mut self.last);
        if self.begin.is_some() && !last.is_empty() {
            self.run("").await?;
        }
        let is_begun = self.begin.is_none();
        let Some(client) = self.client.take() else { return Err(StoreError::Closed) };
        if is_begun {
            // Until this is through the connection is in the middle of something: a caller that goes away
            // must not leave it to the next.
            let mut guard = DiscardOnDrop(Some(client));
            let Some(client) = guard.0.as_ref() else { return Err(StoreError::Closed) };
            let ended = answered_within(self.wait_max, end(client, &last)).await;
            if ended.is_ok() {
                drop(guard.0.take());
            }
            return ended;
        }
        Ok(())
    }

    async fn roll_back(mut self) {
        let Some(client) = self.client.take() else { return };
        if self.begin.is_none() {
            let mut guard = DiscardOnDrop(Some(client));
            let Some(client) = guard.0.as_ref() else { return };
            if answered_within(ANSWER_GRACE, client.batch_execute("ROLLBACK")).await.is_ok() {
                drop(guard.0.take());
            }
        }
    }
}

impl Drop for Tx {
    fn drop(&mut self) {
        if let Some(client) = self.client.take()
            && self.begin.is_none()
        {
            drop(DiscardOnDrop(Some(client)));
        }
    }
}

/// A connection that is thrown away, and not put back, unless it is taken out.
struct DiscardOnDrop(Option<Connection>);

impl Drop for DiscardOnDrop {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            client.discard();
        }
    }
}

/// Sends the last writes and the commit in one go.
async fn end(client: &Connection, last: &[(&'static str, Vec<Param>)]) -> Result<(), Error> {
    let mut statements = Vec::with_capacity(last.len());
    for (sql, _) in last {
        statements.push(client.prepare_cached(sql).await?);
    }
    let params: Vec<Vec<&(dyn ToSql + Sync)>> = last
        .iter()
        .map(|(_, params)| params.iter().map(|param| -> &(dyn ToSql + Sync) { &**param }).collect())
        .collect();
    let mut sent: Vec<Request<'_, ()>> = Vec::new();
    for (statement, params) in statements.iter().zip(&params) {
        sent.push(Box::pin(async { client.execute(statement, params).await.map(|_| ()) }));
    }
    // A commit that waits for a standby and runs out of time is taken for done by the server, though the
    // standby has not got it. So it is left to wait, and to us to run out of patience.
    sent.push(Box::pin(client.batch_execute("SET LOCAL statement_timeout = 0")));
    // After a write that failed this rolls back, and the write's failure is what is told.
    sent.push(Box::pin(client.batch_execute("COMMIT")));
    pipelined(sent).await.map(|_| ())
}

/// Polls requests in order, so that they are sent in order, before any is answered. All are waited for;
/// the first failure is told.
async fn pipelined<T>(mut sent: Vec<Request<'_, T>>) -> Result<Vec<T>, Error> {
    let mut answers: Vec<Option<Result<T, Error>>> = sent.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        let mut is_done = true;
        for (request, answer) in sent.iter_mut().zip(&mut answers) {
            if answer.is_none() {
                match request.as_mut().poll(context) {
                    Poll::Ready(outcome) => *answer = Some(outcome),
                    Poll::Pending => is_done = false,
                }
            }
        }
        if is_done { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    answers.into_iter().flatten().collect()
}

/// A failure of the server's, told as what the caller can do about it.
pub(crate) fn backend(error: Error) -> StoreError {
    let is_away = match error.code() {
        Some(code) => TRANSIENT.contains(&code) || code.code().starts_with("08"),
        // Without a code it is the connection, or what was sent over it makes no sense.
        None => error.is_closed() || is_io(&error),
    };
    let words = Box::new(ServerError(error));
    if is_away { StoreError::Unavailable(words) } else { StoreError::Backend(words) }
}

/// A failure in the server's own words: the library says no more than that there was one.
#[derive(Debug)]
struct ServerError(Error);

impl std::fmt::Display for ServerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.0.as_db_error(), std::error::Error::source(&self.0)) {
            (Some(told), _) => write!(f, "{} ({})", told.message(), told.code().code()),
            (None, Some(cause)) => write!(f, "{}: {cause}", self.0),
            (None, None) => write!(f, "{}", self.0),
        }
    }
}

impl std::error::Error for ServerError {}

/// What the server says of itself or of others, and not of what it was asked.
const TRANSIENT: &[&SqlState] = &[
    &SqlState::T_R_SERIALIZATION_FAILURE,
    &SqlState::T_R_DEADLOCK_DETECTED,
    &SqlState::ADMIN_SHUTDOWN,
    &SqlState::CRASH_SHUTDOWN,
    &SqlState::CANNOT_CONNECT_NOW,
    &SqlState::TOO_MANY_CONNECTIONS,
    // A primary that became a standby.
    &SqlState::READ_ONLY_SQL_TRANSACTION,
    // It took longer than a statement may.
    &SqlState::QUERY_CANCELED,
];

/// Whether trying again may help.
fn is_transient(failure: &StoreError) -> bool {
    matches!(failure, StoreError::Unavailable(_))
        && cause(failure).is_some_and(|error| error.code() != Some(&SqlState::QUERY_CANCELED))
}

/// Whether the server itself said no, and goes on living.
fn is_refused(failure: &StoreError) -> bool {
    code(failure).is_some_and(|code| code.code().starts_with("40"))
}

/// Whether the connection can be used again once the transaction is rolled back.
fn is_usable(failure: &StoreError) -> bool {
    match failure {
        StoreError::Unavailable(_) => {
            code(failure).is_some_and(|code| *code != SqlState::READ_ONLY_SQL_TRANSACTION)
        }
        _ => true,
    }
}

fn cause(failure: &StoreError) -> Option<&Error> {
    match failure {
        StoreError::Unavailable(cause) | StoreError::Backend(cause) => {
            cause.downcast_ref::<ServerError>().map(|words| &words.0)
        }
        _ => None,
    }
}

fn code(failure: &StoreError) -> Option<&SqlState> {
    cause(failure).and_then(Error::code)
}

/// What the server answers, if it does so in time.
pub(crate) async fn answered_within<T>(
    wait_max: Duration,
    asking: impl Future<Output = Result<T, Error>>,
) -> Result<T> {
    match tokio::time::timeout(wait_max, asking).await {
        Ok(answer) => answer.map_err(backend),
        Err(_) => Err(StoreError::Unavailable("the server does not respond".into())),
    }
}

fn is_io(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

/// Work on another thread that did not come back.
pub(crate) fn lost(failure: tokio::task::JoinError) -> StoreError {
    StoreError::Backend(failure.into())
}

pub(crate) fn no_connection(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => StoreError::Closed,
        PoolError::Backend(error) => backend(error),
        PoolError::Timeout(_) => {
            StoreError::Unavailable("timed out waiting for a free database connection".into())
        }
        other => StoreError::Backend(other.into()),
    }
}
