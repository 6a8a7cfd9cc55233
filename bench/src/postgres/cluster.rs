//! A PostgreSQL server with durable settings, and connections to it.

use std::fmt::Write as _;
use std::path::Path;

use rowmill_test_postgres::Server;
use tokio_postgres::{Client, NoTls};

use crate::any_result::AnyResult;
use crate::runtime::runtime;

/// Said in the report: what decides how much a commit costs.
const SETTINGS: [&str; 7] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
];

#[derive(Debug)]
pub(crate) struct Cluster {
    server: Server,
    about: String,
}

impl Cluster {
    /// Starts a server below this folder; none where no PostgreSQL is found.
    pub(crate) fn start(folder: &Path) -> AnyResult<Option<Self>> {
        let Some(server) = rowmill_test_postgres::durable(folder) else { return Ok(None) };
        let about = alone(async {
            let url = server.database().await;
            let client = connect(&url).await?;
            let version: String = client.query_one("SHOW server_version", &[]).await?.get(0);
            let mut about = format!("PostgreSQL {version}");
            for setting in SETTINGS {
                let value: String = client.query_one(&format!("SHOW {setting}"), &[]).await?.get(0);
                write!(about, ", {setting}={value}")?;
            }
            server.remove(&url).await;
            Ok(about)
        })?;
        Ok(Some(Self { server, about }))
    }

    /// Its version and settings, in words.
    pub(crate) fn about(&self) -> &str {
        &self.about
    }

    /// The address of a new database.
    pub(crate) fn create(&self) -> AnyResult<String> {
        alone(async { Ok(self.server.database().await) })
    }

    pub(crate) fn remove(&self, url: &str) -> AnyResult {
        alone(async {
            self.server.remove(url).await;
            Ok(())
        })
    }
}

/// A connection beside the store's.
pub(crate) async fn connect(url: &str) -> AnyResult<Client> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Waits for work on a thread of its own, from wherever it is called.
fn alone<T: Send>(work: impl Future<Output = AnyResult<T>> + Send) -> AnyResult<T> {
    std::thread::scope(|scope| {
        scope.spawn(|| runtime()?.block_on(work)).join().map_err(|_| "the server did not answer")?
    })
}
