//! What one request takes of the server's memory, and what all of them together do.

use std::io::Write as _;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::harness::http::{self, Response};
use crate::harness::runner::scenarios;
use crate::harness::server::metrics_request;
use crate::harness::{Api, Request, Scenario, Server, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("exhaustion", Own:
    no_body_takes_more_than_three_times_its_size,
    many_large_bodies_at_once_are_refused_and_not_held,
    a_team_that_holds_its_share_is_told_to_wait,
    no_message_of_an_agent_takes_more_than_three_times_its_size,
    no_output_schema_takes_the_server_down,
    a_project_has_a_size_without_its_rows,
    long_values_that_begin_alike_are_sorted,
);

const MB: u64 = 1_000_000;
/// Large enough to tell: each of these took hundreds of megabytes when limits were checked after parsing.
const LARGE: usize = 4_000_000;
/// Just below the largest body there may be.
const LARGEST: usize = 31_000_000;

/// A body that is small on the wire and large in memory, and what is answered to it.
struct Bomb {
    method: &'static str,
    path: String,
    body: Vec<u8>,
    code: &'static str,
    named: &'static str,
}

/// `start`, then `unit` over and over, then `end`: `bytes` of it.
fn repeated(start: &str, unit: &str, end: &str, bytes: usize) -> Vec<u8> {
    let count = bytes.saturating_sub(start.len() + end.len()) / unit.len();
    let mut body = Vec::with_capacity(bytes);
    body.extend_from_slice(start.as_bytes());
    for _ in 0..count {
        body.extend_from_slice(unit.as_bytes());
    }
    // The last unit ends with a comma too many.
    if body.ends_with(b",") && !unit.starts_with('\\') {
        body.pop();
    }
    body.extend_from_slice(end.as_bytes());
    body
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// A number of kilobytes from `/proc/<pid>/status`, in bytes.
fn memory(server: &Server, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() * 1024
}

/// By how much memory grew at most while `work` was done.
fn growth(server: &Server, work: impl FnOnce()) -> u64 {
    std::fs::write(format!("/proc/{}/clear_refs", server.process_id()), "5").unwrap();
    let before = memory(server, "VmRSS");
    work();
    memory(server, "VmHWM").saturating_sub(before)
}

fn bombs(table: &Table, row: &str) -> Vec<Bomb> {
    let bomb =
        |method, path: &str, body, code, named| Bomb { method, path: table.path(path), body, code, named };
    let ids = |unit: &str, bytes| repeated(r#"{"rowIds":["#, unit, "]}", bytes);
    let (limit, invalid) = ("limit_exceeded", "invalid_request");
    let fields = |start: &str, end: &str| repeated(start, r#""a":0,"#, end, LARGE);
    let row_path = format!("/rows/{row}");
    let in_list = r#"{"name":"a","filters":[{"columnId":"_trigger","operator":"isAnyOf","value":["#;
    vec![
        bomb("POST", "/rows", repeated("[", "{},", "]", LARGE), limit, "insertRowsMax"),
        bomb("POST", "/rows", repeated(r#"{"rows":["#, "{},", "]}", LARGE), limit, "insertRowsMax"),
        bomb("POST", "/rows", repeated("[", "0,", "]", LARGE), limit, "insertRowsMax"),
        bomb("POST", "/rows", fields("{", "}"), limit, "rowFieldsMax"),
        bomb(
            "POST",
            "/rows",
            repeated("[", &format!("{{{}\"b\":0}},", r#""a":0,"#.repeat(600)), "]", LARGE),
            invalid,
            "twice",
        ),
        bomb("PATCH", &row_path, fields("{", "}"), limit, "rowFieldsMax"),
        bomb("PATCH", &row_path, fields(r#"{"cells":{"#, "}}"), limit, "rowFieldsMax"),
        bomb("PATCH", "/cells", repeated(r#"{"cells":["#, "{},", "]}", LARGE), limit, "cellsBatchMax"),
        bomb("PATCH", "/cells", fields(r#"{"cells":[{"#, "}]}"), invalid, "cells[0]"),
        bomb("PATCH", "/rows", repeated(r#"{"rows":["#, "{},", "]}", LARGE), limit, "insertRowsMax"),
        bomb("PATCH", "/rows", fields(r#"[{"id":"","#, "}]"), limit, "rowFieldsMax"),
        bomb(
            "POST",
            "/views",
            repeated(r#"{"name":"a","filters":["#, "{},", "]}", LARGE),
            limit,
            "filtersMax",
        ),
        bomb("POST", "/views", repeated(in_list, "0,", "]}]}", LARGE), limit, "parsedBytesMax"),
        bomb(
            "POST",
            "/views",
            repeated(r#"{"name":"a","sorting":["#, "{},", "]}", LARGE),
            limit,
            "parsedBytesMax",
        ),
        bomb("POST", "/trigger", ids(r#""","#, LARGE), limit, "rowIdsMax"),
        bomb("POST", "/trigger", ids("0,", 200_000), invalid, "rowIds[0]"),
        bomb("POST", "/trigger", ids("{},", LARGE), limit, "parsedBytesMax"),
        bomb("POST", "/stop", ids(r#""","#, LARGE), limit, "rowIdsMax"),
        bomb("DELETE", "/rows", ids(r#""","#, LARGE), limit, "rowIdsMax"),
        bomb("PATCH", "", repeated(r#"{"metadata":{"a":["#, "{},", "]}}", LARGE), limit, "parsedBytesMax"),
        bomb(
            "PATCH",
            "",
            repeated(r#"{"metadata":{"a":["#, r#"{"a":1},"#, "]}}", 900_000),
            limit,
            "parsedBytesMax",
        ),
        bomb("PATCH", "", repeated(r#"{"title":""#, "\\n", "\"}", LARGE), limit, "cellBytesMax"),
        bomb("PATCH", "", fields("{", "}"), limit, "parsedBytesMax"),
    ]
}

fn project_bombs() -> Vec<Bomb> {
    let bomb = |body, named| Bomb {
        method: "POST",
        path: "/v4/projects".to_owned(),
        body,
        code: "limit_exceeded",
        named,
    };
    let nested = format!("{}{},", "[".repeat(60), "]".repeat(60));
    vec![
        bomb(repeated(r#"{"title":"a","columns":["#, "{},", "]}", LARGE), "columnsMax"),
        bomb(repeated(r#"{"title":"a","metadata":{"a":["#, &nested, "]}}", LARGE), "parsedBytesMax"),
    ]
}

fn send(api: &Api, method: &'static str, path: &str, body: &[u8]) -> Value {
    let request = Request::new(method, path).bytes(gzip(body));
    let answer =
        api.send(request.header("Content-Type", "application/json").header("Content-Encoding", "gzip"));
    assert!((400..500).contains(&answer.status()), "{}", answer.text);
    answer.json
}

#[track_caller]
fn explode(server: &Server, api: &Api, bomb: &Bomb) {
    let Bomb { method, path, body, code, named } = bomb;
    // What requests are checked against is made with the first one.
    send(api, method, path, b"x");
    let mut told = Value::Null;
    let grown = growth(server, || told = send(api, method, path, body));
    assert_eq!(told["code"], *code, "{method} {path}: {told}");
    let details = told["details"].as_array().unwrap();
    assert!(details.len() <= 1_000 && details[0].to_string().contains(named), "{method} {path}: {told}");
    let most = 3 * body.len() as u64 + 20 * MB;
    let start = String::from_utf8_lossy(&body[..body.len().min(60)]);
    assert!(grown <= most, "{method} {path} {start}… took {} MB of at most {}", grown / MB, most / MB);
}

fn a_project_has_a_size_without_its_rows() {
    let server = Server::start(&[("ROWMILL_PROJECT_BYTES_MAX", "100000")]);
    let api = server.api();
    let table = api.table(&["A"]);
    let filter = json!({ "columnId": table.column("A"), "operator": "contains", "value": "x".repeat(9_000) });
    let large = json!({ "name": "x", "filters": [filter] });
    let view = || table.post("/views", large.clone()).created()["view"]["id"].as_str().unwrap().to_owned();
    let views: Vec<String> = (0..10).map(|_| view()).collect();
    table.post("/views", large.clone()).exceeds("projectBytesMax");
    // Nothing else is refused, and there is a way back.
    table.patch(&format!("/views/{}", views[0]), json!({ "name": "y" })).ok();
    table.delete(&format!("/views/{}", views[1])).ok();
}

fn long_values_that_begin_alike_are_sorted() {
    let server = Server::start(&[]);
    let table = server.api().table(&["A"]);
    let begins = "Alike".repeat(190_000);
    for end in ["b", "a", "b"] {
        table.insert(json!({ "A": format!("{begins}{end}") }));
    }
    let sorting = json!([{ "columnId": table.column("A"), "direction": "desc" }]).to_string();
    let values = table.values("A", &[("sorting", &sorting)]);
    let ends: Vec<&str> = values.iter().map(|value| &value.as_str().unwrap()[begins.len()..]).collect();
    assert_eq!(ends, ["b", "b", "a"]);
}

fn no_body_takes_more_than_three_times_its_size() {
    let server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "x" })).remove(0);
    for bomb in bombs(&table, &row).iter().chain(&project_bombs()) {
        explode(&server, &api, bomb);
    }
    let v3 = api.clone().in_version(crate::harness::api::Version::V3);
    let path = v3.path_in(&table.id, "/rows");
    let body = repeated("[", "{},", "]", LARGEST);
    explode(
        &server,
        &v3,
        &Bomb { method: "POST", path, body, code: "limit_exceeded", named: "insertRowsMax" },
    );

    let stranger = server.api_without_key();
    let webhook = api.get("/v4/team").ok()["team"]["webhookUrl"].as_str().unwrap().to_owned();
    let webhook = webhook.split_once(&api.address).unwrap().1.to_owned();
    let nobody = "/webhooks/eventplatform/0190f0e0-a1b2-7c3d-8e4f-0123456789ab";
    for (path, bytes, words) in [
        (nobody, LARGEST, "Team not found"),
        (&webhook, LARGEST, "exceeds"),
        (&webhook, 1_000_000, "Invalid payload"),
    ] {
        let body = repeated(r#"{"type":"x","data":{"a":["#, "{},", "]}}", bytes);
        let mut told = Value::Null;
        let grown = growth(&server, || told = send(&stranger, "POST", path, &body));
        assert!(told["error"].as_str().unwrap().contains(words), "{told}");
        assert!(grown <= 20 * MB, "{path} took {} MB", grown / MB);
    }
    // What is large and right is taken, and takes no more.
    let text = "x".repeat(3_000);
    let body = repeated("[", &format!(r#"{{"Name":"{text}"}},"#), "]", 30_000_000);
    let mut inserted = Value::Null;
    let mut insert = || {
        let request =
            Request::post(table.path("/rows")).bytes(gzip(&body)).header("Content-Encoding", "gzip");
        inserted = api.send(request.header("Content-Type", "application/json")).created();
    };
    // The first fills the database's page cache, which is bounded by itself and stays.
    insert();
    // What the allocator had just given back counts as growth: the smaller of two is what one takes.
    let grown = growth(&server, &mut insert).min(growth(&server, &mut insert));
    assert_eq!(inserted["insertedCount"], 9_960);
    println!("a bulk insert of {} MB took {} MB", body.len() as u64 / MB, grown / MB);
    assert!(grown <= 3 * body.len() as u64 + 20 * MB, "{} MB", grown / MB);
}

fn many_large_bodies_at_once_are_refused_and_not_held() {
    const SENDERS: usize = 40;
    let server = Server::start(&[("ROWMILL_REQUEST_MEMORY", "64M"), ("ROWMILL_QUERY_MEMORY", "16M")]);
    let api = server.api();
    let table = api.table(&["Name"]);
    let project = table.id.clone();
    let body = Arc::new(repeated("[", "{},", "]", LARGEST));
    let packed = Arc::new(gzip(&body));
    std::fs::write(format!("/proc/{}/clear_refs", server.process_id()), "5").unwrap();
    let senders: Vec<_> = (0..SENDERS)
        .flat_map(|_| {
            let plain = Request::post(format!("/v3/default/{project}/rows"));
            let keyed = api.with_key(Request::post(table.path("/rows")));
            let bomb = api.with_key(Request::post(table.path("/rows")).header("Content-Encoding", "gzip"));
            [(plain, &body), (keyed, &body), (bomb, &packed)]
        })
        .map(|(request, body)| {
            let (address, body) = (server.address.clone(), Arc::clone(body));
            thread::spawn(move || post(&address, request, &body))
        })
        .collect();
    let health: Vec<u16> = (0..20)
        .map(|_| {
            thread::sleep(std::time::Duration::from_millis(50));
            http::exchange(&server.address, &Request::get("/healthz")).map_or(0, |answer| answer.status)
        })
        .collect();
    assert!(health.iter().all(|status| *status == 200), "{health:?}");
    // On a busy machine some may be cut off while they still send; each kind must be answered.
    let answers: Vec<Option<Response>> = senders.into_iter().map(|sender| sender.join().unwrap()).collect();
    for (index, answer) in answers.iter().enumerate() {
        let Some(answer) = answer else { continue };
        let told = String::from_utf8_lossy(&answer.body);
        match index % 3 {
            0 => assert_eq!(answer.status, 401, "{told}"),
            _ if answer.status == 503 => {
                assert!(told.contains(r#""code":"busy""#), "{told}");
                assert!(answer.header("Retry-After").is_some());
            }
            _ => assert!(answer.status == 400 && told.contains("insertRowsMax"), "{told}"),
        }
    }
    let answered = |status: u16| answers.iter().flatten().filter(|answer| answer.status == status).count();
    let peak = memory(&server, "VmHWM");
    println!(
        "{} bodies of 31 MB at once: {} without a key, {} busy, {} read; {} MB at most",
        answers.len(),
        answered(401),
        answered(503),
        answered(400),
        peak / MB
    );
    assert!(answered(401) > 0 && answered(503) > 0 && answered(400) > 0);
    assert!(peak < 300 * MB, "{} MB", peak / MB);
    table.insert(json!({ "Name": "still here" }));
}

/// Sends a body that many share, and waits for the answer.
fn post(address: &str, request: Request, body: &[u8]) -> Option<Response> {
    let request =
        request.header("Content-Type", "application/json").header("Content-Length", &body.len().to_string());
    let mut stream = http::connect(address).ok()?;
    let _ = stream.write_all(request.head(address).as_bytes()).and_then(|()| stream.write_all(body));
    http::receive(&mut stream).ok()
}

fn a_team_that_holds_its_share_is_told_to_wait() {
    let server = Server::start(&[("ROWMILL_REQUEST_MEMORY", "64M")]);
    let (api, other) = (server.api(), server.team("other"));
    let (table, others) = (api.table(&["Name"]), other.table(&["Name"]));
    // Announced, and never sent.
    let request = api.with_key(Request::post(table.path("/rows")).header("Content-Type", "application/json"));
    let mut held = http::connect(&server.address).unwrap();
    held.write_all(request.header("Content-Length", "30000000").head(&server.address).as_bytes()).unwrap();
    let wait = std::time::Duration::from_mins(1);
    crate::harness::eventually("the budget is taken", wait, || {
        let metrics = http::exchange(&server.address, &metrics_request()).ok()?;
        let told = String::from_utf8_lossy(&metrics.body).into_owned();
        let value = told
            .lines()
            .find_map(|line| line.strip_prefix("rowmill_request_memory_bytes{bodies=\"large\"} "))?
            .to_owned();
        value.parse().is_ok_and(|bytes: f64| bytes > 20e6).then_some(())
    });
    let large = json!({ "Name": "x".repeat(100_000) });
    let refusal = table.post("/rows", large.clone());
    assert!(refusal.header("Retry-After").is_some());
    refusal.refused(503, "busy");
    table.insert(json!({ "Name": "small, and beside it" }));
    others.post("/rows", large.clone()).created();
    others.insert(json!({ "Name": "y" }));
    api.get(table.path("/rows")).ok();
    drop(held);
    crate::harness::eventually("the budget is free again", wait, || {
        (table.post("/rows", large.clone()).status() == 201).then_some(())
    });
}

fn no_message_of_an_agent_takes_more_than_three_times_its_size() {
    let server = Server::start(&[]);
    let api = server.api();
    let start = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"x":["#;
    let body = repeated(start, "0,", r#"]},"name":"list_tables","arguments":{}}}"#, LARGE);
    let request = Request::post("/mcp").bytes(gzip(&body)).header("Content-Encoding", "gzip");
    let request = request.header("Content-Type", "application/json");
    let request = api.with_key(request.header("Accept", "application/json, text/event-stream"));
    let mut answer = None;
    let grown = growth(&server, || answer = Some(http::exchange(&api.address, &request).unwrap()));
    let answer = answer.unwrap();
    assert_eq!(answer.status, 400);
    assert!(String::from_utf8_lossy(&answer.body).contains("parsedBytesMax"), "{answer:?}");
    let most = 3 * body.len() as u64 + 20 * MB;
    assert!(grown <= most, "took {} MB of at most {}", grown / MB, most / MB);
}

/// Each of these once took the stack, a gigabyte or minutes, and the server with it.
fn no_output_schema_takes_the_server_down() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let chain = |links: usize, link: &dyn Fn(Value) -> Value| {
        let next = |number: usize| json!({ "$ref": format!("#/$defs/{}", number + 1) });
        let mut all: serde_json::Map<String, Value> =
            (0..links).map(|number| (number.to_string(), link(next(number)))).collect();
        all.insert(links.to_string(), json!({ "type": "integer" }));
        json!({ "$ref": "#/$defs/0", "$defs": all })
    };
    let open = |next: Value| json!({ "allOf": [next], "unevaluatedProperties": false });
    let patterns = |count| (0..count).map(|number| json!({ "pattern": format!("\\pL{{150}}x{number}") }));
    for schema in [
        chain(600, &open),
        chain(1_900, &|next| json!({ "anyOf": [next] })),
        chain(20, &|next| json!({ "anyOf": [next, next] })),
        json!({ "allOf": patterns(150).collect::<Vec<_>>() }),
        json!({ "allOf": patterns(25).collect::<Vec<_>>() }),
    ] {
        let config = json!({ "prompt": "@{Name}", "model": "m", "outputSchema": schema });
        let column = json!({ "templateId": "ai-json", "header": "Data", "aiConfig": config });
        let grown = growth(&server, || {
            table.post("/columns", column).offends(&["aiConfig.outputSchema"]);
        });
        assert!(grown < 50 * MB, "{} MB", grown / MB);
    }
    server.api().get("/v4/team").ok();
}
