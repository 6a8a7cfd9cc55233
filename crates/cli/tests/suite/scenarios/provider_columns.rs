//! Contract sections 5 and 11: columns that call providers, and what they make of the answers.

use serde_json::{Value, json};

use super::processing::{asks, run, started};
use crate::harness::runner::scenarios;
use crate::harness::stub_server::{Reply, Seen, ok};
use crate::harness::{Request, Scenario, Server, StubServer, Table};

pub(crate) const OWN: &[Scenario] = &scenarios!("outside", Own:
    a_model_answers_a_prompt,
    an_answer_that_must_be_json_is_checked_and_repaired_once,
    anthropic_is_asked_in_its_own_words,
    a_request_says_what_its_column_says,
    an_answer_means_what_its_status_says,
    a_path_that_finds_too_much_is_told,
    finders_are_asked_in_order_until_one_is_sure,
    a_finder_without_credits_is_not_asked_again,
    a_person_needs_a_name_and_a_domain,
    a_page_becomes_markdown,
    a_hostile_server_costs_one_cell,
    a_table_reaches_no_private_address,
    what_is_not_configured_is_told,
    identical_requests_are_made_once_and_kept,
    no_key_or_secret_is_seen_whatever_is_answered,
);

const MODEL: (&str, &str) = ("ROWMILL_AI_MODEL", "small-1");

fn chat(content: &str) -> Reply {
    ok(json!({
        "model": "small-1-2026", "choices": [{ "message": { "content": content }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 12, "completion_tokens": 3 },
    }))
}

fn ask_model(table: &Table, template: &str, config: Value) -> String {
    table.add_column(json!({ "templateId": template, "header": "Answer", "aiConfig": config }))
}

fn code(cell: &Value) -> &str {
    cell["error"]["code"].as_str().unwrap_or("none")
}

fn a_model_answers_a_prompt() {
    let model = StubServer::start(|_, _| chat(" Countess \n"));
    let server =
        started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), ("ROWMILL_OPENAI_API_KEY", "sk-1"), MODEL]);
    let table = server.api().table(&["Name"]);
    let config =
        json!({ "prompt": "Who is @{Name}?", "system": "Be brief.", "temperature": 0.5, "maxTokens": 50 });
    let column = ask_model(&table, "ai-text", config);
    let ids = table.insert(json!([{ "Name": "Ada \"L\"" }]));
    run(&table, json!({}));
    let cell = table.cells(&ids[0])[&column].clone();
    assert!(cell["value"].as_str().unwrap().contains("Countess"), "{cell}");
    let meta = &cell["meta"];
    assert_eq!((&meta["provider"], &meta["model"]), (&json!("openai"), &json!("small-1-2026")));
    assert_eq!((&meta["inputTokens"], &meta["outputTokens"]), (&json!(12), &json!(3)), "{meta}");
    assert!(meta["milliseconds"].is_u64(), "{meta}");
    let asked = &model.seen()[0];
    assert_eq!(
        (asked.path.as_str(), &asked.headers["authorization"]),
        ("/v1/chat/completions", &"Bearer sk-1".to_owned())
    );
    let body = asked.json();
    assert_eq!((&body["model"], &body["temperature"]), (&json!("small-1"), &json!(0.5)));
    assert_eq!(body["messages"][0]["content"], "Be brief.");
    assert_eq!(body["messages"][1]["content"], "Who is Ada \"L\"?");
}

