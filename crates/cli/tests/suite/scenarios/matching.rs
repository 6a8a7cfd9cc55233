//! Contract section 6: `matchOn`, which updates what is there instead of inserting it again.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::api::Version;
use crate::harness::runner::scenarios;
use crate::harness::table::{encoded, strings};
use crate::harness::{Answer, Api, Request, Scenario, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("matching", Versions:
    a_row_that_matches_is_updated_else_inserted,
    nothing_inserted_is_200,
    the_column_is_named_by_id_or_header,
    an_empty_value_matches_nothing,
    of_twins_in_one_body_the_later_updates_the_earlier,
    several_stored_matches_are_400_and_change_nothing,
    what_is_not_compared_is_told_as_such,
    equal_is_the_same_text,
    letter_case_counts_unless_it_is_ignored,
    unknown_fields_never_overwrite_a_value,
    callers_at_once_never_make_twins,
);

fn upsert(table: &Table, on: &str, rows: Value) -> Answer {
    table.post(&format!("/rows?matchOn={}", encoded(on)), rows)
}

fn actions(answer: &Value) -> String {
    let results = answer["results"].as_array().unwrap();
    for (index, result) in results.iter().enumerate() {
        assert_eq!((&result["index"], &result["id"]), (&json!(index), &answer["rows"][index]));
    }
    results.iter().map(|result| &result["action"].as_str().unwrap()[..2]).collect::<Vec<_>>().join(" ")
}

fn counts(answer: &Value) -> [u64; 3] {
    ["insertedCount", "updatedCount", "unchangedCount"].map(|name| answer[name].as_u64().unwrap())
}

fn a_row_that_matches_is_updated_else_inserted(api: &Api) {
    let table = api.table(&["Email", "Name", "Site"]);
    let known =
        table.insert(json!([{ "Email": "a", "Name": "A", "Site": "keep" }, { "Email": "b", "Name": "B" }]));
    let rows =
        json!([{ "Email": "b", "Name": "B" }, { "Email": "c", "Name": "C" }, { "Email": "a", "Name": "A2" }]);
    let answer = upsert(&table, "Email", rows).created();
    assert_eq!((counts(&answer), actions(&answer).as_str()), ([1, 1, 1], "un in up"));
    let ids = strings(&answer["rows"]);
    assert_eq!((&ids[0], &ids[2]), (&known[1], &known[0]));
    assert_eq!(table.values("Name", &[]), ["A2", "B", "C"]);
    assert_eq!(
        table.values("Site", &[]),
        [json!("keep"), json!(null), json!(null)],
        "what is not sent stays"
    );
    let cleared = upsert(&table, "Email", json!({ "Email": "a", "Site": null })).ok();
    assert_eq!(actions(&cleared), "up");
    assert_eq!(table.values("Site", &[]), [Value::Null, Value::Null, Value::Null]);
    let leftover = upsert(&table, "Email", json!({ "Email": "a", "stray": 1 })).ok();
    assert_eq!(leftover["rows"][0], known[0].as_str());
}

fn nothing_inserted_is_200(api: &Api) {
    let table = api.table(&["Email", "Name"]);
    upsert(&table, "Email", json!({ "Email": "a", "Name": 1.0 })).created();
    let same = upsert(&table, "Email", json!({ "Email": "a" })).ok();
    assert_eq!((counts(&same), actions(&same).as_str()), ([0, 0, 1], "un"));
    let changed = upsert(&table, "Email", json!([{ "Email": "a", "Name": 2 }])).ok();
    assert_eq!((counts(&changed), actions(&changed).as_str()), ([0, 1, 0], "up"));
    let none = upsert(&table, "Email", json!([])).ok();
    assert_eq!((counts(&none), &none["results"]), ([0, 0, 0], &json!([])));
}

fn the_column_is_named_by_id_or_header(api: &Api) {
    let table = api.table(&["E mail"]);
    let id = table.column("E mail").to_owned();
    upsert(&table, "E mail", json!({ "e MAIL": "a" })).created();
    for on in [id.as_str(), " e mail ", "E MAIL"] {
        assert_eq!(actions(&upsert(&table, on, json!({ "E mail": "a" })).ok()), "un");
    }
    for on in ["nope", "col_4fJq0ZtR9xWb"] {
        upsert(&table, on, json!({ "E mail": "a" })).offends(&["matchOn"]);
    }
    upsert(&table, "", json!({})).offends(&["matchOn"]);
    upsert(&table, "_trigger", json!({ "_trigger": { "id": 1 } })).created();
    assert_eq!(actions(&upsert(&table, "Input", json!({ "_trigger": { "id": 1 } })).ok()), "un");
}

fn an_empty_value_matches_nothing(api: &Api) {
    let table = api.table(&["Email", "Name"]);
    for empty in [json!(null), json!(""), json!([]), json!({})] {
        for _ in 0..2 {
            let answer = upsert(&table, "Email", json!({ "Email": empty, "Name": "x" })).created();
            assert_eq!(actions(&answer), "in", "{empty}");
        }
    }
    assert_eq!(
        actions(&upsert(&table, "Email", json!([{ "Name": "x" }, { "Name": "x" }])).created()),
        "in in"
    );
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 10);
}

