//! `rowmill` as a client: the real binary against a running service.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use super::processing::{asks, started};
use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir};
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Scenario, Server, StubServer, eventually, rowmill};

pub(crate) const OWN: &[Scenario] = &scenarios!("client", Own:
    a_key_is_checked_and_saved_for_its_owner_alone,
    several_servers_are_kept_apart,
    tables_columns_and_rows_are_listed,
    rows_are_chosen_by_condition_view_and_column,
    files_are_imported_at_once_and_in_the_background,
    what_is_exported_can_be_imported,
    a_run_is_watched_to_its_end,
    who_stops_watching_is_told_how_to_stop_the_run,
);
pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("client", Embedded:
    shells_and_manuals_know_the_commands,
    the_licences_of_others_are_in_the_binary,
);

/// A service, and somebody who uses it from a shell.
pub(super) struct Shell {
    pub(super) server: Server,
    pub(super) key: String,
}

impl Shell {
    pub(super) fn new(server: Server) -> Self {
        let key = stdout(&server.command(&["key", "create", "--team", "default"])).trim().to_owned();
        Self { server, key }
    }

    /// Somebody who has signed in.
    pub(super) fn signed_in() -> Self {
        Self::of(Server::start(&[]))
    }

    pub(super) fn of(server: Server) -> Self {
        let shell = Self::new(server);
        let url = shell.url();
        assert!(shell.with_input(&["login", &url], &shell.key).status.success());
        shell
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    fn credentials(&self) -> PathBuf {
        self.path("config/rowmill/credentials.toml")
    }

    fn path(&self, rest: &str) -> PathBuf {
        self.server.folder().path().join(rest)
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }

    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = server::command(self.server.folder());
        command.env("XDG_CONFIG_HOME", self.path("config")).args(arguments);
        command
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(super) fn with_input(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = self.start(arguments);
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    }

    pub(super) fn start(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    #[track_caller]
    pub(super) fn out(&self, arguments: &[&str]) -> String {
        stdout(&self.run(arguments))
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let arguments: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.out(&arguments)).unwrap()
    }

    /// Ends with this status, nothing on standard output, and these words on standard error.
    #[track_caller]
    pub(super) fn fails(&self, arguments: &[&str], status: i32, words: &str) {
        fails(&self.run(arguments), status, words);
    }
}

#[track_caller]
fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
pub(super) fn fails(output: &Output, status: i32, words: &str) {
    assert_eq!(output.status.code(), Some(status), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains(words) && !told.contains("panicked"), "{words:?} not in {told:?}");
}

fn a_key_is_checked_and_saved_for_its_owner_alone() {
    let shell = Shell::new(Server::start(&[]));
    let url = shell.url();
    shell.fails(&["tables"], 3, "rowmill login");
    fails(&shell.with_input(&["login", &url], "rm_wrong\n"), 3, "Invalid API key");
    fails(&shell.with_input(&["login", &url], "\n"), 3, "ROWMILL_API_KEY");
    fails(&shell.with_input(&["login", "ftp://x"], "k"), 2, "http");
    fails(&shell.with_input(&["login", "http://127.0.0.1:1"], "k"), 1, "cannot reach");
    fails(&shell.with_input(&["login", "http://127.0.0.1:1"], "k"), 1, "nothing listens there");
    assert!(!shell.credentials().exists(), "nothing is saved that does not work");

    let output = shell.with_input(&["login", &format!("{url}/")], &format!(" {} \n", shell.key));
    assert!(output.status.success(), "{output:?}");
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("(default)") && !told.contains(&shell.key), "{told}");
    assert!(output.stdout.is_empty());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(shell.credentials()), mode(shell.path("config/rowmill"))), (0o600, 0o700));
    }
    assert_eq!(shell.json(&["tables"]), json!([]));

    // A program needs no file. What goes wrong is JSON too, if that is asked for.
    let mut command = shell.command(&["tables", "--json"]);
    command.env("XDG_CONFIG_HOME", shell.path("nothing")).env("ROWMILL_URL", &url);
    fails(&command.output().unwrap(), 3, "\"code\":\"not_signed_in\"");
    assert_eq!(stdout(&command.env("ROWMILL_API_KEY", &shell.key).output().unwrap()), "[]\n");
    fails(&command.env("ROWMILL_API_KEY", "rm_wrong").output().unwrap(), 3, "\"code\":\"invalid_api_key\"");
}

