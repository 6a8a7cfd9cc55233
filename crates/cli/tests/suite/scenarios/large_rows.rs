//! Rows of megabytes: pages and exports of them take little memory and keep nobody waiting.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::database::Database;
use crate::harness::http::{self, Request};
use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Server, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("large_rows", Own:
    pages_and_exports_take_little_memory,
    health_answers_beside_readers_of_large_rows,
    a_page_that_is_read_slowly_is_of_one_moment_or_breaks_off,
    readers_who_do_not_read_hold_up_their_own_team_only,
);
pub(crate) const SHARED: &[Scenario] = &scenarios!("large_rows", Versions:
    a_large_page_is_exactly_the_rows_asked_for,
);

const COLUMNS: [&str; 4] = ["A", "B", "C", "D"];
const CELL_BYTES: usize = 1_000_000;
const ROW_BYTES: usize = CELL_BYTES * COLUMNS.len();
/// What reading may take beside the largest row.
const MORE_BYTES_MAX: usize = 100 * 1024 * 1024;

/// A table of rows of 4 MB, and a small column with their numbers.
fn table_of_large_rows(api: &Api, rows: usize) -> Table {
    let table = api.table(&[&COLUMNS[..], &["Number"]].concat());
    let cell = "x".repeat(CELL_BYTES);
    for number in 0..rows {
        let mut row: serde_json::Map<String, Value> =
            COLUMNS.iter().map(|column| ((*column).to_owned(), cell.clone().into())).collect();
        row.insert("Number".to_owned(), number.into());
        // Past the judge, who would take long over so much.
        let request = api.with_key(Request::post(table.path("/rows")).json(&Value::Object(row)));
        assert_eq!(http::exchange(&api.address, &request).unwrap().status, 201);
    }
    table
}

/// What a figure of the process's memory is, in bytes.
fn memory(pid: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() * 1024
}

/// How many rows came, and by how much the process grew meanwhile.
fn read_all(server: &Server, table: &Table, rest: &str, mark: &str) -> (usize, usize) {
    std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
    let before = memory(server.pid(), "VmRSS");
    let request = table.api.with_key(Request::get(table.path(rest)));
    let response = http::exchange(&server.address, &request).unwrap();
    assert_eq!(response.status, 200);
    let count = memchr::memmem::find_iter(&response.body, mark).count();
    (count, memory(server.pid(), "VmHWM").saturating_sub(before))
}

fn pages_and_exports_take_little_memory() {
    let server = Server::start(&[]);
    let table = table_of_large_rows(&server.api(), 30);
    let small = format!("/export?format=jsonl&columnIds={}", table.column("Number"));
    let sorting = json!([{ "columnId": table.column("Number"), "direction": "desc" }]).to_string();
    let sorted = crate::harness::table::query_of(&[("pageSize", "30"), ("sorting", &sorting)]);
    let sorted = format!("/rows{sorted}");
    for (rest, mark) in [
        ("/rows?pageSize=30", "\"id\":\"row_"),
        (sorted.as_str(), "\"id\":\"row_"),
        ("/export?format=jsonl", "\"Number\":"),
        (small.as_str(), "\"Number\":"),
    ] {
        let (rows, grown) = read_all(&server, &table, rest, mark);
        assert_eq!(rows, 30, "{rest}");
        println!("{rest}: grew by {} MB", grown / 1_000_000);
        assert!(grown < ROW_BYTES + MORE_BYTES_MAX, "{rest}: grew by {grown} bytes");
    }
}

fn health_answers_beside_readers_of_large_rows() {
    let server = Server::start(&[]);
    let table = table_of_large_rows(&server.api(), 8);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let request = table.api.with_key(Request::get(table.path("/rows?pageSize=8")));
                while !is_over.load(Ordering::Relaxed) {
                    let response = http::exchange(&server.address, &request).unwrap();
                    assert!(response.status == 200 && response.body.len() > 8 * ROW_BYTES);
                }
            });
        }
        let mut times: Vec<Duration> = (0..30)
            .map(|_| {
                std::thread::sleep(Duration::from_millis(50));
                let start = Instant::now();
                assert_eq!(server.api().get("/healthz").status(), 200);
                start.elapsed()
            })
            .collect();
        is_over.store(true, Ordering::Relaxed);
        times.sort_unstable();
        println!("health beside large rows: median {:?}, longest {:?}", times[15], times[29]);
        assert!(times[15] < Duration::from_secs(1), "{times:?}");
    });
}

