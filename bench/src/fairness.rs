//! A quiet team beside noisy neighbours: what it waits for, alone and then.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::any_result::AnyResult;
use crate::bare::Bare;
use crate::client::{Connection, request};
use crate::effort::Effort;
use crate::report::{Goal, Pairs, Report, median};
use crate::rowmill::{Project, Rowmill};
use crate::sample;
use crate::store::Backend;

/// The quiet team's median may grow by so much,
const RATIO_MAX: f64 = 10.0;
/// and to so many milliseconds.
const MILLISECONDS_MAX: f64 = 50.0;
/// What neighbours have before the quiet team is looked at again.
const WARM_UP: Duration = Duration::from_millis(500);
/// Something that does not end by then is counted as if it had.
const SCRAPE_TIME_MAX: Duration = Duration::from_mins(2);
const BULK_ROWS: usize = 10_000;
/// The rows of the table that neighbours read.
const TABLE_ROWS: usize = 20_000;
const LONG_VALUE_BYTES: usize = 1_000_000;
const LONG_ROWS: usize = 60;
/// What a quiet team does, how it is timed, and its neighbour's noise.
type Case<'a> = (&'a str, &'a dyn Fn() -> AnyResult<f64>, Noise<'a>);

/// How often a trickling connection sends a byte.
const TRICKLE_EVERY: Duration = Duration::from_millis(500);

pub(crate) fn measure(
    server: &Path,
    backend: &Backend,
    scratch: &Path,
    effort: &Effort,
    report: &mut Report,
) -> AnyResult {
    let folder = scratch.join("fairness");
    crate::folders::clear(&folder)?;
    let rowmill = Rowmill::start(server, backend.place(&folder.join("data"))?)?;
    let quiet = Quiet::new(&rowmill)?;
    let noisy = Noisy::new(&rowmill)?;
    let pages = Bare::start(scratch, &[slow_page(), b"<p>Hello, world.</p>".to_vec()])?;
    let scrapes = Scrapes::new(&rowmill, &quiet, &pages)?;
    let health = request("GET", "/healthz", "", "");
    let listing = request("GET", "/v4/projects", &quiet.key, "");
    let list = || timed(&rowmill, &listing);
    let write = || timed(&rowmill, &quiet.one_row);
    let healthy = || timed(&rowmill, &health);
    let scrape = || scrapes.one();
    let get = |rest: &str| rowmill.request("GET", &format!("/v4/projects/{}{rest}", noisy.table.id), "");
    let long = rowmill.request("GET", &format!("{}?pageSize=60", noisy.long.rows_path()), "");
    let bulk = rowmill.request("POST", &noisy.inserts.rows_path(), &rows(BULK_ROWS));
    let cases: [Case<'_>; 6] = [
        ("project list beside 32 pages of 1,000 rows", &list, Noise::Asking(32, get("/rows?pageSize=1000"))),
        ("project list beside 32 exports", &list, Noise::Asking(32, get("/export?format=csv"))),
        ("one-row write beside 16 bulk inserts of 10,000 rows", &write, Noise::Asking(16, bulk)),
        ("scrape beside 8 slow pages", &scrape, Noise::Scraping(&scrapes)),
        ("/healthz beside 8 readers of 1 MB rows", &healthy, Noise::Asking(8, long)),
        ("/healthz beside 1,000 trickling connections", &healthy, Noise::Trickling(1_000)),
    ];
    for (what, ask, noise) in cases {
        let mut pairs = Pairs::default();
        for _ in 0..effort.rounds {
            let alone = repeated(effort.round_time, ask)?;
            let beside = noise.beside(rowmill.address, || {
                std::thread::sleep(WARM_UP);
                repeated(2 * effort.round_time, ask)
            })?;
            pairs.push(beside, alone);
        }
        report.pair(what, "ms", &pairs, Some(Goal::AtMost(RATIO_MAX)));
        report.single(
            &format!("{what}: in itself"),
            &pairs.measured(),
            "ms",
            Some(Goal::AtMost(MILLISECONDS_MAX)),
        );
    }
    drop(rowmill);
    crate::folders::clear(&folder)
}

