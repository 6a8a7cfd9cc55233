//! Scratch folders.

use std::path::Path;

use crate::any_result::AnyResult;

/// Makes an empty folder.
pub(crate) fn clear(folder: &Path) -> AnyResult {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(std::fs::create_dir_all(folder)?),
    }
}
