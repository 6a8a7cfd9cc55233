//! What the columns of a view come to, finding text from cell to cell, and rows in groups.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::table::query_of;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("summaries", Shared:
    columns_are_summarized_as_their_types_read_them,
    a_summary_follows_filters_views_search_and_writes,
    a_summary_needs_columns_that_are_there,
    text_is_found_from_cell_to_cell,
    finding_follows_sorting_filters_and_columns,
    finding_needs_a_text_and_known_columns,
    rows_are_grouped_with_counts_and_totals,
    one_moment_is_one_date,
    groups_follow_filters_and_writes,
    groups_need_columns_that_are_there,
);

fn deals(api: &Api) -> Table {
    let column = |header: &str, format: Option<&str>| match format {
        Some(kind) => json!({ "templateId": "manual", "header": header, "format": { "type": kind } }),
        None => json!({ "templateId": "manual", "header": header }),
    };
    let columns = [
        column("Name", None),
        column("Amount", Some("currency")),
        column("Closed", Some("date")),
        column("Phone", Some("phone")),
    ];
    let table = api.table_of(json!({ "title": "Deals", "columns": columns }));
    table.insert(json!([
        { "Name": "Ada", "Amount": "$1,200", "Closed": "2024-05-01", "Phone": "+1 415 555 0100" },
        { "Name": "Alan", "Amount": 50.5, "Closed": "2023-01-31" },
        { "Name": "Ada", "Amount": "unknown" },
        { "Name": "", "Amount": 2 },
        { "Name": "Grace" },
    ]));
    table
}

fn summary(table: &Table, columns: &str, query: &[(&str, &str)]) -> Value {
    let mut all = vec![("columnIds", columns)];
    all.extend_from_slice(query);
    table.get(&format!("/summary{}", query_of(&all))).ok()
}

#[track_caller]
fn has(summary: &Value, place: usize, expected: &Value) {
    for (field, value) in expected.as_object().unwrap() {
        assert_eq!(&summary["columns"][place][field], value, "{field} of {summary}");
    }
}

fn columns_are_summarized_as_their_types_read_them(api: &Api) {
    let table = deals(api);
    let all = summary(&table, "Name,Amount,Closed,Phone", &[]);
    assert_eq!(all["rowCount"], 5);
    let none =
        json!({ "sum": null, "average": null, "min": null, "max": null, "earliest": null, "latest": null });
    has(&all, 0, &none);
    has(
        &all,
        0,
        &json!({ "columnId": table.column("Name"), "filled": 4, "empty": 1, "unique": 3, "numbers": 0 }),
    );
    has(
        &all,
        1,
        &json!({ "filled": 4, "empty": 1, "unique": 4, "numbers": 3, "sum": 1252.5, "average": 417.5 }),
    );
    has(&all, 1, &json!({ "min": 2.0, "max": 1200.0, "earliest": null }));
    has(
        &all,
        2,
        &json!({ "filled": 2, "numbers": 0, "sum": null, "earliest": "2023-01-31", "latest": "2024-05-01" }),
    );
    has(&all, 3, &json!({ "filled": 1, "numbers": 0, "sum": null }));
}

fn a_summary_follows_filters_views_search_and_writes(api: &Api) {
    let table = deals(api);
    let (name, amount) = (table.column("Name").to_owned(), table.column("Amount").to_owned());
    let filters = json!([{ "columnId": name, "operator": "equals", "value": "Ada" }]);
    let found = summary(&table, &amount, &[("filters", &filters.to_string())]);
    assert_eq!(found["rowCount"], 2);
    has(&found, 0, &json!({ "filled": 2, "sum": 1200.0 }));
    let sorting = json!([{ "columnId": amount, "direction": "desc" }]);
    let view =
        table.post("/views", json!({ "name": "Ada", "filters": filters, "sorting": sorting })).created();
    let view = view["view"]["id"].as_str().unwrap().to_owned();
    assert_eq!(summary(&table, &amount, &[("viewId", &view)]), found);
    assert_eq!(summary(&table, &amount, &[("search", "alan")])["columns"][0]["sum"], 50.5);
    let ids = table.insert(json!([{ "Name": "Ada", "Amount": 300 }]));
    assert_eq!(summary(&table, &amount, &[("viewId", &view)])["columns"][0]["sum"], 1500.0);
    table.delete_rows(&ids).ok();
    assert_eq!(summary(&table, &amount, &[("viewId", &view)]), found);
}

