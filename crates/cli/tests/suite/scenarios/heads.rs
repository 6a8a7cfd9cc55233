//! Contract section 3: whatever is refused before it was read gets an answer, and the next request gets one, too.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use serde_json::Value;

use crate::harness::http::{KeepAliveConnection, connect, receive};
use crate::harness::runner::scenarios;
use crate::harness::{Request, Scenario, Server};

pub(crate) const OWN: &[Scenario] = &scenarios!("heads", Own:
    a_head_that_cannot_be_read_is_refused_in_the_usual_envelope,
    a_refusal_before_the_body_was_read_fails_no_later_request,
    a_body_with_two_lengths_ends_its_connection,
);

/// Sends bytes on a connection of their own, after requests that are fine.
fn refusal(server: &Server, bytes: &[u8], requests_before: usize) -> (u16, Value) {
    let mut stream = connect(&server.address).unwrap();
    for _ in 0..requests_before {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n").unwrap();
        assert!(next_answer(&mut stream).0.starts_with("HTTP/1.1 200"));
    }
    stream.write_all(bytes).expect("the server takes what was on its way");
    let answer = receive(&mut stream).expect("an answer, and then the end");
    let body: Value = serde_json::from_slice(&answer.body).expect("JSON");
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("connection"), Some("close"));
    let id = answer.header("x-request-id").expect("a request id");
    assert_eq!((&body["success"], &body["requestId"]), (&Value::Bool(false), &Value::from(id)));
    assert!(!body["error"].as_str().unwrap().is_empty() && answer.header("date").is_some());
    (answer.status, body["code"].clone())
}

