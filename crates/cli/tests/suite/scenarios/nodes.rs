//! Several nodes on one database: to its users they are one service.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::events::{Stream, told};
use super::processing::{asks, ended};
use crate::harness::http::{self, KeepAliveConnection};
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, UNLIMITED, refusal};
use crate::harness::stub_server::{Reply, ok};
use crate::harness::table::strings;
use crate::harness::{Answer, Api, Balancer, Request, Scenario, Server, StubServer, Table, eventually};

pub(crate) const NODES: &[Scenario] = &scenarios!("nodes", Nodes:
    nothing_is_lost_or_doubled_while_nodes_are_killed,
    a_rolling_restart_drops_no_request,
    a_stop_on_one_node_stops_the_work_of_all,
    events_reach_readers_on_any_node,
    views_on_every_node_follow,
    the_cells_of_a_node_that_was_killed_run_elsewhere,
    a_node_with_another_secret_key_is_refused,
    a_refused_credential_is_asked_once_by_all_nodes,
);

const TIME_MAX: Duration = Duration::from_secs(30);

/// The first node of several: it may call loopback, and its cells are given to others soon.
pub(super) fn first(variables: &[(&str, &str)]) -> Server {
    first_in(DataDir::new(), variables)
}

fn first_in(folder: Arc<DataDir>, variables: &[(&str, &str)]) -> Server {
    let own = [
        ("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32"),
        ("ROWMILL_RETRY_BASE_MILLISECONDS", "1"),
        ("ROWMILL_LEASE_SECONDS", "2"),
        ("ROWMILL_DATABASE_CONNECTIONS", "8"),
        ("ROWMILL_SECRET_KEY", "the same on every one of the nodes"),
    ];
    let settings: Vec<_> = UNLIMITED.iter().chain(&own).chain(variables).copied().collect();
    Server::start_in(folder, &settings)
}

/// A service of three nodes behind a balancer.
pub(super) struct Service {
    pub(super) nodes: Vec<Server>,
    pub(super) balancer: Balancer,
}

impl Service {
    pub(super) fn start(variables: &[(&str, &str)]) -> Self {
        Self::start_in(DataDir::new(), variables)
    }

    pub(super) fn start_in(folder: Arc<DataDir>, variables: &[(&str, &str)]) -> Self {
        let first = first_in(folder, variables);
        let others = [first.beside("serve", &[]), first.beside("serve", &[])];
        let nodes: Vec<Server> = [first].into_iter().chain(others).collect();
        let addresses: Vec<&str> = nodes.iter().map(|node| node.address.as_str()).collect();
        let balancer = Balancer::start(&addresses);
        Self { nodes, balancer }
    }

    /// The API through the balancer.
    pub(super) fn api(&self) -> Api {
        self.nodes[0].api().at(&self.balancer.address)
    }

    fn restart(&mut self, node: usize) {
        self.nodes[node].restart();
        self.balancer.moved(node, &self.nodes[node].address);
    }
}

/// What one client was told.
#[derive(Default)]
pub(super) struct WriteLog {
    /// The rows it inserted, by what stands in their column `Key`.
    rows: BTreeMap<String, String>,
    /// What it last wrote into the column `Mark` of a row, by id.
    marks: BTreeMap<String, u64>,
    /// The longest that one request took.
    pub(super) longest: Duration,
    /// Answers that said to come back later.
    pub(super) put_off: usize,
    /// Requests that got no answer.
    pub(super) dropped: usize,
}