/// Twenty cells of a megabyte: more than the system's buffers take.
fn readers_who_do_not_read_hold_up_their_own_team_only() {
    const CELLS: usize = 20;
    const READERS: usize = 30;
    let server = Server::start(&[("ROWMILL_REQUEST_MEMORY", "64M")]);
    let headers: Vec<String> = (0..CELLS).map(|number| format!("Column {number}")).collect();
    let table = server.api().table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    let cell = "x".repeat(CELL_BYTES);
    let row: serde_json::Map<String, Value> =
        headers.iter().map(|header| (header.clone(), cell.clone().into())).collect();
    let request = table.api.with_key(Request::post(table.path("/rows")).json(&Value::Object(row)));
    assert_eq!(http::exchange(&server.address, &request).unwrap().status, 201);
    let id = table.rows(&[("columnIds", "_trigger")])["rows"][0]["id"].as_str().unwrap().to_owned();

    for rest in [format!("/rows/{id}"), "/rows?pageSize=1".to_owned()] {
        std::fs::write(format!("/proc/{}/clear_refs", server.pid()), "5").unwrap();
        let before = memory(server.pid(), "VmRSS");
        let request = table.api.with_key(Request::get(table.path(&rest)));
        let readers: Vec<(TcpStream, String)> = std::thread::scope(|scope| {
            let begin = || {
                let mut stream = http::connect(&server.address).unwrap();
                stream.write_all(request.head(&server.address).as_bytes()).unwrap();
                let mut head = [0; 12];
                stream.read_exact(&mut head).unwrap();
                (stream, String::from_utf8_lossy(&head).into_owned())
            };
            let readers: Vec<_> = (0..READERS).map(|_| scope.spawn(begin)).collect();
            readers.into_iter().map(|reader| reader.join().unwrap()).collect()
        });
        let grown = memory(server.pid(), "VmHWM").saturating_sub(before);
        let count = |head: &str| readers.iter().filter(|(_, sent)| sent == head).count();
        let (answered, refused) = (count("HTTP/1.1 200"), count("HTTP/1.1 503"));
        println!("{rest}: {answered} answered, {refused} refused, grew by {} MB", grown / 1_000_000);
        assert_eq!(answered + refused, READERS, "{rest}");
        assert!(answered > 0 && refused > 0, "{rest}: {answered} answered, {refused} refused");
        // PostgreSQL reads as many rows at once as there are connections to it; each is refused as soon as it was read.
        let times = if Database::current() == Database::Postgres { 4 } else { 1 };
        assert!(grown < times * READERS * CELLS * CELL_BYTES / 2, "{rest}: grew by {grown} bytes");
        assert_eq!(table.api.get("/v4/projects").status(), 200);
        drop(readers);
        let is_served = (0..100).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            http::exchange(&server.address, &request).unwrap().status == 200
        });
        assert!(is_served, "{rest}: room is given back");
    }
}

/// Asks for a page and reads its beginning.
fn begin(table: &Table, rest: &str) -> TcpStream {
    let mut stream = http::connect(&table.api.address).unwrap();
    let request = table.api.with_key(Request::get(table.path(rest)));
    stream.write_all(request.head(&table.api.address).as_bytes()).unwrap();
    stream.read_exact(&mut [0; 1_000]).unwrap();
    stream
}

/// Reads to the end; whether it is a proper one.
fn ends_properly(mut stream: TcpStream) -> bool {
    let mut last = Vec::new();
    let mut some = vec![0; 1 << 16];
    loop {
        match stream.read(&mut some) {
            Ok(0) => return last.ends_with(b"\r\n0\r\n\r\n"),
            Err(_) => return false,
            Ok(count) => {
                last.extend_from_slice(&some[..count]);
                last.drain(..last.len().saturating_sub(16));
            }
        }
    }
}

