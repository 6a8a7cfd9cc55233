//! What a run is likely to take is said before it begins, and kept beside what it took.

use serde_json::{Value, json};

use super::processing::{run, started};
use crate::harness::agent::Agent;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::ok;
use crate::harness::{Request, Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("estimates", Own:
    a_run_is_estimated_from_its_rows_and_then_from_its_cells,
    a_price_that_is_not_known_is_not_nothing,
    the_time_is_that_of_the_rates,
    without_limits_the_time_is_that_of_the_cells,
    a_missing_credential_is_named_and_not_free,
    a_column_whose_providers_are_disabled_says_what_to_do,
    credits_have_the_price_that_the_team_says,
    agents_are_told_the_same,
    what_would_not_run_is_counted,
);

/// A model whose tokens are the bytes of the prompt by four, and a few for the answer.
pub(super) fn model() -> StubServer {
    StubServer::start(|seen, number| {
        let body = seen.json();
        let prompt: usize = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|message| message["content"].to_string().len())
            .sum();
        ok(json!({
            "model": body["model"],
            "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": prompt / 4, "completion_tokens": 15 + number % 10 },
        }))
    })
}

pub(super) fn asked(model: &StubServer) -> Server {
    started(&[
        ("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-1"),
        ("ROWMILL_AI_MODEL", "gpt-4o-mini"),
    ])
}

fn table_of(server: &Server, rows: usize, more: Value) -> (Table, String) {
    let table = server.api().table(&["Text"]);
    let mut body = json!({ "templateId": "ai-text", "header": "Answer",
        "aiConfig": { "prompt": "Say in one word what this is about: @{Text}", "maxTokens": 100 } });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        body[name] = value;
    }
    let column = table.add_column(body);
    let rows: Value =
        (0..rows).map(|row| json!({ "Text": format!("{row} {}", "word ".repeat(row % 40)) })).collect();
    table.insert(rows);
    (table, column)
}