fn an_answer_that_must_be_json_is_checked_and_repaired_once() {
    let model = StubServer::start(|seen, _| {
        let body = seen.body.clone();
        let is_repair = seen.json()["messages"].as_array().is_some_and(|turns| turns.len() > 1);
        if body.contains("hopeless") || body.contains("mended") && !is_repair {
            chat("{\"age\": \"old\"}")
        } else {
            chat("```json\n{\"age\": 36}\n```")
        }
    });
    let server = started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), MODEL]);
    let table = server.api().table(&["Name"]);
    let schema =
        json!({ "type": "object", "required": ["age"], "properties": { "age": { "type": "integer" } } });
    let column = ask_model(&table, "ai-json", json!({ "prompt": "@{Name}", "outputSchema": schema }));
    let ids = table.insert(json!([{ "Name": "plain" }, { "Name": "mended" }, { "Name": "hopeless" }]));
    run(&table, json!({}));
    assert_eq!(table.value(&ids[0], &column), json!({ "age": 36 }));
    assert_eq!(table.value(&ids[1], &column), json!({ "age": 36 }));
    let cell = table.cells(&ids[2])[&column].clone();
    assert_eq!((code(&cell), &cell["status"]), ("invalid_output", &json!("error")));
    assert_eq!(model.count(), 5, "a repair is asked for once");
}

fn anthropic_is_asked_in_its_own_words() {
    let model = StubServer::start(|_, _| {
        ok(json!({
            "model": "claude-x", "content": [{ "type": "text", "text": "Hello" }], "stop_reason": "end_turn",
            "usage": { "input_tokens": 5, "output_tokens": 1 },
        }))
    });
    let server =
        started(&[("ROWMILL_ANTHROPIC_BASE_URL", &model.url("")), ("ROWMILL_ANTHROPIC_API_KEY", "ak-1")]);
    let table = server.api().table(&["Name"]);
    let column =
        ask_model(&table, "ai-text", json!({ "prompt": "Hi", "provider": "anthropic", "model": "claude-x" }));
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    run(&table, json!({}));
    assert_eq!(table.value(&ids[0], &column), "Hello");
    let asked = &model.seen()[0];
    assert_eq!((asked.path.as_str(), &asked.headers["x-api-key"]), ("/v1/messages", &"ak-1".to_owned()));
    assert!(asked.headers.contains_key("anthropic-version"));
}

