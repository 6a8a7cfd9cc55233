//! `cargo xtask bench`: builds and runs the measurements in release mode.

use crate::debian::Debian;
use crate::process::{self, AnyResult, cargo, root};
use crate::tools;

pub(crate) fn run(arguments: &[String]) -> AnyResult {
    // The bench starts the real binary, which must be as optimised as the bench itself.
    process::run(cargo().args(["build", "--release", "--package", "rowmill", "--package", "rowmill-bench"]))?;
    let python = tools::python_of_bench("python3")?;
    let graphile = tools::graphile()?;
    let debian = Debian::get()?;
    process::run(
        cargo()
            .args(["run", "--quiet", "--release", "--package", "rowmill-bench", "--"])
            .arg("--python")
            .arg(python)
            .arg("--graphile")
            .arg(graphile)
            .arg("--debian")
            .arg(debian.tree())
            .arg("--page")
            .arg(root().join("docs/scaling.md"))
            .args(arguments),
    )
}
