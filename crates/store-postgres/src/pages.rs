//! Reading rows.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ops::ControlFlow;

use futures_util::TryStreamExt as _;
use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, ProjectId, Record, RowId};
use rowmill_store::changes::RawRow;
use rowmill_store::{Look, PageStart, Result, RowRef, RowsAt, RowsPage, Spans, StoreError, StoredRow, Visit};
use tokio_postgres::Row;
use tokio_postgres::binary_copy::BinaryCopyOutStream;
use tokio_postgres::types::{ToSql, Type};

use crate::convert::unexpected_answer;
use crate::convert::{signed, unsigned};
use crate::database::{Database, Tx, backend};
use crate::maps::{Found, Maps, Shape};
use crate::projects::{self, Documents};

/// Rows of a scan read in one go.
const SCAN_ROWS: i64 = 2_000;
/// Farther than any row stands, and small enough to be added to.
const POSITION_MAX: i64 = i64::MAX >> 2;
/// Positions looked over for a page, beside some for each row.
const NEAR_MIN: i64 = 1_024;
/// Rows of a scan copied out in one go. Whoever has seen enough lets the rest of them go by.
const COPY_ROWS: i64 = 20_000;

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
}

/// A statement that finds a project, some of its rows and the blocks these lie in, all at one moment. What
/// has no position says how the project stands; what has no id is a block.
macro_rules! sheet {
    ($rows:literal) => {
        sheet!($rows, "r", "b.block = ANY(ARRAY(SELECT DISTINCT r.position >> 8 FROM r))")
    };
    ($with:literal, $rows:literal, $blocks:literal) => {
        concat!(
            "WITH c AS MATERIALIZED (SELECT project, row_count, next_position, change_seq \
             FROM rowmill.counters WHERE id = $1) ",
            $with,
            " SELECT NULL::int8, NULL::uuid, int8send(c.row_count) || int8send(c.next_position) \
             || int8send(c.change_seq), NULL::bytea FROM c \
             UNION ALL SELECT r.position, r.id, r.vals, r.details FROM ",
            $rows,
            " UNION ALL SELECT b.block, NULL, b.marks, NULL FROM rowmill.blocks b \
             WHERE b.project = (SELECT project FROM c) AND ",
            $blocks
        )
    };
}

/// The same of a project whose number is known.
macro_rules! sheet_of {
    ($rows:literal, $blocks:literal) => {
        concat!(
            "SELECT NULL::int8, NULL::uuid, int8send(c.row_count) || int8send(c.next_position) \
             || int8send(c.change_seq), NULL::bytea FROM rowmill.counters c WHERE c.project = $1 \
             UNION ALL SELECT r.position, r.id, r.vals, r.details FROM ",
            $rows,
            " UNION ALL SELECT b.block, NULL, b.marks, NULL FROM rowmill.blocks b WHERE b.project = $1 AND ",
            $blocks
        )
    };
}

/// Rows from a position on. Looking only so far, the planner needs no statistics to see that few are wanted.
const FROM_POSITION: &str = sheet!(
    ", r AS MATERIALIZED (SELECT position, id, vals, details FROM rowmill.rows \
     WHERE project = (SELECT project FROM c) AND position >= $2 AND position < $2 + $4 \
     ORDER BY position LIMIT $3)"
);

/// The same where no row was ever deleted, so that the n-th row is at the n-th position; else none.
const FROM_OFFSET_DENSE: &str = sheet!(
    "",
    "rowmill.rows r WHERE (SELECT row_count = next_position FROM c) \
     AND r.project = (SELECT project FROM c) AND r.position >= $2 AND r.position < $2 + $3",
    "b.block BETWEEN $2 >> 8 AND ($2 + $3) >> 8"
);

/// Rows from the n-th on: the run it lies in is found by adding up how many rows are live in those before,
/// first in runs of 2^20 positions, then of 2^14 in that one, then of 2^8.
const FROM_OFFSET: &str = sheet!(
    ", l2 AS MATERIALIZED (SELECT segment, $2 - before AS rest FROM (SELECT segment, count, \
     (sum(count) OVER (ORDER BY segment) - count)::int8 AS before FROM rowmill.live \
     WHERE project = (SELECT project FROM c) AND level = 2) runs \
     WHERE before <= $2 AND $2 < before + count ORDER BY segment LIMIT 1), \
     l1 AS MATERIALIZED (SELECT segment, (SELECT rest FROM l2) - before AS rest FROM (SELECT segment, count, \
     (sum(count) OVER (ORDER BY segment) - count)::int8 AS before FROM rowmill.live \
     WHERE project = (SELECT project FROM c) AND level = 1 \
     AND segment BETWEEN (SELECT segment << 6 FROM l2) AND (SELECT (segment << 6) + 63 FROM l2)) runs \
     WHERE before <= (SELECT rest FROM l2) AND (SELECT rest FROM l2) < before + count \
     ORDER BY segment LIMIT 1), \
     l0 AS MATERIALIZED (SELECT segment, (SELECT rest FROM l1) - before AS rest FROM (SELECT segment, count, \
     (sum(count) OVER (ORDER BY segment) - count)::int8 AS before FROM rowmill.live \
     WHERE project = (SELECT project FROM c) AND level = 0 \
     AND segment BETWEEN (SELECT segment << 6 FROM l1) AND (SELECT (segment << 6) + 63 FROM l1)) runs \
     WHERE before <= (SELECT rest FROM l1) AND (SELECT rest FROM l1) < before + count \
     ORDER BY segment LIMIT 1), \
     r AS MATERIALIZED (SELECT position, id, vals, details FROM rowmill.rows \
     WHERE project = (SELECT project FROM c) AND position >= (SELECT segment << 8 FROM l0) \
     AND position < (SELECT (segment << 8) + $4 FROM l0) \
     ORDER BY position OFFSET (SELECT rest FROM l0) LIMIT $3)"
);

