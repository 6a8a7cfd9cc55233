//! The data folder: the database file, and the lock of the process that serves it.

use std::fs::File;
use std::path::Path;

use rowmill_store::{Result, StoreError};

use crate::convert::unusable;

/// The database's file in the data folder.
pub const DATABASE_FILE: &str = "rowmill.db";
/// Locked by the process that serves the data folder.
const LOCK_FILE: &str = "rowmill.lock";

/// Creates the folder, readable by its owner only: it holds the teams' data and secrets.
pub(crate) fn make_private(data_dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(data_dir)
}

/// Takes the lock that only one process that serves the data folder can hold. The system releases it when the process
/// ends, however it ends.
pub(crate) fn take_lock(data_dir: &Path) -> Result<File> {
    let path = data_dir.join(LOCK_FILE);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| unusable(&path, &error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::InUse(format!(
            "the data folder {} is in use by another Rowmill process: stop it, or choose another --data-dir",
            data_dir.display()
        ))),
        Err(std::fs::TryLockError::Error(error)) => Err(unusable(&path, &error)),
    }
}
