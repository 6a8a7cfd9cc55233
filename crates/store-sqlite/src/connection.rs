//! Connections to the database file: how they are opened and set up, and how a transaction runs on one.

use std::path::Path;
use std::time::Duration;

use rowmill_store::Result;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::convert::{backend, unusable};
use crate::{free_pages, page_checksums};

pub(crate) const WRITER_CACHE_KIB: u32 = 16 * 1024;
pub(crate) const READER_CACHE_KIB: u32 = 4 * 1024;
/// How long a statement waits while another process holds the write lock.
const BUSY_WAIT: Duration = Duration::from_secs(30);

pub(crate) fn connect(file: &Path, cache_kib: u32) -> Result<Connection> {
    page_checksums::install()?;
    let is_new = std::fs::metadata(file).map_or(true, |file| file.len() == 0);
    let connection = Connection::open(file).map_err(|error| unusable(file, &error))?;
    if is_new {
        page_checksums::reserve(&connection)?;
        free_pages::prepare(&connection)?;
    }
    configure(&connection, cache_kib)?;
    Ok(connection)
}

pub(crate) fn read_only(file: &Path) -> Result<Connection> {
    let connection = connect(file, READER_CACHE_KIB)?;
    connection.pragma_update(None, "query_only", "on").map_err(backend)?;
    Ok(connection)
}

/// A file as SQLite is told of it together with parameters. It must exist.
pub(crate) fn uri(file: &Path, parameters: &str) -> Result<String> {
    let whole = file.canonicalize().map_err(|error| unusable(file, &error))?;
    let path = whole.to_str().ok_or_else(|| unusable(file, &"its path is not text"))?;
    // In a URI these have a meaning.
    let path = path.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    Ok(format!("file:{path}?{parameters}"))
}

/// Opens a file that nobody writes to, and leaves no trace beside it.
pub(crate) fn immutable(file: &Path) -> Result<Connection> {
    page_checksums::install()?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(file, "immutable=1")?, flags)
        .map_err(|error| unusable(file, &error))?;
    connection.set_prepared_statement_cache_capacity(64);
    let pragmas = [("temp_store", "memory"), ("cell_size_check", "on")];
    for (name, value) in pragmas {
        connection.pragma_update(None, name, value).map_err(backend)?;
    }
    Ok(connection)
}

/// Runs a statement without parameters that is parsed once per connection: for statements like `BEGIN`, parsing costs
/// more than running.
pub(crate) fn run_cached(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute(()).map(|_| ())
}

/// Runs work in a transaction, which is committed if the work succeeds.
pub(crate) fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T>,
) -> Result<T> {
    run_cached(connection, "BEGIN IMMEDIATE").map_err(backend)?;
    let outcome = work(connection).and_then(|done| {
        run_cached(connection, "COMMIT").map_err(backend)?;
        Ok(done)
    });
    // SQLite itself rolls back when the disk fails.
    if outcome.is_err() && !connection.is_autocommit() {
        run_cached(connection, "ROLLBACK").map_err(backend)?;
    }
    outcome
}

/// Applies the settings that all connections to the file must share.
fn configure(connection: &Connection, cache_kib: u32) -> Result<()> {
    connection.busy_timeout(BUSY_WAIT).map_err(backend)?;
    connection.set_prepared_statement_cache_capacity(64);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true).map_err(backend)?;
    // Query planner stability: a plan never depends on the bound values. Without it SQLite plans many statements again
    // at every use, which costs more than the use.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(backend)?;
    let pragmas = [
        ("journal_mode", "wal"),
        // FULL, because an acknowledged write must survive a power cut: NORMAL does not sync the log
        // at commit.
        ("synchronous", "full"),
        ("temp_store", "memory"),
        ("cell_size_check", "on"),
    ];
    for (name, value) in pragmas {
        connection.pragma_update(None, name, value).map_err(backend)?;
    }
    connection.pragma_update(None, "cache_size", -i64::from(cache_kib)).map_err(backend)
}
