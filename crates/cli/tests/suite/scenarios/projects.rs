//! Contract section 4: projects, their settings and metadata.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("projects", Versions:
    the_sample_takes_no_fields,
    a_new_project_has_its_defaults_and_the_input_column,
    a_project_is_made_with_all_it_can_have,
    a_title_has_1_to_255_characters_after_trimming,
    a_change_answers_every_field_but_the_columns,
    settings_are_merged_and_metadata_replaced,
    a_disabled_api_is_403_everywhere_save_for_the_change_that_enables_it,
    the_event_integration_must_have_its_fields,
    the_guest_status_column_is_made_if_missing,
    a_deleted_project_is_gone,
    counts_follow_rows_and_columns,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("projects", Own:
    the_list_is_newest_first_with_pages_and_folders,
);

fn a_new_project_has_its_defaults_and_the_input_column(api: &Api) {
    let made = api.post("/v4/projects", json!({ "title": "  Leads  " })).created();
    assert_eq!(made["appliedFixes"], json!([]));
    let project = &made["project"];
    let expected = json!({
        "title": "Leads", "autoplay": false, "columnCount": 1, "rowCount": 0, "folderId": null, "metadata": {},
        "settings": { "api": { "enabled": true, "requireKey": true, "createColumnsFromKeys": false } },
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&project[name], value, "{name}");
    }
    assert_eq!(project["createdAt"], project["updatedAt"]);
    assert!(project["createdAt"].as_str().unwrap().ends_with('Z'));
    let columns = project["columns"].as_array().unwrap();
    assert_eq!(columns.len(), 1);
    for (name, value) in [
        ("id", json!("_trigger")),
        ("header", json!("Input")),
        ("type", json!("manual")),
        ("dataShape", json!("text")),
        ("order", json!(0)),
        ("trigger", json!(true)),
        ("dependencies", json!([])),
    ] {
        assert_eq!(columns[0][name], value, "{name}");
    }
    let read = api.get(api.path_in(project["id"].as_str().unwrap(), "")).ok();
    assert_eq!(&read["project"], project);
}

fn a_project_is_made_with_all_it_can_have(api: &Api) {
    let body = json!({
        "title": "Всё 🎉", "autoplay": true, "folderId": "folder 1", "metadata": { "a": [1, { "b": null }] },
        "settings": { "api": { "requireKey": false } },
        "columns": [
            { "templateId": "manual", "header": "Company" },
            { "templateId": "ai-text", "header": "Summary", "aiConfig": { "prompt": "About @{Company}" } },
            { "templateId": "manual", "header": "company" },
        ],
    });
    let made = api.post("/v4/projects", body.clone()).created();
    let project = &made["project"];
    for name in ["title", "autoplay", "folderId", "metadata"] {
        assert_eq!(project[name], body[name], "{name}");
    }
    let settings = json!({ "api": { "enabled": true, "requireKey": false, "createColumnsFromKeys": false } });
    assert_eq!(project["settings"], settings);
    let columns = project["columns"].as_array().unwrap();
    let headers: Vec<&Value> = columns.iter().map(|column| &column["header"]).collect();
    assert_eq!(headers, ["Input", "Company", "Summary", "company 2"]);
    let company = columns[1]["id"].as_str().unwrap();
    assert_eq!(columns[2]["aiConfig"]["prompt"], format!("About @{{{company}}}"));
    assert_eq!(columns[2]["dependencies"], json!([{ "columnId": company, "required": true }]));
    let fixes = made["appliedFixes"].as_array().unwrap();
    assert_eq!(fixes.len(), 3, "{fixes:?}");
    // What no correction can mend changes nothing.
    let count =
        |api: &Api| api.get("/v4/projects?folderId=folder%202").ok()["projects"].as_array().unwrap().len();
    let wrong = json!({ "title": "x", "folderId": "folder 2", "columns": [{ "templateId": "nope" }] });
    api.post("/v4/projects", wrong).offends(&["columns[0].templateId"]);
    assert_eq!(count(api), 0);
}

