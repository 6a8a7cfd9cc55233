//! Contract section 1: the commands, their output, their exit status, and settings from all three places.

use std::io::Write as _;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir};
use crate::harness::{Api, Request, Scenario, Server, eventually, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("commands", Own:
    the_first_start_prints_one_key_once,
    the_first_key_can_be_kept_out_of_logs,
    teams_are_made_and_listed_while_the_server_runs,
    keys_are_made_listed_and_revoked_while_the_server_runs,
    what_goes_wrong_is_told_on_standard_error_with_a_status,
    readers_that_have_seen_enough_are_no_failure,
    a_project_that_a_key_cannot_have_is_named,
    a_flag_beats_a_variable_beats_the_file,
    other_origins_are_let_in_by_setting,
    a_restart_keeps_everything,
    web_pages_are_read_by_a_process_of_their_own,
);

pub(crate) const EMBEDDED: &[Scenario] =
    &scenarios!("commands", Embedded: a_data_folder_in_use_is_a_clear_error, a_worker_alone_is_refused);

#[track_caller]
fn stdout(output: Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn json_of(output: Output) -> Value {
    serde_json::from_str(&stdout(output)).unwrap()
}

/// Failed: nothing on standard output, these words on standard error.
#[track_caller]
fn fails(output: Output, words: &str) {
    assert!(!output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains(words), "{words:?} not in {told:?}");
    assert!(!told.contains("panicked"), "{told}");
}

fn the_first_start_prints_one_key_once() {
    let mut server = Server::start_in(DataDir::new(), &[]);
    let printed = eventually("the key is printed", Duration::from_secs(10), || {
        Some(server.printed()).filter(|printed| printed.contains("/docs"))
    });
    let keys: Vec<&str> = printed.split_whitespace().filter(|word| word.starts_with("rm_")).collect();
    let key = keys.first().expect("a key").trim_end_matches('"');
    assert!(keys.iter().all(|other| other.starts_with(key)), "{keys:?}");
    assert!(printed.contains(&format!("http://{}", server.address)));
    assert_eq!(server.api_with(key).get("/v4/team").ok()["team"]["slug"], "default");
    server.crash_and_restart();
    assert!(!server.printed().contains("rm_"), "{}", server.printed());
    server.api_with(key).get("/v4/team").ok();
    // Stored only as a hash.
    let data = server.folder().data();
    server.kill();
    for entry in std::fs::read_dir(data).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let secret = key.rsplit('_').next().unwrap().as_bytes();
        assert!(!bytes.windows(secret.len()).any(|window| window == secret), "a secret is on the disk");
    }
}

fn the_first_key_can_be_kept_out_of_logs() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("key.txt");
    let setting = [("ROWMILL_FIRST_KEY_FILE", file.to_str().unwrap())];
    let mut server = Server::start_in(DataDir::new(), &setting);
    let printed = eventually("the first start is told", Duration::from_secs(10), || {
        Some(server.printed()).filter(|printed| printed.contains("/docs"))
    });
    assert!(printed.contains(std::fs::canonicalize(&file).unwrap().to_str().unwrap()), "{printed}");
    assert!(!printed.contains("rm_") && !printed.contains("/signin/"), "{printed}");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    let kept = std::fs::read_to_string(&file).unwrap();
    let (key, link) = kept.trim_end().split_once('\n').unwrap();
    assert!(link.starts_with(&format!("http://{}/signin/", server.address)), "{link}");
    assert_eq!(server.api_with(key).get("/v4/team").ok()["team"]["slug"], "default");
    std::fs::remove_file(&file).unwrap();
    server.crash_and_restart();
    assert!(!server.printed().contains("First start") && !file.exists(), "{}", server.printed());
    server.api_with(key).get("/v4/team").ok();
}

