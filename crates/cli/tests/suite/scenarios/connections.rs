//! Connections: who trickles or reads nothing is cut off, caps hold, and health is answered throughout.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use socket2::{Domain, Socket, Type};

use crate::harness::http::{KeepAliveConnection, connect, exchange, receive};
use crate::harness::runner::scenarios;
use crate::harness::server::{DataDir, UNLIMITED, command};
use crate::harness::{Request, Scenario, Server, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("connections", Own:
    a_trickled_head_and_an_idle_connection_are_cut_off,
    a_trickled_body_is_cut_off_and_a_slow_one_is_not,
    a_reader_that_takes_nothing_is_cut_off,
    health_is_answered_while_strangers_hold_every_connection,
    idle_connections_give_way,
    one_address_does_not_take_all_connections,
    who_is_refused_early_gets_the_answer,
);

pub(crate) const EMBEDDED: &[Scenario] = &scenarios!("connections", Embedded:
    connections_leave_files_to_the_rest,
);

/// Generous: what should take a second may take this long.
const SOON: Duration = Duration::from_secs(20);

/// Sends a byte every now and then, until the server has had enough. What it said then, if anything.
fn trickle(mut stream: TcpStream) -> String {
    stream.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    let (start, mut answer) = (Instant::now(), Vec::new());
    loop {
        assert!(start.elapsed() < SOON, "still connected: {:?}", String::from_utf8_lossy(&answer));
        let mut some = [0; 4096];
        let is_open = stream.write_all(b"x").is_ok();
        match stream.read(&mut some) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&some[..count]),
            Err(error) if is_open && error.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// A request that holds its connection: the server waits for its body, which never comes.
fn hold(server: &Server) -> TcpStream {
    let request = Request::post("/v4/projects").header("Content-Length", "1000");
    let request = server.api().with_key(request.header("Expect", "100-continue"));
    let mut stream = connect(&server.address).unwrap();
    stream.write_all(request.head(&server.address).as_bytes()).unwrap();
    let mut answer = [0; 25];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"{").unwrap();
    stream
}

fn status(address: &str, path: &str) -> u16 {
    exchange(address, &Request::get(path)).map_or(0, |response| response.status)
}

fn a_trickled_head_and_an_idle_connection_are_cut_off() {
    let server = Server::start(&[("ROWMILL_HEAD_SECONDS_MAX", "1")]);
    let mut stream = connect(&server.address).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\nX-Trickle: ").unwrap();
    assert_eq!(trickle(stream), "");
    let mut idle = connect(&server.address).unwrap();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
    let start = Instant::now();
    let answer = receive(&mut idle).unwrap();
    assert_eq!(answer.status, 200);
    assert!(start.elapsed() < SOON, "an idle connection is closed");
}

fn a_trickled_body_is_cut_off_and_a_slow_one_is_not() {
    let settings = [("ROWMILL_BODY_WAIT_SECONDS_MAX", "1"), ("ROWMILL_BODY_BYTES_PER_SECOND_MIN", "1000")];
    let server = Server::start(&settings);
    let answer = trickle(hold(&server));
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("request_timeout"), "{answer}");
    assert!(answer.to_lowercase().contains("connection: close"), "{answer}");

    let table = server.api().table(&["Name"]);
    let import = Request::post(table.path("/import")).header("Content-Type", "text/csv");
    let import = server.api().with_key(import.header("Content-Length", "1000000"));
    let mut stream = connect(&server.address).unwrap();
    stream.write_all(import.head(&server.address).as_bytes()).unwrap();
    stream.write_all(b"Name\n").unwrap();
    let answer = trickle(stream);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");

    // Four times as long as the server waits, but faster than it must be.
    let body = json!({ "title": "slow", "metadata": { "a": "x".repeat(8_000) } });
    let slow = server.api().with_key(Request::post("/v4/projects").json(&body));
    let mut stream = connect(&server.address).unwrap();
    stream.write_all(slow.head(&server.address).as_bytes()).unwrap();
    for piece in slow.body.unwrap().chunks(500) {
        std::thread::sleep(Duration::from_millis(250));
        stream.write_all(piece).unwrap();
    }
    assert_eq!(receive(&mut stream).unwrap().status, 201);
}

fn a_reader_that_takes_nothing_is_cut_off() {
    let server = Server::start(&[("ROWMILL_WRITE_WAIT_SECONDS_MAX", "1")]);
    let table = server.api().table(&["Name"]);
    let row = "x".repeat(900_000);
    for _ in 0..30 {
        table.insert(json!([{ "Name": row }]));
    }
    let request = table.api.with_key(Request::get(table.path("/rows?pageSize=100")));
    let mut stream = connect(&server.address).unwrap();
    stream.write_all(request.head(&server.address).as_bytes()).unwrap();
    let mut start = [0; 12];
    stream.read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
    std::thread::sleep(Duration::from_secs(5));
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read);
    assert!(read.len() < 26_000_000, "{} bytes came", read.len());
    let whole = exchange(&server.address, &request).unwrap();
    assert!(whole.body.len() > 27_000_000, "who reads gets all: {} bytes", whole.body.len());
}

