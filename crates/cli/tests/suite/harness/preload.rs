//! Libraries that are loaded before all others (`LD_PRELOAD`), so that a test can watch what a process does to its disk, or
//! make it fail.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles a library from its source in this folder. It lies beside the test program, and goes with the build.
pub(crate) fn compile(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/suite/harness/{name}.c"));
    let library = std::env::current_exe().unwrap().with_extension(format!("{name}.so"));
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl");
    let status = compiler.status().expect("a C compiler, which the build needs, too");
    assert!(status.success());
    library
}
