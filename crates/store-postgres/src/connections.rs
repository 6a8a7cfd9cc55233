//! The pool of connections, shared fairly: no team holds more than its share of them.

use std::ops::Deref;
use std::sync::Arc;

use deadpool_postgres::{ClientWrapper, Object, Pool, Status};
use rowmill_fairness::{FairSemaphore, Permit, Tenant};
use rowmill_store::{PoolStats, Result, StoreError};

use crate::connect::POOL_WAIT;
use crate::server_error::no_connection;

/// Connections reserved for the service itself: for workers, the change bus and chores.
const RESERVED: usize = 2;

#[derive(Debug)]
pub(crate) struct Connections {
    pool: Pool,
    /// Teams take turns for connections. One team uses at most half of them.
    shares: Arc<FairSemaphore>,
    /// A quarter of the connections may serve long reads, two per team.
    long_reads: Arc<FairSemaphore>,
    /// Snapshots that stay open while a client reads.
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

    /// Waits for this tenant's turn, then takes a connection.
    pub(crate) async fn get(&self) -> Result<Connection> {
        let tenant = Tenant::current();
        let permit = match tenant {
            Tenant::SERVICE => None,
            _ => Some(within_wait(self.shares.acquire(tenant)).await?),
        };
        let object = self.pool.get().await.map_err(no_connection)?;
        Ok(Connection { object, _permit: permit })
    }

    /// Waits for permission to use a connection for a long read. There is no timeout: a tenant waits here for other
    /// long reads, which come to an end, and that is no failure of the database.
    pub(crate) async fn long_read(&self) -> Permit {
        self.long_reads.acquire(Tenant::current()).await
    }

    /// Permission to keep a snapshot open; `None` if there are too many.
    pub(crate) fn try_keep(&self) -> Option<Permit> {
        self.snapshots.try_acquire(Tenant::current())
    }

    pub(crate) fn stats(&self) -> PoolStats {
        let Status { max_size, size, available, waiting } = self.pool.status();
        let count = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
        PoolStats {
            in_use: count(size.saturating_sub(available)),
            idle: count(available),
            max: Some(count(max_size)),
            waiting: count(waiting),
        }
    }

    pub(crate) fn close(&self) {
        self.pool.close();
    }
}

async fn within_wait(turn: impl Future<Output = Permit>) -> Result<Permit> {
    let waited = tokio::time::timeout(POOL_WAIT, turn).await;
    waited.map_err(|_| StoreError::Unavailable("timed out waiting for a free database connection".into()))
}

/// A connection of the pool, and the permit for it.
#[derive(Debug)]
pub(crate) struct Connection {
    object: Object,
    _permit: Option<Permit>,
}

impl Connection {
    /// Closes it instead of returning it to the pool.
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
