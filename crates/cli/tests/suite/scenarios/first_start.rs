//! The first start on an empty database: who makes the first key, and who sees it.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, command};
use crate::harness::{Scenario, Server, rowmill};

pub(crate) const NODES: &[Scenario] = &scenarios!("first_start", Nodes:
    a_worker_makes_no_key,
    a_key_can_be_made_before_the_first_start,
);

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("first_start", Embedded:
    an_empty_folder_has_nothing_to_list,
    a_first_key_is_as_it_was_asked_for,
    a_first_key_that_cannot_be_makes_no_database,
    a_first_team_that_cannot_be_makes_no_database,
);

fn an_empty_folder_has_nothing_to_list() {
    let folder = DataDir::new();
    let data = folder.path().join("wrong");
    let within = |arguments: &[&str]| {
        command(&folder).env("ROWMILL_DATA_DIR", &data).args(arguments).output().unwrap()
    };
    for arguments in
        [&["key", "list"][..], &["team", "list"], &["key", "revoke", "key_1"], &["key", "rotate", "key_1"]]
    {
        let refused = within(arguments);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(
            !refused.status.success() && told.contains("there is no database in"),
            "{arguments:?}: {told}"
        );
        assert!(!data.exists(), "{arguments:?} made a database");
    }
    let made = within(&["key", "create", "--team", "default"]);
    let told = String::from_utf8_lossy(&made.stderr).into_owned();
    assert!(made.status.success() && told.contains("sign in with this key"), "{told}");
    let again = within(&["key", "create", "--team", "default"]);
    assert!(!String::from_utf8_lossy(&again.stderr).contains("is new"), "{again:?}");
}

fn a_first_key_is_as_it_was_asked_for() {
    let folder = DataDir::new();
    let create =
        ["key", "create", "--team", "default", "--name", "CI", "--scopes", "read", "--expires", "30d"];
    let made = rowmill(&folder, &create);
    assert!(made.status.success(), "{made:?}");
    let listed: Value =
        serde_json::from_slice(&rowmill(&folder, &["key", "list", "--details"]).stdout).unwrap();
    let [key] = listed.as_array().unwrap().as_slice() else { panic!("{listed}") };
    assert_eq!((&key["name"], &key["scopes"]), (&json!("CI"), &json!(["read"])), "{listed}");
    assert!(key["expiresAt"].is_string(), "{listed}");
    let server = Server::start_in(folder, &[]);
    let secret = String::from_utf8(made.stdout).unwrap();
    let api = server.api_with(secret.trim());
    api.get("/v4/projects").ok();
    api.post("/v4/projects", json!({ "title": "x" })).refused(403, "missing_scope");
}

fn a_first_key_that_cannot_be_makes_no_database() {
    let folder = DataDir::new();
    let data = folder.path().join("new");
    let project = format!("proj_{}", "0".repeat(32));
    for (arguments, words) in [
        (&["--team", "acme"][..], "rowmill team create --slug acme"),
        (&["--team", "default", "--projects", &project], "has no projects yet"),
        (&["--team", "default", "--name", " "], "--name must have"),
        (&["--team", "default", "--expires", "soon"], "--expires must be a date and time"),
        (&["--team", "default", "--expires", "2001-01-01T00:00:00Z"], "--expires must be in the future"),
        (&["--team", "default", "--expires", "0h"], "--expires must be in the future"),
        (&["--team", "default", "--expires", "99999999999d"], "--expires is too far away"),
        (&["--team", "default", "--expires", "99999999999999999999h"], "--expires is too far away"),
        (&["--team", "default", "--allow-from", "here"], "--allow-from must be an address"),
        (&["--team", "default", "--allow-from", "here", "--expires", "later"], "--expires must be a date"),
    ] {
        let mut create = command(&folder);
        create.env("ROWMILL_DATA_DIR", &data).args(["key", "create"]).args(arguments);
        let refused = create.output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(words), "{arguments:?}: {told}");
        assert!(!data.exists(), "{arguments:?} made a database");
    }
}

fn a_first_team_that_cannot_be_makes_no_database() {
    let folder = DataDir::new();
    let data = folder.path().join("new");
    for (arguments, words) in
        [(["--slug", "Acme", "--name", "x"], "slug"), (["--slug", "acme", "--name", " "], "name")]
    {
        let mut create = command(&folder);
        create.env("ROWMILL_DATA_DIR", &data).args(["team", "create"]).args(arguments);
        let refused = create.output().unwrap();
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(words), "{arguments:?}: {told}");
        assert!(!data.exists(), "{arguments:?} made a database");
    }
}

fn keys(folder: &DataDir) -> String {
    let listed = rowmill(folder, &["key", "list"]);
    assert!(listed.status.success(), "{listed:?}");
    String::from_utf8(listed.stdout).unwrap().trim().to_owned()
}

fn a_worker_makes_no_key() {
    let folder = DataDir::new();
    let mut worker = command(&folder);
    worker.env("ROWMILL_LISTEN", "127.0.0.1:0").arg("worker").stdout(Stdio::piped()).stderr(Stdio::null());
    let mut worker = worker.spawn().unwrap();
    let mut lines = BufReader::new(worker.stdout.take().unwrap()).lines().map_while(Result::ok);
    let is_started = lines.any(|line| line.contains("listening on"));
    let made = keys(&folder);
    worker.kill().unwrap();
    worker.wait().unwrap();
    assert!(is_started, "the worker ended by itself");
    assert_eq!(made, "[]");
    let server = Server::start_in(folder, &[]);
    assert!(server.printed().contains("API key of the team \"default\""), "{}", server.printed());
}

fn a_key_can_be_made_before_the_first_start() {
    let folder = DataDir::new();
    let made = rowmill(&folder, &["key", "create", "--team", "default"]);
    assert!(made.status.success(), "{made:?}");
    let key = String::from_utf8(made.stdout).unwrap();
    let server = Server::start_in(folder, &[]);
    server.api_with(key.trim()).get("/v4/projects").ok();
    assert!(!server.printed().contains("API key of the team"), "{}", server.printed());
}
