//! `rowmill doctor` tells healthy set-ups from broken ones, and says what to do.

use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::harness::database::Database;
use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir};
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Scenario, Server, StubServer};

pub(crate) const OWN: &[Scenario] = &scenarios!("doctor", Own:
    a_healthy_set_up_is_told_to_be_well,
    what_is_wrong_with_the_settings_is_told_with_what_to_do,
    what_is_wrong_around_the_server_is_told_with_what_to_do,
);

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("doctor", Embedded:
    a_broken_data_folder_is_told,
    whoever_may_not_read_is_told_whose_user_to_be,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("doctor", Nodes:
    a_database_that_cannot_be_used_is_told,
);

/// Long enough for every setting that is secret.
const SECRET: (&str, &str) = ("ROWMILL_SECRET_KEY", "0123456789abcdef0123456789abcdef");
/// Nobody listens there: a port is chosen.
const LISTEN: (&str, &str) = ("ROWMILL_LISTEN", "127.0.0.1:0");

fn ask(folder: &DataDir, settings: &[(&str, &str)], words: &[&str]) -> Output {
    let mut command = server::command(folder);
    command.envs([LISTEN, SECRET]).envs(settings.iter().copied()).arg("doctor").args(words);
    command.output().unwrap()
}

/// The report, and the exit status.
#[track_caller]
fn report(folder: &DataDir, settings: &[(&str, &str)]) -> (Value, i32) {
    let told = ask(folder, settings, &["--json"]);
    let report: Value = serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    let worst = ["ok", "warning", "problem"].iter().position(|word| report["status"] == *word).unwrap();
    assert_eq!(told.status.code(), i32::try_from(worst).ok(), "{report}");
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["status"] == "ok", check.get("action").is_none(), "{check}");
        assert!(check["message"].as_str().unwrap().ends_with('.'), "{check}");
    }
    assert!(!report.to_string().contains("canary"), "{report}");
    (report, told.status.code().unwrap())
}

/// Expects a finding of this check, of this level, with these words, and nothing worse of others.
#[track_caller]
fn finds(folder: &DataDir, settings: &[(&str, &str)], check: &str, level: &str, words: &str) {
    let (report, _) = report(folder, settings);
    let found = report["checks"].as_array().unwrap().iter().any(|finding| {
        finding["check"] == check && finding["status"] == level && finding.to_string().contains(words)
    });
    assert!(found, "{check} {level} {words:?}: {report:#}");
    let others = report["checks"].as_array().unwrap().iter().filter(|finding| finding["check"] != check);
    for other in others {
        assert_ne!(other["status"], "problem", "{other}");
    }
}

fn a_healthy_set_up_is_told_to_be_well() {
    // Before the first start, while it runs, and after it ended.
    let folder = DataDir::new();
    std::fs::create_dir(folder.data()).unwrap();
    std::fs::set_permissions(folder.data(), PermissionsExt::from_mode(0o700)).unwrap();
    let (new, status) = report(&folder, &[]);
    assert_eq!(status, 0, "{new:#}");
    assert!(new.to_string().contains("the first start makes it"), "{new:#}");
    assert!(std::fs::read_dir(folder.data()).unwrap().next().is_none(), "it changes nothing");
    let server = Server::start_in(Arc::clone(&folder), &[SECRET]);
    let model = [
        ("ROWMILL_OPENAI_API_KEY", "sk-canary"),
        ("ROWMILL_OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),
        ("ROWMILL_AI_MODEL", "small-1"),
        ("ROWMILL_LISTEN", server.address.as_str()),
        ("ROWMILL_METRICS_TOKEN", "canary-canary-canary"),
    ];
    let (running, status) = report(&folder, &model);
    assert_eq!(status, 0, "{running:#}");
    for words in [
        "A server of Rowmill answers",
        "example.com can",
        "openai is configured, and 127.0.0.1 can be resolved",
    ] {
        assert!(running.to_string().contains(words), "{running:#}");
    }
    let checks: Vec<&str> =
        running["checks"].as_array().unwrap().iter().map(|check| check["check"].as_str().unwrap()).collect();
    for check in ["settings", "folder", "disk", "database", "clock", "listen", "proxies", "dns", "providers"]
    {
        assert!(checks.contains(&check), "{check}: {checks:?}");
    }
    server.terminate();
    assert!(server.wait_for_end().success());
    let told = ask(&folder, &[], &[]);
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success() && text.ends_with("All is well.\n"), "{text}");
}

