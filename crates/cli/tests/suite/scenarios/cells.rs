//! Contract section 6: the cells batch, and values written by hand into processed columns.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Answer, Api, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("cells", Versions:
    a_batch_writes_cells_of_many_rows,
    an_unknown_row_or_column_is_404_naming_each_and_nothing_is_written,
    of_two_entries_for_one_cell_the_later_wins_and_one_is_counted,
    every_field_of_an_entry_is_required,
    a_value_in_a_processed_column_is_completed_by_hand_and_null_makes_it_idle,
    writers_at_once_lose_nothing,
);

fn write(table: &Table, cells: &[(&str, &str, Value)]) -> Answer {
    let cells: Vec<Value> = cells
        .iter()
        .map(|(row, column, value)| json!({ "rowId": row, "columnId": column, "value": value }))
        .collect();
    table.patch("/cells", json!({ "cells": cells }))
}

fn a_batch_writes_cells_of_many_rows(api: &Api) {
    let table = api.table(&["Name", "Site"]);
    let (name, site) = (table.column("Name"), table.column("Site"));
    let rows = table.insert(json!([{ "Name": 1 }, { "Name": 2 }, { "Name": 3 }]));
    let answer = write(
        &table,
        &[
            (&rows[0], name, json!("a")),
            (&rows[2], site, json!({ "b": [1] })),
            (&rows[2], "_trigger", json!("in")),
            (&rows[1], name, json!(null)),
        ],
    );
    assert_eq!(answer.ok(), json!({ "success": true, "updatedCount": 4 }));
    assert_eq!(table.values("Name", &[]), [json!("a"), json!(null), json!(3)]);
    assert_eq!(table.value(&rows[2], site), json!({ "b": [1] }));
    assert_eq!(table.value(&rows[2], "_trigger"), "in");
    assert_eq!(table.patch("/cells", json!({ "cells": [] })).ok()["updatedCount"], 0);
}

fn an_unknown_row_or_column_is_404_naming_each_and_nothing_is_written(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let row = table.insert(json!({ "Name": "old" })).remove(0);
    let missing = "row_0190f0e0b3c47d5e8f60123456789abc";
    let check = |cells: &[(&str, &str, Value)], code: &str, places: &[&str]| {
        let refusal = write(&table, cells).refused(404, code);
        let details: Vec<&str> = refusal["details"]
            .as_array()
            .unwrap()
            .iter()
            .map(|offence| offence["path"].as_str().unwrap())
            .collect();
        assert_eq!(details, places);
        assert_eq!(table.value(&row, name), "old");
    };
    let new = json!("new");
    check(&[(&row, name, new.clone()), (missing, name, new.clone())], "row_not_found", &["cells[1].rowId"]);
    check(
        &[(&row, name, new.clone()), (&row, "nope", new.clone())],
        "column_not_found",
        &["cells[1].columnId"],
    );
    check(&[("nope", name, new.clone()), (&row, name, new.clone())], "row_not_found", &["cells[0].rowId"]);
    let all = [
        (&*row, name, new.clone()),
        (missing, name, new.clone()),
        ("nope", "nope", new.clone()),
        (&row, "nope", new),
    ];
    check(
        &all,
        "row_not_found",
        &["cells[1].rowId", "cells[2].rowId", "cells[2].columnId", "cells[3].columnId"],
    );
}

fn of_two_entries_for_one_cell_the_later_wins_and_one_is_counted(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let row = table.insert(json!({ "Name": 0 })).remove(0);
    let other_spelling = row.strip_prefix("row_").unwrap().to_uppercase();
    let answer = write(
        &table,
        &[(&row, name, json!(1)), (&row, "_trigger", json!(9)), (&other_spelling, name, json!(2))],
    );
    assert_eq!(answer.ok()["updatedCount"], 2);
    assert_eq!(table.value(&row, name), 2);
}

