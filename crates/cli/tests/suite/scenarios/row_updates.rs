//! `PATCH …/rows`: many rows at once, all or nothing.

use serde_json::{Value, json};

use crate::harness::api::paths_of;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Scenario, Server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("row_updates", Versions:
    rows_are_updated_by_id_or_header,
    all_or_nothing,
    unknown_fields_are_named,
    a_batch_is_held_to_its_limits,
    values_are_kept_as_they_were_sent,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("row_updates", Own:
    the_limit_of_cells_is_settable,
    an_update_outlasts_a_crash,
);

fn rows_are_updated_by_id_or_header(api: &Api) {
    let table = api.table(&["City", "Name", "id"]);
    let (city, name) = (table.column("City"), table.column("Name"));
    let rows = table.insert(json!([{ "City": "a", "Name": "b" }, { "City": "c" }, { "City": "d" }]));
    let bare = rows[1].trim_start_matches("row_").to_ascii_uppercase();
    let body = json!({ "rows": [
        { "id": rows[0], " CITY ": "Bonn", name: null },
        { "id": bare, "cells": { city: "Ulm", "name": 5 } },
        { "id": rows[0], city: "Köln" },
    ] });
    assert_eq!(table.patch("/rows", body).ok(), json!({ "success": true, "updatedCount": 2 }));
    assert_eq!(table.values("City", &[]), ["Köln", "Ulm", "d"]);
    assert_eq!(table.values("Name", &[]), [Value::Null, json!(5), Value::Null]);
    // A list that was read can be sent back, and a bare array will do.
    let read = table.rows(&[])["rows"].clone();
    assert_eq!(table.patch("/rows", json!({ "rows": read })).ok()["updatedCount"], 3);
    assert_eq!(table.rows(&[])["rows"], read);
    let only_id = json!([{ "id": rows[0] }, { "id": rows[2], "cells": { "id": "mine" } }]);
    assert_eq!(table.patch("/rows", only_id).ok()["updatedCount"], 1);
    assert_eq!(table.values("id", &[]), [Value::Null, Value::Null, json!("mine")]);
    assert_eq!(table.patch("/rows", json!({ "rows": [] })).ok()["updatedCount"], 0);
    // A value in a processed column is manual.
    let asked = table.add_column(json!({ "templateId": "ai-text", "header": "Answer" }));
    table.patch("/rows", json!([{ "id": rows[0], "Answer": "mine" }])).ok();
    let cell = table.cells(&rows[0])[&asked].clone();
    assert_eq!((&cell["status"], &cell["manual"]), (&json!("completed"), &json!(true)));
}

fn all_or_nothing(api: &Api) {
    let table = api.table(&["City"]);
    let other = api.table(&["City"]).insert(json!({ "City": "x" })).remove(0);
    let rows = table.insert(json!([{ "City": "a" }, { "City": "b" }]));
    let gone = "row_00000000000000000000000000000000";
    for (entries, missing) in [
        (json!([{ "id": rows[0], "City": 1 }, { "id": gone, "City": 2 }]), vec!["rows[1].id"]),
        (
            json!([{ "id": other, "City": 1 }, { "id": rows[0] }, { "id": "nonsense" }]),
            vec!["rows[0].id", "rows[2].id"],
        ),
        (json!([{ "id": rows[0], "City": 1 }, { "id": gone }]), vec!["rows[1].id"]),
    ] {
        let refused = table.patch("/rows", json!({ "rows": entries })).refused(404, "row_not_found");
        assert_eq!(paths_of(&refused), missing);
    }
    table
        .patch("/rows", json!([{ "City": 1 }, { "id": 5, "City": 1 }, 7]))
        .offends(&["[0].id", "[1].id", "[2]"]);
    let twice =
        format!(r#"{{"rows":[{{"id":"{0}","id":"{0}"}},{{"id":"{0}","City":1,"city":2}}]}}"#, rows[0]);
    table.patch_text("/rows", &twice).offends(&["rows[0].id", "rows[1].city"]);
    for body in [json!({}), json!({ "rows": {} }), json!({ "rows": [], "more": 1 }), json!({ "id": rows[0] })]
    {
        table.patch("/rows", body).offends(&["rows"]);
    }
    table.patch_text("/rows", "1").offends(&[""]);
    table.patch_text("/rows", "{").refused(400, "invalid_json");
    table.patch("/rows?nope=1", json!([])).offends(&["nope"]);
    let reference = table.add_column(json!({
        "templateId": "reference", "header": "Ref", "referenceConfig": { "columnId": "_trigger", "path": "a" },
    }));
    table
        .patch("/rows", json!([{ "id": rows[0], "City": 1, reference.clone(): 1 }]))
        .offends(&[&format!("[0].{reference}")]);
    assert_eq!(table.values("City", &[]), ["a", "b"], "nothing was written");
}

fn unknown_fields_are_named(api: &Api) {
    let table = api.table(&["City"]);
    let rows = table.insert(json!([{ "City": "a" }, { "City": "b" }]));
    let body = json!([{ "id": rows[0], "Ctiy": 1, "City": "x" }, { "id": rows[1], "Phone": 2 }]);
    let told = table.patch("/rows", body.clone()).ok();
    assert_eq!(told["ignoredKeys"], json!(["Ctiy", "Phone"]));
    assert_eq!((&told["hints"], &told["updatedCount"]), (&json!({ "Ctiy": "City" }), &json!(1)));
    assert_eq!(table.value(&rows[0], "_trigger"), Value::Null, "they never touch the input");
    table.patch("/rows?strict=true", body.clone()).offends(&["[0].Ctiy", "[1].Phone"]);
    table.patch("", json!({ "settings": { "api": { "createColumnsFromKeys": true } } })).ok();
    table.patch("/rows?strict=true", body.clone()).offends(&["[0].Ctiy", "[1].Phone"]);
    let told = table.patch("/rows", body).ok();
    assert_eq!((told.get("ignoredKeys"), &told["updatedCount"]), (None, &json!(2)));
    assert_eq!(table.headers(), ["Input", "City", "Ctiy", "Phone"]);
}

fn a_batch_is_held_to_its_limits(api: &Api) {
    let table = api.table(&["City"]);
    let row = table.insert(json!({ "City": "a" })).remove(0);
    table.patch("/rows", vec![json!({ "id": row, "City": 1 }); 10_001].into()).exceeds("insertRowsMax");
    let most: Value = (0..10_000).map(|number| json!({ "id": row, "City": number })).collect();
    assert_eq!(table.patch("/rows", json!({ "rows": most })).ok()["updatedCount"], 1);
    assert_eq!(table.value(&row, table.column("City")), 9_999, "the last entry wins");
    table.patch("/rows", json!([{ "id": row, "City": "x".repeat(1 << 20) }])).exceeds("cellBytesMax");
}

fn values_are_kept_as_they_were_sent(api: &Api) {
    let table = api.table(&["City"]);
    let row = table.insert(json!({ "City": "a" })).remove(0);
    let body = format!(r#"{{"rows":[{{"id":"{row}","City":123456789012345678901234567890.10}}]}}"#);
    table.patch_text("/rows", &body).ok();
    assert!(table.get("/rows").text.contains("123456789012345678901234567890.10"));
}

fn the_limit_of_cells_is_settable() {
    let server = Server::start(&[("ROWMILL_PATCH_CELLS_MAX", "3")]);
    let api = server.api();
    assert_eq!(api.get("/v4/limits").ok()["limits"]["patchCellsMax"], 3);
    let table = api.table(&["A", "B"]);
    let row = table.insert(json!({ "A": 0 })).remove(0);
    let entry = json!({ "id": row, "A": 1, "B": 1 });
    table.patch("/rows", json!([entry, entry])).exceeds("patchCellsMax");
    assert_eq!(table.values("A", &[]), [0]);
    table.patch("/rows", json!([entry, { "id": row, "A": 2 }])).ok();
}

fn an_update_outlasts_a_crash() {
    let mut server = Server::start(&[]);
    let table = server.api().table(&["City"]);
    let rows = table.insert((0..1_000).map(|number| json!({ "City": number })).collect());
    let body: Value = rows.iter().map(|row| json!({ "id": row, "City": "new" })).collect();
    assert_eq!(table.patch("/rows", body).ok()["updatedCount"], 1_000);
    server.crash_and_restart();
    let table = table.through(&server.api());
    assert_eq!(table.values("City", &[("pageSize", "1000")]), vec!["new"; 1_000]);
}
