//! Finding the rows that hold a value, for columns that rows are matched on.
//!
//! The first match on a column indexes it; from then on every write keeps the index.

use std::collections::{BTreeMap, BTreeSet};

use rowmill_model::plan::block_of;
use rowmill_model::record::Slot;
use rowmill_store::{Result, WantedSlots, lookup};

use crate::convert::unsigned;
use crate::row_changes::OpenProject;
use crate::transaction::Tx;
use crate::wide_values::{joined, listed};

/// Rows indexed in one go.
const INDEX_ROWS: i64 = 5_000;

/// Indexes a column that is not indexed yet.
pub(crate) async fn ensure(tx: &mut Tx, open: &mut OpenProject, slot: Slot) -> Result<()> {
    if open.changes.is_indexed(slot) {
        return Ok(());
    }
    let num = open.num();
    let mut after = -1_i64;
    let wanted = WantedSlots::only([lookup::column_of(slot)]);
    loop {
        let sql = "SELECT position, vals, \
                   CASE WHEN wide IS NOT NULL THEN rowmill.wide_of(project, position, wide, $4) END \
                   FROM rowmill.rows WHERE project = $1 AND position > $2 ORDER BY position LIMIT $3";
        let rows = tx.query(sql, &[&num, &after, &INDEX_ROWS, &listed(&wanted)]).await?;
        let Some(last) = rows.last() else { break };
        after = last.get(0);
        let (mut hashes, mut positions) = (Vec::new(), Vec::new());
        for row in &rows {
            let values = joined(row.get(1), row.get(2), &wanted)?;
            if let Some(hash) = lookup::hash_of(slot, &values.cells()?) {
                hashes.push(hash);
                positions.push(row.get::<_, i64>(0));
            }
        }
        let sql = "INSERT INTO rowmill.lookups (project, slot, hash, position) \
                   SELECT $1, $2, * FROM unnest($3::int8[], $4::int8[]) ON CONFLICT DO NOTHING";
        tx.query(sql, &[&num, &i64::from(slot), &hashes, &positions]).await?;
    }
    open.changes.add_lookup_slot(slot);
    Ok(())
}

/// Loads all rows that may hold a value with one of these hashes, with their blocks; says where they lie.
pub(crate) async fn load(
    tx: &mut Tx,
    open: &mut OpenProject,
    slot: Slot,
    hashes: BTreeSet<i64>,
    new_rows: usize,
) -> Result<Vec<u64>> {
    let hashes: Vec<i64> = hashes.into_iter().collect();
    // As many as are compared, and one more if there is one.
    let candidates = i64::try_from(lookup::CANDIDATES_MAX + 1).unwrap_or(i64::MAX);
    let sql = "SELECT wanted.hash, l.position FROM unnest($3::int8[]) wanted (hash) CROSS JOIN LATERAL \
               (SELECT position FROM rowmill.lookups WHERE project = $1 AND slot = $2 AND hash = wanted.hash \
               ORDER BY position LIMIT $4) l";
    let found = tx.query(sql, &[&open.num(), &i64::from(slot), &hashes, &candidates]).await?;
    let mut by_hash: BTreeMap<i64, Vec<u64>> = hashes.into_iter().map(|hash| (hash, Vec::new())).collect();
    for row in &found {
        by_hash.entry(row.get(0)).or_default().push(unsigned(row.get(1)));
    }
    let mut positions = Vec::with_capacity(found.len());
    for (hash, found) in by_hash {
        if found.len() <= lookup::CANDIDATES_MAX {
            positions.extend_from_slice(&found);
        }
        open.changes.open_matches(slot, hash, found);
    }
    let mut blocks = open.changes.blocks_of_new(new_rows);
    blocks.extend(positions.iter().copied().map(block_of));
    open.load(tx, positions.iter().copied(), blocks).await?;
    Ok(positions)
}