fn a_request_says_what_its_column_says() {
    let stub_server = StubServer::start(|_, _| {
        Reply::With(200, vec![], r#"{"data":[{"id":12345678901234567890.10}]}"#.to_owned())
    });
    let server = started(&[]);
    let api = server.api();
    let secret = Request::new("PUT", "/v4/team/secrets/TOKEN").json(&json!({ "value": "s3cret" }));
    api.send(secret).ok();
    let table = api.table(&["Name", "Facts"]);
    let column = asks(
        &table,
        "Told",
        &stub_server,
        "/people/@{Name}?fixed=1",
        json!({ "apiConfig": {
        "method": "POST", "headers": { "X-Token": "@{secret.TOKEN}" }, "query": { "q": "@{Name}&x" },
        "body": { "name": "@{Name}", "text": "Hi @{Name}!", "facts": "@{Facts}", "n": 1 },
        "responsePath": "data[0].id",
    } }),
    );
    let ids = table.insert(json!([{ "Name": "A/b c", "Facts": { "k": [1] } }]));
    let climber = table.insert(json!([{ "Name": ".." , "Facts": 1 }]));
    run(&table, json!({}));
    assert_eq!(code(&table.cells(&climber[0])[&column]), "invalid_input", "it would lead elsewhere");
    assert!(
        table.get(&format!("/rows/{}", ids[0])).text.contains("12345678901234567890.10"),
        "digits are kept"
    );
    assert_eq!(table.cells(&ids[0])[&column]["status"], "completed");
    let asked = &stub_server.seen()[0];
    assert_eq!(
        (asked.method.as_str(), asked.path.as_str()),
        ("POST", "/people/A%2Fb%20c?fixed=1&q=A%2Fb+c%26x")
    );
    assert_eq!(asked.headers["x-token"], "s3cret");
    let body = asked.json();
    assert_eq!((&body["name"], &body["text"], &body["n"]), (&json!("A/b c"), &json!("Hi A/b c!"), &json!(1)));
}

fn a_path_that_finds_too_much_is_told() {
    let deep = format!("{}{}{}", "[".repeat(58), ["0"; 1_000].join(","), "]".repeat(58));
    let answer = deep.clone();
    let outside = StubServer::start(move |_, _| Reply::With(200, vec![], answer.clone()));
    let model = StubServer::start(|_, _| chat("never"));
    let server = started(&[("ROWMILL_OPENAI_BASE_URL", &model.url("/v1")), MODEL]);
    let table = server.api().table(&["Facts"]);
    let many = format!("$..*..[{}]", ["*"; 64].join(","));
    let asked = ask_model(&table, "ai-text", json!({ "prompt": format!("What is in @{{Facts.{many}}}?") }));
    let told = asks(&table, "Told", &outside, "/", json!({ "apiConfig": { "responsePath": many } }));
    let reference = json!({ "columnId": "Facts", "path": many });
    let shown = table
        .add_column(json!({ "templateId": "reference", "header": "Shown", "referenceConfig": reference }));
    let body = format!(r#"{{"Facts":{deep}}}"#);
    let id = table.post_text("/rows", &body).created()["rows"][0].as_str().unwrap().to_owned();
    run(&table, json!({}));
    let cells = table.cells(&id);
    for (column, status) in [(&asked, "error"), (&told, "error"), (&shown, "idle")] {
        let cell = &cells[column];
        assert_eq!((code(cell), &cell["status"]), ("too_large", &json!(status)), "{cell}");
        assert!(cell["error"]["message"].as_str().unwrap().contains("finds too much"), "{cell}");
    }
    assert_eq!((model.count(), outside.count()), (0, 1));
    table.patch(&format!("/rows/{id}"), json!({ "Facts": [[1]] })).ok();
    let cell = table.cells(&id)[&shown].clone();
    assert_eq!((code(&cell), &cell["status"]), ("none", &json!("completed")), "{cell}");
}

fn an_answer_means_what_its_status_says() {
    let stub_server = StubServer::start(|seen: &Seen, _| {
        let status: u16 = seen.path.trim_start_matches('/').parse().unwrap_or(200);
        Reply::With(status, vec![("Retry-After", "0".to_owned())], "{\"error\":\"Because\"}".to_owned())
    });
    let server = started(&[]);
    let table = server.api().table(&["Status"]);
    let column = asks(&table, "Told", &stub_server, "/@{Status}", json!({ "retry": { "maxAttempts": 2 } }));
    let expected = [
        (400, "provider_error", 1),
        (401, "invalid_credentials", 1),
        (402, "out_of_credits", 1),
        (403, "invalid_credentials", 1),
        (408, "timed_out", 2),
        (418, "provider_error", 1),
        (429, "rate_limited", 2),
        (500, "provider_error", 2),
        (503, "provider_error", 2),
        (404, "none", 1),
        (201, "none", 1),
    ];
    let rows: Vec<Value> = expected.iter().map(|(status, _, _)| json!({ "Status": status })).collect();
    let ids = table.insert(rows.into());
    run(&table, json!({}));
    for (id, (status, expected, attempts)) in ids.iter().zip(expected) {
        let cell = table.cells(id)[&column].clone();
        assert_eq!((code(&cell), &cell["attempts"]), (expected, &json!(attempts)), "{status}: {cell}");
    }
    let nothing = table.cells(&ids[9])[&column].clone();
    assert_eq!(
        (&nothing["value"], &nothing["outcome"], &nothing["status"]),
        (&Value::Null, &json!("no_data"), &json!("completed"))
    );
}

/// A table with a waterfall of these finders, and the person it looks for.
pub(super) fn waterfall(server: &Server, finders: &[&str]) -> (Table, String) {
    let table = server.api().table(&["Name", "Domain"]);
    let providers: Vec<Value> = finders
        .iter()
        .enumerate()
        .map(|(order, name)| json!({ "id": format!("{name}-default"), "taskType": name, "enabled": true, "order": order }))
        .collect();
    let column = table.add_column(json!({ "templateId": "waterfall-email", "header": "Email", "taskConfig": {
        "taskType": "waterfallEmail", "waterfallEmail": {
            "waterfallType": "email", "providers": providers,
            "inputMapping": { "first_name": "", "last_name": "", "full_name": "@{Name}", "domain": "@{Domain}" },
        },
    } }));
    (table, column)
}

fn finders_are_asked_in_order_until_one_is_sure() {
    let hunter = StubServer::start(|seen, _| {
        let email = if seen.path.contains("Guess") { json!("guess@acme.test") } else { Value::Null };
        ok(json!({ "data": { "email": email, "score": 40, "verification": { "status": "accept_all" } } }))
    });
    let findymail = StubServer::start(|seen, _| {
        if seen.body.contains("Ada") {
            ok(json!({ "contact": { "email": "ada@acme.test", "name": "Ada", "domain": "acme.test" } }))
        } else {
            Reply::Json(404, json!({ "error": "Not found" }))
        }
    });
    let server = started(&[
        ("ROWMILL_HUNTER_BASE_URL", &hunter.url("")),
        ("ROWMILL_HUNTER_API_KEY", "h"),
        ("ROWMILL_FINDYMAIL_BASE_URL", &findymail.url("")),
        ("ROWMILL_FINDYMAIL_API_KEY", "f"),
    ]);
    let (table, column) = waterfall(&server, &["hunter", "findymail"]);
    let ids = table.insert(json!([
        { "Name": "Ada Lovelace", "Domain": "https://www.acme.test/about" }, { "Name": "Guess Who", "Domain": "acme.test" },
        { "Name": "No Body", "Domain": "x@acme.test" },
    ]));
    run(&table, json!({}));
    let found = table.cells(&ids[0])[&column].clone();
    assert_eq!(
        (&found["value"], &found["meta"]["provider"]),
        (&json!("ada@acme.test"), &json!("findymail")),
        "{found}"
    );
    let tried = &found["meta"]["tried"];
    assert_eq!(
        (&tried[0]["id"], &tried[1]["id"]),
        (&json!("hunter-default"), &json!("findymail-default")),
        "{tried}"
    );
    assert!(tried[0]["outcome"].is_string() && tried[0]["milliseconds"].is_u64(), "{tried}");
    let guess = table.cells(&ids[1])[&column].clone();
    assert_eq!(
        (&guess["value"], &guess["meta"]["verified"]),
        (&json!("guess@acme.test"), &json!(false)),
        "{guess}"
    );
    let none = table.cells(&ids[2])[&column].clone();
    assert_eq!(
        (&none["value"], &none["outcome"], &none["status"]),
        (&Value::Null, &json!("no_data"), &json!("completed"))
    );
}

fn a_finder_without_credits_is_not_asked_again() {
    let hunter =
        StubServer::start(|_, _| Reply::Json(402, json!({ "errors": [{ "id": "payment_required" }] })));
    let server = started(&[
        ("ROWMILL_HUNTER_BASE_URL", &hunter.url("")),
        ("ROWMILL_HUNTER_API_KEY", "h"),
        ("ROWMILL_WORKER_CONCURRENCY", "1"),
    ]);
    let (table, column) = waterfall(&server, &["hunter", "findymail"]);
    let rows: Vec<Value> =
        (0..5).map(|n| json!({ "Name": format!("Ada N{n}"), "Domain": "acme.test" })).collect();
    let ids = table.insert(rows.into());
    run(&table, json!({}));
    assert_eq!(hunter.count(), 1, "it has said that the account is empty");
    let cell = table.cells(&ids[4])[&column].clone();
    assert_eq!(cell["status"], "error", "{cell}");
    assert!(["out_of_credits", "missing_credentials"].contains(&code(&cell)), "{cell}");
}

fn a_person_needs_a_name_and_a_domain() {
    let server = started(&[]);
    let (table, column) = waterfall(&server, &["hunter"]);
    let ids =
        table.insert(json!([{ "Name": "Ada", "Domain": "nowhere" }, { "Name": "Ada L", "Domain": "" }]));
    run(&table, json!({}));
    for id in &ids {
        let cell = table.cells(id)[&column].clone();
        assert_eq!((&cell["status"], code(&cell)), (&json!("skipped"), "missing_input"), "{cell}");
    }
}

const PAGE: &str = "<html lang=en><head><title>Mills &amp; rows</title><meta name=description content='About mills'></head>\
    <body><nav><a href=/a>Menu</a></nav><article><h1>Of mills</h1><p>A mill grinds corn, slowly and with great care, \
    as mills have done for many hundreds of years in this valley.</p><p>Its wheel is turned by <a href='/water'>water</a>, \
    which comes down from the hills and goes on to the sea, and nobody has ever found a better way of doing it.</p>\
    </article></body></html>";

fn a_page_becomes_markdown() {
    let stub_server = StubServer::start(|seen, _| {
        let html = |body: &str| {
            Reply::With(200, vec![("Content-Type", "text/html; charset=utf-8".to_owned())], body.to_owned())
        };
        match seen.path.as_str() {
            "/robots.txt" => Reply::With(
                200,
                vec![("Content-Type", "text/plain".to_owned())],
                "User-agent: *\nDisallow: /closed".to_owned(),
            ),
            "/moved" => Reply::With(302, vec![("Location", "/page".to_owned())], String::new()),
            "/gone" => Reply::Json(404, json!({})),
            "/file" => {
                Reply::With(200, vec![("Content-Type", "application/pdf".to_owned())], "%PDF".to_owned())
            }
            "/deep" => html(&"<div>".repeat(100_000)),
            _ => html(PAGE),
        }
    });
    let server = started(&[]);
    let table = server.api().table(&["Site"]);
    let column = table.add_column(json!({ "templateId": "web-scraper", "header": "Page", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "@{Site}", "formats": ["markdown", "links"] },
    } }));
    let paths = ["/moved", "/closed/x", "/gone", "/file", "/deep"];
    let rows: Vec<Value> = paths.iter().map(|path| json!({ "Site": stub_server.url(path) })).collect();
    let ids = table.insert(rows.into());
    run(&table, json!({}));
    let page = table.value(&ids[0], &column);
    let markdown = page["markdown"].as_str().unwrap_or_default();
    assert!(markdown.contains("grinds corn") && !markdown.contains("Menu"), "{page}");
    let metadata = &page["metadata"];
    assert_eq!(
        (&metadata["title"], &metadata["description"]),
        (&json!("Mills & rows"), &json!("About mills"))
    );
    assert_eq!((&metadata["language"], &metadata["statusCode"]), (&json!("en"), &json!(200)));
    assert_eq!(
        (&metadata["sourceURL"], &page["url"]),
        (&json!(stub_server.url("/moved")), &json!(stub_server.url("/page")))
    );
    assert!(page["links"].as_array().unwrap().contains(&json!(stub_server.url("/water"))), "{page}");
    let cell = |index: usize| table.cells(&ids[index])[&column].clone();
    assert_eq!(code(&cell(1)), "blocked", "robots.txt forbids it");
    assert_eq!(code(&cell(2)), "provider_error");
    assert_eq!(code(&cell(3)), "invalid_output");
    assert!(["completed", "error"].contains(&cell(4)["status"].as_str().unwrap()), "{}", cell(4));
    server.api().get("/v4/team").ok();
}

