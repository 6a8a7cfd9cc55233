//! A disk that is full, read-only, failing or frozen. A library that is loaded before all others makes it so, while a file
//! says which.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

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

/// The library, compiled once. It lies beside the test program, and goes with the build.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/harness/disk_faults.c");
        let library = std::env::current_exe().unwrap().with_extension("disk_faults.so");
        let mut compiler = Command::new("cc");
        compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
        let compiled = compiler.status().expect("a C compiler, which the build needs, too");
        assert!(compiled.success());
        library
    });
    &LIBRARY
}
