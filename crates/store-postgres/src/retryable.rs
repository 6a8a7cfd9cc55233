//! Retryable work: what a transaction does, in a form that can be tried again from the beginning.

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use rowmill_store::{Result, StoreError};

use crate::transaction::Tx;

/// One attempt at some work. Everything it needs is in the input, which every attempt sees unchanged.
pub(crate) type Attempt<I, T> = for<'t> fn(&'t mut Tx, &'t I) -> BoxFuture<'t, Result<T>>;

/// Work as the retry loop sees it: without the types of its input and output, so that the loop is compiled once.
#[async_trait]
pub(crate) trait Retryable: Send {
    async fn attempt(&mut self, tx: &mut Tx) -> Result<()>;
}

/// Work, its input and the output of the last attempt that came to its end.
pub(crate) struct Work<I, T> {
    input: I,
    attempt: Attempt<I, T>,
    done: Option<T>,
}

impl<I, T> Work<I, T> {
    pub(crate) fn new(input: I, attempt: Attempt<I, T>) -> Self {
        Self { input, attempt, done: None }
    }

    pub(crate) fn into_done(self) -> Result<T> {
        self.done.ok_or_else(|| StoreError::Backend("a transaction ended without a result".into()))
    }
}

#[async_trait]
impl<I: Send + Sync, T: Send> Retryable for Work<I, T> {
    async fn attempt(&mut self, tx: &mut Tx) -> Result<()> {
        self.done = Some((self.attempt)(tx, &self.input).await?);
        Ok(())
    }
}
