//! One transaction: its statements, and the writes that are sent together with the commit.

use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use futures_util::SinkExt as _;
use futures_util::future::BoxFuture;
use rowmill_store::{Result, StoreError};
use tokio_postgres::types::ToSql;
use tokio_postgres::{CopyOutStream, Error, Row};

use crate::connections::{Connection, DiscardOnDrop};
use crate::server_error::answered_within;

/// How much later than the server itself we give up on a statement.
pub(crate) const ANSWER_GRACE: Duration = Duration::from_secs(5);

pub(crate) type Param = Box<dyn ToSql + Sync + Send>;
/// Sent when it is first polled.
type Request<'a, T> = BoxFuture<'a, Result<T, Error>>;

/// One transaction. If it is dropped before its end, its connection is closed and nothing has happened.
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
    /// A transaction that begins with its first statement.
    pub(crate) fn new(client: Connection, begin: &str, wait_max: Duration) -> Self {
        let (begin, copies, last) = (Some(begin.to_owned()), Vec::new(), Vec::new());
        Self { client: Some(client), begin, copies, last, wait_max }
    }

    pub(crate) fn query<'a>(
        &'a mut self,
        sql: &'static str,
        params: &'a [&'a (dyn ToSql + Sync)],
    ) -> BoxFuture<'a, Result<Vec<Row>>> {
        Box::pin(async move {
            let mut answers = self.queries(&[(sql, params)]).await?;
            Ok(answers.pop().unwrap_or_default())
        })
    }

    /// Runs several queries in one round trip (pipelining).
    pub(crate) fn queries<'a>(
        &'a mut self,
        questions: &'a [(&'static str, &'a [&'a (dyn ToSql + Sync)])],
    ) -> BoxFuture<'a, Result<Vec<Vec<Row>>>> {
        Box::pin(async move {
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
        })
    }

    /// Runs statements without parameters or answers.
    pub(crate) fn run<'a>(&'a mut self, sql: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let begin = self.begin.take();
            let client = self.client.as_ref().ok_or(StoreError::Closed)?;
            let running = async {
                if let Some(begin) = begin {
                    client.batch_execute(&begin).await?;
                }
                client.batch_execute(sql).await
            };
            answered_within(self.wait_max, running).await
        })
    }

    /// Starts a COPY of the result of a query.
    pub(crate) fn copy_out<'a>(&'a mut self, query: &'a str) -> BoxFuture<'a, Result<CopyOutStream>> {
        Box::pin(async move {
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
        })
    }

    /// Waits for the next part of a COPY.
    pub(crate) async fn next<T>(&self, coming: impl Future<Output = Result<T, Error>>) -> Result<T> {
        answered_within(self.wait_max, coming).await
    }

    /// Copies rows into a table at the end of the transaction, before the other writes there.
    pub(crate) fn copy_at_last(&mut self, sql: &'static str, chunks: Vec<Bytes>) {
        self.copies.push((sql, chunks));
    }

    /// Adds a write that is sent together with the commit, after those added before.
    pub(crate) fn at_last(&mut self, sql: &'static str, params: Vec<Param>) {
        self.last.push((sql, params));
    }

    /// Sends what is to be copied.
    pub(crate) fn copy(&mut self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
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
        })
    }

    pub(crate) async fn commit(mut self) -> Result<()> {
        let last = std::mem::take(&mut self.last);
        if self.begin.is_some() && !last.is_empty() {
            self.run("").await?;
        }
        let is_begun = self.begin.is_none();
        let Some(client) = self.client.take() else { return Err(StoreError::Closed) };
        if is_begun {
            // Until the commit is answered the connection cannot be used for anything else: if the caller goes
            // away, it must not be returned to the pool.
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

    pub(crate) async fn roll_back(mut self) {
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
    // If a commit that waits for a standby times out, the server treats it as done, though the standby does not
    // have it. So the server has no time limit here, and we have our own.
    sent.push(Box::pin(client.batch_execute("SET LOCAL statement_timeout = 0")));
    // After a failed write this rolls back, and the error returned is the write's.
    sent.push(Box::pin(client.batch_execute("COMMIT")));
    pipelined(sent).await.map(|_| ())
}

/// Sends requests in order, before any is answered, by polling them in order. Waits for all of them and returns the
/// first error.
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