/// The same by the project's number, which is a fifth of the server's work less. It is on the caller to see that no
/// row was ever deleted.
const FROM_OFFSET_OF: &str = sheet_of!(
    "rowmill.rows r WHERE r.project = $1 AND r.position >= $2 AND r.position < $2 + $3",
    "b.block BETWEEN $2 >> 8 AND ($2 + $3) >> 8"
);

/// Rows that lie between two positions, some of them passed over; by the project's number.
const BETWEEN_OF: &str = sheet_of!(
    "(SELECT position, id, vals, details FROM rowmill.rows WHERE project = $1 AND position >= $2 AND position < $3 \
     ORDER BY position OFFSET $4 LIMIT $5) r",
    "b.block BETWEEN $2 >> 8 AND ($3 - 1) >> 8"
);

const AT_POSITIONS: &str = sheet!(
    ", r AS MATERIALIZED (SELECT position, id, vals, details FROM rowmill.rows \
     WHERE project = (SELECT project FROM c) AND position = ANY($2) ORDER BY position)"
);

const WITH_ID: &str = sheet!(
    ", r AS MATERIALIZED (SELECT position, id, vals, details FROM rowmill.rows \
     WHERE project = (SELECT project FROM c) AND id = $2)"
);

/// The answer to such a statement.
struct Sheet {
    shape: Shape,
    change_seq: u64,
    /// By position.
    rows: Vec<StoredRow>,
}

impl Sheet {
    /// Whether no row was ever deleted.
    fn is_dense(&self) -> bool {
        self.shape.row_count == self.shape.next_position
    }

