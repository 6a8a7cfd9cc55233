//! `/mcp`: who may call it, under which names and how often.

use serde_json::{Value, json};

use super::agents::initialize;
use crate::harness::http::{connect, exchange, receive};
use crate::harness::runner::scenarios;
use crate::harness::{Agent, Api, Request, Scenario, Server};

pub(crate) const SHARED: &[Scenario] = &scenarios!("agents", Shared:
    who_has_no_key_is_told_how_to_bring_one,
);
pub(crate) const OWN: &[Scenario] = &scenarios!("agents", Own:
    only_own_names_are_answered,
    teams_and_limits_count_for_agents,
);

fn who_has_no_key_is_told_how_to_bring_one(api: &Api) {
    let send = |authorization: Option<&str>| {
        let mut request = Request::post("/mcp").json(&initialize("2025-11-25"));
        if let Some(value) = authorization {
            request = request.header("Authorization", value);
        }
        exchange(&api.address, &request).unwrap()
    };
    let missing = send(None);
    let challenge = missing.header("www-authenticate").unwrap();
    let url = format!("http://{}/.well-known/oauth-protected-resource/mcp", api.address);
    assert_eq!(missing.status, 401);
    assert_eq!(challenge, format!("Bearer realm=\"Rowmill\", resource_metadata=\"{url}\""));
    let body: Value = serde_json::from_slice(&missing.body).unwrap();
    assert_eq!(
        (&body["code"], &body["error"]),
        (&json!("unauthenticated"), &json!("Bearer token is required"))
    );
    let wrong = send(Some("Bearer rm_nothing"));
    assert_eq!(wrong.status, 401);
    assert!(wrong.header("www-authenticate").unwrap().ends_with("error=\"invalid_token\""), "{wrong:?}");

    let path = "/.well-known/oauth-protected-resource/mcp";
    let metadata = exchange(&api.address, &Request::get(path)).unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.body).unwrap();
    assert_eq!(metadata["resource"], format!("http://{}/mcp", api.address));
    assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    assert_eq!(metadata.get("authorization_servers"), None, "there is none, and nobody should look for one");
    // A browser that accepts pages is not shown one where a program looks.
    let other = Request::get("/.well-known/oauth-authorization-server").header("Accept", "text/html");
    assert_eq!(exchange(&api.address, &other).unwrap().header("content-type"), Some("application/json"));
}

fn only_own_names_are_answered() {
    let server = Server::start(&[("ROWMILL_PUBLIC_URL", "https://tables.example")]);
    let api = server.api();
    let agent = Agent::new(&api);
    let port = api.address.rsplit(':').next().unwrap().to_owned();
    let send = |host: &str, origin: Option<&str>| {
        let mut request = api
            .with_key(Request::post("/mcp").json(&initialize("2025-11-25")))
            .header("Accept", "application/json, text/event-stream");
        if let Some(origin) = origin {
            request = request.header("Origin", origin);
        }
        let mut stream = connect(&api.address).unwrap();
        let head = request.head(host);
        std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
        std::io::Write::write_all(&mut stream, request.body.as_deref().unwrap()).unwrap();
        receive(&mut stream).unwrap()
    };
    for host in ["tables.example", "tables.example:443", &format!("localhost:{port}"), &api.address] {
        assert_eq!(send(host, None).status, 200, "{host}");
    }
    for (host, origin) in [
        ("evil.example", None),
        ("localhost.evil.example", None),
        ("tables.example", Some("https://evil.example")),
        ("tables.example", Some("null")),
    ] {
        let refused = send(host, origin);
        let body: Value = serde_json::from_slice(&refused.body).unwrap();
        assert_eq!((refused.status, &body["code"]), (403, &json!("cross_site")), "{host} {origin:?}");
        assert!(body["error"].as_str().unwrap().contains("--public-url"), "{body}");
    }
    assert_eq!(send("tables.example", Some("https://tables.example")).status, 200);
    assert_eq!(send("tables.example", Some("http://localhost:6274")).status, 200);
    let made = agent.does("create_table", json!({ "title": "Public" }));
    assert!(made["page"].as_str().unwrap().starts_with("https://tables.example/projects/proj_"), "{made}");
}

fn teams_and_limits_count_for_agents() {
    let server = Server::start(&[("ROWMILL_RATE_LIMIT_KEY", "1/12")]);
    let (own, other) = (server.api(), server.team("strangers"));
    let agent = Agent::new(&own);
    let table = agent.does("create_table", json!({ "title": "Ours", "columns": ["Name"] }));
    let stranger = Agent::new(&other);
    let words = stranger.refuses("query_rows", json!({ "table": table["id"] }));
    assert!(words.contains("No table has the id"), "{words}");
    assert_eq!(stranger.does("list_tables", json!({}))["total"], 0);
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let mut refused = None;
    for _ in 0..40 {
        let response = agent.post(&list, &[]);
        assert!(response.header("x-ratelimit-limit").is_some(), "{response:?}");
        if response.status == 429 {
            refused = Some(response);
            break;
        }
    }
    let refused = refused.expect("more calls than the key has");
    assert!(refused.header("retry-after").is_some());
    let body: Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(body["code"], "rate_limited");
}