fn what_is_wrong_with_the_settings_is_told_with_what_to_do() {
    let folder = DataDir::new();
    let check =
        |settings: &[(&str, &str)], words: &str| finds(&folder, settings, "settings", "problem", words);
    check(&[("ROWMILL_LISTN", "x")], "did you mean ROWMILL_LISTEN?");
    check(&[("ROWMILL_METRICS_TOKEN", "canary")], "at least 16 characters");
    check(&[("ROWMILL_SECRET_KEY", "canary")], "openssl rand -hex 32");
    check(&[("ROWMILL_LOG", "rowmill=loud")], "not a valid filter");
    let file = folder.path().join("rowmill.toml");
    std::fs::write(&file, "page_size_mx = 3").unwrap();
    check(&[], "did you mean page_size_max?");
    std::fs::write(&file, "").unwrap();
    let wrong = ask(&folder, &[("ROWMILL_LISTEN", "here")], &[]);
    assert_eq!(wrong.status.code(), Some(2), "{wrong:?}");
    if Database::current() == Database::Postgres {
        check(&[("ROWMILL_BACKUP_EVERY", "6h")], "ROWMILL_BACKUP_EVERY");
        finds(&folder, &[("ROWMILL_SECRET_KEY", "")], "settings", "warning", "same ROWMILL_SECRET_KEY");
    }
}

fn what_is_wrong_around_the_server_is_told_with_what_to_do() {
    let folder = DataDir::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let answering = std::thread::spawn(move || drop(taken.accept()));
    finds(&folder, &[("ROWMILL_LISTEN", &address)], "listen", "problem", "Another program uses");
    answering.join().unwrap();
    let everybody = [("ROWMILL_TRUSTED_PROXIES", "0.0.0.0/0")];
    finds(&folder, &everybody, "proxies", "problem", "the whole internet");
    let behind = [("ROWMILL_PUBLIC_URL", "https://tables.example")];
    finds(&folder, &behind, "proxies", "warning", "--trusted-proxies is not set");
    finds(&folder, &[("ROWMILL_LISTEN", "0.0.0.0:0")], "proxies", "warning", "without TLS");
    let away = [
        ("ROWMILL_OPENAI_API_KEY", "sk-canary"),
        ("ROWMILL_OPENAI_BASE_URL", "http://does-not-exist.invalid/v1"),
    ];
    finds(&folder, &away, "providers", "problem", "does-not-exist.invalid cannot be resolved");
    let half = [("ROWMILL_ANTHROPIC_BASE_URL", "http://127.0.0.1:9")];
    finds(&folder, &half, "providers", "warning", "Set ROWMILL_ANTHROPIC_API_KEY.");
    for without_model in ["ROWMILL_ANTHROPIC_API_KEY", "ROWMILL_OPENAI_API_KEY"] {
        finds(&folder, &[(without_model, "sk-canary")], "providers", "note", "Set ROWMILL_AI_MODEL");
    }
    let collector = StubServer::start(|seen, _| {
        if seen.headers.get("authorization").is_some_and(|sent| sent == "canary") {
            ok(json!({}))
        } else {
            Reply::Json(401, json!({}))
        }
    });
    let endpoint = ("ROWMILL_OTLP_ENDPOINT", &*collector.url(""));
    finds(&folder, &[endpoint], "traces", "problem", "It answered 401.");
    finds(
        &folder,
        &[endpoint, ("ROWMILL_OTLP_HEADERS", "authorization=canary")],
        "traces",
        "ok",
        "takes spans",
    );
    assert!(collector.seen().iter().all(|seen| seen.bytes.is_empty()), "it sends no spans");
    finds(
        &folder,
        &[("ROWMILL_OTLP_ENDPOINT", "http://127.0.0.1:1")],
        "traces",
        "problem",
        "nothing listens there",
    );
    let wrong = [("ROWMILL_HUNTER_API_KEY", "can\nary")];
    finds(&folder, &wrong, "providers", "problem", "ROWMILL_HUNTER_API_KEY");
}

