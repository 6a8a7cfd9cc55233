//! Contract sections 5, 6 and 8: columns go by id or header, and a field that names none is never lost in silence.

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::table::encoded;
use crate::harness::{Api, Request, Scenario, Server, Table};

pub(crate) const SHARED: &[Scenario] = &scenarios!("names", Versions:
    headers_are_taken_wherever_ids_are,
    reads_answer_by_header,
    fields_kept_as_input_are_named,
    a_misspelt_column_to_match_on_is_noted,
    strict_inserts_refuse_unknown_fields,
    strict_columns_are_not_corrected,
    a_reference_that_worked_is_not_cleared,
    a_date_is_its_whole_day,
    long_numbers_keep_their_digits,
);
pub(crate) const V4: &[Scenario] = &scenarios!("names", Shared:
    a_misspelt_name_is_told_with_the_one_that_is_meant,
    events_and_exports_go_by_header,
    empty_cells_clear_if_asked,
    a_separator_line_is_understood,
    a_rejected_line_makes_no_column,
    a_line_that_matches_several_rows_makes_no_column,
    misspelt_fields_of_a_file_are_told,
    inserts_are_seen_in_the_status,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("names", Own:
    the_approval_column_counts,
    too_many_fields_of_a_file_are_refused_by_name,
);

fn filter(column: &str, operator: &str, value: Value) -> Value {
    json!({ "columnId": column, "operator": operator, "value": value })
}

fn headers_are_taken_wherever_ids_are(api: &Api) {
    let table = api.table(&["City", "Zip code"]);
    let (city, zip) = (table.column("City").to_owned(), table.column("Zip code").to_owned());
    let rows = table.insert(json!([{ "City": "Bonn", "Zip code": 2 }, { "City": "Aachen", "Zip code": 1 }]));
    let filters = json!([filter(" CITY ", "equals", json!("bonn"))]).to_string();
    assert_eq!(table.values("City", &[("filters", &filters)]), ["Bonn"]);
    let group =
        json!([{ "conjunction": "or", "filters": [filter("zip CODE", "equals", json!(1))] }]).to_string();
    assert_eq!(table.values("City", &[("filters", &group)]), ["Aachen"]);
    let sorting = json!([{ "columnId": "city", "direction": "asc" }]).to_string();
    assert_eq!(table.values("City", &[("sorting", &sorting)]), ["Aachen", "Bonn"]);
    let twice = json!([{ "columnId": "city", "direction": "asc" }, { "columnId": city, "direction": "asc" }]);
    table.list(&[("sorting", &twice.to_string())]).offends(&["sorting[1].columnId"]);
    let page = table.rows(&[("columnIds", "zip code , City")]);
    assert_eq!(page["rows"][0]["cells"], json!({ city.clone(): "Bonn", zip.clone(): 2 }));
    table.list(&[("columnIds", "Nope")]).offends(&["columnIds"]);

    let cells = json!({ "cells": [{ "rowId": rows[0], "columnId": "CITY", "value": "Köln" }] });
    assert_eq!(table.patch("/cells", cells).ok()["updatedCount"], 1);
    assert_eq!(table.value(&rows[0], &city), "Köln");
    let unknown = json!({ "cells": [{ "rowId": rows[0], "columnId": "Ctiy", "value": 1 }] });
    assert_eq!(
        table.patch("/cells", unknown).refused(404, "column_not_found")["details"][0]["path"],
        "cells[0].columnId"
    );

    let view = table
        .post(
            "/views",
            json!({
                "name": "V", "filters": [filter("city", "isNotEmpty", Value::Null)],
                "sorting": [{ "columnId": "Zip code", "direction": "asc" }],
                "columnVisibility": { "city": false, "_trigger": true },
            }),
        )
        .created()["view"]
        .clone();
    assert_eq!(view["filters"][0]["columnId"], city.as_str(), "ids are stored");
    assert_eq!(view["sorting"][0]["columnId"], zip.as_str());
    assert_eq!(view["columnVisibility"], json!({ city.clone(): false, "_trigger": true }));
    let both = json!({ "name": "W", "columnVisibility": { "City": true, city.clone(): true } });
    assert_eq!(
        table.post("/views", both).refused(400, "invalid_request")["details"].as_array().unwrap().len(),
        1
    );

    // An id beats a header.
    let odd = table.add_column(json!({ "templateId": "manual", "header": city }));
    table.patch(&format!("/rows/{}", rows[0]), json!({ odd.clone(): "odd" })).ok();
    let filters = json!([filter(&city, "equals", json!("odd"))]).to_string();
    assert!(table.values("City", &[("filters", &filters)]).is_empty());
}

fn reads_answer_by_header(api: &Api) {
    let table = api.table(&["City"]);
    let row = table.insert(json!({ "City": "Bonn" }))[0].clone();
    let by_header = table.rows(&[("keyBy", "header")]);
    assert_eq!(by_header["rows"][0]["cells"], json!({ "Input": null, "City": "Bonn" }));
    let by_id = table.rows(&[]);
    assert_eq!(by_id["rows"][0]["cells"][table.column("City")], "Bonn", "kept pages are not mixed up");
    assert_eq!(table.rows(&[("keyBy", "header")]), by_header);
    assert_eq!(table.rows(&[("keyBy", "id")]), by_id);
    let full = table.get(&format!("/rows/{row}?keyBy=header")).ok();
    assert_eq!(full["row"]["cells"]["City"]["value"], "Bonn");
    let patched = table.patch(&format!("/rows/{row}?keyBy=header"), json!({ "City": "Ulm" })).ok();
    assert_eq!(patched["row"]["cells"]["City"]["value"], "Ulm");
    table.list(&[("keyBy", "name")]).offends(&["keyBy"]);
}

fn fields_kept_as_input_are_named(api: &Api) {
    let table = api.table(&["City", "Name"]);
    let answer =
        table.post("/rows", json!([{ "Ctiy": "Bonn" }, { "Name": "Ada", "Phone": 1, "Ctiy": 2 }])).created();
    assert_eq!(answer["keptAsInput"], json!(["Ctiy", "Phone"]));
    assert_eq!(answer["hints"], json!({ "Ctiy": "City" }));
    assert_eq!(answer.get("ignoredKeys"), None);
    let plain = table.post("/rows", json!({ "City": "Bonn" })).created();
    assert_eq!((plain.get("keptAsInput"), plain.get("hints")), (None, None));
    let full = table.post("/rows", json!({ "_trigger": 1, "Nam": "x" })).created();
    assert_eq!((&full["ignoredKeys"], &full["hints"]), (&json!(["Nam"]), &json!({ "Nam": "Name" })));
    let row = answer["rows"][0].as_str().unwrap();
    let patched = table.patch(&format!("/rows/{row}"), json!({ "Ciy": 1 })).ok();
    assert_eq!((&patched["ignoredKeys"], &patched["hints"]), (&json!(["Ciy"]), &json!({ "Ciy": "City" })));
}

fn a_misspelt_column_to_match_on_is_noted(api: &Api) {
    let table = api.table(&["Email", "Name"]);
    let sent = json!([{ "Emial": "ada@acme.test", "Name": "Ada" }]);
    let answer = table.post("/rows?matchOn=Email", sent.clone()).created();
    let note = answer["note"].as_str().unwrap();
    for word in ["\"Emial\"", "did you mean \"Email\"", "is inserted", "strict=true"] {
        assert!(note.contains(word), "{word}: {answer}");
    }
    assert_eq!((&answer["insertedCount"], &answer["hints"]), (&json!(1), &json!({ "Emial": "Email" })));
    let refused = table.post("/rows?matchOn=Email&strict=true", sent).offends(&["[0].Emial"]);
    assert!(refused["details"][0]["message"].as_str().unwrap().contains("did you mean"), "{refused}");
    let plain = table.post("/rows?matchOn=Email", json!({ "Email": "ada@acme.test" })).created();
    assert_eq!(plain.get("note"), None, "{plain}");
    let payload = table.post("/rows", json!({ "anything": 1 })).created();
    assert_eq!(payload.get("note"), None, "a payload is not a mistake: {payload}");
}

fn strict_inserts_refuse_unknown_fields(api: &Api) {
    let table = api.table_of(json!({
        "title": "Strict", "settings": { "api": { "createColumnsFromKeys": true } },
        "columns": [{ "templateId": "manual", "header": "City" }],
    }));
    let refused = table.post("/rows?strict=true", json!([{ "City": 1 }, { "Ctiy": 1, "x": 2 }, { "y": 1 }]));
    let details = refused.offends(&["[1].Ctiy", "[1].x", "[2].y"])["details"].clone();
    assert!(details[0]["message"].as_str().unwrap().contains("\"City\""), "{details}");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
    assert_eq!(table.get("/columns").ok()["columns"].as_array().unwrap().len(), 2, "no column is made");
    let row =
        table.post("/rows?strict=true", json!({ "city": 1, "_trigger": 2 })).created()["rows"][0].clone();
    let path = format!("/rows/{}?strict=true", row.as_str().unwrap());
    table.patch(&path, json!({ "Ctiy": 1 })).offends(&["Ctiy"]);
    table.post("/rows?strict=false", json!({ "Made": 1 })).created();
}

fn strict_columns_are_not_corrected(api: &Api) {
    let table = api.table(&["City"]);
    let count = || table.get("/columns").ok()["columns"].as_array().unwrap().len();
    let body = json!({
        "templateId": "ai-text", "header": "city", "order": 99, "dependencies": [{ "columnId": "col_nope" }],
        "aiConfig": { "prompt": "@{Nowhere}" },
    });
    let refused = table.post("/columns?strict=true", body.clone());
    let offences = refused.offends(&["header", "dependencies", "aiConfig.prompt", "order"]);
    assert_eq!(offences["code"], "invalid_request");
    assert_eq!(count(), 2);
    let fixes = table.post("/columns", body).created()["appliedFixes"].as_array().unwrap().len();
    assert_eq!(fixes, 4);
    let right = json!({ "templateId": "ai-text", "header": "Right", "aiConfig": { "prompt": "@{_trigger}" },
        "dependencies": [{ "columnId": "_trigger", "required": true }] });
    table.post("/columns?strict=true", right).created();
    // A header that names a column is no mistake, and neither is what follows from it.
    let by_header = json!({ "templateId": "ai-text", "header": "By header", "aiConfig": { "prompt": "@{ city }" },
        "runCondition": [{ "columnId": "City", "operator": "isNotEmpty" }] });
    let made = table.post("/columns?strict=true", by_header).created();
    assert_eq!(made["appliedFixes"].as_array().unwrap().len(), 3, "it is told: {made}");
    let last = table.get("/columns").ok()["columns"][3].clone();
    let path = format!("/columns/{}?strict=true", last["id"].as_str().unwrap());
    table.patch(&path, json!({ "header": "CITY" })).offends(&["header"]);
    table.patch(&path, last).ok();
    let view = table.post("/views?strict=true", json!({ "name": "V" })).created()["view"]["id"].clone();
    let path = format!("/views/{}", view.as_str().unwrap());
    table.patch(&format!("{path}?strict=true"), json!({ "order": 1 })).offends(&["order"]);
    table.patch(&path, json!({ "order": 1 })).ok();
}

fn a_reference_that_worked_is_not_cleared(api: &Api) {
    let table = api.table(&["City", "Name"]);
    let city = table.column("City").to_owned();
    let ai = table.add_column(json!({ "templateId": "ai-text", "header": "AI",
        "aiConfig": { "prompt": "About @{City}", "system": "Be brief" } }));
    let follows = table.add_column(json!({ "templateId": "reference", "header": "R",
        "referenceConfig": { "columnId": city, "path": "a" } }));
    let path = format!("/columns/{ai}");
    let prompt = |text: &str| json!({ "aiConfig": { "prompt": text } });
    // The column was renamed meanwhile.
    table.patch(&format!("/columns/{city}"), json!({ "header": "Town" })).ok();
    table.patch(&path, prompt("Tell me of @{City}")).offends(&["aiConfig.prompt"]);
    table
        .patch(&format!("/columns/{follows}"), json!({ "referenceConfig": { "columnId": "City" } }))
        .offends(&["referenceConfig.columnId"]);
    let stored = table.get("/columns").ok()["columns"][3]["aiConfig"]["prompt"].clone();
    assert_eq!(stored, format!("About @{{{city}}}"), "nothing changed");
    let kept = table.patch(&path, prompt("@{Town} and @{Nowhere}")).ok();
    assert_eq!(
        kept["column"]["aiConfig"]["prompt"],
        format!("@{{{city}}} and "),
        "the one that worked still does"
    );
    table.patch(&path, json!({ "aiConfig": { "system": "@{Nowhere}" } })).ok();
    let fixed = table.patch(&format!("{path}?fix=true"), prompt("Of @{City}")).ok();
    assert_eq!(fixed["column"]["aiConfig"]["prompt"], "Of ");
    assert!(fixed["appliedFixes"].to_string().contains("City"), "{fixed}");
    table.patch(&path, prompt("@{Name}")).ok();
    table.patch(&path, prompt("nothing at all")).ok();
}

fn a_date_is_its_whole_day(api: &Api) {
    let table = api.table(&["At"]);
    let times = [
        "2024-01-30T23:59:59Z",
        "2024-01-31",
        "2024-01-31T12:00:00Z",
        "2024-01-31T23:30:00Z",
        "2024-02-01T00:00:00Z",
    ];
    table.insert(times.iter().map(|time| json!({ "At": time })).collect());
    let check = |operator: &str, value: Value, zone: Option<&str>, expected: &[usize]| {
        let mut wanted = filter("At", operator, value);
        if let Some(zone) = zone {
            wanted["timeZone"] = json!(zone);
        }
        let filters = json!([wanted]).to_string();
        let expected: Vec<&str> = expected.iter().map(|index| times[*index]).collect();
        assert_eq!(table.values("At", &[("filters", &filters)]), expected, "{operator} {zone:?}");
    };
    let day = json!("2024-01-31");
    check("onOrBefore", day.clone(), None, &[0, 1, 2, 3]);
    check("after", day.clone(), None, &[4]);
    check("before", day.clone(), None, &[0]);
    check("onOrAfter", day.clone(), None, &[1, 2, 3, 4]);
    check("equals", day.clone(), None, &[1, 2, 3]);
    check("notEquals", day.clone(), None, &[0, 4]);
    check("in", json!(["2024-01-30", "2024-02-01"]), None, &[0, 4]);
    check("between", json!(["2024-01-31", "2024-01-31"]), None, &[1, 2, 3]);
    check("greaterThan", day.clone(), None, &[4]);
    check("lessThanOrEqual", day.clone(), None, &[0, 1, 2, 3]);
    check("equals", json!("2024-01-31T12:00:00Z"), None, &[2]);
    // In Berlin the day begins an hour earlier, also for cells without a time.
    check("equals", day.clone(), Some("Europe/Berlin"), &[0, 1, 2]);
    check("after", day, Some("Europe/Berlin"), &[3, 4]);
}

fn long_numbers_keep_their_digits(api: &Api) {
    let table = api.table(&["N"]);
    table.post_text("/rows", r#"[{"N":12345678901234567890123},{"N":12345678901234567890124}]"#).created();
    let column = table.column("N");
    let listed = |filters: &str| table.rows(&[("filters", filters)])["pagination"]["totalRows"].clone();
    assert_eq!(listed(r#"[{"columnId":"N","operator":"equals","value":12345678901234567890123}]"#), 1);
    assert_eq!(listed(r#"[{"columnId":"N","operator":"in","value":[1, 12345678901234567890124]}]"#), 1);
    assert_eq!(listed(r#"[{"columnId":"N","operator":"greaterThan","value":12345678901234567890123}]"#), 1);
    let body =
        r#"{"name":"V","filters":[{"columnId":"N","operator":"lessThan","value":12345678901234567890124}]}"#;
    let view = table.post_text("/views", body).created()["view"].clone();
    assert_eq!(view["filters"][0]["columnId"], column);
    assert_eq!(table.rows(&[("viewId", view["id"].as_str().unwrap())])["pagination"]["totalRows"], 1);
    // Nor is one refused that no float can hold. It is not read back here: our own reader takes no such number.
    table.post_text("/rows", r#"{"N":1e400}"#).created();
    let listed = |name: &str, value: &str| {
        table.rows(&[(name, value), ("columnIds", "_trigger")])["pagination"]["totalRows"].clone()
    };
    let huge = |operator: &str| format!(r#"[{{"columnId":"N","operator":"{operator}","value":1E400}}]"#);
    assert_eq!([listed("filters", &huge("equals")), listed("filters", &huge("lessThan"))], [1, 2]);
    let view =
        table.post_text("/views", &format!(r#"{{"name":"V","filters":{}}}"#, huge("equals"))).created();
    let id = view["view"]["id"].as_str().unwrap();
    assert_eq!(listed("viewId", id), 1);
    let dry = format!(r#"{{"dryRun":true,"filters":{}}}"#, huge("equals"));
    assert_eq!(table.post_text("/trigger", &dry).ok()["triggeredCount"], 0);
}

fn events_and_exports_go_by_header(api: &Api) {
    let table = api.table(&["City", "Name"]);
    table.insert(json!([{ "City": "Bonn", "Name": "Ada" }, { "City": "Ulm" }]));
    let query = encoded(&json!([filter("city", "equals", json!("bonn"))]).to_string());
    let path = table.path(&format!("/export?columnIds=name,CITY&filters={query}"));
    let file = table.api.send(Request::get(path));
    assert_eq!(String::from_utf8_lossy(file.raw()), "City,Name\r\nBonn,Ada\r\n");
    let path = table.path("/events?seconds=0&lastEventId=0&keyBy=header");
    let answer = table.api.send(Request::get(path));
    let events = String::from_utf8_lossy(answer.raw()).into_owned();
    assert!(events.contains("event: rows") && events.contains("\"City\":{\"value\":\"Bonn\""), "{events}");
    let ai = table
        .add_column(json!({ "templateId": "ai-text", "header": "AI", "aiConfig": { "prompt": "@{City}" } }));
    let trigger = |columns: Value| table.post("/trigger", json!({ "columnIds": columns, "dryRun": true }));
    assert_eq!(trigger(json!(["ai"])).ok()["triggeredCount"], 2);
    assert_eq!(trigger(json!([ai])).ok()["triggeredCount"], 2);
    trigger(json!(["city"])).offends(&["columnIds[0]"]);
    trigger(json!(["nope"])).refused(404, "column_not_found");
    table.post("/stop", json!({ "columnIds": ["ai"] })).ok();
    let mapping = encoded(&json!({ "Stadt": "city" }).to_string());
    let told = import(&table, &format!("mapping={mapping}"), "text/csv", "Stadt\r\nJena\r\n");
    assert_eq!((&told["importedCount"], &told["columnsCreated"]), (&json!(1), &json!([])));
    assert_eq!(table.values("City", &[]), ["Bonn", "Ulm", "Jena"]);
}

fn import(table: &Table, query: &str, media: &str, text: &str) -> Value {
    let path = table.path(&format!("/import?{query}"));
    table.api.send(Request::post(path).bytes(text.as_bytes().to_vec()).header("Content-Type", media)).ok()
}

fn empty_cells_clear_if_asked(api: &Api) {
    let table = api.table(&["Email", "City"]);
    table.insert(json!([{ "Email": "a", "City": "Bonn" }, { "Email": "b", "City": "Ulm" }]));
    let file = "Email,City\r\na,\r\n,\r\nb\r\n";
    assert_eq!(import(&table, "matchOn=Email", "text/csv", file)["unchangedCount"], 2);
    let told = import(&table, "matchOn=Email&emptyCells=clear", "text/csv", file);
    assert_eq!([&told["updatedCount"], &told["unchangedCount"], &told["importedCount"]], [1, 1, 0]);
    assert_eq!(
        table.values("City", &[]),
        [Value::Null, json!("Ulm")],
        "a cell that is not there says nothing"
    );
    let told = import(&table, "matchOn=Email&matchCase=false", "text/csv", "Email,City\r\n A ,Jena\r\n");
    assert_eq!(told["updatedCount"], 1);
    assert_eq!(table.values("City", &[]), ["Jena", "Ulm"]);
}

fn a_separator_line_is_understood(api: &Api) {
    let table = api.table(&["A", "B"]);
    let told = import(&table, "", "text/csv", "sep=;\r\nA;B\r\n1,5;2\r\n1;2;3\r\n");
    assert_eq!((&told["importedCount"], &told["columnsCreated"]), (&json!(1), &json!([])));
    assert_eq!(told["rejected"][0]["line"], 4, "lines are counted from the file's first");
    assert_eq!(import(&table, "delimiter=tab", "text/csv", "sep=,\nA\tB\n3\t4\n")["importedCount"], 1);
    assert_eq!(table.values("A", &[]), ["1,5", "3"]);
    assert_eq!(table.values("B", &[]), ["2", "4"]);
}

fn a_rejected_line_makes_no_column(api: &Api) {
    let table = api.table(&["City"]);
    let lines = "{\"City\":1,\"New\":2,\"new\":3}\n{\"Big\":\"BIG\",\"Other\":1}\n{\"city\":1,\"CITY\":2,\"Third\":1}\n\
                 {\"City\":\"Bonn\"}\n"
        .replace("BIG", &"x".repeat(1_100_000));
    let told = import(&table, "", "application/x-ndjson", &lines);
    assert_eq!([&told["importedCount"], &told["rejectedCount"]], [1, 3], "{}", told["columnsCreated"]);
    assert_eq!(told["columnsCreated"], json!([]));
    assert_eq!(table.get("/columns").ok()["columns"].as_array().unwrap().len(), 2);
}

fn a_line_that_matches_several_rows_makes_no_column(api: &Api) {
    let table = api.table(&["City"]);
    table.insert(json!([{ "City": "Ulm" }, { "City": "Ulm" }, { "City": "Bonn" }]));
    let lines =
        "{\"City\":\"Ulm\",\"Left\":1}\n{\"City\":\"Bonn\",\"Kept\":1}\n{\"City\":\"Jena\",\"More\":2}\n";
    let told = import(&table, "matchOn=City", "application/x-ndjson", lines);
    assert_eq!([&told["importedCount"], &told["updatedCount"], &told["rejectedCount"]], [1, 1, 1], "{told}");
    let reason = "matches several rows; remove the duplicates, or match on another column";
    assert_eq!(told["rejected"][0]["reason"], reason);
    assert_eq!(told.get("hints"), None);
    let made: Vec<&Value> =
        told["columnsCreated"].as_array().unwrap().iter().map(|column| &column["header"]).collect();
    assert_eq!(made, ["Kept", "More"]);
    assert_eq!(table.get("/columns").ok()["columns"].as_array().unwrap().len(), 4);
}

fn misspelt_fields_of_a_file_are_told(api: &Api) {
    let table = api.table(&["City", "Email"]);
    let told = import(&table, "", "text/csv", "Ctiy,Emial,Phone\nBonn,a,1\n");
    assert_eq!(told["hints"], json!({ "Ctiy": "City", "Emial": "Email" }));
    let table = api.table(&["City", "Email"]);
    let mapping = encoded(&json!({ "Emial": null }).to_string());
    let told =
        import(&table, &format!("createColumns=false&mapping={mapping}"), "text/csv", "Ctiy,Emial\nBonn,a\n");
    assert_eq!(
        (&told["hints"], &told["fieldsIgnored"]),
        (&json!({ "Ctiy": "City" }), &json!(["Ctiy", "Emial"]))
    );
}

fn too_many_fields_of_a_file_are_refused_by_name() {
    let server =
        Server::start(&[("ROWMILL_IMPORT_FIELDS_MAX", "3"), ("ROWMILL_IMPORT_FIELD_NAMES_BYTES_MAX", "20")]);
    let api = server.api();
    let table = api.table(&["A", "B"]);
    let send = |text: &str| {
        let path = table.path("/import?createColumns=false");
        api.send(Request::post(path).bytes(text.as_bytes().to_vec()).header("Content-Type", "text/csv"))
    };
    send("A,B,C\n1,2,3\n").ok();
    send("A,B,C,D\n1,2,3,4\n").exceeds("importFieldsMax");
    send("A,B,a long name of 23 bytes\n1,2,3\n").exceeds("importFieldNamesBytesMax");
}

fn inserts_are_seen_in_the_status(api: &Api) {
    let table = api.table(&["City"]);
    let updated_at = || table.get("/status").ok()["updatedAt"].as_str().unwrap().to_owned();
    let mut last = updated_at();
    for _ in 0..3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
        table.insert(json!({ "City": "Bonn" }));
        let now = updated_at();
        assert!(now > last, "{now} after {last}");
        last = now;
    }
}

fn the_approval_column_counts() {
    let server = Server::start(&[("ROWMILL_COLUMNS_MAX", "2")]);
    let api = server.api();
    let event = json!({ "integration": "eventplatform-event",
        "eventplatform": { "eventId": "e", "webhookEnabled": true, "addApprovalColumn": true } });
    let full = json!({ "title": "Full", "columns": [{ "templateId": "manual", "header": "A" }] });
    let mut too_many = full.clone();
    too_many["metadata"] = event.clone();
    api.post("/v4/projects", too_many).exceeds("columnsMax");
    let table = api.table_of(full);
    table.patch("", json!({ "metadata": event })).exceeds("columnsMax");
    table.patch("", json!({ "metadata": {}, "title": "Still" })).ok();
    api.table_of(json!({ "title": "Fits", "metadata": event }));
}

fn a_misspelt_name_is_told_with_the_one_that_is_meant(api: &Api) {
    let table = api.table(&["City"]);
    let filters = json!([{ "columnId": "Ctiy", "operator": "isEmpty" }]);
    let sorting = json!([{ "columnId": "Ctiy", "direction": "asc" }]);
    let (filters_text, sorting_text) = (filters.to_string(), sorting.to_string());
    let view =
        json!({ "name": "x", "filters": filters, "sorting": sorting, "columnVisibility": { "Ctiy": true } });
    let refusals = [
        table.post("/rows?matchOn=Ctiy", json!([{ "City": "x" }])),
        table.list(&[("columnIds", "Ctiy")]),
        table.list(&[("filters", &filters_text)]),
        table.list(&[("sorting", &sorting_text)]),
        table.get("/summary?columnIds=Ctiy"),
        table.get("/groups?columnId=Ctiy"),
        table.post("/views", view),
        table.post("/trigger", json!({ "columnIds": ["Ctiy"] })),
    ];
    for refusal in refusals {
        let details = refusal.json["details"].as_array().unwrap_or_else(|| panic!("{}", refusal.text));
        for detail in details {
            assert!(detail["message"].as_str().unwrap().ends_with("did you mean \"City\"?"), "{detail}");
        }
    }
    let refused = table.post("/columns", json!({ "templateId": "ai-txt" })).offends(&["templateId"]);
    assert!(refused["error"].as_str().unwrap().ends_with("did you mean \"ai-text\"?"), "{refused}");
    let refused = table.post("/columns", json!({ "templateId": "spreadsheet" })).offends(&["templateId"]);
    assert!(refused["error"].as_str().unwrap().contains("they are manual, ai-text"), "{refused}");
}
