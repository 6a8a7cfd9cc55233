//! Contract sections 1 and 3: a stop that finishes what was accepted.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::first;
use super::processing::{asks, ended, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::Reply;
use crate::harness::{Request, Scenario, Server, StubServer, Table, eventually, http};

pub(crate) const OWN: &[Scenario] = &scenarios!("stopping", Own:
    an_upload_under_way_is_finished_and_kept,
    idle_connections_do_not_hold_it_up,
    calls_under_way_are_finished_and_not_made_again,
    who_says_it_twice_waits_for_no_call,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("stopping", Nodes:
    what_is_stopped_meanwhile_is_not_waited_for,
);

fn an_upload_under_way_is_finished_and_kept() {
    let mut server = Server::start(&[]);
    let api = server.api();
    let table = api.table(&["N"]);
    let rows: Vec<Value> = (0..5_000).map(|number| json!({ "N": number })).collect();
    let body = json!(rows).to_string();
    let request =
        api.with_key(Request::post(table.path("/rows")).text(&body).header("Expect", "100-continue"));
    let mut stream = http::connect(&api.address).unwrap();
    stream.write_all(request.head(&api.address).as_bytes()).unwrap();
    // It asks for the body: the request is in the server's hands.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100 Continue"), "{}", String::from_utf8_lossy(&go_on));
    let (first, second) = body.as_bytes().split_at(body.len() / 2);
    stream.write_all(first).unwrap();

    close_door(&server);
    stream.write_all(second).unwrap();
    let response = http::receive(&mut stream).unwrap();
    assert_eq!(response.header("connection"), Some("close"), "it is the last answer, and says so");
    let answer = api.judged(&request, response).created();
    assert_eq!(answer["insertedCount"], 5_000);
    assert!(server.wait_for_end().success());

    server.restart();
    let page = table.through(&server.api()).rows(&[("page", "5"), ("pageSize", "1000")]);
    assert_eq!(page["pagination"]["totalRows"], 5_000);
    assert_eq!(page["rows"][999]["id"], answer["rows"][4_999]);
}

fn idle_connections_do_not_hold_it_up() {
    let server = Server::start(&[("ROWMILL_SHUTDOWN_SECONDS", "30")]);
    let _idle: Vec<_> = (0..3).map(|_| http::connect(&server.address).unwrap()).collect();
    server.api().get("/v4/team").ok();
    let start = std::time::Instant::now();
    server.terminate();
    assert!(server.wait_for_end().success());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

/// Tells the service to stop and waits until it has heard.
fn close_door(server: &Server) {
    server.terminate();
    eventually("nobody else is let in", Duration::from_secs(10), || {
        http::connect(&server.address).is_err().then_some(())
    });
}

/// A service that runs two cells at a time, and a table of three that ask somebody who keeps them waiting.
fn kept_waiting(stub_server: &StubServer) -> (Server, Table) {
    let server = started(&[("ROWMILL_FINISH_SECONDS", "60"), ("ROWMILL_WORKER_CONCURRENCY", "2")]);
    let table = begun(&server, stub_server, json!([{ "Name": "a" }, { "Name": "b" }, { "Name": "c" }]));
    (server, table)
}

/// A table two of whose cells ask.
fn begun(server: &Server, stub_server: &StubServer, rows: Value) -> Table {
    let table = server.api().table(&["Name"]);
    asks(&table, "Answer", stub_server, "/@{Name}", json!({}));
    table.insert(rows);
    table.post("/trigger", json!({})).ok();
    eventually("two calls are under way", Duration::from_secs(10), || {
        (stub_server.count() == 2).then_some(())
    });
    table
}

fn calls_under_way_are_finished_and_not_made_again() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let (mut server, table) = kept_waiting(&stub_server);
    close_door(&server);
    stub_server.release();
    assert!(server.wait_for_end().success());
    server.restart();
    ended(&table.through(&server.api()));
    assert_eq!(
        (stub_server.count(), stub_server.aborted()),
        (3, 0),
        "each cell asked once, and had its answer"
    );
}

fn who_says_it_twice_waits_for_no_call() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let (mut server, table) = kept_waiting(&stub_server);
    close_door(&server);
    server.terminate();
    assert!(server.wait_for_end().success());
    eventually("nobody waits any more", Duration::from_secs(10), || {
        (stub_server.aborted() == 2).then_some(())
    });
    stub_server.release();
    server.restart();
    ended(&table.through(&server.api()));
    assert_eq!(stub_server.count(), 5, "two of three cells asked again");
}

fn what_is_stopped_meanwhile_is_not_waited_for() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let here = first(&[("ROWMILL_NO_WORKERS", "true")]);
    let worker = here.beside("worker", &[("ROWMILL_FINISH_SECONDS", "600")]);
    let table = begun(&here, &stub_server, json!([{ "Name": "a" }, { "Name": "b" }]));
    close_door(&worker);
    table.post("/stop", json!({})).ok();
    assert!(worker.wait_for_end().success());
}
