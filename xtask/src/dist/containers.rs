//! The Dockerfile and the compose files, read by their own linters: no container engine is needed.

use crate::process::{AnyResult, program, run};
use crate::tools;

const DOCKERFILE: &str = "packaging/Dockerfile";
const COMPOSE_FILES: [&str; 2] = ["packaging/compose.yml", "packaging/compose.postgres.yml"];

pub(super) fn lint() -> AnyResult {
    let programs = tools::python_of_containers()?;
    run(program(programs.join("hadolint")).args(["--failure-threshold", "info", DOCKERFILE]))?;
    // By the schema that the Compose project publishes.
    run(program(programs.join("check-jsonschema"))
        .args(["--quiet", "--builtin-schema", "vendor.compose-spec"])
        .args(COMPOSE_FILES))?;
    println!(
        "hadolint has nothing to say of {DOCKERFILE}, and {} keep their schema",
        COMPOSE_FILES.join(" and ")
    );
    Ok(())
}
