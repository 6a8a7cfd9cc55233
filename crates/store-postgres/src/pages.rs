//! Reading rows.

use std::collections::{BTreeSet, HashMap};

use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, block_of, place_of};
use rowmill_model::{CellStates, ProjectId, Record, RowId};
use rowmill_store::changes::RawRow;
use rowmill_store::{PageStart, Result, RowsAt, RowsPage, StoreError, StoredRow};
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::convert::{signed, unexpected_answer, unsigned};
use crate::database::{Database, Tx, lost};
use crate::offset_cache::{OffsetCache, RowRange, TableShape};
use crate::projects::{self, Documents};

/// Farther than any row stands, and small enough to be added to.
const POSITION_MAX: i64 = i64::MAX >> 2;
/// Positions looked over for a page, beside some for each row.
const NEAR_MIN: i64 = 1_024;

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
pub(crate) struct Blocks(HashMap<u64, Block>);

impl Blocks {
    /// Of a scan that does not look at states.
    pub(crate) fn none() -> Self {
        Self(HashMap::new())
    }

    pub(crate) async fn of(tx: &mut Tx, num: i64, rows: &[Row]) -> Result<Self> {
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
    pub(crate) fn states(&self, position: u64, details: &Details) -> Option<CellStates> {
        let block = self.0.get(&block_of(position))?;
        Some(CellStates::of(block, place_of(position), details)).filter(|states| !states.is_empty())
    }
}

/// A statement that finds a project, some of its rows and the blocks these lie in, all at one moment. What
/// has no position says how the project stands; what has no id is a block.
///
/// Of each row it is known how many bytes come before it, in the order that is read; the values of those that come
/// after as many as are allowed are left out. The server knows lengths without reading what is long.
macro_rules! page_answer {
    ($rows:literal, $order:literal, $bytes:literal) => {
        page_answer!(
            $rows,
            "r",
            "b.block = ANY(ARRAY(SELECT DISTINCT r.position >> 8 FROM r))",
            $order,
            $bytes
        )
    };
    ($with:literal, $rows:literal, $blocks:literal, $order:literal, $bytes:literal) => {
        concat!(
            "WITH c AS MATERIALIZED (SELECT project, row_count, next_position, change_seq \
             FROM rowmill.counters WHERE id = $1) ",
            $with,
            " SELECT NULL::int8, NULL::uuid, int8send(c.row_count) || int8send(c.next_position) \
             || int8send(c.change_seq), NULL::bytea FROM c \
             UNION ALL ",
            rows_of!($rows, $order, $bytes),
            " UNION ALL SELECT b.block, NULL, b.marks, NULL FROM rowmill.blocks b \
             WHERE b.project = (SELECT project FROM c) AND ",
            $blocks
        )
    };
}

macro_rules! rows_of {
    ($rows:literal, $order:literal, $bytes:literal) => {
        concat!(
            "SELECT s.position, s.id, CASE WHEN s.ahead < ",
            $bytes,
            " THEN s.vals END, CASE WHEN s.ahead < ",
            $bytes,
            " THEN s.details END FROM (SELECT r.position, r.id, r.vals, r.details, \
             sum(octet_length(r.vals)) OVER (ORDER BY ",
            $order,
            ") - octet_length(r.vals) AS ahead FROM ",
            $rows,
            ") s"
        )
    };
}

/// The same of a project whose number is known.
macro_rules! sheet_of {
    ($rows:literal, $blocks:literal, $bytes:literal) => {
        concat!(
            "SELECT NULL::int8, NULL::uuid, int8send(c.row_count) || int8send(c.next_position) \
             || int8send(c.change_seq), NULL::bytea FROM rowmill.counters c WHERE c.project = $1 \
             UNION ALL ",
            rows_of!($rows, "r.position", $bytes),
            " UNION ALL SELECT b.block, NULL, b.marks, NULL FROM rowmill.blocks b WHERE b.project = $1 AND ",
            $blocks
        )
    };
}

/// Rows from a position on. Looking only so far, the planner needs no statistics to see that few are wanted.
const FROM_POSITION: &str = page_answer!(
    ", r AS MATERIALIZED (SELECT position, id, vals, details FROM rowmill.rows \
     WHERE project = (SELECT project FROM c) AND position >= $2 AND position < $2 + $4 \
     ORDER BY position LIMIT $3)",
    "r.position",
    "$5"
);

/// The same where no row was ever deleted, so that the n-th row is at the n-th position; else none.
const FROM_OFFSET_DENSE: &str = page_answer!(
    "",
    "rowmill.rows r WHERE (SELECT row_count = next_position FROM c) \
     AND r.project = (SELECT project FROM c) AND r.position >= $2 AND r.position < $2 + $3",
    "b.block BETWEEN $2 >> 8 AND ($2 + $3) >> 8",
    "r.position",
    "$4"
);

/// Rows from the n-th on: the run it lies in is found by adding up how many rows are live in those before,
/// first in runs of 2^20 positions, then of 2^14 in that one, then of 2^8.
const FROM_OFFSET: &str = page_answer!(
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
     ORDER BY position OFFSET (SELECT rest FROM l0) LIMIT $3)",
    "r.position",
    "$5"
);