fn a_hostile_server_costs_one_cell() {
    let stub_server = StubServer::start(|seen, _| match seen.path.as_str() {
        "/hang" => Reply::Hang,
        "/garbage" => Reply::Raw(b"\x00\xffgarbage\r\n\r\n".to_vec()),
        "/short" => Reply::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec()),
        "/trickle" => Reply::Trickle,
        "/endless" => Reply::Endless,
        "/loop" => Reply::With(302, vec![("Location", "/loop".to_owned())], String::new()),
        "/deep" => Reply::With(200, vec![], "[".repeat(100_000)),
        "/nojson" => Reply::With(200, vec![], "{\"half\": ".to_owned()),
        _ => ok(json!("fine")),
    });
    let server = started(&[]);
    let table = server.api().table(&["Path"]);
    let config = json!({ "apiConfig": { "timeoutSeconds": 1 }, "retry": { "maxAttempts": 2 } });
    let column = asks(&table, "Told", &stub_server, "/", config);
    let url = format!("{}@{{Path}}", stub_server.url("/"));
    table.patch(&format!("/columns/{column}"), json!({ "apiConfig": { "url": url } })).ok();
    let expected = [
        ("hang", "provider_error"),
        ("garbage", "provider_error"),
        ("short", "provider_error"),
        ("trickle", "timed_out"),
        ("endless", "too_large"),
        ("loop", "provider_error"),
        ("fine", "none"),
    ];
    let mut rows: Vec<Value> = expected.iter().map(|(path, _)| json!({ "Path": path })).collect();
    rows.push(json!({ "Path": "deep" }));
    rows.push(json!({ "Path": "nojson" }));
    let ids = table.insert(rows.into());
    run(&table, json!({}));
    for (id, (path, expected)) in ids.iter().zip(expected) {
        let cell = table.cells(id)[&column].clone();
        assert_eq!(code(&cell), expected, "{path}: {cell}");
    }
    for id in &ids[expected.len()..] {
        assert_ne!(table.cells(id)[&column]["status"], "generating");
    }
}

