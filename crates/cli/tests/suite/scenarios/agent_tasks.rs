//! Agents at work: columns that are tried, run, followed and stopped, and ten usual tasks done by tools alone.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::processing::started;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Agent, Scenario, Server, StubServer};

pub(crate) const OWN: &[Scenario] = &scenarios!("agent_tasks", Own:
    a_column_is_tried_run_and_followed,
    a_run_is_stopped,
    ten_tasks_are_done_by_tools_alone,
);

/// A model that charges for its answers, and fails for whoever is called Broken.
fn model() -> StubServer {
    StubServer::start(|seen: &Seen, _| {
        let prompt =
            seen.json()["messages"].as_array().and_then(|turns| Some(turns.last()?["content"].clone()));
        let prompt = prompt.as_ref().and_then(Value::as_str).unwrap_or_default();
        if prompt.contains("Broken") && !prompt.contains("gently") {
            return Reply::Json(400, json!({ "error": { "message": "this prompt is refused" } }));
        }
        let content = format!("Answer to {prompt}");
        ok(json!({
            "model": "small-1", "choices": [{ "message": { "content": content }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 5, "completion_tokens": 5, "cost": 0.002 },
        }))
    })
}

fn server(model: &StubServer) -> Server {
    started(&[
        ("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", "sk-1"),
        ("ROWMILL_AI_MODEL", "small-1"),
    ])
}

fn people(count: usize) -> Value {
    (0..count).map(|index| json!({ "Name": if index % 5 == 4 { format!("Broken {index}") } else { format!("Person {index}") } })).collect()
}

fn a_column_is_tried_run_and_followed() {
    let model = model();
    let server = server(&model);
    let agent = Agent::new(&server.api());
    let table = agent.does("create_table", json!({ "title": "People", "columns": ["Name"] }))["id"].clone();
    agent.does("upsert_rows", json!({ "table": table, "rows": people(10) }));
    let settings = json!({ "prompt": "Greet @{Name}" });
    let draft = json!({ "table": table, "kind": "ai-text", "settings": settings });
    let mut dry = draft.clone();
    dry["dryRun"] = json!(true);
    let shown = agent.does("try_column", dry);
    assert_eq!((&shown["status"], &shown["sent"]["prompt"]), (&json!("dry run"), &json!("Greet Person 0")));
    assert_eq!(model.count(), 0, "a dry run calls nobody");
    let tried = agent.does("try_column", draft);
    assert_eq!(
        (&tried["value"], &tried["cost"]),
        (&json!("Answer to Greet Person 0"), &json!(0.002)),
        "{tried}"
    );
    let set = json!({ "table": table, "column": "Greeting", "kind": "ai-text", "settings": settings, "options": { "retry": { "maxAttempts": 1 } } });
    agent.does("set_column", set);

    let unknown = agent.does("run", json!({ "table": table }));
    assert_eq!(
        (&unknown["dryRun"], &unknown["rows"], &unknown["cells"]),
        (&json!(true), &json!(10), &json!(10))
    );
    assert_eq!(unknown["estimatedCost"], Value::Null);
    assert!(unknown["costNote"].as_str().unwrap().contains("Greeting"), "{unknown}");
    let calls = model.count();
    let first = agent.does("run", json!({ "table": table, "limit": 2, "dryRun": false, "wait": 30 }));
    assert_eq!((&first["rows"], &first["status"]["run"]["done"]), (&json!(2), &json!(2)), "{first}");
    assert_eq!(model.count(), calls + 2);
    let known = agent.does("run", json!({ "table": table }));
    assert_eq!((&known["cells"], &known["estimatedCost"]), (&json!(8), &json!(0.016)), "{known}");

    // Whoever asks for progress hears of it while the call waits.
    agent.does("run", json!({ "table": table, "dryRun": false }));
    let arguments = json!({ "table": table, "wait": 30 }).to_string();
    let status = agent.call_text("run_status", &arguments, &json!({ "progressToken": "p-1" }));
    let content = &status.content;
    assert_eq!(content["processing"], false, "{content}");
    for note in &status.notes {
        assert_eq!(
            (&note["method"], &note["params"]["progressToken"]),
            (&json!("notifications/progress"), &json!("p-1"))
        );
    }
    let errors = &content["errors"][0];
    assert_eq!((&errors["column"], &errors["cells"]), (&json!("Greeting"), &json!(2)), "{content}");
    assert!(errors["example"]["message"].as_str().unwrap().contains("refused"), "{errors}");
    assert!(errors["do"].as_str().unwrap().contains("set_column"), "{errors}");
    let failed = json!([{ "column": "Greeting", "operator": "statusIs", "value": "error" }]);
    let rows = agent.does("query_rows", json!({ "table": table, "where": failed }));
    assert_eq!(rows["total"], 2);
    assert!(rows["rows"][0]["states"]["Greeting"].as_str().unwrap().starts_with("error: "), "{rows}");
    let row = agent.does("get_row", json!({ "table": table, "row": rows["rows"][0]["id"] }));
    assert_eq!(row["cells"]["Greeting"]["status"], "error", "{row}");
}

fn a_run_is_stopped() {
    let slow = StubServer::start(|_: &Seen, _| Reply::Hanging);
    let server = server(&slow);
    let agent = Agent::new(&server.api());
    let columns =
        json!(["Name", { "header": "Slow", "kind": "ai-text", "settings": { "prompt": "@{Name}" } }]);
    let table = agent.does("create_table", json!({ "title": "Slow", "columns": columns }))["id"].clone();
    agent.does("upsert_rows", json!({ "table": table, "rows": people(3) }));
    let started = agent.does("run", json!({ "table": table, "dryRun": false, "wait": 1 }));
    assert_eq!(started["status"]["processing"], true, "{started}");
    let arguments = json!({ "table": table, "wait": 1 }).to_string();
    let waited = agent.call_text("run_status", &arguments, &json!({ "progressToken": 5 }));
    assert_eq!(waited.content["processing"], true);
    assert_eq!(waited.notes[0]["params"]["total"], 3.0, "{:?}", waited.notes);
    let stopped = agent.does("stop_run", json!({ "table": table, "columns": ["slow"] }));
    assert_eq!((&stopped["stoppedRows"], &stopped["stoppedCells"]), (&json!(3), &json!(3)));
    let status = agent.does("run_status", json!({ "table": table }));
    assert_eq!((&status["processing"], &status["run"]["stopped"]), (&json!(false), &json!(3)));
    slow.release();
}

/// Prints what each task took; bench/README.md has the numbers.
fn ten_tasks_are_done_by_tools_alone() {
    let model = model();
    let server = server(&model);
    let agent = Agent::new(&server.api());
    agent.spent();
    make_and_fill(&agent);
    ask_and_repair(&agent);
    change_and_read(&agent);
}

fn told(agent: &Agent, name: &str) {
    let (calls, chars) = agent.spent();
    println!("agent task: {name}: {calls} calls, {chars} characters");
    assert!(calls <= 6 && chars < 20_000, "{name}: {calls} calls, {chars} characters");
}

fn firms(from: usize, to: usize) -> Value {
    let firm = |index: usize| {
        let name = if index % 50 == 49 { format!("Broken {index}") } else { format!("Firm {index}") };
        let city = ["Rome", "Oslo", "Bern"][index % 3];
        json!({ "Name": name, "City": city, "Staff": index })
    };
    (from..to).map(firm).collect()
}

fn make_and_fill(agent: &Agent) {
    let columns = json!(["Name", "City", "Staff"]);
    agent.does("create_table", json!({ "title": "Firms", "columns": columns }));
    agent.does("upsert_rows", json!({ "table": "Firms", "rows": firms(0, 20) }));
    told(agent, "make a table from a list of 20");

    let again =
        agent.does("upsert_rows", json!({ "table": "Firms", "matchOn": "Name", "rows": firms(10, 30) }));
    assert_eq!((&again["inserted"], &again["updated"]), (&json!(10), &json!(10)));
    told(agent, "add 20 rows without duplicates");

    agent.does("list_column_kinds", json!({ "kind": "ai-text" }));
    let prompt = json!({ "prompt": "What does @{Name} do?" });
    agent.does("try_column", json!({ "table": "Firms", "kind": "ai-text", "settings": prompt }));
    let once = json!({ "retry": { "maxAttempts": 1 } });
    agent.does("set_column", json!({ "table": "Firms", "column": "About", "kind": "ai-text", "settings": prompt, "options": once }));
    told(agent, "add an AI column and try it");

    agent.does("run", json!({ "table": "Firms", "columns": ["About"], "limit": 10 }));
    let ran = agent.does(
        "run",
        json!({ "table": "Firms", "columns": ["About"], "limit": 10, "dryRun": false, "wait": 30 }),
    );
    assert_eq!(
        (&ran["status"]["run"]["done"], &ran["status"]["run"]["cost"]),
        (&json!(10), &json!(0.02)),
        "{ran}"
    );
    told(agent, "run ten rows and tell the cost");
}

fn ask_and_repair(agent: &Agent) {
    for (from, to) in [(30, 500), (500, 1_000)] {
        agent.does("upsert_rows", json!({ "table": "Firms", "rows": firms(from, to) }));
    }
    agent.spent();
    let question = json!([
        { "column": "City", "operator": "equals", "value": "Oslo" },
        { "column": "Staff", "operator": "greaterThan", "value": 500 },
    ]);
    let found = agent.does("query_rows", json!({ "table": "Firms", "where": question, "limit": 1 }));
    assert_eq!(found["total"], (501..1_000).filter(|index| index % 3 == 1).count());
    told(agent, "answer a question about 1,000 rows");

    let broken = json!([{ "column": "Name", "operator": "startsWith", "value": "Broken" }]);
    agent.does("run", json!({ "table": "Firms", "where": broken, "dryRun": false, "wait": 30 }));
    let status = agent.does("run_status", json!({ "table": "Firms" }));
    assert_eq!(status["errors"][0]["cells"], 20, "{status}");
    told(agent, "say why cells failed");

    let gentle = json!({ "prompt": "Ask gently: what does @{Name} do?" });
    agent.does("set_column", json!({ "table": "Firms", "column": "About", "settings": gentle }));
    let repaired =
        agent.does("run", json!({ "table": "Firms", "statuses": ["error"], "dryRun": false, "wait": 30 }));
    assert_eq!(repaired["status"]["rows"]["error"], 0, "{repaired}");
    told(agent, "repair the column and run what failed");
}

fn change_and_read(agent: &Agent) {
    let cities = json!([{ "Name": "Firm 1", "City": "Paris" }, { "Name": "Firm 2", "City": "Paris" }]);
    agent.does("upsert_rows", json!({ "table": "Firms", "matchOn": "Name", "rows": cities }));
    let paris = json!([{ "column": "City", "operator": "equals", "value": "Paris" }]);
    let moved = agent.does("query_rows", json!({ "table": "Firms", "where": paris, "columns": ["Name"] }));
    assert_eq!(moved["total"], 2);
    told(agent, "update rows by match");

    let delete = |more: Value| {
        let mut arguments = json!({ "table": "Firms", "where": paris });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        agent.does("delete_rows", arguments)
    };
    let count = delete(json!({}))["count"].clone();
    assert_eq!(delete(json!({ "dryRun": false, "expectedCount": count }))["count"], 2);
    told(agent, "delete the rows of one city");

    agent.does("describe_table", json!({ "table": "Firms" }));
    let best = json!({ "table": "Firms", "sort": [{ "column": "Staff", "direction": "desc" }], "columns": ["Name", "City", "Staff"], "limit": 10 });
    let best = agent.does("query_rows", best);
    let cities: BTreeSet<&str> =
        best["rows"].as_array().unwrap().iter().filter_map(|row| row["cells"]["City"].as_str()).collect();
    assert_eq!((best["rows"].as_array().unwrap().len(), cities.len()), (10, 3));
    told(agent, "understand an unknown table and list its ten largest firms");
}