fn a_summary_needs_columns_that_are_there(api: &Api) {
    let table = deals(api);
    table.get("/summary").refused(400, "invalid_request");
    table.get("/summary?columnIds=Nobody").refused(400, "invalid_request");
    table.get("/summary?columnIds=,").refused(400, "invalid_request");
    table.get("/summary?columnIds=Name&filters=x").refused(400, "invalid_request");
    let view = "view_0190f0e0c5d67e8f80123456789abcde";
    table.get(&format!("/summary?columnIds=Name&viewId={view}")).refused(404, "view_not_found");
    let headers: Vec<String> = (0..21).map(|number| format!("C{number}")).collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let wide = api.table(&headers);
    wide.get(&format!("/summary?columnIds={}", headers.join(","))).refused(400, "invalid_request");
    assert_eq!(summary(&wide, &headers[1..].join(","), &[])["columns"].as_array().unwrap().len(), 20);
}

fn people(api: &Api) -> (Table, Vec<String>) {
    let table = api.table(&["Name", "City"]);
    let ids = table.insert(json!([
        { "Name": "Ada", "City": "London" },
        { "Name": "Alan", "City": "Adelaide" },
        { "Name": "Grace", "City": "New York" },
        { "Name": "Adam", "City": "adana" },
    ]));
    (table, ids)
}

fn find(table: &Table, query: &[(&str, &str)]) -> Value {
    table.get(&format!("/find{}", query_of(query))).ok()
}

#[track_caller]
fn is_at(table: &Table, found: &Value, number: u64, total: u64, row: u64, header: &str) {
    let cell = &found["cell"];
    let seen = (&cell["number"], &found["total"], &cell["rowIndex"], &cell["columnId"]);
    let column = json!(table.column(header));
    assert_eq!(seen, (&json!(number), &json!(total), &json!(row), &column), "{found}");
    assert_eq!(found["isComplete"], true);
}

fn text_is_found_from_cell_to_cell(api: &Api) {
    let (table, ids) = people(api);
    let first = find(&table, &[("text", "ADA")]);
    is_at(&table, &first, 1, 3, 0, "Name");
    assert_eq!(first["cell"]["rowId"], ids[0].as_str());
    let city = table.column("City").to_owned();
    let name = table.column("Name").to_owned();
    let after = |row: &str, column: &str, more: &[(&str, &str)]| {
        let mut query = vec![("text", "ada"), ("fromRow", row), ("fromColumnId", column)];
        query.extend_from_slice(more);
        find(&table, &query)
    };
    is_at(&table, &after("0", &name, &[]), 2, 3, 3, "Name");
    is_at(&table, &after("0", &name, &[("includeStart", "true")]), 1, 3, 0, "Name");
    is_at(&table, &after("3", &name, &[]), 3, 3, 3, "City");
    is_at(&table, &after("3", &city, &[]), 1, 3, 0, "Name");
    is_at(&table, &after("3", &city, &[("direction", "previous")]), 2, 3, 3, "Name");
    is_at(&table, &after("0", &name, &[("direction", "previous")]), 3, 3, 3, "City");
    is_at(&table, &find(&table, &[("text", "ada"), ("direction", "previous")]), 3, 3, 3, "City");
    is_at(&table, &find(&table, &[("text", "ada"), ("fromRow", "1")]), 2, 3, 3, "Name");
    assert_eq!(
        find(&table, &[("text", "nobody")]),
        json!({ "success": true, "total": 0, "isComplete": true, "cell": null })
    );
}

fn finding_follows_sorting_filters_and_columns(api: &Api) {
    let (table, ids) = people(api);
    let name = table.column("Name").to_owned();
    let sorting = json!([{ "columnId": name, "direction": "desc" }]).to_string();
    let found = find(&table, &[("text", "ada"), ("sorting", &sorting)]);
    is_at(&table, &found, 1, 3, 2, "Name");
    assert_eq!(found["cell"]["rowId"], ids[3].as_str());
    let filters = json!([{ "columnId": name, "operator": "notEquals", "value": "Ada" }]).to_string();
    is_at(&table, &find(&table, &[("text", "ada"), ("filters", &filters)]), 1, 2, 2, "Name");
    is_at(&table, &find(&table, &[("text", "ad"), ("columnIds", "City")]), 1, 2, 1, "City");
    is_at(&table, &find(&table, &[("text", "ada"), ("search", "adam")]), 1, 2, 0, "Name");
    table.delete_rows(&ids[..1]).ok();
    is_at(&table, &find(&table, &[("text", "ada")]), 1, 2, 2, "Name");
}

fn finding_needs_a_text_and_known_columns(api: &Api) {
    let (table, _) = people(api);
    for query in [
        "",
        "?text=",
        "?text=a&columnIds=x",
        "?text=a&fromRow=0&fromColumnId=x",
        "?text=a&direction=up",
        "?text=a&fromRow=-1",
    ] {
        table.get(&format!("/find{query}")).refused(400, "invalid_request");
    }
}

