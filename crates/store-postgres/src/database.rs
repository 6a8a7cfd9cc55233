//! Transactions: begun, retried and committed in one place.

use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use deadpool_postgres::{Object, Pool, PoolError};
use futures_util::SinkExt as _;
use futures_util::future::BoxFuture;
use rowmill_store::{Result, StoreError};
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{CopyOutStream, Error, Row};

use crate::backend;

/// How often work is tried that met a deadlock or lost its connection.
const TRIES_MAX: u32 = 6;
const PAUSE_MIN: Duration = Duration::from_millis(5);

pub(crate) type Param = Box<dyn ToSql + Sync + Send>;
/// Sent when it is first polled.
type Request<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// The server, behind a pool of connections.
#[derive(Debug)]
pub(crate) struct Database {
    pool: Pool,
    statement_timeout: Duration,
    begin_write: String,
    begin_read: String,
}

/// What is to be done when the connection is lost while a commit is under way: nobody knows then whether
/// it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
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
            pool,
            statement_timeout,
            begin_write: format!("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {limit}"),
            begin_read: format!("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {limit}"),
        }
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }

    /// Runs work that only reads, in one snapshot.
    pub(crate) async fn read<T>(
        &self,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        self.transact(&self.begin_read, Doubt::Repeat, work).await
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
            if !passes(&failure) || tries == TRIES_MAX {
                return Err(failure);
            }
            tokio::time::sleep(pause(tries)).await;
            tries += 1;
        }
    }

    async fn ask_once(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        let mut guard = Guard(Some(self.pool.get().await.map_err(no_connection)?));
        let Some(client) = guard.0.as_ref() else { return Err(StoreError::Closed) };
        let statement = client.prepare_cached(sql).await.map_err(backend)?;
        let answer = tokio::time::timeout(self.statement_timeout, client.query(&statement, params)).await;
        let Ok(answer) = answer else {
            return Err(StoreError::Backend("a statement took longer than the database timeout".into()));
        };
        // A connection whose answer was not waited for is not used again.
        drop(guard.0.take());
        answer.map_err(backend)
    }

    /// A snapshot for reading that cannot be begun anew, because what was read has gone out already.
    pub(crate) async fn snapshot(&self) -> Result<Tx> {
        let client = self.pool.get().await.map_err(no_connection)?;
        Ok(Tx {
            client: Some(client),
            begin: Some(self.begin_read.clone()),
            copies: Vec::new(),
            last: Vec::new(),
        })
    }

    /// Runs work and commits it.
    pub(crate) async fn write<T>(
        &self,
        doubt: Doubt,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        self.transact(&self.begin_write, doubt, work).await
    }

    async fn transact<T>(
        &self,
        begin: &str,
        doubt: Doubt,
        work: impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync,
    ) -> Result<T> {
        let mut tries = 1;
        loop {
            let (failure, is_safe) = match self.attempt(begin, &work).await {
                Ok(done) => return Ok(done),
                Err(Failed::Before(failure)) => {
                    let is_safe = passes(&failure);
                    (failure, is_safe)
                }
                Err(Failed::Committing(failure)) => {
                    // What the server refused did not happen.
                    let is_safe = passes(&failure) && (doubt == Doubt::Repeat || is_refused(&failure));
                    (failure, is_safe)
                }
            };
            if !is_safe || tries == TRIES_MAX {
                return Err(failure);
            }
            tracing::debug!(%failure, tries, "a transaction is tried again");
            tokio::time::sleep(pause(tries)).await;
            tries += 1;
        }
    }

    async fn attempt<T>(
        &self,
        begin: &str,
        work: &(impl for<'t> Fn(&'t mut Tx) -> BoxFuture<'t, Result<T>> + Send + Sync),
    ) -> Result<T, Failed> {
        let client = self.pool.get().await.map_err(|error| Failed::Before(no_connection(error)))?;
        let mut tx =
            Tx { client: Some(client), begin: Some(begin.to_owned()), copies: Vec::new(), last: Vec::new() };
        match work(&mut tx).await {
            // What was read is known; that the transaction ends need not be waited for.
            Ok(done) if begin == self.begin_read => {
                tokio::spawn(tx.commit());
                Ok(done)
            }
            Ok(done) => match tx.copy().await {
                Ok(()) => tx.commit().await.map(|()| done).map_err(Failed::Committing),
                Err(failure) => {
                    tx.roll_back().await;
                    Err(Failed::Before(failure))
                }
            },
            Err(failure) => {
                tx.roll_back().await;
                Err(Failed::Before(failure))
            }
        }
    }
}