fn of_twins_in_one_body_the_later_updates_the_earlier(api: &Api) {
    let table = api.table(&["Email", "Name", "Site"]);
    let rows = json!([{ "Email": "a", "Name": 1, "Site": "s" }, { "Email": "b" }, { "Email": "a", "Name": 2 }, { "Email": "a", "Name": 2 }]);
    let answer = upsert(&table, "Email", rows).created();
    assert_eq!((counts(&answer), actions(&answer).as_str()), ([2, 1, 1], "in in up un"));
    assert_eq!(answer["rows"][0], answer["rows"][2]);
    assert_eq!(table.values("Name", &[]), [json!(2), json!(null)]);
    assert_eq!(table.values("Site", &[]), [json!("s"), json!(null)]);
    let again =
        upsert(&table, "Email", json!([{ "Email": "a", "Name": 3 }, { "Email": "a", "Name": 4 }])).ok();
    assert_eq!(actions(&again), "up up");
    assert_eq!(table.values("Name", &[]), [json!(4), json!(null)]);
}

fn several_stored_matches_are_400_and_change_nothing(api: &Api) {
    let table = api.table(&["Email", "Name"]);
    table.insert(json!([{ "Email": "a" }, { "Email": "a" }, { "Email": "b" }]));
    upsert(&table, "Email", json!([{ "Email": "b", "Name": 1 }, { "Email": "a", "Name": 1 }]))
        .offends(&["[1]"]);
    upsert(&table, "Email", json!({ "rows": [{ "Email": "a" }] })).offends(&["rows[0]"]);
    assert_eq!(table.values("Name", &[]), [Value::Null, Value::Null, Value::Null]);
}

/// Texts that read as one number are compared one by one, so there may not be any number of them.
fn what_is_not_compared_is_told_as_such(api: &Api) {
    let table = api.table(&["Price"]);
    let spelling = |zeros: usize| json!({ "Price": format!("1.{}", "0".repeat(zeros)) });
    table.insert((1..=65).map(spelling).collect());
    let refused = upsert(&table, "Price", json!([{ "Price": "2" }, { "Price": "1.0" }]));
    let message = refused.offends(&["[1]"])["details"][0]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("more than 64 existing rows") && message.contains("one spelling"), "{message}");
    assert!(!message.contains("several"), "{message}");
    if api.version == Version::V4 {
        let file = Request::post(table.path("/import?matchOn=Price")).bytes(b"Price\n2\n1.0\n".to_vec());
        let told = api.send(file.header("Content-Type", "text/csv")).ok();
        assert_eq!((&told["importedCount"], &told["rejectedCount"]), (&json!(1), &json!(1)), "{told}");
        let reason = told["rejected"][0]["reason"].as_str().unwrap();
        assert!(reason.contains("more than 64 existing rows"), "{reason}");
    }
}

fn equal_is_the_same_text(api: &Api) {
    let table = api.table(&["Key", "Note"]);
    let rows = json!([{ "Key": "Text" }, { "Key": 7 }, { "Key": true }, { "Key": [1, "a"] }, { "Key": { "a": 1, "b": [2] } }]);
    table.insert(rows.clone());
    let same = upsert(&table, "Key", rows).ok();
    assert_eq!(actions(&same), "un un un un un");
    assert_eq!(actions(&upsert(&table, "Key", json!({ "Key": "Other" })).created()), "in");
    // After a change the new value is what matches.
    let first = same["rows"][0].as_str().unwrap();
    table.patch(&format!("/rows/{first}"), json!({ "Key": "Changed" })).ok();
    assert_eq!(actions(&upsert(&table, "Key", json!({ "Key": "Changed" })).ok()), "un");
    assert_eq!(actions(&upsert(&table, "Key", json!({ "Key": "Text" })).created()), "in");
    table.delete_rows(&[first]).ok();
    assert_eq!(actions(&upsert(&table, "Key", json!({ "Key": "Changed" })).created()), "in");
}