fn several_servers_are_kept_apart() {
    let shell = Shell::signed_in();
    shell.server.team("acme");
    let key = stdout(&shell.server.command(&["key", "create", "--team", "acme"]));
    let url = shell.url();
    assert!(shell.with_input(&["login", &url, "--profile", "acme"], &key).status.success());
    shell.out(&["tables", "create", "Of acme"]);
    shell.out(&["tables", "create", "Of default", "--profile", "default"]);
    assert_eq!(shell.json(&["tables"])[0]["title"], "Of acme");
    shell.out(&["profiles", "--use", "default"]);
    assert_eq!(shell.json(&["tables"])[0]["title"], "Of default");
    let profiles = shell.json(&["profiles"]);
    let expected = json!([
        { "name": "acme", "url": url, "team": "acme", "current": false },
        { "name": "default", "url": url, "team": "default", "current": true },
    ]);
    assert_eq!(profiles, expected);
    assert!(!shell.out(&["profiles"]).contains("rm_"), "no key is shown");
    assert!(shell.run(&["logout"]).status.success());
    shell.fails(&["tables"], 3, "not signed in");
    shell.fails(&["tables", "--profile", "default"], 3, "acme");
    assert_eq!(shell.json(&["tables", "--profile", "acme"])[0]["title"], "Of acme");
    shell.fails(&["tables", "--profile", "acme", "--url", &url], 2, "not both");
}