/// Whoever takes less than this reads on without a pause.
const QUICK: Duration = Duration::from_secs(1);

fn a_page_that_is_read_slowly_is_of_one_moment_or_breaks_off() {
    let server = Server::start(&[]);
    let table = table_of_large_rows(&server.api(), 12);
    let rows = table.rows(&[("pageSize", "12"), ("columnIds", table.column("Number"))]);
    let last = rows["rows"][11]["id"].as_str().unwrap().to_owned();
    let change = |number: u64| table.patch(&format!("/rows/{last}"), json!({ "Number": number }));
    // Whoever reads on sees the page as it was, whatever is written. On a busy machine nobody may be quick enough at once.
    let reads_on = || {
        let started = Instant::now();
        let quick = begin(&table, "/rows?pageSize=12");
        assert_eq!(change(100).status(), 200);
        let has_ended = ends_properly(quick);
        (has_ended || started.elapsed() < QUICK).then_some(has_ended)
    };
    assert_eq!((0..10).find_map(|_| reads_on()), Some(true));
    // Whoever stops for long does not keep its moment: it must not have changed.
    let pause = || std::thread::sleep(Duration::from_secs(4));
    let slow = begin(&table, "/rows?pageSize=12");
    pause();
    assert!(ends_properly(slow));
    let slow = begin(&table, "/rows?pageSize=12");
    pause();
    assert_eq!(change(101).status(), 200);
    assert!(!ends_properly(slow), "a page of two moments came to a proper end");
}

fn a_large_page_is_exactly_the_rows_asked_for(api: &Api) {
    let table = api.table(&["Text", "Number"]);
    // Some rows are larger than all that is read at once, some are small.
    let sizes = [900_000, 10, 900_000, 900_000, 900_000, 10, 10, 900_000, 900_000, 10];
    let rows: Vec<Value> = sizes
        .iter()
        .enumerate()
        .map(|(number, size)| json!({ "Text": "é".repeat(*size / 2), "Number": number }))
        .collect();
    let ids = table.insert(json!(rows));
    let numbers = |query: &[(&str, &str)]| -> Vec<u64> {
        let page = table.rows(query);
        let rows = page["rows"].as_array().unwrap();
        assert_eq!(page["pagination"]["totalRows"], 10);
        for row in rows {
            let cells = &row["cells"];
            let number = cells[table.column("Number")].as_u64().unwrap();
            let at = usize::try_from(number).unwrap();
            assert_eq!(row["id"], ids[at]);
            assert_eq!(cells[table.column("Text")].as_str().unwrap().len(), sizes[at] / 2 * 2);
        }
        rows.iter().map(|row| row["cells"][table.column("Number")].as_u64().unwrap()).collect()
    };
    let all: Vec<u64> = (0..10).collect();
    let down: Vec<u64> = (0..10).rev().collect();
    assert_eq!(numbers(&[("pageSize", "10")]), all);
    assert_eq!(numbers(&[("pageSize", "7")]), all[..7]);
    let sorting = json!([{ "columnId": table.column("Number"), "direction": "desc" }]).to_string();
    assert_eq!(numbers(&[("pageSize", "10"), ("sorting", &sorting)]), down);
    let filters = json!([{ "columnId": table.column("Number"), "operator": "isNotEmpty" }]).to_string();
    assert_eq!(numbers(&[("pageSize", "10"), ("filters", &filters)]), all);
    // The next page begins behind the last row, read or streamed.
    let first = table.rows(&[("pageSize", "4")]);
    let cursor = first["pagination"]["nextCursor"].as_str().unwrap();
    assert_eq!(numbers(&[("pageSize", "10"), ("cursor", cursor)]), all[4..]);
    let with_status = table.rows(&[("pageSize", "10"), ("withStatus", "true")]);
    assert_eq!(with_status["rows"].as_array().unwrap().len(), 10);
}
