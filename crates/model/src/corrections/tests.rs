//! Every correction and every offence, as data: what was sent, what was said, what is stored.

mod config;
mod links;

use serde_json::json;

use super::*;

/// `_trigger`, and one column of each kind: `col_<template id>` with the header `<Template id>`.
fn table() -> Table {
    let mut table = Table::new();
    for template in &TEMPLATES {
        let (head, tail) = template.id.split_at(1);
        let body = json!({"templateId": template.id, "header": head.to_uppercase() + tail});
        table = created(&table, &format!("col_{}", template.id), &body).table;
    }
    table
}

fn object(value: &Value) -> Map<String, Value> {
    value.as_object().unwrap_or_else(|| panic!("{value} is no object")).clone()
}

fn create_in(table: &Table, id: &str, body: &Value) -> Result<Corrected, Vec<Offence>> {
    create(table, &object(body), ColumnId::new(id), &Catalogue::default(), &Limits::default())
}

fn created(table: &Table, id: &str, body: &Value) -> Corrected {
    create_in(table, id, body).unwrap_or_else(|offences| panic!("{body}: {offences:?}"))
}

fn patch_in(table: &Table, id: &str, body: &Value) -> Result<Corrected, Vec<Offence>> {
    patch(table, id, &object(body), &Catalogue::default(), &Limits::default())
}

fn patched(table: &Table, id: &str, body: &Value) -> Corrected {
    patch_in(table, id, body).unwrap_or_else(|offences| panic!("{id} {body}: {offences:?}"))
}

fn wire(table: &Table, id: &str) -> Value {
    Value::Object(to_document(table, table.by_id(id).unwrap()))
}

/// Patches a column of [`table`]: the fixes must be these, the column must then say at least this,
/// and the result sent back must change nothing.
fn check(id: &str, body: &Value, fixes: &[&str], expected: &Value) {
    check_on(&table(), id, body, fixes, expected);
}

fn check_on(table: &Table, id: &str, body: &Value, fixes: &[&str], expected: &Value) {
    let corrected = patched(table, id, body);
    assert_eq!(corrected.fixes, fixes, "{id} {body}");
    check_holds(&wire(&corrected.table, id), expected, &format!("{id} {body}"));
    let again = patched(&corrected.table, id, &wire(&corrected.table, id));
    assert_eq!(
        again,
        Corrected { fixes: vec![], losses: vec![], refusals: vec![], ..corrected },
        "{id} {body}, sent back"
    );
}

fn check_created(body: &Value, fixes: &[&str], expected: &Value) {
    let corrected = created(&table(), "col_new", body);
    assert_eq!(corrected.fixes, fixes, "{body}");
    assert_eq!(corrected.column, ColumnId::new("col_new"));
    check_holds(&wire(&corrected.table, "col_new"), expected, &body.to_string());
    let again = patched(&corrected.table, "col_new", &wire(&corrected.table, "col_new"));
    assert_eq!(
        again,
        Corrected { fixes: vec![], losses: vec![], refusals: vec![], ..corrected },
        "{body}, sent back"
    );
}

/// Objects hold at least the expected fields; null stands for a field that is not there.
fn check_holds(actual: &Value, expected: &Value, context: &str) {
    match (actual, expected) {
        (Value::Object(actual), Value::Object(expected)) => {
            for (key, expected) in expected {
                let actual = actual.get(key).unwrap_or(&Value::Null);
                check_holds(actual, expected, &format!("{context}: {key}"));
            }
        }
        _ => assert_eq!(actual, expected, "{context}"),
    }
}

fn check_refused(result: Result<Corrected, Vec<Offence>>, paths: &[&str], context: &Value) {
    let offences = result.map(|corrected| corrected.fixes).expect_err(&context.to_string());
    let found: Vec<&str> = offences.iter().map(|offence| offence.path.as_str()).collect();
    assert_eq!(found, paths, "{context}");
}

