//! Contract section 6: rows that are inserted, read, changed and deleted, value for value.

use serde_json::{Value, json};

use crate::harness::api::paths_of;
use crate::harness::runner::scenarios;
use crate::harness::table::{encoded, strings};
use crate::harness::{Api, Request, Scenario, Table, http};

pub(crate) const SHARED: &[Scenario] = &scenarios!("rows", Versions:
    rows_are_sent_as_one_object_an_array_or_under_rows,
    an_empty_batch_is_201_with_0_and_an_entry_that_is_no_object_400,
    a_batch_is_all_or_nothing,
    fields_name_columns_by_id_else_by_header,
    fields_that_name_no_column_are_kept_in_trigger_or_named,
    fields_become_columns_where_the_setting_says_so,
    callers_at_once_with_new_fields_make_each_column_once,
    two_fields_that_name_one_column_are_400,
    numbers_keep_their_digits_and_text_its_bytes,
    a_number_beyond_every_machine_is_kept_too,
    a_value_of_any_kind_is_kept,
    a_read_row_names_every_column_with_value_and_status,
    a_patch_takes_fields_or_cells,
    a_patch_never_touches_trigger_with_leftover_fields,
    deleting_counts_only_rows_that_were_there,
);

fn total(table: &Table) -> u64 {
    table.rows(&[("pageSize", "1")])["pagination"]["totalRows"].as_u64().unwrap()
}

