//! Contract section 3: what is refused, with which status, and in which words.

use serde_json::{Value, json};

use crate::harness::api::paths_of;
use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, http, server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("refusals", Shared:
    no_token_is_401_and_a_wrong_one_403,
    an_unknown_path_is_404_and_a_wrong_method_405_with_allow,
    another_content_type_is_415,
    a_body_that_is_not_json_is_400,
    all_offences_are_named_at_once_each_with_its_place,
    what_several_steps_find_is_told_together,
    a_field_that_is_given_twice_is_400_in_every_typed_body,
    an_unknown_field_in_a_typed_body_is_400_naming_it,
    an_unknown_or_repeated_query_parameter_is_400_naming_it,
    a_project_that_is_not_there_comes_before_query_and_body,
    u_0000_is_400_in_every_string,
    half_a_surrogate_pair_and_broken_utf_8_are_400,
    a_malformed_request_is_refused_and_the_server_lives,
);

fn no_token_is_401_and_a_wrong_one_403(api: &Api) {
    let anonymous = server::shared().api_without_key();
    let refusal = anonymous.get("/v4/projects").refused(401, "unauthenticated");
    assert_eq!(
        refusal,
        json!({
            "success": false, "error": "Bearer token is required", "code": "unauthenticated",
        })
    );
    for header in ["Basic YTpi", "Bearer", "Bearer ", "rm_x"] {
        let request = Request::get("/v4/projects").header("Authorization", header);
        anonymous.send(request).refused(401, "unauthenticated");
    }
    let known = api.with_key(Request::get("/")).headers.remove(0).1;
    let tampered = format!("{}0", &known[..known.len() - 1]);
    let tampered = if tampered == known { format!("{}1", &known[..known.len() - 1]) } else { tampered };
    for header in ["Bearer x", "Bearer rm_x_y", &format!("{known}0"), &tampered] {
        let request = Request::get("/v4/projects").header("Authorization", header);
        let refusal = anonymous.send(request).refused(403, "invalid_api_key");
        assert_eq!(refusal["error"], "Invalid API key");
    }
    // The scheme's letter case does not matter.
    let token = known.strip_prefix("Bearer ").unwrap();
    anonymous.send(Request::get("/v4/team").header("Authorization", &format!("bearer {token}"))).ok();
    // Whether or not there is such a project, and whatever the body is.
    let table = api.table(&[]);
    for path in [table.path(""), api.path_in("nope", "")] {
        anonymous.get(path.clone()).refused(401, "unauthenticated");
        anonymous.send(Request::post(format!("{path}/rows")).text("{")).refused(401, "unauthenticated");
    }
    for path in ["/v4/team", "/v4/limits"] {
        anonymous.get(path).refused(401, "unauthenticated");
    }
}

fn an_unknown_path_is_404_and_a_wrong_method_405_with_allow(api: &Api) {
    let anonymous = server::shared().api_without_key();
    for path in
        ["/v4", "/v4/", "/v4/nope", "/v5/projects", "/v4/projects/", "/healthz/", "/%00", "/%ff", "//"]
    {
        api.get(path).refused(404, "not_found");
        anonymous.get(path).refused(404, "not_found");
    }
    let cases = [
        ("PUT", "/v4/projects", "GET,HEAD,POST"),
        ("DELETE", "/v4/projects", "GET,HEAD,POST"),
        ("POST", "/v4/projects/x", "DELETE,GET,HEAD,PATCH"),
        ("GET", "/v4/projects/x/cells", "PATCH"),
        ("POST", "/healthz", "GET,HEAD"),
        ("PATCH", "/openapi.json", "GET,HEAD"),
        ("POST", "/v4/team", "GET,HEAD,PATCH"),
    ];
    for (method, path, allowed) in cases {
        let answer = api.send(Request::new(method, path).json(&json!({})));
        let mut allow: Vec<&str> = answer.header("Allow").unwrap().split(',').map(str::trim).collect();
        allow.sort_unstable();
        assert_eq!(allow.join(","), allowed, "{method} {path}");
        answer.refused(405, "method_not_allowed");
    }
}

