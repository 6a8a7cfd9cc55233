//! What an operator sees at `/metrics`: everything has a meaning and a unit, and changes with the work.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::processing::{asks, run, started};
use crate::harness::database::Database;
use crate::harness::exposition::Exposition;
use crate::harness::runner::scenarios;
use crate::harness::server::{self, DataDir, METRICS_TOKEN, metrics_request};
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Request, Scenario, Server, StubServer, Table, eventually, http};

pub(crate) const OWN: &[Scenario] = &scenarios!("metrics", Own:
    everything_is_told_with_its_meaning_and_changes_with_the_work,
    the_queue_is_told_by_team_and_provider,
    breakers_that_open_are_told,
    the_database_is_asked_now_and_then_however_many_ask,
    metrics_are_on_the_main_address_for_who_has_the_token,
);

const TIME_MAX: Duration = Duration::from_secs(30);

fn read(server: &Server) -> Exposition {
    Exposition::read(&server.metrics())
}

/// A model that takes half a cent and a few tokens for an answer.
fn model() -> StubServer {
    StubServer::start(|_, _| {
        ok(json!({
            "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }],
            "usage": { "cost": 0.005, "prompt_tokens": 30, "completion_tokens": 4 },
        }))
    })
}

pub(super) fn with_model(variables: &[(&str, &str)]) -> (Server, StubServer) {
    let model = model();
    let url = model.url("/v1");
    let own = [
        ("ROWMILL_OPENAI_BASE_URL", url.as_str()),
        ("ROWMILL_OPENAI_API_KEY", "sk-1"),
        ("ROWMILL_AI_MODEL", "small-1"),
    ];
    let server = started(&own.iter().chain(variables).copied().collect::<Vec<_>>());
    (server, model)
}

/// A table with an answer of a model to three rows, two of which ask the same.
pub(super) fn answered(server: &Server) -> Table {
    let table = server.api().table(&["Name"]);
    table.add_column(json!({
        "templateId": "ai-text", "header": "Answer", "cacheTtlSeconds": 600,
        "aiConfig": { "prompt": "@{Name}?", "provider": "openai" },
    }));
    table.insert(json!([{ "Name": "a" }, { "Name": "b" }, { "Name": "a" }]));
    run(&table, json!({}));
    table
}

fn everything_is_told_with_its_meaning_and_changes_with_the_work() {
    let (server, _model) = with_model(&[]);
    let before = read(&server);
    assert_eq!(before.sum("rowmill_calls_total", &[]), None);
    assert_eq!(before.sum("rowmill_database_up", &[]), Some(1.0));
    let store = match Database::current() {
        Database::Sqlite => "sqlite",
        Database::Postgres => "postgres",
    };
    let build = [("version", env!("CARGO_PKG_VERSION")), ("store", store)];
    assert_eq!(before.sum("rowmill_build_info", &build), Some(1.0));
    let table = answered(&server);
    for _ in 0..3 {
        table.get("/rows").ok();
    }
    let after = eventually("the looks at the database show it", TIME_MAX, || {
        let after = read(&server);
        (after.sum("rowmill_spent_dollars_total", &[]).is_some()).then_some(after)
    });
    let openai = [("provider", "openai")];
    assert_eq!(after.sum("rowmill_calls_total", &openai), Some(2.0));
    assert_eq!(after.sum("rowmill_call_seconds_count", &openai), Some(2.0));
    assert_eq!(after.sum("rowmill_call_seconds_bucket", &[openai[0], ("le", "120")]), Some(2.0));
    assert_eq!(after.sum("rowmill_cells_settled_total", &[("outcome", "value")]), Some(3.0));
    assert_eq!(after.sum("rowmill_tokens_total", &[openai[0], ("kind", "input")]), Some(60.0));
    assert_eq!(after.sum("rowmill_tokens_total", &[openai[0], ("kind", "output")]), Some(8.0));
    assert_eq!(after.sum("rowmill_spent_dollars_total", &openai), Some(0.01));
    let answers =
        |result| after.sum("rowmill_cache_lookups_total", &[("cache", "answers"), ("result", result)]);
    assert_eq!((answers("hit"), answers("miss")), (Some(1.0), Some(2.0)));
    assert!(after.sum("rowmill_cache_lookups_total", &[("cache", "pages"), ("result", "hit")]) >= Some(1.0));
    assert_eq!(after.sum("rowmill_circuit_breakers", &[openai[0], ("state", "closed")]), Some(1.0));
    assert_eq!(after.sum("rowmill_circuit_breakers", &[openai[0], ("state", "open")]), Some(0.0));
    assert!(after.sum("rowmill_rate_limits", &openai) >= Some(1.0));
    for name in ["rowmill_database_bytes", "process_start_time_seconds"] {
        assert!(after.sum(name, &[]) > Some(0.0), "{name}");
    }
    assert!(after.sum("rowmill_database_connections", &[]).is_some());
    let (wal, written) = ("rowmill_database_wal_bytes", "rowmill_database_wal_written_bytes_total");
    let (told, untold) = if store == "sqlite" { (wal, written) } else { (written, wal) };
    assert!(after.sum(told, &[]) > Some(0.0), "{told}");
    assert_eq!(after.sum(untold, &[]), None, "{untold}");
    assert!(after.sum("rowmill_event_loop_delay_seconds_count", &[]) > Some(0.0));
    let requests = |read: &Exposition| read.sum("rowmill_http_requests_total", &[]).unwrap_or_default();
    assert!(requests(&after) > requests(&before));
    for label in after.values("rowmill_http_requests_total", "route") {
        assert!(!label.contains(&table.id), "{label}");
    }
}

