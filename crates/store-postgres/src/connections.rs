//! The pool of connections, shared fairly: no team holds more than its share of them.

use std::ops::Deref;
use std::sync::Arc;

use deadpool_postgres::{ClientWrapper, Object, Pool};
use rowmill_fairness::{FairSemaphore, Permit, Tenant};
use rowmill_store::{Result, StoreError};

use crate::connect::POOL_WAIT;
use crate::server_error::no_connection;

/// Connections that teams leave to the service itself: to workers, to news, to chores.
const RESERVED: usize = 2;

#[derive(Debug)]
pub(crate) struct Connections {
    pool: Pool,
    /// Teams take turns for connections, half of them each at most.
    shares: Arc<FairSemaphore>,
    /// Long reads keep a connection busy for long: a quarter of them may, two of a team.
    long_reads: Arc<FairSemaphore>,
    /// Snapshots that are kept while a client reads.
    snapshots: Arc<FairSemaphore>,
}

impl Connections {
    pub(crate) fn new(pool: Pool) -> Self {
        let size = pool.status().max_size;
        let few = (size / 4).max(1);
        Self {
            pool,
            shares: FairSemaphore::new(size.saturating_sub(RESERVED), (size / 2).max(1)),
            long_reads: FairSemaphore::new(few, few.min(2)),
            snapshots: FairSemaphore::new(few, few.min(2)),
        }
    }

    /// A connection, when this tenant has its turn.
    pub(crate) async fn get(&self) -> Result<Connection> {
        let tenant = Tenant::current();
        let permit = match tenant {
            Tenant::SERVICE => None,
            _ => Some(within_wait(self.shares.acquire(tenant)).await?),
        };
        let object = self.pool.get().await.map_err(no_connection)?;
        Ok(Connection { object, _permit: permit })
    }

    /// The right to hold a connection for a long read. Whoever waits here waits for long reads of their own, which
    /// come to an end: that is no failure of the database, however long it takes.
    pub(crate) async fn long_read(&self) -> Permit {
        self.long_reads.acquire(Tenant::current()).await
    }

    /// The right to keep a snapshot, if there is one to be had.
    pub(crate) fn try_keep(&self) -> Option<Permit> {
        self.snapshots.try_acquire(Tenant::current())
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

async fn within_wait(turn: impl Future<Output = Permit>) -> Result<Permit> {
    let waited = tokio::time::timeout(POOL_WAIT, turn).await;
    waited.map_err(|_| StoreError::Unavailable("timed out waiting for a free database connection".into()))
}

/// A connection, and the share it counts for.
#[derive(Debug)]
pub(crate) struct Connection {
    object: Object,
    _permit: Option<Permit>,
}

impl Connection {
    /// Throws it away instead of putting it back.
    pub(crate) fn discard(self) {
        drop(Object::take(self.object));
    }
}

/// A connection that is closed, and not put back into the pool, unless it is taken out.
pub(crate) struct DiscardOnDrop(pub(crate) Option<Connection>);

impl Drop for DiscardOnDrop {
    fn drop(&mut self) {
        if let Some(client) = self.0.take() {
            client.discard();
        }
    }
}

impl Deref for Connection {
    type Target = ClientWrapper;

    fn deref(&self) -> &ClientWrapper {
        &self.object
    }
}
