//! Servers that break, stall, flood and echo.

use std::io::Write;
use std::time::Duration;

use reqwest::Method;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_providers::ssrf_guard::{Request, Response};
use rowmill_providers::{Failure, FailureKind, NetworkPolicy, Secret};
use serde_json::json;

use crate::server::{self, Answer, Server, text};
use crate::support::{CANARY, assert_clean, client};

async fn ask(answer: Answer, deadline: Duration) -> Result<Response, Failure> {
    let server = Server::start(vec![answer]).await;
    let request = Request::new(Method::GET, server.base.clone(), NetworkPolicy::Trusted)
        .query(&[("key", CANARY)])
        .secret_header("x-api-key", "", &Secret::new(CANARY))?
        .bytes_max(100_000)
        .deadline(deadline);
    client("").send(request).await
}

#[tokio::test]
async fn each_way_to_break_an_answer_has_its_kind() {
    for (answer, kind, is_transient) in [
        (Answer::Reset, FailureKind::ProviderError, true),
        (Answer::Garbage, FailureKind::ProviderError, true),
        (Answer::Cut, FailureKind::ProviderError, true),
        (Answer::Endless, FailureKind::TooLarge, false),
        (text(200, "text/plain", &"x".repeat(100_001)), FailureKind::TooLarge, false),
    ] {
        let failure = ask(answer, Duration::from_secs(20)).await.unwrap_err();
        assert_eq!((failure.kind, failure.is_transient), (kind, is_transient), "{failure:?}");
        assert_clean(&failure);
    }
    assert!(ask(text(200, "text/plain", &"x".repeat(100_000)), Duration::from_secs(20)).await.is_ok());
}

#[tokio::test]
async fn a_slow_answer_ends_with_the_deadline() {
    for answer in [Answer::Silence, Answer::Drip { pause: Duration::from_millis(20) }] {
        let begun = SystemClock.monotonic();
        let failure = ask(answer, Duration::from_millis(150)).await.unwrap_err();
        assert_eq!((failure.kind, failure.is_transient), (FailureKind::TimedOut, true));
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
}

#[tokio::test]
async fn nobody_at_home_may_pass() {
    let closed = Server::start(vec![]).await.base.clone();
    tokio::task::yield_now().await;
    let request = Request::new(Method::GET, closed, NetworkPolicy::Trusted);
    let failure = client("").send(request).await.unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::ProviderError, true), "{failure:?}");
    let unknown = "http://no-such-name.invalid/".parse().unwrap();
    let failure =
        client("").send(Request::new(Method::GET, unknown, NetworkPolicy::Guarded)).await.unwrap_err();
    assert_eq!((failure.kind, failure.is_transient), (FailureKind::ProviderError, true), "{failure:?}");
}

#[tokio::test]
async fn a_small_bomb_is_stopped() {
    let mut bomb = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    bomb.write_all(&vec![b'x'; 10_000_000]).unwrap();
    let answer = Answer::Http {
        status: 200,
        headers: vec![("content-encoding".to_owned(), "gzip".to_owned())],
        body: bomb.finish().unwrap(),
    };
    let failure = ask(answer, Duration::from_secs(20)).await.unwrap_err();
    assert_eq!(failure.kind, FailureKind::TooLarge);
}

#[tokio::test]
async fn what_is_echoed_is_blackened() {
    let echo =
        server::json(200, &json!({"headers": {"x-api-key": CANARY}, "url": "?key=canary%2F7f3a%22key"}))
            .with("x-echo", "say canary/7f3a\"key");
    let response = ask(echo, Duration::from_secs(20)).await.unwrap();
    assert_clean(&response);
    assert_clean(&response.headers);
    assert_eq!(
        String::from_utf8(response.body).unwrap(),
        r#"{"headers":{"x-api-key":"***"},"url":"?key=***"}"#
    );
}

#[test]
fn a_request_prints_without_what_it_carries() {
    let request =
        Request::new(Method::POST, "http://x.test/canary?canary".parse().unwrap(), NetworkPolicy::Guarded)
            .header("cookie", "canary")
            .unwrap()
            .json(&json!("canary"));
    assert_clean(&request);
    let failure = request.secret_header("x", "", &Secret::new("canary\n\u{1}x")).unwrap_err();
    assert_eq!(failure.kind, FailureKind::InvalidCredentials);
    assert_clean(&failure);
}
