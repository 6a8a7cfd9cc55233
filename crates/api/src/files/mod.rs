//! Files that come in and go out: read and written piece by piece, never held whole.

pub(crate) mod csv;
pub(crate) mod delimiter;
pub(crate) mod empty_cells;
pub(crate) mod formulas;
pub(crate) mod incoming;
pub(crate) mod lines;
pub(crate) mod outgoing;
mod quotes;
pub(crate) mod whole;

/// One row of a file, or why it is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRow<T> {
    /// Where it begins, from 1.
    pub(crate) line: u64,
    pub(crate) content: Result<T, RowError>,
}

/// What is wrong with a row, and what could be read of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RowError {
    pub(crate) reason: String,
    pub(crate) values: Vec<String>,
}

pub(crate) fn too_long(bytes_max: usize) -> String {
    format!("exceeds the limit of {bytes_max} bytes per row (importRowBytesMax)")
}

/// The first part of a text that may be long.
pub(crate) fn cut(bytes: &[u8]) -> String {
    const SHOWN_BYTES: usize = 1_000;
    String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(bytes)).into_owned()
}
