//! `rowmill backup`, `restore` and `check`: what is backed up comes back as it was, and what is wrong is told.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::moving::{STILL, assert_same, ended, fill, started_in, stub_servers, told};
use crate::harness::database::Database;
use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir};
use crate::harness::{Scenario, Server, Table, eventually, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("backups", Own:
    a_check_finds_nothing_while_everything_goes_on,
);

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("backups", Embedded:
    a_backup_under_writes_has_all_that_was_acknowledged_before,
    what_is_restored_answers_as_before,
    a_damaged_backup_is_not_restored,
    a_backup_that_is_killed_leaves_nothing_to_restore,
    damage_is_reported_with_a_status,
    backups_are_made_by_schedule_and_kept_to_their_number,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("backups", Nodes: what_is_not_for_postgres_is_told);

const TIME_MAX: Duration = Duration::from_mins(1);

#[track_caller]
fn succeeds(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap().trim().to_owned()
}

#[track_caller]
fn fails(output: &Output, words: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains(words) && !told.contains("panicked"), "{words:?} not in {told:?}");
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Writes without a pause until it is told to stop; keeps the names of what was acknowledged.
fn write_on(table: &Table, is_over: &AtomicBool, acknowledged: &Mutex<Vec<String>>, writer: usize) {
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("{writer}-{number}");
        let ids = table.insert(json!([{ "Name": name }, { "Name": "other", "Text": "x".repeat(500) }]));
        table.delete_rows(&ids[1..]).ok();
        acknowledged.lock().unwrap().push(name);
    }
}

/// Runs work while two others write; gives its outcome, and what was acknowledged before it began.
fn under_writes<T>(table: &Table, mut work: impl FnMut(&[String]) -> T) -> T {
    let (is_over, acknowledged) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (is_over, acknowledged) = (&is_over, &acknowledged);
            scope.spawn(move || write_on(table, is_over, acknowledged, writer));
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("something is written", TIME_MAX, || {
                (acknowledged.lock().unwrap().len() > 20).then_some(())
            });
            let before = acknowledged.lock().unwrap().clone();
            work(&before)
        }));
        is_over.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn a_backup_under_writes_has_all_that_was_acknowledged_before() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name", "Text"]);
    let folder = server.folder().path().join("kept");
    std::fs::create_dir(&folder).unwrap();
    for round in 0..3 {
        let (backup, before) = under_writes(&table, |before| {
            let made = succeeds(&server.command(&["backup", text(&folder)]));
            (PathBuf::from(made), before.to_vec())
        });
        assert!(backup.starts_with(&folder) && backup.join("secret.key").is_file(), "{}", backup.display());
        succeeds(&server.command(&["check", text(&backup)]));
        let other = DataDir::on(Database::Sqlite);
        succeeds(&rowmill(&other, &["restore", text(&backup)]));
        let restored = Server::start_in(other, server::UNLIMITED);
        let table = table.through(&restored.api());
        let names: std::collections::BTreeSet<String> = names_in(&table).into_iter().collect();
        for name in &before {
            assert!(names.contains(name), "round {round}: {name} was acknowledged and is not in the backup");
        }
    }
    assert_private(&folder);
}

fn names_in(table: &Table) -> Vec<String> {
    let mut names = Vec::new();
    for page in 1.. {
        let found = table.values("Name", &[("pageSize", "1000"), ("page", &page.to_string())]);
        if found.is_empty() {
            break;
        }
        names.extend(found.iter().filter_map(|name| Some(name.as_str()?.to_owned())));
    }
    names
}

/// Nobody else can read what is in a folder.
fn assert_private(folder: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", path.display());
        if path.is_dir() {
            assert_private(&path);
        }
    }
}

fn what_is_restored_answers_as_before() {
    let [stub_server, resting] = stub_servers();
    let (from, to) = (DataDir::on(Database::Sqlite), DataDir::on(Database::Sqlite));
    let server = started_in(&from, &[]);
    let filled = fill(&server, &stub_server, &resting);
    ended(server);
    let server = started_in(&from, &[STILL]);
    let before = told(&server, &filled.keys);
    // As a file, from a server that runs. It has its key from a setting.
    let file = from.path().join("one.db");
    let backed_up = server.command(&["backup", text(&file)]);
    succeeds(&backed_up);
    let key = String::from_utf8_lossy(&backed_up.stderr);
    assert!(key.contains("ROWMILL_SECRET_KEY"), "{key}");
    fails(&server.command(&["backup", text(&file)]), "exists already");
    fails(&server.command(&["restore", text(&file), "--replace"]), "in use");
    // What happens after the backup is not in it.
    filled.through(&server).insert(json!({ "Name": "later" }));
    let later = told(&server, &filled.keys);
    ended(server);

    succeeds(&rowmill(&to, &["restore", text(&file)]));
    let restored = started_in(&to, &[STILL]);
    assert_same(&told(&restored, &filled.keys), &before);
    ended(restored);
    // Into the folder that it is from: only on demand, and what was there is kept.
    fails(&rowmill(&from, &["restore", text(&file)]), "--replace");
    let replaced = succeeds(&rowmill(&from, &["restore", text(&file), "--replace"]));
    let aside = replaced.split_whitespace().find(|word| word.contains("rowmill-replaced-")).unwrap();
    let aside = PathBuf::from(aside.trim_end_matches('.'));
    let server = started_in(&from, &[STILL]);
    assert_same(&told(&server, &filled.keys), &before);
    ended(server);
    let old = aside.join("rowmill.db");
    succeeds(&rowmill(&from, &["restore", text(&old), "--replace"]));
    let server = started_in(&from, &[STILL]);
    assert_same(&told(&server, &filled.keys), &later);
    ended(server);
    // Without the database a start says what to do, and that helps.
    std::fs::remove_file(to.data().join("rowmill.db")).unwrap();
    std::fs::write(to.data().join("secret.key"), "k".repeat(40)).unwrap();
    assert!(server::refusal(&to, &[]).contains("rowmill restore"));
    succeeds(&rowmill(&to, &["restore", text(&file)]));
    ended(started_in(&to, &[]));
}

