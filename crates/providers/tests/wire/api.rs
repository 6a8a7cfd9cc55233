//! The HTTP request a column describes.

use std::time::Duration;

use rowmill_model::ErrorCode;
use rowmill_model::column::{ApiConfig, HttpMethod};
use rowmill_providers::http_api::{Answer, Body, Call};
use rowmill_providers::{Client, Failure, Secret, http_api};
use serde_json::{Value, json};

use crate::server::{self, Server, redirect, text};
use crate::support::{CANARY, assert_clean, client};

fn config(json: Value) -> ApiConfig {
    serde_json::from_value(json).unwrap()
}

fn plain(url: &str) -> Call {
    Call {
        method: HttpMethod::Get,
        url: url.to_owned(),
        headers: vec![],
        query: vec![],
        body: None,
        secrets: vec![],
    }
}

async fn call(client: &Client, call: Call, config: &ApiConfig, bytes_max: usize) -> Result<Answer, Failure> {
    let address = call.address()?;
    http_api::call(client, call, address, config, bytes_max).await
}

async fn ask(answer: server::Answer, config: &ApiConfig) -> Result<Option<String>, Failure> {
    let server = Server::start(vec![answer]).await;
    match call(&client("127.0.0.1"), plain(server.base.as_str()), config, 10_000).await? {
        Answer::Value { json, .. } => Ok(Some(json.get().to_owned())),
        Answer::Empty { .. } => Ok(None),
    }
}

