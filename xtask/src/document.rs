//! openapi.json: written from the code, compared with the code, and judged by others' validators.

use std::fs;

use crate::process::{AnyResult, output, program, root, run};
use crate::{server, tools};

const DOCUMENT: &str = "openapi.json";

/// `cargo xtask openapi`: what the code says becomes what is committed.
pub(crate) fn write() -> AnyResult {
    fs::write(root().join(DOCUMENT), from_code()?)?;
    println!("wrote {DOCUMENT}");
    Ok(())
}

/// The committed document is what the code says, is valid OpenAPI and gives Spectral nothing to say.
pub(crate) fn check() -> AnyResult {
    let committed =
        fs::read_to_string(root().join(DOCUMENT)).map_err(|error| format!("{DOCUMENT}: {error}"))?;
    if let Some(line) = first_difference(&committed, &from_code()?) {
        return Err(format!("{DOCUMENT}:{line} is not what the code says: run `cargo xtask openapi`").into());
    }
    println!("{DOCUMENT} is what the code says");
    run(program(tools::python("openapi-spec-validator")?).args(["--validation-errors", "all", DOCUMENT]))?;
    let rules = ["lint", "--ruleset", "xtask/spectral.yaml", "--fail-severity", "warn", DOCUMENT];
    run(program(tools::npm("spectral")?).args(rules))
}

fn from_code() -> AnyResult<String> {
    let mut command = program(server::build()?);
    // What is committed is the document of the default settings, whatever is set here.
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("ROWMILL_") {
            command.env_remove(name);
        }
    }
    output(command.args(["openapi", "--config", "/dev/null"]))
}

/// The number of the first line that differs, counted from 1.
fn first_difference(committed: &str, current: &str) -> Option<usize> {
    if committed == current {
        return None;
    }
    let same = committed.lines().zip(current.lines()).take_while(|(left, right)| left == right).count();
    Some(same + 1)
}

#[cfg(test)]
mod tests {
    use super::first_difference;

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(first_difference("{\n}\n", "{\n}\n"), None);
        assert_eq!(first_difference("{\n  1\n}\n", "{\n  2\n}\n"), Some(2));
        assert_eq!(first_difference("{\n}\n", "{\n}"), Some(3));
    }
}