/// The same by the project's number, which is a fifth of the server's work less. It is on the caller to see that no
/// row was ever deleted.
const FROM_OFFSET_OF: &str = sheet_of!(
    "rowmill.rows r WHERE r.project = $1 AND r.position >= $2 AND r.position < $2 + $3",
    "b.block BETWEEN $2 >> 8 AND ($2 + $3) >> 8",
    "$4"
);

/// Rows that lie between two positions, some of them passed over; by the project's number.
const BETWEEN_OF: &str = sheet_of!(
    "(SELECT position, id, vals, details FROM rowmill.rows WHERE project = $1 AND position >= $2 AND position < $3 \
     ORDER BY position OFFSET $4 LIMIT $5) r",
    "b.block BETWEEN $2 >> 8 AND ($3 - 1) >> 8",
    "$6"
);

const AT_POSITIONS: &str = page_answer!(
    ", r AS MATERIALIZED (SELECT r.position, r.id, r.vals, r.details, w.place \
     FROM unnest($2::int8[]) WITH ORDINALITY w (position, place) \
     JOIN rowmill.rows r ON r.project = (SELECT project FROM c) AND r.position = w.position)",
    "r.place",
    "$3"
);

const WITH_ID: &str = page_answer!(
    ", r AS MATERIALIZED (SELECT position, id, vals, details FROM rowmill.rows \
     WHERE project = (SELECT project FROM c) AND id = $2)",
    "r.position",
    "$3"
);

/// What is decoded on the thread that asks.
const SHORT_ANSWER_BYTES: usize = 64 * 1024;

/// The answer to such a statement.
struct PageAnswer {
    shape: TableShape,
    change_seq: u64,
    /// By position.
    rows: Vec<StoredRow>,
    /// Where rows lie whose values were left out, in order.
    rest: Vec<u64>,
}

/// Where a statement is sent.
pub(crate) enum Source<'a> {
    /// Any connection: the statement sees the newest moment.
    Pool(&'a Database),
    /// The transaction's moment.
    Snapshot(&'a mut Tx),
}

impl Source<'_> {
    async fn ask(&mut self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
        match self {
            Self::Pool(database) => database.ask(sql, params).await,
            Self::Snapshot(tx) => tx.query(sql, params).await,
        }
    }
}

impl PageAnswer {
    /// Whether no row was ever deleted.
    fn is_dense(&self) -> bool {
        self.shape.row_count == self.shape.next_position
    }

    fn count(&self) -> usize {
        self.rows.len() + self.rest.len()
    }

    async fn ask(source: &mut Source<'_>, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Self> {
        let found = source.ask(sql, params).await?;
        if found.iter().map(Row::raw_size_bytes).sum::<usize>() <= SHORT_ANSWER_BYTES {
            return Self::decode(&found);
        }
        rowmill_fairness::compute(move || Self::decode(&found)).await.map_err(lost)?
    }