fn another_content_type_is_415(api: &Api) {
    let table = api.table(&["Name"]);
    let bodies: [(&str, &str, Value); 4] = [
        ("POST", "/rows", json!({ "Name": "x" })),
        ("PATCH", "", json!({ "title": "x" })),
        ("POST", "/views", json!({ "name": "x" })),
        ("DELETE", "/rows", json!({ "rowIds": [] })),
    ];
    for (method, rest, body) in bodies {
        let request = || Request::new(method, table.path(rest)).bytes(body.to_string().into_bytes());
        for other in
            ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", "text/json", "x"]
        {
            table.api.send(request().header("Content-Type", other)).refused(415, "unsupported_media_type");
        }
        for json in ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON"] {
            assert!(table.api.send(request().header("Content-Type", json)).status() < 300, "{json}");
        }
        let encoded = request().header("Content-Type", "application/json").header("Content-Encoding", "br");
        table.api.send(encoded).refused(415, "unsupported_media_type");
    }
}

fn a_body_that_is_not_json_is_400(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let places = [
        ("POST", "/rows".to_owned()),
        ("PATCH", format!("/rows/{row}")),
        ("PATCH", "/cells".to_owned()),
        ("DELETE", "/rows".to_owned()),
        ("POST", "/columns".to_owned()),
        ("PATCH", "/columns/_trigger".to_owned()),
        ("POST", "/views".to_owned()),
        ("PATCH", String::new()),
    ];
    for (method, rest) in &places {
        for text in [
            "{",
            "nope",
            "{\"a\": }",
            "{\"a\": 1,}",
            "{'a': 1}",
            "{} {}",
            "\"open",
            "01",
            "NaN",
            "{\"a\":\"\t\"}",
        ] {
            let request = Request::new(method, table.path(rest)).text(text);
            let told = format!("{method} {rest} {text}");
            assert_eq!(table.api.send(request).refused(400, "invalid_json")["success"], false, "{told}");
        }
        // JSON, but of another kind, or nothing at all.
        for text in ["1", "\"text\"", "null", "true", ""] {
            let request = Request::new(method, table.path(rest)).text(text);
            table.api.send(request).offends(&[""]);
        }
    }
    assert_eq!(table.values("Name", &[]), ["Ada"]);
}

fn all_offences_are_named_at_once_each_with_its_place(api: &Api) {
    let table = api.table(&["Name"]);
    let cells = json!({ "cells": [
        { "rowId": "a", "columnId": "b", "value": 1 },
        { "rowId": 5, "value": 1 },
        3,
        { "columnId": "b", "value": 1, "colour": 2 },
    ], "more": 1 });
    let places =
        ["cells[1].columnId", "cells[1].rowId", "cells[2]", "cells[3].colour", "cells[3].rowId", "more"];
    table.patch("/cells", cells).offends(&places);

    table.post("/rows", json!([{ "Name": 1 }, 7, { "Name": 2 }, "x"])).offends(&["[1]", "[3]"]);
    table.post("/rows", json!({ "rows": [{}, null] })).offends(&["rows[1]"]);
    let project = json!({ "title": " ", "autoplay": "yes", "columns": [{ "templateId": "manual" }, { "templateId": "x" }] });
    let refusal = api.post("/v4/projects", project).refused(400, "invalid_request");
    assert!(paths_of(&refusal).contains(&"autoplay"), "{refusal}");
    let project = json!({ "title": " ", "columns": [{ "templateId": "manual" }, { "templateId": "x" }],
        "metadata": { "integration": "eventplatform-event" } });
    let places = ["columns[1].templateId", "metadata.eventplatform", "title"];
    api.post("/v4/projects", project).offends(&places);

    let view = json!({ "name": "", "emoji": "x".repeat(65), "filters": [{ "columnId": "nope", "operator": "equals" }],
        "sorting": [{ "columnId": "nope", "direction": "up" }], "columnVisibility": { "nope": true } });
    let refusal = table.post("/views", view).refused(400, "invalid_request");
    let places = paths_of(&refusal);
    for place in ["name", "emoji", "filters[0]", "sorting[0]", "columnVisibility.nope"] {
        assert!(places.iter().any(|path| path.starts_with(place)), "{place}: {refusal}");
    }
    table.get("/rows?page=0&pageSize=1001&withStatus=maybe").offends(&["page", "pageSize", "withStatus"]);
}

