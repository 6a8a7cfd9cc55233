//! A database that a released version made is opened, and everything in it is there and goes on.
//!
//! `tests/released/` has a folder for each release: its database, embedded and on PostgreSQL, and what its API told of it.
//! To add one, build the release and run
//! `ROWMILL_TEST_BINARY=path/to/rowmill ROWMILL_TEST_RELEASE=0.2.0 cargo test -p rowmill --test suite upgrading`.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Map, Value, json};

use super::moving::{EVENT, KEY, STILL, check_counts, ended, fill, settled, started_in, stub_servers};
use super::processing::asks;
use super::webhook::{counts, deliver, deliver_signed, guest};
use crate::harness::database::{Database, waiting};
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, refusal};
use crate::harness::{Answer, Api, Scenario, Server, Table, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("upgrading", Own:
    databases_of_all_releases_are_opened,
    signing_secrets_of_a_release_are_encrypted,
    a_database_of_a_newer_version_is_refused,
);

const ADOPT: (&str, &str) = ("ROWMILL_ADOPT_SECRET_KEY", "true");

fn databases_of_all_releases_are_opened() {
    let releases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released");
    if let Ok(version) = std::env::var("ROWMILL_TEST_RELEASE") {
        record(&Release(releases.join(version)));
        return;
    }
    let mut folders: Vec<PathBuf> =
        std::fs::read_dir(releases).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert!(!folders.is_empty());
    for folder in folders {
        println!("opening the database of {}", folder.display());
        open(&Release(folder));
    }
}

/// Fills a database with the release's own binary, and keeps it beside what it tells.
fn record(release: &Release) {
    std::fs::create_dir_all(&release.0).unwrap();
    let folder = DataDir::new();
    let [answering, resting] = stub_servers();
    let server = started_in(&folder, &[]);
    let filled = fill(&server, &answering, &resting);
    ended(server);
    // Nothing happens by itself while it tells.
    let server = started_in(&folder, &[STILL]);
    let told: Vec<Value> =
        filled.keys.iter().map(|key| json!({ "key": key, "told": told(&server, key) })).collect();
    ended(server);
    release.write("answers", serde_json::to_string_pretty(&told).unwrap().as_bytes());
    match Database::current() {
        Database::Sqlite => {
            release.write("rowmill.db", &std::fs::read(folder.data().join("rowmill.db")).unwrap());
        }
        Database::Postgres => {
            let server = rowmill_test_postgres::server().expect("it is not off");
            release.write("dump.sql", server.dump(&folder.address()).as_bytes());
        }
    }
}

fn open(release: &Release) {
    let folder = release.restore();
    let server = started_in(&folder, &[STILL]);
    let recorded: Value = serde_json::from_slice(&release.read("answers")).unwrap();
    let recorded = recorded.as_array().unwrap();
    assert_same(&server, recorded);
    // What was known is known: values to match by, and guests with the time of their last event.
    let api = server.api_with(recorded[0]["key"].as_str().unwrap());
    let table = project_with(&api, "City");
    let matched = table.post("/rows?matchOn=City", json!({ "City": "only here", "Name": "again" })).ok();
    assert_eq!((&matched["updatedCount"], &matched["insertedCount"]), (&json!(1), &json!(0)));
    let event = |moment: &str| guest(EVENT, "Gst-Ä", "declined", Some(moment));
    assert_eq!(counts(deliver(&api, &event("2026-11-01T10:00:00Z"))), [1, 0, 0], "an older event");
    assert_eq!(counts(deliver(&api, &event("2026-11-03T10:00:00Z"))), [1, 0, 1]);
    table.insert(json!({ "Name": "new", "City": "c1" }));
    check_counts(&table);
    let checked = server.command(&["check"]);
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stdout));
    ended(server);
    // A secret can still be read by those who may.
    let [answering, _resting] = stub_servers();
    let server = started_in(&folder, &[]);
    let table = server.api_with(recorded[0]["key"].as_str().unwrap()).table(&["Name"]);
    let config = json!({ "apiConfig": { "headers": { "X-Crm": "@{secret.CRM}" } } });
    let column = asks(&table, "Answer", &answering, "/answer/@{Name}", config);
    let rows = table.insert(json!([{ "Name": "Ada" }]));
    table.post("/trigger", json!({ "columnIds": [column] })).ok();
    settled(&table, &column);
    assert_eq!(table.cells(&rows[0])[&column]["value"]["knows"], true, "{}", table.cells(&rows[0])[&column]);
    ended(server);
    if Database::current() == Database::Sqlite {
        go_back(&folder, recorded);
    }
}

