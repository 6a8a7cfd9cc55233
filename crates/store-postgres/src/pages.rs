//! Reading pages of rows.

use std::collections::HashMap;

use rowmill_model::{ProjectId, RowId};
use rowmill_store::{PageStart, Result, RowsAt, RowsPage, StoredRow, Wanted};
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use crate::convert::{signed, unsigned};
use crate::database::Database;
use crate::documents::Documents;
use crate::live_counts::{self, incomplete};
use crate::offset_cache::{OffsetCache, RowRange};
use crate::page_answer::{PageAnswer, Source};
use crate::page_sql::{
    AT_POSITIONS, BETWEEN_BY_NUM, FROM_OFFSET, FROM_OFFSET_BY_NUM, FROM_OFFSET_DENSE, FROM_POSITION, WITH_ID,
};
use crate::project_state;
use crate::transaction::Tx;
use crate::wide_values::WantedParams;

/// Farther than any row, and small enough to be added to.
const POSITION_MAX: i64 = i64::MAX >> 2;
/// How many positions are searched for a page, beside some for each row.
const NEAR_MIN: i64 = 1_024;

/// Which page is asked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'w> {
    pub(crate) project: ProjectId,
    pub(crate) start: PageStart,
    pub(crate) limit: u32,
    pub(crate) wanted: &'w WantedParams,
}

