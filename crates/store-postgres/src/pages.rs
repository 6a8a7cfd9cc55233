//! Reading rows.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, ProjectId, Record, RowId};
use rowmill_store::{Look, PageStart, Result, RowRef, RowsAt, RowsPage, Spans, StoredRow, Visit};
use tokio_postgres::Row;
use tokio_postgres::binary_copy::BinaryCopyOutStream;
use tokio_postgres::types::Type;

use crate::database::Tx;
use crate::positions::locate;
use crate::projects;
use crate::{backend, signed, unsigned};

/// Rows of a scan read in one go.
const SCAN_ROWS: i64 = 2_000;
/// Rows of a scan copied out in one go. Whoever has seen enough lets the rest of them go by.
const COPY_ROWS: i64 = 20_000;

/// A row without its marks.
#[derive(Debug, Clone)]
pub(crate) struct RawRow {
    pub(crate) id: RowId,
    pub(crate) position: u64,
    pub(crate) values: Record,
    pub(crate) details: Details,
}

/// Reads position, id, vals and details.
pub(crate) fn raw_row(row: &Row) -> Result<RawRow> {
    let details: Option<&[u8]> = row.get(3);
    Ok(RawRow {
        id: RowId::from_uuid(row.get(1)),
        position: unsigned(row.get(0)),
        values: Record::from_bytes(row.get::<_, &[u8]>(2)),
        details: details.map(Details::from_bytes).transpose()?.unwrap_or_default(),
    })
}

/// The blocks that some rows lie in.
struct Blocks(HashMap<u64, Block>);

impl Blocks {
    async fn of(tx: &mut Tx, num: i64, rows: &[Row]) -> Result<Self> {
        let wanted: BTreeSet<i64> = rows.iter().map(|row| signed(block_of(unsigned(row.get(0))))).collect();
        if wanted.is_empty() {
            return Ok(Self(HashMap::new()));
        }
        let wanted: Vec<i64> = wanted.into_iter().collect();
        let sql = "SELECT block, marks FROM rowmill.blocks WHERE project = $1 AND block = ANY($2)";
        let found = tx.query(sql, &[&num, &wanted]).await?;
        let blocks = found.iter().map(|row| Ok((unsigned(row.get(0)), Block::decode(row.get(1))?)));
        blocks.collect::<Result<_>>().map(Self)
    }

    /// The states of a row's cells; `None` where every cell is idle.
    fn states(&self, position: u64, details: &Details) -> Option<CellStates> {
        let block = self.0.get(&block_of(position))?;
        Some(CellStates::of(block, place_of(position), details)).filter(|states| !states.is_empty())
    }

    fn complete(&self, row: &Row) -> Result<StoredRow> {
        let RawRow { id, position, values, details } = raw_row(row)?;
        let states = self.states(position, &details).unwrap_or_default();
        Ok(StoredRow { id, position, values, states })
    }
}

async fn complete(tx: &mut Tx, num: i64, rows: &[Row]) -> Result<Vec<StoredRow>> {
    let blocks = Blocks::of(tx, num, rows).await?;
    rows.iter().map(|row| blocks.complete(row)).collect()
}

pub(crate) async fn page(tx: &mut Tx, project: ProjectId, start: PageStart, limit: u32) -> Result<RowsPage> {
    let state = projects::existing(tx, project).await?;
    let total = state.row_count;
    let first = match start {
        PageStart::After(position) => Some(position.saturating_add(1)),
        PageStart::Offset(offset) if offset >= total => None,
        PageStart::Offset(offset) => locate(tx, &state, offset).await?,
    };
    let Some(first) = first else { return Ok(RowsPage { rows: Vec::new(), total, more: false }) };
    let sql = "SELECT position, id, vals, details FROM rowmill.rows WHERE project = $1 AND position >= $2 \
               ORDER BY position LIMIT $3";
    // One row more than asked for tells whether any follow.
    let mut found = tx.query(sql, &[&state.num, &signed(first), &(i64::from(limit) + 1)]).await?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = found.len() > limit;
    found.truncate(limit);
    Ok(RowsPage { rows: complete(tx, state.num, &found).await?, total, more })
}

pub(crate) async fn at(tx: &mut Tx, project: ProjectId, positions: &[u64]) -> Result<RowsAt> {
    let state = projects::existing(tx, project).await?;
    let wanted: Vec<i64> = positions.iter().copied().map(signed).collect();
    let sql =
        "SELECT position, id, vals, details FROM rowmill.rows WHERE project = $1 AND position = ANY($2)";
    let found = tx.query(sql, &[&state.num, &wanted]).await?;
    let rows = complete(tx, state.num, &found).await?;
    let by_position: HashMap<u64, StoredRow> = rows.into_iter().map(|row| (row.position, row)).collect();
    let rows = positions.iter().filter_map(|position| by_position.get(position).cloned()).collect();
    Ok(RowsAt { rows, change_seq: state.change_seq })
}

pub(crate) async fn one(tx: &mut Tx, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    let state = projects::existing(tx, project).await?;
    let sql = "SELECT position, id, vals, details FROM rowmill.rows WHERE project = $1 AND id = $2";
    let found = tx.query(sql, &[&state.num, &row.uuid()]).await?;
    Ok(complete(tx, state.num, &found).await?.pop())
}