fn a_title_has_1_to_255_characters_after_trimming(api: &Api) {
    let table = api.table(&[]);
    let long = "é".repeat(255);
    for title in ["x", &long, "  x\n"] {
        api.post("/v4/projects", json!({ "title": title })).created();
        let changed = table.patch("", json!({ "title": title })).ok();
        assert_eq!(changed["project"]["title"], title.trim());
    }
    for title in [json!(""), json!(" \t\n"), json!(format!("{long}x"))] {
        api.post("/v4/projects", json!({ "title": title })).offends(&["title"]);
        table.patch("", json!({ "title": title })).offends(&["title"]);
    }
    for title in [json!(null), json!(5), json!(["x"])] {
        api.post("/v4/projects", json!({ "title": title })).offends(&["title"]);
        table.patch("", json!({ "title": title })).offends(&["title"]);
    }
    api.post("/v4/projects", json!({})).offends(&["title"]);
}

fn a_change_answers_every_field_but_the_columns(api: &Api) {
    let table = api.table(&["Name"]);
    let before = table.get("").ok()["project"].clone();
    let changed = table.patch("", json!({ "title": "New", "autoplay": true, "folderId": "f" })).ok();
    let project = &changed["project"];
    assert_eq!((&project["id"], &project["title"]), (&json!(table.id), &json!("New")));
    assert_eq!((&project["autoplay"], &project["folderId"]), (&json!(true), &json!("f")));
    for name in ["createdAt", "settings", "metadata", "columnCount"] {
        assert_eq!(project[name], before[name], "{name}");
    }
    assert!(project["updatedAt"].as_str() >= before["updatedAt"].as_str());
    assert_eq!(table.patch("", json!({ "folderId": null })).ok()["project"]["folderId"], Value::Null);
    // Nothing sent, nothing changed.
    let unchanged = table.patch("", json!({})).ok();
    assert_eq!(unchanged["project"]["title"], "New");
    table.patch("", json!({ "id": table.id })).offends(&["id"]);
    table.patch("", json!({ "autoplay": null })).offends(&["autoplay"]);
}

fn settings_are_merged_and_metadata_replaced(api: &Api) {
    let table = api.table(&[]);
    let patch = |body: Value| table.patch("", body).ok()["project"].clone();
    patch(json!({ "metadata": { "a": 1, "b": 2 } }));
    assert_eq!(patch(json!({ "metadata": { "c": 3 } }))["metadata"], json!({ "c": 3 }));
    assert_eq!(patch(json!({ "title": "x" }))["metadata"], json!({ "c": 3 }));
    assert_eq!(patch(json!({ "metadata": {} }))["metadata"], json!({}));
    let api_settings = |project: Value| project["settings"]["api"].clone();
    let settings = api_settings(patch(json!({ "settings": { "api": { "requireKey": false } } })));
    assert_eq!(settings, json!({ "enabled": true, "requireKey": false, "createColumnsFromKeys": false }));
    let settings = api_settings(patch(json!({ "settings": { "api": { "createColumnsFromKeys": true } } })));
    assert_eq!(settings, json!({ "enabled": true, "requireKey": false, "createColumnsFromKeys": true }));
    assert_eq!(api_settings(patch(json!({ "settings": {} }))), settings);
    table.patch("", json!({ "settings": { "api": { "enabled": "no" } } })).offends(&["settings.api.enabled"]);
    table.patch("", json!({ "metadata": [] })).offends(&["metadata"]);
    assert_eq!(api_settings(table.get("").ok()["project"].clone()), settings);
}