fn rows_are_sent_as_one_object_an_array_or_under_rows(api: &Api) {
    let table = api.table(&["Name", "rows"]);
    let one = table.post("/rows", json!({ "Name": "one" })).created();
    assert_eq!((&one["insertedCount"], strings(&one["rows"]).len()), (&json!(1), 1));
    assert_eq!(one.as_object().unwrap().len(), 3, "nothing beside success, insertedCount and rows: {one}");
    let many = table.post("/rows", json!([{ "Name": "a" }, { "Name": "b" }])).created();
    let wrapped = table.post("/rows", json!({ "rows": [{ "Name": "c" }, { "Name": "d" }] })).created();
    assert_eq!((&many["insertedCount"], &wrapped["insertedCount"]), (&json!(2), &json!(2)));
    // The ids come in the order sent, and the list is in order of creation.
    let ids = [strings(&one["rows"]), strings(&many["rows"]), strings(&wrapped["rows"])].concat();
    let listed: Vec<String> = table.rows(&[])["rows"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(listed, ids);
    assert_eq!(table.values("Name", &[]), ["one", "a", "b", "c", "d"]);
    // `rows` is a field like any other when it is not alone, or holds no array.
    table.post("/rows", json!({ "rows": "text" })).created();
    table.post("/rows", json!({ "rows": [1, 2], "Name": "with" })).created();
    assert_eq!(table.values("rows", &[("page", "2"), ("pageSize", "5")]), [json!("text"), json!([1, 2])]);
    table.post("/rows", json!({})).created();
    assert_eq!(total(&table), 8);
}

fn an_empty_batch_is_201_with_0_and_an_entry_that_is_no_object_400(api: &Api) {
    let table = api.table(&["Name"]);
    for body in [json!([]), json!({ "rows": [] })] {
        let answer = table.post("/rows", body).created();
        assert_eq!((&answer["insertedCount"], &answer["rows"]), (&json!(0), &json!([])));
    }
    for entry in [json!(1), json!(null), json!("x"), json!([]), json!([{}]), json!(true), json!(1.5)] {
        table.post("/rows", json!([{}, entry])).offends(&["[1]"]);
        table.post("/rows", json!({ "rows": [entry, {}] })).offends(&["rows[0]"]);
    }
    assert_eq!(total(&table), 0);
}

fn a_batch_is_all_or_nothing(api: &Api) {
    let table = api.table(&["Name"]);
    let id = table.column("Name");
    table
        .post("/rows", json!([{ "Name": 1 }, { "Name": 2, id: 3 }, { "Name": 4 }]))
        .refused(400, "invalid_request");
    assert_eq!(total(&table), 0);
    table.patch("", json!({ "settings": { "api": { "createColumnsFromKeys": true } } })).ok();
    table.post("/rows", json!([{ "Fresh": 1 }, 5])).offends(&["[1]"]);
    assert_eq!((total(&table), table.columns().len()), (0, 2));
}

fn fields_name_columns_by_id_else_by_header(api: &Api) {
    let table = api.table(&["First Name", "col_4fJq0ZtR9xWb", "ÉTÉ"]);
    let (name, odd) = (table.column("First Name"), table.column("col_4fJq0ZtR9xWb"));
    for field in [name, "First Name", "first name", "  FIRST NAME\t"] {
        let row = table.insert(json!({ field: "Ada" })).remove(0);
        assert_eq!(table.value(&row, name), "Ada", "{field}");
    }
    let row = table.insert(json!({ "été": 1, "col_4fJq0ZtR9xWb": 2, "Input": 3 })).remove(0);
    let cells = table.cells(&row);
    assert_eq!((&cells[table.column("ÉTÉ")]["value"], &cells[odd]["value"]), (&json!(1), &json!(2)));
    assert_eq!(cells["_trigger"]["value"], 3);
    // An id beats a header, and ids have their letter case.
    let renamed = table.patch(&format!("/columns/{odd}"), json!({ "header": name })).ok();
    assert_eq!(renamed["column"]["header"], name);
    let row = table.insert(json!({ name: "by id" })).remove(0);
    assert_eq!((table.value(&row, name), table.value(&row, odd)), (json!("by id"), Value::Null));
}

fn fields_that_name_no_column_are_kept_in_trigger_or_named(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let answer = table.post_text("/rows", r#"{"Name":"Ada","b":1.50,"a":{"x":[1e2]}}"#).created();
    assert!(answer.get("ignoredKeys").is_none());
    let row = strings(&answer["rows"]).remove(0);
    let text = table.get(&format!("/rows/{row}")).text;
    assert!(text.contains(r#"{"b":1.50,"a":{"x":[1e2]}}"#), "{text}");
    assert_eq!(table.value(&row, name), "Ada");
    // Something was sent for the input column: the rest is named, each name once.
    let answer = table
        .post("/rows", json!([{ "_trigger": "x", "b": 1, "a": 2 }, { "input": "y", "b": 3 }, { "b": 4 }]))
        .created();
    assert_eq!(answer["ignoredKeys"], json!(["b", "a"]));
    let ids = strings(&answer["rows"]);
    assert_eq!(table.value(&ids[0], "_trigger"), "x");
    assert_eq!(table.value(&ids[1], "_trigger"), "y");
    assert_eq!(table.value(&ids[2], "_trigger"), json!({ "b": 4 }));
    assert_eq!(table.columns().len(), 2);
}

fn fields_become_columns_where_the_setting_says_so(api: &Api) {
    let settings = json!({ "api": { "createColumnsFromKeys": true } });
    let table = api.table_of(json!({ "title": "x", "settings": settings }));
    let answer = table
        .post("/rows", json!([{ " Name ": "Ada", "Site": 1 }, { "name": "Alan", "Born": 1912 }]))
        .created();
    assert!(answer.get("ignoredKeys").is_none());
    assert_eq!(table.headers(), ["Input", "Name", "Site", "Born"]);
    let columns = table.columns();
    assert!(columns[1..].iter().all(|column| column["type"] == "manual" && column["dataShape"] == "text"));
    let id = |at: usize| columns[at]["id"].as_str().unwrap();
    let rows = table.rows(&[]);
    assert_eq!(rows["rows"][0]["cells"], json!({ "_trigger": null, id(1): "Ada", id(2): 1, id(3): null }));
    assert_eq!(
        rows["rows"][1]["cells"],
        json!({ "_trigger": null, id(1): "Alan", id(2): null, id(3): 1912 })
    );
    // What cannot be a header is kept as before.
    let long = "x".repeat(256);
    let answer = table.post("/rows", json!({ long.clone(): 1, " ": 2, "Name": "x" })).created();
    let row = strings(&answer["rows"]).remove(0);
    assert_eq!(table.value(&row, "_trigger"), json!({ long: 1, " ": 2 }));
    // A patch makes columns, too.
    let patched = table.patch(&format!("/rows/{row}"), json!({ "Died": 1954 })).ok();
    assert_eq!(table.headers(), ["Input", "Name", "Site", "Born", "Died"]);
    let died = table.columns()[4]["id"].as_str().unwrap().to_owned();
    assert_eq!(patched["row"]["cells"][&died]["value"], 1954);
    assert_eq!(table.get("").ok()["project"]["columnCount"], 5);
}

fn callers_at_once_with_new_fields_make_each_column_once(api: &Api) {
    let settings = json!({ "api": { "createColumnsFromKeys": true } });
    let table = api.table_of(json!({ "title": "x", "settings": settings }));
    std::thread::scope(|scope| {
        for caller in 0..8 {
            let table = &table;
            scope.spawn(move || {
                for number in 0..4 {
                    let field = |number: usize| format!("Field {}", number % 6);
                    table.insert(
                        json!([{ field(caller + number): caller, field(caller + number + 1): caller }]),
                    );
                }
            });
        }
    });
    let mut headers = table.headers();
    headers.sort();
    assert_eq!(headers, ["Field 0", "Field 1", "Field 2", "Field 3", "Field 4", "Field 5", "Input"]);
    let page = table.rows(&[]);
    assert_eq!(page["pagination"]["totalRows"], 32);
    for row in page["rows"].as_array().unwrap() {
        let filled = row["cells"].as_object().unwrap().values().filter(|value| !value.is_null()).count();
        assert_eq!(filled, 2, "{row}");
    }
}

fn two_fields_that_name_one_column_are_400(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let path = format!("/rows/{row}");
    table.post("/rows", json!({ "Name": 1, "name": 2 })).offends(&["name"]);
    table.post("/rows", json!({ "Name": 1, name: 2 })).offends(&[name]);
    table.post("/rows", json!([{}, { "Name": 1, " NAME ": 1 }])).offends(&["[1]. NAME "]);
    table.post_text("/rows", r#"{"Name":1,"Name":1}"#).offends(&["Name"]);
    table.post_text("/rows", r#"{"stray":1,"stray":2}"#).offends(&["stray"]);
    table.patch(&path, json!({ "Name": 1, "name": 2 })).offends(&["name"]);
    assert_eq!((total(&table), table.value(&row, name)), (1, json!("Ada")));
}

/// JSON texts that come back as they were sent.
const EXACT: &[&str] = &[
    "1.0",
    "1e5",
    "1E+5",
    "12345678901234567890.123",
    "-0",
    "-0.0",
    "0.1000",
    "100000000000000000000000000000000000000000",
    "1.7976931348623157e308",
    "9007199254740993",
    r#""""#,
    r#""  blanks  ""#,
    r#""\u0001\u001f""#,
    r#""\" \\ \/ \b \f \n \r \t""#,
    r#""\u00e9 \ud83d\ude00""#,
    r#""é 😀 \u2028 👩‍👩‍👧""#,
    "\"e\u{301} \u{feff} \u{202e} \u{fffd}\"",
    r#""null""#,
    "true",
    "[]",
    "{}",
    r#"{"b":1,"a":[1.0,{"c":null}]}"#,
    r#"{"a":1,"a":2}"#,
];

fn numbers_keep_their_digits_and_text_its_bytes(api: &Api) {
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    for text in EXACT {
        let answer = table.post_text("/rows", &format!("{{\"Name\":{text}}}")).created();
        let row = strings(&answer["rows"]).remove(0);
        let kept = |what: &str| {
            let read = table.get(&format!("/rows/{row}")).text;
            assert!(read.contains(&format!("\"{name}\":{{\"value\":{text},")), "{what} {text}: {read}");
        };
        kept("inserted");
        table.patch_text(&format!("/rows/{row}"), &format!("{{\"Name\":{text}}}")).ok();
        kept("patched");
        let cell = format!(r#"{{"cells":[{{"rowId":"{row}","columnId":"{name}","value":{text}}}]}}"#);
        table.patch_text("/cells", &cell).ok();
        kept("in a batch");
        let listed = table.get("/rows?pageSize=1000").text;
        assert!(listed.contains(&format!("\"{name}\":{text}}}")), "listed {text}: {listed}");
        let listed = table.get("/rows?pageSize=1000&withStatus=true").text;
        assert!(listed.contains(&format!("\"{name}\":{{\"value\":{text},")), "listed {text}: {listed}");
    }
}

fn a_number_beyond_every_machine_is_kept_too(api: &Api) {
    let table = api.table(&["Name"]);
    let huge = "-1e400";
    table.post_text("/rows", &format!("[{{\"Name\":{huge}}},{{\"Name\":1}}]")).created();
    // No JSON library reads it as a number, so this answer is not judged.
    let list = |query: &str| {
        let request = api.with_key(Request::get(table.path(&format!("/rows{query}"))));
        String::from_utf8(http::exchange(&api.address, &request).unwrap().body).unwrap()
    };
    assert!(list("").contains(&format!(":{huge}}}")), "{}", list(""));
    let name = table.column("Name");
    let sorting = encoded(&json!([{ "columnId": name, "direction": "desc" }]).to_string());
    let sorted = list(&format!("?sorting={sorting}"));
    assert!(sorted.find(":1}") < sorted.find(huge), "{sorted}");
}

fn a_value_of_any_kind_is_kept(api: &Api) {
    let table = api.table(&["Name"]);
    let values =
        [json!("text"), json!(5), json!(true), json!(false), json!([1, "a", null]), json!({ "a": {} })];
    table.insert(values.iter().map(|value| json!({ "Name": value })).collect());
    assert_eq!(table.values("Name", &[]), values);
    let row = table.insert(json!({ "Name": null })).remove(0);
    assert_eq!(table.value(&row, table.column("Name")), Value::Null);
}

fn a_read_row_names_every_column_with_value_and_status(api: &Api) {
    let table = api.table(&["Name", "Site"]);
    let ai = table.add_column(json!({ "templateId": "ai-text" }));
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let read = table.get(&format!("/rows/{row}")).ok()["row"].clone();
    assert_eq!(read["id"], row.as_str());
    let idle = |value: Value| json!({ "value": value, "status": "idle" });
    let (name, site) = (table.column("Name"), table.column("Site"));
    let expected = json!({ "_trigger": idle(json!(null)), name: idle(json!("Ada")), site: idle(json!(null)), ai: idle(json!(null)) });
    assert_eq!(read["cells"], expected);
    let later = table.add_column(json!({ "templateId": "manual" }));
    assert_eq!(table.cells(&row)[&later], idle(json!(null)));
    assert_eq!(table.rows(&[])["rows"][0]["cells"].as_object().unwrap().len(), 5);
}

fn a_patch_takes_fields_or_cells(api: &Api) {
    let table = api.table(&["Name", "Site", "cells"]);
    let (name, site, cells) = (table.column("Name"), table.column("Site"), table.column("cells"));
    let row = table.insert(json!({ "Name": "Ada", "Site": "a.example" })).remove(0);
    let path = format!("/rows/{row}");
    let patched = table.patch(&path, json!({ "name": "Alan" })).ok();
    assert!(patched.get("ignoredKeys").is_none());
    assert_eq!(patched["row"], table.get(&path).ok()["row"]);
    assert_eq!((table.value(&row, name), table.value(&row, site)), (json!("Alan"), json!("a.example")));
    let patched = table.patch(&path, json!({ "cells": { name: null, site: 5 } })).ok();
    assert_eq!(
        (&patched["row"]["cells"][name]["value"], &patched["row"]["cells"][site]["value"]),
        (&json!(null), &json!(5))
    );
    // `cells` is a field like any other when it holds no object, or is not alone.
    table.patch(&path, json!({ "cells": "text" })).ok();
    assert_eq!(table.value(&row, cells), "text");
    table.patch(&path, json!({ "cells": { "a": 1 }, "Name": "x" })).ok();
    assert_eq!((table.value(&row, cells), table.value(&row, name)), (json!({ "a": 1 }), json!("x")));
    table.patch(&path, json!({})).ok();
    assert_eq!(table.value(&row, name), "x");
    for body in ["[]", "[{}]", "1"] {
        table.patch_text(&path, body).offends(&[""]);
    }
    let twice = |cells: Value| table.patch(&path, cells).json;
    assert_eq!(paths_of(&twice(json!({ "Name": 1, "name": 2 }))), ["name"]);
    assert_eq!(paths_of(&twice(json!({ "cells": { "Name": 1, "name": 2 } }))), ["cells.name"]);
}

fn a_patch_never_touches_trigger_with_leftover_fields(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let path = format!("/rows/{row}");
    let patched = table.patch(&path, json!({ "stray": 1, "Name": "Alan", "other": 2 })).ok();
    assert_eq!(patched["ignoredKeys"], json!(["stray", "other"]));
    assert_eq!(patched["row"]["cells"]["_trigger"]["value"], Value::Null);
    let patched = table.patch(&path, json!({ "cells": { "stray": 1 } })).ok();
    assert_eq!(patched["ignoredKeys"], json!(["stray"]));
    assert_eq!(table.value(&row, table.column("Name")), "Alan");
}

fn deleting_counts_only_rows_that_were_there(api: &Api) {
    let table = api.table(&["Name"]);
    let rows = table.insert(json!([{ "Name": 1 }, { "Name": 2 }, { "Name": 3 }]));
    let ids = [
        rows[0].as_str(),
        rows[2].as_str(),
        rows[0].as_str(),
        "nope",
        "",
        "row_0190f0e0b3c47d5e8f60123456789abc",
    ];
    assert_eq!(table.delete_rows(&ids).ok()["deletedCount"], 2);
    assert_eq!(table.delete_rows(&ids).ok()["deletedCount"], 0);
    assert_eq!(table.delete_rows(&[""; 0]).ok()["deletedCount"], 0);
    assert_eq!(table.values("Name", &[]), [2]);
    table.get(&format!("/rows/{}", rows[0])).refused(404, "row_not_found");
    for body in [json!({}), json!({ "rowIds": "x" }), json!({ "rowIds": [5] })] {
        let request = Request::new("DELETE", table.path("/rows")).json(&body);
        api.send(request).refused(400, "invalid_request");
    }
}
