//! The kit through a toy API: every shape of failure, and the document.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::needless_pass_by_value,
    reason = "the helpers of a test are tests too, and read better with values"
)]

mod document;
mod toy;

use axum::http::Method;
use rowmill_api::{Cors, Rate, Rates, Settings};
use serde_json::{Value, json};
use toy::{Request, Toy, serve, serve_with};

/// The status and code of a failure, and that its body is a failure's.
#[track_caller]
fn check(answer: &toy::Answer, status: u16, code: &str) {
    assert_eq!(answer.status, status, "{}", answer.text);
    let body = answer.json();
    assert_eq!((&body["success"], body["code"].as_str()), (&json!(false), Some(code)), "{body}");
    assert!(body["error"].as_str().is_some_and(|error| !error.is_empty()), "{body}");
    assert_eq!(answer.header("content-type"), "application/json");
    assert!(!answer.header("x-request-id").is_empty());
}

#[track_caller]
fn check_details(answer: &toy::Answer, expected: Value) {
    check(answer, 400, "invalid_request");
    assert_eq!(answer.json()["details"], expected);
}

#[tokio::test]
async fn success() {
    let answer = serve(Request::post("/v4/things").json(json!({ "title": "one", "tags": ["a"] }))).await;
    assert_eq!(
        (answer.status, answer.text.as_str()),
        (201, r#"{"success":true,"id":"thing_one","tags":["a"],"note":null}"#)
    );
    assert_eq!(answer.header("content-type"), "application/json");
    let answer = serve(Request::post("/v4/things").json(json!({ "title": "known" }))).await;
    assert_eq!(answer.status, 200);
    let answer = serve(Request::get("/v4/things?page=3")).await;
    assert_eq!(answer.json(), json!({ "success": true, "page": 3, "principal": 7 }));
    let answer = serve(Request::get("/v4/things/a%20b%2Fc")).await;
    assert_eq!(answer.json()["id"], "a b/c");
}

#[tokio::test]
async fn scopes_are_checked_before_the_body_is_read() {
    let read = serve(Request::get("/v4/things?page=3").key("reader")).await;
    assert_eq!(read.status, 200, "{}", read.text);
    let refused = serve(Request::post("/v4/things").key("reader").body("{")).await;
    check(&refused, 403, "missing_scope");
    assert!(refused.json()["error"].as_str().unwrap().contains("\"write\""), "{}", refused.text);
}

#[tokio::test]
async fn bodies() {
    let post = || Request::post("/v4/things");
    let check_body =
        async |body: &str, status, code: &str| check(&serve(post().body(body)).await, status, code);
    check_body("", 400, "invalid_request").await;
    check_body("{", 400, "invalid_json").await;
    check_body("{} {}", 400, "invalid_json").await;
    check_body(&"[".repeat(65), 400, "limit_exceeded").await;
    check_body(r#"{"title":"\u0000"}"#, 400, "invalid_request").await;
    check_body(&format!("\"{}\"", "x".repeat(3_000)), 413, "body_too_large").await;
    check(
        &serve(post().header("content-type", "text/plain").body("{}")).await,
        415,
        "unsupported_media_type",
    );
    check(&serve(post().header("content-encoding", "br").body("{}")).await, 415, "unsupported_media_type");
    let answer = serve(post().body("{\n\"title\": oops}")).await;
    assert!(answer.json()["error"].as_str().unwrap().contains("line 2 column"), "{}", answer.text);
    let offence = |path: &str, message: &str| json!({ "path": path, "message": message });
    check_details(
        &serve(post().json(json!({ "tags": ["a", 2], "colour": 1 }))).await,
        json!([
            offence("tags[1]", "must be a string"),
            offence("colour", "is not a known field; known: title, tags, note, filters"),
            offence("title", "is required"),
        ]),
    );
    check_details(&serve(post().json(json!([]))).await, json!([offence("", "must be an object")]));
    let three = json!({ "title": "x", "tags": ["a", "b", "c"] });
    let answer = serve(post().json(three)).await;
    check(&answer, 400, "limit_exceeded");
    let words = "has more than 2 entries (limit: filtersMax)";
    assert_eq!(answer.json()["details"], json!([offence("tags", words)]));
    let unchecked = json!({ "title": "x", "filters": { "any": "thing" } });
    assert_eq!(serve(post().json(unchecked)).await.status, 201);
}

#[tokio::test]
async fn every_offence_is_named() {
    let fields: serde_json::Map<_, _> = (0..150).map(|index| (format!("f{index}"), json!(1))).collect();
    let answer = serve(Request::patch("/v4/things").json(fields.into())).await;
    check(&answer, 400, "invalid_request");
    assert_eq!(answer.json()["details"].as_array().unwrap().len(), 150);
}

#[tokio::test]
async fn bodies_that_may_be_absent_or_raw() {
    for (body, expected) in [("", 0), ("{}", 0), (r#"{"count":3.0}"#, 3)] {
        let answer = serve(Request::patch("/v4/things").body(body)).await;
        assert_eq!(answer.json(), json!({ "success": true, "count": expected }), "{body}");
    }
    let answer = serve(Request::put("/v4/things").body("[1.50, ")).await;
    assert_eq!(answer.text, r#"{"success":true,"echo":"[1.50, "}"#);
    check(&serve(Request::put("/v4/things")).await, 400, "invalid_request");
    check(&serve(Request::put("/v4/things").body(r#"["\ud800"]"#)).await, 400, "invalid_request");
}

#[tokio::test]
async fn queries() {
    let offence = |path: &str, message: &str| json!({ "path": path, "message": message });
    check_details(
        &serve(Request::get("/v4/things?page=abc&colour=red")).await,
        json!([
            offence("page", "must be an integer"),
            offence("colour", "is not a known query parameter; known: page")
        ]),
    );
    let none = "is not a known query parameter; this operation has no query parameters";
    check_details(&serve(Request::get("/v4/things/x?a=1")).await, json!([offence("a", none)]));
}

#[tokio::test]
async fn paths_and_methods() {
    check(&serve(Request::get("/nowhere")).await, 404, "not_found");
    check(&serve(Request::get("/")).await, 404, "not_found");
    check(&serve(Request::get("/v4/things/")).await, 404, "not_found");
    assert_eq!(serve(Request::get("/v4/things/a%00b")).await.json()["id"], "a\0b");
    assert_eq!(serve(Request::get("/v4/things/%ff")).await.json()["id"], "\u{fffd}");
    check(&serve(Request::get("/v4/things/missing")).await, 404, "row_not_found");
    let answer = serve(Request::delete("/v4/things")).await;
    check(&answer, 405, "method_not_allowed");
    assert_eq!(answer.header("allow"), "POST,GET,HEAD,PATCH,PUT");
    check(&serve(Request::new(Method::OPTIONS, "/v4/things")).await, 405, "method_not_allowed");
    check(&serve(Request::new(Method::TRACE, "/healthz")).await, 405, "method_not_allowed");
    let head = serve(Request::new(Method::HEAD, "/v4/things")).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert!(!head.header("x-request-id").is_empty());
}

#[tokio::test]
async fn keys() {
    let answer = serve(Request::get("/v4/things").key("")).await;
    check(&answer, 401, "unauthenticated");
    assert_eq!(answer.json()["error"], "Bearer token is required");
    assert_eq!(answer.header("www-authenticate"), "Bearer");
    let answer = serve(Request::get("/v4/things").key("wrong")).await;
    check(&answer, 403, "invalid_api_key");
    assert_eq!(answer.header("x-ratelimit-limit"), "20");
    assert_eq!(serve(Request::get("/v3/things").key("")).await.json()["principal"], Value::Null);
    assert_eq!(serve(Request::get("/v3/things")).await.json()["principal"], 7);
    check(&serve(Request::get("/v3/things").key("wrong")).await, 403, "invalid_api_key");
}

#[tokio::test]
async fn the_server_s_own_failures_tell_nothing_but_the_request_id() {
    for path in ["/v4/broken", "/v4/panicking"] {
        let answer = serve(Request::get(path).header("x-request-id", "my.id-1")).await;
        check(&answer, 500, "internal_error");
        assert_eq!(answer.json()["requestId"], "my.id-1");
        assert!(!answer.text.contains("secret"), "{}", answer.text);
    }
}

#[tokio::test]
async fn request_ids() {
    let fresh = "00000000-0000-7000-8000-000000000001";
    for (sent, expected) in
        [("mine_1.2-3", "mine_1.2-3"), ("not fit", fresh), ("", fresh), (&"x".repeat(129), fresh)]
    {
        let answer = serve(Request::get("/healthz").header("x-request-id", sent)).await;
        assert_eq!(answer.header("x-request-id"), expected);
    }
}

#[tokio::test]
async fn limited_answers_say_so() {
    let rate = |per_second, burst| Some(Rate { per_second, burst });
    let settings = || Settings {
        rates: Rates {
            key: rate(1, 2),
            team: rate(10, 20),
            anonymous: rate(1, 1),
            webhook: rate(1, 1),
            auth_failures: rate(1, 1),
        },
        ..toy::settings()
    };
    let toy = Toy::new(settings());
    let first = toy.serve(Request::get("/v4/things")).await;
    assert_eq!((first.header("x-ratelimit-limit"), first.header("x-ratelimit-remaining")), ("2", "1"));
    assert!(first.header("x-ratelimit-reset").parse::<u64>().unwrap() > 1_700_000_000);
    let invalid = toy.serve(Request::get("/v4/things?page=0")).await;
    assert_eq!((invalid.status, invalid.header("x-ratelimit-remaining")), (400, "0"));
    let refused = toy.serve(Request::get("/v4/things")).await;
    check(&refused, 429, "rate_limited");
    assert_eq!(refused.header("retry-after"), "1");
    check(&toy.serve(Request::get("/v4/things").key("wrong")).await, 403, "invalid_api_key");
    check(&toy.serve(Request::get("/v4/things").key("wrong")).await, 429, "rate_limited");
    check(&toy.serve(Request::get("/v4/things").key("")).await, 401, "unauthenticated");
    assert_eq!(toy.serve(Request::get("/v3/things").key("")).await.status, 200);
    check(&toy.serve(Request::get("/v3/things").key("")).await, 429, "rate_limited");
    assert_eq!(toy.serve(Request::post("/webhooks/a")).await.status, 200);
    let bare = toy.serve(Request::post("/webhooks/a")).await;
    assert_eq!((bare.status, bare.header("retry-after")), (429, "1"));
    assert_eq!(bare.json(), json!({ "error": "Too many requests; wait 1 s and try again" }));
    assert_eq!(toy.serve(Request::post("/webhooks/b")).await.status, 200);

    let toy = Toy::new(settings());
    for _ in 0..3 {
        toy.serve(Request::get("/v4/things").key("wrong")).await;
    }
    assert_eq!(toy.serve(Request::get("/v4/things")).await.status, 200, "nobody is locked out");
}

#[tokio::test]
async fn idempotency_keys() {
    let send = async |key: &str, body: Value| {
        serve(Request::post("/v4/things").header("idempotency-key", key).json(body)).await
    };
    let print = async |key: &str, title: &str| {
        let answer = send(key, json!({ "title": title, "note": "fingerprint" })).await;
        answer.json()["note"].as_str().unwrap().to_owned()
    };
    assert_eq!(print("k1", "a").await, print("k1", "a").await);
    assert_ne!(print("k1", "a").await, print("k1", "b").await);
    for wrong in ["", "a b", &"x".repeat(256)] {
        let answer = send(wrong, json!({ "title": "a" })).await;
        check(&answer, 400, "invalid_request");
        assert_eq!(answer.json()["details"][0]["path"], "Idempotency-Key");
    }
}

#[tokio::test]
async fn compression_when_asked_for() {
    let answer = serve(Request::get("/openapi.json").header("accept-encoding", "zstd")).await;
    assert_eq!(answer.header("content-encoding"), "zstd");
    let answer = serve(Request::get("/healthz").header("accept-encoding", "gzip")).await;
    assert_eq!(answer.header("content-encoding"), "", "too small to gain");
}

#[tokio::test]
async fn cors_is_off_unless_set() {
    let preflight = || {
        Request::new(Method::OPTIONS, "/v4/things")
            .header("origin", "https://app.example")
            .header("access-control-request-method", "POST")
    };
    assert_eq!(serve(preflight()).await.header("access-control-allow-origin"), "");
    let cors = Cors::parse("https://app.example").unwrap();
    let answer = serve_with(Settings { cors, ..toy::settings() }, preflight()).await;
    assert_eq!((answer.status, answer.header("access-control-allow-origin")), (200, "https://app.example"));
    assert!(!answer.header("x-request-id").is_empty());
}

#[tokio::test]
async fn the_server_s_own_paths() {
    let answer = serve(Request::get("/healthz").key("")).await;
    assert_eq!(answer.text, r#"{"success":true,"status":"ok"}"#);
    assert_eq!(serve(Request::get("/readyz").key("")).await.status, 200);
    let answer = Toy::unready().serve(Request::get("/readyz").key("")).await;
    check(&answer, 503, "not_ready");
    assert!(!answer.text.contains("secret"), "{}", answer.text);
    let answer = serve(Request::get("/metrics").key("")).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, "text/plain; version=0.0.4"));
    let answer = serve(Request::get("/openapi.json").key("")).await;
    let etag = answer.header("etag").to_owned();
    let again = serve(Request::get("/openapi.json").header("if-none-match", &etag)).await;
    assert_eq!((again.status, again.text.as_str(), again.header("etag")), (304, "", etag.as_str()));
    let page = serve(Request::get("/docs").key("")).await;
    assert!(page.header("content-security-policy").contains("default-src 'none'; style-src 'sha256-"));
    for word in ["<!DOCTYPE html>", "createThing", "Things of a team", "docs/things#createThing"] {
        assert!(page.text.contains(word), "{word}");
    }
    let part = serve(Request::get("/docs/things").key("")).await;
    for word in ["<!DOCTYPE html>", "createThing", "curl -X POST", "Things of a team", "thing_one"] {
        assert!(part.text.contains(word), "{word}");
    }
    for word in ["http://", "<script", " style="] {
        assert!(!page.text.contains(word) && !part.text.contains(word), "{word}");
    }
    let markdown = serve(Request::get("/docs/things.md").key("")).await;
    assert_eq!(markdown.header("content-type"), "text/markdown; charset=utf-8");
    for word in ["# Things\n", "operation `createThing`", "curl -X POST", "thing_one"] {
        assert!(markdown.text.contains(word), "{word}");
    }
}
