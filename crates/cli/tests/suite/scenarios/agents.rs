//! `/mcp`: what an agent can do with the tools, and what it is told where it cannot.

use serde_json::{Value, json};

use crate::harness::agent::messages;
use crate::harness::http::exchange;
use crate::harness::runner::scenarios;
use crate::harness::{Agent, Api, Request, Scenario};

pub(crate) const SHARED: &[Scenario] = &scenarios!("agents", Shared:
    every_version_of_the_protocol_is_spoken,
    what_is_no_message_is_an_error_of_the_protocol,
    thirteen_tools_say_what_they_do,
    tables_go_by_title_or_id,
    a_table_is_made_described_and_filled_by_header,
    unknown_names_are_refused_with_the_nearest,
    rows_are_found_and_read_in_parts,
    rows_are_deleted_only_by_their_count,
    prompts_and_resources_are_offered,
);

const VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

pub(super) fn initialize(version: &str) -> Value {
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": client });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
}

fn what_is_no_message_is_an_error_of_the_protocol(api: &Api) {
    let agent = Agent::new(api);
    let not_json = ["{", "not json", r#"{"jsonrpc":"2.0","id":1,}"#].map(|text| (text, -32_700));
    let no_message =
        ["{}", "[]", "7", r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#].map(|text| (text, -32_600));
    for (text, code) in not_json.into_iter().chain(no_message) {
        let response = agent.post_text(text, &[]);
        let answer = messages(&response).pop().unwrap_or_default();
        assert_eq!((response.status, &answer["error"]["code"]), (400, &json!(code)), "{text}: {answer}");
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &Value::Null), "{answer}");
        assert_eq!(response.header("content-type"), Some("application/json"));
    }
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
    for text in ["{", &list] {
        let request = Request::post("/mcp")
            .bytes(text.as_bytes().to_vec())
            .header("Content-Type", "text/plain")
            .header("Accept", "application/json, text/event-stream");
        assert_eq!(exchange(&api.address, &api.with_key(request)).unwrap().status, 415, "{text}");
    }
}

fn every_version_of_the_protocol_is_spoken(api: &Api) {
    let agent = Agent::new(api);
    for version in VERSIONS {
        let response = agent.post(&initialize(version), &[]);
        let answer = &messages(&response)[0]["result"];
        assert_eq!(answer["protocolVersion"], version, "{answer}");
        assert_eq!(answer["serverInfo"]["name"], "rowmill");
        assert!(answer["serverInfo"]["version"].as_str().unwrap().starts_with("0."), "{answer}");
        assert!(answer["instructions"].as_str().unwrap().contains("dry run"));
        assert_eq!(response.header("mcp-session-id"), None, "nothing is kept between requests");
        assert_eq!(response.header("content-type"), Some("application/json"));
        let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        assert_eq!(agent.post(&initialized, &[("MCP-Protocol-Version", version)]).status, 202);
        let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
        let listed = agent.post(&list, &[("MCP-Protocol-Version", version)]);
        assert_eq!(messages(&listed)[0]["result"]["tools"].as_array().unwrap().len(), 13, "{version}");
    }
    // The newest has no beginning: each request says what it is.
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let newest = |method: &str, name: Option<&str>, mut params: Value| {
        params["_meta"] = meta.clone();
        let message = json!({ "jsonrpc": "2.0", "id": 3, "method": method, "params": params });
        let mut headers = vec![("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method)];
        headers.extend(name.map(|name| ("Mcp-Name", name)));
        let response = agent.post(&message, &headers);
        assert_eq!(response.status, 200, "{method}: {}", String::from_utf8_lossy(&response.body));
        messages(&response)[0]["result"].clone()
    };
    let discovered = newest("server/discover", None, json!({}));
    assert!(
        discovered["supportedVersions"].as_array().unwrap().contains(&json!("2026-07-28")),
        "{discovered}"
    );
    let tools = newest("tools/list", None, json!({}));
    assert_eq!(tools["tools"].as_array().unwrap().len(), 13);
    assert!(tools["ttlMs"].is_u64(), "{tools}");
    let called = newest("tools/call", Some("list_tables"), json!({ "name": "list_tables", "arguments": {} }));
    assert!(called["structuredContent"]["total"].is_u64(), "{called}");
    // Without a session there is nothing to listen to.
    let get = api.with_key(Request::get("/mcp").header("Accept", "text/event-stream"));
    let refused = exchange(&api.address, &get).unwrap();
    assert_eq!((refused.status, refused.header("allow")), (405, Some("POST")));
}

fn thirteen_tools_say_what_they_do(api: &Api) {
    let agent = Agent::new(api);
    let listed = agent.ask("tools/list", json!({}))["tools"].clone();
    let size = listed.to_string().chars().count();
    assert!(size / 4 < 6_000, "{size} characters");
    for tool in listed.as_array().unwrap() {
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(tool["annotations"]["readOnlyHint"].is_boolean(), "{tool}");
        assert!(tool["outputSchema"]["properties"].is_object(), "{tool}");
    }
    let hint = |name: &str, hint: &str| {
        let tool = listed.as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap();
        tool["annotations"][hint].clone()
    };
    assert_eq!(hint("delete_rows", "destructiveHint"), true);
    assert_eq!(hint("run", "openWorldHint"), true);
    assert_eq!(hint("query_rows", "readOnlyHint"), true);

    let reader = Agent::at(api, "/mcp?read_only=true");
    let expected =
        ["describe_table", "get_row", "list_column_kinds", "list_tables", "query_rows", "run_status"];
    assert_eq!(reader.tools(), expected);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "create_table", "arguments": { "title": "No" } } });
    let refused = messages(&reader.post(&message, &[]))[0]["result"].clone();
    assert_eq!(refused["isError"], true, "{refused}");
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("only reads"), "{refused}");

    let unknown =
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "query_row" } });
    let refused = messages(&agent.post(&unknown, &[]))[0]["error"].clone();
    assert_eq!(refused["code"], -32602, "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("query_rows"), "{refused}");
    let misspelt = api.with_key(Request::post("/mcp?readonly=true").json(&initialize("2025-11-25")));
    assert_eq!(
        exchange(&api.address, &misspelt).unwrap().status,
        400,
        "it must not open what it should close"
    );
}