pub(crate) async fn positions(tx: &mut Tx, project: ProjectId, rows: &[RowId]) -> Result<Vec<Option<u64>>> {
    let state = projects::existing(tx, project).await?;
    let ids: Vec<uuid::Uuid> = rows.iter().map(|id| id.uuid()).collect();
    let sql = "SELECT id, position FROM rowmill.rows WHERE project = $1 AND id = ANY($2)";
    let found = tx.query(sql, &[&state.num, &ids]).await?;
    let known: HashMap<RowId, u64> =
        found.iter().map(|row| (RowId::from_uuid(row.get(0)), unsigned(row.get(1)))).collect();
    Ok(rows.iter().map(|id| known.get(id).copied()).collect())
}

/// What is left of a scan.
#[derive(Debug)]
pub(crate) struct Scan {
    runs: VecDeque<(i64, i64)>,
    look: Look,
}

impl Scan {
    pub(crate) fn of(spans: Spans, look: Look) -> Self {
        Self {
            runs: spans.tidied().iter().map(|(first, last)| (signed(first), signed(last))).collect(),
            look,
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        self.runs.is_empty()
    }

    /// Visits some more rows; all parts of a scan share one transaction and so one snapshot.
    pub(crate) async fn some(&mut self, tx: &mut Tx, num: i64, visit: &mut Visit) -> Result<()> {
        let found = match (self.take_few(), self.look) {
            (Some(positions), _) => {
                let sql = "SELECT position, id, vals, details FROM rowmill.rows \
                           WHERE project = $1 AND position = ANY($2) ORDER BY position";
                tx.query(sql, &[&num, &positions]).await?
            }
            (None, Look::Values) => return self.copy_on(tx, num, visit).await,
            (None, Look::Whole) => self.read_on(tx, num).await?,
        };
        let blocks = match self.look {
            Look::Values => Blocks(HashMap::new()),
            Look::Whole => Blocks::of(tx, num, &found).await?,
        };
        for row in &found {
            let (id, position) = (RowId::from_uuid(row.get(1)), unsigned(row.get(0)));
            let states = match self.look {
                Look::Values => None,
                Look::Whole => blocks.states(position, &raw_row(row)?.details),
            };
            if visit(RowRef { id, position, values: row.get(2), states: states.as_ref() })
                == ControlFlow::Break(())
            {
                self.runs.clear();
                break;
            }
        }
        Ok(())
    }

    /// Visits the beginning of the next run, which comes without waiting for whoever looks at it.
    async fn copy_on(&mut self, tx: &mut Tx, num: i64, visit: &mut Visit) -> Result<()> {
        let Some((first, last)) = self.runs.pop_front() else { return Ok(()) };
        // COPY knows no parameters; these are numbers of our own.
        let query = format!(
            "SELECT position, id, vals FROM rowmill.rows WHERE project = {num} \
             AND position BETWEEN {first} AND {last} ORDER BY position LIMIT {COPY_ROWS}"
        );
        let rows =
            BinaryCopyOutStream::new(tx.copy_out(&query).await?, &[Type::INT8, Type::UUID, Type::BYTEA]);
        let mut rows = std::pin::pin!(rows);
        let (mut count, mut next) = (0, first);
        while let Some(row) = rows.try_next().await.map_err(backend)? {
            let position: i64 = row.try_get(0).map_err(backend)?;
            let id = RowId::from_uuid(row.try_get(1).map_err(backend)?);
            let values: &[u8] = row.try_get(2).map_err(backend)?;
            (count, next) = (count + 1, position + 1);
            if visit(RowRef { id, position: unsigned(position), values, states: None })
                == ControlFlow::Break(())
            {
                self.runs.clear();
                return Ok(());
            }
        }
        if count == COPY_ROWS && next <= last {
            self.runs.push_front((next, last));
        }
        Ok(())
    }

    /// The positions of short runs, to be asked for together; `None` where a long one is next.
    fn take_few(&mut self) -> Option<Vec<i64>> {
        let mut positions = Vec::new();
        while let Some((first, last)) = self.runs.front().copied() {
            let len = last.saturating_sub(first).saturating_add(1);
            if len > SCAN_ROWS - i64::try_from(positions.len()).unwrap_or(SCAN_ROWS) {
                break;
            }
            positions.extend(first..=last);
            self.runs.pop_front();
        }
        (!positions.is_empty()).then_some(positions)
    }

    /// Reads the beginning of the next run and shortens it by that.
    async fn read_on(&mut self, tx: &mut Tx, num: i64) -> Result<Vec<Row>> {
        let Some((first, last)) = self.runs.pop_front() else { return Ok(Vec::new()) };
        let sql = "SELECT position, id, vals, details FROM rowmill.rows \
                   WHERE project = $1 AND position BETWEEN $2 AND $3 ORDER BY position LIMIT $4";
        let found = tx.query(sql, &[&num, &first, &last, &SCAN_ROWS]).await?;
        let is_full = i64::try_from(found.len()).is_ok_and(|len| len == SCAN_ROWS);
        if let Some(row) = found.last().filter(|_| is_full) {
            let next = row.get::<_, i64>(0) + 1;
            if next <= last {
                self.runs.push_front((next, last));
            }
        }
        Ok(found)
    }
}
