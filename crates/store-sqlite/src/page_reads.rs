//! Pages of rows: at once where they are short, on a thread apart where they are not, or in parts.
//!
//! How long a page takes depends on its bytes, which nobody knows beforehand. So up to 200 rows are tried on the
//! thread that asks, for no more than a few hundred KiB; what is larger is read again on a thread apart.

use std::sync::Arc;

use async_trait::async_trait;
use rowmill_model::{ProjectId, RowId};
use rowmill_store::{
    PageStart, Result, RowVisitor, RowsAt, RowsPage, ScanLook, Snapshot, Spans, StoreError, StoredRow, Wanted,
};
use rusqlite::Connection;

use crate::pages::{self, Bounds, OneRow, SHORT_PAGE_ROWS};
use crate::readers::{HeldSnapshot, ReadKind, Readers};

/// What is read on an async thread at most. Copying it takes some ten microseconds.
const SHORT_READ_BYTES: usize = 256 * 1024;

/// What is tried on the thread that asks.
fn short(wanted: &Wanted) -> Bounds {
    let bytes_max = wanted.bytes_max.min(SHORT_READ_BYTES);
    Bounds { bytes_max, row_bytes_max: SHORT_READ_BYTES, slots: wanted.slots.clone() }
}

pub(crate) async fn page(
    readers: &Arc<Readers>,
    project: ProjectId,
    (start, limit): (PageStart, u32),
    wanted: Wanted,
) -> Result<RowsPage> {
    if limit <= SHORT_PAGE_ROWS {
        let bounds = short(&wanted);
        let page = readers.read(|connection| pages::page(connection, project, start, limit, &bounds))?;
        if page.rest.is_empty() {
            return Ok(page);
        }
    }
    let bounds = Bounds::of(wanted);
    readers.read_long(ReadKind::Page, move |it| pages::page(it, project, start, limit, &bounds)).await
}

pub(crate) async fn at(
    readers: &Arc<Readers>,
    project: ProjectId,
    positions: Vec<u64>,
    wanted: Wanted,
) -> Result<RowsAt> {
    if positions.len() <= usize::try_from(SHORT_PAGE_ROWS).unwrap_or(usize::MAX) {
        let bounds = short(&wanted);
        let found = readers.read(|connection| pages::at(connection, project, &positions, &bounds))?;
        if found.rest.is_empty() {
            return Ok(found);
        }
    }
    let bounds = Bounds::of(wanted);
    readers.read_long(ReadKind::Page, move |it| pages::at(it, project, &positions, &bounds)).await
}

pub(crate) async fn one(readers: &Arc<Readers>, project: ProjectId, row: RowId) -> Result<Option<StoredRow>> {
    let bounds = short(&Wanted::ALL);
    match readers.read(|connection| pages::one(connection, project, row, &bounds))? {
        OneRow::Nothing => Ok(None),
        OneRow::Row(row) => Ok(Some(*row)),
        OneRow::TooLarge => {
            let read = move |connection: &Connection| {
                Ok(match pages::one(connection, project, row, &Bounds::of(Wanted::ALL))? {
                    OneRow::Row(row) => Some(*row),
                    OneRow::Nothing | OneRow::TooLarge => None,
                })
            };
            readers.read_long(ReadKind::Page, read).await
        }
    }
}

pub(crate) async fn scan(
    readers: &Arc<Readers>,
    project: ProjectId,
    (spans, look): (Spans, ScanLook),
    visit: RowVisitor,
) -> Result<u64> {
    let mut visit = Some(visit);
    if spans.rows_max() <= u64::from(SHORT_PAGE_ROWS) {
        let scanned = readers.read(|connection| {
            let is_short = pages::bytes(connection, project, &spans)? <= SHORT_READ_BYTES as u64;
            let visit = visit.take_if(|_| is_short);
            visit.map(|visit| pages::scan(connection, project, spans.clone(), &look, visit)).transpose()
        })?;
        if let Some(seq) = scanned {
            return Ok(seq);
        }
    }
    let visit = visit.ok_or(StoreError::Closed)?;
    let scan = move |connection: &Connection| pages::scan(connection, project, spans, &look, visit);
    readers.read_long(ReadKind::Scan, scan).await
}

/// One project at one moment.
#[derive(Debug)]
pub(crate) struct ProjectSnapshot {
    pub(crate) held: HeldSnapshot,
    pub(crate) project: ProjectId,
}

#[async_trait]
impl Snapshot for ProjectSnapshot {
    async fn rows_within(&mut self, start: PageStart, limit: u32, wanted: Wanted) -> Result<RowsPage> {
        let (project, bounds) = (self.project, Bounds::of(wanted));
        self.held.read(move |connection| pages::page(connection, project, start, limit, &bounds)).await
    }

    async fn rows_at_within(&mut self, positions: Vec<u64>, wanted: Wanted) -> Result<RowsAt> {
        let (project, bounds) = (self.project, Bounds::of(wanted));
        self.held.read(move |connection| pages::at(connection, project, &positions, &bounds)).await
    }
}
