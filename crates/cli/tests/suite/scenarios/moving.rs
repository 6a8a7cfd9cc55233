//! `rowmill move`: everything from one database to another, whatever stops it on the way.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use proptest::test_runner::{Config, TestRunner};
use rowmill_store::carry::Carry;
use rowmill_store::{Store, conformance};
use rowmill_store_postgres::{Options, PostgresStore};
use rowmill_store_sqlite::{Access, SqliteStore};
use serde_json::{Value, json};

use super::processing::{asks, last};
use super::webhook::{counts, deliver, following, guest};
use crate::harness::database::Database;
use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir, UNLIMITED};
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Api, Request, Scenario, Server, StubServer, Table, eventually, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("moving", Own:
    everything_moves_there_and_back,
    a_move_that_was_killed_goes_on,
    what_cannot_be_moved_is_told,
    random_histories_go_on_in_another_database,
);

const TIME_MAX: Duration = Duration::from_mins(1);
pub(super) const KEY: (&str, &str) = ("ROWMILL_SECRET_KEY", "a key of more than thirty-two characters");
/// Nothing happens by itself.
pub(super) const STILL: (&str, &str) = ("ROWMILL_NO_WORKERS", "true");

pub(super) fn started_in(folder: &Arc<DataDir>, more: &[(&str, &str)]) -> Server {
    let own = [("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32"), ("ROWMILL_RETRY_BASE_MILLISECONDS", "1"), KEY];
    let settings: Vec<_> = UNLIMITED.iter().chain(&own).chain(more).copied().collect();
    Server::start_in(Arc::clone(folder), &settings)
}

pub(super) fn ended(server: Server) {
    server.terminate();
    assert!(server.wait_for_end().success());
}