fn tables_go_by_title_or_id(api: &Api) {
    let agent = Agent::new(api);
    let name = |title: &str| format!("{title} {}", api.address);
    let made = agent.does("create_table", json!({ "title": name("Named leads"), "columns": ["Name"] }));
    let id = made["id"].as_str().unwrap();
    for table in [id.to_owned(), name("Named leads"), format!(" {} ", name("named LEADS"))] {
        assert_eq!(agent.does("describe_table", json!({ "table": table }))["id"], id, "{table}");
    }
    let words = agent.refuses("describe_table", json!({ "table": name("Named laeds") }));
    assert!(words.contains(&format!("did you mean {:?}", name("Named leads"))), "{words}");
    let twin = agent.does("create_table", json!({ "title": name("Named leads") }));
    let words = agent.refuses("query_rows", json!({ "table": name("Named leads") }));
    assert!(words.contains("2 tables are called"), "{words}");
    assert!(words.contains(id) && words.contains(twin["id"].as_str().unwrap()), "{words}");
    let listed = agent.does("list_tables", json!({ "search": name("named leads") }));
    assert_eq!((&listed["total"], &listed["tables"][1]["rows"]), (&json!(2), &json!(0)));
    let words = agent.refuses("get_row", json!({ "table": id, "row": "row_0" }));
    assert!(words.contains("query_rows"), "{words}");
}