fn letter_case_counts_unless_it_is_ignored(api: &Api) {
    let table = api.table(&["Key", "Note"]);
    table.insert(
        json!([{ "Key": "Ada@Example.com" }, { "Key": 1 }, { "Key": "2" }, { "Key": { "a": 1, "b": 2 } }]),
    );
    let rows =
        json!([{ "Key": "1" }, { "Key": 1.0 }, { "Key": 2 }, { "Key": 2.0 }, { "Key": { "b": 2, "a": 1 } }]);
    assert_eq!(actions(&upsert(&table, "Key", rows).ok()), "un un un un un");
    assert_eq!(
        table.values("Key", &[])[1..3],
        [json!(1), json!("2")],
        "what matches stays as it was written"
    );
    let written = json!({ "Key": " ada@example.COM ", "Note": "x" });
    let ignoring = |rows: &Value| table.post("/rows?matchOn=Key&matchCase=false", rows.clone());
    assert_eq!(actions(&ignoring(&written).ok()), "up");
    assert_eq!(table.values("Key", &[])[0], "Ada@Example.com");
    assert_eq!(actions(&ignoring(&json!({ "Key": "  " })).created()), "in", "blanks are empty");
    assert_eq!(actions(&upsert(&table, "Key", written.clone()).created()), "in", "case counts");
    ignoring(&written).offends(&[""]);
    table.post("/rows?matchOn=Key&matchCase=no", written).offends(&["matchCase"]);
    // Both indexes are kept over changes.
    let row = table.insert(json!({ "Key": "Old" }))[0].clone();
    table.patch(&format!("/rows/{row}"), json!({ "Key": "New" })).ok();
    assert_eq!(actions(&ignoring(&json!({ "Key": "NEW" })).ok()), "un");
    assert_eq!(actions(&ignoring(&json!({ "Key": "old" })).created()), "in");
}

fn unknown_fields_never_overwrite_a_value(api: &Api) {
    let table = api.table(&["Email", "City"]);
    let rows = json!([
        { "Email": "object", "_trigger": { "kept": 12_345_678_901_234_567_890_123_f64, "was": 1 } },
        { "Email": "text", "_trigger": "mine" },
        { "Email": "none" },
    ]);
    let ids = table.insert(rows);
    let sent = json!([
        { "Email": "object", "was": 2, "Ctiy": "Bonn" }, { "Email": "text", "Ctiy": "Bonn" },
        { "Email": "none", "other": 1 }, { "Email": "new", "fresh": true },
    ]);
    let answer = upsert(&table, "Email", sent).created();
    assert_eq!(actions(&answer), "up un un in");
    assert_eq!(answer["ignoredKeys"], json!(["Ctiy", "other"]));
    assert_eq!(answer["keptAsInput"], json!(["was", "Ctiy", "fresh"]));
    assert_eq!(answer["hints"], json!({ "Ctiy": "City" }));
    assert_eq!(
        table.value(&ids[0], "_trigger"),
        json!({ "kept": 12_345_678_901_234_567_890_123_f64, "was": 2, "Ctiy": "Bonn" })
    );
    assert_eq!(table.value(&ids[1], "_trigger"), "mine");
    assert_eq!(table.value(&ids[2], "_trigger"), Value::Null);
    let again = upsert(&table, "Email", json!({ "Email": "object", "was": 2 })).ok();
    assert_eq!((actions(&again).as_str(), &again["keptAsInput"]), ("un", &json!(["was"])));
    // A null clears what they would be merged into, and they take its place.
    for (id, email) in [(&ids[0], "object"), (&ids[1], "text")] {
        let cleared = upsert(&table, "Email", json!({ "Email": email, "_trigger": null, "zip": 2 })).ok();
        assert_eq!((actions(&cleared).as_str(), &cleared["keptAsInput"]), ("up", &json!(["zip"])));
        assert_eq!(table.value(id, "_trigger"), json!({ "zip": 2 }));
    }
}

fn callers_at_once_never_make_twins(api: &Api) {
    const CALLERS: usize = 16;
    const KEYS: usize = 20;
    let table = api.table(&["Email", "Name"]);
    let inserted: u64 = std::thread::scope(|scope| {
        let call = |caller: usize| {
            let rows = (0..KEYS)
                .map(|key| json!({ "Email": format!("key {}", (key + caller) % KEYS), "Name": caller }));
            // Half of them in one body, half one by one.
            let bodies: Vec<Value> =
                if caller.is_multiple_of(2) { vec![rows.collect()] } else { rows.collect() };
            bodies
                .into_iter()
                .map(|body| upsert(&table, "Email", body).json["insertedCount"].as_u64().unwrap())
                .sum::<u64>()
        };
        let callers: Vec<_> = (0..CALLERS).map(|caller| scope.spawn(move || call(caller))).collect();
        callers.into_iter().map(|caller| caller.join().unwrap()).sum()
    });
    let emails: Vec<String> = table
        .values("Email", &[("pageSize", "1000")])
        .iter()
        .map(|email| email.as_str().unwrap().to_owned())
        .collect();
    assert_eq!((emails.len(), inserted), (KEYS, KEYS as u64));
    assert_eq!(emails.iter().collect::<BTreeSet<_>>().len(), KEYS);
}
