//! A disk that is full, read-only, failing or frozen is told as such, stops only what needs it, and is over when it is over.

use std::time::{Duration, Instant};

use serde_json::json;

use super::moving::STILL;
use crate::harness::database::waiting;
use crate::harness::disk_faults::DiskFault;
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, UNLIMITED};
use crate::harness::{Answer, Api, Request, Scenario, Server, eventually, http};

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("disk_faults", Embedded:
    a_full_disk_stops_writes_alone_until_there_is_room,
    a_failing_or_read_only_disk_is_told,
    a_frozen_disk_does_not_stop_what_needs_no_disk,
    free_space_is_measured,
    a_database_that_is_gone_is_not_replaced_by_an_empty_one,
);
/// What is done to the database itself works only where it is a server of its own.
pub(crate) const NODES: &[Scenario] = &scenarios!("disk_faults", Nodes:
    what_the_database_server_says_of_its_disk_is_told,
);

const TIME_MAX: Duration = Duration::from_secs(30);

fn a_full_disk_stops_writes_alone_until_there_is_room() {
    let folder = DataDir::faulty();
    let server = Server::start_in(folder.clone(), UNLIMITED);
    let table = server.api().table(&["Name"]);
    table.insert(json!({ "Name": "before" }));

    folder.set_fault(Some(DiskFault::Full));
    let refused = refused_by_disk(table.post("/rows", json!({ "Name": "during" })), 507, "storage_full");
    assert!(refused.contains("full") && refused.contains("nothing was saved"), "{refused}");
    refused_by_disk(table.patch("", json!({ "title": "during" })), 507, "storage_full");
    assert_eq!(table.values("Name", &[]), ["before"]);
    let anonymous = server.api_without_key();
    for _ in 0..3 {
        refused_by_disk(anonymous.get("/readyz"), 503, "storage_full");
    }
    anonymous.get("/healthz").ok();

    // It notices by itself that there is room again.
    folder.set_fault(None);
    is_ready_again(&anonymous);
    table.insert(json!({ "Name": "after" }));
    assert_eq!(table.values("Name", &[]), ["before", "after"]);
}

fn a_failing_or_read_only_disk_is_told() {
    let folder = DataDir::faulty();
    let server = Server::start_in(folder.clone(), UNLIMITED);
    let table = server.api().table(&["Name"]);
    let anonymous = server.api_without_key();
    let mut written = Vec::new();
    for (number, fault) in [DiskFault::Failing, DiskFault::ReadOnly].into_iter().enumerate() {
        table.insert(json!({ "Name": number }));
        written.push(json!(number));
        folder.set_fault(Some(fault));
        refused_by_disk(table.post("/rows", json!({ "Name": "during" })), 503, "storage_failed");
        refused_by_disk(anonymous.get("/readyz"), 503, "storage_failed");
        folder.set_fault(None);
        is_ready_again(&anonymous);
        assert_eq!(table.values("Name", &[]), written);
    }
}

fn a_frozen_disk_does_not_stop_what_needs_no_disk() {
    let folder = DataDir::faulty();
    let mut server = Server::start_in(folder.clone(), UNLIMITED);
    let table = server.api().table(&["Name"]);
    let many: Vec<_> = (0..2_000).map(|number| json!({ "Name": format!("{number:0200}") })).collect();
    let rows = table.insert(json!(many));
    // What it finds in its memory needs no disk.
    server.crash_and_restart();
    let api = server.api();
    let table = table.through(&api);

    folder.set_fault(Some(DiskFault::Frozen));
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| table.post("/rows", json!({ "Name": "frozen" })));
        let readers: Vec<_> = rows
            .iter()
            .step_by(100)
            .map(|row| {
                let table = &table;
                scope.spawn(move || table.get(&format!("/rows/{row}")).status())
            })
            .collect();
        std::thread::sleep(Duration::from_millis(500));
        for path in ["/healthz", "/openapi.json", "/docs", "/", "/healthz"] {
            let start = Instant::now();
            let answer = http::exchange(&server.address, &Request::get(path)).unwrap();
            assert_eq!(answer.status, 200, "{path}");
            assert!(start.elapsed() < Duration::from_secs(4), "{path} took {:?}", start.elapsed());
        }
        folder.set_fault(None);
        let written = writer.join().unwrap();
        assert!([201, 503].contains(&written.status()), "{}", written.text);
        for reader in readers {
            let status = reader.join().unwrap();
            assert!([200, 503].contains(&status), "{status}");
        }
    });
    is_ready_again(&server.api_without_key());
    table.get(&format!("/rows/{}", rows[7])).ok();
}