fn teams_are_made_and_listed_while_the_server_runs() {
    let server = Server::start(&[]);
    let made = json_of(server.command(&["team", "create", "--slug", "acme-2", "--name", "Acme Inc."]));
    let mut fields: Vec<&String> = made.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["id", "name", "slug"]);
    assert_eq!((&made["slug"], &made["name"]), (&json!("acme-2"), &json!("Acme Inc.")));
    assert_eq!(made["id"].as_str().unwrap().len(), 36);
    json_of(server.command(&["team", "create", "--slug", "0"]));
    let listed = json_of(server.command(&["team", "list"]));
    let slugs: Vec<&Value> = listed.as_array().unwrap().iter().map(|team| &team["slug"]).collect();
    assert_eq!(slugs, ["default", "acme-2", "0"]);
    assert_eq!(listed[1], made);
    let key = stdout(server.command(&["key", "create", "--team", "acme-2"]));
    let team = server.api_with(key.trim()).get("/v4/team").ok()["team"].clone();
    assert_eq!((&team["id"], &team["name"]), (&made["id"], &made["name"]));
    fails(server.command(&["team", "create", "--slug", "acme-2"]), "acme-2");
    let long = "x".repeat(64);
    for slug in ["", "-x", "Acme", "a_b", "a b", "é", long.as_str()] {
        fails(server.command(&["team", "create", &format!("--slug={slug}")]), "slug");
    }
    for name in ["", " ", &"x".repeat(256)] {
        fails(server.command(&["team", "create", "--slug", "named", "--name", name]), "name");
    }
    let trimmed = json_of(server.command(&["team", "create", "--slug", "named", "--name", " Named "]));
    assert_eq!(trimmed["name"], "Named");
    json_of(server.command(&["team", "create", "--slug", &long[1..]]));
}

fn keys_are_made_listed_and_revoked_while_the_server_runs() {
    let server = Server::start(&[]);
    json_of(server.command(&["team", "create", "--slug", "acme"]));
    let before = json_of(server.command(&["key", "list"])).as_array().unwrap().len();
    let printed = stdout(server.command(&["key", "create", "--team", "acme", "--name", "CI"]));
    let key = printed.trim_end_matches('\n');
    assert!(!key.is_empty() && !key.contains(char::is_whitespace), "the key alone: {printed:?}");
    assert!(key.len() >= 40, "{key}");
    let api = server.api_with(key);
    api.get("/v4/team").ok();

    let keys = eventually("the last use is written down", Duration::from_secs(10), || {
        let keys = json_of(server.command(&["key", "list"]));
        let ours = keys.as_array().unwrap().iter().find(|key| key["name"] == "CI").unwrap().clone();
        ours["lastUsedAt"].is_string().then_some(keys)
    });
    assert_eq!(keys.as_array().unwrap().len(), before + 1);
    let ours = keys.as_array().unwrap().iter().find(|key| key["name"] == "CI").unwrap();
    let mut fields: Vec<&String> = ours.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["createdAt", "id", "lastUsedAt", "name"]);
    assert!(ours["createdAt"].as_str().unwrap().ends_with('Z'));
    assert!(!keys.to_string().contains(key.rsplit('_').next().unwrap()), "no secret is listed");
    let unused = json_of(server.command(&["key", "list"]));
    assert!(
        unused
            .as_array()
            .unwrap()
            .iter()
            .all(|key| key["lastUsedAt"].is_string() || key["lastUsedAt"].is_null())
    );

    let id = ours["id"].as_str().unwrap();
    let revoked = server.command(&["key", "revoke", id]);
    assert!(revoked.status.success());
    assert_eq!(String::from_utf8_lossy(&revoked.stdout), "");
    let revoked_at = Instant::now();
    eventually("the key is refused", Duration::from_secs(10), || {
        let asked_after = revoked_at.elapsed();
        let is_refused = api.get("/v4/team").status() == 403;
        assert!(is_refused || asked_after < Duration::from_secs(1), "still good after {asked_after:?}");
        is_refused.then_some(())
    });
    api.get("/v4/team").refused(403, "invalid_api_key");
    fails(server.command(&["key", "revoke", id]), id);
    fails(server.command(&["key", "revoke", "nope"]), "nope");
    fails(
        server.command(&["key", "create", "--team", "nope"]),
        "Team not found: \"nope\"; `rowmill team list`",
    );
    let create =
        |option: &str, value: &str| server.command(&["key", "create", "--team", "acme", option, value]);
    fails(create("--expires", "soon"), "--expires must be");
    fails(create("--projects", "nope"), "--projects ");
    fails(create("--allow-from", "here"), "--allow-from ");
    let names = json_of(server.command(&["key", "list"])).to_string();
    assert!(!names.contains("\"CI\""));
    server.api().get("/v4/team").ok();
}

fn readers_that_have_seen_enough_are_no_failure() {
    let folder = DataDir::new();
    for arguments in [&["openapi"][..], &["licenses"], &["man"], &["completions", "bash"]] {
        // Nobody reads at all.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = server::command(&folder).args(arguments).stdout(writer).output().unwrap();
        assert!(ended.status.success() && ended.stderr.is_empty(), "{arguments:?}: {ended:?}");
    }
}

