//! Watching a project: what changes is told, in order, and the stream can be resumed.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::http::connect;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server, Table, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("events", Shared:
    changes_are_told_as_they_happen,
    a_stream_is_resumed_where_it_broke_off,
    what_is_forgotten_is_told,
);

pub(crate) const OWN: &[Scenario] = &scenarios!("events", Own:
    a_service_that_stops_ends_its_streams,
    a_reader_that_does_not_read_holds_nobody_back,
    a_stream_ends_with_its_key,
);

/// One event as it came.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: String,
    pub(super) id: Option<u64>,
    pub(super) data: Value,
}

/// A stream that is read line by line.
pub(super) struct Stream(BufReader<TcpStream>);

impl Stream {
    pub(super) fn open(table: &Table, query: &str) -> Self {
        let request = table.api.with_key(Request::get(table.path(&format!("/events{query}"))));
        Self::answering(&table.api.address, &request)
    }

    pub(super) fn answering(address: &str, request: &Request) -> Self {
        let mut stream = connect(address).unwrap();
        stream.write_all(request.head(address).as_bytes()).unwrap();
        Self(BufReader::new(stream))
    }

    /// The next event; none at the end.
    pub(super) fn next(&mut self) -> Option<Event> {
        let (mut name, mut id) = (None, None);
        loop {
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            if let Some(word) = line.strip_prefix("event: ") {
                name = Some(word.trim().to_owned());
            } else if let Some(number) = line.strip_prefix("id: ") {
                id = number.trim().parse().ok();
            } else if let (Some(text), Some(name)) = (line.strip_prefix("data: "), &name) {
                return Some(Event { name: name.clone(), id, data: serde_json::from_str(text).unwrap() });
            }
        }
    }

    #[track_caller]
    pub(super) fn expect(&mut self, name: &str) -> Event {
        let event = self.next().expect("the stream goes on");
        assert_eq!(event.name, name, "{event:?}");
        event
    }
}

pub(super) fn told(table: &Table, query: &str) -> Vec<Event> {
    let text = table.get(&format!("/events{query}")).text;
    let frames = text.split("\n\n").filter(|frame| !frame.is_empty());
    let field =
        |frame: &str, name: &str| frame.lines().find_map(|line| line.strip_prefix(name).map(str::to_owned));
    frames
        .map(|frame| Event {
            name: field(frame, "event: ").unwrap(),
            id: field(frame, "id: ").map(|id| id.parse().unwrap()),
            data: serde_json::from_str(&field(frame, "data: ").unwrap()).unwrap(),
        })
        .collect()
}

fn changes_are_told_as_they_happen(api: &Api) {
    let table = api.table(&["Name"]);
    let mut stream = Stream::open(&table, "");
    let first = stream.expect("status");
    assert_eq!(first.data["rows"]["total"], 0);
    let ids = table.insert(json!([{ "Name": "Ada" }, { "Name": "Bob" }]));
    let rows = stream.expect("rows");
    assert_eq!(rows.data["rows"][0]["id"], ids[0].as_str());
    assert_eq!(
        rows.data["rows"][1]["cells"][table.column("Name")],
        json!({ "value": "Bob", "status": "idle" })
    );
    let status = stream.expect("status");
    assert_eq!(status.data["rows"]["total"], 2);
    assert!(status.id > first.id);
    table.patch_text(&format!("/rows/{}", ids[1]), "{\"Name\": {\r\n\n\"data: \":\n1}}").ok();
    let broken = stream.expect("rows");
    assert_eq!(broken.data["rows"][0]["cells"][table.column("Name")]["value"], json!({ "data: ": 1 }));
    stream.expect("status");
    table.delete_rows(&[&ids[0]]).ok();
    assert_eq!(stream.expect("rows").data["deleted"], json!([ids[0]]));
    assert_eq!(stream.expect("status").data["rows"]["total"], 1);
    table.patch("", json!({ "title": "Other" })).ok();
    stream.expect("project");
    stream.expect("status");
    table.delete("").ok();
    assert!(stream.next().is_none(), "the project is gone");
    table.get("/events").refused(404, "project_not_found");
}

