//! Contract section 5: each correction as a caller sees it. The result, sent back, needs none.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("corrections", Versions:
    dependencies_are_corrected,
    an_edge_that_would_close_a_circle_is_removed,
    references_are_corrected,
    a_misspelt_reference_is_told_with_the_column_that_may_be_meant,
    waterfall_mappings_and_providers_are_corrected,
    configuration_is_that_of_the_type_and_whole,
    a_reference_cell_follows_its_path,
    a_shape_of_answers_that_cannot_be_used_is_refused,
    a_condition_names_columns_by_header,
);

/// Sends a body, expects corrections with these words, and none when the result is sent back.
#[track_caller]
fn corrected(table: &Table, column: &str, body: Value, words: &[&str]) -> Value {
    let path = format!("/columns/{column}");
    let answer = table.patch(&path, body).ok();
    let fixes = answer["appliedFixes"].as_array().unwrap();
    assert_eq!(fixes.len(), words.len(), "{fixes:#?}");
    for word in words {
        assert!(fixes.iter().any(|fix| fix.as_str().unwrap().contains(word)), "{word}: {fixes:#?}");
    }
    let again = table.patch(&path, answer["column"].clone()).ok();
    assert_eq!(again["appliedFixes"], json!([]));
    assert_eq!(again["column"], answer["column"]);
    answer["column"].clone()
}

fn dependencies_are_corrected(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let id = table.add_column(json!({ "templateId": "ai-text", "header": "Sum" }));
    let dependencies = json!([
        { "columnId": "col_unknown00000", "required": true },
        { "columnId": id },
        { "columnId": name, "required": false },
        { "columnId": name, "required": true },
        { "columnId": "_trigger" },
    ]);
    let words = ["unknown", "itself", "duplicate"];
    let column = corrected(&table, &id, json!({ "dependencies": dependencies }), &words);
    let kept = json!([{ "columnId": name, "required": true }, { "columnId": "_trigger", "required": false }]);
    assert_eq!(column["dependencies"], kept);
}

fn an_edge_that_would_close_a_circle_is_removed(api: &Api) {
    let table = api.table(&[]);
    let add = |header: &str, prompt: &str| {
        table.add_column(
            json!({ "templateId": "ai-text", "header": header, "aiConfig": { "prompt": prompt } }),
        )
    };
    let a = add("A", "");
    let b = add("B", "@{A}");
    let c = add("C", "@{B}");
    let column =
        corrected(&table, &a, json!({ "dependencies": [{ "columnId": c, "required": true }] }), &["cycle"]);
    assert_eq!(column["dependencies"], json!([]));
    let prompt = json!({ "aiConfig": { "prompt": format!("x @{{{b}}} y") } });
    let column = corrected(&table, &a, prompt, &["cycle"]);
    assert_eq!(column["aiConfig"]["prompt"], "x  y");
    assert_eq!(column["dependencies"], json!([]));
    let own = json!({ "aiConfig": { "prompt": "me: @{A}" } });
    assert_eq!(corrected(&table, &a, own, &["itself"])["aiConfig"]["prompt"], "me: ");
    // The other edges stayed.
    assert_eq!(table.full_column(&b)["dependencies"][0]["columnId"], a.as_str());
}

fn a_misspelt_reference_is_told_with_the_column_that_may_be_meant(api: &Api) {
    let table = api.table(&["Company"]);
    let ai = table.add_column(json!({ "templateId": "ai-text", "header": "Sum" }));
    let prompt = |text: &str| json!({ "aiConfig": { "prompt": text } });
    let meant = "unknown column \"Compnay\" in aiConfig.prompt (did you mean \"Company\"?).";
    corrected(&table, &ai, prompt("@{Compnay}"), &[meant]);
    let dependencies = json!({ "dependencies": [{ "columnId": "Compny" }] });
    corrected(&table, &ai, dependencies, &["unknown column \"Compny\" (did you mean \"Company\"?)."]);
    let reference = json!({ "templateId": "reference", "header": "Part",
        "referenceConfig": { "columnId": "Companny", "path": "city" } });
    let made = table.post("/columns", reference).created();
    assert!(made["appliedFixes"][0].as_str().unwrap().contains("(did you mean \"Company\"?)"), "{made}");
    // A reference that worked is not cleared for a misspelt one.
    table.patch(&format!("/columns/{ai}"), prompt("@{Company}")).ok();
    let refused = table.patch(&format!("/columns/{ai}"), prompt("@{Compnay}")).offends(&["aiConfig.prompt"]);
    let words = refused["details"][0]["message"].as_str().unwrap();
    assert!(words.contains("(did you mean \"Company\"?)") && words.contains("fix=true"), "{words}");
    // So many names are compared, and no more.
    let many: Vec<String> = (0..30).map(|number| format!("@{{Compan{number}}}")).collect();
    let fixes =
        table.patch(&format!("/columns/{ai}?fix=true"), prompt(&many.join(""))).ok()["appliedFixes"].clone();
    let fixes: Vec<String> = serde_json::from_value(fixes).unwrap();
    let hinted = fixes.iter().filter(|fix| fix.contains("did you mean")).count();
    assert_eq!((fixes.len(), hinted), (30, 20));
}