/// The copy from before the migration is what there was.
fn go_back(folder: &Arc<DataDir>, recorded: &[Value]) {
    let names = std::fs::read_dir(folder.data()).unwrap().map(|entry| entry.unwrap().path());
    let copies: Vec<PathBuf> =
        names.filter(|path| path.to_string_lossy().contains("rowmill-schema-")).collect();
    let [copy] = copies.as_slice() else { panic!("not one copy: {copies:?}") };
    let restored = rowmill(folder, &["restore", copy.to_str().unwrap(), "--replace"]);
    let words = String::from_utf8_lossy(&restored.stderr).into_owned();
    assert!(restored.status.success() && words.contains("of an older version"), "{words}");
    let server = started_in(folder, &[STILL]);
    assert_same(&server, recorded);
    ended(server);
}

#[track_caller]
fn assert_same(server: &Server, recorded: &[Value]) {
    for team in recorded {
        let now = told(server, team["key"].as_str().unwrap());
        for (path, then) in team["told"].as_object().unwrap() {
            assert_tells(path, then, &now[path]);
        }
    }
}

/// As a version of today must be refused by one before it.
fn a_database_of_a_newer_version_is_refused() {
    let release = Release(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0"));
    let folder = release.restore_with(|mut bytes| match Database::current() {
        Database::Sqlite => {
            // Where SQLite keeps `user_version`. This file has no checksums.
            bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
            bytes
        }
        Database::Postgres => {
            let later: Vec<String> = (4..=99).map(|number| format!("\t({number}, 'later', ''),\n")).collect();
            let dump = String::from_utf8(bytes).unwrap();
            let last = "\t(3, 'versions', ";
            assert!(dump.contains(last));
            dump.replacen(last, &(later.concat() + last), 1).into_bytes()
        }
    });
    let told = refusal(&folder, &[STILL, KEY]);
    assert!(told.contains("schema version 99") && told.contains("use a newer Rowmill"), "{told}");
    let names: Vec<_> = std::fs::read_dir(folder.data()).into_iter().flatten().flatten().collect();
    assert!(
        names.iter().all(|entry| !entry.file_name().to_string_lossy().contains("schema")),
        "no copy was made"
    );
}

/// Version 0.1.0 saved them as they were.
fn signing_secrets_of_a_release_are_encrypted() {
    let release = Release(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/released/0.1.0"));
    let plain = "\"signingSecret\":\"canary\"";
    // As long as what it is put in place of, so that the file stays a database.
    let folder = release.restore_with(|text| replaced(text, "\"addApprovalColumn\":true", plain));
    let recorded: Value = serde_json::from_slice(&release.read("answers")).unwrap();
    let key = recorded[0]["key"].as_str().unwrap();
    let logged = [STILL, ("ROWMILL_LOG", "info")];
    let encrypted = |server: &Server| server.log().matches("encrypted the signing secrets").count();
    let server = started_in(&folder, &logged);
    assert_eq!(encrypted(&server), 1, "{}", server.log());
    let api = server.api_with(key);
    let delivery = guest(EVENT, "gst-signed", "approved", None);
    let signed = |api: &Api| deliver_signed(api, &delivery, "canary");
    assert_unsigned(&deliver(&api, &delivery));
    assert_eq!(counts(signed(&api)), [1, 1, 0]);
    let table = project_with(&api, "Guest status");
    let shown = table.get("").ok();
    assert_eq!(shown["project"]["metadata"]["eventplatform"]["signingSecret"], "***");
    ended(server);
    if Database::current() == Database::Postgres {
        let server = rowmill_test_postgres::server().expect("it is not off");
        let dump = server.dump(&folder.address());
        assert!(!dump.contains("canary") && dump.contains("sealed:1:"), "a secret is as it was");
    }
    // It is encrypted once.
    let server = started_in(&folder, &logged);
    assert_eq!(encrypted(&server), 1, "{}", server.log());
    assert_eq!(counts(signed(&server.api_with(key))), [1, 0, 0]);
    ended(server);
    // With another key it cannot be read, and nothing is taken unchecked.
    let other = [STILL, ("ROWMILL_SECRET_KEY", "another key of more than 32 characters"), ADOPT];
    let server = started_in(&folder, &other);
    let api = server.api_with(key);
    for answer in [deliver(&api, &delivery), signed(&api)] {
        assert_unsigned(&answer);
    }
    assert!(server.log().contains("set it again"), "{}", server.log());
    let event = json!({ "eventId": EVENT, "webhookEnabled": true, "signingSecret": "canary" });
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
    project_with(&api, "Guest status").patch("", json!({ "metadata": metadata })).ok();
    assert_eq!(counts(signed(&api)), [1, 0, 0]);
    ended(server);
}

#[track_caller]
fn assert_unsigned(answer: &Answer) {
    assert_eq!((answer.status(), &answer.json), (401, &json!({ "error": "Invalid signature" })));
}

/// Text within bytes, replaced by text of the same length.
fn replaced(mut bytes: Vec<u8>, old: &str, new: &str) -> Vec<u8> {
    assert_eq!(old.len(), new.len());
    let places: Vec<usize> = bytes
        .windows(old.len())
        .enumerate()
        .filter(|(_, window)| *window == old.as_bytes())
        .map(|(place, _)| place)
        .collect();
    assert!(!places.is_empty());
    for place in places {
        bytes[place..place + new.len()].copy_from_slice(new.as_bytes());
    }
    bytes
}

/// A release's files, each compressed.
struct Release(PathBuf);

impl Release {
    /// What one database tells is no other's: ids differ.
    fn path(&self, name: &str) -> PathBuf {
        let database = match Database::current() {
            Database::Sqlite => "sqlite",
            Database::Postgres => "postgres",
        };
        self.0.join(format!("{database}.{name}.gz"))
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let mut packed = GzEncoder::new(std::fs::File::create(self.path(name)).unwrap(), Compression::best());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap();
    }

    fn read(&self, name: &str) -> Vec<u8> {
        let mut bytes = Vec::new();
        GzDecoder::new(std::fs::File::open(self.path(name)).unwrap()).read_to_end(&mut bytes).unwrap();
        bytes
    }

    fn restore(&self) -> Arc<DataDir> {
        self.restore_with(|bytes| bytes)
    }

    fn restore_with(&self, change: impl Fn(Vec<u8>) -> Vec<u8>) -> Arc<DataDir> {
        let folder = DataDir::new();
        match Database::current() {
            Database::Sqlite => {
                std::fs::create_dir_all(folder.data()).unwrap();
                std::fs::write(folder.data().join("rowmill.db"), change(self.read("rowmill.db"))).unwrap();
            }
            Database::Postgres => {
                let dump = String::from_utf8(change(self.read("dump.sql"))).unwrap();
                waiting(rowmill_test_postgres::load(&folder.address(), &dump));
            }
        }
        folder
    }
}

fn project_with(api: &Api, header: &str) -> Table {
    let projects = api.get("/v4/projects").ok();
    let ids = projects["projects"].as_array().unwrap().iter().map(|project| project["id"].as_str().unwrap());
    let mut tables =
        ids.map(|id| Table::new(api.clone(), &api.get(format!("/v4/projects/{id}")).ok()["project"]));
    tables.find(|table| table.headers().iter().any(|found| found == header)).unwrap()
}

/// What the API tells a holder of this key, path by path.
fn told(server: &Server, key: &str) -> Value {
    let api = server.api_with(key);
    let mut told = Map::new();
    let mut ask = |path: String| {
        let text = api.get(&path).text.replace(&server.address, "HERE");
        let answer: Value = serde_json::from_str(&text).unwrap();
        told.insert(path, answer.clone());
        answer
    };
    ask("/v4/team/secrets".to_owned());
    let projects = ask("/v4/projects?page=1&pageSize=100".to_owned());
    for project in projects["projects"].as_array().unwrap() {
        let path = |rest: &str| format!("/v4/projects/{}{rest}", project["id"].as_str().unwrap());
        ask(path(""));
        ask(path("/columns"));
        ask(path("/status"));
        ask(path("/rows?withStatus=true&pageSize=1000"));
        let views = ask(path("/views"));
        for view in views["views"].as_array().unwrap() {
            ask(path(&format!("/rows?pageSize=1000&viewId={}", view["id"].as_str().unwrap())));
        }
    }
    Value::Object(told)
}

/// A later version may tell more, and nothing less or else.
fn assert_tells(at: &str, then: &Value, now: &Value) {
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => {
            for (name, then) in then {
                assert_tells(&format!("{at}/{name}"), then, now.get(name).unwrap_or(&Value::Null));
            }
        }
        (Value::Array(then), Value::Array(now)) => {
            assert_eq!(then.len(), now.len(), "{at}");
            for (index, (then, now)) in then.iter().zip(now).enumerate() {
                assert_tells(&format!("{at}/{index}"), then, now);
            }
        }
        _ => assert_eq!(renamed(then), *now, "{at}"),
    }
}

/// Words that later versions say in another way, as CHANGELOG.md tells.
fn renamed(then: &Value) -> Value {
    match then.as_str() {
        Some("scrape-result") => json!("vendor-scrape-result"),
        _ => then.clone(),
    }
}
