//! `cargo xtask bench`: builds and runs the measurements in release mode.

use crate::process::{self, Outcome, cargo};

pub(crate) fn run(arguments: &[String]) -> Outcome {
    // The bench starts the real binary, which must be as optimised as the bench itself.
    process::run(cargo().args(["build", "--release", "--package", "rowmill", "--package", "rowmill-bench"]))?;
    process::run(
        cargo().args(["run", "--quiet", "--release", "--package", "rowmill-bench", "--"]).args(arguments),
    )
}