impl Asked<'_> {
    /// One row more than asked for tells whether any follow.
    fn count(self) -> i64 {
        i64::from(self.limit) + 1
    }

    /// Whether a page that starts at an offset has all its rows, and the one that tells whether any follow.
    fn is_whole(self, page_answer: &PageAnswer) -> bool {
        let PageStart::Offset(offset) = self.start else { return true };
        let left = page_answer.shape.row_count.saturating_sub(offset);
        page_answer.count() as u64 == left.min(unsigned(self.count()))
    }

    /// Whether the page's rows, and the one that tells whether any follow, are all there are between the first and the
    /// last of them; `None` if the project has changed since they were read. Where no row was deleted, nothing is asked.
    async fn check(self, source: &mut Source<'_>, page_answer: &PageAnswer) -> Result<Option<()>> {
        let found = page_answer.count() as u64;
        if !self.is_whole(page_answer) {
            return Err(incomplete(found, page_answer.shape.row_count));
        }
        let first = match self.start {
            PageStart::After(position) => Some(position.saturating_add(1)),
            PageStart::Offset(_) => page_answer.positions().next(),
        };
        let is_full = found == unsigned(self.count());
        let past = if is_full { page_answer.positions().last().map(|last| last + 1) } else { None };
        let past = past.unwrap_or(page_answer.shape.next_position);
        let Some(first) = first.filter(|first| *first < past) else {
            return if found == 0 { Ok(Some(())) } else { Err(incomplete(found, 0)) };
        };
        if found == past - first {
            return Ok(Some(()));
        }
        let (first, last) = (signed(first), signed(past - 1));
        let answer = source.ask(live_counts::WITHIN, &[&self.project.uuid(), &first, &last]).await?;
        let (change_seq, counted) = live_counts::read(&answer)?;
        match change_seq == page_answer.change_seq {
            true if found == counted => Ok(Some(())),
            true => Err(incomplete(found, counted)),
            false => Ok(None),
        }
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

pub(crate) async fn page(
    database: &Database,
    documents: &Documents,
    offset_cache: &OffsetCache,
    asked: Asked<'_>,
) -> Result<RowsPage> {
    let page_answer = match asked.start {
        PageStart::After(position) => {
            let from = signed(position.saturating_add(1)).min(POSITION_MAX);
            sparse_page(&mut Source::Pool(database), &FROM_POSITION, asked, from).await?
        }
        PageStart::Offset(offset) => {
            page_from(database, documents.num(asked.project), offset_cache, asked, offset).await?
        }
    };
    if asked.check(&mut Source::Pool(database), &page_answer).await?.is_some() {
        return Ok(asked.answer(page_answer));
    }
    // It changes all the time: read and checked in one snapshot.
    let mut tx = database.snapshot().await?;
    let page = page_in(&mut tx, asked).await?;
    tx.commit().await?;
    Ok(page)
}

/// Reads a page in a snapshot, about which nothing is cached.
pub(crate) async fn page_in(tx: &mut Tx, asked: Asked<'_>) -> Result<RowsPage> {
    let mut source = Source::Snapshot(tx);
    let page_answer = match asked.start {
        PageStart::After(position) => {
            let from = signed(position.saturating_add(1)).min(POSITION_MAX);
            sparse_page(&mut source, &FROM_POSITION, asked, from).await?
        }
        PageStart::Offset(offset) => {
            let from = signed(offset).min(POSITION_MAX);
            let WantedParams { bytes_max, slots, wanted } = asked.wanted;
            let params: [&(dyn ToSql + Sync); 5] =
                [&asked.project.uuid(), &from, &asked.count(), bytes_max, slots];
            let page_answer = PageAnswer::ask(&mut source, &FROM_OFFSET_DENSE, &params, wanted).await?;
            if page_answer.is_dense() {
                page_answer
            } else {
                sparse_page(&mut source, &FROM_OFFSET, asked, from).await?
            }
        }
    };
    asked.check(&mut source, &page_answer).await?;
    Ok(asked.answer(page_answer))
}

/// Rows from the n-th on.
async fn page_from(
    database: &Database,
    num: Option<i64>,
    offset_cache: &OffsetCache,
    asked: Asked<'_>,
    offset: u64,
) -> Result<PageAnswer> {
    let (project, count) = (asked.project, asked.count());
    let WantedParams { bytes_max, slots, wanted } = asked.wanted;
    let source = &mut Source::Pool(database);
    if let Some(num) = num
        && let Some(map) = offset_cache.get(project)
        && let Some(RowRange { first, past, passed }) = map.find(offset, unsigned(count))
    {
        let (first, past, passed) = (signed(first), signed(past), signed(passed));
        let params: [&(dyn ToSql + Sync); 7] = [&num, &first, &past, &passed, &count, bytes_max, slots];
        let page_answer = PageAnswer::ask(source, &BETWEEN_BY_NUM, &params, wanted).await?;
        if page_answer.shape == map.shape && asked.is_whole(&page_answer) {
            return Ok(page_answer);
        }
        offset_cache.forget(project);
    }
    let from = signed(offset).min(POSITION_MAX);
    if !offset_cache.has_holes(project) {
        let page_answer = if let Some(num) = num {
            let params: [&(dyn ToSql + Sync); 5] = [&num, &from, &count, bytes_max, slots];
            PageAnswer::ask(source, &FROM_OFFSET_BY_NUM, &params, wanted).await?
        } else {
            let params: [&(dyn ToSql + Sync); 5] = [&project.uuid(), &from, &count, bytes_max, slots];
            PageAnswer::ask(source, &FROM_OFFSET_DENSE, &params, wanted).await?
        };
        if page_answer.is_dense() {
            return Ok(page_answer);
        }
    }
    let page_answer = sparse_page(source, &FROM_OFFSET, asked, from).await?;
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
    asked: Asked<'_>,
    from: i64,
) -> Result<PageAnswer> {
    let (id, count) = (asked.project.uuid(), asked.count());
    let WantedParams { bytes_max, slots, wanted } = asked.wanted;
    let near = count.saturating_mul(4).saturating_add(NEAR_MIN);
    let params: [&(dyn ToSql + Sync); 6] = [&id, &from, &count, &near, bytes_max, slots];
    let page_answer = PageAnswer::ask(source, sql, &params, wanted).await?;
    let is_full = i64::try_from(page_answer.count()).is_ok_and(|len| len == count);
    // The n-th row stands at the n-th position or later, and is looked for from the start of its run of 256.
    if is_full || signed(page_answer.shape.next_position) <= from + near - 256 {
        return Ok(page_answer);
    }
    let params: [&(dyn ToSql + Sync); 6] = [&id, &from, &count, &POSITION_MAX, bytes_max, slots];
    PageAnswer::ask(source, sql, &params, wanted).await
}

pub(crate) async fn at(
    mut source: Source<'_>,
    project: ProjectId,
    positions: &[u64],
    wanted: Wanted,
) -> Result<RowsAt> {
    let asked: Vec<i64> = positions.iter().copied().map(signed).collect();
    let WantedParams { bytes_max, slots, wanted } = wanted.into();
    let params: [&(dyn ToSql + Sync); 4] = [&project.uuid(), &asked, &bytes_max, &slots];
    let PageAnswer { shape: _, change_seq, rows, rest } =
        PageAnswer::ask(&mut source, &AT_POSITIONS, &params, &wanted).await?;
    let is_left = |position: &&u64| rest.binary_search(position).is_ok();
    let rest = positions.iter().filter(is_left).copied().collect();
    let mut found: HashMap<u64, StoredRow> = rows.into_iter().map(|row| (row.position, row)).collect();
    let rows = positions.iter().filter_map(|position| found.remove(position)).collect();
    Ok(RowsAt { rows, rest, change_seq })
}

pub(crate) async fn one(database: &Database, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    let WantedParams { bytes_max, slots, wanted } = Wanted::ALL.into();
    let params: [&(dyn ToSql + Sync); 4] = [&project.uuid(), &row.uuid(), &bytes_max, &slots];
    Ok(PageAnswer::ask(&mut Source::Pool(database), &WITH_ID, &params, &wanted).await?.rows.pop())
}

pub(crate) async fn positions(tx: &mut Tx, project: ProjectId, rows: &[RowId]) -> Result<Vec<Option<u64>>> {
    let state = project_state::existing(tx, project).await?;
    let ids: Vec<Uuid> = rows.iter().map(|id| id.uuid()).collect();
    let sql = "SELECT id, position FROM rowmill.rows WHERE project = $1 AND id = ANY($2)";
    let found = tx.query(sql, &[&state.num, &ids]).await?;
    let known: HashMap<RowId, u64> =
        found.iter().map(|row| (RowId::from_uuid(row.get(0)), unsigned(row.get(1)))).collect();
    Ok(rows.iter().map(|id| known.get(id).copied()).collect())
}
