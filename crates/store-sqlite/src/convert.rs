//! Values and errors as the rest of the service has them.

use std::path::Path;

use rowmill_store::{Result, StoreError};
use uuid::Uuid;

pub(crate) fn backend(error: rusqlite::Error) -> StoreError {
    StoreError::Backend(error.into())
}

#[expect(clippy::needless_pass_by_value, reason = "it is given to map_err")]
pub(crate) fn damaged(error: serde_json::Error) -> StoreError {
    StoreError::Damaged(error.to_string())
}

/// The error of a file or folder that cannot be used.
pub(crate) fn unusable(path: &Path, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Backend(format!("cannot use {}: {error}", path.display()).into())
}

pub(crate) fn uuid_of(row: &rusqlite::Row<'_>, index: usize) -> rusqlite::Result<Uuid> {
    row.get(index).map(Uuid::from_bytes)
}

pub(crate) fn to_text(document: &(impl serde::Serialize + ?Sized)) -> Result<String> {
    serde_json::to_string(document).map_err(damaged)
}