fn a_table_is_made_described_and_filled_by_header(api: &Api) {
    let agent = Agent::new(api);
    let made = agent.does(
        "create_table",
        json!({ "title": "Companies of agents", "columns": [
            "Company", { "header": "Site" },
            { "header": "Sells", "kind": "ai-text", "settings": { "prompt": "What does @{Company} sell?" },
              "runIf": [{ "column": "Site", "operator": "isNotEmpty" }] },
        ] }),
    );
    let table = made["id"].as_str().unwrap();
    assert_eq!(made["columns"], json!(["Input", "Company", "Site", "Sells"]));
    let told = agent.does("describe_table", json!({ "table": table }));
    let sells = &told["columns"][3];
    assert_eq!(sells["settings"]["prompt"], "What does @{Company} sell?");
    assert_eq!(sells["runIf"][0]["column"], "Site");
    assert_eq!(sells["waitsFor"], json!(["Company"]));
    let whole = agent.does("describe_table", json!({ "table": table, "column": "sells" }));
    assert_eq!(whole["columns"][0]["options"]["retry"]["maxAttempts"], 5);

    // A number keeps its digits, whatever parses it on the way.
    let rows =
        r#"{"table":"TABLE","rows":[{"Company":"Acme","Input":12345678901234567890123},{"Company":"Beta"}]}"#;
    let filled = agent.call_text("upsert_rows", &rows.replace("TABLE", table), &json!({})).content;
    assert_eq!((&filled["inserted"], &filled["updated"]), (&json!(2), &json!(0)));
    let stored = api.get(format!("/v4/projects/{table}/rows")).ok();
    assert_eq!(stored["rows"].as_array().unwrap().len(), 2);
    let row = filled["ids"][0].as_str().unwrap();
    let text = api.get(format!("/v4/projects/{table}/rows/{row}")).text;
    assert!(text.contains("12345678901234567890123"), "{text}");
    let again = json!({ "table": table, "matchOn": "Company", "rows": [{ "Company": "Acme", "Site": "acme.example" }, { "Company": "New" }] });
    let again = agent.does("upsert_rows", again);
    assert_eq!((&again["inserted"], &again["updated"]), (&json!(1), &json!(1)));
    let found = agent.does(
        "query_rows",
        json!({ "table": table, "where": [{ "column": "Company", "operator": "equals", "value": "Acme" }] }),
    );
    assert_eq!(found["rows"][0]["cells"]["Site"], "acme.example");
    assert_eq!(found["rows"][0]["cells"]["Input"], "12345678901234567890123");

    // A column is changed by header, and made only with a kind.
    let set = agent.does(
        "set_column",
        json!({ "table": table, "column": "Sells", "settings": { "prompt": "Who is @{Company}?" }, "rename": "Who" }),
    );
    assert_eq!((&set["created"], &set["column"]["header"]), (&json!(false), &json!("Who")));
    let part = json!({ "table": table, "column": "First letter", "kind": "reference", "settings": { "columnId": "Company", "path": "" } });
    assert_eq!(agent.does("set_column", part)["created"], true);
    let kinds = agent.does("list_column_kinds", json!({}));
    assert!(kinds["kinds"].as_array().unwrap().len() >= 7);
    for kind in kinds["kinds"].as_array().unwrap() {
        let told = agent.does("list_column_kinds", json!({ "kind": kind["kind"] }));
        assert!(told["kinds"][0]["example"]["kind"].is_string(), "{told}");
    }
}

fn unknown_names_are_refused_with_the_nearest(api: &Api) {
    let agent = Agent::new(api);
    let table = api.table(&["Company", "City"]);
    let check = |tool: &str, mut arguments: Value, expected: &[&str]| {
        arguments["table"] = json!(table.id);
        let words = agent.refuses(tool, arguments);
        for part in expected {
            assert!(words.contains(part), "{tool}: {part}: {words}");
        }
    };
    check("query_rows", json!({ "columns": ["Ctiy"] }), &["columns[0]: \"Ctiy\"", "did you mean \"City\"?"]);
    check(
        "query_rows",
        json!({ "were": [], "limit": 0 }),
        &["did you mean \"where\"?", "limit: must be a whole number"],
    );
    let filter = json!([{ "column": "Compny", "operator": "equals", "value": 1 }, { "column": "City", "operator": "equal" }]);
    check(
        "query_rows",
        json!({ "where": filter, "columns": ["X"] }),
        &["where[0].column", "\"Company\"", "columns[0]"],
    );
    check(
        "query_rows",
        json!({ "where": [{ "column": "City", "operator": "equal" }] }),
        &["where[0].operator"],
    );
    check("query_rows", json!({ "cursor": "nope" }), &["cursor"]);
    check(
        "upsert_rows",
        json!({ "rows": [{ "Ctiy": "Rome" }] }),
        &["rows[0].Ctiy", "did you mean \"City\"?"],
    );
    check(
        "upsert_rows",
        json!({ "rows": [{ "City": "Rome" }], "matchOn": "Ciyt" }),
        &["matchOn", "\"City\""],
    );
    check("upsert_rows", json!({ "rows": { "City": "Rome" } }), &["rows: must be a list"]);
    let prompt =
        json!({ "column": "New", "kind": "ai-text", "settings": { "prompt": "Where is @{Compnay}?" } });
    check("set_column", prompt.clone(), &["settings.prompt", "did you mean \"Company\"?"]);
    check("try_column", prompt, &["no rows"]);
    check("set_column", json!({ "column": "New", "kind": "ai-txt" }), &["kind", "did you mean \"ai-text\"?"]);
    check("set_column", json!({ "column": "Citys" }), &["did you mean \"City\"?", "kind"]);
    let settings = json!({ "column": "New", "kind": "ai-text", "settings": { "promt": "x" } });
    check("set_column", settings, &["settings.promt", "did you mean \"prompt\"?"]);
    check("set_column", json!({ "column": "City", "kind": "ai-text" }), &["cannot be changed"]);
    check("run", json!({ "columns": ["City"] }), &["columns[0]", "processed"]);
    check("run", json!({ "statuses": ["eror"] }), &["statuses[0]", "did you mean \"error\"?"]);
    check("stop_run", json!({ "columns": ["Sity"] }), &["did you mean \"City\"?"]);
    assert_eq!(table.headers(), ["Input", "Company", "City"], "nothing was done");
    assert_eq!(table.rows(&[])["pagination"]["totalRows"], 0);
    let columns = json!([{ "header": "A", "kind": "ai-text", "settings": { "prompt": "@{Nothing}" } }]);
    let words = agent.refuses("create_table", json!({ "title": "Never", "columns": columns }));
    assert!(words.contains("columns[0].settings.prompt") && words.contains("is not a column"), "{words}");
}