fn stages(api: &Api) -> Table {
    let options = json!([{ "value": "Won" }, { "value": "Lost" }]);
    let columns = json!([
        { "templateId": "manual", "header": "Stage", "format": { "type": "select", "options": options } },
        { "templateId": "manual", "header": "Amount", "format": { "type": "currency" } },
    ]);
    let table = api.table_of(json!({ "title": "Stages", "columns": columns }));
    table.insert(json!([
        { "Stage": "Won", "Amount": "$1,000" },
        { "Stage": "won", "Amount": 200.5 },
        { "Stage": "Lost" },
        { "Amount": 7 },
        { "Stage": "", "Amount": "unknown" },
        { "Stage": "Won" },
    ]));
    table
}

fn groups(table: &Table, query: &[(&str, &str)]) -> Value {
    table.get(&format!("/groups{}", query_of(query))).ok()
}

fn rows_are_grouped_with_counts_and_totals(api: &Api) {
    let table = stages(api);
    let found = groups(&table, &[("columnId", "Stage"), ("totalColumnId", "Amount")]);
    let expected = json!({
        "success": true, "rowCount": 6, "groupCount": 2, "isComplete": true,
        "groups": [
            { "text": "Won", "value": "Won", "rowCount": 3, "total": 1200.5 },
            { "text": "Lost", "value": "Lost", "rowCount": 1, "total": null },
        ],
        "empty": { "rowCount": 2, "total": 7.0 },
    });
    assert_eq!(found, expected);
    let first = groups(&table, &[("columnId", table.column("Stage")), ("limit", "1")]);
    assert_eq!((&first["groupCount"], first["groups"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(first["groups"][0]["total"], Value::Null);
    let tenths = api.table(&["Stage", "Amount"]);
    tenths.insert(json!([{ "Stage": "Won", "Amount": 0.1 }, { "Stage": "Won", "Amount": 0.2 }]));
    let found_tenths = groups(&tenths, &[("columnId", "Stage"), ("totalColumnId", "Amount")]);
    assert_eq!(found_tenths["groups"][0]["total"], 0.3);
    // A group's value shows its rows.
    for group in found["groups"].as_array().unwrap() {
        let filters =
            json!([{ "columnId": table.column("Stage"), "operator": "equals", "value": group["value"] }]);
        let page = table.rows(&[("filters", &filters.to_string())]);
        assert_eq!(page["pagination"]["totalRows"], group["rowCount"], "{group}");
    }
    // A long value is shown in part.
    let long = "x".repeat(5_000);
    table.insert(json!([{ "Stage": long }]));
    let found = groups(&table, &[("columnId", "Stage")]);
    let group = &found["groups"][2];
    assert_eq!((group["text"].as_str().unwrap().len(), group.get("value")), (200, None), "{found}");
}

fn one_moment_is_one_date(api: &Api) {
    let columns = json!([{ "templateId": "manual", "header": "Met", "format": { "type": "dateTime" } }]);
    let table = api.table_of(json!({ "title": "Meetings", "columns": columns }));
    table.insert(json!([
        { "Met": "2024-01-31T10:00:00Z" },
        { "Met": "2024-01-31T12:00:00+02:00" },
        { "Met": "31.01.2024 10:00" },
        { "Met": "2024-01-31T12:00:00Z" },
        { "Met": "soon" },
    ]));
    has(&summary(&table, "Met", &[]), 0, &json!({ "filled": 5, "unique": 3 }));
    let found = groups(&table, &[("columnId", "Met")]);
    assert_eq!(found["groupCount"], 3, "{found}");
    for (group, rows) in found["groups"].as_array().unwrap().iter().zip([3, 1, 1]) {
        assert_eq!(group["rowCount"], rows, "{found}");
        let filters =
            json!([{ "columnId": table.column("Met"), "operator": "equals", "value": group["value"] }]);
        assert_eq!(
            table.rows(&[("filters", &filters.to_string())])["pagination"]["totalRows"],
            rows,
            "{group}"
        );
    }
}

fn groups_follow_filters_and_writes(api: &Api) {
    let table = stages(api);
    let filters = json!([{ "columnId": table.column("Amount"), "operator": "isNotEmpty" }]).to_string();
    let found = || groups(&table, &[("columnId", "Stage"), ("filters", &filters)]);
    assert_eq!((&found()["rowCount"], &found()["groups"][0]["rowCount"]), (&json!(4), &json!(2)));
    table.insert(json!([{ "Stage": "Lost", "Amount": 1 }, { "Stage": "Lost", "Amount": 2 }, { "Stage": "Lost", "Amount": 3 }]));
    assert_eq!(found()["groups"][0]["text"], "Lost");
    assert_eq!(groups(&table, &[("columnId", "Stage"), ("search", "won")])["rowCount"], 3);
}

fn groups_need_columns_that_are_there(api: &Api) {
    let table = stages(api);
    for query in [
        "",
        "?columnId=x",
        "?columnId=Stage&totalColumnId=x",
        "?columnId=Stage&limit=0",
        "?columnId=Stage&limit=1001",
    ] {
        table.get(&format!("/groups{query}")).refused(400, "invalid_request");
    }
}
