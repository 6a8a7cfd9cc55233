//! Files in and out: CSV and JSON Lines, streamed, row by row.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::table::{encoded, query_of};
use crate::harness::{Answer, Api, Request, Scenario, Server, Table, eventually};

pub(crate) const SHARED: &[Scenario] = &scenarios!("files", Shared:
    a_csv_file_becomes_rows,
    fifty_thousand_rows_go_in_and_come_out,
    bad_rows_are_told_one_by_one,
    text_behind_a_closing_quote_is_told,
    a_mapping_says_where_fields_go,
    rows_are_matched_and_updated,
    json_lines_keep_their_values,
    every_row_that_is_read_is_counted,
    json_lines_that_are_none_are_told_by_what_they_are,
    fields_of_json_lines_that_are_misspelt_are_refused,
    files_that_are_none_are_refused,
    an_export_follows_its_view,
    formulas_are_neutralized,
    what_comes_out_goes_in_again,
    marks_come_off_again_and_nothing_else_does,
    files_may_be_compressed,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("files", Own:
    limits_of_files_hold,
);

fn send(table: &Table, query: &[(&str, &str)], media_type: &str, body: impl Into<Vec<u8>>) -> Answer {
    let path = table.path(&format!("/import{}", query_of(query)));
    table.api.send(Request::post(path).bytes(body.into()).header("Content-Type", media_type))
}

#[track_caller]
pub(super) fn import(table: &Table, query: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Value {
    send(table, query, "text/csv", body).ok()
}

fn counts(told: &Value) -> (u64, u64, u64) {
    let count = |name: &str| told[name].as_u64().unwrap();
    (count("importedCount"), count("updatedCount"), count("rejectedCount"))
}

#[track_caller]
fn export(table: &Table, query: &[(&str, &str)]) -> String {
    let answer = table.get(&format!("/export{}", query_of(query)));
    assert_eq!(answer.status(), 200, "{}", answer.text);
    answer.text
}

fn texts(table: &Table, header: &str) -> Vec<Value> {
    // The columns may have been made by the file.
    let columns = table.columns();
    let id =
        columns.iter().find(|column| column["header"] == header).unwrap()["id"].as_str().unwrap().to_owned();
    let page = table.rows(&[("pageSize", "1000")]);
    page["rows"].as_array().unwrap().iter().map(|row| row["cells"][&id].clone()).collect()
}

fn a_csv_file_becomes_rows(api: &Api) {
    let table = api.table(&["Email"]);
    let file = "\u{feff}EMAIL,City,Notes\r\nada@example.com,London,\"a \"\"b\"\",\r\nc\"\r\n\r\nalan@example.com,,0123\r\n,,\r\n";
    let told = import(&table, &[], file);
    assert_eq!(counts(&told), (2, 0, 0), "{told}");
    let made: Vec<&str> = told["columnsCreated"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["header"].as_str().unwrap())
        .collect();
    assert_eq!(made, ["City", "Notes"]);
    assert_eq!(table.headers(), ["Input", "Email", "City", "Notes"]);
    assert_eq!(texts(&table, "Email"), ["ada@example.com", "alan@example.com"]);
    assert_eq!(texts(&table, "City"), [json!("London"), Value::Null]);
    assert_eq!(texts(&table, "Notes"), ["a \"b\",\r\nc", "0123"]);
    // Other separators, no header, and no columns made.
    let other = api.table(&["A", "B"]);
    assert_eq!(counts(&import(&other, &[], "a;b\n1;2,5\n")), (1, 0, 0));
    assert_eq!(counts(&import(&other, &[("delimiter", "tab")], "a\tb\n3\t4\n")), (1, 0, 0));
    assert_eq!(texts(&other, "B"), ["2,5", "4"]);
    let told = import(&other, &[("createColumns", "false")], "A,Stray\n5,6\n");
    assert_eq!((counts(&told), &told["fieldsIgnored"]), ((1, 0, 0), &json!(["Stray"])));
    let told = import(&other, &[("header", "false")], "x,y\nz\n");
    assert_eq!(counts(&told), (2, 0, 0));
    assert_eq!(other.headers(), ["Input", "A", "B", "Column 1", "Column 2"]);
    // Commas at the end of a line say nothing.
    assert_eq!(counts(&import(&other, &[], "A,B\n7,8,,\n9,,,\n,,,\n")), (2, 0, 0));
    // Two headers that are the same, and one that is blank.
    let twins = api.table(&[]);
    import(&twins, &[], "Name,Name,\n1,2,3\n");
    assert_eq!(twins.headers(), ["Input", "Name", "Name 2", "Column 3"]);
}

fn fifty_thousand_rows_go_in_and_come_out(api: &Api) {
    let table = api.table(&["Number", "Name"]);
    let mut file = String::from("Number,Name\n");
    for number in 0..50_000 {
        let _ = writeln!(file, "{number},\"Name, {number}\"");
    }
    let told = import(&table, &[], file.clone());
    assert_eq!(counts(&told), (50_000, 0, 0));
    assert_eq!(table.rows(&[("pageSize", "1")])["pagination"]["totalRows"], 50_000);
    let columns = format!("{},{}", table.column("Number"), table.column("Name"));
    let out = export(&table, &[("columnIds", &columns)]);
    assert!(out.replace("\r\n", "\n") == file, "the same rows in the same order");
    let sorting = json!([{ "columnId": table.column("Number"), "direction": "desc" }]).to_string();
    let out = export(&table, &[("columnIds", table.column("Number")), ("sorting", &sorting)]);
    let numbers: Vec<u32> = out.lines().skip(1).map(|line| line.parse().unwrap()).collect();
    assert!(numbers.len() == 50_000 && numbers.is_sorted_by(|a, b| a > b));
}

fn bad_rows_are_told_one_by_one(api: &Api) {
    let table = api.table(&["A", "B"]);
    let big = "x".repeat(1 << 20);
    let mut file = format!("A,B\n1,2\n1,2,3,4\n{big},5\n6,7\n").into_bytes();
    // Beyond what is looked at beforehand.
    file.extend_from_slice(b"\xff\xfe,8\n9,a\0b\n\"10\n11\",12\nlast,row\n");
    let told = import(&table, &[], file);
    assert_eq!(counts(&told), (4, 0, 4), "{}", told["rejected"]);
    let rejected = told["rejected"].as_array().unwrap();
    let lines: Vec<u64> = rejected.iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 6, 7]);
    let reasons = ["4 cells", "cellBytesMax", "UTF-8", "U+0000"];
    for (row, words) in rejected.iter().zip(reasons) {
        assert!(row["reason"].as_str().unwrap().contains(words), "{row}");
    }
    assert_eq!(rejected[0]["values"], json!(["1", "2", "3", "4"]));
    for header in ["true", "false"] {
        let told = import(&table, &[("header", header), ("createColumns", "false")], "A,B\n1,2,3\n");
        assert_eq!(told["rejected"][0]["reason"], "has 3 cells, but the header has 2");
    }
    assert_eq!(told["stopped"], false);
    assert_eq!(texts(&table, "A"), ["1", "6", "10\n11", "last"]);
}

