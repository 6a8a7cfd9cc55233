//! Imports in the background: answered at once, finished whatever happens to the server, every row once.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::database::Database;
use crate::harness::http::{connect, receive};
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::table::query_of;
use crate::harness::{Answer, Api, Request, Scenario, Server, Table, eventually, rowmill};

pub(crate) const SHARED: &[Scenario] = &scenarios!("import_jobs", Shared:
    a_file_is_imported_in_the_background,
    the_result_is_that_of_an_import,
    a_bad_file_fails_its_import,
    what_is_wrong_beforehand_is_refused,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("import_jobs", Own:
    every_row_is_imported_once_over_crashes,
    an_import_goes_on_after_a_restart,
    imports_can_be_cancelled,
    imports_and_their_bytes_are_few,
    long_files_of_one_team_leave_room_for_another,
    a_project_that_is_deleted_ends_its_import,
    what_is_not_finished_is_not_moved,
);
pub(crate) const NODES: &[Scenario] = &scenarios!("import_jobs", Nodes:
    another_node_goes_on,
);

const TIME_MAX: Duration = Duration::from_mins(2);
/// Batches are small, so that there are many.
const SMALL: (&str, &str) = ("ROWMILL_INSERT_ROWS_MAX", "25");
const ROWS: usize = 4_000;

fn send(table: &Table, query: &[(&str, &str)], media_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    let query: Vec<_> = query.iter().copied().chain([("async", "true")]).collect();
    let path = table.path(&format!("/import{}", query_of(&query)));
    table.api.send(Request::post(path).bytes(body.into()).header("Content-Type", media_type))
}

/// Starts an import, and gives the id of its job.
#[track_caller]
fn start(table: &Table, query: &[(&str, &str)], body: impl Into<Vec<u8>>) -> String {
    let told = send(table, query, "text/csv", body).success(202);
    told["job"]["id"].as_str().unwrap().to_owned()
}

fn job(table: &Table, id: &str) -> Value {
    table.get(&format!("/imports/{id}")).ok()
}

/// The job once it has ended.
#[track_caller]
fn ended(table: &Table, id: &str) -> Value {
    eventually("the import ends", TIME_MAX, || {
        let told = job(table, id);
        (!told["job"]["endedAt"].is_null()).then_some(told)
    })
}

/// Waits until so many rows are imported.
fn reached(table: &Table, id: &str, rows: u64) {
    eventually("the import comes on", TIME_MAX, || {
        (job(table, id)["job"]["importedCount"].as_u64().unwrap() >= rows).then_some(())
    });
}

/// A file of numbered rows, with two headers that are the same.
fn numbered(rows: usize) -> String {
    let mut file = String::from("Number,Name,Name\n");
    for number in 0..rows {
        let _ = writeln!(file, "{number},\"Name, {number}\",x");
    }
    file
}

/// That the file is in the table, each row once and in order.
#[track_caller]
fn verify(table: &Table, rows: usize) {
    assert_eq!(table.headers(), ["Input", "Number", "Name", "Name 2"]);
    let columns = table.columns();
    let id = columns.iter().find(|column| column["header"] == "Number").unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let out = table.get(&format!("/export{}", query_of(&[("columnIds", &id)])));
    let numbers: Vec<usize> = out.text.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    let distinct: BTreeSet<usize> = numbers.iter().copied().collect();
    assert_eq!((numbers.len(), distinct.len()), (rows, rows), "each row once");
    assert!(numbers.is_sorted(), "in order");
}

fn a_file_is_imported_in_the_background(api: &Api) {
    let table = api.table(&["Email"]);
    let file = b"Email,City\nada@example.com,London\n".to_vec();
    let request = Request::post(table.path("/import")).bytes(file).header("Content-Type", "text/csv");
    let answer = api.send(request.header("Prefer", "wait=1, respond-async"));
    let location = answer.header("location").unwrap().to_owned();
    assert_eq!(answer.header("preference-applied"), Some("respond-async"));
    let told = answer.success(202);
    assert_eq!(
        (&told["status"], &told["importedCount"]),
        (&json!("queued"), &json!(0)),
        "nothing is known yet"
    );
    let id = told["job"]["id"].as_str().unwrap();
    assert!(location.ends_with(&table.path(&format!("/imports/{id}"))), "{location}");
    assert_eq!((&told["job"]["fileBytes"], &told["job"]["rowsRead"]), (&json!(34), &json!(0)));
    let told = ended(&table, id);
    assert_eq!(told["job"]["status"], "finished", "{told}");
    assert_eq!((&told["job"]["rowsRead"], &told["job"]["importedCount"]), (&json!(1), &json!(1)));
    assert_eq!(told["job"]["bytesRead"], 34);
    assert_eq!(table.headers(), ["Input", "Email", "City"]);
    assert_eq!(told["result"]["columnsCreated"][0]["header"], "City");
    assert_eq!(told["result"].get("status"), None);
    // The same by the query; the newest comes first.
    let other =
        start(&table, &[("matchOn", "Email")], "Email,City\nada@example.com,Paris\nalan@example.com,Rome\n");
    let told = ended(&table, &other);
    assert_eq!((&told["result"]["updatedCount"], &told["result"]["importedCount"]), (&json!(1), &json!(1)));
    let jobs = table.get("/imports").ok();
    let ids: Vec<&str> =
        jobs["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect();
    assert_eq!(ids, [other.as_str(), id]);
    // Compressed, and as JSON Lines.
    let packed = zstd::encode_all(&b"{\"Email\":1.50}\n"[..], 3).unwrap();
    let request = Request::post(table.path("/import?async=true")).bytes(packed);
    let request = request.header("Content-Type", "application/x-ndjson").header("Content-Encoding", "zstd");
    let told = api.send(request).success(202);
    ended(&table, told["job"]["id"].as_str().unwrap());
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 3);
    // An empty file is a file.
    assert_eq!(ended(&table, &start(&table, &[], ""))["job"]["status"], "finished");
}

fn the_result_is_that_of_an_import(api: &Api) {
    let file = "Mial,B,B\n1,2,3\n1,2,3,4\n,,\nx,\"y\"\n5,6,7,8,9\n";
    let (one, other) = (api.table(&["Mail", "B"]), api.table(&["Mail", "B"]));
    let plain = Request::post(one.path("/import")).bytes(file.into()).header("Content-Type", "text/csv");
    let mut expected = api.send(plain).ok();
    let mut told = ended(&other, &start(&other, &[], file))["result"].clone();
    assert_eq!(expected["rejectedCount"], 2, "{expected}");
    assert!(expected["hints"]["Mial"] == "Mail", "{expected}");
    for result in [&mut expected, &mut told] {
        result.as_object_mut().unwrap().remove("success");
        for column in result["columnsCreated"].as_array_mut().unwrap() {
            column["id"] = json!("col");
        }
    }
    assert_eq!(told, expected);
    assert_eq!(one.headers(), other.headers());
}

fn a_bad_file_fails_its_import(api: &Api) {
    let table = api.table(&["A"]);
    let fails = |media_type: &str, encoding: Option<&str>, body: Vec<u8>, code: &str, words: &str| {
        let request = Request::post(table.path("/import?async=true")).bytes(body);
        let request = request.header("Content-Type", media_type);
        let request =
            encoding.map_or(request.clone(), |encoding| request.header("Content-Encoding", encoding));
        let told = api.send(request).success(202);
        let told = ended(&table, told["job"]["id"].as_str().unwrap());
        let error = &told["job"]["error"];
        assert_eq!((&told["job"]["status"], &error["code"]), (&json!("failed"), &json!(code)), "{told}");
        assert!(error["error"].as_str().unwrap().contains(words), "{told}");
    };
    fails("text/csv", None, b"a,\xe9\n".to_vec(), "invalid_request", "UTF-8");
    fails("text/csv", Some("gzip"), b"not gzip".to_vec(), "invalid_request", "The body is not gzip");
    fails("text/csv", Some("zstd"), b"not zstd".to_vec(), "invalid_request", "The body is not zstd");
    let mut packed = zstd::encode_all(&b"A\n1\n2\n"[..], 3).unwrap();
    packed.truncate(packed.len() - 3);
    fails("text/csv", Some("zstd"), packed, "invalid_request", "ends too early");
    let wide: Vec<String> = (0..600).map(|number| format!("New {number}")).collect();
    fails("text/csv", None, format!("{}\n1\n", wide.join(",")).into(), "limit_exceeded", "columnsMax");
    assert_eq!(table.headers(), ["Input", "A"]);
}

fn what_is_wrong_beforehand_is_refused(api: &Api) {
    let table = api.table(&["A"]);
    send(&table, &[("matchOn", "Nothing")], "text/csv", "A\n1\n").refused(400, "invalid_request");
    send(&table, &[("mapping", r#"{"A":"Nothing"}"#)], "text/csv", "A\n1\n").offends(&["mapping.A"]);
    send(&table, &[], "application/json", "{}").refused(415, "unsupported_media_type");
    table.get("/imports/imp_0190f0e0d7e87f908123456789abcdef").refused(404, "import_not_found");
    table.delete("/imports/nonsense").refused(404, "import_not_found");
    // An import is its project's.
    let id = start(&table, &[], "A\n1\n");
    api.table(&[]).get(&format!("/imports/{id}")).refused(404, "import_not_found");
    ended(&table, &id);
    // A file that says that it is too large is not waited for.
    let request = Request::post(table.path("/import?async=true")).header("Content-Type", "text/csv");
    let request = api.with_key(request.header("Content-Length", "99999999999"));
    let mut stream = connect(&api.address).unwrap();
    stream.write_all(request.head(&api.address).as_bytes()).unwrap();
    assert_eq!(receive(&mut stream).unwrap().status, 413);
    assert_eq!(table.get("/imports").ok()["jobs"].as_array().unwrap().len(), 1);
}

fn every_row_is_imported_once_over_crashes() {
    let mut server = Server::start(&[SMALL]);
    let table = server.api().table(&[]);
    // A row in each hundred is rejected, and told once.
    let file = numbered(ROWS).lines().enumerate().fold(String::new(), |mut file, (number, line)| {
        let _ = writeln!(file, "{line}");
        if number % 100 == 99 {
            file.push_str("a,b,c,d\n");
        }
        file
    });
    let id = start(&table, &[], file);
    let mut table = table;
    // On PostgreSQL each crash is waited for until the lease is over.
    let crashes = if Database::current() == Database::Postgres { 2 } else { 6 };
    for crash in 0..crashes {
        reached(&table, &id, crash * 500 + 1);
        server.crash_and_restart();
        table = table.through(&server.api());
    }
    let told = ended(&table, &id);
    assert_eq!(told["job"]["status"], "finished", "{told}");
    assert_eq!(
        (&told["job"]["importedCount"], &told["job"]["rejectedCount"]),
        (&json!(ROWS), &json!(ROWS / 100))
    );
    let lines: BTreeSet<u64> = told["result"]["rejected"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["line"].as_u64().unwrap())
        .collect();
    assert_eq!(lines.len(), ROWS / 100);
    assert_eq!(told["result"]["columnsCreated"].as_array().unwrap().len(), 3);
    verify(&table, ROWS);
    let checked = server.command(&["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
}

fn an_import_goes_on_after_a_restart() {
    let mut server = Server::start(&[SMALL]);
    let table = server.api().table(&[]);
    let id = start(&table, &[], numbered(ROWS));
    reached(&table, &id, 1);
    server.terminate();
    assert!(server.wait_for_end().success());
    server.restart();
    let table = table.through(&server.api());
    assert_eq!(ended(&table, &id)["job"]["status"], "finished");
    verify(&table, ROWS);
}

fn imports_can_be_cancelled() {
    let server = Server::start(&[SMALL]);
    let table = server.api().table(&[]);
    let first = start(&table, &[], numbered(ROWS * 5));
    // One at a time in a project: this one waits.
    let second = start(&table, &[], numbered(10));
    reached(&table, &first, 100);
    let cancel = |id: &str| table.delete(&format!("/imports/{id}")).ok();
    let told = cancel(&second);
    assert_eq!(
        (&told["job"]["status"], &told["job"]["rowsRead"]),
        (&json!("cancelled"), &json!(0)),
        "{told}"
    );
    assert!(told["job"]["startedAt"].is_null(), "{told}");
    let told = cancel(&first);
    assert_eq!(told["job"]["status"], "cancelled", "{told}");
    let rows = told["job"]["importedCount"].as_u64().unwrap();
    assert!((100..ROWS as u64 * 5).contains(&rows), "{told}");
    assert_eq!(told["result"]["importedCount"], rows);
    // Nothing is imported after the answer, and what was is there.
    std::thread::sleep(Duration::from_millis(300));
    verify(&table, usize::try_from(rows).unwrap());
    assert_eq!(cancel(&first), told, "it stays as it is");
    // The next has its turn.
    assert_eq!(ended(&table, &start(&table, &[], numbered(10)))["job"]["status"], "finished");
}

fn imports_and_their_bytes_are_few() {
    let server = Server::start(&[
        SMALL,
        ("ROWMILL_IMPORT_JOBS_MAX", "2"),
        ("ROWMILL_IMPORT_JOBS_BYTES_MAX", "1000000"),
        ("ROWMILL_TEAM_BYTES_MAX", "900000"),
    ]);
    let (api, other) = (server.api(), server.team("other"));
    let limits = api.get("/v4/limits").ok()["limits"].clone();
    assert_eq!((&limits["importJobsMax"], &limits["importJobsBytesMax"]), (&json!(2), &json!(1_000_000)));
    let table = api.table(&[]);
    let first = start(&table, &[], numbered(ROWS));
    let second = start(&table, &[], numbered(ROWS));
    let refused = send(&table, &[], "text/csv", "A\n1\n").refused(400, "limit_exceeded");
    assert!(refused["error"].as_str().unwrap().contains("importJobsMax"), "{refused}");
    // Another team has its own.
    let others = other.table(&[]);
    assert_eq!(ended(&others, &start(&others, &[], numbered(10)))["job"]["status"], "finished");
    let large = "x\n".repeat(500_000);
    let refused = send(&others, &[], "text/csv", large.clone()).refused(400, "limit_exceeded");
    assert!(refused["error"].as_str().unwrap().contains("teamBytesMax"), "{refused}");
    for id in [first, second] {
        table.delete(&format!("/imports/{id}")).ok();
    }
    assert_eq!(
        table.get("/imports").ok()["jobs"].as_array().unwrap().len(),
        2,
        "what is refused leaves nothing"
    );
    let server = Server::start(&[("ROWMILL_IMPORT_JOBS_BYTES_MAX", "100000")]);
    let table = server.api().table(&[]);
    let refused = send(&table, &[], "text/csv", large).refused(400, "limit_exceeded");
    assert!(refused["error"].as_str().unwrap().contains("importJobsBytesMax"), "{refused}");
}

fn long_files_of_one_team_leave_room_for_another() {
    let server = Server::start(&[SMALL]);
    let (api, other) = (server.api(), server.team("other"));
    let tables: Vec<Table> = (0..4).map(|_| api.table(&[])).collect();
    let long: Vec<String> = tables.iter().map(|table| start(table, &[], numbered(ROWS * 5))).collect();
    let running = || {
        let runs = |(table, id): &(&Table, &String)| job(table, id)["job"]["status"] == "running";
        tables.iter().zip(&long).filter(runs).count()
    };
    eventually("several run", TIME_MAX, || (running() >= 2).then_some(()));
    let others = other.table(&[]);
    assert_eq!(ended(&others, &start(&others, &[], numbered(10)))["job"]["status"], "finished");
    assert!(running() >= 2, "the long ones still run");
    for (table, id) in tables.iter().zip(&long) {
        table.delete(&format!("/imports/{id}")).ok();
    }
}

fn a_project_that_is_deleted_ends_its_import() {
    let server = Server::start(&[SMALL]);
    let api = server.api();
    let table = api.table(&[]);
    let id = start(&table, &[], numbered(ROWS * 5));
    reached(&table, &id, 1);
    table.delete("").ok();
    std::thread::sleep(Duration::from_millis(500));
    api.post("/v4/trash/restore", json!({ "projectIds": [table.id] })).ok();
    let told = ended(&table, &id);
    assert_eq!(
        (&told["job"]["status"], &told["job"]["error"]["code"]),
        (&json!("failed"), &json!("project_not_found"))
    );
    verify(&table, usize::try_from(told["job"]["importedCount"].as_u64().unwrap()).unwrap());
}

fn what_is_not_finished_is_not_moved() {
    let server = Server::start(&[SMALL]);
    let table = server.api().table(&[]);
    let id = start(&table, &[], numbered(ROWS * 5));
    reached(&table, &id, 1);
    server.kill();
    let folder = server.folder();
    let checked = rowmill(folder, &["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    let to = DataDir::on(Database::Sqlite);
    let moved = rowmill(&to, &["move", "--from", &folder.address(), "--to", &to.address()]);
    let words = String::from_utf8_lossy(&moved.stderr);
    assert!(!moved.status.success() && words.contains("1 import is not finished"), "{words}");
}

fn another_node_goes_on() {
    let first = Server::start(&[SMALL]);
    let table = first.api().table(&[]);
    let id = start(&table, &[], numbered(ROWS));
    reached(&table, &id, 100);
    let second = first.beside("serve", &[]);
    first.kill();
    let table = table.through(&second.api());
    let told = ended(&table, &id);
    assert_eq!(told["job"]["status"], "finished", "{told}");
    verify(&table, ROWS);
}