/// The median of what something takes, asked again and again for a while.
fn repeated(time: Duration, ask: &dyn Fn() -> AnyResult<f64>) -> AnyResult<f64> {
    let start = Instant::now();
    let mut figures = vec![ask()?];
    while start.elapsed() < time {
        figures.push(ask()?);
    }
    Ok(median(figures))
}

/// Milliseconds to the answer, the connection included.
fn timed(rowmill: &Rowmill, request: &[u8]) -> AnyResult<f64> {
    let start = Instant::now();
    Connection::open(rowmill.address)?.exchange(request)?;
    Ok(milliseconds(start))
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1_000.0
}

/// What neighbours do.
enum Noise<'a> {
    /// So many clients that ask the same over and over.
    Asking(usize, Vec<u8>),
    /// So many connections that send a request byte by byte.
    Trickling(usize),
    /// Slow pages are read.
    Scraping(&'a Scrapes<'a>),
}

impl Noise<'_> {
    /// Makes noise for as long as something is measured.
    fn beside<T>(&self, address: SocketAddr, measure: impl FnOnce() -> T) -> T {
        let stopped = AtomicBool::new(false);
        std::thread::scope(|scope| {
            match self {
                Self::Asking(clients, request) => {
                    for _ in 0..*clients {
                        scope.spawn(|| keep_asking(address, request, &stopped));
                    }
                }
                Self::Trickling(connections) => {
                    drop(scope.spawn(|| trickle(address, *connections, &stopped)));
                }
                Self::Scraping(scrapes) => drop(scope.spawn(|| scrapes.keep_slow(&stopped))),
            }
            let measured = measure();
            stopped.store(true, Ordering::Relaxed);
            measured
        })
    }
}

/// A neighbour does not care what it is answered: it may be told to come back later.
fn keep_asking(address: SocketAddr, request: &[u8], stopped: &AtomicBool) {
    let closing = String::from_utf8_lossy(request).replacen("\r\n", "\r\nConnection: close\r\n", 1);
    let mut buffer = vec![0; 256 * 1024];
    while !stopped.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect(address) else { continue };
        if stream.write_all(closing.as_bytes()).is_ok() {
            while matches!(stream.read(&mut buffer), Ok(1..)) {}
        }
    }
}

fn trickle(address: SocketAddr, connections: usize, stopped: &AtomicBool) {
    let head = b"POST /v4/projects HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\nX-Slow: ";
    let mut open = Vec::new();
    let mut next = Instant::now();
    while !stopped.load(Ordering::Relaxed) {
        while open.len() < connections
            && !stopped.load(Ordering::Relaxed)
            && let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100))
        {
            let _ = stream.write_all(head);
            open.push(stream);
        }
        if Instant::now() >= next {
            next = Instant::now() + TRICKLE_EVERY;
            // Those that were closed are opened again.
            open.retain_mut(|stream| stream.write_all(b"x").is_ok());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A team that asks little.
struct Quiet {
    key: String,
    one_row: Vec<u8>,
}

impl Quiet {
    fn new(rowmill: &Rowmill) -> AnyResult<Self> {
        let key = rowmill.team("quiet")?;
        let body = json!({ "title": "Quiet", "columns": [{ "templateId": "manual", "header": "Name" }] });
        let answer = exchange(rowmill, &request("POST", "/v4/projects", &key, &body.to_string()))?;
        let id = answer.pointer("/project/id").and_then(Value::as_str).ok_or("the project has no id")?;
        let one_row = request("POST", &format!("/v4/projects/{id}/rows"), &key, "[{\"Name\":\"Ada\"}]");
        Ok(Self { key, one_row })
    }
}

/// The tables of a team that asks much.
struct Noisy {
    table: Project,
    inserts: Project,
    long: Project,
}

impl Noisy {
    fn new(rowmill: &Rowmill) -> AnyResult<Self> {
        let (table, inserts) = (rowmill.create_project()?, rowmill.create_project()?);
        for _ in 0..TABLE_ROWS / BULK_ROWS {
            rowmill.ask("POST", &table.rows_path(), &rows(BULK_ROWS))?;
        }
        let long = rowmill.create_project_of(&["Text"])?;
        let row = json!([{ "Text": "x".repeat(LONG_VALUE_BYTES) }]).to_string();
        for _ in 0..LONG_ROWS {
            rowmill.ask("POST", &long.rows_path(), &row)?;
        }
        Ok(Self { table, inserts, long })
    }
}

fn rows(count: usize) -> String {
    format!("[{}]", (0..count).map(sample::row).collect::<Vec<_>>().join(","))
}

/// An ordinary page, but 9 MB of it.
fn slow_page() -> Vec<u8> {
    let part = "<section><h2>About mills</h2><p>A mill <b>grinds</b> corn, and <a href='/rows'>rows</a> \
                of it stand along the river, as they have for hundreds of years.</p><ul><li>one<li>two</ul></section>";
    let mut page = "<!doctype html><title>Mills</title><main>".to_owned();
    while page.len() < 9 * 1024 * 1024 {
        page.push_str(part);
    }
    page.into_bytes()
}

/// Pages that are scraped: one of the quiet team's, eight slow ones of its neighbour's.
struct Scrapes<'a> {
    rowmill: &'a Rowmill,
    key: &'a str,
    quiet: String,
    noisy: String,
}

