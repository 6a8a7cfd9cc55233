//! Requests made up from the document, by Schemathesis, against the real service.

use std::time::Duration;

use crate::process::{AnyResult, program, root, run_within};
use crate::server::{self, Server};
use crate::tools;

/// Schemathesis is bounded by its configuration; this ends a run that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(40);

/// The variables that xtask/schemathesis.toml reads start with this.
const VARIABLE: &str = "ROWMILL_SCHEMATHESIS_";

/// The run asks more in a second than a caller may, and sends wrong keys on purpose.
const SETTINGS: &[(&str, &str)] = &[
    ("ROWMILL_RATE_LIMIT_KEY", "0"),
    ("ROWMILL_RATE_LIMIT_ANONYMOUS", "0"),
    ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "0"),
    // Addresses made up at random are nobody's to call.
    ("ROWMILL_NO_WORKERS", "true"),
];

pub(crate) fn run() -> AnyResult {
    let schemathesis = tools::python("schemathesis")?;
    let mut server = Server::start(&server::build()?, SETTINGS)?;
    let key = server.create_key()?;
    let url = server.url();
    let things = furnish(&server, &key)?;
    let mut command = program(schemathesis);
    command
        .arg("--config-file")
        .arg(root().join("xtask/schemathesis.toml"))
        .args(["run", &format!("{url}/openapi.json"), "--url", &url])
        .env(format!("{VARIABLE}KEY"), key)
        .envs(things.iter().map(|(name, id)| (format!("{VARIABLE}{name}"), id)))
        // It leaves notes in its working directory.
        .current_dir(tools::folder()?);
    let outcome = run_within(TIME_LIMIT, &mut command);
    server.check_alive()?;
    outcome.map_err(|failure| format!("{failure}\nthe service's last words:\n{}", server.log_end()).into())
}

/// Makes things for the requests to work on: ids made up at random name nothing, and a request that
/// ends at 404 has shown little. What is doomed is for the operations that end or shut a thing.
fn furnish(server: &Server, key: &str) -> AnyResult<Vec<(&'static str, String)>> {
    const PROJECT: &str = r#"{"title": "Leads", "columns": [{"templateId": "manual", "header": "Email"}]}"#;
    const COLUMN: &str = r#"{"templateId": "ai-text", "aiConfig": {"prompt": "Greet @{Email}"}}"#;
    const VIEW: &str = r#"{"name": "All"}"#;
    let project = server.create(key, "/v4/projects", PROJECT, "proj_")?;
    let within = |path: &str| format!("/v4/projects/{project}/{path}");
    Ok(vec![
        ("ROW", server.create(key, &within("rows"), r#"{"Email": "ada@example.com"}"#, "row_")?),
        ("COLUMN", server.create(key, &within("columns"), COLUMN, "col_")?),
        ("DOOMED_COLUMN", server.create(key, &within("columns"), COLUMN, "col_")?),
        ("VIEW", server.create(key, &within("views"), VIEW, "view_")?),
        ("DOOMED_VIEW", server.create(key, &within("views"), VIEW, "view_")?),
        ("SHUT_PROJECT", server.create(key, "/v4/projects", PROJECT, "proj_")?),
        ("DOOMED_PROJECT", server.create(key, "/v4/projects", PROJECT, "proj_")?),
        ("TEAM", server.team_id()?),
        ("PROJECT", project),
    ])
}
