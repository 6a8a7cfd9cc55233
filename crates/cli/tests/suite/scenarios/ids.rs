//! Contract section 2: identifiers, in every spelling, and what names nothing.

use serde_json::json;

use crate::harness::api::Version;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Table, server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("ids", Versions:
    answers_carry_the_prefixed_lower_case_form,
    every_spelling_is_taken_wherever_an_id_is_taken,
    a_path_id_that_is_malformed_missing_or_foreign_is_404_alike,
    row_and_view_ids_of_another_project_name_nothing,
);

/// A prefixed id as a client may write it.
fn spellings(id: &str) -> Vec<String> {
    let (prefix, hex) = id.split_once('_').unwrap();
    let hyphens = format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]);
    vec![
        id.to_owned(),
        hex.to_owned(),
        hyphens.clone(),
        format!("{prefix}_{hyphens}"),
        hex.to_uppercase(),
        hyphens.to_uppercase(),
        id.to_uppercase(),
        format!("{}_{hex}", prefix.to_uppercase()),
    ]
}

fn answers_carry_the_prefixed_lower_case_form(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let view = table.post("/views", json!({ "name": "All" })).created()["view"]["id"].clone();
    for (id, prefix) in [(table.id.as_str(), "proj_"), (&row, "row_"), (view.as_str().unwrap(), "view_")] {
        let hex = id.strip_prefix(prefix).unwrap_or_else(|| panic!("{id}"));
        assert!(hex.len() == 32 && hex.bytes().all(|byte| b"0123456789abcdef".contains(&byte)), "{id}");
        assert_eq!(&hex[12..13], "7", "{id} is no UUIDv7");
    }
    let column = table.column("Name").strip_prefix("col_").unwrap();
    assert!(column.len() == 12 && column.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{column}");
    let team = api.get("/v4/team").ok()["team"].clone();
    let id = team["id"].as_str().unwrap();
    assert_eq!((id.len(), id.matches('-').count()), (36, 4));
    assert_eq!(team["slug"], "default");
}

fn every_spelling_is_taken_wherever_an_id_is_taken(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let view = table.post("/views", json!({ "name": "All" })).created()["view"]["id"].clone();
    for project in spellings(&table.id) {
        assert_eq!(api.get(api.path_in(&project, "")).ok()["project"]["id"], table.id.as_str());
        api.get(api.path_in(&project, "/rows")).ok();
    }
    for (index, spelling) in spellings(&row).iter().enumerate() {
        let value = format!("Ada {index}");
        let found = table.get(&format!("/rows/{spelling}")).ok();
        assert_eq!(found["row"]["id"], row.as_str());
        let patched = table.patch(&format!("/rows/{spelling}"), json!({ "Name": value })).ok();
        assert_eq!(patched["row"]["cells"][name]["value"], value.as_str());
        let cells = json!({ "cells": [{ "rowId": spelling, "columnId": name, "value": index }] });
        assert_eq!(table.patch("/cells", cells).ok()["updatedCount"], 1);
        assert_eq!(table.value(&row, name), index);
    }
    for spelling in spellings(view.as_str().unwrap()) {
        assert_eq!(table.rows(&[("viewId", &spelling)])["rows"].as_array().unwrap().len(), 1);
        let patched = table.patch(&format!("/views/{spelling}"), json!({ "name": "Some" })).ok();
        assert_eq!(patched["view"]["id"], view);
    }
    for spelling in spellings(&row) {
        let again = table.insert(json!({ "Name": "Alan" })).remove(0);
        let same_spelling =
            &spellings(&again)[spellings(&row).iter().position(|other| *other == spelling).unwrap()];
        assert_eq!(table.delete_rows(&[same_spelling]).ok()["deletedCount"], 1);
    }
    // One row in two spellings is one row.
    assert_eq!(table.delete_rows(&spellings(&row)).ok()["deletedCount"], 1);
}

fn a_path_id_that_is_malformed_missing_or_foreign_is_404_alike(api: &Api) {
    let own = api.table(&["Name"]);
    let stranger = server::shared().team(&format!("ids-stranger-{:?}", api.version).to_lowercase());
    let foreign = stranger.table(&["Name"]);
    let hex = own.id.strip_prefix("proj_").unwrap();
    let malformed = [
        "nope".to_owned(),
        "proj_".to_owned(),
        format!("{hex}0"),
        format!("row_{hex}"),
        format!("%7B{hex}%7D"),
        format!("urn:uuid:{hex}"),
        "x".repeat(300),
        "%20".to_owned(),
        "..".to_owned(),
        "%2F".to_owned(),
        "%F0%9F%98%80".to_owned(),
    ];
    let missing = "proj_0190f0e0a1b27c3d8e4f0123456789ab".to_owned();
    let ids = malformed.into_iter().chain([missing, foreign.id.clone()]);
    for id in ids {
        for request in project_requests(api, &id) {
            let told = format!("{} {}", request.method, request.path);
            let refusal = api.send(request).refused(404, "project_not_found");
            assert_eq!(refusal["error"], "Project not found", "{told}");
            assert_eq!(refusal.as_object().unwrap().len(), 3, "{told}: {refusal}");
        }
    }
    for no_text in ["%00", "%FF"] {
        assert_eq!(api.get(api.path_in(no_text, "")).status(), 404, "{no_text}");
    }
    assert_eq!(foreign.get("").ok()["project"]["title"], "Test");
}

/// Each operation on a project, with a body that would be right.
fn project_requests(api: &Api, id: &str) -> Vec<Request> {
    let row = "row_0190f0e0b3c47d5e8f60123456789abc";
    let of = |method, rest: &str| Request::new(method, api.path_in(id, rest));
    let cells = json!({ "cells": [{ "rowId": row, "columnId": "_trigger", "value": 1 }] });
    vec![
        of("GET", ""),
        of("PATCH", "").json(&json!({ "title": "Mine" })),
        of("DELETE", ""),
        of("GET", "/columns"),
        of("GET", "/columns/templates"),
        of("POST", "/columns").json(&json!({ "templateId": "manual" })),
        of("PATCH", "/columns/_trigger").json(&json!({ "header": "Mine" })),
        of("DELETE", "/columns/col_4fJq0ZtR9xWb"),
        of("GET", "/rows"),
        of("POST", "/rows").json(&json!({ "Name": "x" })),
        of("DELETE", "/rows").json(&json!({ "rowIds": [row] })),
        of("GET", &format!("/rows/{row}")),
        of("PATCH", &format!("/rows/{row}")).json(&json!({ "Name": "x" })),
        of("PATCH", "/cells").json(&cells),
        of("GET", "/views"),
        of("POST", "/views").json(&json!({ "name": "x" })),
        of("PATCH", "/views/view_0190f0e0c5d67e8f80123456789abcde").json(&json!({ "name": "x" })),
        of("DELETE", "/views/view_0190f0e0c5d67e8f80123456789abcde"),
    ]
}

fn row_and_view_ids_of_another_project_name_nothing(api: &Api) {
    let (table, other) = (api.table(&["Name"]), api.table(&["Name"]));
    let row = other.insert(json!({ "Name": "Ada" })).remove(0);
    let view = other.post("/views", json!({ "name": "All" })).created()["view"]["id"].clone();
    let view = view.as_str().unwrap();
    for id in [row.as_str(), "row_0190f0e0b3c47d5e8f60123456789abc", "nope", &"x".repeat(3_000)] {
        table.get(&format!("/rows/{id}")).refused(404, "row_not_found");
        table.patch(&format!("/rows/{id}"), json!({ "Name": "x" })).refused(404, "row_not_found");
        assert_eq!(table.delete_rows(&[id]).ok()["deletedCount"], 0);
        let cells = json!({ "cells": [{ "rowId": id, "columnId": "_trigger", "value": 1 }] });
        table.patch("/cells", cells).refused(404, "row_not_found");
    }
    let long = "x".repeat(3_000);
    for id in [view, "view_0190f0e0c5d67e8f80123456789abcde", "nope", &long] {
        table.patch(&format!("/views/{id}"), json!({ "name": "x" })).refused(404, "view_not_found");
        table.delete(&format!("/views/{id}")).refused(404, "view_not_found");
        table.list(&[("viewId", id)]).refused(404, "view_not_found");
        table.post("/trigger", json!({ "viewId": id })).refused(404, "view_not_found");
        if api.version == Version::V4 {
            for rest in
                ["/export?", "/find?text=x&", "/groups?columnId=_trigger&", "/summary?columnIds=_trigger&"]
            {
                table.get(&format!("{rest}viewId={id}")).refused(404, "view_not_found");
            }
        }
    }
    table.list(&[("viewId", "")]).refused(404, "view_not_found");
    table.post("/trigger", json!({ "rowIds": [long] })).refused(404, "row_not_found");
    table.post("/trigger", json!({ "columnIds": [long] })).refused(404, "column_not_found");
    assert_eq!(table.post("/stop", json!({ "rowIds": [long], "columnIds": [long] })).ok()["stoppedCount"], 0);
    for id in [other.column("Name"), "col_4fJq0ZtR9xWb", "nope", "Name", &long] {
        table.patch(&format!("/columns/{id}"), json!({ "header": "x" })).refused(404, "column_not_found");
        table.delete(&format!("/columns/{id}")).refused(404, "column_not_found");
    }
    untouched(&other, &row);
}

fn untouched(table: &Table, row: &str) {
    assert_eq!(table.value(row, table.column("Name")), "Ada");
    assert_eq!(table.get("/views").ok()["views"].as_array().unwrap().len(), 1);
}