fn health_is_answered_while_strangers_hold_every_connection() {
    let settings = [("ROWMILL_CONNECTIONS_MAX", "4"), ("ROWMILL_ADMIN_LISTEN", "127.0.0.1:0")];
    let server = Server::start(&settings);
    let log = std::fs::read_to_string(server.folder().path().join("log")).unwrap();
    let admin = log.split("metrics are also on http://").nth(1).unwrap().split_whitespace().next().unwrap();
    let held: Vec<_> = (0..4).map(|_| hold(&server)).collect();
    assert_eq!(status(&server.address, "/docs"), 503, "all connections are taken");
    let heads: Vec<_> = (0..100)
        .map(|_| {
            let mut stream = connect(&server.address).unwrap();
            stream.write_all(b"GET /heal").unwrap();
            stream
        })
        .collect();
    for (path, without_token) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 401)] {
        assert_eq!(status(&server.address, path), without_token, "{path}");
        assert_eq!(status(admin, path), 200, "{path} of its own");
    }
    let refused = server.api().get("/v4/projects");
    assert_eq!((refused.header("retry-after"), refused.header("connection")), (Some("1"), Some("close")));
    refused.refused(503, "too_many_connections");
    let large = Request::post("/v4/projects").text(&"x".repeat(3_000_000));
    server.api().send(large).refused(503, "too_many_connections");
    assert_eq!(status(admin, "/v4/projects"), 404, "the admin's listener has nothing else");
    drop((held, heads));
    eventually("others are let in again", SOON, || {
        (server.api().get("/v4/projects").status() == 200).then_some(())
    });
}

fn idle_connections_give_way() {
    let server = Server::start(&[("ROWMILL_CONNECTIONS_MAX", "3")]);
    let request = server.api().with_key(Request::get("/v4/projects"));
    let mut kept: Vec<_> = (0..6).map(|_| KeepAliveConnection::new(&server.address)).collect();
    for client in &mut kept {
        assert_eq!(client.exchange(&request).unwrap().status, 200, "each newcomer is served");
    }
    let gone = kept.iter_mut().filter_map(|client| client.exchange(&request).err()).count();
    assert!(gone >= 3, "those that were idle longest were closed: {gone}");
}

fn one_address_does_not_take_all_connections() {
    let server = Server::start(&[("ROWMILL_CONNECTIONS_PER_ADDRESS_MAX", "2")]);
    let held = [hold(&server), hold(&server)];
    assert_eq!(status(&server.address, "/docs"), 503, "it has what it may have");
    assert_eq!(status(&server.address, "/healthz"), 200);
    let other = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    other.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
    other.connect(&server.address.parse::<SocketAddr>().unwrap().into()).unwrap();
    let mut other = TcpStream::from(other);
    other.write_all(b"GET /docs HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(receive(&mut other).unwrap().status, 200, "another address is let in");
    drop(held);
    eventually("it is let in again", SOON, || (status(&server.address, "/docs") == 200).then_some(()));
}

fn who_is_refused_early_gets_the_answer() {
    let server = Server::start(&[]);
    let large = vec![b'x'; 20_000_000];
    for _ in 0..5 {
        let request = Request::post("/v4/nothing").bytes(large.clone());
        let mut stream = connect(&server.address).unwrap();
        stream.write_all(request.head(&server.address).as_bytes()).unwrap();
        stream.write_all(&large).expect("the server takes what was on its way");
        let answer = receive(&mut stream).expect("the answer comes before the end");
        assert_eq!((answer.status, answer.header("connection")), (404, Some("close")));
    }
    let mut kept = KeepAliveConnection::new(&server.address);
    for _ in 0..3 {
        let small = Request::post("/v4/nothing").text("{}");
        let answer = kept.exchange(&small).unwrap();
        assert_eq!((answer.status, answer.header("connection")), (404, None), "a small body is drained");
    }
}

fn connections_leave_files_to_the_rest() {
    let limits = |shell: &str| -> Value {
        let folder = DataDir::new();
        let mut started = Command::new("sh");
        started.args(["-c", &format!("ulimit {shell} && exec \"$0\" serve"), env!("CARGO_BIN_EXE_rowmill")]);
        let like = command(&folder);
        started.current_dir(folder.path()).env("ROWMILL_LISTEN", "127.0.0.1:0");
        for (name, value) in like.get_envs() {
            match value {
                Some(value) => started.env(name, value),
                None => started.env_remove(name),
            };
        }
        started.envs(UNLIMITED.iter().copied());
        let server = Server::start_command(folder, started);
        server.api().get("/v4/limits").ok()["limits"].clone()
    };
    assert_eq!(limits("-n 400")["connectionsMax"], 144, "there are no more");
    let raised = limits("-Sn 400")["connectionsMax"].as_u64().unwrap();
    assert!(raised > 144, "the soft limit is raised to the hard one: {raised}");
}