fn a_project_that_a_key_cannot_have_is_named() {
    let server = Server::start(&[]);
    let table = server.api().table(&["A"]);
    let projects = format!("{},proj_nope,Leads", table.id);
    let create = ["key", "create", "--team", "default", "--projects", &projects, "--scopes", "read"];
    let told = server.command(&create);
    fails(told.clone(), "--projects \"proj_nope\" is not a project of this team");
    fails(told, "--projects \"Leads\" is not a project of this team");
}

fn what_goes_wrong_is_told_on_standard_error_with_a_status() {
    let folder = DataDir::new();
    fails(rowmill(&folder, &["nope"]), "nope");
    fails(rowmill(&folder, &["serve", "--listen", "here"]), "--listen");
    fails(rowmill(&folder, &["serve", "--rate-limit-key", "fast"]), "--rate-limit-key");
    fails(rowmill(&folder, &["serve", "--config", "missing.toml"]), "missing.toml");
    fails(rowmill(&folder, &["key", "create"]), "--team");
    fails(rowmill(&folder, &["serve", "--port", "8080"]), "--listen 127.0.0.1:8080");
    fails(rowmill(&folder, &["run", "Leads", "--spend-limit", "abc"]), "such as 5 or 0.25");
    std::fs::write(folder.path().join("rowmill.toml"), "speed = 3\n").unwrap();
    fails(rowmill(&folder, &["team", "list"]), "speed");
    std::fs::remove_file(folder.path().join("rowmill.toml")).unwrap();
    std::fs::write(folder.path().join("file"), "x").unwrap();
    fails(rowmill(&folder, &["serve", "--listen", "127.0.0.1:0", "--data-dir", "file"]), "file");
    assert!(stdout(rowmill(&folder, &["--version"])).starts_with("rowmill "));
    assert!(stdout(rowmill(&folder, &["serve", "--help"])).contains("ROWMILL_LISTEN"));
    let document = json_of(rowmill(&folder, &["openapi"]));
    assert_eq!(document["openapi"], "3.0.3");
    // An address that is taken is named, and no key is spent on the failed start.
    let server = Server::start(&[]);
    let other = DataDir::new();
    fails(rowmill(&other, &["serve", "--listen", &server.address]), &server.address);
    assert_eq!(json_of(rowmill(&other, &["key", "list"])), json!([]));
}

fn a_worker_alone_is_refused() {
    let server = Server::start(&[]);
    let output = server.command(&["worker", "--listen", "127.0.0.1:0"]);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && told.contains("ROWMILL_DATABASE_URL"), "{told}");
}

fn a_data_folder_in_use_is_a_clear_error() {
    let server = Server::start(&[]);
    let start = Instant::now();
    let second = server.command(&["serve", "--listen", "127.0.0.1:0"]);
    assert!(start.elapsed() < Duration::from_secs(10));
    let data = server.folder().data();
    fails(second, data.to_str().unwrap());
    let told = server.command(&["serve", "--listen", "127.0.0.1:0"]).stderr;
    assert!(String::from_utf8(told).unwrap().to_lowercase().contains("use"), "it is in use");
    server.api().get("/v4/team").ok();
}

fn a_flag_beats_a_variable_beats_the_file() {
    let folder = DataDir::new();
    let page_size = |variables: &[(&str, &str)]| {
        let server = Server::start_in(folder.clone(), variables);
        let limits = server.api().get("/v4/limits").ok()["limits"].clone();
        (limits["pageSizeMax"].as_u64().unwrap(), limits["insertRowsMax"].as_u64().unwrap())
    };
    assert_eq!(page_size(&[]), (1_000, 10_000));
    std::fs::write(folder.path().join("rowmill.toml"), "page_size_max = 77\ninsert-rows-max = 78\n").unwrap();
    assert_eq!(page_size(&[]), (77, 78));
    assert_eq!(page_size(&[("ROWMILL_PAGE_SIZE_MAX", "88")]), (88, 78));
    // The flag, by hand: the harness sets variables only.
    let mut command = server::command(&folder);
    command.env("ROWMILL_PAGE_SIZE_MAX", "88").env("ROWMILL_LISTEN", "nonsense");
    command.args(["serve", "--listen", "127.0.0.1:0", "--page-size-max", "99"]);
    let server = Server::start_command(folder.clone(), command);
    let limits = server.api().get("/v4/limits").ok()["limits"].clone();
    assert_eq!((&limits["pageSizeMax"], &limits["insertRowsMax"]), (&json!(99), &json!(78)));
    drop(server);
    // Another file, named by variable.
    std::fs::write(folder.path().join("other.toml"), "page_size_max = 66\n").unwrap();
    assert_eq!(page_size(&[("ROWMILL_CONFIG", "other.toml")]), (66, 10_000));
}

