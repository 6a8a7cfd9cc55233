//! Projects whose columns and views are large: what the server takes to read many of them at once.

use std::thread;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Server, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("large_documents", Own:
    many_requests_about_many_views_take_little_memory,
    many_requests_about_large_conditions_take_little_memory,
);

const MB: u64 = 1_000_000;
const TABLES: usize = 6;
const REQUESTS_EACH: usize = 6;

fn memory(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// Filters that compare with 70,000 numbers of one digit: a parsed value of each takes 72 bytes.
fn filters(table: &Table) -> Value {
    let filter = json!({ "columnId": table.column("A"), "operator": "in", "value": vec![1; 700] });
    vec![filter; 100].into()
}

/// Copies of a project, each whole.
fn copies(api: &Api, table: &Table) -> Vec<String> {
    let copy = || {
        let id = table.post("/duplicate", json!({})).created()["project"]["id"].as_str().unwrap().to_owned();
        eventually("the copy is whole", std::time::Duration::from_mins(1), || {
            let project = api.get(format!("/v4/projects/{id}")).ok();
            project["project"].get("copying").is_none().then_some(())
        });
        id
    };
    (0..TABLES).map(|_| copy()).collect()
}

/// Asks about all projects at once on a server that has read none of them, and says by how much its memory grew.
fn growth_when_asked(server: &mut Server, projects: &[String]) -> u64 {
    server.crash_and_restart();
    let api = &server.api();
    let before = memory(server, "VmRSS");
    thread::scope(|scope| {
        for project in projects {
            for _ in 0..REQUESTS_EACH {
                scope.spawn(move || {
                    assert_eq!(api.get(format!("/v4/projects/{project}/rows")).ok()["rows"], json!([]));
                });
            }
        }
    });
    memory(server, "VmHWM").saturating_sub(before)
}

fn many_requests_about_many_views_take_little_memory() {
    let mut server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["A"]);
    let filters = filters(&table);
    for number in 0..10 {
        table.post("/views", json!({ "name": format!("{number}"), "filters": filters })).created();
    }
    let projects = copies(&api, &table);
    let grown = growth_when_asked(&mut server, &projects);
    println!("{} requests about {TABLES} large projects took {} MB", TABLES * REQUESTS_EACH, grown / MB);
    assert!(grown < 120 * MB, "{} MB", grown / MB);
}

fn many_requests_about_large_conditions_take_little_memory() {
    let mut server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["A"]);
    let filters = filters(&table);
    for number in 0..8 {
        let column =
            json!({ "templateId": "ai-text", "header": format!("{number}"), "runCondition": filters });
        table.post("/columns", column).created();
    }
    let projects = copies(&api, &table);
    let grown = growth_when_asked(&mut server, &projects);
    println!("{} requests about large conditions took {} MB", TABLES * REQUESTS_EACH, grown / MB);
    assert!(grown < 250 * MB, "{} MB", grown / MB);
}