#[test]
fn a_new_column_is_its_template_with_the_body_over_it() {
    check_created(
        &json!({"templateId": "manual"}),
        &[],
        &json!({
            "id": "col_new", "header": "Manual input", "type": "manual", "dataShape": "text", "order": 13,
            "trigger": null, "slot": null, "dependencies": [], "aiConfig": null, "runCondition": [],
            "retry": {"maxAttempts": 5}, "rateLimit": null, "cacheTtlSeconds": 0,
        }),
    );
    check_created(
        &json!({"templateId": "ai", "header": " Summary ", "order": 1, "aiConfig": {"model": "m"},
            "rateLimit": {"requests": 5, "perSeconds": 1}, "retry": {"maxAttempts": 2}, "cacheTtlSeconds": 60,
            "dependencies": null, "runCondition": [{"columnId": "col_manual", "operator": "isNotEmpty"}]}),
        &[],
        &json!({"header": "Summary", "type": "ai", "order": 1, "aiConfig": {"prompt": "", "model": "m"},
            "rateLimit": {"requests": 5, "perSeconds": 1}, "retry": {"maxAttempts": 2}, "cacheTtlSeconds": 60}),
    );
    check_created(
        &json!({"templateId": "ai-json", "aiConfig": {"outputSchema": {"anyOf": [{}]}}}),
        &[],
        &json!({"dataShape": "json", "aiConfig": {"outputSchema": {"anyOf": [{}], "type": null}}}),
    );
    check_created(
        &json!({"templateId": "waterfall-email", "taskConfig": {"waterfallEmail": {"inputMapping": {"domain": "a.b"}}}}),
        &[],
        &json!({"taskConfig": {"waterfallEmail": {"inputMapping":
            {"first_name": "", "last_name": "", "full_name": "", "domain": "a.b"}}}}),
    );
    check_created(
        &json!({"templateId": "http-api", "apiConfig": null}),
        &[],
        &json!({"apiConfig": {"method": "GET", "timeoutSeconds": 30}}),
    );
}

#[test]
fn a_condition_may_name_columns_by_their_headers() {
    let condition = |name: &str| {
        let filter = json!({"columnId": name, "operator": "isNotEmpty"});
        json!([filter, {"conjunction": "or", "filters": [filter]}])
    };
    check_created(
        &json!({"templateId": "ai", "runCondition": condition(" mANUAL")}),
        &["Rewrote \" mANUAL\" to \"col_manual\" in runCondition."],
        &json!({"runCondition": condition("col_manual")}),
    );
}

#[test]
fn a_stored_schema_is_not_judged_again() {
    let mut table = table();
    let index = table.position("col_ai-json").unwrap();
    table.columns[index].ai_config.as_mut().unwrap().output_schema = Some(json!({"type": "text"}).into());
    check_on(&table, "col_ai-json", &json!({"header": "Renamed"}), &[], &json!({"header": "Renamed"}));
    let other = json!({"aiConfig": {"outputSchema": {"type": "texts"}}});
    check_refused(patch_in(&table, "col_ai-json", &other), &["aiConfig.outputSchema"], &other);
}

#[test]
fn a_new_column_stands_in_its_place() {
    let order = |order: u32| json!({"templateId": "manual", "order": order});
    check_created(&order(3), &[], &json!({"order": 3}));
    check_created(&order(13), &[], &json!({"order": 13}));
    check_created(&order(0), &["Corrected order 0 to 1."], &json!({"order": 1}));
    check_created(&order(14), &["Corrected order 14 to 13."], &json!({"order": 13}));
}

#[test]
fn a_new_column_is_corrected_as_a_changed_one_is() {
    check_created(
        &json!({"templateId": "manual", "header": "MANUAL", "aiConfig": {"prompt": "x"}}),
        &[
            "Removed aiConfig, which columns of template \"manual\" do not have.",
            "Renamed header \"MANUAL\" to \"MANUAL 2\", because another column already uses it.",
        ],
        &json!({"header": "MANUAL 2", "aiConfig": null}),
    );
    let table = created(&table(), "col_x", &json!({"templateId": "manual"})).table;
    let second = created(&table, "col_y", &json!({"templateId": "manual"}));
    assert_eq!(
        (second.fixes, wire(&second.table, "col_y")["header"].clone()),
        (vec![], json!("Manual input 2"))
    );
    assert_eq!(second.table.next_slot, 15);
}

