//! Pages: what is asked for, and what comes back.

use jiff::Timestamp;
use rowmill_store::{StoredRow, WantedSlots};

use crate::cursor::{Cursor, SortedBy};
use crate::rest::Rest;
use crate::selection::Selection;

/// Where a page starts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Start {
    Offset(u64),
    After(Cursor),
}

#[derive(Debug, Clone)]
pub struct PageOf {
    pub selection: Selection,
    pub start: Start,
    pub limit: u32,
    /// Whether the rows must be counted even where that means reading all of them.
    pub include_total: bool,
    /// The columns whose values the rows must show; those of others may be absent.
    pub slots: WantedSlots,
    pub now: Timestamp,
}

#[derive(Debug)]
pub struct Page {
    pub rows: Vec<StoredRow>,
    /// The page's other rows, where it is too large to be read at once.
    pub rest: Option<Rest>,
    /// All rows of the selection, if they were to be counted.
    pub total: Option<u64>,
    /// Where the next page starts; `None` at the end.
    pub next: Option<Cursor>,
}

/// Some rows of a selection, as many as fit into memory well.
#[derive(Debug)]
pub struct Part {
    pub rows: Vec<StoredRow>,
    /// Where the next part starts; `None` at the end.
    pub next: Option<Cursor>,
}

/// How many rows come before a page.
pub(crate) fn rank_before(start: &Start) -> u64 {
    match start {
        Start::Offset(offset) => *offset,
        Start::After(cursor) => cursor.rank,
    }
}

/// A cursor to what follows a page, of which `before` rows came earlier, and whose last row was sorted by this.
pub(crate) fn cursor_behind(
    last: Option<u64>,
    count: usize,
    before: u64,
    sorted: Option<SortedBy>,
) -> Option<Cursor> {
    let rank = before.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
    Some(Cursor { position: last?, rank, sorted })
}
