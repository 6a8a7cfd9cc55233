//! Shared rate limits: several nodes on one database keep to them together.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::nodes::first;
use super::processing::{asks, ended};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Scenario, Server, StubServer};

pub(crate) const NODES: &[Scenario] = &scenarios!("together", Nodes:
    a_columns_rate_holds_over_all_nodes,
    a_rest_is_kept_by_all_nodes,
    callers_are_limited_over_all_nodes,
);

/// When calls came, by the first of them.
#[derive(Clone, Default)]
struct Times(Arc<Mutex<Vec<Instant>>>);

impl Times {
    fn note(&self) {
        self.0.lock().unwrap().push(Instant::now());
    }

    fn since_the_first(&self) -> Vec<Duration> {
        let times = self.0.lock().unwrap();
        times.iter().map(|time| time.duration_since(times[0])).collect()
    }
}

/// A node that processes nothing, and two that do.
fn three() -> (Server, [Server; 2]) {
    let here = first(&[("ROWMILL_NO_WORKERS", "true")]);
    let works = [("ROWMILL_NO_WORKERS", "false"), ("ROWMILL_WORKER_CONCURRENCY", "4")];
    let workers = [here.beside("serve", &works), here.beside("serve", &works)];
    (here, workers)
}

fn rows(count: usize) -> Value {
    (0..count).map(|number| json!({ "Key": format!("k{number}") })).collect()
}

fn calls_of(node: &Server) -> u64 {
    let metrics = node.metrics();
    let lines = metrics.lines().filter(|line| line.starts_with("rowmill_calls_total{"));
    lines.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

fn a_columns_rate_holds_over_all_nodes() {
    let times = Times::default();
    let noting = times.clone();
    let stub_server = StubServer::start(move |_, _| {
        noting.note();
        ok(json!({}))
    });
    let (here, workers) = three();
    let table = here.api().table(&["Key"]);
    let rate = json!({ "requests": 20, "perSeconds": 2 });
    asks(&table, "Answer", &stub_server, "/@{Key}", json!({ "rateLimit": rate }));
    table.insert(rows(60));
    table.post("/trigger", json!({})).ok();
    ended(&table);
    let calls = times.since_the_first();
    assert_eq!(calls.len(), 60);
    let window = |start: &Duration| {
        calls.iter().filter(|call| (*start..*start + Duration::from_secs(2)).contains(*call)).count()
    };
    // A tenth may be in hand and used late, and some calls may be late on their way.
    let most = calls.iter().map(window).max().unwrap();
    assert!(most <= 25, "{most} calls in two seconds: {calls:?}");
    let shares = workers.each_ref().map(calls_of);
    assert!(shares.iter().all(|share| *share > 0) && shares.iter().sum::<u64>() == 60, "{shares:?}");
}

fn a_rest_is_kept_by_all_nodes() {
    let times = Times::default();
    let noting = times.clone();
    let stub_server = StubServer::start(move |_, number| {
        noting.note();
        // Slow enough that both nodes call the host before the rest is over.
        std::thread::sleep(Duration::from_millis(100));
        if number == 3 {
            Reply::With(429, vec![("Retry-After", "4".to_owned())], String::new())
        } else {
            ok(json!({}))
        }
    });
    let (here, workers) = three();
    let table = here.api().table(&["Key"]);
    asks(&table, "Answer", &stub_server, "/@{Key}", json!({}));
    table.insert(rows(120));
    table.post("/trigger", json!({})).ok();
    let status = ended(&table);
    assert_eq!(status["rows"]["complete"], 120, "{status}");
    let calls = times.since_the_first();
    // Whoever had begun before they heard of it ends; then nobody calls for four seconds.
    let longest = calls.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).max().unwrap();
    assert!(longest > Duration::from_secs(3), "{calls:?}");
    assert!(workers.iter().all(|node| calls_of(node) > 0), "both nodes called");
}

fn callers_are_limited_over_all_nodes() {
    let here = first(&[("ROWMILL_RATE_LIMIT_KEY", "5/10")]);
    let there = here.beside("serve", &[]);
    let key = here.api();
    let nodes = [here.api(), key.at(&there.address)];
    let is_let_in = |number: usize| nodes[number % 2].get("/v4/team").status() == 200;
    // A burst from each at first, as long as neither knows of the other.
    let burst = (0..60).filter(|number| is_let_in(*number)).count();
    assert!((10..=40).contains(&burst), "{burst}");
    let (start, mut number, mut let_in) = (Instant::now(), 0, 0);
    while start.elapsed() < Duration::from_secs(4) {
        let_in += usize::from(is_let_in(number));
        number += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
    // Twenty in four seconds, and not forty; fewer, where there was a burst to be paid back.
    assert!((5..=26).contains(&let_in), "{let_in} of {number}");
}
