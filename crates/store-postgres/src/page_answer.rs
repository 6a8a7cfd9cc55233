//! Asking for a page of rows, and decoding the answer.

use rowmill_store::changes::RawRow;
use rowmill_store::{Result, StoreError, StoredRow, WantedSlots};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::convert::{unexpected_answer, unsigned};
use crate::database::Database;
use crate::offset_cache::TableShape;
use crate::server_error::lost;
use crate::stored_rows::{Blocks, raw_row_of};
use crate::transaction::Tx;

/// An answer of up to this many bytes is decoded on the thread that asked.
const SHORT_ANSWER_BYTES: usize = 64 * 1024;

/// The answer to a statement of [`crate::page_sql`].
pub(crate) struct PageAnswer {
    pub(crate) shape: TableShape,
    pub(crate) change_seq: u64,
    /// In the order of positions.
    pub(crate) rows: Vec<StoredRow>,
    /// The positions of rows whose values were left out, in order.
    pub(crate) rest: Vec<u64>,
}

/// Where a statement is sent.
pub(crate) enum Source<'a> {
    /// Any connection: the statement sees the newest moment.
    Pool(&'a Database),
    /// The transaction's moment.
    Snapshot(&'a mut Tx),
}

impl Source<'_> {
    pub(crate) async fn ask(
        &mut self,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>> {
        match self {
            Self::Pool(database) => database.ask(sql, params).await,
            Self::Snapshot(tx) => tx.query(sql, params).await,
        }
    }
}

impl PageAnswer {
    /// Whether no row was ever deleted.
    pub(crate) fn is_dense(&self) -> bool {
        self.shape.row_count == self.shape.next_position
    }

    pub(crate) fn count(&self) -> usize {
        self.rows.len() + self.rest.len()
    }

    /// Of all rows, in order. Rows whose values were left out come last.
    pub(crate) fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.rows.iter().map(|row| row.position).chain(self.rest.iter().copied())
    }

    pub(crate) async fn ask(
        source: &mut Source<'_>,
        sql: &'static str,
        params: &[&(dyn ToSql + Sync)],
        wanted: &WantedSlots,
    ) -> Result<Self> {
        let found = source.ask(sql, params).await?;
        if found.iter().map(Row::raw_size_bytes).sum::<usize>() <= SHORT_ANSWER_BYTES {
            return Self::decode(&found, wanted);
        }
        let wanted = wanted.clone();
        rowmill_fairness::compute(move || Self::decode(&found, &wanted)).await.map_err(lost)?
    }

    fn decode(found: &[Row], wanted: &WantedSlots) -> Result<Self> {
        let mut head = None;
        let mut rest = Vec::new();
        let mut rows = Vec::with_capacity(found.len());
        let mut blocks = Blocks::default();
        for row in found {
            match (row.get::<_, Option<i64>>(0), row.get::<_, Option<Uuid>>(1)) {
                (None, _) => head = Some(Self::read_head(row.get(2))?),
                (Some(position), Some(_)) if row.get::<_, Option<&[u8]>>(2).is_none() => {
                    rest.push(unsigned(position));
                }
                (Some(_), Some(_)) => rows.push(row),
                (Some(block), None) => blocks.insert(unsigned(block), row.get(2))?,
            }
        }
        let (shape, change_seq) = head.ok_or(StoreError::UnknownProject)?;
        let complete = |row: &Row| {
            let RawRow { id, position, values, details } = raw_row_of(row, wanted)?;
            let states = blocks.states(position, &details).unwrap_or_default();
            Ok(StoredRow { id, position, values, states })
        };
        let mut rows = rows.into_iter().map(complete).collect::<Result<Vec<StoredRow>>>()?;
        rows.sort_unstable_by_key(|row| row.position);
        rest.sort_unstable();
        Ok(Self { shape, change_seq, rows, rest })
    }

    /// Three numbers, as the database sends them.
    fn read_head(bytes: &[u8]) -> Result<(TableShape, u64)> {
        let number = |place: usize| {
            let found = bytes.get(place * 8..place * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            found.map(|bytes| unsigned(i64::from_be_bytes(bytes))).ok_or_else(unexpected_answer)
        };
        Ok((TableShape { row_count: number(0)?, next_position: number(1)? }, number(2)?))
    }
}