/// Asks until there is an answer that is one, as a client that knows HTTP does.
pub(super) fn insist(write_log: &mut WriteLog, api: &Api, request: &Request) -> Answer {
    let start = Instant::now();
    loop {
        let began = Instant::now();
        let answer = api.try_send(request.clone());
        write_log.longest = write_log.longest.max(began.elapsed());
        match answer {
            Ok(answer) if answer.status() == 503 => {
                assert!(answer.header("retry-after").is_some(), "{}", answer.text);
                write_log.put_off += 1;
            }
            Ok(answer) => return answer,
            Err(_) => write_log.dropped += 1,
        }
        assert!(start.elapsed() < Duration::from_mins(1), "no answer: {} {}", request.method, request.path);
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Inserts rows, writes cells and triggers what it inserted, until `enough` says so.
pub(super) fn write(table: &Table, client: usize, enough: &AtomicBool) -> WriteLog {
    const BATCH: usize = 4;
    let mut write_log = WriteLog::default();
    let mut step = 0;
    while !enough.load(Ordering::Acquire) {
        step += 1;
        let key = |index| format!("{client}-{step}-{index}");
        let rows: Vec<Value> = (0..BATCH).map(|index| json!({ "Key": key(index) })).collect();
        let once = format!("insert-{client}-{step}");
        let insert = Request::post(table.path("/rows")).json(&rows.into()).header("Idempotency-Key", &once);
        let ids = strings(&insist(&mut write_log, &table.api, &insert).created()["rows"]);
        write_log.rows.extend((0..BATCH).map(key).zip(ids.iter().cloned()));

        let mark = |row: &String| json!({ "rowId": row, "columnId": table.column("Mark"), "value": step });
        let older: Vec<&String> = write_log.rows.values().rev().step_by(3).take(BATCH).collect();
        let cells: Vec<Value> = older.iter().copied().map(mark).collect();
        let marked: Vec<(String, u64)> = older.into_iter().map(|row| (row.clone(), step)).collect();
        let write = Request::new("PATCH", table.path("/cells")).json(&json!({ "cells": cells }));
        insist(&mut write_log, &table.api, &write).ok();
        write_log.marks.extend(marked);

        let trigger = Request::post(table.path("/trigger")).json(&json!({ "rowIds": ids }));
        insist(&mut write_log, &table.api, &trigger).ok();
    }
    write_log
}

/// A table whose column `Answer` asks a provider for what stands in `Key`.
pub(super) fn asking_table(api: &Api, stub_server: &StubServer) -> (Table, String) {
    let table = api.table(&["Key", "Mark"]);
    let answer = asks(&table, "Answer", stub_server, "/@{Key}", json!({}));
    (table, answer)
}

/// A provider that answers with what it was asked for.
pub(super) fn provider() -> StubServer {
    StubServer::start(|seen, _| ok(json!({ "is": seen.path.trim_start_matches('/') })))
}

/// Compares what is there with what clients were told: nothing lost, nothing twice, every cell at its end and
/// right, and the counts those of the rows. Says how many rows there are.
pub(super) fn verify(table: &Table, answer: &str, write_logs: &[WriteLog]) -> usize {
    let told: BTreeMap<&String, &String> = write_logs.iter().flat_map(|write_log| &write_log.rows).collect();
    let marks: BTreeMap<&String, &u64> = write_logs.iter().flat_map(|write_log| &write_log.marks).collect();
    let (key, mark) = (table.column("Key"), table.column("Mark"));
    let (mut found, mut completed) = (BTreeSet::new(), 0);
    let mut cursor = None::<String>;
    loop {
        let mut query = vec![("pageSize", "1000"), ("withStatus", "true")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = table.rows(&query);
        for row in page["rows"].as_array().unwrap() {
            let (id, cells) = (row["id"].as_str().unwrap().to_owned(), &row["cells"]);
            let name = cells[key]["value"].as_str().unwrap().to_owned();
            assert_eq!(told.get(&name), Some(&&id), "{name} is there and was never told, or twice");
            let expected = marks.get(&id).map_or(Value::Null, |mark| json!(mark));
            assert_eq!(cells[mark]["value"], expected, "{name}");
            assert_eq!(cells[answer]["status"], "completed", "{name}: {row}");
            assert_eq!(cells[answer]["value"], json!({ "is": name }));
            completed += 1;
            assert!(found.insert(name), "a row is twice");
        }
        match page["pagination"]["nextCursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(found.len(), told.len(), "acknowledged rows were lost");
    let status = table.get("/status").ok();
    assert_eq!(
        (&status["rows"]["total"], &status["rows"]["complete"]),
        (&json!(completed), &json!(completed))
    );
    assert_eq!(status["columns"][answer]["complete"], completed, "{status}");
    completed
}

fn nothing_is_lost_or_doubled_while_nodes_are_killed() {
    let seconds = number("ROWMILL_TEST_NODES_SECONDS").unwrap_or(20);
    let seed = number("ROWMILL_TEST_NODES_SEED").unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("nodes are killed for {seconds} s by ROWMILL_TEST_NODES_SEED={seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let stub_server = provider();
    let mut service = Service::start(&[]);
    let (table, answer) = asking_table(&service.api(), &stub_server);
    let enough = AtomicBool::new(false);
    let mut kills = 0;
    let write_logs: Vec<WriteLog> = std::thread::scope(|scope| {
        let (table, enough) = (&table, &enough);
        let clients: Vec<_> =
            (0..4).map(|client| scope.spawn(move || write(table, client, enough))).collect();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(seconds) {
            std::thread::sleep(Duration::from_millis(random.u64(200..1_500)));
            let mut victims = vec![random.usize(..3)];
            // Now and then two at once: the third goes on alone.
            victims.extend((random.u8(..4) == 0).then_some((victims[0] + 1) % 3));
            for victim in &victims {
                service.nodes[*victim].kill();
                kills += 1;
            }
            std::thread::sleep(Duration::from_millis(random.u64(..500)));
            for victim in victims {
                service.restart(victim);
            }
        }
        enough.store(true, Ordering::Release);
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    });
    ended(&table);
    let rows = verify(&table, &answer, &write_logs);
    let calls = stub_server.seen();
    let distinct = calls.iter().map(|seen| &seen.path).collect::<BTreeSet<_>>().len();
    assert_eq!(distinct, rows, "each row's provider was asked");
    let longest = write_logs.iter().map(|write_log| write_log.longest).max().unwrap();
    println!(
        "{rows} rows, {kills} kills: none lost, none twice; {} calls, {} of them repeated; the longest request took \
         {longest:?}",
        calls.len(),
        calls.len() - distinct
    );
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

fn a_rolling_restart_drops_no_request() {
    let mut service = Service::start(&[("ROWMILL_DRAIN_SECONDS", "1")]);
    let api = service.api();
    let table = api.table(&["Name"]);
    let enough = AtomicBool::new(false);
    let (sent, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let direct: Vec<String> = service.nodes.iter().map(|node| node.address.clone()).collect();
    std::thread::scope(|scope| {
        let (enough, sent, refused, table) = (&enough, &sent, &refused, &table);
        // Through the balancer every request is answered well.
        for client in 0..4 {
            let api = api.clone();
            scope.spawn(move || {
                let mut kept = KeepAliveConnection::new(&api.address);
                while !enough.load(Ordering::Acquire) {
                    let request = api.with_key(if client % 2 == 0 {
                        Request::get(table.path("/rows?pageSize=5"))
                    } else {
                        Request::post(table.path("/rows")).json(&json!({ "Name": client }))
                    });
                    let response = kept.exchange(&request).unwrap_or_else(|error| panic!("dropped: {error}"));
                    assert!(response.status < 300, "{response:?}");
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        // Directly too, until the node lets nobody in any more.
        for address in &direct {
            let api = api.clone();
            scope.spawn(move || {
                let mut kept = KeepAliveConnection::new(address);
                while !enough.load(Ordering::Acquire) {
                    match kept.exchange(&api.with_key(Request::get(table.path("/status")))) {
                        Ok(response) => assert_eq!(response.status, 200),
                        Err(error) => {
                            let is_closed = matches!(
                                error.kind(),
                                ErrorKind::ConnectionRefused | ErrorKind::ConnectionReset
                            );
                            assert!(is_closed, "{error}");
                            refused.fetch_add(1, Ordering::Relaxed);
                            return;
                        }
                    }
                }
            });
        }
        for node in 0..3 {
            service.nodes[node].terminate();
            let stopping = eventually("it says that it is stopping", TIME_MAX, || {
                let answer = http::exchange(&service.nodes[node].address, &Request::get("/readyz")).unwrap();
                (answer.status == 503).then_some(answer)
            });
            assert!(String::from_utf8_lossy(&stopping.body).contains("\"stopping\""));
            assert!(service.nodes[node].wait_for_end().success());
            service.restart(node);
        }
        enough.store(true, Ordering::Release);
    });
    assert_eq!(refused.into_inner(), 3, "each node ended once");
    let inserted = table.rows(&[])["pagination"]["totalRows"].as_u64().unwrap();
    println!("{} requests through three restarts, none dropped; {inserted} rows", sent.into_inner());
}

fn a_stop_on_one_node_stops_the_work_of_all() {
    let stub_server = StubServer::start(|_, _| Reply::Hanging);
    let here = first(&[("ROWMILL_NO_WORKERS", "true"), ("ROWMILL_LEASE_SECONDS", "30")]);
    let few = [("ROWMILL_NO_WORKERS", "false"), ("ROWMILL_WORKER_CONCURRENCY", "4")];
    let _workers = [here.beside("worker", &few), here.beside("serve", &few)];
    let (table, answer) = asking_table(&here.api(), &stub_server);
    let rows: Vec<Value> = (0..100).map(|number| json!({ "Key": format!("k{number}") })).collect();
    table.insert(rows.into());
    for round in 1..=5 {
        assert_eq!(table.post("/trigger", json!({})).ok()["triggeredCount"], 100);
        eventually("both nodes are at work", TIME_MAX, || (stub_server.count() == 8 * round).then_some(()));
        assert_eq!(table.post("/stop", json!({})).ok()["stoppedCells"], 100);
        let aborted = Instant::now();
        eventually("calls on other nodes are aborted", Duration::from_secs(5), || {
            (stub_server.aborted() == 8 * round).then_some(())
        });
        assert!(aborted.elapsed() < Duration::from_secs(1), "{:?}", aborted.elapsed());
        assert_eq!(stub_server.count(), 8 * round, "no call was begun after the stop");
    }
    stub_server.release();
    let status = table.get("/status").ok();
    assert_eq!((&status["columns"][&answer]["idle"], &status["processing"]), (&json!(100), &json!(false)));
}

fn events_reach_readers_on_any_node() {
    let stub_server = provider();
    let writing = first(&[("ROWMILL_NO_WORKERS", "true")]);
    let working = writing.beside("worker", &[]);
    let reading = writing.beside("serve", &[]);
    let (table, answer) = asking_table(&writing.api(), &stub_server);
    let there = table.through(&reading.api());
    let mut stream = Stream::open(&there, "");
    let mut last = stream.expect("status").id;
    let ids = table.insert(json!([{ "Key": "a" }, { "Key": "b" }]));
    let named = stream.expect("rows");
    assert_eq!(strings(&json!([named.data["rows"][0]["id"], named.data["rows"][1]["id"]])), ids);
    table.post("/trigger", json!({})).ok();
    eventually("the cells run elsewhere are heard of here", TIME_MAX, || {
        let event = stream.next().unwrap();
        assert!(event.name != "reset", "{event:?}");
        assert!(event.id.is_none() || event.id >= last, "{event:?} after {last:?}");
        last = event.id.or(last);
        (event.name == "status" && event.data["columns"][&answer]["complete"] == 2).then_some(())
    });
    drop(stream);
    // It ends in order: one that is killed between a commit and its notice leaves a gap, which is told as `reset`.
    working.terminate();
    working.wait_for_end();
    // It goes on at another node, where nobody has read before. A search there waits for the news of the others.
    let known = last.unwrap();
    table.get("/rows?search=a").ok();
    table.patch(&format!("/rows/{}", ids[0]), json!({ "Mark": 7 })).ok();
    let resumed = told(&table, &format!("?seconds=0&lastEventId={known}"));
    assert_eq!(resumed.iter().map(|event| event.name.as_str()).collect::<Vec<_>>(), ["rows", "status"]);
    assert_eq!(resumed[0].data["rows"][0]["id"], ids[0].as_str());
    assert_eq!(resumed[0].data["rows"][0]["cells"][table.column("Mark")]["value"], 7);
}

fn views_on_every_node_follow() {
    const TRIES: u64 = 120;
    let writing = first(&[]);
    let reading = writing.beside("serve", &[]);
    let table = writing.api().table(&["Number"]);
    let there = table.through(&reading.api());
    let rows: Vec<Value> = (0..200).map(|_| json!({ "Number": 0 })).collect();
    let ids = table.insert(rows.into());
    let view = table.post(
        "/views",
        json!({
            "name": "Latest",
            "filters": [{ "columnId": table.column("Number"), "operator": "greaterThan", "value": 0 }],
            "sorting": [{ "columnId": table.column("Number"), "direction": "desc" }],
        }),
    );
    let view = view.created()["view"]["id"].as_str().unwrap().to_owned();
    let path = there.path(&format!("/rows?pageSize=1&viewId={view}"));
    let number = |answer: Answer| answer.ok()["rows"][0]["cells"][table.column("Number")].as_u64();
    there.api.get(&path).ok();
    let (mut delays, mut late) = (Vec::new(), 0);
    for turn in 1..=TRIES {
        let row = &ids[usize::try_from(turn).unwrap()];
        let written = table.patch(&format!("/rows/{row}"), json!({ "Number": turn }));
        let sequence = written.header("x-rowmill-sequence").unwrap().to_owned();
        written.ok();
        if turn % 6 == 0 {
            let told = Request::get(&path).header("X-Rowmill-Sequence", &sequence);
            assert_eq!(number(there.api.send(told)), Some(turn), "a read that names the write sees it");
        } else {
            let (start, mut reads) = (Instant::now(), 0);
            eventually("the view follows", TIME_MAX, || {
                reads += 1;
                (number(there.api.get(&path)) == Some(turn)).then_some(())
            });
            delays.push(start.elapsed());
            late += usize::from(reads > 1);
        }
    }
    delays.sort_unstable();
    println!(
        "views on another node, the read included: half after {:?}, 99 % after {:?}; {late} of {} not at the first read",
        delays[delays.len() / 2],
        delays[delays.len() * 99 / 100],
        delays.len()
    );
}

fn the_cells_of_a_node_that_was_killed_run_elsewhere() {
    // Whoever asks first is left waiting; whoever asks again is answered.
    let stub_server = StubServer::start(|seen, number| {
        if number < 6 { Reply::Hanging } else { ok(json!({ "is": seen.path.trim_start_matches('/') })) }
    });
    let here = first(&[("ROWMILL_NO_WORKERS", "true")]);
    let lost = here.beside("worker", &[]);
    let (table, answer) = asking_table(&here.api(), &stub_server);
    let rows: Vec<Value> = (0..6).map(|number| json!({ "Key": format!("k{number}") })).collect();
    table.insert(rows.into());
    table.post("/trigger", json!({})).ok();
    eventually("all run on one node", TIME_MAX, || (stub_server.count() == 6).then_some(()));
    let _other = here.beside("worker", &[]);
    lost.kill();
    let killed = Instant::now();
    let status = ended(&table);
    assert_eq!(status["columns"][&answer]["complete"], 6, "{status}");
    // The lease of two seconds, and half of one until it is noticed.
    assert!(killed.elapsed() < Duration::from_secs(8), "{:?}", killed.elapsed());
    println!("the cells of a killed node ended after {:?}", killed.elapsed());
}

fn a_node_with_another_secret_key_is_refused() {
    let first = Server::start(&[]);
    first.api().send(Request::new("PUT", "/v4/team/secrets/A").json(&json!({ "value": "1" }))).ok();
    let own_key = first.folder().data().join("secret.key");
    let folder = first.folder().beside();
    let check = |settings: &[(&str, &str)]| {
        let told = refusal(&folder, settings);
        assert!(told.contains("Set the same ROWMILL_SECRET_KEY on all nodes"), "{told}");
        assert!(told.contains(folder.data().join("secret.key").to_str().unwrap()), "{told}");
    };
    check(&[]);
    check(&[("ROWMILL_SECRET_KEY", "another than that of the first node")]);
    std::fs::copy(own_key, folder.data().join("secret.key")).unwrap();
    let second = Server::start_in(Arc::clone(&folder), UNLIMITED);
    assert_eq!(second.api().get("/v4/team/secrets").ok()["secrets"], json!([{ "name": "A" }]));
}

fn a_refused_credential_is_asked_once_by_all_nodes() {
    let model = StubServer::start(|_, _| Reply::Json(401, json!({ "error": { "message": "No." } })));
    let service = Service::start(&[
        ("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-1"),
        ("ROWMILL_AI_MODEL", "small-1"),
    ]);
    let table = service.api().table(&["Name"]);
    let column = table.add_column(json!({
        "templateId": "ai-text", "header": "Answer", "aiConfig": { "prompt": "@{Name}" },
    }));
    table.insert((0..300).map(|number| json!({ "Name": format!("n{number}") })).collect());
    for runs in 1..=2 {
        table.post("/trigger", json!({})).ok();
        ended(&table);
        assert_eq!(model.seen().len(), runs, "once in each run");
        let page = table.get("/rows?withState=true&pageSize=1000").ok();
        let code = |row: &Value| row["cells"][&column]["error"]["code"].clone();
        assert!(page["rows"].as_array().unwrap().iter().all(|row| code(row) == "invalid_credentials"));
    }
}
