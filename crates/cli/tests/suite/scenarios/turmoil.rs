//! Many callers doing everything at once to one project: each answer is one the document knows, none is a
//! failure of the server's, and what is left adds up.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("turmoil", Versions:
    everything_at_once_adds_up,
    a_project_deleted_under_its_callers_is_404_for_them,
);

/// Not random, but no two callers do the same in the same order.
fn step(table: &Table, number: usize) -> u16 {
    let page = table.list(&[("pageSize", "20"), ("sorting", "[]"), ("search", ["", "1"][number % 2])]);
    let row = page.json["rows"][number % 7]["id"].as_str().unwrap_or("row_none").to_owned();
    let column =
        table.get("/columns").json["columns"][number % 5]["id"].as_str().unwrap_or("col_none").to_owned();
    let answer = match number % 11 {
        0 | 1 => table.post("/rows", json!([{ "Name": number }, { "Name": number + 1, column: 1 }])),
        2 => table.post("/rows?matchOn=Name", json!({ "Name": number % 13, "stray": number })),
        3 => table.patch(&format!("/rows/{row}"), json!({ column: number })),
        4 => {
            table.patch("/cells", json!({ "cells": [{ "rowId": row, "columnId": column, "value": number }] }))
        }
        5 => table.delete_rows(&[row]),
        6 => table.post(
            "/columns",
            json!({ "templateId": "ai-text", "aiConfig": { "prompt": format!("@{{{column}}}") } }),
        ),
        7 => table.delete(&format!("/columns/{column}")),
        8 => table.post(
            "/views",
            json!({ "name": "V", "filters": [{ "columnId": column, "operator": "isEmpty" }] }),
        ),
        9 => table.patch(
            &format!("/columns/{column}"),
            json!({ "header": format!("H{number}"), "order": number % 3 }),
        ),
        _ => table.patch("", json!({ "title": format!("T{number}") })),
    };
    answer.status()
}

fn everything_at_once_adds_up(api: &Api) {
    let table = api.table(&["Name", "Site"]);
    std::thread::scope(|scope| {
        for caller in 0..6 {
            let table = &table;
            scope.spawn(move || {
                for turn in 0..22 {
                    step(table, caller * 5 + turn * 3);
                }
            });
        }
    });
    let project = table.get("").ok()["project"].clone();
    let page = table.rows(&[("pageSize", "1000")]);
    assert_eq!(page["pagination"]["totalRows"], page["rows"].as_array().unwrap().len());
    assert_eq!(project["rowCount"], page["pagination"]["totalRows"]);
    let columns = table.columns();
    assert_eq!(project["columnCount"], columns.len());
    assert!(columns.iter().enumerate().all(|(order, column)| column["order"] == order));
    // Whatever refers to a column refers to one that is there: sent back, nothing needs correction.
    for column in &columns {
        let path = format!("/columns/{}", column["id"].as_str().unwrap());
        assert_eq!(table.patch(&path, column.clone()).ok()["appliedFixes"], json!([]), "{column}");
    }
    for view in table.get("/views").ok()["views"].as_array().unwrap() {
        table.list(&[("viewId", view["id"].as_str().unwrap())]).ok();
    }
}

fn a_project_deleted_under_its_callers_is_404_for_them(api: &Api) {
    let table = api.table(&["Name"]);
    let is_deleted = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for caller in 0..4 {
            let (table, is_deleted) = (&table, &is_deleted);
            scope.spawn(move || {
                for turn in 0..200 {
                    let was_deleted = is_deleted.load(Ordering::SeqCst);
                    let status = step(table, caller * 5 + turn);
                    assert!(!was_deleted || status == 404, "{status} after the project was deleted");
                    if was_deleted {
                        break;
                    }
                }
            });
        }
        table.rows(&[]);
        table.delete("").ok();
        is_deleted.store(true, Ordering::SeqCst);
    });
    table.get("/rows").refused(404, "project_not_found");
}
