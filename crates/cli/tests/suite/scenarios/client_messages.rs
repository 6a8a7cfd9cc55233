//! What `rowmill` as a client says when something is not as somebody expects, and how it ends.

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;

use super::client::{Shell, fails};
use super::processing::{asks, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::Reply;
use crate::harness::{Scenario, Server, StubServer, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("client_messages", Own:
    a_refusal_of_a_table_is_not_one_of_the_key,
    a_refused_key_of_the_environment_is_named,
    a_url_with_a_path_is_understood_or_told,
    numbers_and_directions_that_are_none_are_told,
    a_file_with_a_header_only_is_told_so,
    a_run_that_goes_on_takes_a_new_limit,
    examples_of_failures_are_of_the_columns_that_ran,
);

fn a_refusal_of_a_table_is_not_one_of_the_key() {
    let shell = Shell::signed_in();
    let table = shell.server.api().table(&["Name"]);
    table.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    let output = shell.run(&["rows", "list", &table.id]);
    fails(&output, 1, "API is not enabled for this project");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("login"), "{output:?}");
    shell.fails(&["status", &table.id, "--json"], 1, "\"code\":\"api_disabled\"");
}

fn a_refused_key_of_the_environment_is_named() {
    let shell = Shell::signed_in();
    let with_key =
        |arguments: &[&str]| shell.command(arguments).env("ROWMILL_API_KEY", "rm_wrong").output().unwrap();
    let output = with_key(&["tables"]);
    fails(&output, 3, "The refused key is that of ROWMILL_API_KEY.");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("saves another key"), "{output:?}");
    fails(&with_key(&["login", &shell.url()]), 3, "unset it");
    fails(&shell.with_input(&["login", &shell.url()], "rm_wrong"), 3, "saves another key");
    assert!(shell.run(&["tables"]).status.success(), "the saved key is as it was");
}

fn a_url_with_a_path_is_understood_or_told() {
    let shell = Shell::new(Server::start(&[]));
    let url = shell.url();
    fails(
        &shell.with_input(&["login", &format!("{url}/docs/rows")], &shell.key),
        1,
        &format!("rowmill login {url}"),
    );
    for ending in ["/v4", "/v4/", "/v3", "/v2"] {
        let output = shell.with_input(&["login", &format!("{url}{ending}")], &shell.key);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.contains(&format!("Signed in to {url} as")), "{told}");
        assert!(shell.run(&["tables"]).status.success());
    }
}

fn numbers_and_directions_that_are_none_are_told() {
    let shell = Shell::signed_in();
    let id = shell.server.api().table(&["Name"]).id;
    for arguments in [["rows", "list", &id, "--limit", "-1"].as_slice(), &["run", &id, "--limit", "0"]] {
        shell.fails(arguments, 2, "write a whole number of rows, 1 or more");
    }
    shell.fails(&["run", &id, "--spend-limit", "-1"], 2, "such as 5 or 0.25");
    let words = "--sort \"Name:down\": \"down\" is no direction; write \"Name:asc\" or \"Name:desc\"";
    for command in [["rows", "list", &id].as_slice(), &["rows", "export", &id], &["run", &id]] {
        shell.fails(&[command, &["--sort", "Name:down"]].concat(), 2, words);
    }
}

fn a_file_with_a_header_only_is_told_so() {
    let shell = Shell::signed_in();
    let table = shell.server.api().table(&["Name", "Zip"]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"Name,Zip\n").unwrap();
    shell.write("head.csv.gz", gzip.finish().unwrap());
    shell.write("head.csv", "\u{feff}Name,Zip\n");
    shell.write("none.csv", "\u{feff}\n");
    let check = |arguments: &[&str], words: &str| {
        let output = shell.run(&[&["rows", "import", &table.id], arguments].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && told.starts_with(words), "{arguments:?}: {told}");
    };
    check(&["head.csv"], "The file has a header and no rows.");
    check(&["head.csv", "--background"], "The file has a header and no rows.");
    check(&["head.csv.gz"], "The file has no rows: it is empty, or has only a header.");
    check(&["none.csv"], "The file is empty: it has no rows.");
}

fn a_run_that_goes_on_takes_a_new_limit() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let shell = Shell::of(started(&[]));
    let table = shell.server.api().table(&["Name"]);
    asks(&table, "Answer", &stub_server, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }]));
    let run = |more: &[&str]| {
        let output = shell.run(&[&["run", &table.id], more].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let told = run(&["--spend-limit", "1"]);
    let first = "1 row queued in run_1. The spending limit of run_1 is now $1.\n";
    assert!(told.starts_with(first), "{told}");
    eventually("the call is under way", Duration::from_secs(20), || (stub_server.count() == 1).then_some(()));
    let told = run(&["--spend-limit", "2.5"]);
    let changed =
        "No more cells to queue. run_1 has not ended yet. The spending limit of run_1 is now $2.5.\n";
    assert_eq!(told, changed);
    assert!(!run(&["--spend-limit", "3", "--dry-run"]).contains("limit"), "a dry run changes nothing");
    shell.out(&["stop", &table.id]);
}

fn examples_of_failures_are_of_the_columns_that_ran() {
    let stub_server = StubServer::start(|_, _| Reply::Json(400, json!({})));
    let shell = Shell::of(started(&[]));
    let table = shell.server.api().table(&["Name"]);
    let old = asks(&table, "Old", &stub_server, "/old", json!({}));
    asks(&table, "New", &stub_server, "/new", json!({}));
    table.insert(json!([{ "Name": "a" }]));
    for (column, header) in [(old.as_str(), "Old"), ("new", "New"), ("old", "Old")] {
        let output = shell.run(&["run", &table.id, "--column", column, "--watch"]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let cause = format!("1 cell failed with provider_error, for example in {header:?}: ");
        assert!(output.status.code() == Some(5) && told.contains(&cause), "{told}");
    }
}
