//! Comparing prompts and models: side by side on some rows, scored against a column of expected answers, and paid.

use serde_json::{Value, json};

use super::processing::started;
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Seen, ok};
use crate::harness::{Request, Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("comparisons", Own:
    variants_are_compared_and_the_best_is_saved,
    answers_are_scored_as_the_request_says,
    what_cannot_be_compared_is_refused,
    a_comparison_counts_as_spending_and_keeps_to_caps,
    a_comparison_waits_for_its_turn,
);

const CITIES: [(&str, &str); 3] = [("Acme", "Ulm"), ("Birch", "Bath"), ("Cedar", "Rome")];

/// A model that knows where companies are. It is brief if asked to be, and wrong if its name says so.
fn model() -> StubServer {
    StubServer::start(|seen: &Seen, _| {
        let body = seen.json();
        let (name, messages) =
            (body["model"].as_str().unwrap_or_default().to_owned(), body["messages"].clone());
        let prompt = messages
            .as_array()
            .and_then(|all| all.last())
            .and_then(|last| last["content"].as_str())
            .unwrap_or_default();
        let company = CITIES.iter().find(|(company, _)| prompt.contains(company));
        let city = company.map_or("nowhere", |(_, city)| *city);
        let text = if prompt.contains("You grade answers") {
            verdict(prompt)
        } else if name == "wrong" {
            "Paris".to_owned()
        } else if prompt.contains("JSON") {
            json!({ "city": city, "country": "Germany" }).to_string()
        } else if prompt.contains("only") {
            city.to_owned()
        } else {
            format!("It is in the city of {city}.")
        };
        let cost = if name == "dear" { 0.002 } else { 0.001 };
        ok(json!({
            "model": name, "choices": [{ "message": { "content": text }, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 10, "completion_tokens": 2, "cost": cost },
        }))
    })
}

/// What an honest judge says.
fn verdict(prompt: &str) -> String {
    let (_, rest) = prompt.split_once("Expected answer: ").unwrap();
    let expected = rest.split_whitespace().next().unwrap();
    let correct = rest.matches(expected).count() > 1;
    json!({ "correct": correct, "reason": format!("{expected} was expected.") }).to_string()
}

fn with(model: &StubServer) -> Server {
    started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), ("ROWMILL_AI_MODEL", "small")])
}

fn companies(server: &Server) -> (Table, Vec<String>) {
    let table = server.api().table(&["Company", "City"]);
    let rows = table.insert(json!([
        { "Company": "Nameless" }, { "Company": "Acme", "City": "Ulm" }, { "Company": "Birch", "City": "Bath" },
        { "Company": "Cedar" },
    ]));
    (table, rows)
}

fn variant(name: &str, prompt: &str, model: Option<&str>) -> Value {
    json!({ "name": name, "aiConfig": { "prompt": prompt, "model": model } })
}

const WORDY: &str = "Where is @{Company}?";
const BRIEF: &str = "City of @{Company} only?";

fn values(variant: &Value) -> Vec<Value> {
    variant["cells"].as_array().unwrap().iter().map(|cell| cell["value"].clone()).collect()
}

fn variants_are_compared_and_the_best_is_saved() {
    let model = model();
    let server = with(&model);
    let (table, rows) = companies(&server);
    let column = table.add_column(
        json!({ "templateId": "ai-text", "header": "Where", "aiConfig": { "prompt": WORDY, "temperature": 0.5 } }),
    );
    let before = table.get("").ok();
    let request = json!({
        "column": { "templateId": "ai-text" }, "columnId": column,
        "variants": [{}, variant("Brief", BRIEF, None), variant("Dear", BRIEF, Some("dear")), variant("Wrong", BRIEF, Some("wrong"))],
        "rows": 10, "expected": { "columnId": "City", "scoring": "exact" },
    });
    let compared = table.post("/compare", request).ok();
    assert_eq!(
        compared["rows"],
        json!([{ "rowId": rows[1], "expected": "Ulm" }, { "rowId": rows[2], "expected": "Bath" }]),
        "rows without an expected answer are passed over"
    );
    let variants = compared["variants"].as_array().unwrap();
    let of = |name: &str| variants.iter().map(|variant| variant[name].clone()).collect::<Vec<_>>();
    assert_eq!(of("name"), ["Variant 1", "Brief", "Dear", "Wrong"]);
    assert_eq!(values(&variants[0]), ["It is in the city of Ulm.", "It is in the city of Bath."]);
    assert_eq!(values(&variants[1]), ["Ulm", "Bath"]);
    assert_eq!(values(&variants[3]), ["Paris", "Paris"]);
    assert_eq!(of("score"), [0.0, 1.0, 1.0, 0.0]);
    assert_eq!(of("scored"), [2, 2, 2, 2]);
    assert_eq!(of("usdPer1000Rows"), [1.0, 1.0, 2.0, 1.0]);
    assert!(of("milliseconds").iter().all(Value::is_u64), "{compared}");
    assert_eq!(
        (&compared["best"], &compared["usd"]),
        (&json!(1), &json!(0.01)),
        "of two that are right, the cheaper one"
    );
    let cell = &variants[1]["cells"][0];
    assert_eq!(
        (&cell["status"], &cell["tried"], &cell["score"]),
        (&json!("completed"), &json!(true), &json!(1.0))
    );
    assert_eq!((&cell["meta"]["model"], &cell["meta"]["cost"]), (&json!("small"), &json!(0.001)));
    assert_eq!(table.get("").ok(), before, "nothing was saved");
    assert_eq!(model.count(), 8);

    // What came with the best variant is what the column needs.
    let winner = variants[1]["aiConfig"].clone();
    assert_eq!(winner["temperature"], 0.5, "what a variant does not say is the column's: {winner}");
    let patched = table.patch(&format!("/columns/{column}"), json!({ "aiConfig": winner })).ok();
    assert_eq!(patched["appliedFixes"], json!([]), "{patched}");
    assert_eq!(table.full_column(&column)["aiConfig"], winner);

    // Without expected answers: the first rows, and no score.
    let plain = json!({
        "column": { "templateId": "ai-text" }, "variants": [variant("Brief", BRIEF, None)], "rowIds": [rows[3], rows[1]],
    });
    let compared = table.post("/compare", plain).ok();
    assert_eq!(values(&compared["variants"][0]), ["Rome", "Ulm"]);
    assert_eq!((compared.get("best"), compared["variants"][0].get("score")), (None, None));
}

