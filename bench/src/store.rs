//! Which database is measured, and a fresh one of its kind.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rowmill_store::Store;
use rowmill_store_postgres::{Options, PostgresStore};
use rowmill_store_sqlite::{Access, SqliteStore};

use crate::any_result::AnyResult;
use crate::postgres::cluster::Cluster;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    Sqlite,
    Postgres,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres => "PostgreSQL",
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Backend {
    Sqlite,
    Postgres(Arc<Cluster>),
}

impl Backend {
    pub(crate) fn kind(&self) -> Kind {
        match self {
            Self::Sqlite => Kind::Sqlite,
            Self::Postgres(_) => Kind::Postgres,
        }
    }

    /// Where a new service keeps its data: this folder, and a database of its own if need be.
    pub(crate) fn place(&self, data: &Path) -> AnyResult<DataLocation> {
        let database = match self {
            Self::Sqlite => None,
            Self::Postgres(cluster) => Some(Database::create(cluster)?),
        };
        Ok(DataLocation { data: data.to_owned(), database })
    }
}

/// Where data is. A database goes when this does.
#[derive(Debug)]
pub(crate) struct DataLocation {
    pub(crate) data: PathBuf,
    database: Option<Database>,
}

impl DataLocation {
    /// A node's own folder, on a database that several share.
    pub(crate) fn shared(data: &Path, url: &str) -> Self {
        Self { data: data.to_owned(), database: Some(Database { cluster: None, url: url.to_owned() }) }
    }

    pub(crate) fn url(&self) -> Option<&str> {
        self.database.as_ref().map(|database| database.url.as_str())
    }

    /// The store that lies here, without a service.
    pub(crate) async fn open(&self) -> AnyResult<Arc<dyn Store>> {
        Ok(match self.url() {
            Some(url) => Arc::new(PostgresStore::connect(url, Options::default()).await?),
            None => Arc::new(SqliteStore::open(&self.data, Access::Serve)?),
        })
    }
}

#[derive(Debug)]
struct Database {
    /// None if somebody else sees to it.
    cluster: Option<Arc<Cluster>>,
    url: String,
}

impl Database {
    fn create(cluster: &Arc<Cluster>) -> AnyResult<Self> {
        Ok(Self { url: cluster.create()?, cluster: Some(Arc::clone(cluster)) })
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(cluster) = &self.cluster {
            let _ = cluster.remove(&self.url);
        }
    }
}
