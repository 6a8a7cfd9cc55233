//! `/mcp` against programs that others wrote: the protocol's official conformance suite, and the inspector.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::process::{AnyResult, output, program, root, run_within};
use crate::server::{self, Server};
use crate::tools;

/// Each of the suite's scenarios has a limit of its own; this ends a run that hangs.
const TIME_LIMIT: Duration = Duration::from_mins(10);

/// The suites of requirements that are frozen, each with the scenarios that fail and why: see the files.
const REVISIONS: &[&str] = &["2025-11-25", "2026-07-28"];

const TOOLS: usize = 13;

/// The suite asks more in a second than a caller may.
const SETTINGS: &[(&str, &str)] =
    &[("ROWMILL_RATE_LIMIT_KEY", "0"), ("ROWMILL_RATE_LIMIT_AUTH_FAILURES", "0")];

pub(crate) fn run() -> AnyResult {
    let folder = tools::mcp()?;
    let mut server = Server::start(&server::build()?, SETTINGS)?;
    let key = server.create_key()?;
    let url = format!("{}/mcp", server.url());
    for revision in REVISIONS {
        conform(&folder, &url, &key, revision)?;
    }
    inspect(&folder, &url, &key)?;
    server.check_alive()
}

fn conform(folder: &Path, url: &str, key: &str, revision: &str) -> AnyResult {
    let own = root().join("xtask/mcp");
    let mut suite = program(folder.join("node_modules/.bin/node"));
    suite
        .arg("--require")
        .arg(own.join("key.cjs"))
        .arg("node_modules/@modelcontextprotocol/conformance/dist/index.js")
        .args(["server", "--url", url, "--requirements", revision, "--expected-failures"])
        .arg(own.join(format!("expected-failures-{revision}.yaml")))
        .env("ROWMILL_MCP_KEY", key)
        .current_dir(folder);
    run_within(TIME_LIMIT, &mut suite)
}

/// The inspector's command line lists the tools and calls one.
fn inspect(folder: &Path, url: &str, key: &str) -> AnyResult {
    let preload = format!("--require={}", root().join("xtask/mcp/key.cjs").display());
    let ask = |method: &[&str]| -> AnyResult<Value> {
        let mut inspector = program(folder.join("node_modules/.bin/node"));
        inspector
            .args(["node_modules/.bin/mcp-inspector", "--cli", url, "--method"])
            .args(method)
            // It works in processes of its own, which inherit this.
            .env("NODE_OPTIONS", &preload)
            .env("ROWMILL_MCP_KEY", key)
            .current_dir(folder);
        Ok(serde_json::from_str(&output(&mut inspector)?)?)
    };
    let listed = ask(&["tools/list"])?;
    let count = listed.pointer("/tools").and_then(Value::as_array).map_or(0, Vec::len);
    if count != TOOLS {
        return Err(format!("the inspector lists {count} tools, not {TOOLS}").into());
    }
    let called = ask(&["tools/call", "--tool-name", "create_table", "--tool-arg", "title=Inspected"])?;
    if called.pointer("/structuredContent/title") != Some(&json!("Inspected")) {
        return Err(format!("the inspector's call of create_table: {called}").into());
    }
    println!("the inspector lists {count} tools and calls one");
    Ok(())
}