#[tokio::test]
async fn answers_are_read_by_type_and_path() {
    let json = "application/json; charset=utf-8";
    for (status, content_type, body, path, expected) in [
        (200, json, r#" {"a": 1.10} "#, "", Ok(Some(r#"{"a": 1.10}"#))),
        (200, json, r#"{"a": {"b": 1.10}}"#, "a.b", Ok(Some("1.10"))),
        (200, json, r#"{"a": [{"b":1},{"b":2}]}"#, "$.a[*].b", Ok(Some("[1,2]"))),
        (200, json, r#"{"a": null}"#, "a", Ok(None)),
        (200, json, "{}", "a.b", Ok(None)),
        (200, json, "null", "", Ok(None)),
        (200, json, "", "", Ok(None)),
        (200, json, "{", "", Err(ErrorCode::InvalidOutput)),
        (200, "application/problem+json", "[1]", "", Ok(Some("[1]"))),
        (200, "text/plain", "007", "", Ok(Some("\"007\""))),
        (200, "text/plain", "{\"a\":1}", "a", Ok(Some("1"))),
        (200, "text/plain", "{curly", "", Ok(Some("\"{curly\""))),
        (200, "text/html", "<p>\"hi\"</p>", "", Ok(Some(r#""<p>\"hi\"</p>""#))),
        (200, "text/html", "<p>", "a", Err(ErrorCode::InvalidOutput)),
        (204, json, "", "", Ok(None)),
        (404, json, "{}", "", Ok(None)),
        (200, json, "[1]", "a..b", Err(ErrorCode::InvalidInput)),
        (200, "text/plain", &"x".repeat(10_001), "", Err(ErrorCode::TooLarge)),
    ] {
        let config = config(json!({"responsePath": path}));
        let answer = ask(text(status, content_type, body), &config).await;
        let answer = answer.map_err(|failure| failure.kind.code());
        assert_eq!(
            answer.as_ref().map(Option::as_deref),
            expected.as_ref().copied(),
            "{status} {body} {path}"
        );
    }
    let binary = server::Answer::Http { status: 200, headers: vec![], body: vec![0xff, 0xfe, 0] };
    assert_eq!(ask(binary, &config(json!({}))).await.unwrap_err().kind.code(), ErrorCode::InvalidOutput);
}

#[tokio::test]
async fn the_column_says_which_status_is_what() {
    let usual = config(json!({}));
    let own = config(json!({"successStatuses": [200, "400..499"], "emptyOn": [410, 201]}));
    for (config, status, expected) in [
        (&usual, 200, Ok(true)),
        (&usual, 299, Ok(true)),
        (&usual, 304, Err((ErrorCode::ProviderError, false))),
        (&usual, 400, Err((ErrorCode::ProviderError, false))),
        (&usual, 401, Err((ErrorCode::InvalidCredentials, false))),
        (&usual, 402, Err((ErrorCode::OutOfCredits, false))),
        (&usual, 403, Err((ErrorCode::InvalidCredentials, false))),
        (&usual, 404, Ok(false)),
        (&usual, 408, Err((ErrorCode::TimedOut, true))),
        (&usual, 429, Err((ErrorCode::RateLimited, true))),
        (&usual, 500, Err((ErrorCode::ProviderError, true))),
        (&own, 200, Ok(true)),
        (&own, 201, Ok(false)),
        (&own, 202, Err((ErrorCode::ProviderError, false))),
        (&own, 404, Ok(true)),
        (&own, 410, Ok(false)),
        (&own, 429, Ok(true)),
    ] {
        let answer = ask(server::json(status, &json!({"a": 1})), config).await;
        let answer = answer.map(|value| value.is_some());
        let answer = answer.map_err(|failure| (failure.kind.code(), failure.is_transient));
        assert_eq!(answer, expected, "{status}");
    }
    let limited = server::json(429, &json!({"message": "slow down"})).with("retry-after", "7");
    let failure = ask(limited, &usual).await.unwrap_err();
    assert_eq!(failure.retry_after, Some(Duration::from_secs(7)));
    assert_eq!(failure.message, "The server responded with 429: slow down");
}

#[tokio::test]
async fn the_request_is_sent_as_it_stands() {
    let server = Server::start(vec![server::json(200, &json!({"echo": CANARY, "n": 1}))]).await;
    let request = Call {
        method: HttpMethod::Patch,
        url: format!("{}a%20b?x=1", server.base),
        headers: vec![("X-Token".to_owned(), CANARY.to_owned())],
        query: vec![("q".to_owned(), "a&b=ü".to_owned()), ("x".to_owned(), "2".to_owned())],
        body: Some(Body::Json("{\"n\": 1.0}".to_owned())),
        secrets: vec![Secret::new(CANARY)],
    };
    assert_clean(&request);
    let answer = call(&client("127.0.0.1"), request, &config(json!({})), 10_000).await.unwrap();
    let Answer::Value { json, status: 200 } = answer else { panic!("{answer:?}") };
    assert_eq!(json.get(), r#"{"echo":"***","n":1}"#);
    let seen = &server.seen()[0];
    assert_eq!(seen.line(), "PATCH /a%20b?x=1&q=a%26b%3D%C3%BC&x=2");
    assert_eq!((seen.header("x-token"), seen.body.as_str()), (Some(CANARY), "{\"n\": 1.0}"));
    assert_eq!(seen.header("content-type"), Some("application/json"));
}

#[tokio::test]
async fn a_call_that_cannot_be_right_is_not_made() {
    let client = client("");
    let failed = async |request: Call| {
        let failure = call(&client, request, &config(json!({})), 10_000).await.unwrap_err();
        assert_clean(&failure);
        failure.kind.code()
    };
    assert_eq!(failed(plain("not an address")).await, ErrorCode::InvalidInput);
    assert_eq!(failed(plain("")).await, ErrorCode::InvalidInput);
    assert_eq!(failed(plain("http://127.0.0.1:9/canary")).await, ErrorCode::Blocked);
    assert_eq!(failed(plain("file:///canary")).await, ErrorCode::Blocked);
    let mut bad_header = plain("https://example.com/");
    bad_header.headers = vec![("x".to_owned(), "canary\r\nhost: evil".to_owned())];
    assert_eq!(failed(bad_header).await, ErrorCode::InvalidInput);
    let mut smuggler = plain("https://example.com/");
    smuggler.headers = vec![(" Transfer-Encoding".to_owned(), "chunked".to_owned())];
    assert_eq!(failed(smuggler).await, ErrorCode::InvalidInput);
}

#[tokio::test]
async fn an_error_that_echoes_is_blackened() {
    for answer in [
        server::json(500, &json!({"message": format!("bad token {CANARY}")})),
        redirect(302, "ftp://x/canary/7f3a"),
    ] {
        let server = Server::start(vec![answer]).await;
        let mut request = plain(server.base.as_str());
        request.secrets = vec![Secret::new(CANARY)];
        let failure = call(&client("127.0.0.1"), request, &config(json!({})), 10_000).await.unwrap_err();
        assert_clean(&failure);
    }
    // A short secret may be a part of a word: it is one only where it is a whole value.
    let server = Server::start(vec![server::json(400, &json!({"message": "bad pin '4711' in 47110"}))]).await;
    let mut request = plain(server.base.as_str());
    request.secrets = vec![Secret::new("4711")];
    let failure = call(&client("127.0.0.1"), request, &config(json!({})), 10_000).await.unwrap_err();
    assert_eq!(failure.message, "The server responded with 400: bad pin '***' in 47110");
}