fn free_space_is_measured() {
    let server = Server::start(&[]);
    let free = eventually("free space is told", TIME_MAX, || {
        let metrics = server.metrics();
        let line = metrics.lines().find(|line| line.starts_with("rowmill_storage_free_bytes "))?;
        line.rsplit_once(' ')?.1.parse::<f64>().ok()
    });
    assert!(free > 0.0);
}

fn a_database_that_is_gone_is_not_replaced_by_an_empty_one() {
    let mut server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    table.insert(json!({ "Name": "kept" }));
    server.terminate();
    server.wait_for_end();
    let database = server.folder().data().join("rowmill.db");
    let backup = std::fs::read(&database).unwrap();
    for is_missing in [true, false] {
        if is_missing {
            std::fs::remove_file(&database).unwrap();
        } else {
            std::fs::write(&database, "").unwrap();
        }
        let told = server.try_restart().unwrap_err();
        for words in ["rowmill.db", "secret.key", "backup", "--data-dir"] {
            assert!(told.contains(words), "{told}");
        }
        let refused = server.command(&["key", "create", "--team", "default"]);
        assert!(!refused.status.success());
        assert_eq!(database.exists(), !is_missing, "nothing is made");
    }
    std::fs::write(&database, backup).unwrap();
    server.restart();
    assert_eq!(table.through(&server.api()).values("Name", &[]), ["kept"]);
    // Somebody who means to start anew.
    server.terminate();
    server.wait_for_end();
    std::fs::remove_dir_all(server.folder().data()).unwrap();
    server.restart();
}

fn what_the_database_server_says_of_its_disk_is_told() {
    // Workers write now and then, too, and not only where it fails.
    let server = Server::start(&[STILL]);
    let table = server.api().table(&["Name"]);
    let anonymous = server.api_without_key();
    let cases =
        [("53100", 507, "storage_full"), ("58030", 503, "storage_failed"), ("25006", 503, "storage_failed")];
    for (sqlstate, status, code) in cases {
        fail_writes(&server, Some(sqlstate));
        refused_by_disk(table.post("/rows", json!({ "Name": "during" })), status, code);
        refused_by_disk(anonymous.get("/readyz"), 503, code);
        fail_writes(&server, None);
        is_ready_again(&anonymous);
    }
    fail_writes(&server, Some("XX001"));
    table.post("/rows", json!({ "Name": "during" })).refused(500, "damaged");
    fail_writes(&server, None);
    table.insert(json!({ "Name": "after" }));
    assert_eq!(table.values("Name", &[]), ["after"]);
}

/// Makes every write that changes rows or is a probe fail with a code, as a server whose disk fails would.
fn fail_writes(server: &Server, sqlstate: Option<&str>) {
    let sql = ["rowmill.counters", "rowmill.migrations"].map(|name| match sqlstate {
        Some(code) => format!(
            "CREATE OR REPLACE FUNCTION rowmill.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             RAISE EXCEPTION 'could not extend file' USING ERRCODE = '{code}'; END $$; \
             CREATE TRIGGER fail BEFORE INSERT OR UPDATE ON {name} EXECUTE FUNCTION rowmill.fail();"
        ),
        None => format!("DROP TRIGGER fail ON {name};"),
    });
    let sql = sql.concat();
    let address = server.folder().address();
    waiting(async move { rowmill_test_postgres::client(&address).await.batch_execute(&sql).await.unwrap() });
}

/// What a request is told that the disk does not let succeed.
#[track_caller]
fn refused_by_disk(answer: Answer, status: u16, code: &str) -> String {
    let retry_after: u32 = answer.header("Retry-After").expect("when to try again").parse().unwrap();
    assert!(retry_after > 0);
    answer.refused(status, code)["error"].as_str().unwrap().to_owned()
}

fn is_ready_again(anonymous: &Api) {
    eventually("the server is ready", TIME_MAX, || (anonymous.get("/readyz").status() == 200).then_some(()));
}
