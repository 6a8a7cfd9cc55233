//! Contract sections 1 and 3: what is beside the API, and what every answer has.

use std::io::{Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::runner::scenarios;
use crate::harness::{Api, Request, Scenario, Server, eventually, http, server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("system", Shared:
    health_needs_no_key_and_metrics_need_their_token,
    the_document_is_openapi_3_0_3_and_what_the_command_prints,
    the_docs_page_fetches_nothing_from_elsewhere,
    the_team_and_the_limits_are_told,
    every_answer_has_a_request_id_the_callers_if_it_is_fit,
    answers_are_kept_by_nobody_else_and_taken_for_nothing_else,
    cors_is_off_by_default,
    a_connection_serves_many_requests,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("system", Own:
    logs_carry_the_request_id_and_no_secret,
    log_lines_say_who_called_and_from_where,
    everything_said_in_json_mode_has_one_shape,
);

fn health_needs_no_key_and_metrics_need_their_token(api: &Api) {
    let anonymous = server::shared().api_without_key();
    anonymous.get("/healthz").ok();
    anonymous.get("/readyz").ok();
    api.get("/v4/team").ok();
    anonymous.get("/metrics").refused(401, "unauthenticated");
    api.get("/metrics").refused(401, "unauthenticated");
    let metrics = server::shared().metrics();
    let counted = metrics.lines().find(|line| {
        line.starts_with("rowmill_http_requests_total") && line.contains("/v4/team") && line.contains("200")
    });
    assert!(counted.is_some(), "{metrics}");
    for line in metrics.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(!line.contains("proj_"), "{line}");
    }
}

fn the_document_is_openapi_3_0_3_and_what_the_command_prints(_: &Api) {
    let anonymous = server::shared().api_without_key();
    let answer = anonymous.get("/openapi.json");
    assert_eq!(answer.json["openapi"], "3.0.3");
    let printed = server::shared().command(&["openapi"]);
    assert!(printed.status.success());
    let printed: Value = serde_json::from_slice(&printed.stdout).unwrap();
    assert_eq!(printed, answer.json);
    // Sent once, then only confirmed.
    let tag = answer.header("ETag").unwrap();
    let again = anonymous.send(Request::get("/openapi.json").header("If-None-Match", tag));
    assert_eq!((again.status(), again.text.as_str()), (304, ""));
}

fn the_docs_page_fetches_nothing_from_elsewhere(_: &Api) {
    let page = server::shared().api_without_key().get("/docs");
    assert_eq!(page.status(), 200);
    let policy = page.header("Content-Security-Policy").unwrap();
    assert!(policy.contains("default-src 'none'"), "{policy}");
    for attribute in ["src=\"", "href=\"", "url(", "@import"] {
        for (_, after) in
            page.text.match_indices(attribute).map(|(at, _)| page.text.split_at(at + attribute.len()))
        {
            let target = after.split(['"', ')']).next().unwrap();
            assert!(!target.contains(':') && !target.starts_with("//"), "{attribute}{target}");
        }
    }
    for operation in ["listProjects", "insertRows", "updateCells"] {
        assert!(page.text.contains(operation), "{operation}");
    }
}

fn the_team_and_the_limits_are_told(api: &Api) {
    let team = api.get("/v4/team").ok()["team"].clone();
    let webhook = format!("http://{}/webhooks/eventplatform/{}", api.address, team["id"].as_str().unwrap());
    assert_eq!(team["webhookUrl"], webhook);
    assert_eq!(team["slug"], "default");
    let limits = api.get("/v4/limits").ok()["limits"].clone();
    for (name, number) in [
        ("pageSizeDefault", 50),
        ("pageSizeMax", 1_000),
        ("insertRowsMax", 10_000),
        ("cellsBatchMax", 10_000),
        ("patchCellsMax", 200_000),
        ("rowIdsMax", 100_000),
        ("columnsMax", 500),
        ("filtersMax", 100),
        ("secretsMax", 100),
        ("keysMax", 1_000),
        ("webhooksMax", 20),
        ("webhookBacklogBytesMax", 32 << 20),
        ("teamsMax", 10_000),
        ("importBytesMax", 1 << 30),
        ("importRowBytesMax", 8 << 20),
        ("importRejectedMax", 10_000),
        ("importFieldsMax", 50_000),
        ("importFieldNamesBytesMax", 4 << 20),
        ("cellBytesMax", 1 << 20),
        ("bodyBytesMax", 32 << 20),
        ("nestingMax", 64),
    ] {
        assert_eq!(limits[name], number, "{name}");
    }
}

fn every_answer_has_a_request_id_the_callers_if_it_is_fit(api: &Api) {
    let table = api.table(&[]);
    let paths =
        ["/v4/projects", "/v4/nope", "/healthz", "/docs", "/openapi.json", "/metrics", "/v4/projects/x"];
    for path in paths.into_iter().map(str::to_owned).chain([table.path("/rows"), table.path("/rows?page=0")])
    {
        for id in ["a", "A.b_c-9", &"x".repeat(128)] {
            let answer = api.send(Request::get(path.clone()).header("X-Request-Id", id));
            assert_eq!(answer.header("X-Request-Id"), Some(id), "{path}");
        }
        for id in ["", "a b", "é", "a/b", &"x".repeat(129), "\"", "a,b"] {
            let answer = api.send(Request::get(path.clone()).header("X-Request-Id", id));
            let own = answer.header("X-Request-Id").unwrap();
            assert!(!own.is_empty() && own != id, "{path} {id:?} {own:?}");
        }
    }
    let wrong_method = api.send(Request::new("PUT", "/v4/projects").header("X-Request-Id", "mine"));
    assert_eq!(wrong_method.header("X-Request-Id"), Some("mine"));
    let one = api.get("/v4/team").header("X-Request-Id").unwrap().to_owned();
    assert_ne!(api.get("/v4/team").header("X-Request-Id"), Some(one.as_str()));
}

fn answers_are_kept_by_nobody_else_and_taken_for_nothing_else(api: &Api) {
    let table = api.table(&["Name"]);
    let paths = ["/v4/team", "/v4/projects", "/v4/keys", "/v4/projects/nope", "/v3/default/projects"];
    let of_table = ["", "/rows", "/columns", "/export", "/status"].map(|rest| api.path_in(&table.id, rest));
    for path in paths.iter().map(|path| (*path).to_owned()).chain(of_table) {
        let answer = api.get(path.as_str());
        assert_eq!(answer.header("Cache-Control"), Some("private, no-cache"), "{path}");
    }
    for path in ["/healthz", "/openapi.json", "/docs", "/metrics", "/v4/team", "/nope", "/", "/session"] {
        let answer = http::exchange(&api.address, &Request::get(path)).unwrap();
        assert_eq!(answer.header("X-Content-Type-Options"), Some("nosniff"), "{path}");
    }
    for path in ["/v4/team", "/", "/session"] {
        let request = Request::get(path).header("Cookie", "none=1");
        let answer = if path == "/v4/team" {
            api.get(path).header("Vary").map(str::to_owned)
        } else {
            let answer = http::exchange(&api.address, &request).unwrap();
            answer.header("Vary").map(str::to_owned)
        };
        let names = answer.unwrap_or_default().to_lowercase();
        assert!(names.contains("x-forwarded-host") && names.contains("forwarded"), "{path}: {names}");
    }
}

fn cors_is_off_by_default(api: &Api) {
    let answer = api.send(Request::get("/v4/team").header("Origin", "https://app.example"));
    assert_eq!(answer.header("Access-Control-Allow-Origin"), None);
    let preflight = Request::new("OPTIONS", "/v4/projects")
        .header("Origin", "https://app.example")
        .header("Access-Control-Request-Method", "POST");
    api.send(preflight).refused(405, "method_not_allowed");
    api.post("/v4/projects", json!({ "title": "x" })).created();
}

fn a_connection_serves_many_requests(api: &Api) {
    let request = api.with_key(Request::get("/v4/team"));
    let last = request.head(&api.address);
    let more = last.replace("Connection: close\r\n", "");
    let mut stream = http::connect(&api.address).unwrap();
    stream.write_all([more.as_str(), &more, &last].concat().as_bytes()).unwrap();
    let mut answers = String::new();
    stream.read_to_string(&mut answers).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3, "{answers}");
}

fn logs_carry_the_request_id_and_no_secret() {
    let server = Server::start(&[("ROWMILL_LOG", "info"), ("ROWMILL_LOG_FORMAT", "json")]);
    let api = server.api();
    let key = api.with_key(Request::get("/")).headers.remove(0).1.replace("Bearer ", "");
    api.send(Request::get("/v4/team").header("X-Request-Id", "find-me-1")).ok();
    api.send(Request::get("/v4/projects/nope").header("X-Request-Id", "find-me-2"))
        .refused(404, "project_not_found");
    let guess = Request::get("/v4/team").header("Authorization", "Bearer rm_guessed_secret");
    api.send(guess).refused(403, "invalid_api_key");
    let log = eventually("the log has both", Duration::from_secs(10), || {
        let log = std::fs::read_to_string(server.folder().path().join("log")).unwrap();
        (log.contains("find-me-1") && log.contains("find-me-2")).then_some(log)
    });
    let line: Value =
        log.lines().find(|line| line.contains("find-me-2")).map(serde_json::from_str).unwrap().unwrap();
    let fields = &line["fields"];
    assert_eq!((&fields["status"], &fields["request_id"]), (&json!(404), &json!("find-me-2")), "{line}");
    let secret = key.rsplit('_').next().unwrap();
    assert!(!log.contains(secret) && !log.contains("guessed_secret"), "a key is in the log");
}

fn log_lines_say_who_called_and_from_where() {
    let server = Server::start(&[("ROWMILL_LOG", "info"), ("ROWMILL_LOG_FORMAT", "json")]);
    let (api, trace) = (server.api(), "4bf92f3577b34da6a3ce929d0e0e4736");
    let team = api.get("/v4/team").ok()["team"]["id"].clone();
    let traced = Request::get("/v4/projects").header("X-Request-Id", "with-a-key");
    api.send(traced.header("traceparent", &format!("00-{trace}-00f067aa0ba902b7-01"))).ok();
    let refused = Request::get("/v4/projects").header("X-Request-Id", "without-a-key");
    server.api_without_key().send(refused.header("traceparent", "made up")).refused(401, "unauthenticated");
    let line = |id: &str| -> Value {
        let line = eventually("the log has it", Duration::from_secs(10), || {
            server.log().lines().find(|line| line.contains(id)).map(str::to_owned)
        });
        serde_json::from_str::<Value>(&line).unwrap()["fields"].clone()
    };
    let known = line("with-a-key");
    assert_eq!((&known["team"], &known["client"]), (&team, &json!("127.0.0.1")), "{known}");
    assert_eq!((&known["trace_id"], &known["route"]), (&json!(trace), &json!("/v4/projects")), "{known}");
    let keys = api.get("/v4/keys").text;
    let key = known["key"].as_str().unwrap();
    assert!(key.starts_with("key_") && keys.contains(key), "{known} {keys}");
    let unknown = line("without-a-key");
    assert_eq!(unknown["client"], "127.0.0.1", "{unknown}");
    for field in ["team", "key", "trace_id"] {
        assert_eq!(unknown.get(field), None, "{unknown}");
    }
}

fn everything_said_in_json_mode_has_one_shape() {
    let settings = [
        ("ROWMILL_LOG", "info"),
        ("ROWMILL_LOG_FORMAT", "json"),
        ("ROWMILL_ADMIN_LISTEN", "127.0.0.1:0"),
        ("ROWMILL_DRAIN_SECONDS", "1"),
        // As Kubernetes does for a service of our name.
        ("ROWMILL_PORT", "tcp://10.0.0.1:80"),
    ];
    let server = Server::start(&settings);
    let first = eventually("the first key is told", Duration::from_secs(10), || {
        server.printed().lines().find(|line| line.contains("api_key")).map(str::to_owned)
    });
    let first: Value = serde_json::from_str(&first).unwrap();
    let key = first["fields"]["api_key"].as_str().unwrap();
    server.api_with(key).get("/v4/team").ok();
    let link = first["fields"]["sign_in_link"].as_str().unwrap();
    assert!(link.starts_with(&format!("http://{}/signin/", server.address)), "{link}");
    // Of two servers on one folder the second is refused, or else a second address is taken.
    server.terminate();
    assert!(server.wait_for_end().success());
    let told = server::refusal(
        server.folder(),
        &[("ROWMILL_LOG_FORMAT", "json"), ("ROWMILL_ADMIN_LISTEN", "192.0.2.1:1")],
    );
    let json = ("ROWMILL_LOG_FORMAT", "json");
    let misspelt = server::refusal(server.folder(), &[json, ("ROWMILL_LISTN", "x")]);
    let misused = server::refusal(server.folder(), &[json, ("ROWMILL_PAGE_SIZE_MAX", "many")]);
    std::fs::write(server.folder().path().join("rowmill.toml"), "page_size_mx = 3").unwrap();
    let misread = server::refusal(server.folder(), &[json]);
    std::fs::remove_file(server.folder().path().join("rowmill.toml")).unwrap();
    let said = [server.printed(), server.log(), told, misspelt, misused, misread].join("\n");
    for line in said.lines().filter(|line| !line.is_empty()) {
        let read: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(read["fields"]["message"].is_string() && read["target"].is_string(), "{line}");
        assert!(["INFO", "WARN", "ERROR"].contains(&read["level"].as_str().unwrap()), "{line}");
        let at = read["timestamp"].as_str().unwrap();
        assert!(at.len() == 27 && at.ends_with('Z'), "{line}");
    }
    for words in [
        "is listening on",
        "ROWMILL_PORT is ignored",
        "did you mean ROWMILL_LISTEN?",
        "invalid value 'many'",
        "did you mean page_size_max?",
        "metrics are also on",
        "is draining",
        "is stopping",
        "has stopped",
        "cannot listen",
    ] {
        assert!(said.contains(words), "{words}: {said}");
    }
}
