//! Whether rows that were read are all there are, by the live counts.
//!
//! A server without checksums does not notice a page that was damaged, and none notices one that the disk never wrote.

use rowmill_store::{Result, StoreError};
use tokio_postgres::Row;

use crate::convert::{unexpected_answer, unsigned};
use crate::transaction::Tx;

/// How many rows the live counts say lie in a run of positions, with the change sequence. Of the runs of 256 at both
/// ends, the rows outside are counted.
pub(crate) const WITHIN: &str = "SELECT c.change_seq, \
     (SELECT coalesce(sum(l.count), 0)::int8 FROM rowmill.live l \
     WHERE l.project = c.project AND l.level = 0 AND l.segment BETWEEN $2::int8 >> 8 AND $3::int8 >> 8) \
     - (SELECT count(*) FROM rowmill.rows r \
     WHERE r.project = c.project AND r.position >= ($2 >> 8) << 8 AND r.position < $2) \
     - (SELECT count(*) FROM rowmill.rows r \
     WHERE r.project = c.project AND r.position > $3 AND r.position < (($3 >> 8) + 1) << 8) \
     FROM rowmill.counters c WHERE c.id = $1";

/// The same for several runs, by the project's number.
const WITHIN_ALL: &str = "SELECT coalesce(sum( \
     (SELECT coalesce(sum(l.count), 0) FROM rowmill.live l \
     WHERE l.project = $1 AND l.level = 0 AND l.segment BETWEEN run.first >> 8 AND run.last >> 8) \
     - (SELECT count(*) FROM rowmill.rows r \
     WHERE r.project = $1 AND r.position >= (run.first >> 8) << 8 AND r.position < run.first) \
     - (SELECT count(*) FROM rowmill.rows r \
     WHERE r.project = $1 AND r.position > run.last AND r.position < ((run.last >> 8) + 1) << 8)), 0)::int8 \
     FROM unnest($2::int8[], $3::int8[]) run (first, last)";

/// Reads the answer to [`WITHIN`]: change sequence and count.
pub(crate) fn read(found: &[Row]) -> Result<(u64, u64)> {
    let row = found.first().ok_or(StoreError::UnknownProject)?;
    Ok((unsigned(row.get(0)), unsigned(row.get(1))))
}

/// Checks rows that were found in these runs of positions, in the snapshot that they were read in. Where no row was
/// deleted, that costs nothing.
pub(crate) async fn check(tx: &mut Tx, num: i64, runs: &[(i64, i64)], found: i64) -> Result<()> {
    if found == runs.iter().map(|(first, last)| last - first + 1).sum::<i64>() {
        return Ok(());
    }
    let (firsts, lasts): (Vec<i64>, Vec<i64>) = runs.iter().copied().unzip();
    let answer = tx.query(WITHIN_ALL, &[&num, &firsts, &lasts]).await?;
    let counted: i64 = answer.first().ok_or_else(unexpected_answer)?.get(0);
    if found == counted { Ok(()) } else { Err(incomplete(unsigned(found), unsigned(counted))) }
}

/// Rows are missing, or there are more than were counted: a part of them is never told as if it were all.
pub(crate) fn incomplete(found: u64, counted: u64) -> StoreError {
    StoreError::Damaged(format!("{found} rows were found where the counters say there are {counted}"))
}