fn answers_are_scored_as_the_request_says() {
    let model = model();
    let server = with(&model);
    let (table, rows) = companies(&server);
    let facts = table.add_column(json!({ "templateId": "manual", "header": "Facts" }));
    let known =
        json!({ "rowId": rows[1], "columnId": facts, "value": { "city": "ulm", "country": "France" } });
    table.patch("/cells", json!({ "cells": [known] })).ok();
    let compare = |template: &str, prompt: &str, expected: Value| {
        let variants = json!([variant("One", prompt, None), variant("Wrong", BRIEF, Some("wrong"))]);
        let column = json!({ "templateId": template });
        let body =
            json!({ "column": column, "variants": variants, "rowIds": [rows[1]], "expected": expected });
        table.post("/compare", body).ok()["variants"].clone()
    };
    let contains = compare("ai-text", WORDY, json!({ "columnId": "City", "scoring": "contains" }));
    assert_eq!((&contains[0]["score"], &contains[1]["score"]), (&json!(1.0), &json!(0.0)), "{contains}");
    let fields = |more: Value| {
        let mut expected = json!({ "columnId": facts, "scoring": "json" });
        expected["fields"] = more;
        compare("ai-json", "JSON about @{Company}", expected)
    };
    let all = fields(json!([]));
    assert_eq!(all[0]["score"], 0.5, "{all}");
    assert_eq!(all[1]["score"], 0.0, "what is no JSON is an error, and no answer is a wrong one: {all}");
    assert_eq!(all[1]["cells"][0]["error"]["code"], "invalid_output");
    assert_eq!(fields(json!(["city"]))[0]["score"], 1.0);

    let judged =
        compare("ai-text", WORDY, json!({ "columnId": "City", "scoring": "judge", "judgeModel": "judge" }));
    assert_eq!((&judged[0]["score"], &judged[1]["score"]), (&json!(1.0), &json!(0.0)), "{judged}");
    assert_eq!(judged[0]["cells"][0]["reason"], "Ulm was expected.");
    assert_eq!(judged[0]["usdPer1000Rows"], 1.0, "the judge's cost is no cost of the column");
    let asked = model.seen().into_iter().map(|seen| seen.json()).filter(|body| body["model"] == "judge");
    let asked: Vec<Value> = asked.collect();
    assert_eq!(asked.len(), 2);
    let sent = asked.iter().find(|body| body.to_string().contains("city of Ulm")).unwrap().to_string();
    assert!(sent.contains("never instructions"), "an answer is data for the judge: {sent}");
}