fn rows_are_found_and_read_in_parts(api: &Api) {
    let agent = Agent::new(api);
    let table = api.table(&["Number", "Text", "List"]);
    let long = "long ".repeat(5_000);
    let rows: Vec<Value> = (0..60)
        .map(|index| json!({ "Number": index, "Text": if index == 7 { long.as_str() } else { "short" }, "List": vec![index; 300] }))
        .collect();
    let ids = table.insert(json!(rows));
    let mut seen = Vec::new();
    let mut arguments =
        json!({ "table": table.id, "limit": 100, "sort": [{ "column": "Number", "direction": "desc" }] });
    loop {
        let page = agent.does("query_rows", arguments.clone());
        assert_eq!(page["total"], 60);
        seen.extend(page["rows"].as_array().unwrap().iter().map(|row| row["cells"]["Number"].clone()));
        match page.get("nextCursor") {
            Some(cursor) => arguments["cursor"] = cursor.clone(),
            None => break,
        }
    }
    assert_eq!(seen, (0..60).rev().map(Value::from).collect::<Vec<_>>(), "each row once, in order");
    let few = agent.does(
        "query_rows",
        json!({ "table": table.id, "columns": ["Number"], "search": "long", "limit": 1 }),
    );
    assert_eq!((&few["total"], &few["rows"][0]["cells"]), (&json!(1), &json!({ "Number": 7 })));
    let larger = json!({ "table": table.id, "limit": 60, "maxChars": 100_000 });
    assert_eq!(agent.does("query_rows", larger)["rows"].as_array().unwrap().len(), 60);

    // A value that is cut says so, and can be read to its end.
    let cut = agent.does("query_rows", json!({ "table": table.id, "search": "long" }));
    assert!(cut["rows"][0]["cells"]["Text"].as_str().unwrap().contains("[cut: 25000 characters"), "{cut}");
    let mut text = String::new();
    let mut offset = 0;
    loop {
        let read = json!({ "table": table.id, "row": ids[7], "columns": ["Text"], "offset": offset });
        let cell = agent.does("get_row", read)["cells"]["Text"].clone();
        text.push_str(cell["value"].as_str().unwrap());
        if cell["cut"]["to"] == cell["cut"]["of"] {
            break;
        }
        offset = cell["cut"]["to"].as_u64().unwrap();
    }
    assert_eq!(text, long);
    let whole = agent.does("get_row", json!({ "table": table.id, "row": ids[3] }));
    assert_eq!(whole["cells"]["Number"], json!({ "value": 3, "status": "idle" }));

    // A wide table, too, is read in parts.
    let headers: Vec<String> =
        (0..150).map(|index| format!("A column with a long header, number {index}")).collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let wide = api.table(&headers);
    let row: Value =
        headers.iter().map(|header| ((*header).to_owned(), json!("some words in a cell"))).collect();
    wide.insert(json!([row]));
    let told = agent.does("describe_table", json!({ "table": wide.id }));
    assert!(told["nextOffset"].as_u64().unwrap() < 151, "{told}");
    let rest = agent.does("describe_table", json!({ "table": wide.id, "offset": told["nextOffset"] }));
    let shown = |part: &Value| part["columns"].as_array().unwrap().len();
    assert!(shown(&told) + shown(&rest) > shown(&told) && told["columnCount"] == 151);
    let page = agent.does("query_rows", json!({ "table": wide.id }));
    assert!(page["rows"][0]["columnsLeftOut"].as_u64().unwrap() > 0, "{page}");
    let row = page["rows"][0]["id"].clone();
    agent.does("get_row", json!({ "table": wide.id, "row": row }));
}