fn text_behind_a_closing_quote_is_told(api: &Api) {
    let table = api.table(&["Name", "City"]);
    let told = import(
        &table,
        &[],
        "Name,City\n\"Ada\",London\n\"a\"b,c\n\"two\nlines\" x,d\n\"say \"\"hi\"\"\",e\n",
    );
    assert_eq!(counts(&told), (2, 0, 2), "{told}");
    let rejected = told["rejected"].as_array().unwrap();
    assert_eq!((&rejected[0]["line"], &rejected[1]["line"]), (&json!(3), &json!(4)));
    assert!(rejected[0]["reason"].as_str().unwrap().contains("closing quote"), "{told}");
    assert_eq!(rejected[0]["values"], json!(["ab", "c"]));
    assert_eq!(texts(&table, "Name"), ["Ada", "say \"hi\""]);
    // In the first line it would make columns that nobody wants.
    let refused = send(&table, &[], "text/csv", "\"Name\"x,City\na,b\n").refused(400, "invalid_request");
    assert!(refused["error"].as_str().unwrap().contains("closing quote"), "{refused}");
}

fn a_mapping_says_where_fields_go(api: &Api) {
    let table = api.table(&["Email", "Name"]);
    let (email, name) = (table.column("Email"), table.column("Name"));
    let mapping = json!({ "E-Mail": email, "Phone": null, "Full": name }).to_string();
    let told = import(&table, &[("mapping", &mapping)], "E-Mail,Phone,Full,Name\na@b.c,1,Ada,other\n");
    assert_eq!(counts(&told), (1, 0, 0));
    assert_eq!(told["fieldsIgnored"], json!(["Phone", "Name"]), "the column Name is another field's");
    assert_eq!(told["columnsCreated"], json!([]));
    assert_eq!((texts(&table, "Email"), texts(&table, "Name")), (vec![json!("a@b.c")], vec![json!("Ada")]));
    // Two equal headers are two fields.
    let twins = api.table(&["Email"]);
    let told = import(&twins, &[], "Email,Email\na@b.c,other\n");
    assert_eq!(told["columnsCreated"].as_array().unwrap().len(), 1, "{told}");
    assert_eq!(texts(&twins, "Email 2"), ["other"], "two fields never go to one column");
    let told = import(&twins, &[], "Email,Email\nd@e.f,third\n");
    assert_eq!(told["columnsCreated"], json!([]), "the column of the first import: {told}");
    assert_eq!(texts(&twins, "Email 2"), ["other", "third"]);
    let many = api.table(&[]);
    let file = format!("{}\n{}\n", ["Tag"; 30].join(","), ["x"; 30].join(","));
    let told = import(&many, &[], file.as_str());
    assert_eq!(told["columnsCreated"].as_array().unwrap().len(), 30, "{told}");
    let told = import(&many, &[], file.as_str());
    assert_eq!((&told["columnsCreated"], &told["importedCount"]), (&json!([]), &json!(1)), "{told}");
    assert_eq!(texts(&many, "Tag 30"), ["x", "x"]);
    let places = json!({ "1": email }).to_string();
    import(&table, &[("header", "false"), ("createColumns", "false"), ("mapping", &places)], "x,second\n");
    assert_eq!(texts(&table, "Email"), ["a@b.c", "second"]);

    let source = table.add_column(json!({ "templateId": "reference", "header": "Ref", "referenceConfig": { "columnId": email, "path": "" } }));
    // A field that the file does not have keeps no column from those that it has.
    let mapping = json!({ "No such field": email }).to_string();
    let told = import(&table, &[("mapping", &mapping)], "Email\nz@b.c\n");
    assert_eq!(told["columnsCreated"], json!([]), "{told}");

    for (mapping, path) in [
        (json!({ "A": "col_000000000000" }), "mapping.A"),
        (json!({ "A": source }), "mapping.A"),
        (json!({ "A": email, "B": email }), "mapping.B"),
        (json!([1]), "mapping"),
        (json!({ "A": 1 }), "mapping"),
    ] {
        send(&table, &[("mapping", &mapping.to_string())], "text/csv", "A,B\n1,2\n").offends(&[path]);
    }
    send(&table, &[("matchOn", "Nobody")], "text/csv", "A\n1\n").offends(&["matchOn"]);
    // Every row would be new, each time.
    send(&table, &[("matchOn", "Email")], "text/csv", "Emial\na@b.c\n").offends(&["matchOn"]);
    let misspelt = json!({ "Emial": null }).to_string();
    send(&table, &[("mapping", &misspelt)], "text/csv", "Email\na@b.c\n").offends(&["mapping.Emial"]);
    send(&table, &[], "text/csv", "PK\u{3}\u{4}\n").offends(&[""]);
    send(&table, &[("delimiter", "x")], "text/csv", "A\n1\n").offends(&["delimiter"]);
    let told = import(&table, &[], "Email,Ref\nfifth,known already\n");
    assert_eq!(told["fieldsIgnored"], json!(["Ref"]));
}