fn tables_columns_and_rows_are_listed() {
    let shell = Shell::signed_in();
    let id = shell.out(&["tables", "create", "My leads", "--column", "Name", "--column", "City, country"]);
    let id = id.trim();
    let table = shell.json(&["tables"])[0].clone();
    assert_eq!((&table["id"], &table["title"]), (&json!(id), &json!("My leads")));
    let listed = shell.out(&["tables"]);
    assert!(listed.starts_with("ID\tTITLE\tCOLUMNS\tCREATED\n"), "{listed}");
    assert!(listed.contains(&format!("{id}\tMy leads\t3\t")), "{listed}");

    let api = shell.server.api();
    let rows = format!("/v4/projects/{id}/rows");
    let body = r#"[{"Name": "Ada\u001b[31m\tx", "City, country": 1.50}, {"Name": "Bob"}]"#;
    let ids = api.send(crate::harness::Request::post(&rows).text(body)).created()["rows"].clone();
    let first = ids[0].as_str().unwrap();
    // By title in any case, by id in any form; text that a terminal would obey is written out.
    for named in ["My leads", " my LEADS", id, &id[5..]] {
        let listed = shell.out(&["rows", "list", named]);
        let line = format!("{first}\t\tAda\\u{{1b}}[31m\\tx\t1.50\n");
        assert!(listed.starts_with("ID\tInput\tName\tCity, country\n") && listed.contains(&line), "{listed}");
    }
    let text = shell.out(&["rows", "list", id, "--json"]);
    assert!(text.contains("1.50"), "numbers keep their digits: {text}");
    let listed: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(listed[1]["cells"]["Name"], "Bob");
    let columns = shell.json(&["columns", "My leads"]);
    assert_eq!(columns[2]["header"], "City, country");
    assert!(shell.out(&["columns", "My leads"]).contains("\tName\tmanual\ttext\n"));

    shell.fails(&["rows", "list", "My laeds"], 4, "did you mean \"My leads\"?");
    shell.fails(&["rows", "list", id, "--column", "Nmae"], 4, "did you mean \"Name\"?");
    shell.fails(&["rows", "list", &format!("proj_{}", "0".repeat(32))], 4, "Project not found");
    shell.out(&["tables", "create", "My leads"]);
    shell.fails(&["columns", "My leads"], 4, id);
    // Pages of any size are put together.
    let many: Vec<Value> = (0..1_100).map(|number| json!({ "Name": number })).collect();
    api.post(rows, json!(many)).created();
    assert_eq!(shell.json(&["rows", "list", id, "--all"]).as_array().unwrap().len(), 1_102);
    assert_eq!(shell.json(&["rows", "list", id, "--limit", "1001"]).as_array().unwrap().len(), 1_001);
    assert_eq!(shell.out(&["rows", "list", id]).lines().count(), 51);
    // Somebody who has read enough is no failure.
    let mut child = shell.start(&["rows", "list", id, "--all"]);
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let ended = child.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

fn rows_are_chosen_by_condition_view_and_column() {
    let shell = Shell::signed_in();
    let table = shell.server.api().table(&["Name", "City", "Age"]);
    table.insert(json!([
        { "Name": "Ada", "City": "Paris", "Age": 36 },
        { "Name": "Bob", "City": "Rome", "Age": 9 },
        { "Name": "Cy", "Age": 40 },
    ]));
    let view = json!({ "name": "Old", "filters": [
        { "columnId": table.column("Age"), "operator": "greaterThan", "value": 30 },
    ] });
    table.post("/views", view).created();
    let check = |arguments: &[&str], expected: &[&str]| {
        let arguments = [&["rows", "list", table.id.as_str(), "--column", "name"], arguments].concat();
        let listed = shell.json(&arguments);
        let names: Vec<&Value> = listed.as_array().unwrap().iter().map(|row| &row["cells"]["Name"]).collect();
        assert_eq!(names, expected, "{arguments:?}");
        assert_eq!(listed[0]["cells"].as_object().unwrap().len(), 1);
    };
    check(&["--where", "City=paris"], &["Ada"]);
    check(&["--where", "City="], &["Cy"]);
    check(&["--where", "City!=", "--where", "Age>=9.0"], &["Ada", "Bob"]);
    check(&["--where", "city~OM"], &["Bob"]);
    check(&["--sort", "Age:desc", "--limit", "2"], &["Cy", "Ada"]);
    check(&["--view", "old", "--sort", "Name:desc"], &["Cy", "Ada"]);
    check(&["--search", "rome"], &["Bob"]);
    let filters = r#"[{"columnId":"Name","operator":"in","value":["Ada","Bob"]}]"#;
    check(&["--filters", filters, "--where", "Age<30"], &["Bob"]);
    let id = table.id.as_str();
    shell.fails(&["rows", "list", id, "--where", "City"], 2, "--where");
    let own_words =
        "--where 'name>x': > compares numbers and dates, such as 10 or 2024-01-31, and \"x\" is neither";
    for command in [&["rows", "list", id][..], &["rows", "export", id], &["run", id]] {
        let one = [command, &["--filters", filters, "--where", "Age>1", "--where", "name>x"]].concat();
        let output = shell.run(&one);
        fails(&output, 2, own_words);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!told.contains("greaterThan") && !told.contains("filters["), "{told}");
    }
    shell.fails(&["rows", "list", id, "--where", "Cty=x"], 4, "did you mean \"City\"?");
    shell.fails(&["rows", "list", id, "--sort", "Cty"], 4, "did you mean \"City\"?");
    let filters = r#"[{"columnId":"Cty","operator":"isEmpty"}]"#;
    shell.fails(&["rows", "list", id, "--filters", filters], 4, "There is no column");
    shell.fails(&["stop", id, "--column", "Cty"], 4, "did you mean \"City\"?");
    shell.fails(&["rows", "list", id, "--view", "young"], 4, "(Old)");
}