fn whoever_may_not_read_is_told_whose_user_to_be() {
    let folder = DataDir::new();
    let server = Server::start_in(Arc::clone(&folder), &[SECRET]);
    server.terminate();
    assert!(server.wait_for_end().success());
    let mode =
        |path: &Path, mode: u32| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    let mut command = server::command(&folder);
    command.envs([LISTEN, SECRET]).args(["doctor", "--json"]).current_dir("/");
    // Nothing is forbidden to the superuser, who can be somebody else.
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        mode(folder.path(), 0o755);
        mode(&folder.data(), 0o700);
        command.uid(65_534).gid(65_534);
    } else {
        mode(&folder.data(), 0o000);
    }
    let told = command.output();
    mode(&folder.data(), 0o700);
    let told = told.unwrap();
    let report: Value = serde_json::from_slice(&told.stdout).unwrap_or_else(|_| panic!("{told:?}"));
    for check in ["folder", "database"] {
        let is_told = report["checks"].as_array().unwrap().iter().any(|finding| {
            finding["check"] == check
                && finding["status"] == "problem"
                && finding["action"].as_str().unwrap().starts_with("Run it as the server's user")
        });
        assert!(is_told, "{check}: {report:#}");
    }
    assert!(!report.to_string().contains("the first start makes it"), "{report:#}");
}

fn a_broken_data_folder_is_told() {
    let folder = DataDir::new();
    let server = Server::start_in(Arc::clone(&folder), &[]);
    server.api().table(&["Name"]).insert(json!([{ "Name": "Ada" }]));
    server.terminate();
    assert!(server.wait_for_end().success());
    let own_key = [("ROWMILL_SECRET_KEY", "")];
    let data = folder.data();
    let mode = |path: &Path, mode: u32| {
        std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
    };
    finds(&folder, &own_key, "database", "ok", "no server uses it");
    mode(&data, 0o755);
    finds(&folder, &own_key, "folder", "warning", "chmod 700");
    mode(&data, 0o700);
    mode(&data.join("secret.key"), 0o644);
    finds(&folder, &own_key, "folder", "problem", "chmod 600");
    std::fs::rename(data.join("secret.key"), folder.path().join("key")).unwrap();
    finds(&folder, &own_key, "folder", "problem", "secret.key is missing");
    std::fs::rename(folder.path().join("key"), data.join("secret.key")).unwrap();
    mode(&data.join("secret.key"), 0o600);

    let database = data.join("rowmill.db");
    let whole = std::fs::read(&database).unwrap();
    let mut damaged = whole.clone();
    let quarter = damaged.len() / 4;
    damaged[quarter..].fill(0x5a);
    std::fs::write(&database, damaged).unwrap();
    finds(&folder, &own_key, "database", "problem", "damaged");
    std::fs::write(&database, "not a database, but long enough to be taken for one".repeat(100)).unwrap();
    finds(&folder, &own_key, "database", "problem", "cannot be used");
    std::fs::remove_file(&database).unwrap();
    for rest in ["rowmill.db-wal", "rowmill.db-shm"] {
        let _ = std::fs::remove_file(data.join(rest));
    }
    finds(&folder, &own_key, "database", "problem", "rowmill restore");
    std::fs::write(&database, whole).unwrap();
    finds(&folder, &own_key, "database", "ok", "opens");
    let future = std::time::SystemTime::now() + std::time::Duration::from_hours(2);
    std::fs::File::options().write(true).open(&database).unwrap().set_modified(future).unwrap();
    finds(&folder, &own_key, "clock", "warning", "in the future");
    let file = folder.path().join("a-file");
    std::fs::write(&file, "").unwrap();
    let in_file = [("ROWMILL_DATA_DIR", file.to_str().unwrap())];
    finds(&folder, &in_file, "folder", "problem", "is not a folder");
}

fn a_database_that_cannot_be_used_is_told() {
    let folder = DataDir::new();
    for (url, words) in [
        ("postgres://rowmill:canary@127.0.0.1:1/rowmill", "cannot be used"),
        ("postgres://rowmill:canary@127.0.0.1:1/rowmill?sslmode=what", "cannot be used"),
        ("mysql://canary", "cannot be used"),
    ] {
        finds(&folder, &[("ROWMILL_DATABASE_URL", url)], "database", "problem", words);
    }
    let many = [("ROWMILL_DATABASE_CONNECTIONS", "100000")];
    finds(&folder, &many, "database", "problem", "Lower --database-connections");
    drop(Server::start_in(Arc::clone(&folder), &[SECRET]));
    finds(&folder, &[], "database", "ok", "The schema is of this version.");
}
