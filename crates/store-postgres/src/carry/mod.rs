//! Moves everything from or to a database (`rowmill move`), while no node uses it.

pub(crate) mod read;
mod write;

use std::time::Duration;

use async_trait::async_trait;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_model::ProjectId;
use rowmill_store::carry::{CarriedProject, Carry, Derived, Items, Key, PageLimit, Section};
use rowmill_store::{Result, StoreError};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Row};

use crate::connect::{Options, Server};
use crate::convert::unsigned;
use crate::database::{CommitDoubt, Database};
use crate::schema;
use crate::server_error::backend;
use crate::transaction::Tx;

/// The application name of a move, which tells it apart from nodes.
const NAME: &str = "rowmill-move";
/// How long a node that was just ended may still be seen by the server.
const LEAVING_MAX: Duration = Duration::from_secs(3);
/// Names the lock that one move into a database holds (`move`).
const LOCK: i64 = 0x6d6f_7665;

/// A database that is moved from or to, over one connection.
#[derive(Debug)]
pub struct Carrier {
    client: Client,
    identity: String,
    place: String,
    /// Receives notifications. The connection is open as long as this is.
    _heard: UnboundedReceiver<AsyncMessage>,
}

impl Carrier {
    /// Opens a database to read everything that is in it. Nobody can change it meanwhile.
    pub async fn source(url: &str) -> Result<Self> {
        let server = Server::parse(url)?.named(NAME);
        let carrier = Self::connect(&server).await?;
        let sql = "SELECT to_regclass('rowmill.migrations') IS NULL";
        if carrier.is(sql).await? {
            let words = format!("{} does not contain a Rowmill installation", carrier.place);
            return Err(StoreError::Missing(words));
        }
        if carrier.is(IS_TARGET).await? {
            return Err(StoreError::Unfinished);
        }
        migrate(&server).await?;
        carrier.check_alone().await?;
        carrier.hold().await?;
        carrier.check_imports().await?;
        Ok(carrier)
    }

    /// Refuses imports that are not over: their files stay behind.
    async fn check_imports(&self) -> Result<()> {
        let sql = "SELECT count(*) FROM rowmill.imports WHERE status IN ('queued', 'running')";
        match self.one(sql).await?.get::<_, i64>(0) {
            0 => Ok(()),
            count => Err(StoreError::InUse(rowmill_store::open_imports(unsigned(count)))),
        }
    }

    /// Opens a database to write into, making what it lacks.
    pub async fn target(url: &str) -> Result<Self> {
        let server = Server::parse(url)?.named(NAME);
        let carrier = Self::connect(&server).await?;
        // One that was killed a moment ago may still hold it.
        carrier.client.batch_execute("SET lock_timeout = '10s'").await.map_err(backend)?;
        let locked = carrier.client.query("SELECT pg_advisory_lock($1)", &[&LOCK]).await;
        locked.map_err(|error| carrier.busy(error, "another `rowmill move` is writing to it"))?;
        migrate(&server).await?;
        carrier.check_alone().await?;
        Ok(carrier)
    }

    async fn connect(server: &Server) -> Result<Self> {
        let (sender, heard) = tokio::sync::mpsc::unbounded_channel();
        let client = server.connect(sender).await?;
        let identity = identity(&client).await.map_err(backend)?;
        Ok(Self { client, identity, place: server.place(), _heard: heard })
    }

    /// Answers a question that has one line.
    async fn one(&self, sql: &str) -> Result<Row> {
        self.client.query_one(sql, &[]).await.map_err(backend)
    }

    async fn is(&self, sql: &str) -> Result<bool> {
        Ok(self.one(sql).await?.get(0))
    }

    /// Refuses while nodes are connected, and says where they are.
    async fn check_alone(&self) -> Result<()> {
        let sql = "SELECT coalesce(host(client_addr), 'this machine'), count(*) FROM pg_stat_activity \
                   WHERE datname = current_database() AND application_name = 'rowmill' \
                   GROUP BY client_addr ORDER BY client_addr";
        let started = SystemClock.monotonic();
        loop {
            let nodes = self.client.query(sql, &[]).await.map_err(backend)?;
            if nodes.is_empty() {
                return Ok(());
            }
            if started.elapsed() > LEAVING_MAX {
                let word =
                    |row: &Row| format!("{} ({} connections)", row.get::<_, &str>(0), row.get::<_, i64>(1));
                let nodes: Vec<String> = nodes.iter().map(word).collect();
                return Err(StoreError::InUse(format!(
                    "{} is in use by Rowmill on {}: stop all nodes, and start none until the move has finished",
                    self.place,
                    nodes.join(", ")
                )));
            }
            // The server does not say when a client has gone.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Begins the one transaction that everything is read in, and lets nobody write until it ends.
    async fn hold(&self) -> Result<()> {
        let sql = "BEGIN ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = 0; \
                   SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '10s'; \
                   LOCK TABLE rowmill.teams, rowmill.keys, rowmill.sealed, rowmill.webhooks, rowmill.spending_settings, rowmill.receipts, rowmill.projects, \
                   rowmill.counters, rowmill.rows, rowmill.blocks, rowmill.guests, rowmill.retries \
                   IN SHARE MODE";
        let held = self.client.batch_execute(sql).await;
        held.map_err(|error| self.busy(error, "another process is writing to it"))
    }

    fn busy(&self, error: tokio_postgres::Error, why: &str) -> StoreError {
        if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
            return StoreError::InUse(format!("cannot move {} now: {why}", self.place));
        }
        backend(error)
    }
}

#[async_trait]
impl Carry for Carrier {
    fn identity(&self) -> &str {
        &self.identity
    }