    fn decode(found: &[Row]) -> Result<Self> {
        let mut head = None;
        let mut rest = Vec::new();
        let mut rows = Vec::with_capacity(found.len());
        let mut blocks = Blocks(HashMap::new());
        for row in found {
            match (row.get::<_, Option<i64>>(0), row.get::<_, Option<uuid::Uuid>>(1)) {
                (None, _) => head = Some(Self::read_head(row.get(2))?),
                (Some(position), Some(_)) if row.get::<_, Option<&[u8]>>(2).is_none() => {
                    rest.push(unsigned(position));
                }
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

/// Rows from a place on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) project: ProjectId,
    pub(crate) start: PageStart,
    pub(crate) limit: u32,
    pub(crate) bytes_max: usize,
}

impl Asked {
    /// One row more than asked for tells whether any follow.
    fn count(self) -> i64 {
        i64::from(self.limit) + 1
    }

    fn bytes(self) -> i64 {
        budget(self.bytes_max)
    }

    fn answer(self, page_answer: PageAnswer) -> RowsPage {
        let PageAnswer { shape, change_seq, mut rows, mut rest } = page_answer;
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let more = rows.len() + rest.len() > limit;
        rest.truncate(limit.saturating_sub(rows.len()));
        rows.truncate(limit);
        RowsPage { rows, rest, total: shape.row_count, more, change_seq }
    }
}

fn budget(bytes_max: usize) -> i64 {
    i64::try_from(bytes_max).unwrap_or(i64::MAX)
}

pub(crate) async fn page(
    database: &Database,
    documents: &Documents,
    offset_cache: &OffsetCache,
    asked: Asked,
) -> Result<RowsPage> {
    let page_answer = match asked.start {
        PageStart::After(position) => {
            let from = signed(position.saturating_add(1)).min(POSITION_MAX);
            sparse_page(&mut Source::Pool(database), FROM_POSITION, asked, from).await?
        }
        PageStart::Offset(offset) => {
            page_from(database, documents.num(asked.project), offset_cache, asked, offset).await?
        }
    };
    Ok(asked.answer(page_answer))
}

/// The same in a snapshot, about which nothing is remembered.
pub(crate) async fn page_in(tx: &mut Tx, asked: Asked) -> Result<RowsPage> {
    let mut source = Source::Snapshot(tx);
    let page_answer = match asked.start {
        PageStart::After(position) => {
            let from = signed(position.saturating_add(1)).min(POSITION_MAX);
            sparse_page(&mut source, FROM_POSITION, asked, from).await?
        }
        PageStart::Offset(offset) => {
            let from = signed(offset).min(POSITION_MAX);
            let params: [&(dyn ToSql + Sync); 4] =
                [&asked.project.uuid(), &from, &asked.count(), &asked.bytes()];
            let page_answer = PageAnswer::ask(&mut source, FROM_OFFSET_DENSE, &params).await?;
            if page_answer.is_dense() {
                page_answer
            } else {
                sparse_page(&mut source, FROM_OFFSET, asked, from).await?
            }
        }
    };
    Ok(asked.answer(page_answer))
}

/// Rows from the n-th on.
async fn page_from(
    database: &Database,
    num: Option<i64>,
    offset_cache: &OffsetCache,
    asked: Asked,
    offset: u64,
) -> Result<PageAnswer> {
    let (project, count, bytes) = (asked.project, asked.count(), asked.bytes());
    let source = &mut Source::Pool(database);
    if let Some(num) = num
        && let Some(map) = offset_cache.get(project)
        && let Some(RowRange { first, past, passed }) = map.find(offset, unsigned(count))
    {
        let (first, past, passed) = (signed(first), signed(past), signed(passed));
        let page_answer =
            PageAnswer::ask(source, BETWEEN_OF, &[&num, &first, &past, &passed, &count, &bytes]).await?;
        if page_answer.shape == map.shape {
            return Ok(page_answer);
        }
        offset_cache.forget(project);
    }
    let from = signed(offset).min(POSITION_MAX);
    if !offset_cache.has_holes(project) {
        let page_answer = match num {
            Some(num) => PageAnswer::ask(source, FROM_OFFSET_OF, &[&num, &from, &count, &bytes]).await?,
            None => {
                PageAnswer::ask(source, FROM_OFFSET_DENSE, &[&project.uuid(), &from, &count, &bytes]).await?
            }
        };
        if page_answer.is_dense() {
            return Ok(page_answer);
        }
    }
    let page_answer = sparse_page(source, FROM_OFFSET, asked, from).await?;
    if page_answer.is_dense() {
        offset_cache.forget(project);
    } else {
        offset_cache.note(database, project, page_answer.shape).await?;
    }
    Ok(page_answer)
}

/// Rows among which some were deleted: looked for nearby, and if there are too few, as far as it takes.
async fn sparse_page(
    source: &mut Source<'_>,
    sql: &'static str,
    asked: Asked,
    from: i64,
) -> Result<PageAnswer> {
    let (id, count, bytes) = (asked.project.uuid(), asked.count(), asked.bytes());
    let near = count.saturating_mul(4).saturating_add(NEAR_MIN);
    let page_answer = PageAnswer::ask(source, sql, &[&id, &from, &count, &near, &bytes]).await?;
    let is_full = i64::try_from(page_answer.count()).is_ok_and(|len| len == count);
    // The n-th row stands at the n-th position or later, and is looked for from the start of its run of 256.
    if is_full || signed(page_answer.shape.next_position) <= from + near - 256 {
        return Ok(page_answer);
    }
    PageAnswer::ask(source, sql, &[&id, &from, &count, &POSITION_MAX, &bytes]).await
}

pub(crate) async fn at(
    mut source: Source<'_>,
    project: ProjectId,
    positions: &[u64],
    bytes_max: usize,
) -> Result<RowsAt> {
    let wanted: Vec<i64> = positions.iter().copied().map(signed).collect();
    let params: [&(dyn ToSql + Sync); 3] = [&project.uuid(), &wanted, &budget(bytes_max)];
    let PageAnswer { shape: _, change_seq, rows, rest } =
        PageAnswer::ask(&mut source, AT_POSITIONS, &params).await?;
    let is_left = |position: &&u64| rest.binary_search(position).is_ok();
    let rest = positions.iter().filter(is_left).copied().collect();
    let mut found: HashMap<u64, StoredRow> = rows.into_iter().map(|row| (row.position, row)).collect();
    let rows = positions.iter().filter_map(|position| found.remove(position)).collect();
    Ok(RowsAt { rows, rest, change_seq })
}

pub(crate) async fn one(database: &Database, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    let params: [&(dyn ToSql + Sync); 3] = [&project.uuid(), &row.uuid(), &i64::MAX];
    Ok(PageAnswer::ask(&mut Source::Pool(database), WITH_ID, &params).await?.rows.pop())
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
