//! Pages of rows are kept while other rows change: whatever happened, a page that was kept is the one that is made anew.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("kept_pages", Shared:
    kept_pages_are_those_that_are_made_anew,
);

const SIZE: &str = "100";

/// The page as it may be kept, and the same page in a form that never is.
fn pages(table: &Table, start: (&str, &str), columns: &str, state: &str) -> (Value, Value) {
    let kept = [start, ("pageSize", SIZE), ("withState", state)];
    let anew = [kept.as_slice(), &[("columnIds", columns)]].concat();
    (table.rows(&kept), table.rows(&anew))
}

fn change(table: &Table, ids: &mut Vec<String>, deleted: &mut Vec<String>, random: &mut fastrand::Rng) {
    let place = random.usize(..ids.len());
    match random.u8(..8) {
        0..=3 => {
            let column = ["N", "Web"][random.usize(..2)];
            let body = json!({ "cells": { column: random.u32(..1_000) } });
            table.patch(&format!("/rows/{}", ids[place]), body).ok();
        }
        4 => ids.extend(table.insert(json!([{ "N": 1 }, { "N": 2 }]))),
        5 => {
            let gone: Vec<String> = ids.drain(place..ids.len().min(place + random.usize(1..30))).collect();
            table.delete_rows(&gone).ok();
            deleted.extend(gone);
        }
        6 if !deleted.is_empty() => {
            let back = deleted.swap_remove(random.usize(..deleted.len()));
            table.post("/trash/restore", json!({ "rowIds": [back] })).ok();
            ids.push(back);
        }
        _ => drop(table.patch("", json!({ "title": format!("Leads {place}") })).ok()),
    }
}

fn kept_pages_are_those_that_are_made_anew(api: &Api) {
    let seed = fastrand::u64(..1_000_000);
    println!("kept pages by seed {seed}");
    let mut random = fastrand::Rng::with_seed(seed);
    let table = api.table(&["N"]);
    table.add_column(
        json!({ "templateId": "http-api", "header": "Web", "apiConfig": { "url": "http://127.0.0.1:9/" } }),
    );
    let columns: Vec<String> =
        table.columns().iter().map(|column| column["id"].as_str().unwrap().to_owned()).collect();
    let columns = columns.join(",");
    let rows: Vec<Value> = (0..900).map(|number| json!({ "N": number })).collect();
    let mut ids = table.insert(json!(rows));
    let mut deleted = Vec::new();
    let cursor = table.rows(&[("pageSize", SIZE), ("page", "3")])["pagination"]["nextCursor"].clone();
    let cursor = cursor.as_str().unwrap();
    for round in 0..15 {
        for page in ["1", "4", "8", "9"] {
            for state in ["false", "true"] {
                // Kept at the second time, used at the third.
                for _ in 0..3 {
                    let (kept, anew) = pages(&table, ("page", page), &columns, state);
                    assert_eq!(kept, anew, "page {page}, round {round}");
                }
            }
        }
        for _ in 0..3 {
            let (kept, anew) = pages(&table, ("cursor", cursor), &columns, "false");
            assert_eq!(kept, anew, "cursor, round {round}");
        }
        change(&table, &mut ids, &mut deleted, &mut random);
    }
}