fn a_table_reaches_no_private_address() {
    let inside = StubServer::start(|_, _| ok(json!("treasure")));
    let port = inside.url("").rsplit(':').next().unwrap().to_owned();
    let server = Server::start(&[]);
    let table = server.api().table(&["Url"]);
    let asks = table.add_column(json!({
        "templateId": "http-api", "header": "Asks", "apiConfig": { "url": "http://@{Url}/" },
    }));
    let scrapes = table.add_column(json!({ "templateId": "web-scraper", "header": "Scrapes", "taskConfig": {
        "taskType": "webScraper", "webScraper": { "url": "http://@{Url}/" },
    } }));
    let hosts =
        ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1", "0.0.0.0", "169.254.169.254", "10.0.0.1"];
    let rows: Vec<Value> = hosts.iter().map(|host| json!({ "Url": format!("{host}:{port}") })).collect();
    let ids = table.insert(rows.into());
    run(&table, json!({}));
    for (id, host) in ids.iter().zip(hosts) {
        for column in [&asks, &scrapes] {
            let cell = table.cells(id)[column].clone();
            assert!(["blocked", "invalid_input"].contains(&code(&cell)), "{host}: {cell}");
        }
    }
    assert_eq!(inside.count(), 0);
}

fn what_is_not_configured_is_told() {
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let model = ask_model(&table, "ai-text", json!({ "prompt": "@{Name}" }));
    let secret = table.add_column(json!({
        "templateId": "http-api", "header": "Secret",
        "apiConfig": { "url": "http://127.0.0.1:9/", "headers": { "X": "@{secret.NOT_THERE}" } },
    }));
    let ids = table.insert(json!([{ "Name": "Ada" }]));
    run(&table, json!({}));
    let cells = table.cells(&ids[0]);
    assert_eq!(code(&cells[&model]), "missing_credentials", "{}", cells[&model]);
    assert_eq!(code(&cells[&secret]), "missing_credentials", "{}", cells[&secret]);
    assert!(cells[&secret]["error"]["message"].as_str().unwrap().contains("NOT_THERE"));
}