/// Whichever step of the check finds it: of query and types, of unknown fields, of texts, templates and filters.
fn what_several_steps_find_is_told_together(api: &Api) {
    let table = api.table(&["Name"]);
    let name = format!("/columns/{}", table.column("Name"));
    let before = table.get("").ok();
    let check = |method: &'static str, path: String, body: Value, places: &[&str]| {
        api.send(Request::new(method, path).json(&body)).offends(places);
    };
    let projects = || "/v4/projects".to_owned();
    check("POST", projects(), json!({ "title": "", "foo": 1 }), &["foo", "title"]);
    check("POST", projects(), json!({ "title": " ", "autoplay": "yes" }), &["autoplay", "title"]);
    let columns =
        json!([{ "templateId": "nope", "header": "x".repeat(256), "foo": 1 }, { "templateId": "manual" }]);
    let places = ["columns[0].foo", "columns[0].header", "columns[0].templateId", "title"];
    check("POST", projects(), json!({ "title": "", "columns": columns }), &places);
    check("PATCH", table.path(""), json!({ "title": " ", "foo": 1 }), &["foo", "title"]);
    let column = json!({ "templateId": "nope", "header": "", "foo": 1 });
    check("POST", table.path("/columns"), column, &["foo", "header", "templateId"]);
    check("POST", table.path("/columns?nope=1"), json!({ "templateId": "nope" }), &["nope", "templateId"]);
    check("PATCH", table.path(&name), json!({ "header": "", "foo": 1 }), &["foo", "header"]);
    let view = json!({ "name": "", "foo": 1, "filters": [1] });
    check("POST", table.path("/views"), view, &["filters[0]", "foo", "name"]);
    // What is right otherwise is not written.
    check("POST", projects(), json!({ "title": "Right", "folderId": "together", "foo": 1 }), &["foo"]);
    check("PATCH", table.path(""), json!({ "title": "Right", "foo": 1 }), &["foo"]);
    check("POST", table.path("/columns"), json!({ "templateId": "manual", "foo": 1 }), &["foo"]);
    check("PATCH", table.path(&name), json!({ "header": "Right", "foo": 1 }), &["foo"]);
    check("POST", table.path("/views"), json!({ "name": "Right", "foo": 1 }), &["foo"]);
    assert_eq!(table.get("").ok(), before);
    assert_eq!(table.get("/views").ok()["views"], json!([]));
    assert_eq!(api.get("/v4/projects?folderId=together").ok()["projects"], json!([]));

    table.get("/rows?page=0&filters=[1]").offends(&["filters[0]", "page"]);
    table.get("/rows?filters=[1]&sorting=[1]&columnIds=zz").offends(&[
        "columnIds",
        "filters[0]",
        "sorting[0]",
    ]);
    table.get("/rows?filters=x&sorting=[1]&nope=1").offends(&["filters", "nope", "sorting[0]"]);
    table.get("/rows?page=0&columnIds=zz&cursor=x").offends(&["columnIds", "cursor", "page"]);
    table.get("/rows?page=0").offends(&["page"]);
}