fn every_field_of_an_entry_is_required(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "old" })).remove(0);
    let name = table.column("Name");
    let check = |entry: Value, place: &str| {
        let right = json!({ "rowId": row, "columnId": name, "value": "new" });
        table.patch("/cells", json!({ "cells": [right, entry] })).offends(&[place]);
        assert_eq!(table.value(&row, name), "old");
    };
    check(json!({ "rowId": row, "columnId": name }), "cells[1].value");
    check(json!({ "rowId": row, "value": 1 }), "cells[1].columnId");
    check(json!({ "columnId": name, "value": 1 }), "cells[1].rowId");
    check(json!({ "rowId": row, "columnId": 5, "value": 1 }), "cells[1].columnId");
    check(json!({ "rowId": null, "columnId": name, "value": 1 }), "cells[1].rowId");
    check(json!("x"), "cells[1]");
    table.patch("/cells", json!({})).offends(&["cells"]);
    table.patch("/cells", json!({ "cells": {} })).offends(&["cells"]);
    table.patch("/cells", json!([])).offends(&[""]);
}

fn a_value_in_a_processed_column_is_completed_by_hand_and_null_makes_it_idle(api: &Api) {
    let table = api.table(&["Name"]);
    for template in ["ai-text", "ai-json", "waterfall-email", "web-scraper", "verify-email", "http-api"] {
        let column = table.add_column(json!({ "templateId": template }));
        let row = table.insert(json!({ "Name": "Ada" })).remove(0);
        let completed = |row: &str, value: &str| {
            let cell = table.cells(row)[&column].clone();
            assert_eq!(
                (&cell["value"], &cell["status"]),
                (&json!(value), &json!("completed")),
                "{template} {cell}"
            );
            assert_eq!(cell["manual"], true, "{template} {cell}");
        };
        let idle = |row: &str| {
            assert_eq!(table.cells(row)[&column], json!({ "value": null, "status": "idle" }), "{template}");
        };
        idle(&row);
        write(&table, &[(&row, &column, json!("by batch"))]).ok();
        completed(&row, "by batch");
        write(&table, &[(&row, &column, json!(null))]).ok();
        idle(&row);
        table.patch(&format!("/rows/{row}"), json!({ column.clone(): "by patch" })).ok();
        completed(&row, "by patch");
        table.patch(&format!("/rows/{row}"), json!({ column.clone(): null })).ok();
        idle(&row);
        let row = table.insert(json!({ column.clone(): "by insert" })).remove(0);
        completed(&row, "by insert");
        let matched = table
            .post(&format!("/rows?matchOn={column}"), json!({ column.clone(): "by insert", "Name": "x" }))
            .ok();
        assert_eq!(matched["updatedCount"], 1);
        completed(&row, "by insert");
        idle(&table.insert(json!({ column.clone(): null })).remove(0));
    }
    // A manual column's cell has nothing to say of itself.
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    assert_eq!(table.cells(&row)[table.column("Name")], json!({ "value": "Ada", "status": "idle" }));
}

fn writers_at_once_lose_nothing(api: &Api) {
    const WRITERS: usize = 8;
    let headers: Vec<String> = (0..WRITERS).map(|writer| format!("W{writer}")).collect();
    let table = api.table(&headers.iter().map(String::as_str).collect::<Vec<_>>());
    let rows = table.insert(json!([{}, {}, {}]));
    // Each writes a column of its own, all in the same rows, while columns come and go.
    std::thread::scope(|scope| {
        for header in &headers {
            let (table, rows) = (&table, &rows);
            scope.spawn(move || {
                for number in 0..10 {
                    let column = table.column(header);
                    let cells: Vec<_> =
                        rows.iter().map(|row| (row.as_str(), column, json!(number))).collect();
                    write(table, &cells).ok();
                }
            });
        }
        scope.spawn(|| {
            for _ in 0..5 {
                let column = table.add_column(json!({ "templateId": "manual" }));
                table.delete(&format!("/columns/{column}")).ok();
            }
        });
    });
    for header in &headers {
        assert_eq!(table.values(header, &[]), [9, 9, 9], "{header}");
    }
}