fn identical_requests_are_made_once_and_kept() {
    let stub_server = StubServer::start(|_, number| ok(json!(number)));
    let server = started(&[]);
    let table = server.api().table(&["Name"]);
    let column = asks(&table, "Told", &stub_server, "/@{Name}", json!({ "cacheTtlSeconds": 600 }));
    let rows: Vec<Value> = (0..20).map(|_| json!({ "Name": "same" })).collect();
    let ids = table.insert(rows.into());
    run(&table, json!({}));
    assert_eq!((stub_server.count(), table.value(&ids[19], &column)), (1, json!(0)));
    let more = table.insert(json!([{ "Name": "same" }]));
    run(&table, json!({}));
    assert_eq!((stub_server.count(), table.value(&more[0], &column)), (1, json!(0)));
    table.insert(json!([{ "Name": "other" }]));
    run(&table, json!({}));
    assert_eq!(stub_server.count(), 2);
}

const CANARIES: [&str; 4] = ["canary-sk-openai-1", "canary-hunter-2", "canary-team-3", "canary-secret-4"];

fn no_key_or_secret_is_seen_whatever_is_answered() {
    // A server that says back everything it was told, as an error.
    let echo = StubServer::start(|seen, _| {
        Reply::Json(
            400,
            json!({ "error": { "message": format!("{:?} {} {}", seen.headers, seen.path, seen.body) } }),
        )
    });
    let server = started(&[
        ("ROWMILL_OPENAI_BASE_URL", &echo.url("/v1")),
        ("ROWMILL_OPENAI_API_KEY", CANARIES[0]),
        MODEL,
        ("ROWMILL_HUNTER_BASE_URL", &echo.url("")),
        ("ROWMILL_HUNTER_API_KEY", CANARIES[1]),
        ("ROWMILL_LOG", "debug"),
    ]);
    let api = server.api();
    let put = |path: &str, body: Value| api.send(Request::new("PUT", path).json(&body)).ok();
    put("/v4/team/providers/findymail", json!({ "apiKey": CANARIES[2], "baseUrl": echo.url("") }));
    put("/v4/team/secrets/TOKEN", json!({ "value": CANARIES[3] }));
    let (table, waterfall) = waterfall(&server, &["hunter", "findymail"]);
    let model = ask_model(&table, "ai-text", json!({ "prompt": "@{Name}" }));
    let request = asks(
        &table,
        "Told",
        &echo,
        "/?key=@{secret.TOKEN}",
        json!({ "apiConfig": {
        "headers": { "X-Key": "@{secret.TOKEN}" }, "body": { "key": "@{secret.TOKEN}" }, "method": "POST",
    } }),
    );
    let ids = table.insert(json!([{ "Name": "Ada Lovelace", "Domain": "acme.test" }]));
    run(&table, json!({}));
    let mut told = vec![
        table.get(&format!("/rows/{}", ids[0])).text,
        table.get("/columns").text,
        table.get("/status").text,
        server.metrics(),
        api.get("/v4/team/providers").text,
        server.printed(),
        std::fs::read_to_string(server.folder().path().join("log")).unwrap(),
    ];
    told.push(table.get("/events?seconds=0").text);
    for entry in std::fs::read_dir(server.folder().data()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap_or_default();
        told.push(String::from_utf8_lossy(&bytes).into_owned());
    }
    let sent = format!("{:?}", echo.seen());
    for canary in CANARIES {
        assert!(sent.contains(canary), "{canary} was never used");
        for text in &told {
            let at = text.find(canary);
            assert!(at.is_none(), "{canary} is seen in {}", &text[at.unwrap().saturating_sub(300)..]);
        }
    }
    for column in [waterfall, model, request] {
        assert_eq!(table.cells(&ids[0])[&column]["status"], "error");
    }
}
