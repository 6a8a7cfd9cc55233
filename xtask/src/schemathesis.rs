//! Requests made up from the document, by Schemathesis, against the real service.

use std::time::Duration;

use crate::process::{Outcome, program, root, run_within};
use crate::server::{self, Server};
use crate::tools;

/// Schemathesis is bounded by its configuration; this ends a run that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(15);

/// Read by xtask/schemathesis.toml.
const KEY_VARIABLE: &str = "ROWMILL_SCHEMATHESIS_KEY";

/// The run asks more in a second than a caller may, and sends wrong keys on purpose.
const SETTINGS: &[(&str, &str)] = &[
    ("ROWMILL_RATE_LIMIT_KEY", "0"),
    ("ROWMILL_RATE_LIMIT_ANONYMOUS", "0"),
    ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "0"),
];

pub(crate) fn run() -> Outcome {
    let schemathesis = tools::python("schemathesis")?;
    let mut server = Server::start(&server::build()?, SETTINGS)?;
    let key = server.create_key()?;
    let url = server.url();
    let mut command = program(schemathesis);
    command
        .arg("--config-file")
        .arg(root().join("xtask/schemathesis.toml"))
        .args(["run", &format!("{url}/openapi.json"), "--url", &url])
        .env(KEY_VARIABLE, key)
        // It leaves notes in its working directory.
        .current_dir(tools::folder()?);
    let outcome = run_within(TIME_LIMIT, &mut command);
    server.check_alive()?;
    outcome.map_err(|failure| format!("{failure}\nthe service's last words:\n{}", server.log_end()).into())
}
