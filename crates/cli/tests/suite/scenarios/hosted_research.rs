//! Research with the search of the model's own provider: no search provider is asked, and its pages are the sources.

use serde_json::{Value, json};

use super::processing::{run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Seen, ok};
use crate::harness::{Scenario, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("research", Own:
    anthropic_searches_by_itself,
    openai_searches_by_itself,
);

fn answer(url: &str) -> String {
    let sources =
        json!([{ "url": url, "quote": "Ada leads Acme" }, { "url": "https://made.up/", "quote": "x" }]);
    json!({ "value": "Ada", "confidence": 70, "sources": sources }).to_string()
}

fn research(table: &Table, more: &Value) -> String {
    let mut config =
        json!({ "prompt": "Who leads @{Name}?", "research": { "hostedSearch": true, "maxSearches": 3 } });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        config[name] = value;
    }
    table.add_column(json!({ "templateId": "ai-research", "header": "Leader", "aiConfig": config }))
}

/// The one cell of a table with one row.
fn researched(table: &Table, column: &str) -> Value {
    let rows = table.insert(json!([{ "Name": "Acme" }]));
    run(table, json!({}));
    table.cells(&rows[0])[column].clone()
}

fn check(cell: &Value) {
    assert_eq!(cell["value"], "Ada", "{cell}");
    let (meta, search) = (&cell["meta"], &cell["meta"]["steps"][0]);
    assert_eq!(
        (&search["type"], &search["hosted"], &search["query"]),
        (&json!("search"), &json!(true), &json!("ceo"))
    );
    assert_eq!(meta["sources"].as_array().map(Vec::len), Some(1), "{meta}");
    assert_eq!(
        (&meta["sources"][0]["url"], &meta["searches"]),
        (&json!("https://a.test/"), &json!(1)),
        "{meta}"
    );
}

fn anthropic_searches_by_itself() {
    let model = StubServer::start(|seen: &Seen, number| {
        let body = seen.json();
        assert_eq!(body["tools"][1]["type"], "web_search_20250305", "{body}");
        let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
        let found = json!([{ "type": "web_search_result", "url": "https://a.test/", "title": "A" }]);
        let search = json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": { "query": "ceo" } });
        let result = json!({ "type": "web_search_tool_result", "tool_use_id": "s", "content": found });
        // A long turn is handed back to be gone on with.
        if number == 0 {
            return ok(json!({ "content": [search, result], "stop_reason": "pause_turn", "usage": usage }));
        }
        assert_eq!(body["messages"][1]["content"][0], search, "{body}");
        let citation = json!({ "url": "https://a.test/", "title": "A", "cited_text": "Ada leads Acme." });
        let text = json!({ "type": "text", "text": answer("https://a.test/"), "citations": [citation] });
        ok(json!({ "content": [text], "stop_reason": "end_turn", "usage": usage }))
    });
    let server =
        started(&[("ROWMILL_ANTHROPIC_BASE_URL", &model.url("")), ("ROWMILL_ANTHROPIC_API_KEY", "ak-1")]);
    let table = server.api().table(&["Name"]);
    let column = research(&table, &json!({ "provider": "anthropic", "model": "claude-x" }));
    let cell = researched(&table, &column);
    check(&cell);
    assert_eq!(model.count(), 2);
}

fn openai_searches_by_itself() {
    let model = StubServer::start(|seen: &Seen, _| {
        assert!(seen.path.ends_with("/responses"), "{}", seen.path);
        assert_eq!(seen.json()["tools"][1], json!({ "type": "web_search" }), "{}", seen.body);
        let action = json!({ "type": "search", "query": "ceo", "sources": [{ "type": "url", "url": "https://a.test/" }] });
        let text = json!([{ "type": "output_text", "text": answer("https://a.test/") }]);
        ok(json!({ "status": "completed", "usage": { "input_tokens": 10, "output_tokens": 5 }, "output": [
            { "type": "web_search_call", "id": "w", "action": action }, { "type": "message", "content": text },
        ] }))
    });
    let server = started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), ("ROWMILL_AI_MODEL", "small-1")]);
    let table = server.api().table(&["Name"]);
    let column = research(&table, &json!({}));
    check(&researched(&table, &column));
}
