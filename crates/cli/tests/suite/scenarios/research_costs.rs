//! What a research costs: its searches and the model's tokens are under the caps, in the estimates, and in `maxCost`.

use std::time::Duration;

use serde_json::{Value, json};

use super::nodes::first;
use super::processing::{ended, run, started};
use super::research::{answer, calls, kinds, research, results, says, web};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Api, Request, Scenario, Server, StubServer, Table, eventually};

pub(crate) const OWN: &[Scenario] = &scenarios!("research_costs", Own:
    searches_and_tokens_are_under_every_cap,
    what_a_research_paid_before_it_waits_is_counted,
    a_search_that_finds_nothing_is_paid_for_too,
    estimates_count_searches,
    a_cost_that_nobody_tells_is_limited_by_the_price_list,
);

pub(crate) const NODES: &[Scenario] = &scenarios!("research_costs", Nodes:
    another_node_goes_on_with_a_research_and_pays_for_no_step_twice,
);

const TIME_MAX: Duration = Duration::from_mins(1);
/// Prices and caps hold on every node after a second.
const SETTINGS_KEPT: Duration = Duration::from_millis(1_100);
/// What a turn takes by the team's price, and a search.
const TURN: f64 = 0.11;
const SEARCH: f64 = 0.05;

/// An answer of a model that tells its tokens and not their price.
fn turn(message: &Value, finish: &str, input_tokens: u64) -> Reply {
    ok(json!({
        "model": "small-1", "choices": [{ "message": message, "finish_reason": finish }],
        "usage": { "prompt_tokens": input_tokens, "completion_tokens": 10 },
    }))
}

