//! The types of columns: `format` says how values are read, and never changes them.

use serde_json::{Value, json};

use crate::harness::api::Version;
use crate::harness::runner::scenarios;
use crate::harness::table::query_of;
use crate::harness::{Api, Request, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("column_types", Shared:
    a_type_is_set_changed_and_cleared,
    settings_are_checked_and_corrected,
    values_stay_as_they_were_written,
    strict_columns_refuse_what_does_not_fit,
    values_sort_by_type,
    values_are_filtered_by_type,
    filters_read_what_they_compare_with_as_cells_are_read,
    cursors_follow_a_sorted_type,
    earlier_versions_know_no_types,
    types_are_guessed,
    an_import_sets_types,
);

fn typed(api: &Api, format: Value) -> (Table, String) {
    let column = json!({ "templateId": "manual", "header": "A", "format": format });
    let table = api.table_of(json!({ "title": "Types", "columns": [column] }));
    let id = table.column("A").to_owned();
    (table, id)
}

fn format_of(table: &Table, column: &str) -> Value {
    table.full_column(column).get("format").cloned().unwrap_or_default()
}

fn a_type_is_set_changed_and_cleared(api: &Api) {
    let table = api.table(&["Plain"]);
    let plain = table.column("Plain").to_owned();
    assert_eq!(table.full_column(&plain).get("format"), None);
    let all = [
        "text",
        "longText",
        "number",
        "currency",
        "percent",
        "date",
        "dateTime",
        "checkbox",
        "select",
        "multiSelect",
        "url",
        "email",
        "phone",
        "json",
        "rating",
    ];
    for kind in all {
        let path = format!("/columns/{plain}");
        let changed = table.patch(&path, json!({ "format": { "type": kind } })).ok();
        assert_eq!(changed["column"]["format"], json!({ "type": kind }));
        assert_eq!(changed["appliedFixes"], json!([]));
    }
    let path = format!("/columns/{plain}");
    let money = json!({ "format": { "type": "currency", "currency": "EUR", "decimals": 2, "strict": true } });
    table.patch(&path, money.clone()).ok();
    assert_eq!(format_of(&table, &plain), money["format"]);
    // What another type leaves behind goes without a word; what a patch leaves out stays.
    let changed = table.patch(&path, json!({ "format": { "type": "number" } })).ok();
    assert_eq!(changed["column"]["format"], json!({ "type": "number", "decimals": 2, "strict": true }));
    assert_eq!(changed["appliedFixes"], json!([]));
    // The whole column can be sent back.
    let whole = table.full_column(&plain);
    assert_eq!(table.patch(&path, whole.clone()).ok()["column"], whole);
    table.patch(&path, json!({ "format": null })).ok();
    assert_eq!(table.full_column(&plain).get("format"), None);
    // Columns that are filled have types, too.
    let body =
        json!({ "templateId": "ai-text", "header": "Score", "format": { "type": "rating", "max": 10 } });
    let score = table.add_column(body);
    assert_eq!(format_of(&table, &score), json!({ "type": "rating", "max": 10 }));
}

fn settings_are_checked_and_corrected(api: &Api) {
    let (table, id) = typed(api, json!({ "type": "text" }));
    let path = format!("/columns/{id}");
    let refused = |format: Value, paths: &[&str]| {
        table.patch(&path, json!({ "format": format })).offends(paths);
    };
    refused(json!({ "type": "colour" }), &["format.type"]);
    refused(json!({ "type": "currency", "currency": "eur" }), &["format.currency"]);
    refused(json!({ "type": "number", "decimals": 11 }), &["format.decimals"]);
    refused(json!({ "type": "rating", "max": 0 }), &["format.max"]);
    refused(json!({ "type": "select", "options": [{ "value": "" }] }), &["format.options[0].value"]);
    refused(
        json!({ "type": "select", "options": [{ "value": "a", "color": "mud" }] }),
        &["format.options[0].color"],
    );
    refused(json!({ "type": "text", "size": 3 }), &["format.size"]);
    refused(json!("number"), &["format"]);
    let options: Vec<Value> = (0..501).map(|n| json!({ "value": n.to_string() })).collect();
    refused(json!({ "type": "select", "options": options }), &["format.options"]);
    let sent = json!({ "type": "select", "max": 3, "options": [
        { "value": " New ", "color": "teal" }, { "value": "new" }, { "value": "Won" },
    ] });
    let changed = table.patch(&path, json!({ "format": sent })).ok();
    let kept =
        json!({ "type": "select", "options": [{ "value": "New", "color": "teal" }, { "value": "Won" }] });
    assert_eq!(changed["column"]["format"], kept);
    assert_eq!(changed["appliedFixes"].as_array().unwrap().len(), 2, "{changed}");
    assert_eq!(table.patch(&path, json!({ "format": kept })).ok()["appliedFixes"], json!([]));
    // A change of settings needs a type.
    table.patch(&path, json!({ "format": null })).ok();
    refused(json!({ "decimals": 2 }), &["format"]);
}

fn values_stay_as_they_were_written(api: &Api) {
    let (table, id) = typed(api, json!({ "type": "number" }));
    let sent = "[{\"A\": \"$1,200\"}, {\"A\": 1.50}, {\"A\": \"free\"}, {\"A\": {\"a\": 1}}, {\"A\": null}]";
    table.post_text("/rows", sent).created();
    let text = table.get("/rows").text;
    for raw in ["\"$1,200\"", "1.50", "\"free\"", "{\"a\": 1}"] {
        assert!(text.contains(&format!("\"{id}\":{raw}")), "{raw} in {text}");
    }
}

fn strict_columns_refuse_what_does_not_fit(api: &Api) {
    let (table, id) = typed(api, json!({ "type": "number", "strict": true }));
    let row = table.insert(json!([{ "A": "1,200" }])).remove(0);
    let told = table.post("/rows", json!([{ "A": 1 }, { "A": "free" }, { id.as_str(): "x" }]));
    let told = told.offends(&["[1].A", &format!("[2].{id}")]);
    assert!(told["details"][0]["message"].as_str().unwrap().contains("a number"), "{told}");
    table.post("/rows", json!({ "A": "free" })).offends(&["A"]);
    table.patch(&format!("/rows/{row}"), json!({ "A": "free" })).offends(&["A"]);
    table.patch("/rows", json!([{ "id": row, "A": [] }, { "id": row, "A": [1] }])).offends(&["[1].A"]);
    let cells = json!({ "cells": [
        { "rowId": row, "columnId": id, "value": 5 }, { "rowId": row, "columnId": id, "value": "five" },
    ] });
    table.patch("/cells", cells).offends(&["cells[1].value"]);
    assert_eq!(table.values("A", &[]), ["1,200"]);
    table.patch("/cells", json!({ "cells": [{ "rowId": row, "columnId": id, "value": null }] })).ok();
    // An import takes the other rows.
    let told = import(&table, &[], "A\n5\nfree\n\"7,000\"\n");
    assert_eq!((&told["importedCount"], &told["rejectedCount"]), (&json!(2), &json!(1)));
    let rejected = &told["rejected"][0];
    assert_eq!(rejected["line"], 3);
    assert!(rejected["reason"].as_str().unwrap().contains("\"A\""), "{rejected}");
    // Whoever is not strict any more takes everything.
    table.patch(&format!("/columns/{id}"), json!({ "format": { "strict": false } })).ok();
    table.post("/rows", json!({ "A": "free" })).created();
}

fn values_sort_by_type(api: &Api) {
    let check = |format: Value, sent: &[Value], asc: &[Value], desc: &[Value]| {
        let (table, id) = typed(api, format.clone());
        let rows: Vec<Value> = sent.iter().map(|value| json!({ "A": value })).collect();
        table.insert(json!(rows));
        let sorted = |direction: &str| {
            let sorting = json!([{ "columnId": id, "direction": direction }]).to_string();
            table.values("A", &[("sorting", &sorting)])
        };
        assert_eq!(sorted("asc"), asc, "{format}");
        assert_eq!(sorted("desc"), desc, "{format}");
    };
    let amounts = [json!("1,200"), json!("free"), json!(null), json!("$5"), json!("12 %"), json!(30)];
    check(
        json!({ "type": "number" }),
        &amounts,
        &[json!("$5"), json!("12 %"), json!(30), json!("1,200"), json!("free"), json!(null)],
        &[json!("1,200"), json!(30), json!("12 %"), json!("$5"), json!("free"), json!(null)],
    );
    check(
        json!({ "type": "date", "dateStyle": "european" }),
        &[json!("3/4/2024"), json!("2024-03-31"), json!("soon"), json!("1 May 2024")],
        &[json!("2024-03-31"), json!("3/4/2024"), json!("1 May 2024"), json!("soon")],
        &[json!("1 May 2024"), json!("3/4/2024"), json!("2024-03-31"), json!("soon")],
    );
    check(
        json!({ "type": "select", "options": [{ "value": "New" }, { "value": "Won" }, { "value": "Lost" }] }),
        &[json!("Lost"), json!("10"), json!("won"), json!(null), json!("New")],
        &[json!("New"), json!("won"), json!("Lost"), json!("10"), json!(null)],
        &[json!("Lost"), json!("won"), json!("New"), json!("10"), json!(null)],
    );
    check(
        json!({ "type": "checkbox" }),
        &[json!("yes"), json!(false), json!("perhaps")],
        &[json!(false), json!("yes"), json!("perhaps")],
        &[json!("yes"), json!(false), json!("perhaps")],
    );
}

fn values_are_filtered_by_type(api: &Api) {
    let (table, id) = typed(api, json!({ "type": "currency" }));
    table.insert(json!([{ "A": "$1,200" }, { "A": 85 }, { "A": "€5" }, { "A": null }]));
    let found = |operator: &str, value: Value| {
        let filters = json!([{ "columnId": id, "operator": operator, "value": value }]).to_string();
        table.values("A", &[("filters", &filters)])
    };
    assert_eq!(found("greaterThan", json!(100)), ["$1,200"]);
    assert_eq!(found("equals", json!(1200)), ["$1,200"]);
    assert_eq!(found("isInvalid", Value::Null), ["€5"]);
    assert_eq!(found("isValid", Value::Null), [json!("$1,200"), json!(85), json!(null)]);
    // Another type sees the same values otherwise, at once.
    table.patch(&format!("/columns/{id}"), json!({ "format": { "type": "number" } })).ok();
    assert_eq!(found("isInvalid", Value::Null), Vec::<Value>::new());
    assert_eq!(found("lessThan", json!(10)), ["€5"]);
    table.patch(&format!("/columns/{id}"), json!({ "format": null })).ok();
    assert_eq!(found("greaterThan", json!(10)), [85]);
    assert_eq!(found("isInvalid", Value::Null), Vec::<Value>::new());
}

fn filters_read_what_they_compare_with_as_cells_are_read(api: &Api) {
    let (table, column) = typed(api, json!({ "type": "date" }));
    table.insert(
        json!([{ "A": "9.5.2024" }, { "A": "2024-05-10" }, { "A": "May 11, 2024" }, { "A": "soon" }]),
    );
    let found = |operator: &str, value: &Value| {
        let filters = json!([{ "columnId": column, "operator": operator, "value": value }]).to_string();
        table.values("A", &[("filters", &filters)]).len()
    };
    for written in ["2024-05-10", "10.05.2024", "May 10, 2024", "10 May 2024"].map(Value::from) {
        let operators =
            ["equals", "before", "after", "onOrBefore", "onOrAfter", "lessThan", "greaterThanOrEqual"];
        let counts = operators.map(|operator| found(operator, &written));
        assert_eq!(counts, [1, 1, 1, 2, 2, 1, 2], "{written}");
    }
    assert_eq!(found("between", &json!(["9.5.2024", "10 May 2024"])), 2);
    // A view keeps the date that was read.
    let filter = json!({ "columnId": column, "operator": "before", "value": "10.05.2024" });
    let view =
        table.post("/views", json!({ "name": "Early", "filters": [filter] })).created()["view"].clone();
    assert_eq!(view["filters"][0]["value"], "2024-05-10");
    table.patch(&format!("/columns/{column}"), json!({ "format": null })).ok();
    let view = view["id"].as_str().unwrap().to_owned();
    assert_eq!(table.list(&[("viewId", &view)]).ok()["pagination"]["totalRows"], 0, "9.5.2024 is text now");
    let untyped = json!([filter]).to_string();
    table.list(&[("filters", &untyped)]).offends(&["filters[0].value"]);
}

fn cursors_follow_a_sorted_type(api: &Api) {
    let (table, id) = typed(api, json!({ "type": "number" }));
    let amounts: Vec<Value> = (0..30).map(|n| json!({ "A": format!("${},000", 30 - n) })).collect();
    table.insert(json!(amounts));
    table.insert(json!([{ "A": "free" }, { "A": null }]));
    let sorting = json!([{ "columnId": id, "direction": "desc" }]).to_string();
    let mut seen = Vec::new();
    let mut cursor: Option<String> = None;
    loop {
        let mut query = vec![("sorting", sorting.as_str()), ("pageSize", "7")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let page = table.rows(&query);
        seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["cells"][&id].clone()));
        cursor = page["pagination"]["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    let mut expected: Vec<Value> = (0..30).map(|n| json!(format!("${},000", 30 - n))).collect();
    expected.extend([json!("free"), json!(null)]);
    assert_eq!(seen, expected);
    // A place in the order of one type is none in that of another.
    let page = table.rows(&[("sorting", &sorting), ("pageSize", "7")]);
    let cursor = page["pagination"]["nextCursor"].as_str().unwrap().to_owned();
    table.patch(&format!("/columns/{id}"), json!({ "format": null })).ok();
    table.list(&[("sorting", &sorting), ("pageSize", "7"), ("cursor", &cursor)]).offends(&["cursor"]);
}

fn earlier_versions_know_no_types(api: &Api) {
    let (table, id) = typed(api, json!({ "type": "number" }));
    let v3 = table.through(&api.clone().in_version(Version::V3));
    let plain = api.table(&["A"]);
    let plain_v3 = plain.through(&api.clone().in_version(Version::V3));
    let fields = |column: &Value| column.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let expected = fields(&plain_v3.columns()[1]);
    assert_eq!(fields(&v3.columns()[1]), expected);
    assert_eq!(fields(&v3.get("").ok()["project"]["columns"][1]), expected);
    assert_eq!(fields(&v3.get(&format!("/columns/{id}")).ok()["column"]), expected);
    let renamed = v3.patch(&format!("/columns/{id}"), json!({ "header": "B" })).ok();
    assert_eq!(fields(&renamed["column"]), expected);
    // A change through an earlier version keeps the type.
    assert_eq!(format_of(&table, &id), json!({ "type": "number" }));
    v3.patch(&format!("/columns/{id}"), json!({ "format": { "type": "date" } })).offends(&["format"]);
    let body = json!({ "templateId": "manual", "header": "C", "format": { "type": "date" } });
    v3.post("/columns", body).offends(&["format"]);
    let made = v3.post("/columns", json!({ "templateId": "manual", "header": "C" })).created();
    assert_eq!(fields(&made["column"]), expected);
}

fn types_are_guessed(api: &Api) {
    let body = json!({ "columns": [
        { "header": "Revenue", "values": ["$1,200", "$85.50", null] },
        { "header": "Name", "values": ["Ada", "Grace"] },
        { "values": ["31/12/2023", "01/02/2024"] },
        { "header": "Employees", "values": [1, 2, 3, 4, 5, 6, 7, 8, 9, "n/a"] },
    ] });
    let told = api.post("/v4/formats/guess", body).ok();
    let expected = json!([
        { "format": { "type": "currency", "currency": "USD" }, "fits": 2, "misfits": 0 },
        { "fits": 0, "misfits": 0 },
        { "format": { "type": "date", "dateStyle": "european" }, "fits": 2, "misfits": 0 },
        { "format": { "type": "number" }, "fits": 9, "misfits": 1 },
    ]);
    assert_eq!(told["columns"], expected);
    api.post("/v4/formats/guess", json!({ "columns": [{ "header": "A" }] })).offends(&["columns[0].values"]);
}

fn an_import_sets_types(api: &Api) {
    let table = api.table(&[]);
    let formats = json!({
        "Amount": { "type": "currency", "currency": "EUR" },
        "Stage": { "type": "select", "options": [{ "value": "New", "color": "blue" }] },
    });
    let file = "Name,Amount,Stage\nAda,\"5,00 €\",New\n";
    let told = import(&table, &[("formats", &formats.to_string())], file);
    assert_eq!(told["columnsCreated"].as_array().unwrap().len(), 3);
    let columns = table.columns();
    let format = |header: &str| {
        let column = columns.iter().find(|column| column["header"] == header).unwrap();
        column.get("format").cloned().unwrap_or_default()
    };
    assert_eq!(format("Amount"), formats["Amount"]);
    assert_eq!(format("Stage"), formats["Stage"]);
    assert_eq!(format("Name"), Value::Null);
    let wrong =
        [("formats", "{\"Amount\": {\"type\": \"rating\", \"max\": 99}, \"B\": {\"type\": \"mood\"}}")];
    send(&table, &wrong, file).offends(&["formats.Amount.max", "formats.B"]);
    send(&table, &[("formats", "[]")], file).offends(&["formats"]);
    let misspelt = [("formats", "{\"Amuont\": {\"type\": \"number\"}}")];
    let refused = send(&table, &misspelt, file).offends(&["formats.Amuont"]);
    let told = refused["details"][0]["message"].as_str().unwrap();
    assert!(told.contains("did you mean \"Amount\"?"), "{told}");
}

fn send(table: &Table, query: &[(&str, &str)], body: &str) -> crate::harness::Answer {
    let path = table.path(&format!("/import{}", query_of(query)));
    table.api.send(Request::post(path).bytes(body.as_bytes().to_vec()).header("Content-Type", "text/csv"))
}

#[track_caller]
fn import(table: &Table, query: &[(&str, &str)], body: &str) -> Value {
    send(table, query, body).ok()
}
