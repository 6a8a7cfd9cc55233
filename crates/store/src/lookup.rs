//! How columns are indexed for matching rows (`matchOn`).
//!
//! An index is named by a number: that of its column's slot, or, for an index in which case does not count, that
//! number with [`ANY_CASE`] added.

use rowmill_model::record::{Cells, Slot};
use rowmill_model::value::{self, MatchCase};

/// Added to a slot, it names the index in which letter case and outer blanks do not count.
const ANY_CASE: Slot = 1 << 30;

/// How many rows are compared with one sent value. Values that do not match share a hash only if they are spellings of
/// one number, so nobody has more by chance. If there are more, none is loaded: [`Ambiguity::TooMany`].
pub const CANDIDATES_MAX: usize = 64;
/// How many stored bytes a batch compares in vain. It does so while others wait to write.
pub(crate) const COMPARED_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Why a sent value is not matched with one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ambiguity {
    /// Several rows hold it.
    Several,
    /// More than [`CANDIDATES_MAX`] rows hold it, or the same number in another spelling. They are not compared.
    TooMany,
    /// So many bytes were compared for the batch that no more are.
    TooLong,
}

/// The index over a column.
pub fn index_of(column: Slot, case: MatchCase) -> Slot {
    match case {
        MatchCase::Counts => column,
        MatchCase::Ignored => column | ANY_CASE,
    }
}

/// The column that an index is over.
pub fn column_of(index: Slot) -> Slot {
    index & !ANY_CASE
}

/// The hash under which an index has a row; none if the row's cell is empty.
pub fn hash_of(index: Slot, cells: &Cells<'_>) -> Option<i64> {
    let raw = cells.get(column_of(index))?;
    value::match_key(raw, case_of(index)).map(u64::cast_signed)
}

/// Whether two values are the same for an index.
pub fn matches(index: Slot, stored: &str, sent: &str) -> bool {
    value::matches(stored, sent, case_of(index))
}

fn case_of(index: Slot) -> MatchCase {
    if index & ANY_CASE == 0 { MatchCase::Counts } else { MatchCase::Ignored }
}