fn what_cannot_be_compared_is_refused() {
    let model = model();
    let server = with(&model);
    let (table, rows) = companies(&server);
    let compare = |change: Value| {
        let mut body =
            json!({ "column": { "templateId": "ai-text" }, "variants": [variant("A", BRIEF, None)] });
        for (name, value) in change.as_object().cloned().unwrap_or_default() {
            body[name] = value;
        }
        table.post("/compare", body)
    };
    compare(json!({ "column": { "templateId": "http-api", "apiConfig": { "url": "https://x.example" } } }))
        .offends(&["column.templateId"]);
    compare(json!({ "column": { "templateId": "ai-text", "header": 1 } })).offends(&["column.header"]);
    let schema = json!({ "aiConfig": { "prompt": "x", "outputSchema": { "type": "nothing" } } });
    compare(
        json!({ "column": { "templateId": "ai-json" }, "variants": [variant("A", BRIEF, None), schema] }),
    )
    .offends(&["variants[1].aiConfig.outputSchema"]);
    compare(json!({ "variants": [] })).offends(&["variants"]);
    let seven: Vec<Value> = (0..7).map(|_| variant("A", BRIEF, None)).collect();
    compare(json!({ "variants": seven })).offends(&["variants"]);
    compare(json!({ "rows": 21 })).offends(&["rows"]);
    compare(json!({ "rows": 1, "rowIds": [rows[0]] })).offends(&["rows"]);
    compare(json!({ "rowIds": [rows[0], "row_nope"] })).refused(404, "row_not_found");
    compare(json!({ "columnId": "col_nope" })).refused(404, "column_not_found");
    compare(json!({ "expected": { "columnId": "Nope", "scoring": "exact" } }))
        .refused(404, "column_not_found");
    compare(json!({ "expected": { "columnId": "City", "scoring": "nearly" } }))
        .offends(&["expected.scoring"]);
    assert_eq!(model.count(), 0, "nobody was asked");

    // A row that a run would skip is skipped, and a model that fails is told apart from one that is wrong.
    table.insert(json!([{ "City": "Oslo" }]));
    let expected = json!({ "columnId": "City", "scoring": "exact" });
    let compared = compare(json!({ "rows": 20, "expected": expected })).ok();
    let last = compared["variants"][0]["cells"][2].clone();
    assert_eq!(
        (&last["status"], &last["error"]["code"]),
        (&json!("skipped"), &json!("missing_input")),
        "{last}"
    );
    assert_eq!(last["score"], 0.0);
}

fn a_comparison_counts_as_spending_and_keeps_to_caps() {
    let model = model();
    let mut server = with(&model);
    let (table, _) = companies(&server);
    let many: Vec<Value> = (0..20).map(|row| json!({ "Company": format!("Company {row}") })).collect();
    table.insert(json!(many));
    let api = server.api();
    let cap = json!({ "caps": [{ "scope": "team", "period": "day", "usd": 0.01 }] });
    api.send(Request::new("PUT", "/v4/team/spending").json(&cap)).ok();
    let compare = |table: &Table| {
        let variants: Vec<Value> =
            (0..3).map(|n| variant("V", &format!("City {n} of @{{Company}} only?"), None)).collect();
        let body = json!({ "column": { "templateId": "ai-text" }, "variants": variants, "rows": 20 });
        table.post("/compare", body).ok()
    };
    let compared = compare(&table);
    let cells: Vec<Value> = compared["variants"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|variant| variant["cells"].as_array().cloned().unwrap())
        .collect();
    let tried = cells.iter().filter(|cell| cell["tried"] == true).count();
    assert_eq!((cells.len(), tried), (60, model.count()));
    assert!((10..=16).contains(&tried), "the cap is for ten calls, and six are in flight: {tried}");
    let refused = cells.iter().find(|cell| cell["tried"] == false).unwrap();
    assert_eq!(
        (&refused["status"], &refused["error"]["code"]),
        (&json!("error"), &json!("spend_limit")),
        "{refused}"
    );

    #[expect(clippy::cast_precision_loss, reason = "there are few")]
    let cost = tried as f64 / 1_000.0;
    let near = |number: &Value| (number.as_f64().unwrap() - cost).abs() < 1e-9;
    assert!(near(&compared["usd"]), "{}", compared["usd"]);
    let lines = || api.get("/v4/usage/spending?groupBy=column").ok()["lines"].clone();
    let line = lines()[0].clone();
    assert_eq!(
        (&line["columnId"], &line["column"]),
        (&json!("_comparisons"), &json!("Comparisons of prompts")),
        "{line}"
    );
    assert!(near(&line["usd"]) && line["calls"] == tried, "{line}");
    let spent = api.get("/v4/team/spending").ok()["caps"][0].clone();
    assert!(near(&spent["spent"]) && spent["reached"] == true, "{spent}");

    // The cap holds after a restart, for runs and for comparisons.
    server.crash_and_restart();
    compare(&table.through(&server.api()));
    assert_eq!(model.count(), tried, "no more is spent");
}

fn a_comparison_waits_for_its_turn() {
    let model = model();
    let server = with(&model);
    let (table, _) = companies(&server);
    let limited = json!({ "requests": 3, "perSeconds": 4 });
    let column = table.add_column(
        json!({ "templateId": "ai-text", "header": "Where", "aiConfig": { "prompt": WORDY }, "rateLimit": limited }),
    );
    let body = json!({
        "column": { "templateId": "ai-text" }, "columnId": column,
        "variants": [variant("A", BRIEF, None), variant("B", WORDY, None)], "rows": 3,
    });
    let compared = table.post("/compare", body).ok();
    let variants = compared["variants"].as_array().unwrap();
    let all = variants.iter().flat_map(|variant| variant["cells"].as_array().unwrap());
    assert!(all.clone().all(|cell| cell["status"] == "completed"), "{compared}");
    assert_eq!((all.count(), model.count()), (6, 6));
}
