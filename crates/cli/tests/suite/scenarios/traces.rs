//! Traces: what a collector gets of requests, cells and calls, and what happens if there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use serde_json::json;

use super::batches;
use super::nodes;
use super::outbound_webhooks::{hook_for, receiver};
use super::processing::{asks, ended, started};
use crate::harness::batch_provider::BatchProvider;
use crate::harness::exposition::Exposition;
use crate::harness::runner::scenarios;
use crate::harness::spans::{Span, received};
use crate::harness::stub_server::{Reply, ok};
use crate::harness::{Request, Scenario, Server, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("traces", Own:
    a_request_its_cells_and_their_calls_are_one_tree,
    rows_that_run_by_themselves_belong_to_who_made_them,
    the_caller_decides_what_is_sampled,
    a_collector_that_fails_harms_nobody,
    a_shutdown_sends_what_is_left,
    deliveries_and_batches_have_spans,
    without_a_collector_nothing_is_traced,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("traces", Nodes:
    a_trace_goes_on_in_another_process,
);

const TIME_MAX: Duration = Duration::from_secs(30);
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

/// All that spans may tell.
const ATTRIBUTES: [&str; 9] = [
    "http.request.method",
    "http.route",
    "http.response.status_code",
    "rowmill.team.id",
    "rowmill.project.id",
    "rowmill.column.id",
    "rowmill.provider",
    "rowmill.outcome",
    "error.type",
];

fn collector() -> StubServer {
    StubServer::start(|_, _| {
        Reply::With(200, vec![("Content-Type", "application/x-protobuf".to_owned())], String::new())
    })
}

fn traced(collector: &StubServer, variables: &[(&str, &str)]) -> Server {
    let url = collector.url("");
    let own = [("ROWMILL_OTLP_ENDPOINT", url.as_str())];
    started(&own.iter().chain(variables).copied().collect::<Vec<_>>())
}

fn parent(flags: &str) -> String {
    format!("00-{TRACE}-{CALLER}-{flags}")
}

fn trigger(table: &Table, traceparent: &str) {
    let request = Request::post(table.path("/trigger")).json(&json!({})).header("traceparent", traceparent);
    table.api.send(request).ok();
    ended(table);
}

/// The spans of a trace, once there are so many.
#[track_caller]
fn of_trace(collector: &StubServer, trace: &str, count: usize) -> Vec<Span> {
    eventually("the collector has the trace", TIME_MAX, || {
        let spans: Vec<Span> = received(collector).into_iter().filter(|span| span.trace == trace).collect();
        assert!(spans.len() <= count, "{spans:#?}");
        (spans.len() == count).then_some(spans)
    })
}

fn named<'s>(spans: &'s [Span], name: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.name == name).collect()
}