fn a_field_that_is_given_twice_is_400_in_every_typed_body(api: &Api) {
    let table = api.table(&["Name"]);
    table.patch_text("", r#"{"title":"a","title":"b"}"#).offends(&["title"]);
    table
        .patch_text("", r#"{"settings":{"api":{"requireKey":true,"requireKey":false}},"foo":1}"#)
        .offends(&["foo", "settings.api.requireKey"]);
    table
        .post_text(
            "/views",
            r#"{"name":"a","filters":[{"columnId":"Name","operator":"isEmpty","operator":"isNotEmpty"}]}"#,
        )
        .offends(&["filters[0].operator"]);
    table.post_text("/trigger", r#"{"force":true,"force":false}"#).offends(&["force"]);
    let project = r#"{"title":"a","columns":[{"templateId":"manual"},{"templateId":"manual","header":"x","header":"y"}]}"#;
    api.send(Request::post("/v4/projects").text(project)).offends(&["columns[1].header"]);
}

fn an_unknown_field_in_a_typed_body_is_400_naming_it(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let view = table.post("/views", json!({ "name": "All" })).created()["view"]["id"].clone();
    let view = format!("/views/{}", view.as_str().unwrap());
    let name = format!("/columns/{}", table.column("Name"));
    let check = |method: &'static str, path: String, body: Value, place: &str| {
        api.send(Request::new(method, path).json(&body)).offends(&[place]);
    };
    check("POST", "/v4/projects".into(), json!({ "title": "x", "colour": 1 }), "colour");
    check("POST", "/v4/projects".into(), json!({ "title": "x", "rowCount": 1 }), "rowCount");
    check(
        "POST",
        "/v4/projects".into(),
        json!({ "title": "x", "settings": { "colour": 1 } }),
        "settings.colour",
    );
    check(
        "POST",
        "/v4/projects".into(),
        json!({ "title": "x", "settings": { "api": { "colour": 1 } } }),
        "settings.api.colour",
    );
    check(
        "POST",
        "/v4/projects".into(),
        json!({ "title": "x", "columns": [{ "templateId": "manual", "colour": 1 }] }),
        "columns[0].colour",
    );
    check("PATCH", table.path(""), json!({ "colour": 1 }), "colour");
    check("PATCH", table.path(""), json!({ "settings": { "api": { "colour": 1 } } }), "settings.api.colour");
    check("POST", table.path("/columns"), json!({ "templateId": "manual", "colour": 1 }), "colour");
    check("POST", table.path("/columns"), json!({ "templateId": "manual", "id": "col_x" }), "id");
    check(
        "POST",
        table.path("/columns"),
        json!({ "templateId": "ai-text", "aiConfig": { "prompt": "", "colour": 1 } }),
        "aiConfig.colour",
    );
    check("PATCH", table.path(&name), json!({ "colour": 1 }), "colour");
    check("PATCH", table.path(&name), json!({ "templateId": "manual" }), "templateId");
    check("PATCH", table.path(&name), json!({ "retry": { "colour": 1 } }), "retry.colour");
    check("POST", table.path("/views"), json!({ "name": "x", "colour": 1 }), "colour");
    check("PATCH", table.path(&view), json!({ "colour": 1 }), "colour");
    check("DELETE", table.path("/rows"), json!({ "rowIds": [], "colour": 1 }), "colour");
    check("PATCH", table.path("/cells"), json!({ "cells": [], "colour": 1 }), "colour");
    let cell = json!({ "rowId": row, "columnId": "_trigger", "value": 1, "colour": 1 });
    check("PATCH", table.path("/cells"), json!({ "cells": [cell] }), "cells[0].colour");
    let filter = json!({ "columnId": "_trigger", "operator": "isEmpty", "colour": 1 });
    check("POST", table.path("/views"), json!({ "name": "x", "filters": [filter] }), "filters[0].colour");
    let sorting = json!({ "columnId": "_trigger", "direction": "asc", "colour": 1 });
    check("POST", table.path("/views"), json!({ "name": "x", "sorting": [sorting] }), "sorting[0].colour");
}

fn an_unknown_or_repeated_query_parameter_is_400_naming_it(api: &Api) {
    let table = api.table(&[]);
    table.get("/rows?colour=1").offends(&["colour"]);
    table.get("/rows?page=1&page=1").offends(&["page"]);
    table.get("/rows?Page=1").offends(&["Page"]);
    table.get("?colour=1").offends(&["colour"]);
    api.get("/v4/projects?colour=1").offends(&["colour"]);
    table.post("/rows?matchon=x", json!({})).offends(&["matchon"]);
    table.get("/rows?search=%ff").offends(&["search"]);
    // Operations that need no key are no exception.
    for path in ["/openapi.json", "/docs", "/healthz", "/readyz", "/metrics"] {
        for right in [path.to_owned(), format!("{path}?")] {
            // Metrics need a token of their own.
            let expected = if path == "/metrics" { 401 } else { 200 };
            assert_eq!(api.get(right.clone()).status(), expected, "{right}");
        }
        api.get(format!("{path}?colour=1&x")).offends(&["colour", "x"]);
    }
}

/// One order for all operations: a request that is wrong in itself is told so, whatever it is about.
fn a_project_that_is_not_there_comes_before_query_and_body(api: &Api) {
    let table = api.table(&["Name"]);
    let unknown = "proj_0190f0e0a1b27c3d8e4f0123456789ab";
    for (rest, place) in [
        ("/rows?pageSize=0", "pageSize"),
        ("/rows?filters=x", "filters"),
        ("/export?format=pdf", "format"),
        ("/summary", "columnIds"),
        ("/groups", "columnId"),
        ("/find", "text"),
    ] {
        table.get(rest).offends(&[place]);
        api.get(format!("/v4/projects/{unknown}{rest}")).refused(404, "project_not_found");
    }
    for (rest, wrong, place) in [("/cells", json!({}), "cells"), ("", json!({ "title": 7 }), "title")] {
        table.patch(rest, wrong.clone()).offends(&[place]);
        api.patch(format!("/v4/projects/{unknown}{rest}"), wrong).refused(404, "project_not_found");
    }
    // What the path names in a project comes behind them.
    let row = table.path("/rows/0190f0e0a1b27c3d8e4f0123456789ab");
    api.send(Request::new("PATCH", row).text("{")).refused(400, "invalid_json");
}

fn u_0000_is_400_in_every_string(api: &Api) {
    let table = api.table(&["Name"]);
    let row = table.insert(json!({ "Name": "Ada" })).remove(0);
    let bodies = [
        ("POST", table.path("/rows"), r#"{"Name":"a\u0000b"}"#),
        ("POST", table.path("/rows"), "{\"Name\":\"a\0b\"}"),
        ("POST", table.path("/rows"), r#"{"Na\u0000me":"x"}"#),
        ("POST", table.path("/rows"), r#"{"Name":{"deep":["\u0000"]}}"#),
        ("PATCH", table.path(&format!("/rows/{row}")), r#"{"Name":"\u0000"}"#),
        ("PATCH", table.path("/cells"), r#"{"cells":[{"rowId":"x","columnId":"y","value":"\u0000"}]}"#),
        ("DELETE", table.path("/rows"), r#"{"rowIds":["\u0000"]}"#),
        ("POST", "/v4/projects".to_owned(), r#"{"title":"\u0000"}"#),
        ("PATCH", table.path(""), r#"{"metadata":{"\u0000":1}}"#),
        ("POST", table.path("/columns"), r#"{"templateId":"manual","header":"\u0000"}"#),
        ("PATCH", table.path("/columns/_trigger"), r#"{"header":"a\u0000"}"#),
        ("POST", table.path("/views"), r#"{"name":"\u0000"}"#),
        (
            "POST",
            table.path("/views"),
            r#"{"name":"x","filters":[{"columnId":"_trigger","operator":"equals","value":"\u0000"}]}"#,
        ),
    ];
    for (method, path, body) in bodies {
        let refusal = api.send(Request::new(method, path).text(body)).refused(400, "invalid_request");
        assert!(refusal["error"].as_str().unwrap().contains("U+0000"), "{body}: {refusal}");
    }
    for name in ["search", "viewId", "filters", "sorting", "columnIds", "cursor"] {
        table.get(&format!("/rows?{name}=a%00b")).offends(&[name]);
    }
    let quoted = r#"[{"columnId":"_trigger","operator":"equals","value":"\u0000"}]"#;
    table.list(&[("filters", quoted)]).refused(400, "invalid_request");
    table.post("/rows?matchOn=%00", json!({ "Name": "x" })).offends(&["matchOn"]);
    api.get("/v4/projects?folderId=%00").offends(&["folderId"]);
    // An escaped backslash before the digits is no U+0000.
    table.post_text("/rows", r#"{"Name":"\\u0000"}"#).created();
    assert_eq!(table.values("Name", &[]), ["Ada", r"\u0000"]);
}

fn half_a_surrogate_pair_and_broken_utf_8_are_400(api: &Api) {
    let table = api.table(&["Name"]);
    table.post_text("/rows", r#"{"Name":"\ud83d"}"#).refused(400, "invalid_request");
    table.post_text("/rows", r#"{"\udc00":1}"#).refused(400, "invalid_request");
    let broken = Request::post(table.path("/rows")).header("Content-Type", "application/json");
    api.send(broken.bytes(b"{\"Name\":\"\xff\"}".to_vec())).refused(400, "invalid_json");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
}

fn a_malformed_request_is_refused_and_the_server_lives(api: &Api) {
    let address = &api.address;
    for bytes in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9\r\n\r\n",
        "nonsense with no end at all\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
    ] {
        let mut stream = http::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, bytes.as_bytes()).unwrap();
        let _ = stream.shutdown(std::net::Shutdown::Write);
        if let Ok(response) = http::receive(&mut stream) {
            assert_eq!(response.status, 400, "{bytes:?}");
        }
    }
    // A body that breaks off is not taken for a whole one.
    let table = api.table(&["Name"]);
    let request = api.with_key(Request::post(table.path("/rows")).text(r#"[{"Name":"x"}]"#));
    let request = request.header("Content-Length", "1000");
    let mut stream = http::connect(address).unwrap();
    let sent = format!("{}[{{\"Name\":\"x\"}}]", request.head(address));
    std::io::Write::write_all(&mut stream, sent.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    if let Ok(response) = http::receive(&mut stream) {
        assert_eq!(response.status, 400);
    }
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
}