fn estimate(table: &Table, body: Value) -> Value {
    let mut body = body;
    body["dryRun"] = json!(true);
    table.post("/trigger", body).ok()["estimate"].clone()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn set(server: &Server, body: Value) -> Value {
    server.api().send(Request::new("PUT", "/v4/team/spending").json(&body)).ok()
}

fn a_run_is_estimated_from_its_rows_and_then_from_its_cells() {
    let model = model();
    let server = asked(&model);
    let (table, column) = table_of(&server, 200, json!({}));
    let guess = estimate(&table, json!({}));
    assert_eq!(model.count(), 0, "nobody is asked");
    assert_eq!(
        (&guess["cells"], &guess["basis"][0]["from"]),
        (&json!(200), &json!("sampled_rows")),
        "{guess}"
    );
    assert_eq!(
        (&guess["basis"][0]["columnId"], &guess["basis"][0]["model"]),
        (&json!(column), &json!("gpt-4o-mini"))
    );
    let usd = &guess["usd"];
    assert!(
        number(&usd["low"]) < number(&usd["likely"]) && number(&usd["likely"]) < number(&usd["high"]),
        "{guess}"
    );

    run(&table, json!({ "limit": 40 }));
    let closer = estimate(&table, json!({}));
    let basis = &closer["basis"][0];
    assert_eq!(
        (&closer["cells"], &basis["from"], &basis["sample"]),
        (&json!(160), &json!("last_cells"), &json!(40))
    );
    run(&table, json!({ "estimate": true }));
    let told = table.get("/runs").ok()["runs"][0].clone();
    assert_eq!(told["estimate"]["usd"], closer["usd"], "estimate beside truth");
    let (likely, truth) = (number(&closer["usd"]["likely"]), number(&told["listCost"]));
    println!("estimated {likely:.6}, took {truth:.6}: {:+.1} %", (likely / truth - 1.0) * 100.0);
    println!("from rows alone {:.6}", number(&usd["likely"]) * 0.8);
    assert!(number(&closer["usd"]["low"]) <= truth && truth <= number(&closer["usd"]["high"]), "{told}");
    assert!((likely / truth - 1.0).abs() < 0.15, "{likely} for {truth}");
    let tokens = number(&closer["inputTokens"]) / number(&told["usage"]["inputTokens"]);
    assert!((tokens - 1.0).abs() < 0.15, "{closer} for {told}");
    assert_eq!(estimate(&table, json!({}))["cells"], 0, "all is done");
}

fn a_price_that_is_not_known_is_not_nothing() {
    let model = model();
    let server = asked(&model);
    let config = json!({ "prompt": "@{Text}", "model": "house-model" });
    let (table, column) = table_of(&server, 10, json!({ "aiConfig": config }));
    let unknown = estimate(&table, json!({}));
    assert_eq!(
        (&unknown["usd"], &unknown["basis"][0]["from"]),
        (&Value::Null, &json!("unknown")),
        "{unknown}"
    );
    run(&table, json!({ "limit": 1 }));
    let row = table.rows(&[("pageSize", "1")])["rows"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(table.cells(&row)[&column]["meta"].get("listCost"), None);

    let listed = server.api().get("/v4/team/spending").ok();
    assert!(listed["priceList"]["models"].as_u64().unwrap() > 200, "{listed}");
    assert!(listed["priceList"]["date"].as_str().unwrap().starts_with("2026-"), "{listed}");
    set(&server, json!({ "models": { "house-model": { "input": 1.0, "output": 10.0 } } }));
    assert!(estimate(&table, json!({}))["usd"]["likely"].is_number());
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    run(&table, json!({ "rowIds": [row], "force": true }));
    let meta = table.cells(&row)[&column]["meta"].clone();
    let expected = (number(&meta["inputTokens"]) + 10.0 * number(&meta["outputTokens"])) / 1e6;
    assert!((number(&meta["listCost"]) - expected).abs() < 1e-9, "{meta}");
    let run = table.get("/status").ok()["run"].clone();
    assert_eq!((&run["listCost"], run.get("cost")), (&meta["listCost"], None), "nobody told a cost");

    let refused = Request::new("PUT", "/v4/team/spending").json(&json!({ "providers": { "nobody": {} } }));
    server.api().send(refused).offends(&["providers.nobody"]);
}

fn the_time_is_that_of_the_rates() {
    let model = model();
    let server = asked(&model);
    let (table, _) = table_of(&server, 60, json!({ "rateLimit": { "requests": 30, "perSeconds": 60 } }));
    let slow = estimate(&table, json!({}));
    assert!((115..=125).contains(&slow["seconds"].as_u64().unwrap()), "{slow}");
    assert_eq!(estimate(&table, json!({ "limit": 4 }))["seconds"], 8);
}

fn without_limits_the_time_is_that_of_the_cells() {
    let slow = StubServer::start(|_, _| {
        std::thread::sleep(std::time::Duration::from_millis(1_500));
        ok(json!("found"))
    });
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    super::processing::asks(&table, "Slow", &slow, "/@{Name}", json!({}));
    table.insert((0..10).map(|row| json!({ "Name": row })).collect());
    let guess = estimate(&table, json!({}));
    assert_eq!((&guess["seconds"], &guess["basis"][0]["from"]), (&json!(3), &json!("free")), "{guess}");
    run(&table, json!({ "limit": 1 }));
    let measured = estimate(&table, json!({}))["seconds"].as_u64().unwrap();
    assert!(measured >= 2, "one took 1.5 seconds: {measured}");
}

fn a_missing_credential_is_named_and_not_free() {
    let server = started(&[]);
    let (table, column) = table_of(&server, 3, json!({}));
    let unknown = estimate(&table, json!({}));
    let basis = &unknown["basis"][0];
    assert_eq!((&unknown["usd"], &basis["from"]), (&Value::Null, &json!("unknown")), "{unknown}");
    assert_eq!(basis["columnId"], json!(column));
    assert!(basis["missingCredential"].as_str().unwrap().contains("OpenAI"), "{unknown}");
    let agent = Agent::new(&server.api());
    let dry = agent.does("run", json!({ "table": table.id }));
    assert!(dry["costNote"].as_str().unwrap().contains("lacks a credential"), "{dry}");
    // Who asks for one by name learns which. A column that pays nobody stays free.
    let config = json!({ "prompt": "@{Text}", "provider": "anthropic" });
    let (table, _) = table_of(&server, 3, json!({ "aiConfig": config }));
    let basis = estimate(&table, json!({}))["basis"][0].clone();
    assert!(basis["missingCredential"].as_str().unwrap().contains("Anthropic"), "{basis}");
}

fn a_column_whose_providers_are_disabled_says_what_to_do() {
    let hunter = StubServer::start(|_, _| {
        ok(
            json!({ "data": { "email": "ada@acme.test", "score": 99, "verification": { "status": "valid" } } }),
        )
    });
    let server = started(&[("ROWMILL_ALLOW_PRIVATE", "127.0.0.1/32")]);
    let table = server.api().table(&["Name", "Domain"]);
    let mapping = json!({ "full_name": "@{Name}", "domain": "@{Domain}" });
    let column = table.add_column(json!({ "templateId": "waterfall-email", "header": "Email",
        "taskConfig": { "taskType": "waterfallEmail", "waterfallEmail": { "inputMapping": mapping } } }));
    let row = table.insert(json!([{ "Name": "Ada L", "Domain": "acme.test" }])).remove(0);
    // A key that comes later enables nothing.
    let key = json!({ "apiKey": "h", "baseUrl": hunter.url("") });
    server.api().send(Request::new("PUT", "/v4/team/providers/hunter").json(&key)).ok();
    let dry = estimate(&table, json!({}));
    let basis = &dry["basis"][0];
    assert_eq!((&dry["usd"], &basis["from"]), (&Value::Null, &json!("unknown")), "{dry}");
    let reason = basis["disabled"].as_str().unwrap();
    assert!(reason.contains("disabled") && reason.contains("enable the provider"), "{dry}");
    let agent = Agent::new(&server.api());
    let told = agent.does("run", json!({ "table": table.id }));
    assert!(told["costNote"].as_str().unwrap().contains(reason), "{told}");
    let shown = agent.does("describe_table", json!({ "table": table.id }));
    assert!(shown.to_string().contains(reason), "{shown}");
    run(&table, json!({}));
    assert_eq!(table.cells(&row)[&column]["error"]["message"], json!(reason));
    let status = agent.does("run_status", json!({ "table": table.id }));
    let advice = status["errors"][0]["do"].as_str().unwrap();
    assert!(advice.contains("enable a provider with set_column"), "{status}");
    // What the advice says works.
    let providers = json!([{ "id": "hunter-default", "taskType": "hunter", "enabled": true }]);
    let set = json!({ "table": table.id, "column": "Email", "settings": { "providers": providers } });
    let set = agent.does("set_column", set);
    assert_eq!(set["column"].get("disabled"), None, "{set}");
    run(&table, json!({ "statuses": ["error"] }));
    assert_eq!(table.cells(&row)[&column]["value"], json!("ada@acme.test"));
}

fn credits_have_the_price_that_the_team_says() {
    let leadmagic = StubServer::start(|_, _| {
        ok(json!({ "status": "valid", "email": "ada@acme.test", "credits_consumed": 2 }))
    });
    let server =
        started(&[("ROWMILL_LEADMAGIC_BASE_URL", &leadmagic.url("")), ("ROWMILL_LEADMAGIC_API_KEY", "l")]);
    let (table, column) = super::provider_columns::waterfall(&server, &["leadmagic"]);
    let ids = table
        .insert(json!([{ "Name": "Ada L", "Domain": "a.test" }, { "Name": "Bob M", "Domain": "b.test" }]));
    assert_eq!(estimate(&table, json!({}))["usd"], Value::Null);
    set(&server, json!({ "providers": { "leadmagic": { "usdPerCredit": 0.25 } } }));
    let guess = estimate(&table, json!({}));
    assert_eq!((&guess["usd"]["likely"], &guess["credits"]), (&json!(0.5), &json!(2.0)), "{guess}");
    run(&table, json!({ "rowIds": [ids[0]] }));
    let meta = table.cells(&ids[0])[&column]["meta"].clone();
    assert_eq!((&meta["credits"], &meta["listCost"]), (&json!(2.0), &json!(0.5)), "{meta}");
    let closer = estimate(&table, json!({}));
    assert_eq!((&closer["usd"]["likely"], &closer["credits"]), (&json!(0.5), &json!(2.0)), "{closer}");
}

fn agents_are_told_the_same() {
    let model = model();
    let server = asked(&model);
    let (table, _) = table_of(&server, 30, json!({}));
    let agent = Agent::new(&server.api());
    let project = table.get("").ok()["project"]["id"].clone();
    let dry = agent.does("run", json!({ "table": project }));
    let same = estimate(&table, json!({}));
    assert_eq!((&dry["estimate"]["usd"], &dry["cells"]), (&same["usd"], &json!(30)), "{dry}");
    assert!(dry["costNote"].as_str().unwrap().contains("price list"), "{dry}");
}

fn what_would_not_run_is_counted() {
    let model = model();
    let server = asked(&model);
    let (table, column) = table_of(&server, 12, json!({}));
    let not_run = |body: Value| {
        let told = estimate(&table, body);
        let counts = ["done", "manual", "pending"].map(|name| told["notRun"][name].as_u64().unwrap());
        (told["cells"].as_u64().unwrap(), counts)
    };
    assert_eq!(not_run(json!({})), (12, [0, 0, 0]));
    run(&table, json!({ "limit": 5 }));
    let page = table.rows(&[("pageSize", "12")]);
    let id = |row: usize| page["rows"][row]["id"].as_str().unwrap().to_owned();
    table.patch(&format!("/rows/{}", id(0)), json!({ "Answer": "by hand" })).ok();
    table.patch(&format!("/rows/{}", id(6)), json!({ "Answer": "by hand, too" })).ok();
    assert_eq!(not_run(json!({})), (6, [4, 2, 0]));
    assert_eq!(not_run(json!({ "rowIds": [id(0), id(1), id(7)] })), (1, [1, 1, 0]));
    assert_eq!(not_run(json!({ "limit": 2 })), (2, [4, 2, 0]), "those in front of them are told");
    assert_eq!(not_run(json!({ "force": true })), (12, [0, 0, 0]));
    assert_eq!(not_run(json!({ "statuses": ["error"] })), (0, [0, 0, 0]), "the others are not asked for");
    assert_eq!(not_run(json!({ "statuses": ["completed"] })), (0, [4, 2, 0]), "none is out of date");
    let filters = json!([{ "columnId": column, "operator": "isManual" }]);
    assert_eq!(not_run(json!({ "filters": filters })), (0, [0, 2, 0]));
}