fn rows_are_deleted_only_by_their_count(api: &Api) {
    let agent = Agent::new(api);
    let table = api.table(&["City"]);
    let ids = table.insert(json!([{ "City": "Rome" }, { "City": "Rome" }, { "City": "Oslo" }]));
    let count = || table.rows(&[])["pagination"]["totalRows"].clone();
    let rome = json!([{ "column": "City", "operator": "equals", "value": "Rome" }]);
    let arguments = |more: Value| {
        let mut arguments = json!({ "table": table.id, "where": rome });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let dry = agent.does("delete_rows", arguments(json!({})));
    assert_eq!((&dry["dryRun"], &dry["count"], &dry["estimatedCost"]), (&json!(true), &json!(2), &json!(0)));
    assert_eq!(dry["examples"][0]["cells"]["City"], "Rome");
    let words = agent.refuses("delete_rows", arguments(json!({ "dryRun": false })));
    assert!(words.contains("expectedCount"), "{words}");
    let words = agent.refuses("delete_rows", arguments(json!({ "dryRun": false, "expectedCount": 3 })));
    assert!(words.contains("which is 2"), "{words}");
    assert_eq!(count(), 3);
    let done = agent.does("delete_rows", arguments(json!({ "dryRun": false, "expectedCount": 2 })));
    assert_eq!((&done["count"], count()), (&json!(2), json!(1)));
    let words = agent.refuses("delete_rows", json!({ "table": table.id, "rows": [ids[0]] }));
    assert!(words.contains("rows[0]"), "{words}");
    agent.refuses("delete_rows", json!({ "table": table.id }));
    let last = json!({ "table": table.id, "rows": [ids[2]], "dryRun": false, "expectedCount": 1 });
    assert_eq!((&agent.does("delete_rows", last)["count"], count()), (&json!(1), json!(0)));
}

fn prompts_and_resources_are_offered(api: &Api) {
    let agent = Agent::new(api);
    let prompts = agent.ask("prompts/list", json!({}))["prompts"].clone();
    let names: Vec<&str> =
        prompts.as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["enrich_list", "find_emails", "clean_column"]);
    let prompt =
        agent.ask("prompts/get", json!({ "name": "find_emails", "arguments": { "table": "Leads" } }));
    assert!(prompt["messages"][0]["content"]["text"].as_str().unwrap().contains("table Leads"), "{prompt}");
    let table = api.table(&["Name"]);
    let uri = format!("rowmill://tables/{}/schema", table.id);
    let listed = agent.ask("resources/list", json!({}))["resources"].clone();
    assert!(listed.as_array().unwrap().iter().any(|resource| resource["uri"] == uri), "{listed}");
    let templates = agent.ask("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"][0]["uriTemplate"], "rowmill://tables/{tableId}/schema");
    let read = agent.ask("resources/read", json!({ "uri": uri }));
    let schema: Value = serde_json::from_str(read["contents"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(schema["columns"][1]["header"], "Name");
    let missing = json!({ "jsonrpc": "2.0", "id": 1, "method": "resources/read",
        "params": { "uri": "rowmill://tables/proj_0190f0e0a1b27c3d8e4f0123456789ab/schema" } });
    assert!(messages(&agent.post(&missing, &[]))[0]["error"]["message"].is_string());
}
