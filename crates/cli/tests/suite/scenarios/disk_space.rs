//! Disk space goes back after deletes, and nothing is lost by it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Scenario, Server, Table, eventually, rowmill};

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("disk_space", Embedded:
    deleted_projects_give_their_space_back,
);

const ROWS: usize = 4_000;
const BATCH: usize = 500;
const TIME_MAX: Duration = Duration::from_mins(1);

fn deleted_projects_give_their_space_back() {
    let mut server = Server::start(&[]);
    let tables: Vec<Table> = (0..3).map(|_| server.api().table(&["Text"])).collect();
    // They share the file in turns, so that what stays has to move.
    for batch in 0..ROWS / BATCH {
        for table in &tables {
            let row = |number: usize| json!({ "Text": format!("{batch} {number} {}", "x".repeat(2_000)) });
            table.insert((0..BATCH).map(row).collect());
        }
    }
    // The log is folded into the file when the server ends.
    server.terminate();
    server.wait_for_end();
    server.restart();
    let tables: Vec<Table> = tables.iter().map(|table| table.through(&server.api())).collect();
    let file = server.folder().data().join("rowmill.db");
    let bytes = || std::fs::metadata(&file).unwrap().len();
    let [first, second, stays] = &tables[..] else { unreachable!() };
    let before = stays.rows(&[("pageSize", "1000")]);

    let full = bytes();
    first.delete("").ok();
    server.api().delete("/v4/trash").ok();
    let smaller = eventually("the first project's space is given back", TIME_MAX, || {
        let now = bytes();
        (now < full * 4 / 5).then_some(now)
    });
    // Meanwhile others write, and the server is killed in the middle.
    second.delete("").ok();
    server.api().delete("/v4/trash").ok();
    stays.insert(json!([{ "Text": "written meanwhile" }]));
    server.kill();
    server.restart();
    eventually("the second project's space is given back", TIME_MAX, || {
        (bytes() < smaller * 3 / 4).then_some(())
    });
    let after: Value = server.api().get(stays.path("/rows?pageSize=1000")).ok();
    assert_eq!(after["rows"], before["rows"]);
    assert_eq!(after["pagination"]["totalRows"], ROWS + 1);
    server.terminate();
    server.wait_for_end();
    let check = rowmill(server.folder(), &["check"]);
    assert!(check.status.success(), "{check:?}");
}