fn files_are_imported_at_once_and_in_the_background() {
    let shell = Shell::signed_in();
    let id = shell.out(&["tables", "create", "Leads"]).trim().to_owned();
    shell.write("a.csv", "Name,Zip\nAda,007\nBob,8\n");
    let output = shell.run(&["rows", "import", "Leads", "a.csv"]);
    assert_eq!(stdout(&output), "2 rows imported, 0 updated, 0 unchanged, 0 rejected\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "Created columns: Name, Zip\n");

    let import = |file: &str, more: &[&str]| {
        let arguments = [&["rows", "import", "Leads", file], more].concat();
        let result = shell.json(&arguments);
        ["importedCount", "updatedCount", "unchangedCount"].map(|count| result[count].as_u64().unwrap())
    };
    let matched = ["--match-on", "Name"];
    shell.write(
        "b.json",
        "[\n  {\"Name\": \"Ada\", \"Zip\": \"1\"},\n  {\"Name\": \"Cy\", \"Zip\": \"[,]\"}\n]\n",
    );
    assert_eq!(import("b.json", &matched), [1, 1, 0]);
    assert_eq!(import("b.json", &["--match-on", "Name", "--background"]), [0, 0, 2]);
    shell.write("c.jsonl", "{\"name\": \"ADA\", \"Zip\": \"2\", \"Extra\": 1}\n");
    assert_eq!(import("c.jsonl", &["--match-on", "Name", "--ignore-case", "--no-create-columns"]), [0, 1, 0]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(b"Who;Zip\nDee;4\n").unwrap();
    shell.write("d.csv.gz", gzip.finish().unwrap());
    assert_eq!(import("d.csv.gz", &["--map", "Who=Name", "--map", "Zip="]), [1, 0, 0]);
    let output = shell.with_input(&["rows", "import", "Leads", "-", "--format", "csv"], "Name\nEve\n");
    assert!(stdout(&output).starts_with("1 row imported"));
    let rows = shell.json(&["rows", "list", &id]);
    let names: Vec<&Value> = rows.as_array().unwrap().iter().map(|row| &row["cells"]["Name"]).collect();
    assert_eq!(names, ["Ada", "Bob", "Cy", "Dee", "Eve"]);
    assert_eq!((&rows[2]["cells"]["Zip"], &rows[3]["cells"]["Zip"]), (&json!("[,]"), &Value::Null));

    // A large file is imported in the background, whatever its size.
    let line = format!("x,{}\n", "y".repeat(1_000));
    shell.write("large.csv", format!("Name,Text\n{}", line.repeat(6_000)));
    assert_eq!(import("large.csv", &[]), [6_000, 0, 0]);
    let jobs = shell.server.api().get(format!("/v4/projects/{id}/imports")).ok();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 3, "b.json, standard input and large.csv");
    let job = shell.json(&["rows", "import", "Leads", "a.csv", "--no-wait"]);
    assert!(job["jobId"].as_str().unwrap().starts_with("imp_"));

    // A file without rows is told in one way, whatever its format.
    for (file, text) in [("none.csv", ""), ("none.json", ""), ("none.jsonl", "\n")] {
        shell.write(file, text);
        let output = shell.run(&["rows", "import", "Leads", file]);
        assert!(stdout(&output).starts_with("0 rows imported"), "{file}: {output:?}");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.starts_with("The file is empty: it has no rows."), "{file}: {told}");
    }
    shell.write("skipped.csv", "Name,Zip\n,5\n");
    let output = shell.run(&["rows", "import", "Leads", "skipped.csv", "--map", "Zip="]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Skipped 1 row: "), "{output:?}");

    // What is wrong is said, and scripts see it.
    shell.write("bad.csv", "Name\na,b\nc\n");
    let output = shell.run(&["rows", "import", "Leads", "bad.csv"]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("1 row imported"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("line 2: "), "{output:?}");
    shell.write("bad.json", "[{\"Name\": 1}, 2]");
    shell.fails(&["rows", "import", "Leads", "bad.json"], 1, "after 1 entries");
    let output = shell.with_input(&["rows", "import", "Leads", "-", "--format", "json"], "[{\"Name\": 1},");
    fails(&output, 1, "rowmill: cannot read the file: the file ends after 1 complete entries, in the middle");
    shell.fails(&["rows", "import", "Leads", "a.pdf"], 2, "--format");
    shell.fails(&["rows", "import", "Leads", "missing.csv"], 1, "missing.csv");
    shell.fails(&["rows", "import", "Leads", "a.csv", "--match-on", "Nme"], 4, "did you mean \"Name\"?");
    shell.fails(&["rows", "import", "Leads", "a.csv", "--map", "x=Nme"], 4, "did you mean \"Name\"?");
}

fn what_is_exported_can_be_imported() {
    let shell = Shell::signed_in();
    let table = shell.server.api().table(&["Name", "Note"]);
    table.insert(json!([{ "Name": "Ada", "Note": "=1+1" }, { "Name": "Zoë\n", "Note": { "a": [1] } }]));
    let csv = "Input,Name,Note\r\n,Ada,'=1+1\r\n,\"Zoë\n\",\"{\"\"a\"\":[1]}\"\r\n";
    let id = table.id.as_str();
    assert_eq!(shell.out(&["rows", "export", id]), csv);
    assert_eq!(shell.out(&["rows", "export", id, "-o", "out.csv"]), "");
    assert_eq!(std::fs::read_to_string(shell.path("out.csv")).unwrap(), csv);
    shell.out(&["rows", "export", id, "--output", "out.jsonl", "--column", "Name", "--where", "Note~1+1"]);
    assert_eq!(std::fs::read_to_string(shell.path("out.jsonl")).unwrap(), "{\"Name\":\"Ada\"}\n");
    let line = shell.out(&["rows", "export", id, "--json"]).lines().next().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["Note"], "=1+1");
    assert!(
        shell
            .out(&["rows", "export", id, "--bom", "--keep-formulas"])
            .starts_with("\u{feff}Input,Name,Note\r\n,Ada,=1+1")
    );

    shell.out(&["tables", "create", "Copy"]);
    shell.out(&["rows", "import", "Copy", "out.csv"]);
    assert_eq!(shell.out(&["rows", "export", "Copy"]), csv);
    // What fails leaves the file as it was.
    shell.fails(&["rows", "export", id, "-o", "out.csv", "--where", "X=1"], 4, "X");
    assert_eq!(std::fs::read_to_string(shell.path("out.csv")).unwrap(), csv);
    shell.fails(&["rows", "export", id, "-o", "no/folder.csv"], 1, "no/folder.csv");
    // No file has another content than its name says.
    for (name, words) in [("out.csv.gz", "gzip > out.csv.gz"), ("out.tsv", "Name the file .csv")] {
        shell.fails(&["rows", "export", id, "-o", name], 2, words);
        assert!(!shell.path(name).exists(), "{name}");
    }
}

fn a_run_is_watched_to_its_end() {
    let stub_server = StubServer::start(|seen, _| match seen.path.as_str() {
        "/bad" => Reply::Json(400, json!({})),
        _ => ok(json!("fine")),
    });
    let shell = Shell::of(started(&[]));
    let table = shell.server.api().table(&["Name"]);
    asks(&table, "Answer", &stub_server, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }, { "Name": "bad" }, { "Name": "c" }]));
    let id = table.id.as_str();
    assert_eq!(shell.out(&["run", id, "--dry-run"]), "3 rows would run\n");
    assert_eq!(shell.json(&["run", id, "--dry-run", "--where", "Name=a"])["triggeredCount"], 1);
    let output = shell.run(&["run", id, "--watch"]);
    assert_eq!(output.status.code(), Some(5), "a cell failed: {output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(said, "run_1 finished: 2 done, 0 empty, 1 failed, 0 skipped, 0 stopped\n");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("3 rows queued in run_1") && told.contains("--failed --watch"), "{told}");
    let cause = "1 cell failed with provider_error, for example in \"Answer\": ";
    assert!(told.contains(cause) && told.contains("responded with 400"), "{told}");
    assert!(!told.contains('\u{1b}') && !told.contains('\r'), "no bar without a terminal: {told:?}");

    let listed = shell.out(&["rows", "list", id, "--state", "--column", "Answer"]);
    assert!(listed.contains("\tfine\n") && listed.contains("\t(error: provider_error)\n"), "{listed}");
    let status = shell.out(&["status", id]);
    assert!(status.contains("\tSTALE\n") && status.contains("Answer\t0\t0\t0\t2\t1\t0\t0\n"), "{status}");
    assert_eq!(shell.json(&["status", id])["runId"], "run_1");

    let output = shell.run(&["run", id, "--failed", "--watch", "--json"]);
    assert_eq!(output.status.code(), Some(5), "{output:?}");
    let run: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&run["triggeredCount"], &run["run"]["cells"]), (&json!(1), &json!(1)), "{run}");
    let fixed =
        shell.json(&["rows", "list", id, "--where", "Name=bad"])[0]["id"].as_str().unwrap().to_owned();
    table.patch(&format!("/rows/{fixed}"), json!({ "Name": "good" })).ok();
    assert!(shell.out(&["run", id, "--watch", "--column", "answer"]).starts_with("run_3 finished: 1 done"));
    let output = shell.run(&["run", id, "--watch"]);
    assert!(output.status.success() && String::from_utf8_lossy(&output.stderr).contains("Nothing to run"));
    assert!(shell.out(&["run", id, "--force", "--limit", "2", "--watch"]).contains(": 2 done"));
    shell.fails(&["run", id, "--row", "row_0"], 4, "rowIds[0]");
}

