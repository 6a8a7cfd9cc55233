//! Blocks of marks and the counts of a project, as they are stored.

use rowmill_model::documents;
use rowmill_model::plan::{BLOCK_BITS, Block, Tally};
use rowmill_store::Result;
use rusqlite::{Connection, OptionalExtension};

use crate::convert::{backend, damaged};

const BLOCK_NUMBER_BITS: u32 = 40 - BLOCK_BITS;

/// Where a block is kept.
pub(crate) fn block_key(project: i64, block: u64) -> i64 {
    project << BLOCK_NUMBER_BITS | i64::try_from(block).unwrap_or_default()
}

/// The number of the block kept under a key.
pub(crate) fn block_number(key: i64) -> u64 {
    u64::try_from(key & ((1 << BLOCK_NUMBER_BITS) - 1)).unwrap_or_default()
}

pub(crate) fn read_marks(connection: &Connection, project: i64, block: u64) -> Result<Option<Vec<u8>>> {
    connection
        .prepare_cached("SELECT marks FROM blocks WHERE key = ?1")
        .and_then(|mut query| query.query_row([block_key(project, block)], |row| row.get(0)).optional())
        .map_err(backend)
}

pub(crate) fn read_block(connection: &Connection, project: i64, block: u64) -> Result<Option<Block>> {
    let marks = read_marks(connection, project, block)?;
    Ok(marks.map(|marks| Block::decode(&marks)).transpose()?)
}

/// The counts as JSON, and when they last changed.
pub(crate) fn read_tally_text(connection: &Connection, project: i64) -> Result<Option<(String, i64)>> {
    connection
        .prepare_cached("SELECT tally, updated_at FROM tallies WHERE project = ?1")
        .and_then(|mut query| query.query_row([project], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(backend)
}

pub(crate) fn read_tally(connection: &Connection, project: i64) -> Result<Option<(Tally, i64)>> {
    let found = read_tally_text(connection, project)?;
    found.map(|(tally, at)| Ok((documents::read_tally(&tally).map_err(damaged)?, at))).transpose()
}