/// Longer each time.
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
    client: Option<Object>,
    /// Sent together with the first statement, which saves a round trip.
    begin: Option<String>,
    /// Rows for COPY, sent before the writes below.
    copies: Vec<(&'static str, Vec<Bytes>)>,
    /// Writes nobody waits for, sent together with the commit.
    last: Vec<(&'static str, Vec<Param>)>,
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
        let mut statements = Vec::with_capacity(questions.len());
        for (sql, _) in questions {
            statements.push(client.prepare_cached(sql).await.map_err(backend)?);
        }
        let mut sent: Vec<Request<'_, Vec<Row>>> = Vec::new();
        if let Some(begin) = &begin {
            sent.push(Box::pin(async { client.batch_execute(begin).await.map(|()| Vec::new()) }));
        }
        for (statement, (_, params)) in statements.iter().zip(questions) {
            sent.push(Box::pin(client.query(statement, params)));
        }
        let mut answers = pipelined(sent).await.map_err(backend)?;
        if begin.is_some() {
            answers.remove(0);
        }
        Ok(answers)
    }

    /// Runs statements without parameters or answers.
    pub(crate) async fn run(&mut self, sql: &str) -> Result<()> {
        let begin = self.begin.take();
        let client = self.client.as_ref().ok_or(StoreError::Closed)?;
        if let Some(begin) = begin {
            client.batch_execute(&begin).await.map_err(backend)?;
        }
        client.batch_execute(sql).await.map_err(backend)
    }

    /// Begins to copy out what a query finds.
    pub(crate) async fn copy_out(&mut self, query: &str) -> Result<CopyOutStream> {
        let begin = self.begin.take();
        let client = self.client.as_ref().ok_or(StoreError::Closed)?;
        if let Some(begin) = begin {
            client.batch_execute(&begin).await.map_err(backend)?;
        }
        let sql = format!("COPY ({query}) TO STDOUT (FORMAT binary)");
        client.copy_out(&sql).await.map_err(backend)
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
        for (sql, chunks) in copies {
            let statement = client.prepare_cached(sql).await.map_err(backend)?;
            let sink = client.copy_in::<_, Bytes>(&statement).await.map_err(backend)?;
            let mut sink = std::pin::pin!(sink);
            for chunk in chunks {
                sink.feed(chunk).await.map_err(backend)?;
            }
            sink.finish().await.map_err(backend)?;
        }
        Ok(())
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
            let mut guard = Guard(Some(client));
            let Some(client) = guard.0.as_ref() else { return Err(StoreError::Closed) };
            let ended = end(client, &last).await;
            if ended.is_ok() {
                drop(guard.0.take());
            }
            return ended.map_err(backend);
        }
        Ok(())
    }

    async fn roll_back(mut self) {
        let Some(client) = self.client.take() else { return };
        if self.begin.is_none() {
            let mut guard = Guard(Some(client));
            let Some(client) = guard.0.as_ref() else { return };
            if client.batch_execute("ROLLBACK").await.is_ok() {
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
            drop(Guard(Some(client)));
        }
    }
}

/// A connection that is thrown away, and not put back, unless it is taken out.
struct Guard(Option<Object>);

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            drop(Object::take(client));
        }
    }
}

/// Sends the last writes and the commit in one go.
async fn end(client: &Object, last: &[(&'static str, Vec<Param>)]) -> Result<(), Error> {
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

/// Whether trying again may help.
fn passes(failure: &StoreError) -> bool {
    let StoreError::Backend(cause) = failure else { return false };
    let Some(error) = cause.downcast_ref::<Error>() else { return false };
    match error.code() {
        Some(code) => {
            [
                &SqlState::T_R_SERIALIZATION_FAILURE,
                &SqlState::T_R_DEADLOCK_DETECTED,
                &SqlState::ADMIN_SHUTDOWN,
                &SqlState::CRASH_SHUTDOWN,
                &SqlState::CANNOT_CONNECT_NOW,
                &SqlState::TOO_MANY_CONNECTIONS,
            ]
            .contains(&code)
                || code.code().starts_with("08")
        }
        // Without a code it is the connection, or what was sent over it makes no sense.
        None => error.is_closed() || is_io(error),
    }
}

/// Whether the server itself said no, and goes on living.
fn is_refused(failure: &StoreError) -> bool {
    let StoreError::Backend(cause) = failure else { return false };
    let code = cause.downcast_ref::<Error>().and_then(Error::code);
    code.is_some_and(|code| code.code().starts_with("40"))
}

fn is_io(error: &Error) -> bool {
    std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<std::io::Error>)
}

fn no_connection(error: PoolError) -> StoreError {
    match error {
        PoolError::Closed => StoreError::Closed,
        PoolError::Backend(error) => backend(error),
        PoolError::Timeout(_) => {
            StoreError::Backend("no connection to the database became free in time".into())
        }
        other => StoreError::Backend(other.into()),
    }
}
