//! Images and PDF documents in prompts: fetched from addresses in cells, bounded, and sent to models that take them.

use serde_json::{Value, json};

use super::processing::{run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("attachments", Own:
    files_of_a_row_are_sent_with_its_prompt,
    hostile_files_end_the_cell_and_nobody_is_paid,
    attachments_are_references_like_any_other,
);

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nthe rest";
const PDF: &[u8] = b"%PDF-1.7 the rest";

fn raw(body: &[u8]) -> Reply {
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    Reply::Raw([head.as_bytes(), body].concat())
}

/// Files, good and bad, at one place.
fn files() -> StubServer {
    StubServer::start(|seen: &Seen, _| match seen.path.as_str() {
        "/photo" => raw(PNG),
        "/paper" => raw(PDF),
        "/page.png" => raw(b"<html>no image</html>"),
        "/large.png" => raw(&[PNG, &vec![0; 4 * 1024 * 1024]].concat()),
        "/endless.png" => Reply::Endless,
        "/moved.png" => {
            Reply::With(302, vec![("Location", "http://169.254.169.254/latest".to_owned())], String::new())
        }
        "/empty.png" => raw(b""),
        _ => Reply::Json(404, json!({})),
    })
}

fn model() -> StubServer {
    StubServer::start(|seen: &Seen, _| {
        if seen.json()["model"] == "blind" {
            let message = "Invalid content type. image_url is only supported by certain models.";
            return Reply::Json(400, json!({ "error": { "message": message } }));
        }
        ok(json!({ "choices": [{ "message": { "content": "A mill." }, "finish_reason": "stop" }] }))
    })
}

fn with(model: &StubServer) -> Server {
    started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), ("ROWMILL_AI_MODEL", "small-1")])
}

fn looks(table: &Table, more: Value) -> String {
    let mut config = json!({ "prompt": "What is @{Name}?", "attachments": ["@{File}"] });
    for (name, value) in more.as_object().cloned().unwrap_or_default() {
        config[name] = value;
    }
    table.add_column(json!({ "templateId": "ai-text", "header": "Looks", "aiConfig": config, "retry": { "maxAttempts": 1 } }))
}

fn files_of_a_row_are_sent_with_its_prompt() {
    let (files, model) = (files(), model());
    let server = with(&model);
    let table = server.api().table(&["Name", "File"]);
    let column = looks(&table, json!({ "attachments": ["@{File.photo}", "@{File.paper}"] }));
    let both = json!({ "photo": files.url("/photo"), "paper": files.url("/paper") });
    let rows = table.insert(json!([{ "Name": "it", "File": both }]));
    run(&table, json!({}));
    assert_eq!(table.value(&rows[0], &column), "A mill.");
    let content = model.seen()[0].json()["messages"][0]["content"].clone();
    assert_eq!(
        content,
        json!([
            { "type": "text", "text": "What is it?" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,iVBORw0KGgp0aGUgcmVzdA==" } },
            { "type": "file", "file": {
                "filename": "attachment-2.pdf", "file_data": "data:application/pdf;base64,JVBERi0xLjcgdGhlIHJlc3Q=",
            } },
        ])
    );
    // A preview says what would be fetched, and fetches nothing.
    let calls = files.count();
    let dry = json!({ "rowId": rows[0], "columnId": column, "dryRun": true, "column": { "templateId": "ai-text" } });
    let resolved = table.post("/try", dry).ok()["resolved"].clone();
    assert_eq!(resolved["attachments"], json!([files.url("/photo"), files.url("/paper")]));
    assert_eq!(files.count(), calls);

    // A model that takes no images says so, and so does the cell.
    table
        .patch(
            &format!("/columns/{column}"),
            json!({ "aiConfig": { "model": "blind", "attachments": ["@{File.photo}"] } }),
        )
        .ok();
    run(&table, json!({}));
    let error = table.cells(&rows[0])[&column]["error"].clone();
    assert_eq!(error["code"], "provider_error", "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(
        message.contains("only supported by certain models") && message.contains("take images"),
        "{message}"
    );
}

fn hostile_files_end_the_cell_and_nobody_is_paid() {
    let (files, model) = (files(), model());
    let server = with(&model);
    let table = server.api().table(&["Name", "File"]);
    let column = looks(&table, json!({}));
    let cases = [
        ("/page.png", "invalid_input"),
        ("/empty.png", "invalid_input"),
        ("/large.png", "too_large"),
        ("/endless.png", "too_large"),
        ("/moved.png", "blocked"),
        ("/gone.png", "provider_error"),
    ];
    let mut rows: Vec<Value> =
        cases.iter().map(|(path, _)| json!({ "Name": path, "File": files.url(path) })).collect();
    rows.extend([
        json!({ "Name": "private", "File": "http://10.1.2.3/a.png" }),
        json!({ "Name": "no address", "File": "a photo" }),
        json!({ "Name": "none" }),
    ]);
    let ids = table.insert(json!(rows));
    run(&table, json!({}));
    let expected = cases.iter().map(|(_, code)| *code).chain(["blocked", "invalid_input", "missing_input"]);
    for (id, code) in ids.iter().zip(expected) {
        let cell = table.cells(id)[&column].clone();
        assert_eq!(cell["error"]["code"], code, "{cell}");
        let message = cell["error"]["message"].as_str().unwrap();
        assert!(code == "missing_input" || message.starts_with("Attachment 1: "), "{message}");
    }
    assert_eq!(model.count(), 0);
    // Who can do without it says so.
    table
        .patch(
            &format!("/columns/{column}"),
            json!({ "dependencies": [{ "columnId": table.column("File"), "required": false }] }),
        )
        .ok();
    run(&table, json!({ "rowIds": [ids[8]] }));
    assert_eq!(table.value(&ids[8], &column), "A mill.");
    assert_eq!(model.seen()[0].json()["messages"][0]["content"], "What is none?");
}

fn attachments_are_references_like_any_other() {
    let (files, model) = (files(), model());
    let server = with(&model);
    let table = server.api().table(&["Name", "File"]);
    let column = looks(&table, json!({}));
    let (name, file) = (table.column("Name").to_owned(), table.column("File").to_owned());
    let full = table.full_column(&column);
    assert_eq!(full["aiConfig"]["attachments"], json!([format!("@{{{file}}}")]), "a header became an id");
    let inputs: Vec<&str> = full["dependencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| input["columnId"].as_str().unwrap())
        .collect();
    assert_eq!(inputs, [name.as_str(), file.as_str()]);
    let rows = table.insert(json!([{ "Name": "it", "File": files.url("/photo") }]));
    run(&table, json!({}));
    // Another file makes the value stale, and so does another column.
    let other = json!({ "rowId": rows[0], "columnId": file, "value": files.url("/paper") });
    table.patch("/cells", json!({ "cells": [other] })).ok();
    assert_eq!(table.cells(&rows[0])[&column]["stale"], true);

    let refused = |attachments: Value| {
        table.patch(&format!("/columns/{column}"), json!({ "aiConfig": { "attachments": attachments } }))
    };
    refused(json!(["a", "b", "c", "d", "e"])).offends(&["aiConfig.attachments"]);
    refused(json!([format!("https://x.example/{}", "x".repeat(2_000))]))
        .offends(&["aiConfig.attachments[0]"]);
    refused(json!([1])).refused(400, "invalid_request");
    table.delete(&format!("/columns/{file}")).ok();
    assert_eq!(table.full_column(&column)["aiConfig"].get("attachments"), Some(&json!([""])));
    run(&table, json!({ "force": true }));
    assert_eq!(table.value(&rows[0], &column), "A mill.", "what is left out is not sent");
}