fn a_disabled_api_is_403_everywhere_save_for_the_change_that_enables_it(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let view = table.post("/views", json!({ "name": "All" })).created()["view"]["id"].clone();
    let (row_path, view_path) = (format!("/rows/{row}"), format!("/views/{}", view.as_str().unwrap()));
    let off = table.patch("", json!({ "settings": { "api": { "enabled": false } } })).ok();
    assert_eq!(off["project"]["settings"]["api"]["enabled"], false);
    let column = format!("/columns/{}", table.column("Name"));
    let cells = json!({ "cells": [{ "rowId": row, "columnId": "_trigger", "value": 1 }] });
    let of = |method, rest: &str| Request::new(method, table.path(rest));
    for request in [
        of("GET", ""),
        of("PATCH", "").json(&json!({ "title": "x" })),
        of("PATCH", "").json(&json!({ "settings": { "api": { "requireKey": false } } })),
        of("PATCH", "").json(&json!({})),
        of("DELETE", ""),
        of("GET", "/columns"),
        of("GET", "/columns/templates"),
        of("POST", "/columns").json(&json!({ "templateId": "manual" })),
        of("PATCH", &column).json(&json!({ "header": "x" })),
        of("DELETE", &column),
        of("GET", "/rows"),
        of("POST", "/rows").json(&json!({ "Name": "x" })),
        of("DELETE", "/rows").json(&json!({ "rowIds": [row] })),
        of("GET", &row_path),
        of("PATCH", &row_path).json(&json!({ "Name": "x" })),
        of("PATCH", "/cells").json(&cells),
        of("GET", "/views"),
        of("POST", "/views").json(&json!({ "name": "x" })),
        of("PATCH", &view_path).json(&json!({ "name": "x" })),
        of("DELETE", &view_path),
    ] {
        let refusal = api.send(request).refused(403, "api_disabled");
        assert_eq!(refusal["error"], "API is not enabled for this project");
    }
    // Still listed, and enabled again with other changes beside.
    let on = table.patch("", json!({ "title": "Back", "settings": { "api": { "enabled": true } } })).ok();
    assert_eq!(on["project"]["title"], "Back");
    assert_eq!(table.values("Name", &[]), ["Ada"]);
    assert_eq!(table.get("/views").ok()["views"].as_array().unwrap().len(), 1);
}

fn the_event_integration_must_have_its_fields(api: &Api) {
    let table = api.table(&[]);
    let cases = [
        (json!({}), &["eventId", "webhookEnabled"][..]),
        (json!({ "eventId": "evt", "webhookEnabled": "true" }), &["webhookEnabled"]),
        (json!({ "eventId": 5, "webhookEnabled": true }), &["eventId"]),
        (json!({ "eventId": "evt", "webhookEnabled": true, "eventName": 5 }), &["eventName"]),
        (
            json!({ "eventId": "evt", "webhookEnabled": true, "addApprovalColumn": "yes" }),
            &["addApprovalColumn"],
        ),
        (json!({ "eventId": "evt", "webhookEnabled": false, "eventName": "Party" }), &[]),
    ];
    for (event, offences) in cases {
        let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
        let places: Vec<String> =
            offences.iter().map(|field| format!("metadata.eventplatform.{field}")).collect();
        let places: Vec<&str> = places.iter().map(String::as_str).collect();
        let body = json!({ "title": "x", "metadata": metadata });
        if places.is_empty() {
            assert_eq!(api.post("/v4/projects", body.clone()).created()["project"]["metadata"], metadata);
            assert_eq!(table.patch("", body).ok()["project"]["metadata"], metadata);
        } else {
            api.post("/v4/projects", body.clone()).offends(&places);
            table.patch("", body).offends(&places);
        }
    }
    let missing = json!({ "metadata": { "integration": "eventplatform-event" } });
    table.patch("", missing).offends(&["metadata.eventplatform"]);
    // Any other integration is nobody's business.
    table.patch("", json!({ "metadata": { "integration": "other", "eventplatform": 5 } })).ok();
}

fn the_guest_status_column_is_made_if_missing(api: &Api) {
    let event = json!({ "eventId": "evt", "webhookEnabled": true, "addApprovalColumn": true });
    let metadata = json!({ "integration": "eventplatform-event", "eventplatform": event });
    let made = api.table_of(json!({ "title": "x", "metadata": metadata }));
    let patched = api.table(&["Guest status"]);
    for _ in 0..2 {
        patched.patch("", json!({ "metadata": metadata })).ok();
    }
    for (table, header, order) in [(&made, "Guest status", 1), (&patched, "Guest status 2", 2)] {
        let columns = table.columns();
        assert_eq!(columns.len(), order + 1);
        let column = table.full_column("guest_status");
        assert_eq!((&column["type"], &column["header"]), (&json!("manual"), &json!(header)));
        assert_eq!(column["order"], order);
        assert_eq!(table.get("").ok()["project"]["columnCount"], order + 1);
    }
    let row = made.insert(json!({ "guest_status": "approved" })).remove(0);
    assert_eq!(made.value(&row, "guest_status"), "approved");
}

fn a_deleted_project_is_gone(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    assert_eq!(table.delete("").ok()["deletedCount"], 1);
    table.get("").refused(404, "project_not_found");
    table.get("/rows").refused(404, "project_not_found");
    table.get(&format!("/rows/{row}")).refused(404, "project_not_found");
    table.post("/rows", json!({})).refused(404, "project_not_found");
    table.delete("").refused(404, "project_not_found");
    let listed = api.get("/v4/projects").text;
    assert!(!listed.contains(&table.id));
}

