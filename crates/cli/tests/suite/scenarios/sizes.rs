//! Contract section 3: compression and limits, on the way in and on the way out.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server, http};

pub(crate) const SHARED: &[Scenario] = &scenarios!("sizes", Shared:
    answers_are_compressed_when_asked,
    bodies_may_be_compressed,
    a_body_beyond_its_limit_is_413_also_after_decompression,
    nesting_is_64_deep_at_most,
    a_cell_value_has_1_mib_at_most,
    an_insert_has_10_000_rows_at_most,
    a_cells_batch_has_10_000_cells_at_most,
    a_delete_has_100_000_ids_at_most,
    a_project_has_500_columns_at_most,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("sizes", Own:
    every_limit_can_be_set_and_is_told_and_documented,
);

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

fn answers_are_compressed_when_asked(api: &Api) {
    let table = api.table(&["Name"]);
    let rows: Vec<Value> =
        (0..100).map(|number| json!({ "Name": format!("Name number {number}") })).collect();
    table.insert(json!(rows));
    let list = |accept: &str| {
        let request = Request::get(table.path("/rows?pageSize=100"));
        api.send(if accept.is_empty() { request } else { request.header("Accept-Encoding", accept) })
    };
    let plain = list("");
    assert_eq!(plain.header("Content-Encoding"), None);
    for (accept, encoding) in
        [("gzip", "gzip"), ("zstd", "zstd"), ("br, gzip;q=0.5", "gzip"), ("zstd, deflate", "zstd")]
    {
        let answer = list(accept);
        assert_eq!(answer.header("Content-Encoding"), Some(encoding), "{accept}");
        assert_eq!(answer.text, plain.text, "{accept}");
        assert!(answer.raw().len() * 2 < plain.raw().len(), "{accept}");
        let vary = answer.headers("Vary").to_lowercase();
        assert!(vary.contains("accept-encoding"), "{vary}");
    }
    let nothing_acceptable = ["identity;q=0", "*;q=0", "identity;q=0, *;q=0", "br;q=1, identity; q=0"];
    for accept in ["identity", "br", "gzip;q=0", "nonsense"].into_iter().chain(nothing_acceptable) {
        let answer = list(accept);
        assert_eq!((answer.status(), answer.header("Content-Encoding")), (200, None), "{accept}");
    }
    assert_eq!(list("gzip, *;q=0").header("Content-Encoding"), Some("gzip"));
    let document = api.send(Request::get("/openapi.json").header("Accept-Encoding", "gzip"));
    assert_eq!(document.header("Content-Encoding"), Some("gzip"));
    assert_eq!(document.json["openapi"], "3.0.3");
}

fn bodies_may_be_compressed(api: &Api) {
    let table = api.table(&["Name"]);
    let send = |body: Vec<u8>, encoding: &str| {
        let request =
            Request::post(table.path("/rows")).bytes(body).header("Content-Type", "application/json");
        api.send(request.header("Content-Encoding", encoding))
    };
    send(gzip(br#"{"Name":"gzip"}"#), "gzip").created();
    send(zstd(br#"{"Name":"zstd"}"#), "zstd").created();
    send(br#"{"Name":"identity"}"#.to_vec(), "identity").created();
    assert_eq!(table.values("Name", &[]), ["gzip", "zstd", "identity"]);
    send(br#"{"Name":"x"}"#.to_vec(), "gzip").refused(400, "invalid_json");
    send(br#"{"Name":"x"}"#.to_vec(), "zstd").refused(400, "invalid_json");
    send(gzip(br#"{"Name":"x"}"#), "zstd").refused(400, "invalid_json");
    let whole = gzip(br#"{"Name":"broken off"}"#);
    send(whole[..whole.len() - 9].to_vec(), "gzip").refused(400, "invalid_json");
    let whole = zstd(br#"{"Name":"broken off, and long enough for that"}"#);
    send(whole[..whole.len() - 3].to_vec(), "zstd").refused(400, "invalid_json");
    send(gzip(b"{"), "gzip").refused(400, "invalid_json");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 3);
}

fn a_body_beyond_its_limit_is_413_also_after_decompression(api: &Api) {
    const MAX: usize = 32 * 1024 * 1024;
    let table = api.table(&["Name"]);
    let refused = |request: Request| {
        let refusal = api.send(request).refused(413, "body_too_large");
        assert!(refusal["error"].as_str().unwrap().contains("33554432"), "{refusal}");
    };
    let post = || Request::post(table.path("/rows")).header("Content-Type", "application/json");
    // Refused by its length alone, before anything of it is sent.
    refused(post().header("Content-Length", &(MAX + 1).to_string()));
    for encoding in ["gzip", "zstd"] {
        let bomb = vec![b' '; 40 * 1024 * 1024];
        let packed = if encoding == "gzip" { gzip(&bomb) } else { zstd(&bomb) };
        assert!(packed.len() < MAX / 100);
        refused(post().bytes(packed).header("Content-Encoding", encoding));
    }
    // Exactly as long as allowed.
    let mut fits = br#"{"Name":"fits"}"#.to_vec();
    fits.resize(MAX, b' ');
    api.send(post().bytes(gzip(&fits)).header("Content-Encoding", "gzip")).created();
    assert_eq!(table.values("Name", &[]), ["fits"]);
    // Without a length, in chunks: noticed at the limit.
    let request = api.with_key(post().header("Transfer-Encoding", "chunked"));
    let mut stream = http::connect(&api.address).unwrap();
    stream.write_all(request.head(&api.address).as_bytes()).unwrap();
    let chunk = [format!("{:x}\r\n", 1 << 20).into_bytes(), vec![b' '; 1 << 20], b"\r\n".to_vec()].concat();
    for _ in 0..33 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    if let Ok(response) = http::receive(&mut stream) {
        assert_eq!(response.status, 413);
    }
}

fn nesting_is_64_deep_at_most(api: &Api) {
    let table = api.table(&["Name"]);
    // The row is the first container, so a value may be 63 deep.
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let row = |depth: usize| format!("{{\"Name\":{}}}", nested(depth));
    table.post_text("/rows", &row(63)).created();
    for answer in [
        table.post_text("/rows", &row(64)),
        table.post_text("/rows", &format!("[{}]", row(63))),
        table.post_text("/rows", &row(100_000)),
        table.patch_text("", &format!("{{\"metadata\":{{\"a\":{}}}}}", nested(63))),
    ] {
        answer.exceeds("64");
    }
    table.patch_text("", &format!("{{\"metadata\":{{\"a\":{}}}}}", nested(62))).ok();
    table.post_text("/rows", &format!("[{}]", row(62))).created();
    let deep = table.get("/rows").text;
    assert!(deep.contains(&nested(63)) && deep.contains(&nested(62)));
    table.post_text("/rows", &format!("{{\"Name\":\"{}\"}}", "[".repeat(1_000))).created();
}

fn a_cell_value_has_1_mib_at_most(api: &Api) {
    const MAX: usize = 1024 * 1024;
    let table = api.table(&["Name"]);
    let name = table.column("Name");
    // Its quotation marks count: it is the serialized JSON that is measured.
    let fits = "x".repeat(MAX - 2);
    let bursts = "x".repeat(MAX - 1);
    let row = table.insert(json!({ "Name": fits })).remove(0);
    assert_eq!(table.value(&row, name), fits);
    table.post("/rows", json!({ "Name": bursts })).exceeds("1048576");
    table.post("/rows", json!([{ "Name": "a" }, { "Name": bursts }])).exceeds("1048576");
    table.post("/rows", json!({ "other": bursts })).exceeds("1048576");
    table.patch(&format!("/rows/{row}"), json!({ "Name": bursts })).exceeds("1048576");
    let cells = |value: &str| json!({ "cells": [{ "rowId": row, "columnId": name, "value": value }] });
    assert_eq!(table.patch("/cells", cells(&bursts)).exceeds("1048576")["code"], "limit_exceeded");
    table.patch("/cells", cells(&fits)).ok();
    assert_eq!(table.rows(&[("columnIds", "_trigger")])["pagination"]["totalRows"], 1);
}

fn an_insert_has_10_000_rows_at_most(api: &Api) {
    let table = api.table(&["Name"]);
    let rows = |count: usize| (0..count).map(|number| json!({ "Name": number })).collect::<Value>();
    table.post("/rows", rows(10_001)).exceeds("10000");
    table.post("/rows", json!({ "rows": rows(10_001) })).exceeds("10000");
    let answer = table.post("/rows", rows(10_000)).created();
    assert_eq!(answer["insertedCount"], 10_000);
    let ids = answer["rows"].as_array().unwrap();
    let last = table.rows(&[("page", "10"), ("pageSize", "1000")]);
    assert_eq!(last["pagination"]["totalRows"], 10_000);
    let listed = last["rows"].as_array().unwrap();
    assert_eq!((listed.len(), &listed[999]["id"]), (1_000, &ids[9_999]));
    assert_eq!(listed[999]["cells"][table.column("Name")], 9_999);
}

fn a_cells_batch_has_10_000_cells_at_most(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "x" })).remove(0);
    let cells = |count: usize| {
        let cell = |number| json!({ "rowId": row, "columnId": table.column("Name"), "value": number });
        json!({ "cells": (0..count).map(cell).collect::<Vec<_>>() })
    };
    table.patch("/cells", cells(10_001)).exceeds("10000");
    assert_eq!(table.patch("/cells", cells(10_000)).ok()["updatedCount"], 1);
    assert_eq!(table.values("Name", &[]), [9_999]);
}

fn a_delete_has_100_000_ids_at_most(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "x" })).remove(0);
    let ids = vec![row; 100_001];
    table.delete_rows(&ids).exceeds("100000");
    assert_eq!(table.delete_rows(&ids[1..]).ok()["deletedCount"], 1);
}

fn a_project_has_500_columns_at_most(api: &Api) {
    let columns = |count: usize| json!(vec![json!({ "templateId": "manual" }); count]);
    api.post("/v4/projects", json!({ "title": "x", "columns": columns(500) })).exceeds("500");
    // The input column counts.
    let table = api.table_of(json!({ "title": "x", "columns": columns(499) }));
    assert_eq!(table.columns().len(), 500);
    table.post("/columns", json!({ "templateId": "manual" })).exceeds("500");
    table.patch("", json!({ "settings": { "api": { "createColumnsFromKeys": true } } })).ok();
    table.post("/rows", json!({ "One more": 1 })).exceeds("500");
    assert_eq!(table.columns().len(), 500);
}

fn every_limit_can_be_set_and_is_told_and_documented() {
    let server = Server::start(&[
        ("ROWMILL_PAGE_SIZE_DEFAULT", "2"),
        ("ROWMILL_PAGE_SIZE_MAX", "3"),
        ("ROWMILL_INSERT_ROWS_MAX", "4"),
        ("ROWMILL_CELLS_BATCH_MAX", "5"),
        ("ROWMILL_ROW_IDS_MAX", "6"),
        ("ROWMILL_COLUMNS_MAX", "7"),
        ("ROWMILL_FILTERS_MAX", "9"),
        ("ROWMILL_SECRETS_MAX", "8"),
        ("ROWMILL_KEYS_MAX", "3"),
        ("ROWMILL_TEAMS_MAX", "2"),
        ("ROWMILL_IMPORT_BYTES_MAX", "4000"),
        ("ROWMILL_IMPORT_ROW_BYTES_MAX", "1000"),
        ("ROWMILL_IMPORT_REJECTED_MAX", "5"),
        ("ROWMILL_CELL_BYTES_MAX", "100"),
        ("ROWMILL_BODY_BYTES_MAX", "2000"),
        ("ROWMILL_NESTING_MAX", "6"),
    ]);
    let api = server.api();
    let limits = api.get("/v4/limits").ok()["limits"].clone();
    for (name, number) in [
        ("pageSizeDefault", 2),
        ("pageSizeMax", 3),
        ("insertRowsMax", 4),
        ("cellsBatchMax", 5),
        ("rowIdsMax", 6),
        ("columnsMax", 7),
        ("filtersMax", 9),
        ("secretsMax", 8),
        ("keysMax", 3),
        ("teamsMax", 2),
        ("importBytesMax", 4_000),
        ("importRowBytesMax", 1_000),
        ("importRejectedMax", 5),
        ("cellBytesMax", 100),
        ("bodyBytesMax", 2_000),
        ("nestingMax", 6),
    ] {
        assert_eq!(limits[name], number, "{name}");
    }
    api.post("/v4/keys", json!({ "name": "third" })).created();
    api.post("/v4/keys", json!({ "name": "fourth" })).exceeds("keysMax");
    api.post("/v4/teams", json!({ "slug": "second" })).created();
    api.post("/v4/teams", json!({ "slug": "third" })).exceeds("teamsMax");
    let table = api.table(&["Name"]);
    let row = table.insert(json!([{}, {}, {}, {}])).remove(0);
    let page = table.rows(&[]);
    assert_eq!((page["rows"].as_array().unwrap().len(), &page["pagination"]["pageSize"]), (2, &json!(2)));
    table.rows(&[("pageSize", "3")]);
    table.get("/rows?pageSize=4").offends(&["pageSize"]);
    table.post("/rows", json!([{}, {}, {}, {}, {}])).exceeds("4");
    let cell = json!({ "rowId": row, "columnId": "_trigger", "value": 1 });
    table.patch("/cells", json!({ "cells": vec![cell; 6] })).exceeds("5");
    table.delete_rows(&["x"; 7]).exceeds("6");
    table.post("/rows", json!({ "Name": "x".repeat(99) })).exceeds("100");
    api.send(Request::post(table.path("/rows")).text(&" ".repeat(2_001))).refused(413, "body_too_large");
    table.post_text("/rows", r#"{"Name":[[[[[[1]]]]]]}"#).exceeds("6");
    let filter = json!({ "columnId": "_trigger", "operator": "isEmpty" });
    table.post("/views", json!({ "name": "x", "filters": vec![filter; 10] })).exceeds("9");
    let schemas = &api.document()["components"]["schemas"];
    for (schema, property, most) in
        [("CellsBody", "cells", 5), ("RowsDelete", "rowIds", 6), ("ProjectCreate", "columns", 7)]
    {
        assert_eq!(schemas[schema]["properties"][property]["maxItems"], most, "{schema}");
    }
    assert!(schemas["RowsBody"].to_string().contains("\"maxItems\":4"));
    let parameters = api.document()["paths"]["/v4/projects/{projectId}/rows"]["get"]["parameters"].clone();
    let size =
        parameters.as_array().unwrap().iter().find(|parameter| parameter["name"] == "pageSize").unwrap();
    assert_eq!(size["schema"]["maximum"], 3);
}