fn rows(count: usize) -> Value {
    (0..count).map(|number| json!({ "Name": format!("n{number}") })).collect()
}

fn the_queue_is_told_by_team_and_provider() {
    let held = StubServer::start(|_, _| Reply::Hanging);
    let server = started(&[("ROWMILL_WORKER_CONCURRENCY", "4")]);
    let tables = [(server.api(), 30), (server.team("busy-team"), 50)].map(|(api, count)| {
        let table = api.table(&["Name"]);
        asks(&table, "Told", &held, "/@{Name}", json!({}));
        table.insert(rows(count));
        table.post("/trigger", json!({})).ok();
        table
    });
    let queue = |read: &Exposition, team: &str, state: &str| {
        let labels = [("team", team), ("provider", "http-api"), ("state", state)];
        read.sum("rowmill_queue_cells", &labels).unwrap_or_default()
    };
    let all = |read: &Exposition, team: &str| queue(read, team, "queued") + queue(read, team, "running");
    let told = eventually("the queue is told", TIME_MAX, || {
        let told = read(&server);
        let is = |team: &str, cells: f64| (all(&told, team) - cells).abs() < 0.5;
        let is_told = is("default", 30.0) && is("busy-team", 50.0);
        (is_told && queue(&told, "default", "running") > 0.0).then_some(told)
    });
    assert!(queue(&told, "busy-team", "queued") >= 40.0);
    let labels = [("team", "default"), ("provider", "http-api")];
    let age = told.sum("rowmill_queue_age_seconds", &labels).unwrap();
    assert!((0.0..300.0).contains(&age), "{age}");
    let stream = server.api().with_key(Request::get(tables[0].path("/events?seconds=60")));
    let mut open = http::connect(&server.address).unwrap();
    std::io::Write::write_all(&mut open, stream.head(&server.address).as_bytes()).unwrap();
    eventually("the stream is told", TIME_MAX, || {
        (read(&server).sum("rowmill_event_streams", &[]) == Some(1.0)).then_some(())
    });
    for table in &tables {
        table.post("/stop", json!({})).ok();
    }
    eventually("the queue is empty", TIME_MAX, || {
        (read(&server).sum("rowmill_queue_cells", &[]).is_none()).then_some(())
    });
}

fn breakers_that_open_are_told() {
    let server = started(&[("ROWMILL_WORKER_CONCURRENCY", "16")]);
    let failing = StubServer::start(|_, _| Reply::Json(500, json!({ "error": "No" })));
    let table = server.api().table(&["Name"]);
    asks(&table, "Told", &failing, "/@{Name}", json!({}));
    table.insert(rows(60));
    table.post("/trigger", json!({})).ok();
    eventually("a breaker is open", TIME_MAX, || {
        let labels = [("provider", "http-api"), ("state", "open")];
        (read(&server).sum("rowmill_circuit_breakers", &labels) >= Some(1.0)).then_some(())
    });
}

fn the_database_is_asked_now_and_then_however_many_ask() {
    let server = Server::start(&[]);
    let asked = || read(&server).sum("rowmill_metrics_samples_total", &[]).unwrap();
    let (first, began) = (asked(), Instant::now());
    for _ in 0..100 {
        server.metrics();
    }
    let times = asked() - first;
    let most = began.elapsed().as_secs_f64() / 5.0 + 1.0;
    assert!(times <= most, "{times} in {:?}", began.elapsed());
}

fn metrics_are_on_the_main_address_for_who_has_the_token() {
    let wrong = Request::get("/metrics").header("Authorization", "Bearer metrics-token-of-others");
    let server = Server::start(&[("ROWMILL_ADMIN_LISTEN", "127.0.0.1:0")]);
    let admin = server.log();
    let admin = admin.split("metrics are also on http://").nth(1).unwrap().split_whitespace().next().unwrap();
    let status = |address: &str, request: &Request| http::exchange(address, request).unwrap().status;
    assert_eq!(status(&server.address, &wrong), 401);
    assert_eq!(status(&server.address, &metrics_request()), 200);
    assert_eq!(status(admin, &Request::get("/metrics")), 200);
    assert!(!server.log().contains(METRICS_TOKEN));
    for token in ["", " "] {
        let server = Server::start(&[("ROWMILL_METRICS_TOKEN", token)]);
        assert_eq!(status(&server.address, &Request::get("/metrics")), 200);
        for name in ["X-Forwarded-Host", "X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"] {
            let forwarded = Request::get("/metrics").header(name, "192.0.2.1");
            server.api_without_key().send(forwarded).refused(401, "unauthenticated");
        }
    }
    let told = server::refusal(&DataDir::new(), &[("ROWMILL_METRICS_TOKEN", "canary")]);
    assert!(told.contains("at least 16 characters") && !told.contains("canary"), "{told}");
}
