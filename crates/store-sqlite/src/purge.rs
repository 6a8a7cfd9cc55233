//! Sweeping up the rows of deleted projects, a little at a time.

use rowmill_store::Result;
use rusqlite::{Connection, OptionalExtension};

use crate::convert::backend;
use crate::positions::key_range;

/// Rows deleted in one go: few enough that a waiting writer barely notices.
const SWEEP_ROWS: u32 = 2_000;
/// Likewise of values that are stored apart, which are large.
const SWEEP_WIDE_VALUES: u32 = 100;

/// Says whether something is left to sweep.
pub(crate) fn sweep_some(connection: &Connection) -> Result<bool> {
    let grave = connection
        .prepare_cached("SELECT project FROM graves LIMIT 1")
        .and_then(|mut query| query.query_row((), |row| row.get::<_, i64>(0)).optional())
        .map_err(backend)?;
    let Some(project) = grave else { return Ok(false) };
    // First what is stored apart from the rows, so that nothing is left without one.
    let keys = key_range(project);
    let wide = connection
        .prepare_cached(
            "DELETE FROM wide_values WHERE (key, slot) IN \
             (SELECT key, slot FROM wide_values WHERE key BETWEEN ?1 AND ?2 LIMIT ?3)",
        )
        .and_then(|mut delete| delete.execute((keys.start(), keys.end(), SWEEP_WIDE_VALUES)))
        .map_err(backend)?;
    if wide > 0 {
        return Ok(true);
    }
    let mut rows = 0;
    // The project's rows, and those in its trash.
    for keys in [key_range(project), key_range(-project)] {
        rows += connection
            .prepare_cached(
                "DELETE FROM rows WHERE key IN (SELECT key FROM rows WHERE key BETWEEN ?1 AND ?2 LIMIT ?3)",
            )
            .and_then(|mut delete| delete.execute((keys.start(), keys.end(), SWEEP_ROWS)))
            .map_err(backend)?;
    }
    let lookups = connection
        .prepare_cached(
            "DELETE FROM lookups WHERE project = ?1 AND (slot, hash, position) IN \
             (SELECT slot, hash, position FROM lookups WHERE project = ?1 LIMIT ?2)",
        )
        .and_then(|mut delete| delete.execute((project, SWEEP_ROWS)))
        .map_err(backend)?;
    if rows == 0 && lookups == 0 {
        for sql in [
            "DELETE FROM live WHERE project = ?1",
            "DELETE FROM guests WHERE project = ?1",
            "DELETE FROM lookup_columns WHERE project = ?1",
            "DELETE FROM blocks WHERE key >> 32 IN (?1, -?1)",
            "DELETE FROM trash WHERE project IN (?1, -?1)",
            "DELETE FROM past_guests WHERE project = ?1",
            "DELETE FROM ready WHERE project = ?1",
            "DELETE FROM retries WHERE project = ?1",
            "DELETE FROM claims WHERE project = ?1",
            "DELETE FROM runs WHERE project = ?1",
            "DELETE FROM asked_columns WHERE project = ?1",
            "DELETE FROM tallies WHERE project = ?1",
            "DELETE FROM counters WHERE project = ?1",
            "DELETE FROM graves WHERE project = ?1",
        ] {
            connection.execute(sql, [project]).map_err(backend)?;
        }
    }
    Ok(true)
}
