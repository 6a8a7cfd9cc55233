//! What this user may not read, although the server's may.

use std::fs::File;
use std::io::{Error, ErrorKind};
use std::path::Path;

use super::report::Finding;

/// What to do where somebody may not read or write a thing.
pub(super) const RUN_AS: &str = "Run it as the server's user, such as `sudo -u rowmill rowmill doctor`. If that fails, too, give \
     the file or folder to that user (chown).";

/// Whether the file or folder is there and may not be read. What is not there is told elsewhere.
pub(super) fn unreadable(check: &'static str, path: &Path) -> Option<Finding> {
    let opened = File::open(path).and_then(|file| file.metadata());
    let opened = match opened {
        Ok(data) if data.is_dir() => std::fs::read_dir(path).map(drop),
        Ok(_) => Ok(()),
        Err(error) => Err(error),
    };
    opened
        .err()
        .filter(is_denied)
        .map(|error| Finding::problem(check, format!("{} cannot be read: {error}.", path.display()), RUN_AS))
}

pub(super) fn is_denied(error: &Error) -> bool {
    error.kind() == ErrorKind::PermissionDenied
}