fn counts_follow_rows_and_columns(api: &Api) {
    let table = api.table(&["Name"]);
    let rows = table.insert(json!([{ "Name": 1 }, { "Name": 2 }, { "Name": 3 }]));
    table.delete_rows(&rows[1..2]).ok();
    table.add_column(json!({ "templateId": "manual" }));
    let project = table.get("").ok()["project"].clone();
    assert_eq!((&project["rowCount"], &project["columnCount"]), (&json!(2), &json!(3)));
    table.delete(&format!("/columns/{}", table.column("Name"))).ok();
    let listed = api.get("/v4/projects").ok();
    let item =
        listed["projects"].as_array().unwrap().iter().find(|item| item["id"] == table.id.as_str()).unwrap();
    assert_eq!(item["columnCount"], 2);
    assert_eq!(table.get("").ok()["project"]["rowCount"], 2);
}

fn the_list_is_newest_first_with_pages_and_folders() {
    let server = Server::start(&[]);
    let api = server.api();
    assert_eq!(api.get("/v4/projects").ok(), json!({ "success": true, "projects": [] }));
    let empty = api.get("/v4/projects?page=1").ok()["pagination"].clone();
    assert_eq!((&empty["totalPages"], &empty["page"]), (&json!(0), &json!(1)));
    for number in 0..7 {
        let folder = if number % 2 == 0 { json!("even") } else { json!(null) };
        let made =
            api.post("/v4/projects", json!({ "title": format!("P{number}"), "folderId": folder })).created();
        // Newest first is by the clock: let it go on.
        eventually("a millisecond passes", std::time::Duration::from_secs(5), || {
            let again = api.post("/v4/projects", json!({ "title": "clock" })).created();
            api.delete(api.path_in(again["project"]["id"].as_str().unwrap(), "")).ok();
            (again["project"]["createdAt"] != made["project"]["createdAt"]).then_some(())
        });
    }
    let titles = |query: &str| {
        let list = api.get(format!("/v4/projects{query}")).ok();
        let titles: Vec<String> = list["projects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| item["title"].as_str().unwrap().to_owned())
            .collect();
        (titles.join(" "), list["pagination"].clone())
    };
    assert_eq!(titles(""), ("P6 P5 P4 P3 P2 P1 P0".to_owned(), Value::Null));
    let (page, pagination) = titles("?page=2&pageSize=3");
    assert_eq!(page, "P3 P2 P1");
    assert_eq!((&pagination["page"], &pagination["pageSize"]), (&json!(2), &json!(3)));
    assert_eq!(pagination["totalPages"], 3);
    assert_eq!(titles("?pageSize=1000").0, "P6 P5 P4 P3 P2 P1 P0");
    assert_eq!(titles("?page=1").1["pageSize"], 50);
    assert_eq!(titles("?folderId=even"), ("P6 P4 P2 P0".to_owned(), Value::Null));
    assert_eq!(titles("?folderId=even&page=2&pageSize=3").0, "P0");
    assert_eq!(titles("?folderId=none").0, "");
    let (page, pagination) = titles("?page=9&pageSize=3");
    assert_eq!((page.as_str(), &pagination["totalPages"]), ("", &json!(3)));
    for query in ["page=0", "page=-1", "page=x", "page=", "pageSize=0", "pageSize=1001", "pageSize=1.5"] {
        let name = query.split('=').next().unwrap();
        api.get(format!("/v4/projects?{query}")).offends(&[name]);
    }
    let item = api.get("/v4/projects?pageSize=1").ok()["projects"][0].clone();
    let mut fields: Vec<&String> = item.as_object().unwrap().keys().collect();
    fields.sort();
    assert_eq!(fields, ["autoplay", "columnCount", "createdAt", "folderId", "id", "title"]);
    // Other teams see nothing of it.
    let stranger = server.team("stranger");
    assert_eq!(stranger.get("/v4/projects").ok()["projects"], json!([]));
}

fn the_sample_takes_no_fields(api: &Api) {
    api.post("/v4/projects/sample", json!({ "title": "Mine" })).offends(&["title"]);
    api.post("/v4/projects/sample", json!({})).created();
    api.send(Request::post("/v4/projects/sample")).created();
}