/// One answer with a `Content-Length`: its head, and its body.
fn next_answer(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).expect("a whole head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap().to_lowercase().replacen("http", "HTTP", 1);
    let length = head
        .split("content-length: ")
        .nth(1)
        .map_or(0, |rest| rest.split("\r\n").next().unwrap().parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (head, body)
}

fn a_head_that_cannot_be_read_is_refused_in_the_usual_envelope() {
    let server = Server::start(&[]);
    let long = |len: usize| "a".repeat(len);
    let uri = |len: usize| format!("GET /v4/projects?search={} HTTP/1.1\r\nHost: here\r\n\r\n", long(len));
    let head = |headers: &str| format!("GET /v4/projects HTTP/1.1\r\nHost: here\r\n{headers}\r\n");
    let many: Vec<String> = (0..150).map(|number| format!("X-{number}: 1\r\n")).collect();
    let many = many.concat();
    let cases = [
        (uri(70_000), 414, "uri_too_long"),
        (uri(300_000), 414, "uri_too_long"),
        (uri(3_000_000), 414, "uri_too_long"),
        (head(&format!("X-Large: {}\r\n", long(600_000))), 431, "headers_too_large"),
        (head(&format!("X-Large: {}\r\n", long(5_000_000))), 431, "headers_too_large"),
        (head(&many), 431, "headers_too_large"),
        ("GET /v4/projects\r\nHost: here\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("what is this?\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("GET /v4/ projects HTTP/1.1\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("GET /v4/projects HTTP/9.9\r\nHost: here\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("{\"not\": \"HTTP\"}\r\n\r\n".to_owned(), 400, "malformed_request"),
        ("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\r\n\r\n".to_owned(), 400, "malformed_request"),
        (head("No colon\r\n"), 400, "malformed_request"),
        (head("Bad name: 1\r\n"), 400, "malformed_request"),
        (head("Content-Length: many\r\n"), 400, "malformed_request"),
        (head("Content-Length: 1\r\nContent-Length: 2\r\n"), 400, "malformed_request"),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\u{12}\u{4}\0\0\0\0\0".to_owned(), 400, "malformed_request"),
    ];
    for (bytes, status, code) in &cases {
        for requests_before in [0, 2] {
            let start: String = bytes.chars().take(60).collect();
            let found = refusal(&server, bytes.as_bytes(), requests_before);
            assert_eq!(found, (*status, Value::from(*code)), "{start:?} after {requests_before}");
        }
    }
    let mut half = connect(&server.address).unwrap();
    half.write_all(b"GET /v4/projects HTTP/1.1\r\nHo").unwrap();
    half.shutdown(Shutdown::Write).unwrap();
    assert_eq!(receive(&mut half).unwrap().status, 400, "whoever stops in the middle is told, too");
    let mut nothing = connect(&server.address).unwrap();
    nothing.shutdown(Shutdown::Write).unwrap();
    let mut said = Vec::new();
    nothing.read_to_end(&mut said).unwrap();
    assert!(said.is_empty(), "who asks nothing is told nothing");
    // The longest that is taken.
    assert_eq!(server.api().get(format!("/v4/nothing?{}", long(60_000))).status(), 404);
}

/// A chunked body, in pieces of 1,000 bytes.
fn chunked(len: usize) -> Vec<u8> {
    let mut body = Vec::new();
    for _ in 0..len / 1_000 {
        body.extend_from_slice(b"3e8\r\n");
        body.extend_from_slice(&[b'x'; 1_000]);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"0\r\n\r\n");
    body
}

fn a_refusal_before_the_body_was_read_fails_no_later_request() {
    let server = Server::start(&[("ROWMILL_BODY_BYTES_MAX", "1000000")]);
    let table = server.api().table(&["Name"]);
    let (rows, key) = (table.path("/rows"), server.api().with_key(Request::get("/")).headers[0].1.clone());
    let wrong_key = "Authorization: Bearer nobody\r\n".to_owned();
    let right_key = format!("Authorization: {key}\r\n");
    let json = "Content-Type: application/json\r\n";
    let cases = [
        ("POST", "/v4/nothing", String::new(), 404),
        ("PUT", "/v4/projects", String::new(), 405),
        ("POST", "/v4/projects", json.to_owned(), 401),
        ("POST", "/v4/projects", format!("{wrong_key}{json}"), 403),
        ("POST", rows.as_str(), format!("{right_key}Content-Type: image/png\r\n"), 415),
        ("POST", rows.as_str(), format!("{right_key}{json}Content-Encoding: br\r\n"), 415),
        ("POST", rows.as_str(), format!("{right_key}{json}"), 0),
        ("POST", "/docs", String::new(), 405),
        ("POST", "/healthz", String::new(), 405),
        ("GET", "/v4/projects", right_key.clone(), 0),
    ];
    for (method, path, headers, status) in &cases {
        for len in [1_000, 50_000, 100_000, 900_000, 4_000_000] {
            for is_chunked in [false, true] {
                let framing = if is_chunked {
                    "Transfer-Encoding: chunked\r\n".to_owned()
                } else {
                    format!("Content-Length: {len}\r\n")
                };
                let body = if is_chunked { chunked(len) } else { vec![b'x'; len] };
                let head = format!("{method} {path} HTTP/1.1\r\nHost: here\r\n{framing}{headers}\r\n");
                let what = format!("{method} {path} {framing:?} {len}");
                let mut stream = connect(&server.address).unwrap();
                stream.write_all(head.as_bytes()).unwrap();
                stream.write_all(&body).unwrap_or_else(|error| panic!("{what}: {error}"));
                let (answer, _) = next_answer(&mut stream);
                let is_expected = |status: &u16| answer.starts_with(&format!("HTTP/1.1 {status}"));
                assert!(*status == 0 || [*status, 413].iter().any(is_expected), "{what}: {answer}");
                goes_on_or_said_so(&mut stream, &answer, &what);
            }
        }
    }
    // A body that breaks its framing.
    let mut stream = connect(&server.address).unwrap();
    let head =
        format!("POST {rows} HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n{right_key}{json}\r\n");
    stream.write_all(format!("{head}zzz\r\n[]\r\n0\r\n\r\n").as_bytes()).unwrap();
    let (answer, _) = next_answer(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    goes_on_or_said_so(&mut stream, &answer, "a broken chunk");
    let mut kept = KeepAliveConnection::new(&server.address);
    for _ in 0..3 {
        let large = Request::post("/v4/nothing").bytes(vec![b'x'; 300_000]);
        assert_eq!(kept.exchange(&large).unwrap().status, 404, "a pool that heeds the header is served");
    }
}

/// Either the answer says that the connection ends, or the next request on it is answered.
fn goes_on_or_said_so(stream: &mut TcpStream, answer: &str, what: &str) {
    if answer.contains("connection: close") {
        return;
    }
    // Longer than the server takes to notice that something is left unread.
    std::thread::sleep(std::time::Duration::from_millis(5));
    let sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n");
    sent.unwrap_or_else(|error| panic!("{what}: {error}"));
    let (next, _) = next_answer(stream);
    assert!(next.starts_with("HTTP/1.1 200"), "{what}: {next}");
}

/// hyper takes the `Content-Length` out before anybody sees it, goes by the chunks, and closes the connection: what a
/// proxy that goes by the length would take for another request is not answered.
fn a_body_with_two_lengths_ends_its_connection() {
    let server = Server::start(&[]);
    let table = server.api().table(&["Name"]);
    let (rows, key) = (table.path("/rows"), server.api().with_key(Request::get("/")).headers[0].1.clone());
    let (length, chunked) = ("Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n");
    let row = r#"{"Name":"one"}"#;
    let hidden = "GET /healthz HTTP/1.1\r\nHost: here\r\n\r\n";
    for (framing, name) in [([length, chunked].concat(), "first"), ([chunked, length].concat(), "last")] {
        let head = format!("POST {rows} HTTP/1.1\r\nHost: here\r\n{framing}Authorization: {key}\r\n");
        let body = format!("{:x}\r\n{row}\r\n0\r\n\r\n{hidden}", row.len());
        let mut stream = connect(&server.address).unwrap();
        stream.write_all(format!("{head}Content-Type: application/json\r\n\r\n{body}").as_bytes()).unwrap();
        let (answer, _) = next_answer(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 201"), "the length comes {name}: {answer}");
        assert!(answer.contains("connection: close"), "the length comes {name}: {answer}");
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest);
        assert_eq!(String::from_utf8_lossy(&rest), "", "the length comes {name}");
    }
    assert_eq!(table.values("Name", &[]), ["one", "one"]);
}
