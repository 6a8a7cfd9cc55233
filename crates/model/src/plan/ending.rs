//! How a cell ends.

use crate::cell_status::ErrorCode;

/// How a running cell ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Value,
    /// Cleanly nothing.
    NoData,
    /// An error that may pass: tried again later.
    Retry,
    Failed(ErrorCode),
    Skipped(ErrorCode),
}