    async fn ask(database: &Database, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Self> {
        let found = database.ask(sql, params).await?;
        let mut head = None;
        let mut rows = Vec::with_capacity(found.len());
        let mut blocks = Blocks(HashMap::new());
        for row in &found {
            match (row.get::<_, Option<i64>>(0), row.get::<_, Option<uuid::Uuid>>(1)) {
                (None, _) => head = Some(Self::read_head(row.get(2))?),
                (Some(_), Some(_)) => rows.push(row),
                (Some(block), None) => {
                    blocks.0.insert(unsigned(block), Block::decode(row.get(2))?);
                }
            }
        }
        let (shape, change_seq) = head.ok_or(StoreError::UnknownProject)?;
        let complete = |row: &Row| {
            let RawRow { id, position, values, details } = raw_row(row)?;
            let states = blocks.states(position, &details).unwrap_or_default();
            Ok(StoredRow { id, position, values, states })
        };
        let mut rows = rows.into_iter().map(complete).collect::<Result<Vec<StoredRow>>>()?;
        rows.sort_unstable_by_key(|row| row.position);
        Ok(Self { shape, change_seq, rows })
    }

    /// Three numbers, as the database sends them.
    fn read_head(bytes: &[u8]) -> Result<(Shape, u64)> {
        let number = |place: usize| {
            let found = bytes.get(place * 8..place * 8 + 8).and_then(|bytes| bytes.try_into().ok());
            found.map(|bytes| unsigned(i64::from_be_bytes(bytes))).ok_or_else(unexpected_answer)
        };
        Ok((Shape { row_count: number(0)?, next_position: number(1)? }, number(2)?))
    }
}

pub(crate) async fn page(
    database: &Database,
    documents: &Documents,
    maps: &Maps,
    project: ProjectId,
    start: PageStart,
    limit: u32,
) -> Result<RowsPage> {
    // One row more than asked for tells whether any follow.
    let count = i64::from(limit) + 1;
    let mut sheet = match start {
        PageStart::After(position) => {
            let from = signed(position.saturating_add(1)).min(POSITION_MAX);
            sparse_page(database, FROM_POSITION, project, from, count).await?
        }
        PageStart::Offset(offset) => {
            page_from(database, documents.num(project), maps, project, offset, count).await?
        }
    };
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = sheet.rows.len() > limit;
    sheet.rows.truncate(limit);
    Ok(RowsPage { rows: sheet.rows, total: sheet.shape.row_count, more })
}

/// Rows from the n-th on.
async fn page_from(
    database: &Database,
    num: Option<i64>,
    maps: &Maps,
    project: ProjectId,
    offset: u64,
    count: i64,
) -> Result<Sheet> {
    if let Some(num) = num
        && let Some(map) = maps.get(project)
        && let Some(Found { first, past, passed }) = map.find(offset, unsigned(count))
    {
        let (first, past, passed) = (signed(first), signed(past), signed(passed));
        let sheet = Sheet::ask(database, BETWEEN_OF, &[&num, &first, &past, &passed, &count]).await?;
        if sheet.shape == map.shape {
            return Ok(sheet);
        }
        maps.forget(project);
    }
    let from = signed(offset).min(POSITION_MAX);
    if !maps.has_holes(project) {
        let sheet = match num {
            Some(num) => Sheet::ask(database, FROM_OFFSET_OF, &[&num, &from, &count]).await?,
            None => Sheet::ask(database, FROM_OFFSET_DENSE, &[&project.uuid(), &from, &count]).await?,
        };
        if sheet.is_dense() {
            return Ok(sheet);
        }
    }
    let sheet = sparse_page(database, FROM_OFFSET, project, from, count).await?;
    if sheet.is_dense() {
        maps.forget(project);
    } else {
        maps.note(database, project, sheet.shape).await?;
    }
    Ok(sheet)
}

/// Rows among which some were deleted: looked for nearby, and if there are too few, as far as it takes.
async fn sparse_page(
    database: &Database,
    sql: &'static str,
    project: ProjectId,
    from: i64,
    count: i64,
) -> Result<Sheet> {
    let near = count.saturating_mul(4).saturating_add(NEAR_MIN);
    let sheet = Sheet::ask(database, sql, &[&project.uuid(), &from, &count, &near]).await?;
    let is_full = i64::try_from(sheet.rows.len()).is_ok_and(|len| len == count);
    // The n-th row stands at the n-th position or later, and is looked for from the start of its run of 256.
    if is_full || signed(sheet.shape.next_position) <= from + near - 256 {
        return Ok(sheet);
    }
    Sheet::ask(database, sql, &[&project.uuid(), &from, &count, &POSITION_MAX]).await
}

pub(crate) async fn at(database: &Database, project: ProjectId, positions: &[u64]) -> Result<RowsAt> {
    let wanted: Vec<i64> = positions.iter().copied().map(signed).collect();
    let sheet = Sheet::ask(database, AT_POSITIONS, &[&project.uuid(), &wanted]).await?;
    let find = |position: &u64| {
        let place = sheet.rows.binary_search_by_key(position, |row| row.position).ok()?;
        sheet.rows.get(place).cloned()
    };
    Ok(RowsAt { rows: positions.iter().filter_map(find).collect(), change_seq: sheet.change_seq })
}

pub(crate) async fn one(database: &Database, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    Ok(Sheet::ask(database, WITH_ID, &[&project.uuid(), &row.uuid()]).await?.rows.pop())
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
    /// Of these runs, as far as there are positions.
    pub(crate) fn of(spans: Spans, next_position: u64, look: Look) -> Self {
        let spans = spans.tidied();
        let runs = spans.iter().filter(|(first, _)| *first < next_position);
        let clipped = |(first, last): (u64, u64)| (signed(first), signed(last.min(next_position - 1)));
        Self { runs: runs.map(clipped).collect(), look }
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
        let end = last.min(first.saturating_add(COPY_ROWS - 1));
        // COPY knows no parameters; these are numbers of our own.
        let query = format!(
            "SELECT position, id, vals FROM rowmill.rows WHERE project = {num} \
             AND position BETWEEN {first} AND {end} ORDER BY position"
        );
        let rows =
            BinaryCopyOutStream::new(tx.copy_out(&query).await?, &[Type::INT8, Type::UUID, Type::BYTEA]);
        let mut rows = std::pin::pin!(rows);
        while let Some(row) = tx.next(rows.try_next()).await? {
            let position: i64 = row.try_get(0).map_err(backend)?;
            let id = RowId::from_uuid(row.try_get(1).map_err(backend)?);
            let values: &[u8] = row.try_get(2).map_err(backend)?;
            if visit(RowRef { id, position: unsigned(position), values, states: None })
                == ControlFlow::Break(())
            {
                self.runs.clear();
                return Ok(());
            }
        }
        if end < last {
            self.runs.push_front((end + 1, last));
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
        let end = last.min(first.saturating_add(SCAN_ROWS - 1));
        if end < last {
            self.runs.push_front((end + 1, last));
        }
        let sql = "SELECT position, id, vals, details FROM rowmill.rows \
                   WHERE project = $1 AND position BETWEEN $2 AND $3 ORDER BY position";
        tx.query(sql, &[&num, &first, &end]).await
    }
}