    fn place(&self) -> &str {
        &self.place
    }

    async fn is_empty(&self) -> Result<bool> {
        let sql = "SELECT NOT EXISTS (SELECT 1 FROM rowmill.teams) AND NOT EXISTS (SELECT 1 FROM rowmill.projects) \
                   AND NOT EXISTS (SELECT 1 FROM rowmill.graves)";
        self.is(sql).await
    }

    async fn projects(&self) -> Result<Vec<ProjectId>> {
        read::projects(&self.client).await
    }

    async fn project(&self, id: ProjectId) -> Result<Option<CarriedProject>> {
        read::project(&self.client, id).await
    }

    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items> {
        read::page(&self.client, from, after, page_limit).await
    }

    async fn derived(&self, id: ProjectId) -> Result<Derived> {
        read::derived(&self.client, id).await
    }

    async fn checkpoint(&self) -> Result<Option<String>> {
        if !self.is(IS_TARGET).await? {
            return Ok(None);
        }
        Ok(Some(self.one("SELECT note FROM rowmill.moving").await?.get(0)))
    }

    async fn begin(&self, checkpoint: String) -> Result<()> {
        let work = async {
            let sql = "CREATE TABLE rowmill.moving (note text NOT NULL)";
            self.client.batch_execute(sql).await.map_err(backend)?;
            let sql = "INSERT INTO rowmill.moving (note) VALUES ($1)";
            self.client.execute(sql, &[&checkpoint]).await.map(|_| ()).map_err(backend)
        };
        write::in_transaction(&self.client, work).await
    }

    async fn write_project(&self, project: CarriedProject, checkpoint: String) -> Result<()> {
        let work = async {
            write::project(&self.client, &project).await?;
            write::save_checkpoint(&self.client, &checkpoint).await
        };
        write::in_transaction(&self.client, work).await
    }

    async fn write(&self, to: Section, items_page: Items, checkpoint: String) -> Result<()> {
        let work = async {
            write::page(&self.client, to, &items_page).await?;
            write::save_checkpoint(&self.client, &checkpoint).await
        };
        write::in_transaction(&self.client, work).await
    }

    async fn finish(&self) -> Result<()> {
        // The server plans by what it knows of its tables, and of these it knows nothing yet.
        for sql in [
            "SET statement_timeout = 0",
            "ANALYZE rowmill.rows, rowmill.blocks, rowmill.lookups, rowmill.live, rowmill.projects, \
             rowmill.counters, rowmill.receipts, rowmill.guests, rowmill.retries, rowmill.ready",
            // What was committed before is on the disk when this is.
            "SET synchronous_commit = on",
            "DROP TABLE rowmill.moving",
        ] {
            self.client.batch_execute(sql).await.map_err(backend)?;
        }
        Ok(())
    }
}

pub(crate) const IS_TARGET: &str = "SELECT to_regclass('rowmill.moving') IS NOT NULL";

/// Refuses a database that a move into it has not finished.
pub(crate) async fn check_finished(tx: &mut Tx) -> Result<()> {
    let found = tx.query(IS_TARGET, &[]).await?;
    if found.first().is_some_and(|row| row.get(0)) { Err(StoreError::Unfinished) } else { Ok(()) }
}

/// Brings the shape up to date, as a node does when it starts.
async fn migrate(server: &Server) -> Result<()> {
    let options = Options::default();
    let database = Database::new(server.pool(&options)?, options.statement_timeout);
    let migrated = database.write(CommitDoubt::Repeat, (), |tx, ()| Box::pin(schema::migrate(tx))).await;
    database.close();
    migrated
}

/// The server's own name and the database's number, or, where the former may not be asked for, the address.
async fn identity(client: &Client) -> Result<String, tokio_postgres::Error> {
    let sql = "SELECT oid::text, coalesce(host(inet_server_addr()), '') || ':' || coalesce(inet_server_port(), 0), \
               has_function_privilege('pg_control_system()', 'execute') \
               FROM pg_database WHERE datname = current_database()";
    let found = client.query_one(sql, &[]).await?;
    let (database, address): (String, String) = (found.get(0), found.get(1));
    let server = if found.get(2) {
        let sql = "SELECT system_identifier::text FROM pg_control_system()";
        client.query_one(sql, &[]).await?.get(0)
    } else {
        address
    };
    Ok(format!("postgres:{server}/{database}"))
}