/// Moves, and gives what was printed.
#[track_caller]
fn moved(from: &DataDir, to: &DataDir) -> String {
    let output =
        rowmill(to, &["move", "--from", &from.address(), "--to", &to.address(), "--batch-rows", "40"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Not moved, for this reason.
#[track_caller]
fn refused(from: &str, to: &str, words: &str) {
    let output = rowmill(&DataDir::on(Database::Sqlite), &["move", "--from", from, "--to", to]);
    assert!(!output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(words) && !told.contains("panicked"), "{words:?} not in {told:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
}

/// What one wants to find again.
pub(super) struct Filled {
    table: Table,
    guests: Table,
    /// The secrets of keys, of both teams.
    pub(super) keys: [String; 2],
    once: (Request, String),
    sequence: String,
    answer: String,
    later: String,
    rows: Vec<String>,
}

impl Filled {
    /// Its table, on a server that has it.
    pub(super) fn through(&self, server: &Server) -> Table {
        self.table.through(&server.api_with(&self.keys[0]))
    }
}

pub(super) const EVENT: &str = "evt-move";

/// A bit of everything there is.
pub(super) fn fill(server: &Server, stub_server: &StubServer, resting: &StubServer) -> Filled {
    let secret_of = |api: &Api, name: &str| {
        let made = api.post("/v4/keys", json!({ "name": name })).created();
        made["secret"].as_str().unwrap().to_owned()
    };
    let api = server.api();
    let acme = server.team("acme");
    let keys = [secret_of(&api, "kept"), secret_of(&acme, "kept")];
    server.api_with(&secret_of(&api, "seen")).get("/v4/team").ok();
    let revoked = api.post("/v4/keys", json!({ "name": "revoked" })).created();
    api.delete(format!("/v4/keys/{}", revoked["key"]["id"].as_str().unwrap())).ok();
    let put = |path: &str, body: Value| api.send(Request::new("PUT", path).json(&body)).ok();
    put("/v4/team/providers/hunter", json!({ "apiKey": "hunter-key" }));
    put("/v4/team/secrets/CRM", json!({ "value": "canary-secret" }));

    fill_another_team(&acme);
    let table = api.table(&["Name", "City"]);
    let config = json!({ "apiConfig": { "headers": { "X-Crm": "@{secret.CRM}" } } });
    let answer = asks(&table, "Answer", stub_server, "/answer/@{Name}", config);
    table.add_column(json!({
        "templateId": "reference", "header": "Told", "referenceConfig": { "columnId": answer, "path": "told" },
    }));
    asks(&table, "Second", stub_server, "/second/@{Told}", json!({}));
    let later = asks(&table, "Later", resting, "/later/@{Name}", json!({}));
    for (template, header) in
        [("ai-text", "Text"), ("ai-json", "Json"), ("waterfall-email", "Mail"), ("web-scraper", "Page")]
    {
        table.add_column(json!({ "templateId": template, "header": header }));
    }
    let name = |number: usize| match number % 10 {
        3 => "none".to_owned(),
        4 => String::new(),
        5 => "bad".to_owned(),
        _ => format!("n{number}"),
    };
    let rows: Vec<Value> =
        (0..600).map(|number| json!({ "Name": name(number), "City": format!("c{}", number % 7) })).collect();
    let rows = table.insert(json!(rows));
    let first = |ids: &[String]| json!({ "rowIds": ids, "columnIds": [answer] });
    table.post("/trigger", first(&rows[..290])).ok();
    settled(&table, &answer);
    table.post("/trigger", json!({ "rowIds": &rows[..5], "columnIds": [later] })).ok();
    eventually("they wait for their time", TIME_MAX, || {
        let waits = |row: &String| table.cells(row)[&later]["retryAt"].is_string();
        rows[..3].iter().all(waits).then_some(())
    });
    table
        .patch("/cells", json!({ "cells": [{ "rowId": rows[0], "columnId": answer, "value": "by hand" }] }))
        .ok();
    table.patch(&format!("/rows/{}", rows[1]), json!({ "Name": "renamed" })).ok();
    assert_eq!(table.cells(&rows[1])[&answer]["stale"], true);
    table.post("/rows?matchOn=City", json!({ "City": "only here", "Name": "m" })).created();
    let mut deleted: Vec<&String> = rows.iter().skip(7).step_by(11).collect();
    deleted.extend(&rows[256..400]);
    table.delete_rows(&deleted).ok();
    let view = json!({
        "name": "Some", "filters": [{ "columnId": table.column("City"), "operator": "notEquals", "value": "c1" }],
        "sorting": [{ "columnId": table.column("Name"), "direction": "desc" }],
    });
    table.post("/views", view).created();
    let request =
        Request::post(table.path("/rows")).header("Idempotency-Key", "once").json(&json!({ "Name": "once" }));
    let once = api.send(request.clone());
    let sequence = once.header("x-rowmill-sequence").unwrap().to_owned();

    let guests = following(&api, EVENT, &json!({ "addApprovalColumn": true }));
    for id in ["gst-a", "gst-b", "Gst-Ä"] {
        assert_eq!(
            counts(deliver(&api, &guest(EVENT, id, "approved", Some("2026-11-02T10:00:00Z")))),
            [1, 1, 0]
        );
    }
    Filled { guests, keys, once: (request, once.text), sequence, answer, later, rows, table }
}

/// Values of every kind in an open project, and a deleted project.
fn fill_another_team(acme: &Api) {
    let theirs = acme.table(&["Größe", "名"]);
    theirs.insert(json!([{ "Größe": 1.50, "名": "\u{1F600} \"x\"" }, { "Größe": [1, { "a": null }] }, {}]));
    theirs.patch("", json!({ "metadata": { "a": 1 }, "folderId": "f", "settings": { "api": { "requireKey": false } } })).ok();
    let gone = acme.table(&["Gone"]);
    gone.insert(json!([{ "Gone": 1 }, { "Gone": 2 }]));
    gone.delete("").ok();
}

/// Waits until nothing of a column waits or runs.
pub(super) fn settled(table: &Table, column: &str) {
    eventually("the column has settled", TIME_MAX, || {
        let counts = table.get("/status").ok()["columns"][column].clone();
        (counts["queued"] == 0 && counts["generating"] == 0).then_some(())
    });
}

/// Everything the API tells, as text, but for where the server is and when its newest keys were used.
pub(super) fn told(server: &Server, keys: &[String; 2]) -> String {
    let mut told = String::new();
    for key in keys {
        let api = server.api_with(key);
        let mut paths: Vec<String> = [
            "/v4/team",
            "/v4/teams",
            "/v4/team/providers",
            "/v4/team/secrets",
            "/v4/usage",
            "/v4/projects?page=1&pageSize=100",
        ]
        .map(str::to_owned)
        .into();
        for project in api.get("/v4/projects").ok()["projects"].as_array().unwrap() {
            let path = |rest: &str| format!("/v4/projects/{}{rest}", project["id"].as_str().unwrap());
            paths.extend(
                ["", "/columns", "/views", "/status", "/export?format=csv", "/export?format=jsonl"].map(path),
            );
            for page in 1..=8 {
                paths.push(path(&format!("/rows?withStatus=true&pageSize=97&page={page}")));
            }
            for view in api.get(path("/views")).ok()["views"].as_array().unwrap() {
                paths.push(path(&format!("/rows?pageSize=1000&viewId={}", view["id"].as_str().unwrap())));
            }
            let rows = api.get(path("/rows?pageSize=1000")).ok();
            let rows = rows["rows"].as_array().unwrap();
            paths.extend(
                rows.iter().step_by(3).map(|row| path(&format!("/rows/{}", row["id"].as_str().unwrap()))),
            );
        }
        for path in paths {
            let answer = api.get(&path);
            let text = answer.text.replace(&server.address, "HERE");
            let _ = writeln!(told, "{path} {}\n{text}", answer.status());
        }
        // Other keys are made and used by whoever asks here.
        let listed = api.get("/v4/keys").ok();
        let named = |key: &&Value| ["seen", "revoked"].iter().any(|name| key["name"] == *name);
        for key in listed["keys"].as_array().unwrap().iter().filter(named) {
            let _ = writeln!(told, "{key}");
        }
    }
    told
}

#[track_caller]
pub(super) fn assert_same(one: &str, other: &str) {
    for (one, other) in one.lines().zip(other.lines()) {
        assert_eq!(one, other);
    }
    assert_eq!(one.len(), other.len());
}

/// A server that answers, and one that asks to come back in an hour.
pub(super) fn stub_servers() -> [StubServer; 2] {
    let answering = StubServer::start(|seen, _| match last(seen).as_str() {
        "none" => Reply::Json(404, json!({})),
        "bad" => Reply::Json(400, json!({ "error": "Bad" })),
        name => {
            // Not the secret itself: it would be redacted.
            let knows = seen.headers.get("x-crm").is_some_and(|secret| secret == "canary-secret");
            ok(json!({ "told": name, "knows": knows }))
        }
    });
    let resting =
        StubServer::start(|_, _| Reply::With(429, vec![("Retry-After", "3600".to_owned())], "{}".to_owned()));
    [answering, resting]
}

fn everything_moves_there_and_back() {
    let [stub_server, resting] = stub_servers();
    let kinds = [Database::current(), Database::current().other(), Database::current()];
    let [from, there, back] = kinds.map(DataDir::on);
    let server = started_in(&from, &[]);
    let filled = fill(&server, &stub_server, &resting);
    ended(server);
    // Cells that wait, and nobody who would run them.
    let server = started_in(&from, &[STILL]);
    let table = filled.table.through(&server.api_with(&filled.keys[0]));
    let waiting = &filled.rows[420..425];
    let trigger = table.post("/trigger", json!({ "rowIds": waiting, "columnIds": [filled.answer] }));
    assert_eq!(trigger.ok()["triggeredCount"], 5);
    let before = told(&server, &filled.keys);
    ended(server);

    let said = moved(&from, &there);
    assert!(said.contains("Moved and verified") && said.contains("projects: 3"), "{said}");
    assert!(said.contains("ROWMILL_SECRET_KEY"), "{said}");
    let server = started_in(&there, &[STILL]);
    assert_same(&before, &told(&server, &filled.keys));
    ended(server);
    moved(&there, &back);
    let server = started_in(&back, &[STILL]);
    assert_same(&before, &told(&server, &filled.keys));

    // What was known is known.
    let api = server.api_with(&filled.keys[0]);
    let table = filled.table.through(&api);
    assert_eq!(api.send(filled.once.0.clone()).text, filled.once.1);
    let list = Request::get(table.path("/rows?search=once")).header("X-Rowmill-Sequence", &filled.sequence);
    assert_eq!(api.send(list).ok()["rows"].as_array().unwrap().len(), 1);
    let matched = table.post("/rows?matchOn=City", json!({ "City": "only here", "Name": "again" })).ok();
    assert_eq!((&matched["updatedCount"], &matched["insertedCount"]), (&json!(1), &json!(0)));
    let event = |moment: &str| guest(EVENT, "Gst-Ä", "declined", Some(moment));
    assert_eq!(counts(deliver(&api, &event("2026-11-01T10:00:00Z"))), [1, 0, 0], "an older event");
    assert_eq!(counts(deliver(&api, &event("2026-11-03T10:00:00Z"))), [1, 0, 1]);
    assert_eq!(filled.guests.through(&api).rows(&[])["pagination"]["totalRows"], 3);
    ended(server);

    // And what waited runs, with the secret that was sealed elsewhere.
    let server = started_in(&back, &[]);
    let table = table.through(&server.api_with(&filled.keys[0]));
    settled(&table, &filled.answer);
    let cells = table.cells(&waiting[0]);
    assert_eq!(cells[&filled.answer]["value"], json!({ "told": "n420", "knows": true }));
    assert!(table.cells(&filled.rows[0])[&filled.later]["retryAt"].is_string());
    check_counts(&table);
}

/// Counts the cells of all rows, and compares.
pub(super) fn check_counts(table: &Table) {
    let status = table.get("/status").ok();
    let rows = table.rows(&[("pageSize", "1000"), ("withStatus", "true")]);
    let rows = rows["rows"].as_array().unwrap();
    assert_eq!(status["rows"]["total"], rows.len());
    for (column, counts) in status["columns"].as_object().unwrap() {
        for (status, word) in
            [("completed", "complete"), ("error", "error"), ("skipped", "skipped"), ("idle", "idle")]
        {
            let counted = rows.iter().filter(|row| row["cells"][column]["status"] == status).count();
            assert_eq!(counts[word], counted, "{column} {status}");
        }
    }
}

fn a_move_that_was_killed_goes_on() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let [from, to, other] =
        [Database::current(), Database::current().other(), Database::Sqlite].map(DataDir::on);
    ended(started_in(&other, &[STILL]));
    let server = started_in(&from, &[]);
    let table = server.api().table(&["Name"]);
    let answer = asks(&table, "Answer", &stub_server, "/@{Name}", json!({}));
    let rows: Vec<Value> = (0..4_000).map(|number| json!({ "Name": number })).collect();
    let ids = table.insert(json!(rows));
    table.post("/rows?matchOn=Name", json!({ "Name": "last" })).created();
    table.post("/trigger", json!({ "rowIds": &ids[..2_000] })).ok();
    eventually("some are under way", TIME_MAX, || (stub_server.count() > 0).then_some(()));
    // Whoever holds cells dies with them.
    server.kill();
    drop(server);
    stub_server.release();

    let arguments = ["move", "--from", &from.address(), "--to", &to.address(), "--batch-rows", "16"];
    let mut kills = 0;
    for round in 0..6_u64 {
        let mut command = server::command(&to);
        let mut child = command.args(arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        // Once it says how far it is, it has begun.
        let mut said = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut said).unwrap();
        std::thread::sleep(Duration::from_millis(round * 40));
        let has_ended = child.try_wait().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        if let Some(status) = has_ended {
            assert!(status.success() || said.contains("is not empty"), "{status:?}: {said}");
            break;
        }
        kills += 1;
        let visit = rowmill(&to, &["team", "list"]);
        if !visit.status.success() {
            let told = String::from_utf8_lossy(&visit.stderr).into_owned();
            assert!(told.contains("run the same `rowmill move` again"), "{told}");
            refused(&other.address(), &to.address(), "contains an unfinished move from");
        }
    }
    assert!(kills > 0, "it ended before it could be killed");
    let output = server::command(&to).args(arguments).output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() || told.contains("is not empty"), "{told}");
    let server = started_in(&to, &[]);
    let table = table.through(&server.api());
    settled(&table, &answer);
    let status = table.get("/status").ok();
    assert_eq!(status["columns"][&answer]["complete"], 2_000, "{status}");
    assert_eq!(status["rows"]["total"], 4_001);
    let names = table.rows(&[("pageSize", "1000"), ("page", "5")]);
    assert_eq!(names["rows"][0]["cells"][table.column("Name")], "last");
}

fn what_cannot_be_moved_is_told() {
    let [from, to, third] =
        [Database::current(), Database::current().other(), Database::Sqlite].map(DataDir::on);
    let server = started_in(&from, &[STILL]);
    let table = server.api().table(&["Name"]);
    table.insert(json!([{ "Name": 1 }]));
    refused(&from.address(), &to.address(), "in use");
    refused(&from.address(), &from.address(), "same database");
    refused("mysql://u:canary@h/d", &to.address(), "--from must be sqlite:FOLDER or postgres://");
    refused("sqlite:/no/such/folder", &to.address(), "/no/such/folder/rowmill.db does not exist");
    refused("postgres://u:canary@127.0.0.1:9/d", &to.address(), "refused");
    ended(server);
    moved(&from, &to);
    refused(&from.address(), &to.address(), "is not empty");
    moved(&to, &third);
    refused(&to.address(), &third.address(), "is not empty");
    // The source is as it was.
    let server = started_in(&from, &[STILL]);
    assert_eq!(table.through(&server.api()).values("Name", &[]), [1]);
}

/// Where a history is told, and where it goes on.
struct Wanderer {
    kind: Database,
    home: Option<Arc<DataDir>>,
}

impl Wanderer {
    /// Closes the store, moves all it held into a database of the other kind and opens that.
    fn move_on(&mut self, old: Option<Arc<dyn Store>>) -> Arc<dyn Store> {
        drop(old);
        let runtime = tokio::runtime::Handle::current();
        tokio::task::block_in_place(|| -> Arc<dyn Store> {
            if let Some(home) = self.home.take() {
                self.kind = self.kind.other();
                let next = DataDir::on(self.kind);
                runtime.block_on(carried(&home, &next));
                self.home = Some(next);
            }
            let home = self.home.get_or_insert_with(|| DataDir::on(self.kind));
            let address = home.address();
            if let Some(folder) = address.strip_prefix("sqlite:") {
                return Arc::new(SqliteStore::open(Path::new(folder), Access::Serve).unwrap());
            }
            let connected = PostgresStore::connect(&address, Options::default());
            Arc::new(runtime.block_on(connected).unwrap())
        })
    }
}

async fn carried(from: &DataDir, to: &DataDir) {
    let (from, to) = (from.address(), to.address());
    let source: Box<dyn Carry> = match from.strip_prefix("sqlite:") {
        Some(folder) => Box::new(rowmill_store_sqlite::Carrier::source(Path::new(folder)).unwrap()),
        None => Box::new(rowmill_store_postgres::Carrier::source(&from).await.unwrap()),
    };
    let target: Box<dyn Carry> = match to.strip_prefix("sqlite:") {
        Some(folder) => Box::new(rowmill_store_sqlite::Carrier::target(Path::new(folder)).unwrap()),
        None => Box::new(rowmill_store_postgres::Carrier::target(&to).await.unwrap()),
    };
    let options = rowmill_moving::Options { batch_rows: 100 };
    rowmill_moving::carry(&*source, &*target, options, &|_| {}).await.unwrap();
}

/// The suites that every store passes, with a move wherever they would start it again.
fn random_histories_go_on_in_another_database() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let config = || Config { cases: 4, failure_persistence: None, ..Config::default() };
    let wanderer = || Wanderer { kind: Database::current(), home: None };
    let processed = TestRunner::new(config()).run(&conformance::events(), |mut events| {
        events.push(conformance::Event::Reopen);
        let mut wanderer = wanderer();
        runtime.block_on(conformance::counts_stay_true(events, |old| wanderer.move_on(old)));
        Ok(())
    });
    processed.unwrap();
    let kept = TestRunner::new(config()).run(&conformance::steps(), |mut steps| {
        steps.insert(steps.len() / 2, conformance::StoreOp::Reopen);
        let mut wanderer = wanderer();
        runtime.block_on(conformance::against_a_plain_map(steps, |old| wanderer.move_on(old)));
        Ok(())
    });
    kept.unwrap();
}