#[test]
fn what_cannot_be_created_is_refused() {
    let table = table();
    for (body, paths) in [
        (json!({}), &["templateId"][..]),
        (json!({"templateId": "nope"}), &["templateId"]),
        (json!({"templateId": 1, "nope": 1, "dataShape": "text"}), &["nope", "dataShape", "templateId"]),
        (json!({"templateId": "manual", "header": "  "}), &["header"]),
        (json!({"templateId": "manual", "header": "é".repeat(256)}), &["header"]),
        (json!({"templateId": "manual", "header": 5}), &["header"]),
        (json!({"templateId": "manual", "order": -1}), &["order"]),
        (json!({"templateId": "manual", "order": 1.5}), &["order"]),
        (json!({"templateId": "manual", "id": "col_z"}), &["id"]),
        (
            json!({"templateId": "ai-json", "retry": 1, "header": "", "order": "1",
                "aiConfig": {"outputSchema": []}, "runCondition": [{"columnId": "nope", "operator": "isEmpty"}]}),
            &["retry", "header", "runCondition[0].columnId", "aiConfig.outputSchema", "order"],
        ),
        (
            json!({"templateId": "ai-json", "aiConfig": {"outputSchema": {"type": "text"}}}),
            &["aiConfig.outputSchema"],
        ),
        (
            json!({"templateId": "ai-json", "aiConfig": {"outputSchema": {"$ref": "https://example.com/x"}}}),
            &["aiConfig.outputSchema"],
        ),
        (
            json!({"templateId": "ai-json", "aiConfig": {"outputSchema": {"title": "x".repeat(100_000)}}}),
            &["aiConfig.outputSchema"],
        ),
        (json!({"templateId": "ai", "aiConfig": {"nope": 1}}), &["aiConfig"]),
        (json!({"templateId": "ai", "aiConfig": []}), &["aiConfig"]),
        (json!({"templateId": "manual", "dependencies": [{"columnId": 1}]}), &["dependencies"]),
        (json!({"templateId": "manual", "rateLimit": {"requests": 1}}), &["rateLimit.perSeconds"]),
    ] {
        check_refused(create_in(&table, "col_new", &body), paths, &body);
    }
    let body = json!({"templateId": "manual"});
    check_refused(create_in(&table, "col_manual", &body), &["id"], &body);
    let limits = Limits { columns_max: 8, ..Limits::default() };
    let full = create(&table, &object(&body), ColumnId::new("col_new"), &Catalogue::default(), &limits);
    assert!(full.unwrap_err()[0].message.contains("at most 8 columns"));
}

#[test]
fn a_patch_changes_only_what_it_names() {
    check("col_ai-text", &json!({}), &[], &wire(&table(), "col_ai-text"));
    let table = patched(
        &table(),
        "col_ai-text",
        &json!({"aiConfig": {"prompt": "p", "system": "s", "temperature": 0.7},
            "rateLimit": {"requests": 1, "perSeconds": 2}, "cacheTtlSeconds": 9, "retry": {"maxAttempts": 1},
            "runCondition": [{"columnId": "_trigger", "operator": "isEmpty"}],
            "dependencies": [{"columnId": "_trigger", "required": true}]}),
    )
    .table;
    check_on(
        &table,
        "col_ai-text",
        &json!({"aiConfig": {"system": null, "model": "m"}, "rateLimit": {"requests": 3}}),
        &[],
        &json!({"aiConfig": {"prompt": "p", "system": null, "temperature": 0.7, "model": "m"},
            "rateLimit": {"requests": 3, "perSeconds": 2}, "cacheTtlSeconds": 9}),
    );
    check_on(
        &table,
        "col_ai-text",
        &json!({"rateLimit": null, "cacheTtlSeconds": null, "retry": null, "runCondition": null,
            "dependencies": null}),
        &[],
        &json!({"rateLimit": null, "cacheTtlSeconds": 0, "retry": {"maxAttempts": 5}, "runCondition": [],
            "dependencies": [], "aiConfig": {"prompt": "p"}}),
    );
}

#[test]
fn the_whole_column_is_taken_as_it_was_read() {
    let table = table();
    for column in &table.columns {
        let id = column.id.as_str();
        let corrected = patched(&table, id, &wire(&table, id));
        assert_eq!((corrected.fixes, &corrected.table), (vec![], &table), "{id}");
    }
}