fn search_call(number: usize, input_tokens: u64) -> Reply {
    let arguments = json!({ "query": format!("search {number}") }).to_string();
    let function = json!({ "name": "web_search", "arguments": arguments });
    let calls = json!([{ "id": format!("call-{number}"), "type": "function", "function": function }]);
    turn(&json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls", input_tokens)
}

/// A model that searches for something else each time, and then answers.
fn model() -> StubServer {
    StubServer::start(|seen: &Seen, number| match results(seen).len() {
        0 => search_call(number, 100),
        _ => turn(&json!({ "role": "assistant", "content": "{\"value\": \"x\"}" }), "stop", 100),
    })
}

fn tavily() -> StubServer {
    let page = json!({ "title": "T", "url": "https://t.test/", "content": "Words" });
    StubServer::start(move |_, _| ok(json!({ "results": [page.clone()], "usage": { "credits": 1 } })))
}

fn variables(model: &StubServer, tavily: &StubServer) -> Vec<(&'static str, String)> {
    vec![
        ("ROWMILL_OPENAI_BASE_URL", model.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-1".to_owned()),
        ("ROWMILL_AI_MODEL", "small-1".to_owned()),
        ("ROWMILL_TAVILY_BASE_URL", tavily.url("")),
        ("ROWMILL_TAVILY_API_KEY", "tk-1".to_owned()),
    ]
}

fn with(model: &StubServer, tavily: &StubServer) -> Server {
    let variables = variables(model, tavily);
    started(&variables.iter().map(|(name, value)| (*name, value.as_str())).collect::<Vec<_>>())
}

fn set(api: &Api, body: &Value) -> Value {
    api.send(Request::new("PUT", "/v4/team/spending").json(body)).ok()
}

fn set_prices(api: &Api) {
    set(
        api,
        &json!({
            "models": { "small-1": { "input": 1_000, "output": 1_000 } },
            "providers": { "tavily": { "usdPerCredit": SEARCH } },
        }),
    );
}

fn table_of(api: &Api, rows: usize, limits: Value) -> (Table, String, Vec<String>) {
    let table = api.table(&["Name"]);
    let column = research(&table, &json!({}), limits);
    // No two tables ask the same: calls that are alike are made once.
    let rows = table.insert((0..rows).map(|row| json!({ "Name": format!("{column} {row}") })).collect());
    (table, column, rows)
}

fn paused(table: &Table) -> Value {
    eventually("the run waits for money", TIME_MAX, || {
        let status = table.get("/status").ok();
        let waits = status["run"]["waiting"]["reason"]["code"] == "spend_limit";
        (waits && status["rows"]["generating"] == 0).then_some(status)
    })
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn close(value: &Value, expected: f64) -> bool {
    (number(value) - expected).abs() < 2e-6
}

fn searches_and_tokens_are_under_every_cap() {
    let (model, tavily) = (model(), tavily());
    let server = with(&model, &tavily);
    let api = server.api();
    set_prices(&api);
    let cell = 2.0 * TURN + SEARCH;
    for (scope, unit, each) in [
        (json!({ "scope": "credential", "provider": "tavily", "period": "day" }), "credits", 1.0),
        (json!({ "scope": "credential", "provider": "tavily", "period": "day" }), "usd", SEARCH),
        (json!({ "scope": "credential", "provider": "openai", "period": "month" }), "usd", 2.0 * TURN),
        (json!({ "scope": "team", "period": "day" }), "usd", cell),
        (json!({ "scope": "team", "period": "month" }), "credits", 1.0),
        (json!({ "scope": "project", "period": "day" }), "usd", cell),
        (json!({ "scope": "run" }), "credits", 1.0),
    ] {
        let (table, _, _) = table_of(&api, 8, json!({}));
        let cap_of = |most: f64| {
            let mut cap = scope.clone();
            cap[unit] = json!(most);
            if cap["scope"] == "project" {
                cap["projectId"] = table.get("").ok()["project"]["id"].clone();
            }
            cap
        };
        // What was spent before counts for all but a run.
        let before = set(&api, &json!({ "caps": [cap_of(10_000.0)] }))["caps"][0]["spent"].clone();
        let spent = before.as_f64().unwrap_or_default();
        set(&api, &json!({ "caps": [cap_of(spent + 3.5 * each)] }));
        std::thread::sleep(SETTINGS_KEPT);
        let (answers, searches) = (model.count(), tavily.count());
        table.post("/trigger", json!({})).ok();
        let status = paused(&table);
        assert_eq!(status["run"]["done"], 3, "{scope} {unit}: {status}");
        assert_eq!((model.count() - answers, tavily.count() - searches), (6, 3), "{scope} {unit}");
        let took = &status["run"];
        assert!(close(&took["listCost"], 3.0 * cell) && close(&took["credits"], 3.0), "{took}");
        let cap = api.get("/v4/team/spending").ok()["caps"][0].clone();
        if scope["scope"] != "run" {
            assert!(close(&cap["spent"], spent + 3.0 * each), "{cap}");
        }
        set(&api, &json!({ "caps": [] }));
        assert_eq!(ended(&table)["run"]["done"], 8, "{scope} {unit}");
    }
    let (openai, tavily) = (spent_on(&api, "openai"), spent_on(&api, "tavily"));
    assert_eq!((&openai["calls"], &tavily["calls"]), (&json!(112), &json!(56)), "{openai} {tavily}");
    assert!(close(&openai["usd"], 112.0 * TURN) && close(&tavily["usd"], 56.0 * SEARCH), "{openai} {tavily}");
    assert!(close(&tavily["credits"], 56.0), "{tavily}");
}

/// What the usage says of a provider.
fn spent_on(api: &Api, provider: &str) -> Value {
    let lines = api.get("/v4/usage/spending?groupBy=provider").ok()["lines"].clone();
    let mut found = lines.as_array().unwrap().iter().filter(|line| line["provider"] == provider);
    found.next().unwrap_or_else(|| panic!("nothing of {provider}: {lines}")).clone()
}

fn what_a_research_paid_before_it_waits_is_counted() {
    let (model, tavily) = (model(), tavily());
    let server = with(&model, &tavily);
    let api = server.api();
    set_prices(&api);
    let (table, column, rows) = table_of(&api, 1, json!({}));
    let rate = json!({ "rateLimit": { "requests": 2, "perSeconds": 10 } });
    api.send(Request::new("PATCH", table.path(&format!("/columns/{column}"))).json(&rate)).ok();
    table.post("/trigger", json!({})).ok();
    let status = eventually("the cell waits for its third call", TIME_MAX, || {
        let status = table.get("/status").ok();
        (status["rows"]["queued"] == 1 && status["run"].get("listCost").is_some()).then_some(status)
    });
    let taken = (model.count(), tavily.count());
    assert!(matches!(taken, (1, 0 | 1)), "{taken:?}: the last answer is to come");
    let spent = if taken.1 == 1 { TURN + SEARCH } else { TURN };
    assert!(close(&status["run"]["listCost"], spent), "{status}");
    let status = ended(&table);
    assert!(close(&status["run"]["listCost"], 2.0 * TURN + SEARCH), "each step once: {status}");
    let cell = table.cells(&rows[0])[&column].clone();
    assert_eq!((&cell["value"], &cell["attempts"]), (&json!("x"), &json!(1)), "to wait is no try: {cell}");
}

fn a_search_that_finds_nothing_is_paid_for_too() {
    let (model, tavily) = (model(), tavily());
    let empty = StubServer::start(|_, _| ok(json!({ "organic": [] })));
    let mut variables = variables(&model, &tavily);
    variables.push(("ROWMILL_SERPER_BASE_URL", empty.url("")));
    variables.push(("ROWMILL_SERPER_API_KEY", "sk-2".to_owned()));
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let server = started(&variables);
    let api = server.api();
    set_prices(&api);
    let (table, column, rows) = table_of(&api, 1, json!({ "searchProviders": ["serper", "tavily"] }));
    run(&table, json!({}));
    let meta = table.cells(&rows[0])[&column]["meta"].clone();
    assert_eq!((empty.count(), tavily.count(), &meta["credits"]), (1, 1, &json!(2.0)), "{meta}");
    let paid: Vec<(&Value, &Value)> =
        meta["paid"].as_array().unwrap().iter().map(|paid| (&paid["provider"], &paid["calls"])).collect();
    let expected =
        [(&json!("openai"), &json!(2)), (&json!("serper"), &json!(1)), (&json!("tavily"), &json!(1))];
    assert_eq!(paid, expected, "{meta}");
    let note = meta["costNote"].as_str().unwrap_or_default();
    assert!(note.contains("No price is known for searches of Serper"), "{meta}");
}

fn estimates_count_searches() {
    let (model, tavily) = (model(), tavily());
    let server = with(&model, &tavily);
    let api = server.api();
    let (table, _, rows) = table_of(&api, 10, json!({}));
    let estimate = || table.post("/trigger", json!({ "dryRun": true })).ok()["estimate"].clone();
    set(&api, &json!({ "models": { "small-1": { "input": 1_000, "output": 1_000 } } }));
    let unknown = estimate();
    assert_eq!(
        (&unknown["usd"], &unknown["basis"][0]["from"]),
        (&Value::Null, &json!("unknown")),
        "searches have no price: {unknown}"
    );
    set(&api, &json!({ "providers": { "tavily": { "usdPerCredit": 0.0 } } }));
    let free = estimate();
    set_prices(&api);
    let guess = estimate();
    assert_eq!(
        (&guess["credits"], &guess["basis"][0]["from"]),
        (&json!(20.0), &json!("sampled_rows")),
        "{guess}"
    );
    let usd = &guess["usd"];
    assert!(close(&usd["likely"], number(&free["usd"]["likely"]) + 20.0 * SEARCH), "{guess} {free}");
    assert!(number(&usd["low"]) < number(&usd["likely"]) && number(&usd["likely"]) < number(&usd["high"]));
    assert_eq!((model.count(), tavily.count()), (0, 0), "nobody is asked");

    run(&table, json!({ "rowIds": rows[..5] }));
    let closer = estimate();
    assert_eq!(
        (&closer["cells"], &closer["basis"][0]["from"]),
        (&json!(5), &json!("last_cells")),
        "{closer}"
    );
    assert!(close(&closer["usd"]["likely"], 5.0 * (2.0 * TURN + SEARCH)), "{closer}");
    assert!(close(&closer["credits"], 5.0), "{closer}");
    // A new price of searches counts at once.
    set(&api, &json!({ "providers": { "tavily": { "usdPerCredit": 1.0 } } }));
    assert!(close(&estimate()["usd"]["likely"], 5.0 * (2.0 * TURN + 1.0)));
}

fn a_cost_that_nobody_tells_is_limited_by_the_price_list() {
    // It searches until it must answer.
    let model = StubServer::start(|seen: &Seen, number| {
        if seen.json()["tool_choice"] == "none" {
            let content = json!({ "role": "assistant", "content": "{\"value\": \"Enough\"}" });
            return turn(&content, "stop", 20_000);
        }
        search_call(number, 20_000)
    });
    let tavily = tavily();
    let server = with(&model, &tavily);
    let api = server.api();
    let (table, column, rows) = table_of(&api, 2, json!({ "maxCost": 0.1 }));
    run(&table, json!({ "rowIds": [rows[0]] }));
    let meta = table.cells(&rows[0])[&column]["meta"].clone();
    assert_eq!(meta.get("listCost"), None, "{meta}");
    let note = meta["costNote"].as_str().unwrap_or_default();
    let said = "No price is known for searches of Tavily and the model small-1:";
    assert!(note.starts_with(said) && note.contains("maxCost does not limit it"), "{meta}");
    assert_eq!(meta["steps"][0]["unpriced"], true, "{meta}");
    let unlimited = model.count();
    assert!(unlimited >= 5, "other limits hold: {unlimited}");

    let prices = json!({
        "models": { "small-1": { "input": 1, "output": 0 } },
        "providers": { "tavily": { "usdPerCall": 0.005 } },
    });
    set(&api, &prices);
    std::thread::sleep(SETTINGS_KEPT);
    let searches = tavily.count();
    run(&table, json!({ "rowIds": [rows[1]] }));
    let cell = table.cells(&rows[1])[&column].clone();
    let meta = &cell["meta"];
    assert_eq!((&cell["value"], meta.get("costNote")), (&json!("Enough"), None), "{cell}");
    assert_eq!((model.count() - unlimited, tavily.count() - searches), (4, 3), "{meta}");
    assert!(close(&meta["listCost"], 4.0 * 0.02 + 3.0 * 0.005), "{meta}");
    assert!(
        close(&meta["steps"][1]["listCost"], 0.005) && close(&meta["steps"][0]["listCost"], 0.02),
        "{meta}"
    );
}

fn another_node_goes_on_with_a_research_and_pays_for_no_step_twice() {
    let web = web();
    let team = web.url("/team");
    let model = StubServer::start(move |seen: &Seen, number| match (number, results(seen).len()) {
        // It is under way when its node dies.
        (2, _) => Reply::Hanging,
        (_, 0) => calls(&[("web_search", json!({ "query": "leader of Acme" }))]),
        (_, 1) => calls(&[("fetch_page", json!({ "url": team }))]),
        _ => says(&answer(&json!("Ada Lovelace"), &team).to_string()),
    });
    let (address, searx) = (model.url("/v1"), web.url(""));
    let here = first(&[
        ("ROWMILL_NO_WORKERS", "true"),
        ("ROWMILL_OPENAI_BASE_URL", &address),
        ("ROWMILL_AI_MODEL", "small-1"),
        ("ROWMILL_SEARXNG_BASE_URL", &searx),
    ]);
    let table = here.api().table(&["Name"]);
    let column = research(&table, &json!({}), json!({}));
    let rows = table.insert(json!([{ "Name": "Acme" }]));
    let one = here.beside("worker", &[]);
    table.post("/trigger", json!({})).ok();
    eventually("the third step is under way", TIME_MAX, || (model.count() == 3).then_some(()));
    let searches = || web.seen().iter().filter(|seen| seen.path.starts_with("/search")).count();
    let pages = || web.seen().iter().filter(|seen| seen.path == "/team").count();
    assert_eq!((searches(), pages()), (1, 1));
    let other = here.beside("worker", &[]);
    one.kill();
    let status = ended(&table);
    let cell = table.cells(&rows[0])[&column].clone();
    assert_eq!(cell["value"], "Ada Lovelace", "{cell}");
    assert_eq!((searches(), pages(), model.count()), (1, 1, 4), "only what was under way is done again");
    assert_eq!(kinds(&cell["meta"]), ["model", "search", "model", "page", "model"], "{cell}");
    assert_eq!((&cell["meta"]["cost"], &status["run"]["cost"]), (&json!(0.75), &json!(0.75)), "{status}");
    let (answers, found) = (spent_on(&here.api(), "openai"), spent_on(&here.api(), "searxng"));
    assert_eq!((&answers["calls"], &found["calls"]), (&json!(3), &json!(1)), "{answers} {found}");
    drop(other);
}