impl<'a> Scrapes<'a> {
    fn new(rowmill: &'a Rowmill, quiet: &'a Quiet, pages: &Bare) -> AnyResult<Self> {
        let page = |number: usize, row: usize| format!("http://{}/{number}?{row}", pages.address);
        let own = table_of_pages(rowmill, &quiet.key, &[page(1, 0)])?;
        let slow: Vec<String> = (0..8).map(|row| page(0, row)).collect();
        let noisy = table_of_pages(rowmill, &rowmill.key, &slow)?;
        Ok(Self { rowmill, key: &quiet.key, quiet: own, noisy })
    }

    /// Reads the slow pages again and again, and leaves none behind.
    fn keep_slow(&self, stopped: &AtomicBool) {
        let path = |rest: &str| format!("{}/{rest}", self.noisy);
        while !stopped.load(Ordering::Relaxed) {
            let is_done = self.rowmill.ask("GET", &path("status"), "").is_ok_and(|status| {
                serde_json::from_slice::<Value>(&status)
                    .is_ok_and(|status| status.get("processing") == Some(&json!(false)))
            });
            if is_done {
                let _ = self.rowmill.ask("POST", &path("trigger"), "{\"force\":true}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let _ = self.rowmill.ask("POST", &path("stop"), "{}");
    }

    /// Milliseconds from the trigger to the result.
    fn one(&self) -> AnyResult<f64> {
        let Self { rowmill, key, quiet, noisy: _ } = self;
        let start = Instant::now();
        exchange(rowmill, &request("POST", &format!("{quiet}/trigger"), key, "{\"force\":true}"))?;
        let status = request("GET", &format!("{quiet}/status"), key, "");
        while exchange(rowmill, &status)?.get("processing") != Some(&json!(false)) {
            if start.elapsed() > SCRAPE_TIME_MAX {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(milliseconds(start))
    }
}

/// A project whose rows are addresses of pages; the path to it.
fn table_of_pages(rowmill: &Rowmill, key: &str, pages: &[String]) -> AnyResult<String> {
    let task =
        json!({ "taskType": "webScraper", "webScraper": { "url": "@{Site}", "respectRobots": false } });
    let columns = json!([
        { "templateId": "manual", "header": "Site" },
        { "templateId": "web-scraper", "header": "Page", "taskConfig": task },
    ]);
    let body = json!({ "title": "Pages", "columns": columns }).to_string();
    let made = exchange(rowmill, &request("POST", "/v4/projects", key, &body))?;
    let id = made.pointer("/project/id").and_then(Value::as_str).ok_or("the project has no id")?;
    let path = format!("/v4/projects/{id}");
    let rows: Vec<Value> = pages.iter().map(|page| json!({ "Site": page })).collect();
    exchange(rowmill, &request("POST", &format!("{path}/rows"), key, &Value::from(rows).to_string()))?;
    Ok(path)
}

fn exchange(rowmill: &Rowmill, request: &[u8]) -> AnyResult<Value> {
    Ok(serde_json::from_slice(Connection::open(rowmill.address)?.exchange(request)?)?)
}
