//! Event streams: one team does not take them all, and readers that do not read take next to no memory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;

use super::events::Stream;
use crate::harness::http::connect;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("streams", Own:
    one_team_does_not_take_all_streams,
    readers_that_do_not_read_take_no_memory,
    rows_that_are_too_large_are_told_by_a_reset,
);

fn watch(table: &Table) -> Stream {
    let mut stream = Stream::open(table, "");
    stream.expect("status");
    stream
}

fn is_refused(api: &Api, table: &Table) -> bool {
    let answer = api.get(table.path("/events?seconds=0"));
    if answer.status() == 200 {
        return false;
    }
    assert_eq!(answer.header("retry-after"), Some("5"));
    answer.refused(429, "too_many_streams");
    true
}

fn one_team_does_not_take_all_streams() {
    let settings = [("ROWMILL_EVENT_STREAMS_MAX", "10"), ("ROWMILL_EVENT_STREAMS_PER_TEAM_MAX", "6")];
    let server = Server::start(&settings);
    let (one, two, three) = (server.api(), server.team("two"), server.team("three"));
    let tables = [&one, &two, &three].map(|api| api.table(&["Name"]));
    let mut first: Vec<_> = (0..6).map(|_| watch(&tables[0])).collect();
    assert!(is_refused(&one, &tables[0]), "a team has its own cap");
    let _second: Vec<_> = (0..3).map(|_| watch(&tables[1])).collect();
    assert!(is_refused(&two, &tables[1]), "what is left is for those who have none");
    let _third = watch(&tables[2]);
    assert!(is_refused(&three, &tables[2]), "and now there is no more");
    first.pop();
    eventually("a stream that ended makes room", Duration::from_secs(30), || {
        (!is_refused(&three, &tables[2])).then_some(())
    });
}

fn peak_megabytes(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process_id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() / 1024
}

/// Asks for a stream, and then reads nothing of it.
fn open_and_leave(table: &Table) -> TcpStream {
    let request = table.api.with_key(Request::get(table.path("/events")));
    let mut stream = connect(&table.api.address).unwrap();
    stream.write_all(request.head(&table.api.address).as_bytes()).unwrap();
    stream.read_exact(&mut [0; 12]).unwrap();
    stream
}

fn readers_that_do_not_read_take_no_memory() {
    let server = Server::start(&[("ROWMILL_EVENT_STREAMS_PER_TEAM_MAX", "200")]);
    let table = server.api().table(&["Name"]);
    let other = server.team("other").table(&["Name"]);
    let ids = other.insert(json!([{ "Name": "quiet" }]));
    let much = "x".repeat(1_000_000);
    let written = table.insert(json!([{ "Name": &much }]));
    let mut eager = watch(&table);
    let before = peak_megabytes(&server);
    let lazy: Vec<_> = (0..100).map(|_| open_and_leave(&table)).collect();
    for number in 0..20 {
        table.patch(&format!("/rows/{}", written[0]), json!({ "Name": format!("{number}{much}")})).ok();
        let start = Instant::now();
        assert_eq!(other.value(&ids[0], other.column("Name")), "quiet");
        assert!(start.elapsed() < Duration::from_secs(5), "others are answered: {:?}", start.elapsed());
    }
    eventually("who reads has seen the last", Duration::from_secs(30), || {
        let event = eager.next().unwrap();
        let name = event.data["rows"][0]["cells"][table.column("Name")]["value"].as_str();
        name.is_some_and(|name| name.starts_with("19")).then_some(())
    });
    let grown = peak_megabytes(&server) - before;
    assert!(grown < 100, "{grown} MB more for 100 readers that do not read");
    drop(lazy);
}

fn rows_that_are_too_large_are_told_by_a_reset() {
    let server = Server::start(&[("ROWMILL_EVENT_BYTES_MAX", "4194304")]);
    let table = server.api().table(&["A", "B", "C"]);
    let mut stream = watch(&table);
    let much = "x".repeat(600_000);
    table.insert(json!([{ "A": "small" }, { "A": &much }, { "A": &much }]));
    assert_eq!(stream.expect("rows").data["rows"].as_array().unwrap().len(), 2, "as many as an event holds");
    assert_eq!(stream.expect("rows").data["rows"].as_array().unwrap().len(), 1);
    stream.expect("status");
    table.insert(json!([{ "A": &much, "B": &much, "C": &much }]));
    stream.expect("reset");
    stream.expect("status");
    table.insert(json!([{ "A": "small" }]));
    assert_eq!(stream.expect("rows").data["rows"][0]["cells"][table.column("A")]["value"], "small");
}
