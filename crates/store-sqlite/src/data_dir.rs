//! The data folder: the database file, and the lock of the process that serves it.

use std::fs::File;
use std::path::Path;

use rowmill_store::{Result, StoreError};

use crate::convert::unusable;

/// The database's file in the data folder.
pub const DATABASE_FILE: &str = "rowmill.db";
/// Locked by the process that serves the data folder.
pub(crate) const LOCK_FILE: &str = "rowmill.lock";
/// A database that a restore has verified. While it has this name, what else is in the folder cannot be relied on.
pub(crate) const RESTORED_FILE: &str = "rowmill.db.restored";

/// Creates the folder, and lets only its owner use it: it holds the teams' data and secrets.
pub(crate) fn make_private(data_dir: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(data_dir)?;
    if holds_only_ours(data_dir) {
        restrict(data_dir, 0o700);
    } else if is_open(data_dir) {
        tracing::warn!(
            folder = %data_dir.display(),
            "other users can look into the data folder, and it holds other files, so its mode was not changed; \
             choose a folder of its own, or run chmod 700 on it"
        );
    }
    Ok(())
}

/// Creates the database's file so that only its owner can read it. SQLite gives its log the same mode.
pub(crate) fn create_private(file: &Path) -> std::io::Result<()> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(file) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(error),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Lets only the owner read the database's files, also where an older version or a copy left them open.
pub(crate) fn restrict_files(data_dir: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        restrict(&data_dir.join(format!("{DATABASE_FILE}{suffix}")), 0o600);
    }
}

/// A folder that holds other things, such as `/tmp` or a home, is not ours to close to others.
fn holds_only_ours(data_dir: &Path) -> bool {
    let is_ours = |name: &str| {
        ["rowmill", "secret.key", "backup", "lost+found"].iter().any(|start| name.starts_with(start))
    };
    std::fs::read_dir(data_dir).is_ok_and(|mut entries| {
        entries.all(|entry| entry.is_ok_and(|entry| entry.file_name().to_str().is_some_and(is_ours)))
    })
}

/// Whether others than the owner may use it. What is not there is not open.
fn is_open(path: &Path) -> bool {
    #[cfg(unix)]
    if let Ok(data) = std::fs::metadata(path) {
        return std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o077 != 0;
    }
    let _ = path;
    false
}

fn restrict(path: &Path, mode: u32) {
    if !is_open(path) {
        return;
    }
    #[cfg(unix)]
    match std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)) {
        Ok(()) => {
            tracing::info!(path = %path.display(), "other users could read this; now only its owner can");
        }
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "other users can read this, and its mode cannot be changed");
        }
    }
}

/// Refuses a folder into which a backup was being put when the process ended: what is there may be half old.
pub(crate) fn check_restored(data_dir: &Path) -> Result<()> {
    let unfinished = data_dir.join(RESTORED_FILE);
    if unfinished.exists() {
        return Err(StoreError::InUse(format!(
            "a `rowmill restore` into {} was interrupted: run it again",
            data_dir.display()
        )));
    }
    Ok(())
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
