//! Where rows lie, and how the n-th of them is found without counting.
//!
//! A row's key is its project's number and its position, so a project's rows are one run of keys in
//! order of creation. Deleting leaves holes; the `live` table says how many rows are left in each run
//! of 2^8, 2^14 and 2^20 positions, and the n-th row is found by adding those up.

use std::ops::RangeInclusive;

use rowmill_model::RowId;
use rowmill_store::Result;
use rowmill_store::changes::LIVE_LEVEL_BITS as LEVEL_BITS;
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::convert::backend;

const POSITION_BITS: u32 = 40;
pub(crate) const POSITION_MAX: u64 = (1 << POSITION_BITS) - 1;
/// Projects a database can hold over its life: the number must fit above the position in an i64.
pub(crate) const PROJECT_MAX: i64 = (1 << (63 - POSITION_BITS)) - 1;

pub(crate) fn key(project: i64, position: u64) -> i64 {
    project << POSITION_BITS | i64::try_from(position & POSITION_MAX).unwrap_or_default()
}

pub(crate) fn key_range(project: i64) -> RangeInclusive<i64> {
    key(project, 0)..=key(project, POSITION_MAX)
}

/// The project and position a key stands for.
pub(crate) fn split(key: i64) -> (i64, u64) {
    let position = key & i64::try_from(POSITION_MAX).unwrap_or(i64::MAX);
    (key >> POSITION_BITS, u64::try_from(position).unwrap_or_default())
}

/// The key of the row that has `offset` rows before it; `None` past the end.
pub(crate) fn locate(
    connection: &Connection,
    project: i64,
    offset: u64,
    next_position: u64,
) -> Result<Option<i64>> {
    let mut segments = 0..=i64::MAX;
    let mut rest = offset;
    let mut start = 0;
    for (level, bits) in LEVEL_BITS.into_iter().enumerate().rev() {
        let Some((run, before)) = find(connection, project, level, segments, rest)? else { return Ok(None) };
        rest -= before;
        start = u64::try_from(run.segment << bits).unwrap_or_default();
        let span = next_position.saturating_sub(start).min(1 << bits);
        if run.count == span {
            // The run has no holes.
            return Ok(Some(key(project, start + rest)));
        }
        let finer =
            level.checked_sub(1).and_then(|finer| LEVEL_BITS.get(finer)).map_or(0, |finer| bits - finer);
        segments = (run.segment << finer)..=((run.segment + 1) << finer) - 1;
    }
    // Step over what is left of the finest run, fewer than 2^8 rows.
    connection
        .prepare_cached("SELECT key FROM rows WHERE key >= ?1 ORDER BY key LIMIT 1 OFFSET ?2")
        .and_then(|mut query| query.query_row((key(project, start), rest), |row| row.get(0)))
        .map(Some)
        .map_err(backend)
}

struct Run {
    segment: i64,
    count: u64,
}

/// The run in which the row with `offset` rows before it lies, and how many of those lie before the run.
fn find(
    connection: &Connection,
    project: i64,
    level: usize,
    segments: RangeInclusive<i64>,
    offset: u64,
) -> Result<Option<(Run, u64)>> {
    let mut query: CachedStatement<'_> = connection
        .prepare_cached(
            "SELECT segment, count FROM live WHERE project = ?1 AND level = ?2 AND segment BETWEEN ?3 AND ?4 \
             ORDER BY segment",
        )
        .map_err(backend)?;
    let mut runs = query.query((project, level, segments.start(), segments.end())).map_err(backend)?;
    let mut before = 0_u64;
    while let Some(row) = runs.next().map_err(backend)? {
        let run = Run { segment: row.get(0).map_err(backend)?, count: row.get(1).map_err(backend)? };
        if offset < before + run.count {
            return Ok(Some((run, before)));
        }
        before += run.count;
    }
    Ok(None)
}

/// The key of a row of this project.
pub(crate) fn find_key(connection: &Connection, num: i64, row: RowId) -> Result<Option<i64>> {
    let key: Option<i64> = connection
        .prepare_cached("SELECT key FROM rows WHERE id = ?1")
        .and_then(|mut query| query.query_row([row.uuid().as_bytes()], |row| row.get(0)).optional())
        .map_err(backend)?;
    Ok(key.filter(|key| split(*key).0 == num))
}

#[cfg(test)]
mod tests {
    use rowmill_store::changes::LiveDelta;

    use super::*;

    #[test]
    fn keys_sort_by_project_then_position() {
        assert_eq!(split(key(7, 12)), (7, 12));
        assert!(key(1, POSITION_MAX) < key(2, 0));
        assert!(key(PROJECT_MAX, POSITION_MAX) > 0);
        assert!(key_range(3).contains(&key(3, POSITION_MAX)));
        assert!(!key_range(3).contains(&key(4, 0)));
    }

    #[test]
    fn the_nth_row_is_found_on_every_level() {
        let mut connection = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&mut connection).unwrap();
        let next_position = 3 << LEVEL_BITS[1];
        // Runs with holes, without, with nothing left, and two ends that are not full.
        let is_left = |position: u64| match position >> LEVEL_BITS[0] {
            0 | 70 => !position.is_multiple_of(3),
            5..60 | 130 => false,
            _ => position != next_position - 2,
        };
        let left: Vec<u64> = (0..next_position).filter(|position| is_left(*position)).collect();
        let mut live = LiveDelta::default();
        let mut insert = connection.prepare("INSERT INTO rows (key, id, vals) VALUES (?1, ?1, x'')").unwrap();
        for position in &left {
            insert.execute([key(7, *position)]).unwrap();
            live.add(*position, 1);
        }
        crate::apply::live(&connection, 7, &live.by_level()).unwrap();
        let locate =
            |offset: usize| locate(&connection, 7, offset.try_into().unwrap(), next_position).unwrap();
        for offset in (0..left.len()).step_by(101).chain([1, left.len() - 2, left.len() - 1]) {
            assert_eq!(locate(offset), Some(key(7, left[offset])), "{offset}");
        }
        assert_eq!(locate(left.len()), None);
    }
}
