//! A quick look at a PostgreSQL server, which changes nothing (`rowmill doctor`).

use rowmill_clock::Clock;
use rowmill_store::{Result, StoreError};

use crate::carry::IS_TARGET;
use crate::connect::Server;
use crate::convert::unsigned;
use crate::schema;
use crate::server_error::backend;

/// The application name of a look, which tells it apart from nodes.
const NAME: &str = "rowmill-doctor";

const FACTS: &str = "SELECT current_setting('server_version'), current_setting('server_version_num')::int8, \
     current_setting('max_connections')::int8, current_setting('superuser_reserved_connections')::int8, \
     (SELECT coalesce(sum(numbackends), 0)::int8 FROM pg_stat_database), \
     pg_is_in_recovery() OR current_setting('transaction_read_only') = 'on', \
     current_setting('data_checksums') = 'on', to_regclass('rowmill.migrations') IS NOT NULL";

/// What the look found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Examined {
    /// Where it is, for people.
    pub place: String,
    pub version: String,
    /// As `150004` for 15.4.
    pub version_number: i64,
    /// Connections that are not kept for administrators.
    pub connections_max: u64,
    /// Connections of all programs, without this one's.
    pub connections_used: u64,
    /// A standby, or a database that is set so.
    pub is_read_only: bool,
    pub has_checksums: bool,
    /// How far its clock is ahead of this machine's, and how unsure that is.
    pub clock_ahead_ms: i64,
    pub clock_unsure_ms: i64,
    pub schema: Schema,
}

/// What there is of Rowmill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Schema {
    /// The first start makes it.
    None,
    Current,
    /// The next start migrates it.
    Older,
}

/// Connects and asks a few questions.
pub async fn examine(url: &str, clock: &dyn Clock) -> Result<Examined> {
    let server = Server::parse(url)?.named(NAME);
    let (sender, _heard) = tokio::sync::mpsc::unbounded_channel();
    let client = server.connect(sender).await?;
    let one = async |sql: &str| {
        let mut found = client.query(sql, &[]).await.map_err(backend)?;
        found.pop().ok_or_else(|| StoreError::Backend("the server answered with nothing".into()))
    };
    let asked_at_ms = clock.now_ms();
    let row = one("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::int8").await?;
    let answered_at_ms = clock.now_ms();
    let clock_ahead_ms = row.get::<_, i64>(0) - i64::midpoint(asked_at_ms, answered_at_ms);
    let facts = one(FACTS).await?;
    let schema = if facts.get(7) {
        if one(IS_TARGET).await?.get(0) {
            return Err(StoreError::Unfinished);
        }
        let found = one("SELECT count(*) FROM rowmill.migrations").await?;
        match schema::check_current(unsigned(found.get(0))) {
            Ok(()) => Schema::Current,
            Err(StoreError::Missing(_)) => Schema::Older,
            Err(error) => return Err(error),
        }
    } else {
        Schema::None
    };
    Ok(Examined {
        place: server.place(),
        version: facts.get(0),
        version_number: facts.get(1),
        connections_max: unsigned(facts.get::<_, i64>(2) - facts.get::<_, i64>(3)),
        connections_used: unsigned(facts.get::<_, i64>(4) - 1),
        is_read_only: facts.get(5),
        has_checksums: facts.get(6),
        clock_ahead_ms,
        clock_unsure_ms: (answered_at_ms - asked_at_ms) / 2,
        schema,
    })
}