fn a_request_its_cells_and_their_calls_are_one_tree() {
    let collector = collector();
    // The first calls for the second row fail, and are tried again.
    let provider = StubServer::start(|seen, number| match number {
        ..2 if seen.path.contains("canary-b") => Reply::Json(503, json!({})),
        _ => ok(json!({ "answer": "canary-answer" })),
    });
    let settings = [("ROWMILL_OTLP_PROPAGATE", "127.0.0.1"), ("OTEL_SERVICE_NAME", "tables")];
    let server =
        traced(&collector, &[&settings[..], &[("ROWMILL_OTLP_HEADERS", "x-token=canary-token")]].concat());
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Answer", &provider, "/canary-path/@{Name}?key=canary-query", json!({}));
    table.insert(json!([{ "Name": "canary-a" }, { "Name": "canary-b" }]));
    trigger(&table, &parent("01"));
    let call_count = provider.count();
    let spans = of_trace(&collector, TRACE, 1 + 2 * call_count);
    let team = server.api().get("/v4/team").ok()["team"]["id"].as_str().unwrap().to_owned();

    let requests = named(&spans, "POST /v4/projects/{projectId}/trigger");
    assert_eq!(requests.len(), 1, "{spans:#?}");
    let request = requests[0];
    assert_eq!((request.parent.as_str(), request.kind, request.is_error), (CALLER, 2, false));
    let expected = [
        ("http.request.method", "POST"),
        ("http.route", "/v4/projects/{projectId}/trigger"),
        ("http.response.status_code", "200"),
        ("rowmill.team.id", team.as_str()),
        ("rowmill.project.id", table.id.as_str()),
        ("rowmill.outcome", "ok"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(request.attributes, BTreeMap::from(expected));
    assert_eq!(request.resource["service.name"], "tables");

    let cells = named(&spans, "cell");
    assert_eq!(cells.len(), call_count);
    let mut outcomes: Vec<&str> =
        cells.iter().map(|cell| cell.attributes["rowmill.outcome"].as_str()).collect();
    outcomes.sort_unstable();
    assert_eq!(outcomes.iter().filter(|word| **word == "value").count(), 2, "{outcomes:?}");
    for cell in &cells {
        assert_eq!((cell.parent.as_str(), cell.kind), (request.id.as_str(), 1), "{cell:?}");
        assert_eq!(
            (&cell.attributes["rowmill.column.id"], &cell.attributes["rowmill.project.id"]),
            (&column, &table.id)
        );
        assert_eq!(cell.attributes["rowmill.team.id"], team);
        assert_eq!(cell.is_error, cell.attributes["rowmill.outcome"] == "retry", "{cell:?}");
    }
    let asked = named(&spans, "call http-api");
    let of_cells: BTreeSet<&str> = cells.iter().map(|cell| cell.id.as_str()).collect();
    let parents: BTreeSet<&str> = asked.iter().map(|call| call.parent.as_str()).collect();
    assert_eq!(parents, of_cells, "each cell has its call");
    for call in &asked {
        assert_eq!((call.kind, call.attributes["rowmill.provider"].as_str()), (3, "http-api"), "{call:?}");
        let cell = cells.iter().find(|cell| cell.id == call.parent).unwrap();
        assert!(call.took_ns <= cell.took_ns && cell.took_ns < 60_000_000_000, "{call:?} {cell:?}");
    }
    // The provider was told, because its host is named.
    let told: BTreeSet<String> =
        provider.seen().iter().map(|seen| seen.headers["traceparent"].clone()).collect();
    let sent: BTreeSet<String> = asked.iter().map(|call| format!("00-{TRACE}-{}-01", call.id)).collect();
    assert_eq!(told, sent);
    tells_nothing_of_values(&collector, &server);
}

/// What somebody typed is in no span, whatever was asked for.
fn tells_nothing_of_values(collector: &StubServer, server: &Server) {
    let api = server.api();
    let before = received(collector).len();
    api.get("/v4/projects/canary-project/rows?search=canary-search").refused(404, "project_not_found");
    api.send(Request::get("/hooks/canary-hook/canary-secret")).status();
    api.send(Request::get("/canary-page?canary=canary")).status();
    let unmatched = eventually("the last is there", TIME_MAX, || {
        let spans = received(collector);
        (spans.len() >= before + 3).then_some(spans)
    });
    for span in &unmatched {
        for name in span.attributes.keys() {
            assert!(ATTRIBUTES.contains(&name.as_str()), "{span:?}");
        }
    }
    for seen in collector.seen() {
        assert_eq!(seen.headers["x-token"], "canary-token");
        assert!(!seen.body.contains("canary"), "{}", seen.body);
    }
}

fn rows_that_run_by_themselves_belong_to_who_made_them() {
    let (collector, provider) = (collector(), StubServer::start(|_, _| ok(json!("yes"))));
    let server = traced(&collector, &[]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Answer", &provider, "/@{Name}", json!({}));
    table.patch("", json!({ "autoplay": true })).ok();
    let rows = json!({ "rows": [{ "Name": "a" }, { "Name": "b" }] });
    let request = Request::post(table.path("/rows")).json(&rows).header("traceparent", &parent("01"));
    table.api.send(request).created();
    ended(&table);
    let spans = of_trace(&collector, TRACE, 5);
    let request = named(&spans, "POST /v4/projects/{projectId}/rows")[0];
    let cells = named(&spans, "cell");
    assert!(cells.len() == 2 && cells.iter().all(|cell| cell.parent == request.id), "{spans:#?}");
    assert_eq!(named(&spans, "call http-api").len(), 2);
    assert!(
        provider.seen().iter().all(|seen| !seen.headers.contains_key("traceparent")),
        "nobody named its host"
    );
}

fn the_caller_decides_what_is_sampled() {
    let (collector, provider) = (collector(), StubServer::start(|_, _| ok(json!("yes"))));
    let server = traced(&collector, &[("ROWMILL_OTLP_SAMPLE", "0"), ("ROWMILL_OTLP_PROPAGATE", "*")]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Answer", &provider, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }]));
    // Unsampled: by the ratio, by the flag, and because the header is none.
    trigger(&table, "made up");
    table.post("/trigger", json!({ "force": true })).ok();
    ended(&table);
    let unsampled = Request::post(table.path("/trigger")).json(&json!({ "force": true }));
    table.api.send(unsampled.header("traceparent", &parent("00"))).ok();
    ended(&table);
    let handed_on = provider.seen().last().unwrap().headers["traceparent"].clone();
    assert!(handed_on.starts_with(&format!("00-{TRACE}-")) && handed_on.ends_with("-00"), "{handed_on}");
    // Sampled, by the flag.
    let sampled = Request::post(table.path("/trigger")).json(&json!({ "force": true }));
    table.api.send(sampled.header("traceparent", &parent("01"))).ok();
    ended(&table);
    of_trace(&collector, TRACE, 3);
    let spans = received(&collector);
    assert_eq!(spans.len(), 3, "nothing else was sampled: {spans:#?}");

    let all = traced(&collector, &[]);
    let bad = Request::get("/v4/team").header("traceparent", &format!("00-{TRACE}-{CALLER}-1"));
    all.api().send(bad).ok();
    all.api().send(Request::get("/v4/team").header("traceparent", &parent("00"))).ok();
    let begun = eventually("a trace of its own is begun", TIME_MAX, || {
        let spans = received(&collector);
        spans.into_iter().find(|span| span.name == "GET /v4/team")
    });
    assert!(begun.trace != TRACE && begun.parent.is_empty(), "{begun:?}");
    all.terminate();
    assert!(all.wait_for_end().success());
    let asked = received(&collector).into_iter().filter(|span| span.name == "GET /v4/team");
    assert_eq!(asked.count(), 1, "the other was not sampled");
}

fn spans_of(server: &Server, name: &str, labels: &[(&str, &str)]) -> f64 {
    Exposition::read(&server.metrics()).sum(name, labels).unwrap_or_default()
}

fn a_collector_that_fails_harms_nobody() {
    let replies = [
        Reply::Hang,
        Reply::Trickle,
        Reply::Endless,
        Reply::Json(404, json!({})),
        Reply::Json(503, json!({})),
    ];
    for reply in replies {
        let answer = reply.clone();
        let collector = StubServer::start(move |_, _| answer.clone());
        let server = traced(&collector, &[("ROWMILL_LOG", "info")]);
        let start = Instant::now();
        for _ in 0..50 {
            server.api().get("/v4/team").ok();
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{reply:?}: {:?}", start.elapsed());
        eventually("the collector is asked", TIME_MAX, || (collector.count() > 0).then_some(()));
        match reply {
            Reply::Json(404, _) => {
                eventually("what was refused is counted", TIME_MAX, || {
                    let failed = [("reason", "failed")];
                    (spans_of(&server, "rowmill_otlp_spans_dropped_total", &failed) >= 50.0).then_some(())
                });
            }
            Reply::Endless => {
                eventually("the end of the answer is not waited for", TIME_MAX, || {
                    (spans_of(&server, "rowmill_otlp_spans_sent_total", &[]) >= 50.0).then_some(())
                });
            }
            _ => {}
        }
        let start = Instant::now();
        server.terminate();
        assert!(server.wait_for_end().success(), "{reply:?}");
        assert!(start.elapsed() < Duration::from_secs(15), "{reply:?}: {:?}", start.elapsed());
        let told = server.log().matches("could not be sent to the collector").count();
        assert!(told <= 1, "{reply:?}: {}", server.log());
    }
    // Nobody is there at all.
    let nobody = StubServer::start(|_, _| Reply::Hang);
    let url = nobody.url("");
    drop(nobody);
    let server = started(&[("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str())]);
    server.api().get("/v4/team").ok();
    eventually("the log says so", TIME_MAX, || {
        server.log().contains("could not be sent to the collector").then_some(())
    });
    server.api().get("/v4/team").ok();
}

fn a_shutdown_sends_what_is_left() {
    let collector = collector();
    let server = traced(&collector, &[]);
    let request = Request::get("/v4/team").header("traceparent", &parent("01"));
    server.api().send(request).ok();
    server.terminate();
    assert!(server.wait_for_end().success());
    assert_eq!(of_trace(&collector, TRACE, 1)[0].name, "GET /v4/team");
}

fn without_a_collector_nothing_is_traced() {
    let provider = StubServer::start(|_, _| ok(json!("yes")));
    let server = started(&[("ROWMILL_OTLP_PROPAGATE", "*")]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Answer", &provider, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }]));
    trigger(&table, &parent("01"));
    assert!(!provider.seen()[0].headers.contains_key("traceparent"));
    assert_eq!(spans_of(&server, "rowmill_otlp_spans_sent_total", &[]).to_bits(), 0);
}

fn a_trace_goes_on_in_another_process() {
    let (collector, provider) = (collector(), StubServer::start(|_, _| ok(json!("yes"))));
    let url = collector.url("");
    let endpoint = ("ROWMILL_OTLP_ENDPOINT", url.as_str());
    let server = nodes::first(&[endpoint, ("ROWMILL_NO_WORKERS", "true")]);
    let _worker = server.beside("worker", &[endpoint]);
    let table = server.api().table(&["Name"]);
    asks(&table, "Answer", &provider, "/@{Name}", json!({}));
    table.insert(json!([{ "Name": "a" }]));
    trigger(&table, &parent("01"));
    let spans = of_trace(&collector, TRACE, 3);
    let (request, cell) =
        (named(&spans, "POST /v4/projects/{projectId}/trigger")[0], named(&spans, "cell")[0]);
    assert_eq!((&cell.parent, &named(&spans, "call http-api")[0].parent), (&request.id, &cell.id));
    let instance = |span: &Span| span.resource["service.instance.id"].clone();
    assert_ne!(instance(request), instance(cell));
}

fn deliveries_and_batches_have_spans() {
    let (collector, receiver, provider) = (collector(), receiver(), BatchProvider::honest(false));
    let url = collector.url("");
    let server = batches::server(&provider, &[("ROWMILL_OTLP_ENDPOINT", url.as_str())]);
    let api = server.api();
    let team = api.get("/v4/team").ok()["team"]["id"].as_str().unwrap().to_owned();
    hook_for(&api, &receiver, &["run.finished"]);
    let table = api.table(&["Name"]);
    let column = batches::column(&table, json!({}));
    let rows = table.insert(batches::names(2));
    table.post("/trigger", json!({})).ok();
    batches::settled(&table);
    batches::check_answers(&table, &column, &rows);
    let (delivered, asked) = eventually("both are told", TIME_MAX, || {
        let spans = received(&collector);
        let first = |name: &str| spans.iter().find(|span| span.name == name).cloned();
        first("deliver webhook").zip(first("call openai"))
    });
    for span in [&delivered, &asked] {
        assert_eq!((span.parent.as_str(), span.kind, span.is_error), ("", 3, false), "{span:?}");
        assert_eq!(span.attributes["rowmill.team.id"], team);
    }
    assert_eq!(delivered.attributes["http.response.status_code"], "200");
    assert_eq!(delivered.attributes["rowmill.outcome"], "delivered");
    assert_eq!(asked.attributes["rowmill.provider"], "openai");
}