fn rows_are_matched_and_updated(api: &Api) {
    let table = api.table(&["Email", "City"]);
    let email = table.column("Email").to_owned();
    table.insert(json!([{ "Email": "a", "City": "Rome" }, { "Email": "twin" }, { "Email": "twin" }]));
    let file = "Email,City\na,Turin\nb,Bonn\ntwin,x\na,Turin\nb,\n";
    let told = import(&table, &[("matchOn", &email)], file);
    assert_eq!(counts(&told).0, 1, "{told}");
    assert_eq!(told["rejected"][0]["line"], 4);
    assert!(told["rejected"][0]["reason"].as_str().unwrap().contains("several"), "{told}");
    assert_eq!(texts(&table, "City"), [json!("Turin"), Value::Null, Value::Null, json!("Bonn")]);
    let again = import(&table, &[("matchOn", "Email")], "Email,City\na,Turin\n");
    assert_eq!((counts(&again), &again["unchangedCount"]), ((0, 0, 0), &json!(1)));
}

fn json_lines_keep_their_values(api: &Api) {
    let table = api.table(&["Name"]);
    let file = "{\"name\": \"Ada\", \"n\": 1.50, \"deep\": {\"a\": [1]}}\n\nnonsense\n[1]\n{\"Name\": \"Al\", \"new\": true}\n{\"Name\":\"x\",\"name\":\"y\"}\n{\"a\":\"\\u0000\"}";
    let told = send(&table, &[], "application/x-ndjson", file).ok();
    assert_eq!(counts(&told), (2, 0, 4), "{told}");
    let lines: Vec<u64> =
        told["rejected"].as_array().unwrap().iter().map(|row| row["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 4, 6, 7]);
    let out = export(&table, &[("format", "jsonl")]);
    let first = out.lines().next().unwrap();
    assert_eq!(first, "{\"Input\":null,\"Name\":\"Ada\",\"n\":1.50,\"deep\":{\"a\": [1]},\"new\":null}");
    assert_eq!(out.lines().count(), 2);
}

fn every_row_that_is_read_is_counted(api: &Api) {
    let table = api.table(&["A"]);
    let file = "A,Note\n1,x\n,only a note\n,,\n2,\n1,2,3,4\n";
    let ignore = [("mapping", "{\"Note\": null}")];
    let told = import(&table, &ignore, file);
    assert_eq!((counts(&told), &told["skippedCount"]), ((2, 0, 1), &json!(2)), "{told}");
    let told = import(&table, &[("mapping", "{\"A\": null, \"Note\": null}")], "A,Note\n1,x\n2,y\n");
    assert_eq!((counts(&told), &told["skippedCount"]), ((0, 0, 0), &json!(2)), "{told}");
    let lines = "{\"Note\": 1}\n{}\n{\"A\": 1}\n";
    let told = send(&table, &ignore, "application/x-ndjson", lines).ok();
    assert_eq!((counts(&told), &told["skippedCount"]), ((1, 0, 0), &json!(2)), "{told}");
    // The same in the background.
    let query = [("mapping", "{\"Note\": null}"), ("async", "true")];
    let job = send(&table, &query, "text/csv", file).success(202)["job"]["id"].as_str().unwrap().to_owned();
    let ended = eventually("the import ends", Duration::from_secs(20), || {
        let told = table.get(&format!("/imports/{job}")).ok();
        told.get("result").is_some().then_some(told)
    });
    for told in [&ended["job"], &ended["result"]] {
        assert_eq!((counts(told), &told["skippedCount"]), ((2, 0, 1), &json!(2)), "{ended}");
    }
    assert_eq!(ended["job"]["rowsRead"], 5);
}

fn json_lines_that_are_none_are_told_by_what_they_are(api: &Api) {
    let table = api.table(&["A"]);
    let reasons = |file: &str| -> Vec<(u64, String)> {
        let told = send(&table, &[], "application/x-ndjson", file).ok();
        let rejected = told["rejected"].as_array().unwrap().iter();
        rejected
            .map(|row| (row["line"].as_u64().unwrap(), row["reason"].as_str().unwrap().to_owned()))
            .collect()
    };
    let told = reasons("{\"A\": 1}\n{\"A\": 2},\n{\"A\"\n");
    assert_eq!(told[0], (2, "is not valid JSON: trailing characters at column 9".to_owned()));
    assert_eq!((told[1].0, told[1].1.starts_with("is not valid JSON: ")), (3, true), "{told:?}");
    for array in ["[{\"A\": 1}, {\"A\": 2}]", "[\n{\"A\": 1}\n]"] {
        let told = reasons(array);
        assert!(told[0].1.starts_with("is a JSON array, not JSON Lines: "), "{told:?}");
    }
    // Plain text that is said to be compressed.
    for (encoding, file) in [("gzip", "A\n1\n"), ("zstd", "A\n1\n"), ("gzip", "A,B\n1,2\n3,4\n5,6\n7,8\n")] {
        let request = Request::post(table.path("/import")).bytes(file.as_bytes().to_vec());
        let request = request.header("Content-Type", "text/csv").header("Content-Encoding", encoding);
        let told = api.send(request).offends(&[""]);
        let expected = format!("The body is not {encoding}, although Content-Encoding says so");
        assert!(told["error"].as_str().unwrap().starts_with(&expected), "{told}");
    }
}

fn fields_of_json_lines_that_are_misspelt_are_refused(api: &Api) {
    let table = api.table(&["A"]);
    let lines = "{\"Amount\": 1, \"Name\": \"x\"}\n{\"Amount\": 2, \"Other\": 1}\n";
    let send = |query: &[(&str, &str)]| send(&table, query, "application/x-ndjson", lines);
    let refused = send(&[("formats", "{\"Amuont\": {\"type\": \"number\"}}")]).offends(&["formats.Amuont"]);
    assert!(
        refused["details"][0]["message"].as_str().unwrap().contains("did you mean \"Amount\"?"),
        "{refused}"
    );
    send(&[("formats", "{\"Nothing\": {\"type\": \"number\"}}")]).offends(&["formats.Nothing"]);
    send(&[("mapping", "{\"Nmae\": null}")]).offends(&["mapping.Nmae"]);
    assert_eq!(table.headers(), ["Input", "A"], "nothing was written");
    let told = send(&[("formats", "{\"Other\": {\"type\": \"number\"}}")]).ok();
    assert_eq!(counts(&told), (2, 0, 0));
}

fn files_that_are_none_are_refused(api: &Api) {
    let table = api.table(&["A"]);
    send(&table, &[], "application/json", "[]").refused(415, "unsupported_media_type");
    send(&table, &[], "text/csv; charset=utf-16", "A\n1\n").refused(415, "unsupported_media_type");
    let utf_16: Vec<u8> = "\u{feff}A\n1\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let refused = send(&table, &[], "text/csv", utf_16).offends(&[""]);
    assert!(refused["error"].as_str().unwrap().contains("UTF-16"), "{refused}");
    let refused = send(&table, &[], "text/csv", b"N\xe4me,B\n1,2\n".to_vec()).offends(&[""]);
    assert!(refused["error"].as_str().unwrap().contains("UTF-8"), "{refused}");
    assert_eq!(counts(&import(&table, &[], "")), (0, 0, 0));
    assert_eq!(counts(&import(&table, &[], "A,B\n")), (0, 0, 0));
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
    table.get("/export?format=xlsx").offends(&["format"]);
    table.get("/export?columnIds=col_nope").offends(&["columnIds"]);
    let filters = encoded(r#"[{"columnId":"nope","operator":"nope","value":1}]"#);
    let wrong = format!("/export?format=xlsx&columnIds=col_nope&sorting=x&filters={filters}&bogus=1");
    let places = ["bogus", "columnIds", "filters[0].columnId", "filters[0].operator", "format", "sorting"];
    table.get(&wrong).offends(&places);
    table.get("/export?viewId=view_nope").refused(404, "view_not_found");
}

fn an_export_follows_its_view(api: &Api) {
    let table = api.table_of(json!({ "title": "Käufer \"2026\"", "columns": [
        { "templateId": "manual", "header": "Name" }, { "templateId": "manual", "header": "Age" },
    ] }));
    table.insert(json!([{ "Name": "b", "Age": 2 }, { "Name": "c", "Age": 30 }, { "Name": "a", "Age": 10 }, { "Name": "z" }]));
    let (name, age) = (table.column("Name").to_owned(), table.column("Age").to_owned());
    let view = table.post("/views", json!({
        "name": "Grown", "filters": [{ "columnId": age, "operator": "isNotEmpty" }],
        "sorting": [{ "columnId": age, "direction": "desc" }], "columnVisibility": { "_trigger": false },
    })).created()["view"]["id"].clone();
    let view = view.as_str().unwrap();
    assert_eq!(export(&table, &[("viewId", view)]), "Name,Age\r\nc,30\r\na,10\r\nb,2\r\n");
    let search = export(&table, &[("viewId", view), ("search", "A"), ("columnIds", &name)]);
    assert_eq!(search, "Name\r\na\r\n");
    let filters = json!([{ "columnId": name, "operator": "equals", "value": "z" }]).to_string();
    assert_eq!(export(&table, &[("filters", &filters)]), "Input,Name,Age\r\n,z,\r\n");
    let answer = table.get("/export?format=jsonl");
    assert_eq!(answer.header("content-type"), Some("application/x-ndjson"));
    let named = answer.header("content-disposition").unwrap();
    assert!(
        named.starts_with("attachment; filename=\"K_ufer _2026_.jsonl\"; filename*=UTF-8''K%C3%A4ufer"),
        "{named}"
    );
}

fn formulas_are_neutralized(api: &Api) {
    let table = api.table(&["A"]);
    let values =
        ["=1+1", "+cmd|x", "-a", "@SUM(1)", "\tx", "-5", "+1.5e3", "plain", "=HYPERLINK(\"http://x\",\"y\")"];
    let harmless = ["+(39) 02 1234", "- 5", "-(5)", "+()", "-%"];
    let values: Vec<&str> = values.into_iter().chain(harmless).collect();
    table.insert(values.iter().map(|value| json!({ "A": value })).collect());
    let column = table.column("A");
    let out = export(&table, &[("columnIds", column)]);
    let safe = "A\r\n'=1+1\r\n'+cmd|x\r\n'-a\r\n'@SUM(1)\r\n'\tx\r\n-5\r\n+1.5e3\r\nplain\r\n\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"\r\n+(39) 02 1234\r\n- 5\r\n-(5)\r\n+()\r\n-%\r\n";
    assert_eq!(out, safe);
    let kept = export(&table, &[("columnIds", column), ("formulas", "keep")]);
    assert!(kept.starts_with("A\r\n=1+1\r\n+cmd|x\r\n"), "{kept}");
    assert!(!export(&table, &[("format", "jsonl")]).contains("'="), "only CSV is opened by spreadsheets");
}

fn what_comes_out_goes_in_again(api: &Api) {
    let first = api.table(&["Text", "Number", "More"]);
    first.insert(json!([
        { "Text": "a \"b\"\r\n,c", "Number": 1.5, "More": { "x": [1, null] }, "_trigger": { "deep": true } },
        { "Text": " outer blanks ", "Number": "=1", "More": null },
        { "Text": "😀é", "Number": "007", "More": false },
    ]));
    for (format, media_type) in [("csv", "text/csv"), ("jsonl", "application/x-ndjson")] {
        let query = [("format", format), ("formulas", "keep")];
        let out = export(&first, &query);
        let second = api.table(&["Text", "Number", "More"]);
        let told = send(&second, &[], media_type, out.clone()).ok();
        assert_eq!((counts(&told), &told["columnsCreated"]), ((3, 0, 0), &json!([])));
        assert_eq!(export(&second, &query), out);
    }
}

fn marks_come_off_again_and_nothing_else_does(api: &Api) {
    let values = [
        "=1+1",
        "'=1+1",
        "''=1",
        "+39 02 1234",
        "+39-02-1234",
        "@handle",
        "-5",
        "-1.5e3",
        "'tis",
        "'",
        "'-5",
        "-",
        "-,",
        "+ ",
        "-(5)",
        "'-(5)",
        "+(39)-2",
        "\t=x",
        "＝1",
        "=HYPERLINK(\"http://x\",\"y\")",
        "a,b",
        " outer ",
        "\r\nlines",
    ];
    let first = api.table(&["=Header", "Text"]);
    first.insert(values.iter().map(|value| json!({ "=Header": value, "Text": "x" })).collect());
    let safe = export(&first, &[("bom", "true")]);
    let head = "\u{feff}Input,'=Header,Text\r\n,'=1+1,x\r\n,''=1+1,x\r\n,'''=1,x\r\n,+39 02 1234,x\r\n,'+39-02-1234,x\r\n,'@handle,x\r\n,-5,x\r\n";
    assert!(safe.starts_with(head), "{safe}");
    let second = api.table(&["=Header", "Text"]);
    let told = import(&second, &[], safe.clone());
    assert_eq!((&told["columnsCreated"], &told["rejected"]), (&json!([]), &json!([])));
    assert_eq!(texts(&second, "=Header"), values);
    assert_eq!(export(&second, &[("bom", "true")]), safe);

    let exact = export(&first, &[("formulas", "keep")]);
    let third = api.table(&["=Header", "Text"]);
    import(&third, &[("formulas", "keep")], exact.clone());
    assert_eq!(texts(&third, "=Header"), values);
    assert_eq!(export(&third, &[("formulas", "keep")]), exact);
}

fn files_may_be_compressed(api: &Api) {
    let table = api.table(&["A"]);
    let file = format!("A\n{}", "text\n".repeat(30_000));
    let packed = zstd::encode_all(file.as_bytes(), 3).unwrap();
    let request = Request::post(table.path("/import")).bytes(packed).header("Content-Type", "text/csv");
    let told = api.send(request.header("Content-Encoding", "zstd")).ok();
    assert_eq!(counts(&told), (30_000, 0, 0));
    let out = api.send(Request::get(table.path("/export")).header("Accept-Encoding", "gzip"));
    assert_eq!(out.header("content-encoding"), Some("gzip"));
    assert_eq!(out.text.lines().count(), 30_001);
    let broken =
        Request::post(table.path("/import")).bytes(b"not gzip".to_vec()).header("Content-Type", "text/csv");
    assert_eq!(api.send(broken.header("Content-Encoding", "gzip")).status(), 400);
}

fn limits_of_files_hold() {
    let server = Server::start(&[
        ("ROWMILL_IMPORT_BYTES_MAX", "100000"),
        ("ROWMILL_IMPORT_ROW_BYTES_MAX", "100"),
        ("ROWMILL_IMPORT_REJECTED_MAX", "5"),
        ("ROWMILL_COLUMNS_MAX", "4"),
        ("ROWMILL_INSERT_ROWS_MAX", "10"),
        // A body's limit is another.
        ("ROWMILL_BODY_BYTES_MAX", "1000"),
    ]);
    let api = server.api();
    let table = api.table(&["A"]);
    let told = import(&table, &[], format!("A\n{}", "row\n".repeat(2_000)));
    assert_eq!(counts(&told), (2_000, 0, 0));
    let told = import(&table, &[], format!("A\n1\n{}\n2\n", "x".repeat(101)));
    assert_eq!(counts(&told), (2, 0, 1));
    assert!(told["rejected"][0]["reason"].as_str().unwrap().contains("importRowBytesMax"));
    let told = import(&table, &[], format!("A\n1\n{}\n2\n", "x,y\n".repeat(20)));
    assert_eq!((told["rejectedCount"].as_u64(), &told["stopped"]), (Some(5), &json!(true)), "{told}");
    assert_eq!(told["importedCount"], 1, "what came before is imported: {told}");
    send(&table, &[], "text/csv", "A\n".repeat(60_000)).refused(413, "body_too_large");
    let bomb = zstd::encode_all("A\n".repeat(1_000_000).as_bytes(), 3).unwrap();
    let bomb = Request::post(table.path("/import")).bytes(bomb).header("Content-Type", "text/csv");
    api.send(bomb.header("Content-Encoding", "zstd")).refused(413, "body_too_large");
    send(&table, &[], "text/csv", "A,B,C,D\n1,2,3,4\n").exceeds("columnsMax");
    let wide = send(&table, &[], "text/csv", format!("{}\n1\n", ",".repeat(20_000)));
    let told = wide.refused(400, "invalid_request")["details"][0]["message"].as_str().unwrap().to_owned();
    assert!(told.contains("too many columns") && told.contains("at most 4 (columnsMax)"), "{told}");
}
