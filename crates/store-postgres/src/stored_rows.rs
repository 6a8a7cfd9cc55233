//! Rows and blocks as the database returns them.

use std::collections::{BTreeSet, HashMap};

use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, Record, RowId};
use rowmill_store::changes::{PartRow, RawRow};
use rowmill_store::wide_values::WideSlots;
use rowmill_store::{Result, WantedSlots};
use tokio_postgres::Row;

use crate::convert::{signed, unsigned};
use crate::transaction::Tx;
use crate::wide_values::joined;

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
    Ok(RawRow {
        id: RowId::from_uuid(row.get(1)),
        position: unsigned(row.get(0)),
        values: joined(row.get(2), row.get(4), wanted)?,
        details: read_details(row)?,
    })
}

fn read_details(row: &Row) -> Result<Details> {
    let details: Option<&[u8]> = row.get(3);
    Ok(details.map(Details::from_bytes).transpose()?.unwrap_or_default())
}

/// The columns of rows `r` that [`part_row`] reads.
macro_rules! part_columns {
    () => {
        "r.position, r.id, r.vals, r.details, r.wide, r.wide_bytes"
    };
}
pub(crate) use part_columns;

/// Reads a row that may change: position, id, vals, details, wide and wide bytes. Its wide values are read where they are
/// looked at.
pub(crate) fn part_row(row: &Row) -> Result<PartRow> {
    let (id, position) = (RowId::from_uuid(row.get(1)), unsigned(row.get(0)));
    let near = Record::from_bytes(row.get::<_, &[u8]>(2));
    let wide: Option<&[u8]> = row.get(4);
    let wide = wide.map(WideSlots::from_bytes).transpose()?.unwrap_or_default();
    let wide_bytes: Option<i64> = row.get(5);
    let wide_bytes = usize::try_from(wide_bytes.unwrap_or_default()).unwrap_or_default();
    PartRow::stored((id, position), near, read_details(row)?, (&wide, wide_bytes))
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