fn references_are_corrected(api: &Api) {
    let table = api.table(&["Full name", "Site"]);
    let (name, site) = (table.column("Full name"), table.column("Site"));
    let ai = table.add_column(json!({ "templateId": "ai-text" }));
    let prompt = json!({ "aiConfig": { "prompt": "@{ full NAME } @{Nope} @{_trigger.a.b[0]}" } });
    let column = corrected(&table, &ai, prompt, &["Rewrote", "unknown", name, "_trigger"]);
    assert_eq!(column["aiConfig"]["prompt"], format!("@{{{name}}}  @{{_trigger.a.b[0]}}"));
    let api_column = table.add_column(json!({ "templateId": "http-api" }));
    let config = json!({ "apiConfig": { "method": "POST", "url": "https://x.example/@{Site}", "headers": { "X-Name": "@{Full name}" },
        "query": { "q": "@{Gone}" }, "body": { "deep": ["@{Site}"] } } });
    let answer = table.patch(&format!("/columns/{api_column}"), config).ok();
    let config = &answer["column"]["apiConfig"];
    assert_eq!(config["url"], format!("https://x.example/@{{{site}}}"));
    assert_eq!(config["headers"]["X-Name"], format!("@{{{name}}}"));
    assert_eq!(
        (&config["query"]["q"], &config["body"]["deep"][0]),
        (&json!(""), &json!(format!("@{{{site}}}")))
    );
    let depended: Vec<&Value> = answer["column"]["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dependency| &dependency["columnId"])
        .collect();
    assert!(depended.contains(&&json!(site)) && depended.contains(&&json!(name)), "{depended:?}");
    let reference = table.add_column(json!({ "templateId": "reference" }));
    let config = json!({ "referenceConfig": { "columnId": "site", "path": "$.a[0]" } });
    let column = corrected(&table, &reference, config, &["Rewrote", "Added"]);
    assert_eq!(column["referenceConfig"], json!({ "columnId": site, "path": "$.a[0]" }));
    let unknown = json!({ "referenceConfig": { "columnId": "col_unknown00000" } });
    table.patch(&format!("/columns/{reference}?fix=true"), unknown).ok();
    assert_eq!(table.full_column(&reference)["referenceConfig"]["columnId"], "");
}

fn waterfall_mappings_and_providers_are_corrected(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let id = table.add_column(json!({ "templateId": "waterfall-email" }));
    let waterfall = |body: Value| json!({ "taskConfig": { "waterfallEmail": body } });
    let mapping =
        waterfall(json!({ "inputMapping": { "full_name": "@{Name}", "phone": "x", "domain": null } }));
    let answer = table.patch(&format!("/columns/{id}"), mapping).ok();
    let expected =
        json!({ "first_name": "", "last_name": "", "full_name": format!("@{{{name}}}"), "domain": "" });
    assert_eq!(answer["column"]["taskConfig"]["waterfallEmail"]["inputMapping"], expected, "{answer}");
    assert!(answer["appliedFixes"].to_string().contains("phone"), "{answer}");
    let provider = |id: &str, task_type: &str, enabled: bool, order: u32| json!({ "id": id, "taskType": task_type, "enabled": enabled, "order": order });
    let providers = waterfall(json!({ "providers": [
        provider("second", "hunter", true, 9),
        provider("first", "prospeo", true, 4),
        provider("", "hunter", true, 5),
        provider("second", "hunter", false, 11),
        provider("odd", "nobody-knows", true, 20),
    ] }));
    let column = corrected(&table, &id, providers, &["without an id", "Merged", "Renumbered", "unknown"]);
    let kept = column["taskConfig"]["waterfallEmail"]["providers"].clone();
    let mut kept = kept.as_array().unwrap().clone();
    kept.sort_by_key(|provider| provider["order"].as_u64());
    let expected = [
        provider("first", "prospeo", true, 0),
        provider("second", "hunter", true, 1),
        provider("odd", "nobody-knows", false, 2),
    ];
    assert_eq!(kept, expected);
}

fn configuration_is_that_of_the_type_and_whole(api: &Api) {
    let table = api.table(&["Name"]);
    let manual = table.column("Name");
    let foreign = json!({ "aiConfig": { "prompt": "x" }, "taskConfig": { "taskType": "webScraper" } });
    let column = corrected(&table, manual, foreign, &["aiConfig", "taskConfig"]);
    assert!(column.get("aiConfig").is_none() && column.get("taskConfig").is_none());
    let made =
        table.post("/columns", json!({ "templateId": "ai-text", "apiConfig": { "url": "x" } })).created();
    assert_eq!(made["appliedFixes"].as_array().unwrap().len(), 1);
    let scraper = table.add_column(json!({ "templateId": "web-scraper" }));
    let column = corrected(&table, &scraper, json!({ "dataShape": "waterfall" }), &["dataShape"]);
    assert_eq!(column["dataShape"], "vendor-scrape-result");
    let column = corrected(
        &table,
        &scraper,
        json!({ "taskConfig": { "webScraper": { "formats": null } } }),
        &["formats"],
    );
    assert_eq!(column["taskConfig"]["webScraper"]["formats"], json!(["markdown"]));
    let ai = table.add_column(json!({ "templateId": "ai-text" }));
    let column = corrected(
        &table,
        &ai,
        json!({ "aiConfig": { "outputSchema": { "type": "object" } } }),
        &["outputSchema"],
    );
    assert!(column["aiConfig"].get("outputSchema").is_none());
    let column = corrected(&table, &ai, json!({ "dataShape": "nonsense" }), &["dataShape"]);
    assert_eq!(column["dataShape"], "text");
}

fn a_shape_of_answers_that_cannot_be_used_is_refused(api: &Api) {
    let table = api.table(&["Name"]);
    for schema in
        [json!({ "type": "text" }), json!({ "required": "n" }), json!({ "$ref": "https://example.com/x" })]
    {
        let body = json!({ "templateId": "ai-json", "aiConfig": { "prompt": "x", "outputSchema": schema } });
        table.post("/columns", body).offends(&["aiConfig.outputSchema"]);
    }
    let id = table.add_column(json!({ "templateId": "ai-json" }));
    let wrong = json!({ "aiConfig": { "outputSchema": { "properties": { "n": { "type": 5 } } } } });
    let refused = table.patch(&format!("/columns/{id}"), wrong).offends(&["aiConfig.outputSchema"]);
    let words = refused["details"][0]["message"].as_str().unwrap().to_owned();
    assert!(words.contains("/properties/n/type"), "{words}");
}

fn a_condition_names_columns_by_header(api: &Api) {
    let table = api.table(&["Name"]);
    let condition = |name: &str| json!([{ "columnId": name, "operator": "isNotEmpty" }]);
    let made = table
        .post("/columns", json!({ "templateId": "ai-text", "runCondition": condition("name ") }))
        .created();
    assert_eq!(made["appliedFixes"].as_array().unwrap().len(), 1, "{made}");
    let id = made["column"]["id"].as_str().unwrap().to_owned();
    assert_eq!(table.full_column(&id)["runCondition"], condition(table.column("Name")));
    table
        .patch(&format!("/columns/{id}"), json!({ "runCondition": condition("Nobody") }))
        .offends(&["runCondition[0].columnId"]);
}

fn a_reference_cell_follows_its_path(api: &Api) {
    let table = api.table(&["Guest"]);
    let guest = table.column("Guest");
    let rows = table.insert(json!([
        { "Guest": { "email": "ada@example.com", "tags": ["x", { "n": 1.50 }] } },
        { "Guest": "no object" },
        { "Guest": r#"{"email":"in text"}"# },
    ]));
    let follow = |path: &str| {
        table.add_column(
            json!({ "templateId": "reference", "referenceConfig": { "columnId": "Guest", "path": path } }),
        )
    };
    // Rows older than the column, too.
    let (email, number, query) = (follow("email"), follow("tags[1].n"), follow("$.tags[0]"));
    let cells = table.cells(&rows[0]);
    assert_eq!(cells[&email], json!({ "value": "ada@example.com", "status": "completed" }));
    assert_eq!((&cells[&number]["value"], &cells[&query]["value"]), (&json!(1.5), &json!("x")));
    assert_eq!(table.cells(&rows[1])[&email], json!({ "value": null, "status": "idle" }));
    let listed = table.rows(&[("withStatus", "true")]);
    assert_eq!(listed["rows"][0]["cells"][&email]["status"], "completed");
    assert_eq!(table.rows(&[])["rows"][0]["cells"][&email], "ada@example.com");
    table.patch(&format!("/rows/{}", rows[0]), json!({ "Guest": { "email": "new" } })).ok();
    assert_eq!(table.value(&rows[0], &email), "new");
    let filter = json!([{ "columnId": email, "operator": "equals", "value": "NEW" }]).to_string();
    assert_eq!(table.rows(&[("filters", &filter)])["pagination"]["totalRows"], 1);
    // It cannot be written itself.
    table.post("/rows", json!({ email.clone(): "x" })).offends(&[&email]);
    table.patch(&format!("/rows/{}", rows[0]), json!({ email.clone(): "x" })).offends(&[&email]);
    let cells = json!({ "cells": [{ "rowId": rows[0], "columnId": email, "value": "x" }] });
    table.patch("/cells", cells).offends(&["cells[0].value"]);
    assert_eq!(table.value(&rows[0], guest), json!({ "email": "new" }));
}