fn a_damaged_backup_is_not_restored() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    table.insert((0..2_000).map(|number| json!({ "Name": format!("n{number}") })).collect());
    let file = server.folder().path().join("backup.db");
    succeeds(&server.command(&["backup", text(&file), "--without-secret-key"]));
    assert!(!file.with_file_name("secret.key").exists());
    let whole = std::fs::read(&file).unwrap();
    let to = DataDir::on(Database::Sqlite);
    let refused = |bytes: &[u8], words: &str| {
        std::fs::write(&file, bytes).unwrap();
        fails(&rowmill(&to, &["restore", text(&file)]), words);
        fails(&rowmill(&to, &["check", text(&file)]), "");
        let left: Vec<_> =
            std::fs::read_dir(to.data()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["rowmill.lock"], "nothing is left of it");
    };
    for at in [30, 4096 + 100, whole.len() / 2, whole.len() - 5] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        refused(&bytes, "damaged");
    }
    refused(&whole[..whole.len() / 2], "damaged");
    refused(&[0; 4096], "damaged");
    refused(b"", "damaged");
    std::fs::write(&file, &whole).unwrap();
    let restored = rowmill(&to, &["restore", text(&file)]);
    assert!(succeeds(&restored).contains("no secret.key"), "{restored:?}");
    assert!(!to.data().join("rowmill-replaced").exists());
}

fn a_backup_that_is_killed_leaves_nothing_to_restore() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Text"]);
    for _ in 0..12 {
        table.insert(json!([{ "Text": "x".repeat(900_000) }, { "Text": "y".repeat(900_000) }]));
    }
    let folder = server.folder().path().join("kept");
    std::fs::create_dir(&folder).unwrap();
    let entries = || -> Vec<PathBuf> {
        std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let is_unfinished = |path: &PathBuf| path.to_str().unwrap().ends_with(".unfinished");
    let mut killed = 0;
    for round in 0..30 {
        let mut command = server::command(server.folder());
        command.args(["backup", text(&folder)]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let ended = eventually("it has begun", TIME_MAX, || {
            let begun = entries().iter().any(|path| is_unfinished(path) && path.join("copy").exists());
            if begun { Some(false) } else { child.try_wait().unwrap().map(|_| true) }
        });
        std::thread::sleep(Duration::from_millis(round * 2));
        let _ = (child.kill(), child.wait());
        for path in entries() {
            if is_unfinished(&path) {
                killed += 1;
                let to = DataDir::on(Database::Sqlite);
                fails(&rowmill(&to, &["restore", text(&path)]), "not finished");
                fails(&rowmill(&to, &["restore", text(&path.join("copy"))]), "not finished");
            } else {
                succeeds(&server.command(&["check", text(&path)]));
            }
        }
        assert!(!ended || round > 0, "the first one ended before it was seen");
        if killed > 3 {
            break;
        }
    }
    assert!(killed > 0, "none was killed halfway");
    succeeds(&server.command(&["backup", text(&folder)]));
    assert!(!entries().iter().any(is_unfinished), "what was left is removed");
}

fn damage_is_reported_with_a_status() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    table.insert((0..2_000).map(|number| json!({ "Name": format!("n{number}") })).collect());
    let folder = Arc::clone(server.folder());
    ended(server);
    let report = |arguments: &[&str]| {
        let output = rowmill(&folder, arguments);
        (output.status.code(), serde_json::from_slice::<Value>(&output.stdout).unwrap())
    };
    let (status, sound) = report(&["check", "--json"]);
    assert_eq!((status, &sound["ok"], &sound["rows"]), (Some(0), &json!(true), &json!(2_000)), "{sound}");
    let file = folder.data().join("rowmill.db");
    let whole = std::fs::read(&file).unwrap();
    let mut bytes = whole.clone();
    // In a row: a backup copies rows, and makes indexes anew.
    bytes[memchr::memmem::find(&whole, b"n1234").unwrap()] ^= 1;
    std::fs::write(&file, &bytes).unwrap();
    let (status, damaged) = report(&["check", "--json"]);
    assert_eq!((status, &damaged["ok"]), (Some(1), &json!(false)));
    assert_eq!(damaged["problems"][0]["kind"], "damaged", "{damaged}");
    fails(&rowmill(&folder, &["check"]), "problems");
    fails(&rowmill(&folder, &["backup", text(&folder.path().join("no.db"))]), "damaged");
    let mut left = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.any(|name| name.to_string_lossy().contains("no.db")), "a failed backup leaves nothing");
    // Checksums that are out of date are no damage, if somebody says so.
    let mut bytes = whole.clone();
    for page in bytes.chunks_mut(4096) {
        page[4090] ^= 1;
    }
    std::fs::write(&file, &bytes).unwrap();
    let (status, stale) = report(&["check", "--json"]);
    assert!(status == Some(1) && stale.to_string().contains("--accept-checksums"), "{stale}");
    let (status, accepted) = report(&["check", "--json", "--accept-checksums"]);
    assert_eq!((status, &accepted["rows"]), (Some(0), &json!(2_000)), "{accepted}");
    fails(&rowmill(&DataDir::on(Database::Sqlite), &["check"]), "does not exist");
}