fn a_stream_ends_with_its_key() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let made = server.command(&["key", "create", "--team", "default", "--name", "doomed"]);
    let doomed = server.api_with(String::from_utf8(made.stdout).unwrap().trim());
    let mut stream = Stream::open(&table.through(&doomed), "");
    stream.expect("status");
    let keys: Value = serde_json::from_slice(&server.command(&["key", "list"]).stdout).unwrap();
    let key = keys.as_array().unwrap().iter().find(|key| key["name"] == "doomed").unwrap();
    assert!(server.command(&["key", "revoke", key["id"].as_str().unwrap()]).status.success());
    eventually("the key is refused", std::time::Duration::from_secs(30), || {
        (doomed.get("/v4/team").status() == 403).then_some(())
    });
    table.insert(json!([{ "Name": "not for everybody" }]));
    assert!(stream.next().is_none(), "the stream ends, and tells nothing more");
}

fn a_stream_is_resumed_where_it_broke_off(api: &Api) {
    let table = api.table(&["Name"]);
    let known = told(&table, "?seconds=0")[0].id.unwrap();
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    table.patch(&format!("/rows/{}", ids[0]), json!({ "Name": "Eve" })).ok();
    let events = told(&table, &format!("?seconds=0&lastEventId={known}"));
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["rows", "status"]);
    assert_eq!(events[0].data["rows"].as_array().unwrap().len(), 1, "the row once, as it is now");
    assert_eq!(events[0].data["rows"][0]["cells"][table.column("Name")]["value"], "Eve");
    let header = Request::get(table.path("/events?seconds=0")).header("Last-Event-ID", &known.to_string());
    let answer = table.api.send(header);
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
    assert_eq!(answer.header("x-accel-buffering"), Some("no"));
    assert!(answer.text.starts_with("event: rows"), "{}", answer.text);
    // The project itself, if it changed meanwhile.
    let known = told(&table, "?seconds=0")[0].id.unwrap();
    table.patch("", json!({ "title": "Renamed" })).ok();
    let events = told(&table, &format!("?seconds=0&lastEventId={known}"));
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["project", "status"]);
}

fn what_is_forgotten_is_told(api: &Api) {
    let table = api.table(&["Name"]);
    table.insert(json!([{ "Name": "Ada" }, { "Name": "Bob" }]));
    let events = told(&table, "?seconds=0&lastEventId=999999999");
    assert_eq!(events.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["reset", "status"]);
    let mut stream = Stream::open(&table, "");
    stream.expect("status");
    let rows: Vec<Value> = (0..1_500).map(|number| json!({ "Name": number })).collect();
    table.insert(rows.into());
    stream.expect("reset");
    assert_eq!(stream.expect("status").data["rows"]["total"], 1_502);
    table.get("/events?seconds=-1").offends(&["seconds"]);
}

fn a_service_that_stops_ends_its_streams() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let mut stream = Stream::open(&table, "");
    stream.expect("status");
    server.terminate();
    assert!(stream.next().is_none());
    assert!(server.wait_for_end().success());
}

fn a_reader_that_does_not_read_holds_nobody_back() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let mut lazy = Stream::open(&table, "");
    lazy.expect("status");
    let mut eager = Stream::open(&table, "");
    eager.expect("status");
    let much = "x".repeat(500_000);
    let ids = table.insert(json!([{ "Name": "" }]));
    for number in 0..40 {
        table.patch(&format!("/rows/{}", ids[0]), json!({ "Name": format!("{number}{much}") })).ok();
    }
    eventually("the eager one has seen the last", std::time::Duration::from_secs(30), || {
        let event = eager.next().unwrap();
        let name = event.data["rows"][0]["cells"][table.column("Name")]["value"].as_str();
        name.is_some_and(|name| name.starts_with("39")).then_some(())
    });
    drop(lazy);
    server.terminate();
    assert!(server.wait_for_end().success());
}