fn who_stops_watching_is_told_how_to_stop_the_run() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let shell = Shell::of(started(&[]));
    let table = shell.server.api().table_of(json!({ "title": "My run", "columns": [
        { "templateId": "manual", "header": "Name" },
    ] }));
    asks(&table, "Answer", &stub_server, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }]));
    let child = shell.start(&["run", "My run", "--watch"]);
    eventually("the call is under way", Duration::from_secs(20), || (stub_server.count() == 1).then_some(()));
    // It watches by now, or is about to: its own request has been answered.
    std::thread::sleep(Duration::from_secs(1));
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    fails(&child.wait_with_output().unwrap(), 130, "rowmill stop 'My run'");
    assert_eq!(table.get("/status").ok()["processing"], true, "it goes on");
    assert_eq!(shell.out(&["stop", "My run"]), "1 cell in 1 row stopped\n");
    assert_eq!(shell.json(&["stop", "My run"])["stoppedCount"], 0);
    assert_eq!(table.get("/status").ok()["processing"], false);
}

fn shells_and_manuals_know_the_commands() {
    let folder = DataDir::new();
    for name in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = stdout(&rowmill(&folder, &["completions", name]));
        assert!(script.contains("rowmill") && script.contains("completions"), "{name}");
    }
    assert!(!rowmill(&folder, &["completions", "sh"]).status.success());
    let page = stdout(&rowmill(&folder, &["man"]));
    assert!(page.contains(".TH rowmill 1") && page.contains("login"), "{page}");
    stdout(&rowmill(&folder, &["man", "--folder", "man"]));
    let page = std::fs::read_to_string(folder.path().join("man/rowmill-rows-import.1")).unwrap();
    assert!(page.contains("match\\-on"), "{page}");
}

fn the_licences_of_others_are_in_the_binary() {
    let notices = stdout(&rowmill(&DataDir::new(), &["licenses"]));
    for words in [
        "\ncrate tokio ",
        "\ncrate cssparser ",
        "\nnpm react ",
        "\nother SQLite",
        "Mozilla Public License Version 2.0",
        "Permission is hereby granted, free of charge",
        "Copyright 2016 The Inter Project Authors",
    ] {
        assert!(notices.contains(words), "{words:?}");
    }
}
