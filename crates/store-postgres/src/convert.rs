//! Values as the database has them, and what is said of those that cannot be.

use rowmill_model::record::Slot;
use rowmill_store::{Result, StoreError};

/// Counts of rows never get large enough for the limit to matter.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

pub(crate) fn narrow(slot: i64) -> Result<Slot> {
    Slot::try_from(slot).map_err(|_| StoreError::Damaged("not a column's number".to_owned()))
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(crate) fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}

pub(crate) fn unexpected_answer() -> StoreError {
    StoreError::Damaged("unexpected response from the database".to_owned())
}

pub(crate) fn to_text(document: &(impl serde::Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(document).map_err(damaged)
}
