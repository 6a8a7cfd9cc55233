//! Cutting a run over many rows into parts, each the work of one transaction.

use std::collections::VecDeque;

use crate::work::Rows;

/// How many blocks, or rows named one by one, one transaction goes over: some milliseconds' work.
pub const BLOCKS_AT_ONCE: u64 = 64;
const ROWS_AT_ONCE: usize = 8_192;

/// Rows one transaction goes over.
#[derive(Debug, Clone)]
pub enum Part {
    /// Those from this block on, up to [`BLOCKS_AT_ONCE`] blocks.
    From(u64),
    These(Vec<u64>),
}

/// What one transaction did, and where the next goes on.
#[derive(Debug)]
pub struct PartDone<T> {
    pub count: T,
    /// `None` at the end.
    pub next_block: Option<u64>,
}

/// The rows of a run, cut into parts.
#[derive(Debug)]
pub enum Parts {
    /// From this block on; `None` at the end.
    Blocks(Option<u64>),
    Rows(VecDeque<Vec<u64>>),
}

impl Parts {
    pub fn of(rows: Rows) -> Self {
        match rows {
            Rows::All => Self::Blocks(Some(0)),
            Rows::At(positions) => Self::Rows(positions.chunks(ROWS_AT_ONCE).map(<[u64]>::to_vec).collect()),
        }
    }

    pub fn next_part(&mut self) -> Option<Part> {
        match self {
            Self::Blocks(next) => next.take().map(Part::From),
            Self::Rows(parts) => parts.pop_front().map(Part::These),
        }
    }

    pub fn resume_at(&mut self, next_block: Option<u64>) {
        if let Self::Blocks(next) = self {
            *next = next_block;
        }
    }
}

/// Where the next part begins, after these blocks were gone over.
pub fn block_after(blocks: &[u64]) -> Option<u64> {
    let is_full = u64::try_from(blocks.len()).is_ok_and(|len| len == BLOCKS_AT_ONCE);
    blocks.last().filter(|_| is_full).map(|last| last + 1)
}