fn other_origins_are_let_in_by_setting() {
    let allowed = |setting: &str, origin: &str| {
        let server = Server::start(&[("ROWMILL_CORS_ORIGINS", setting)]);
        let api = server.api();
        let answer = api.send(Request::get("/v4/team").header("Origin", origin));
        assert_eq!(answer.status(), 200);
        let preflight = preflight(&api, origin);
        assert_eq!(preflight.is_some(), answer.header("Access-Control-Allow-Origin").is_some());
        answer.header("Access-Control-Allow-Origin").map(str::to_owned)
    };
    assert_eq!(allowed("*", "https://app.example").as_deref(), Some("*"));
    let two = "https://app.example, https://two.example";
    assert_eq!(allowed(two, "https://two.example").as_deref(), Some("https://two.example"));
    assert_eq!(allowed(two, "https://evil.example"), None);
}

/// Which origin a browser's question before a POST with a key is answered with. It is no operation of
/// the document.
fn preflight(api: &Api, origin: &str) -> Option<String> {
    let request = Request::new("OPTIONS", "/v4/projects")
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "authorization,content-type,idempotency-key");
    let response = crate::harness::http::exchange(&api.address, &request).unwrap();
    let origin = response.header("Access-Control-Allow-Origin")?.to_owned();
    let headers = response.header("Access-Control-Allow-Headers").unwrap().to_lowercase();
    for header in ["authorization", "content-type", "idempotency-key"] {
        assert!(headers == "*" || headers.contains(header), "{headers}");
    }
    Some(origin)
}

fn a_restart_keeps_everything() {
    let mut server = Server::start(&[]);
    let api = server.api();
    let table = api.table_of(json!({
        "title": "Kept 🎉", "autoplay": true, "folderId": "f", "metadata": { "a": 1 },
        "settings": { "api": { "createColumnsFromKeys": true } },
        "columns": [{ "templateId": "waterfall-email" }, { "templateId": "ai-text", "header": "Sum" }],
    }));
    table.insert(json!([{ "Name": "Ada", "Sum": "by hand" }, { "Name": 1.50 }]));
    let view = json!({ "name": "V", "filters": [{ "columnId": "_trigger", "operator": "isEmpty" }] });
    table.post("/views", view).created();
    eventually("what runs by itself has ended", Duration::from_secs(30), || {
        Some(()).filter(|()| table.get("/status").ok()["processing"] == false)
    });
    let read = |api: &Api| {
        let table = table.through(api);
        ["", "/columns", "/rows", "/rows?withStatus=true", "/views"].map(|rest| table.get(rest).text)
    };
    let before = read(&api);
    server.terminate();
    assert!(server.wait_for_end().success());
    server.restart();
    assert_eq!(read(&server.api()), before);
    server.crash_and_restart();
    assert_eq!(read(&server.api()), before);
}

fn web_pages_are_read_by_a_process_of_their_own() {
    let folder = DataDir::new();
    // It has nothing to do with settings, not even wrong ones.
    std::fs::write(folder.path().join("rowmill.toml"), "speed = 3\n").unwrap();
    let mut child = server::command(&folder)
        .arg("extract")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let job = json!({
        "url": "https://example.com/",
        "kind": "Html",
        "content_type": "text/html",
        "only_main_content": true,
        "wanted": { "formats": [], "chars_max": null, "include": [], "exclude": [] },
    });
    let page = format!("{}<p>Hello</p>", "<div>".repeat(100_000));
    let mut input = child.stdin.take().unwrap();
    for part in [job.to_string(), page] {
        input.write_all(&u32::try_from(part.len()).unwrap().to_le_bytes()).unwrap();
        input.write_all(part.as_bytes()).unwrap();
    }
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let answer: Value = serde_json::from_slice(&output.stdout[4..]).unwrap();
    assert_eq!(answer["markdown"], "Hello");
}
