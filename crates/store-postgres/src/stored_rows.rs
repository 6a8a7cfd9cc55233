//! Rows and blocks as the database returns them.

use std::collections::{BTreeSet, HashMap};

use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, Record, RowId};
use rowmill_store::changes::RawRow;
use rowmill_store::wide_values::StoredApart;
use rowmill_store::{Result, WantedSlots};
use tokio_postgres::Row;

use crate::convert::{signed, unsigned};
use crate::transaction::Tx;
use crate::wide_values::Wide;

/// The columns of rows `r` that [`raw_row`] reads.
macro_rules! row_columns {
    () => {
        "r.position, r.id, r.vals, r.details, \
         CASE WHEN r.wide IS NOT NULL THEN rowmill.wide_of(r.project, r.position, r.wide, NULL) END"
    };
}
pub(crate) use row_columns;

/// Reads position, id, vals, details and what is stored apart.
pub(crate) fn raw_row(row: &Row) -> Result<RawRow> {
    raw_row_of(row, &WantedSlots::All)
}

/// The same of a row of which only this is wanted.
pub(crate) fn raw_row_of(row: &Row, wanted: &WantedSlots) -> Result<RawRow> {
    let details: Option<&[u8]> = row.get(3);
    let near: &[u8] = row.get(2);
    let (values, apart) = match Wide::read(row.get(4))? {
        None => (Record::from_bytes(near), StoredApart::default()),
        Some(wide) => {
            let values = wide.join(near, wanted)?;
            let apart = StoredApart::new(wide.into_slots(), &values);
            (values, apart)
        }
    };
    Ok(RawRow {
        id: RowId::from_uuid(row.get(1)),
        position: unsigned(row.get(0)),
        values,
        apart,
        details: details.map(Details::from_bytes).transpose()?.unwrap_or_default(),
    })
}

/// The blocks of some rows, with the marks of their cells.
#[derive(Default)]
pub(crate) struct Blocks(HashMap<u64, Block>);

impl Blocks {
    pub(crate) async fn load(tx: &mut Tx, num: i64, rows: &[Row]) -> Result<Self> {
        let wanted: BTreeSet<i64> = rows.iter().map(|row| signed(block_of(unsigned(row.get(0))))).collect();
        if wanted.is_empty() {
            return Ok(Self::default());
        }
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let sql = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)";
        let found = tx.query(sql, &[&num, &wanted]).await?;
        let blocks = found.iter().map(|row| Ok((unsigned(row.get(0)), Block::decode(row.get(1))?)));
        blocks.collect::<Result<_>>().map(Self)
    }

    /// Adds a block as it is stored.
    pub(crate) fn insert(&mut self, number: u64, marks: &[u8]) -> Result<()> {
        self.0.insert(number, Block::decode(marks)?);
        Ok(())
    }

    /// The states of a row's cells; `None` where every cell is idle.
    pub(crate) fn states(&self, position: u64, details: &Details) -> Option<CellStates> {
        let block = self.0.get(&block_of(position))?;
        Some(CellStates::of(block, place_of(position), details)).filter(|states| !states.is_empty())
    }
}
