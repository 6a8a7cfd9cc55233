//! What one caller can cost: requests that would keep the server busy for long, or fill it, are refused.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario};

pub(crate) const SHARED: &[Scenario] = &scenarios!("costs", Versions:
    paths_that_cost_without_bound_are_refused,
    filter_groups_are_counted_as_filters_are,
    a_match_on_many_twins_is_refused_at_once,
    every_offence_is_named_but_not_without_end,
    documents_are_no_larger_than_a_cell,
    a_cursor_from_nowhere_is_refused,
);

fn paths_that_cost_without_bound_are_refused(api: &Api) {
    let table = api.table(&["List"]);
    table.insert(json!({ "List": vec![0; 20_000] }));
    let column = table.column("List").to_owned();
    for path in ["$[?$==$]", "$[?@ == $[0]]", "$[?search(@, '\\\\p{L}{200}')]", "$[?match(@, 'a')]"] {
        let reference = json!({ "templateId": "reference",
            "referenceConfig": { "columnId": column, "path": path } });
        table.post("/columns", reference).offends(&["referenceConfig.path"]);
        let filters = json!([{ "columnId": column, "operator": "isNotEmpty", "path": path }]).to_string();
        table.list(&[("filters", &filters)]).offends(&["filters[0].path"]);
    }
}

fn filter_groups_are_counted_as_filters_are(api: &Api) {
    let table = api.table(&[]);
    let groups = |count: usize| -> Value {
        (0..count).map(|_| json!({ "conjunction": "and", "filters": [] })).collect()
    };
    table.post("/views", json!({ "name": "Most", "filters": groups(100) })).created();
    table.post("/views", json!({ "name": "More", "filters": groups(101) })).exceeds("filtersMax");
}

fn a_match_on_many_twins_is_refused_at_once(api: &Api) {
    let table = api.table(&["City"]);
    let twins: Value = (0..2_000).map(|_| json!({ "City": "Rome" })).collect();
    table.insert(twins.clone());
    let refused = table.post("/rows?matchOn=City", twins).refused(400, "invalid_request");
    assert_eq!(refused["details"].as_array().unwrap().len(), 1_000);
    assert_eq!(table.rows(&[("pageSize", "1")])["pagination"]["totalRows"], 2_000);
}

fn every_offence_is_named_but_not_without_end(api: &Api) {
    let table = api.table(&["Name"]);
    let twins = format!("{{{}}}", vec!["\"Name\":1"; 12_000].join(","));
    let refused = table.post_text("/rows", &twins).refused(400, "invalid_request");
    assert_eq!(refused["details"].as_array().unwrap().len(), 1_000);
}

fn documents_are_no_larger_than_a_cell(api: &Api) {
    let table = api.table(&[]);
    let large = "x".repeat(1024 * 1024);
    table.patch("", json!({ "metadata": { "note": large } })).exceeds("cellBytesMax");
    let body = json!({ "templateId": "http-api", "apiConfig": { "body": { "note": large } } });
    table.post("/columns", body).exceeds("cellBytesMax");
}

fn a_cursor_from_nowhere_is_refused(api: &Api) {
    let table = api.table(&["Name"]);
    table.insert(json!([{ "Name": 1 }, { "Name": 2 }, { "Name": 3 }]));
    for cursor in ["c0-ffffffffffffffff", "cffffffffffffffff-0", "c", "x"] {
        table.list(&[("cursor", cursor), ("pageSize", "1")]).offends(&["cursor"]);
    }
}
