//! A disk that is full, read-only, failing or frozen. A library that is loaded before all others makes it so, while a file
//! says which.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::preload;

/// What is the matter with the disk.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DiskFault {
    Full,
    ReadOnly,
    Failing,
    Frozen,
}

impl DiskFault {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Full => "ENOSPC",
            Self::ReadOnly => "EROFS",
            Self::Failing => "EIO",
            Self::Frozen => "HANG",
        }
    }
}

/// The library, compiled once.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| preload::compile("disk_faults"));
    &LIBRARY
}
