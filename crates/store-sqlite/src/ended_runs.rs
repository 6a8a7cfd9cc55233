//! The history of a project's runs: those that are over.

use rowmill_model::documents::{read_ended_run, write_ended_run};
use rowmill_model::plan::EndedRun;
use rowmill_store::{ENDED_RUNS_KEPT_MS, ENDED_RUNS_MAX, Result};
use rusqlite::Connection;

use crate::convert::{backend, damaged};

/// Keeps a run that is over, and forgets the oldest ones.
pub(crate) fn keep(connection: &Connection, num: i64, run: &EndedRun) -> Result<()> {
    let text = write_ended_run(run).map_err(damaged)?;
    connection
        .prepare_cached("INSERT INTO runs (project, number, ended_at, run) VALUES (?1, ?2, ?3, ?4)")
        .and_then(|mut insert| insert.execute((num, run.number, run.ended_at_ms, text)))
        .map_err(backend)?;
    connection
        .prepare_cached("DELETE FROM runs WHERE project = ?1 AND number <= ?2")
        .and_then(|mut delete| delete.execute((num, run.number.saturating_sub(ENDED_RUNS_MAX))))
        .map_err(backend)?;
    // Two at a time: as each new one is kept, all that are too old go in the end.
    connection
        .prepare_cached(
            "DELETE FROM runs WHERE project = ?1 AND ended_at < ?2 AND number IN \
             (SELECT number FROM runs WHERE project = ?1 ORDER BY number LIMIT 2)",
        )
        .and_then(|mut delete| delete.execute((num, run.ended_at_ms - ENDED_RUNS_KEPT_MS)))
        .map(|_| ())
        .map_err(backend)
}

/// Runs that are over, newest first.
pub(crate) fn read(connection: &Connection, num: i64, before: u64, limit: u32) -> Result<Vec<EndedRun>> {
    let before = i64::try_from(before).unwrap_or(i64::MAX);
    let found: Vec<String> = connection
        .prepare_cached(
            "SELECT run FROM runs WHERE project = ?1 AND number < ?2 ORDER BY number DESC LIMIT ?3",
        )
        .and_then(|mut query| query.query_map((num, before, limit), |row| row.get(0))?.collect())
        .map_err(backend)?;
    found.iter().map(|run| read_ended_run(run).map_err(damaged)).collect()
}