fn backups_are_made_by_schedule_and_kept_to_their_number() {
    let settings = [("ROWMILL_BACKUP_EVERY", "1s"), ("ROWMILL_BACKUP_KEEP", "2"), ("ROWMILL_LOG", "info")];
    let server = Server::start(&settings);
    let table = server.api().table(&["Name"]);
    table.insert(json!({ "Name": "kept" }));
    let folder = server.folder().data().join("backups");
    let backups = || -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&folder).into_iter().flatten().map(|entry| entry.unwrap().path());
        let mut found: Vec<PathBuf> = entries.filter(|path| !text(path).ends_with(".unfinished")).collect();
        found.sort();
        found
    };
    let first = eventually("one is made", TIME_MAX, || backups().into_iter().next());
    eventually("the first one is removed", TIME_MAX, || (!backups().contains(&first)).then_some(()));
    eventually("there are two", TIME_MAX, || {
        let count = backups().len();
        assert!(count <= 3, "one is removed when another was made: {count}");
        (count == 2).then_some(())
    });
    let metrics = server.metrics();
    for name in ["rowmill_backup_last_success_timestamp_seconds", "rowmill_backup_last_bytes"] {
        assert!(metrics.contains(name), "{metrics}");
    }
    assert!(server.log().contains("made a backup"), "{}", server.log());
    assert_private(&folder);
    // A folder that cannot be used is told of, and the service goes on.
    let folder = Arc::clone(server.folder());
    ended(server);
    let newest = backups().pop().unwrap();
    let to = DataDir::on(Database::Sqlite);
    succeeds(&rowmill(&to, &["restore", text(&newest)]));
    std::fs::write(folder.path().join("file"), "x").unwrap();
    let settings = [("ROWMILL_BACKUP_EVERY", "1s"), ("ROWMILL_BACKUP_DIR", "file")];
    let server = Server::start_in(folder, &settings);
    eventually("the failure is told", TIME_MAX, || server.log().contains("the backup failed").then_some(()));
    server.api().get("/v4/team").ok();
    let metrics = server.metrics();
    assert!(metrics.contains("rowmill_backup_last_failure_timestamp_seconds"), "{metrics}");
}

fn a_check_finds_nothing_while_everything_goes_on() {
    let [stub_server, resting] = stub_servers();
    let folder = DataDir::new();
    let server = started_in(&folder, &[]);
    let filled = fill(&server, &stub_server, &resting);
    let busy = filled.through(&server);
    let table = server.api().table(&["Name", "Text"]);
    under_writes(&table, |_| {
        for _ in 0..4 {
            busy.post("/trigger", json!({ "force": true })).ok();
            let output = server.command(&["check", "--json"]);
            let report: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(output.status.success() && report["ok"] == true, "{report}");
            assert!(
                report["rows"].as_u64().unwrap() > 400 && report["projects"].as_u64().unwrap() >= 4,
                "{report}"
            );
        }
    });
    server.kill();
    let output = rowmill(&folder, &["check"]);
    assert!(succeeds(&output).contains("No problems"), "{output:?}");
}

fn what_is_not_for_postgres_is_told() {
    let server = Server::start(&[]);
    fails(&server.command(&["backup", "x.db"]), "pg_dump");
    fails(&server.command(&["restore", "x.db"]), "pg_restore");
    fails(&server.command(&["check", "--accept-checksums"]), "SQLite");
    let told = server::refusal(&DataDir::new(), &[("ROWMILL_BACKUP_EVERY", "6h")]);
    assert!(told.contains("--backup-every") && told.contains("docs/backup.md"), "{told}");
}
