//! Long prompts are laid out so that rows share their beginning, and what servers cache is told and priced.

use serde_json::{Value, json};

use super::processing::{run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Request, Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("prompt_caching", Own:
    anthropic_is_told_what_rows_share,
    a_server_that_does_not_cache_is_asked_without,
    rows_share_the_beginning_of_a_long_prompt,
    what_a_team_pays_for_cached_tokens_counts,
);

/// Longer than what servers begin to cache at.
fn rules() -> String {
    "Answer with the country and nothing else. ".repeat(120)
}

fn with_anthropic(model: &StubServer) -> Server {
    started(&[("ROWMILL_ANTHROPIC_BASE_URL", &model.url("")), ("ROWMILL_ANTHROPIC_API_KEY", "ak-1")])
}

fn table_of(server: &Server, model: &str) -> (Table, String, Vec<String>) {
    let table = server.api().table(&["City"]);
    let prompt = format!("{}Where is @{{City}}?", rules());
    let config = json!({ "prompt": prompt, "provider": "anthropic", "model": model });
    let column =
        table.add_column(json!({ "templateId": "ai-text", "header": "Country", "aiConfig": config }));
    let rows =
        table.insert(json!([{ "City": "Ulm" }, { "City": "Lyon" }, { "City": "Graz on the river Mur" }]));
    (table, column, rows)
}

/// The first row's call writes the cache, those of the others read it.
fn answer(number: usize) -> Reply {
    let (read, written) = if number == 0 { (0, 1_200) } else { (1_200, 0) };
    ok(json!({ "model": "claude-sonnet-4-5", "content": [{ "type": "text", "text": "Somewhere" }],
        "stop_reason": "end_turn", "usage": { "input_tokens": 100, "output_tokens": 10,
            "cache_read_input_tokens": read, "cache_creation_input_tokens": written } }))
}

fn anthropic_is_told_what_rows_share() {
    let model = StubServer::start(|_, number| answer(number));
    let server = with_anthropic(&model);
    let (table, column, rows) = table_of(&server, "claude-sonnet-4-5");
    run(&table, json!({}));
    let sent: Vec<Value> =
        model.seen().iter().map(|seen| seen.json()["messages"][0]["content"].clone()).collect();
    assert_eq!(sent.len(), 3);
    for content in &sent {
        let text = format!("{}Where is [data 1]?", rules());
        let shared = json!({ "type": "text", "text": text, "cache_control": { "type": "ephemeral" } });
        assert_eq!(content[0], shared);
        assert_eq!((content.as_array().unwrap().len(), content[1].get("cache_control")), (2, None));
    }
    let own = |city: &str| sent.iter().any(|content| content[1]["text"].as_str().unwrap().contains(city));
    assert!(own("Ulm") && own("Lyon") && own("Graz on the river Mur"), "{sent:?}");
    let metas: Vec<Value> = rows.iter().map(|row| table.cells(row)[&column]["meta"].clone()).collect();
    for meta in &metas {
        assert_eq!(meta["inputTokens"], 1_300, "{meta}");
        // Input costs $3 a million, from the cache $0.30 and into it $3.75; output $15.
        let cost = if meta.get("cachedTokens") == Some(&json!(1_200)) { 0.000_81 } else { 0.004_95 };
        assert_eq!(meta["listCost"], cost, "{meta}");
    }
    let read = metas.iter().filter(|meta| meta["cachedTokens"] == 1_200).count();
    let written = metas.iter().filter(|meta| meta["cacheWrittenTokens"] == 1_200).count();
    assert_eq!((read, written), (2, 1), "{metas:?}");
    let usage = table.get("/runs").ok()["runs"][0]["usage"].clone();
    assert_eq!(
        (&usage["cachedTokens"], &usage["cacheWrittenTokens"]),
        (&json!(2_400), &json!(1_200)),
        "{usage}"
    );
    let all = server.api().get("/v4/usage/spending?groupBy=provider").ok();
    let totals = &all["totals"];
    assert_eq!(
        (&totals["cachedTokens"], &totals["cacheWrittenTokens"]),
        (&json!(2_400), &json!(1_200)),
        "{all}"
    );
    assert_eq!((&totals["inputTokens"], &totals["usd"]), (&json!(3_900), &json!(0.006_57)), "{all}");
    let file = String::from_utf8(server.api().get("/v4/usage/spending/export").raw().to_vec()).unwrap();
    assert!(file.lines().next().unwrap().ends_with("usd,cachedTokens,cacheWrittenTokens"), "{file}");
    assert!(file.contains("\"2400\",\"1200\""), "{file}");
}

fn a_server_that_does_not_cache_is_asked_without() {
    let model = StubServer::start(|seen: &Seen, number| {
        if seen.json().to_string().contains("cache_control") {
            let message = "messages.0.content.0.cache_control: Extra inputs are not permitted";
            let error = json!({ "type": "invalid_request_error", "message": message });
            return Reply::Json(400, json!({ "type": "error", "error": error }));
        }
        answer(number)
    });
    let server = with_anthropic(&model);
    let (table, column, rows) = table_of(&server, "claude-x");
    run(&table, json!({ "rowIds": [rows[0]] }));
    assert_eq!(model.count(), 2);
    run(&table, json!({}));
    for row in &rows {
        let cell = table.cells(row)[&column].clone();
        assert_eq!(
            (&cell["value"], &cell["meta"]["adapted"]),
            (&json!("Somewhere"), &json!(["cache_control"])),
            "{cell}"
        );
    }
    assert_eq!(model.count(), 4, "what is refused once is not sent again");
}

fn rows_share_the_beginning_of_a_long_prompt() {
    let model = StubServer::start(|_, number| {
        let cached = if number == 0 { 0 } else { 1_024 };
        ok(
            json!({ "model": "small", "choices": [{ "message": { "content": "Yes." }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1_300, "completion_tokens": 3, "prompt_tokens_details": { "cached_tokens": cached } } }),
        )
    });
    let server = started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), ("ROWMILL_AI_MODEL", "small")]);
    let table = server.api().table(&["City"]);
    let config = json!({ "prompt": "Where is @{City}?", "system": format!("For @{{City}}. {}", rules()) });
    let column =
        table.add_column(json!({ "templateId": "ai-text", "header": "Country", "aiConfig": config }));
    let rows = table.insert(json!([{ "City": "Ulm" }, { "City": "Lyon" }]));
    run(&table, json!({}));
    let sent: Vec<Value> = model.seen().iter().map(Seen::json).collect();
    let system = json!({ "role": "system", "content": format!("For [data 1]. {}", rules()) });
    for body in &sent {
        assert_eq!(body["messages"][0], system, "nothing of a row stands before the end of what rows share");
        let prompt = body["messages"][1]["content"].as_str().unwrap();
        assert!(prompt.starts_with("Where is [data 1]?\n\nEach [data N]"), "{prompt}");
        assert_eq!(body.get("prompt_cache_key"), None, "compatible servers may not know it");
    }
    let cached: Vec<Value> =
        rows.iter().map(|row| table.cells(row)[&column]["meta"]["cachedTokens"].clone()).collect();
    assert!(cached.contains(&json!(1_024)) && cached.contains(&Value::Null), "{cached:?}");
}

fn what_a_team_pays_for_cached_tokens_counts() {
    let model = StubServer::start(|_, number| answer(number + 1));
    let server = with_anthropic(&model);
    let prices =
        json!({ "models": { "claude-sonnet-4-5": { "input": 10.0, "output": 0.0, "cacheRead": 1.0 } } });
    let set = server.api().send(Request::new("PUT", "/v4/team/spending").json(&prices)).ok();
    assert_eq!(set["models"]["claude-sonnet-4-5"]["cacheRead"], 1.0, "{set}");
    let (table, column, rows) = table_of(&server, "claude-sonnet-4-5");
    run(&table, json!({}));
    for row in &rows {
        let meta = table.cells(row)[&column]["meta"].clone();
        assert_eq!(meta["listCost"], 0.0022, "{meta}");
    }
    // The estimate goes by what cells used, cached tokens included.
    let estimate = table.post("/trigger", json!({ "force": true, "dryRun": true })).ok()["estimate"].clone();
    assert_eq!(estimate["usd"]["likely"], 0.0066, "{estimate}");
}
