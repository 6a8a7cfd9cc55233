//! Contract section 5: columns, how they are made, placed, named, changed and deleted.

use serde_json::{Value, json};

use crate::harness::api::Version;
use crate::harness::runner::scenarios;
use crate::harness::table::strings;
use crate::harness::{Api, Request, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("columns", Versions:
    seven_templates_are_listed,
    a_column_of_each_template_is_made_with_its_configuration,
    creation_answers_what_the_version_describes_and_the_fixes,
    order_inserts_and_shifts_without_holes,
    headers_are_unique_without_regard_to_case_and_outer_blanks,
    columns_made_at_once_all_stay_in_order_and_unlike,
    a_patch_merges_objects_replaces_the_rest_and_null_clears,
    the_whole_column_as_it_was_read_may_be_sent_back,
    read_only_fields_must_be_unchanged,
    what_no_correction_can_mend_is_400_and_changes_nothing,
    a_wrong_word_within_configuration_is_named_at_its_own_place,
    the_input_column_may_be_renamed_never_deleted_or_retyped,
    deleting_a_column_corrects_what_referred_to_it,
);

fn seven_templates_are_listed(api: &Api) {
    let table = api.table(&[]);
    let templates = table.get("/columns/templates").ok()["templates"].clone();
    let listed: Vec<String> = templates
        .as_array()
        .unwrap()
        .iter()
        .map(|template| {
            assert!(!template["label"].as_str().unwrap().is_empty());
            assert!(!template["description"].as_str().unwrap().is_empty());
            let word = |name: &str| template[name].as_str().unwrap().to_owned();
            format!("{} {} {}", word("id"), word("type"), word("dataShape"))
        })
        .collect();
    assert_eq!(
        listed,
        [
            "manual manual text",
            if api.version == Version::V4 { "ai-text ai text" } else { "ai ai text" },
            "ai-json ai json",
            "ai-research ai text",
            "waterfall-email task waterfall",
            "web-scraper task vendor-scrape-result",
            "verify-email task json",
            "find-company task json",
            "find-people task json",
            "fan-out task json",
            "http-api api json",
            "reference reference json",
        ]
    );
    let words = listed.iter().map(|line| line.split(' ').next().unwrap());
    for word in words.chain(["ai"]) {
        table.post("/columns", json!({ "templateId": word })).created();
    }
}

fn a_column_of_each_template_is_made_with_its_configuration(api: &Api) {
    let table = api.table(&["Site"]);
    let made = |template: &str| table.full_column(&table.add_column(json!({ "templateId": template })));
    let common = |column: &Value| {
        assert_eq!(column["runCondition"], json!([]));
        assert_eq!(column["retry"], json!({ "maxAttempts": 5 }));
        assert_eq!((&column["rateLimit"], &column["cacheTtlSeconds"]), (&Value::Null, &json!(0)));
        let configs = ["aiConfig", "taskConfig", "apiConfig", "referenceConfig"];
        configs.into_iter().filter(|name| column.get(name).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(common(&made("manual")), [""; 0]);
    let ai = made("ai-text");
    assert_eq!((common(&ai), &ai["aiConfig"]["prompt"]), (vec!["aiConfig"], &json!("")));
    let ai = made("ai-json");
    assert!(ai["aiConfig"]["outputSchema"].is_object(), "{ai}");
    let waterfall = made("waterfall-email");
    assert_eq!(common(&waterfall), ["taskConfig"]);
    assert_eq!(waterfall["taskConfig"]["taskType"], "waterfallEmail");
    let config = &waterfall["taskConfig"]["waterfallEmail"];
    assert_eq!(config["waterfallType"], "email");
    let mapping = json!({ "first_name": "", "last_name": "", "full_name": "", "domain": "" });
    assert_eq!(config["inputMapping"], mapping);
    let providers = config["providers"].as_array().unwrap();
    for (order, provider) in providers.iter().enumerate() {
        assert_eq!((&provider["order"], &provider["enabled"]), (&json!(order), &json!(false)));
    }
    assert_eq!(providers.last().unwrap()["taskType"], "pattern");
    let scraper = made("web-scraper");
    assert_eq!(
        scraper["taskConfig"],
        json!({ "taskType": "webScraper", "webScraper": {
        "url": "", "formats": ["markdown"], "onlyMainContent": true, "respectRobots": true, "timeoutSeconds": 30,
    } })
    );
    let http = made("http-api");
    assert_eq!(common(&http), ["apiConfig"]);
    assert_eq!(
        (&http["apiConfig"]["method"], &http["apiConfig"]["timeoutSeconds"]),
        (&json!("GET"), &json!(30))
    );
    assert_eq!(http["apiConfig"]["emptyOn"], json!([404]));
    assert_eq!(common(&made("reference")), ["referenceConfig"]);
}

fn creation_answers_what_the_version_describes_and_the_fixes(api: &Api) {
    let table = api.table(&[]);
    let made = table.post("/columns", json!({ "templateId": "manual", "header": " Name " })).created();
    let mut fields: Vec<&String> = made["column"].as_object().unwrap().keys().collect();
    fields.sort();
    match api.version {
        Version::V4 => assert_eq!(fields, ["dataShape", "header", "id", "order", "type"]),
        Version::V3 => assert_eq!(made["column"], table.columns()[1], "the whole column"),
    }
    assert_eq!((&made["column"]["header"], &made["column"]["order"]), (&json!("Name"), &json!(1)));
    assert_eq!(made["appliedFixes"], json!([]));
}

fn order_inserts_and_shifts_without_holes(api: &Api) {
    let table = api.table(&["A", "B", "C"]);
    let orders = |table: &Table| {
        let columns = table.columns();
        for (order, column) in columns.iter().enumerate() {
            assert_eq!(column["order"], order);
        }
        table.headers().join(" ")
    };
    let add = |order: i64, header: &str| {
        let made = table
            .post("/columns", json!({ "templateId": "manual", "header": header, "order": order }))
            .created();
        (made["column"]["order"].as_u64().unwrap(), made["appliedFixes"].as_array().unwrap().len())
    };
    assert_eq!(add(2, "D"), (2, 0));
    assert_eq!(orders(&table), "Input A D B C");
    assert_eq!(add(5, "E"), (5, 0));
    assert_eq!(add(0, "F"), (1, 1), "0 is the input column's");
    assert_eq!(add(99, "G"), (7, 1), "beyond the end");
    assert_eq!(orders(&table), "Input F A D B C E G");
    let moved = |header: &str, order: i64| {
        let id = table.columns().iter().find(|column| column["header"] == header).unwrap()["id"].clone();
        let patched =
            table.patch(&format!("/columns/{}", id.as_str().unwrap()), json!({ "order": order })).ok();
        (patched["column"]["order"].as_u64().unwrap(), patched["appliedFixes"].as_array().unwrap().len())
    };
    assert_eq!(moved("G", 1), (1, 0));
    assert_eq!(moved("F", 7), (7, 0));
    assert_eq!(orders(&table), "Input G A D B C E F");
    assert_eq!(moved("A", 0), (1, 1));
    assert_eq!(moved("A", 8), (7, 1));
    assert_eq!(moved("Input", 3), (0, 1));
    assert_eq!(orders(&table), "Input G D B C E F A");
    let id = table.column("B").to_owned();
    table.delete(&format!("/columns/{id}")).ok();
    assert_eq!(orders(&table), "Input G D C E F A");
    // Numbers that no list can be as long as.
    for order in ["4294967296", "9007199254740991"] {
        let id = table.column("C").to_owned();
        let body = format!(r#"{{"order":{order}}}"#);
        let sent = Request::new("PATCH", table.path(&format!("/columns/{id}"))).text(&body);
        let patched = api.send(sent).ok();
        assert_eq!(
            (&patched["column"]["order"], strings(&patched["appliedFixes"]).len()),
            (&json!(6), 1),
            "{order}"
        );
        let body = format!(r#"{{"templateId":"manual","header":"Far","order":{order}}}"#);
        let made = api.send(Request::post(table.path("/columns")).text(&body)).created();
        assert_eq!(
            (&made["column"]["order"], strings(&made["appliedFixes"]).len()),
            (&json!(7), 1),
            "{order}"
        );
        table.delete(&format!("/columns/{}", made["column"]["id"].as_str().unwrap())).ok();
    }
    for order in [json!(-1), json!(1.5), json!(-1e300), json!("1"), json!(null)] {
        let refusal = table.patch(&format!("/columns/{}", table.column("A")), json!({ "order": order }));
        refusal.offends(&["order"]);
    }
}

fn headers_are_unique_without_regard_to_case_and_outer_blanks(api: &Api) {
    let table = api.table(&["Name"]);
    let add = |header: &str| {
        let made = table.post("/columns", json!({ "templateId": "manual", "header": header })).created();
        let fixes = made["appliedFixes"].as_array().unwrap().len();
        (made["column"]["header"].as_str().unwrap().to_owned(), fixes)
    };
    assert_eq!(add("  NAME "), ("NAME 2".to_owned(), 1));
    assert_eq!(add("name"), ("name 3".to_owned(), 1));
    assert_eq!(add("input"), ("input 2".to_owned(), 1));
    assert_eq!(add("ÉTÉ"), ("ÉTÉ".to_owned(), 0));
    assert_eq!(add("été"), ("été 2".to_owned(), 1));
    // Cut to fit.
    let long = "x".repeat(255);
    assert_eq!(add(&long), (long.clone(), 0));
    assert_eq!(add(&long), (format!("{} 2", "x".repeat(253)), 1));
    // Without a header, the template's label, and never twice.
    let labels: Vec<Value> = (0..2)
        .map(|_| {
            table.post("/columns", json!({ "templateId": "manual" })).created()["column"]["header"].clone()
        })
        .collect();
    assert_ne!(labels[0], labels[1]);
    let name = format!("/columns/{}", table.column("Name"));
    let renamed = table.patch(&name, json!({ "header": "INPUT" })).ok();
    assert_eq!(renamed["column"]["header"], "INPUT 3");
    assert_eq!(renamed["appliedFixes"].as_array().unwrap().len(), 1);
    let own = table.patch(&name, json!({ "header": "input 3" })).ok();
    assert_eq!((&own["column"]["header"], &own["appliedFixes"]), (&json!("input 3"), &json!([])));
    for header in [json!(""), json!("  "), json!("x".repeat(256)), json!(5)] {
        table.post("/columns", json!({ "templateId": "manual", "header": header })).offends(&["header"]);
        table.patch(&name, json!({ "header": header })).offends(&["header"]);
    }
    table.patch(&name, json!({ "header": null })).offends(&["header"]);
}

fn columns_made_at_once_all_stay_in_order_and_unlike(api: &Api) {
    let table = api.table(&[]);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| table.add_column(json!({ "templateId": "manual", "header": "Same", "order": 1 })));
        }
    });
    let columns = table.columns();
    let headers: std::collections::BTreeSet<&str> =
        columns.iter().map(|column| column["header"].as_str().unwrap()).collect();
    assert_eq!((columns.len(), headers.len()), (13, 13), "{headers:?}");
    assert!(columns.iter().enumerate().all(|(order, column)| column["order"] == order));
}

fn a_patch_merges_objects_replaces_the_rest_and_null_clears(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name").to_owned();
    let id = table.add_column(json!({ "templateId": "ai-text", "header": "Summary", "aiConfig": {
        "prompt": "About @{Name}", "system": "Be brief", "temperature": 0.5, "maxTokens": 100,
    } }));
    let patch = |body: Value| table.patch(&format!("/columns/{id}"), body).ok();
    let patched = patch(json!({ "aiConfig": { "temperature": 1, "system": null } }));
    let config = &patched["column"]["aiConfig"];
    assert_eq!(config["prompt"], format!("About @{{{name}}}"));
    assert_eq!((&config["temperature"], &config["maxTokens"]), (&json!(1.0), &json!(100)));
    assert!(config.get("system").is_none_or(Value::is_null), "{config}");
    assert_eq!(patched["appliedFixes"], json!([]));
    let patched = patch(json!({ "rateLimit": { "requests": 5, "perSeconds": 60 }, "cacheTtlSeconds": 30,
        "retry": { "maxAttempts": 2 }, "runCondition": [{ "columnId": name, "operator": "isNotEmpty" }] }));
    assert_eq!(patched["column"]["rateLimit"], json!({ "requests": 5, "perSeconds": 60 }));
    assert_eq!(
        (&patched["column"]["cacheTtlSeconds"], &patched["column"]["retry"]["maxAttempts"]),
        (&json!(30), &json!(2))
    );
    assert_eq!(patched["column"]["runCondition"].as_array().unwrap().len(), 1);
    let patched = patch(json!({ "rateLimit": { "requests": 7 } }));
    assert_eq!(patched["column"]["rateLimit"], json!({ "requests": 7, "perSeconds": 60 }));
    let cleared =
        patch(json!({ "rateLimit": null, "cacheTtlSeconds": null, "retry": null, "runCondition": null }));
    assert_eq!(
        (&cleared["column"]["rateLimit"], &cleared["column"]["cacheTtlSeconds"]),
        (&Value::Null, &json!(0))
    );
    assert_eq!(
        (&cleared["column"]["retry"]["maxAttempts"], &cleared["column"]["runCondition"]),
        (&json!(5), &json!([]))
    );
    // Arrays are replaced whole; what the prompt refers to is depended on again.
    let patched = patch(json!({ "dependencies": [{ "columnId": "_trigger", "required": false }] }));
    let dependencies =
        json!([{ "columnId": "_trigger", "required": false }, { "columnId": name, "required": true }]);
    assert_eq!(patched["column"]["dependencies"], dependencies);
    assert_eq!(patched["appliedFixes"].as_array().unwrap().len(), 1);
    let api_column = table
        .add_column(json!({ "templateId": "http-api", "apiConfig": { "headers": { "A": "1", "B": "2" } } }));
    let patched = table
        .patch(
            &format!("/columns/{api_column}"),
            json!({ "apiConfig": { "headers": { "A": null, "C": "3" } } }),
        )
        .ok();
    assert_eq!(patched["column"]["apiConfig"]["headers"], json!({ "B": "2", "C": "3" }));
    // Config cleared is filled in from the template, and that is told.
    let patched = patch(json!({ "aiConfig": null }));
    assert_eq!(patched["column"]["aiConfig"]["prompt"], "");
    assert!(!patched["appliedFixes"].as_array().unwrap().is_empty());
    assert_eq!(table.full_column(&id), patched["column"]);
}

fn the_whole_column_as_it_was_read_may_be_sent_back(api: &Api) {
    let table = api.table(&["Name"]);
    for template in [
        "manual",
        "ai-text",
        "ai-json",
        "ai-research",
        "waterfall-email",
        "web-scraper",
        "verify-email",
        "find-company",
        "find-people",
        "fan-out",
        "http-api",
        "reference",
    ] {
        table.add_column(json!({ "templateId": template }));
    }
    table.add_column(json!({ "templateId": "ai-text", "aiConfig": { "prompt": "@{Name} @{_trigger.a.b}" },
        "rateLimit": { "requests": 1, "perSeconds": 2 },
        "runCondition": [{ "conjunction": "or", "filters": [{ "columnId": "_trigger", "operator": "in", "value": [1, "a"] }] }] }));
    for column in table.columns() {
        let path = format!("/columns/{}", column["id"].as_str().unwrap());
        let sent_back = table.patch(&path, column.clone()).ok();
        assert_eq!(sent_back["column"], column);
        assert_eq!(sent_back["appliedFixes"], json!([]), "{column}");
    }
}

fn read_only_fields_must_be_unchanged(api: &Api) {
    let table = api.table(&["Name"]);
    let path = format!("/columns/{}", table.column("Name"));
    table.patch(&path, json!({ "id": "col_000000000000" })).offends(&["id"]);
    table.patch(&path, json!({ "type": "ai" })).offends(&["type"]);
    table.patch(&path, json!({ "trigger": true })).offends(&["trigger"]);
    table.patch("/columns/_trigger", json!({ "type": "ai", "id": "x" })).offends(&["id", "type"]);
    table.patch("/columns/_trigger", json!({ "trigger": true, "header": "In" })).ok();
}

fn what_no_correction_can_mend_is_400_and_changes_nothing(api: &Api) {
    let table = api.table(&["Name"]);
    let ai = table.add_column(json!({ "templateId": "ai-text" }));
    let before = table.columns();
    for (body, place) in [
        (json!({ "templateId": "nope" }), "templateId"),
        (json!({ "templateId": 5 }), "templateId"),
        (json!({}), "templateId"),
        (json!({ "templateId": "ai-text", "aiConfig": "x" }), "aiConfig"),
        (json!({ "templateId": "ai-text", "aiConfig": { "prompt": 5 } }), "aiConfig.prompt"),
        (
            json!({ "templateId": "ai-text", "aiConfig": { "prompt": "x".repeat(100_001) } }),
            "aiConfig.prompt",
        ),
        (json!({ "templateId": "ai-text", "aiConfig": { "temperature": "hot" } }), "aiConfig.temperature"),
        (json!({ "templateId": "manual", "dependencies": "x" }), "dependencies"),
        (
            json!({ "templateId": "manual", "dependencies": [{ "required": true }] }),
            "dependencies[0].columnId",
        ),
        (json!({ "templateId": "manual", "retry": { "maxAttempts": "x" } }), "retry.maxAttempts"),
        (json!({ "templateId": "manual", "cacheTtlSeconds": -1 }), "cacheTtlSeconds"),
        (
            json!({ "templateId": "manual", "runCondition": [{ "columnId": "_trigger", "operator": "x" }] }),
            "runCondition[0].operator",
        ),
        (
            json!({ "templateId": "manual", "runCondition": [{ "columnId": "nope", "operator": "isEmpty" }] }),
            "runCondition[0].columnId",
        ),
    ] {
        table.post("/columns", body.clone()).offends(&[place]);
        if let Some(patch) = body.as_object().filter(|body| body.len() == 2) {
            let mut patch = patch.clone();
            patch.remove("templateId");
            table.patch(&format!("/columns/{ai}"), Value::Object(patch)).refused(400, "invalid_request");
        }
    }
    assert_eq!(table.columns(), before);
}

fn a_wrong_word_within_configuration_is_named_at_its_own_place(api: &Api) {
    let table = api.table(&[]);
    for (template, config, place) in [
        ("http-api", json!({ "apiConfig": { "method": "BREW" } }), "apiConfig.method"),
        ("ai-text", json!({ "aiConfig": { "provider": "oracle" } }), "aiConfig.provider"),
        ("manual", json!({ "rateLimit": { "requests": 1 } }), "rateLimit.perSeconds"),
        ("manual", json!({ "rateLimit": { "perSeconds": 1 } }), "rateLimit.requests"),
    ] {
        let column = table.add_column(json!({ "templateId": template }));
        let mut body = config.clone();
        body["templateId"] = json!(template);
        table.post("/columns", body).offends(&[place]);
        table.patch(&format!("/columns/{column}"), config).offends(&[place]);
    }
}

fn the_input_column_may_be_renamed_never_deleted_or_retyped(api: &Api) {
    let table = api.table(&[]);
    let renamed = table.patch("/columns/_trigger", json!({ "header": "Company" })).ok();
    assert_eq!(
        (&renamed["column"]["header"], &renamed["column"]["trigger"]),
        (&json!("Company"), &json!(true))
    );
    let row = table.insert(json!({ "company": "Acme" })).remove(0);
    assert_eq!(table.value(&row, "_trigger"), "Acme");
    assert_eq!(table.delete("/columns/_trigger").status(), 400);
    table.patch("/columns/_trigger", json!({ "type": "ai" })).offends(&["type"]);
    // It waits for nothing and has nothing to run.
    let patched =
        table.patch("/columns/_trigger", json!({ "aiConfig": { "prompt": "x" }, "dataShape": "json" })).ok();
    assert_eq!(
        (&patched["column"]["dataShape"], &patched["column"]["type"]),
        (&json!("text"), &json!("manual"))
    );
    assert!(patched["column"].get("aiConfig").is_none());
    assert_eq!(patched["appliedFixes"].as_array().unwrap().len(), 2, "{patched}");
    assert_eq!(table.columns().len(), 1);
}

fn deleting_a_column_corrects_what_referred_to_it(api: &Api) {
    let table = api.table(&["Name", "Site"]);
    let name = table.column("Name").to_owned();
    let row = table.insert(json!({ "Name": "Ada", "Site": "a.example" })).remove(0);
    let ai = table.add_column(
        json!({ "templateId": "ai-text", "header": "Sum", "aiConfig": { "prompt": "A @{Name} b @{Site}" },
        "runCondition": [{ "columnId": name, "operator": "isNotEmpty" }] }),
    );
    let reference = table.add_column(json!({ "templateId": "reference", "header": "Ref", "referenceConfig": { "columnId": name, "path": "a" } }));
    let view = json!({ "name": "V", "filters": [{ "columnId": name, "operator": "isEmpty" }, { "columnId": "_trigger", "operator": "isEmpty" }],
        "sorting": [{ "columnId": name, "direction": "asc" }], "columnVisibility": { name.clone(): false, "_trigger": true } });
    table.post("/views", view).created();
    let gone = table.delete(&format!("/columns/{name}")).ok();
    assert_eq!(gone["deletedCount"], 1);
    let fixes = gone["appliedFixes"].as_array().unwrap();
    for words in ["Sum", "Ref", "V", "filter", "sorting", "visibility", "run condition"] {
        assert!(fixes.iter().any(|fix| fix.as_str().unwrap().contains(words)), "{words}: {fixes:?}");
    }
    let ai = table.full_column(&ai);
    assert_eq!(ai["aiConfig"]["prompt"], format!("A  b @{{{}}}", table.column("Site")));
    assert_eq!(ai["dependencies"], json!([{ "columnId": table.column("Site"), "required": true }]));
    assert_eq!(ai["runCondition"], json!([]));
    assert_eq!(table.full_column(&reference)["referenceConfig"]["columnId"], "");
    let view = table.get("/views").ok()["views"][0].clone();
    assert_eq!(view["filters"].as_array().unwrap().len(), 1);
    assert_eq!((&view["sorting"], &view["columnVisibility"]), (&json!([]), &json!({ "_trigger": true })));
    let cells = table.cells(&row);
    assert!(cells.get(&name).is_none() && cells[table.column("Site")]["value"] == "a.example");
    table.delete(&format!("/columns/{name}")).refused(404, "column_not_found");
    // Its values are gone with it: a namesake starts empty.
    let again = table.add_column(json!({ "templateId": "manual", "header": "Name" }));
    assert_eq!(table.value(&row, &again), Value::Null);
}
