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

use super::moving::{EVENT, STILL, check_counts, ended, fill, started_in, stub_servers};
use super::webhook::{counts, deliver, guest};
use crate::harness::database::{Database, waiting};
use crate::harness::runner::scenarios;
use crate::harness::server::DataDir;
use crate::harness::{Api, Scenario, Server, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("upgrading", Own: databases_of_all_releases_are_opened);

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
    for team in recorded {
        let now = told(&server, team["key"].as_str().unwrap());
        for (path, then) in team["told"].as_object().unwrap() {
            assert_tells(path, then, &now[path]);
        }
    }
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
        let folder = DataDir::new();
        match Database::current() {
            Database::Sqlite => {
                std::fs::create_dir_all(folder.data()).unwrap();
                std::fs::write(folder.data().join("rowmill.db"), self.read("rowmill.db")).unwrap();
            }
            Database::Postgres => {
                let dump = String::from_utf8(self.read("dump.sql")).unwrap();
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