#[test]
fn what_cannot_be_patched_is_refused() {
    let table = table();
    for (id, body, paths) in [
        ("nope", json!({}), &["columnId"][..]),
        ("col_manual", json!({"templateId": "manual"}), &["templateId"]),
        ("col_manual", json!({"id": "x", "type": "ai", "trigger": true}), &["id", "type", "trigger"]),
        ("col_manual", json!({"id": null, "slot": 1}), &["slot", "id"]),
        ("_trigger", json!({"type": "ai"}), &["type"]),
        ("_trigger", json!({"trigger": false}), &["trigger"]),
        ("_trigger", json!({"header": null}), &["header"]),
        ("col_manual", json!({"header": null, "order": null}), &["header", "order"]),
        ("col_manual", json!({"dataShape": 1}), &["dataShape"]),
        ("col_reference", json!({"referenceConfig": {"path": "a[", "columnId": 5}}), &["referenceConfig"]),
        ("col_reference", json!({"referenceConfig": {"path": "a["}}), &["referenceConfig.path"]),
        ("col_http-api", json!({"apiConfig": {"responsePath": "a["}}), &["apiConfig.responsePath"]),
        (
            "col_manual",
            json!({"runCondition": [{"columnId": "x", "operator": "isEmpty"}]}),
            &["runCondition[0].columnId"],
        ),
    ] {
        check_refused(patch_in(&table, id, &body), paths, &body);
    }
    assert_eq!(patched(&table, "col_manual", &json!({"trigger": false})).fixes, [""; 0]);
}

#[test]
fn headers_are_trimmed_and_unique() {
    let header = |text: &str| json!({"header": text});
    check("col_manual", &header(" New\t"), &[], &header("New"));
    check("col_manual", &header("MANUAL"), &[], &header("MANUAL"));
    check(
        "col_manual",
        &header(" reference "),
        &["Renamed header \"reference\" to \"reference 2\", because another column already uses it."],
        &header("reference 2"),
    );
    let long = "é".repeat(255);
    let table = patched(&table(), "col_reference", &header(&long)).table;
    let corrected = patched(&table, "col_manual", &header(&long.to_uppercase()));
    assert_eq!(corrected.table.by_id("col_manual").unwrap().header, "É".repeat(253) + " 2");
    assert_eq!(corrected.fixes.len(), 1);
    let third = patched(&corrected.table, "col_http-api", &header(&long));
    assert_eq!(third.table.by_id("col_http-api").unwrap().header, "é".repeat(253) + " 3");
}

#[test]
fn a_column_moves_to_its_order() {
    let ids = |table: &Table| table.columns.iter().map(|column| column.id.to_string()).collect::<Vec<_>>();
    let before = ids(&table());
    for (id, order, moved_to, fixes) in [
        ("col_manual", 1, 1, &[][..]),
        ("col_manual", 3, 3, &[]),
        ("col_reference", 2, 2, &[]),
        ("col_reference", 11, 11, &[]),
        ("col_reference", 13, 12, &["Corrected order 13 to 12."]),
        ("col_reference", 0, 1, &["Corrected order 0 to 1."]),
        ("_trigger", 3, 0, &["Corrected order 3 to 0."]),
    ] {
        check(id, &json!({"order": order}), fixes, &json!({"order": moved_to}));
        let mut expected = before.clone();
        expected.retain(|other| other != id);
        expected.insert(moved_to, id.to_owned());
        assert_eq!(ids(&patched(&table(), id, &json!({"order": order})).table), expected);
    }
}

#[test]
fn whoever_wants_no_corrections_is_told_those_that_change_what_was_asked() {
    let table = table();
    let header = table.columns.last().unwrap().header.clone();
    let refused = |prompt: String| {
        let body = json!({ "templateId": "ai-text", "aiConfig": { "prompt": prompt } });
        created(&table, "col_new", &body).refusals
    };
    // A header written as an id, and the dependency that follows from it, are what was asked for.
    assert_eq!(refused(format!("Greet @{{{header}}}")), []);
    let misspelt = format!("{header}x");
    let expected = format!("\"{misspelt}\" is not a column; did you mean \"{header}\"?");
    assert_eq!(refused(format!("Greet @{{{misspelt}}}")), [Offence::new("aiConfig.prompt", expected)]);
    let foreign = json!({ "templateId": "ai-text", "apiConfig": { "url": "http://a.example" } });
    assert_eq!(created(&table, "col_new", &foreign).refusals.len(), 1);
}
