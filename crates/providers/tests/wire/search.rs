//! Web search: what each engine is asked, and what each of its documented answers means.

use rowmill_providers::search::{self, Engine, Found, Query};
use rowmill_providers::{Access, Failure};
use serde_json::{Value, json as value};

use crate::server::{Answer, Seen, Server, json, text};
use crate::support::{CANARY, assert_clean, client, trusted};

async fn search(engine: Engine, answer: Answer) -> (Result<Found, Failure>, Seen) {
    let server = Server::start(vec![answer]).await;
    let access = trusted(&server.base);
    let access = if engine == Engine::Searxng { Access { api_key: None, ..access } } else { access };
    let query = Query::new(" who leads\n Acme & Sons? ", Some("DE")).unwrap();
    let found = search::search(&client(""), engine, &access, &query).await;
    assert_clean(&found);
    (found, server.seen().remove(0))
}

/// A result in words: `2 hits`, or how it failed.
fn told(found: Result<Found, Failure>) -> String {
    match found {
        Ok(found) => format!("{} hits", found.hits.len()),
        Err(failure) => {
            let again = if failure.is_transient { ", again" } else { "" };
            let after = failure.retry_after.map(|wait| format!(" after {} s", wait.as_secs()));
            format!("{}{again}{}", failure.kind.code().word(), after.unwrap_or_default())
        }
    }
}

/// What a good answer brings, and what the engine was asked.
async fn check_found(engine: Engine, body: Value) -> (Found, Seen) {
    let (found, seen) = search(engine, json(200, &body)).await;
    let found = found.unwrap();
    let hit = &found.hits[0];
    assert_eq!((hit.title.as_str(), hit.url.as_str()), ("Team", "https://acme.test/team"), "{engine:?}");
    assert_eq!(hit.snippet, "Ada leads Acme.", "{engine:?}");
    (found, seen)
}

async fn check(engine: Engine, cases: Vec<(Answer, &str)>) {
    let common = vec![
        (text(500, "text/html", "<h1>Oops</h1>"), "provider_error, again"),
        (text(503, "text/plain", "Down").with("retry-after", "7"), "provider_error, again after 7 s"),
        (text(200, "text/html", "<html>"), "invalid_output"),
        (Answer::Reset, "provider_error, again"),
        (Answer::Endless, "too_large"),
    ];
    for (place, (answer, expected)) in cases.into_iter().chain(common).enumerate() {
        let (found, _) = search(engine, answer).await;
        assert_eq!(told(found), expected, "{engine:?}, case {place}");
    }
}

#[tokio::test]
async fn searxng() {
    let result = value!({"title": "Team", "url": "https://acme.test/team", "content": "Ada leads\n Acme."});
    let (found, seen) = check_found(
        Engine::Searxng,
        value!({"results": [result, {"title": "no address"}, {"url": "ftp://x"}]}),
    )
    .await;
    assert_eq!(found.hits.len(), 1, "what cannot be opened is left out");
    assert_eq!(seen.line(), "GET /search?q=who+leads+Acme+%26+Sons%3F&format=json");
    let away = value!({"results": [], "unresponsive_engines": [["google", "Suspended: too many requests"]]});
    check(
        Engine::Searxng,
        vec![
            (json(200, &value!({"results": []})), "0 hits"),
            (json(200, &away), "provider_error, again"),
            (text(403, "text/html", "<h1>Forbidden</h1>"), "provider_error"),
            (json(429, &value!({})), "rate_limited, again"),
            (json(400, &value!({"error": "No query"})), "provider_error"),
        ],
    )
    .await;
    let (refused, _) = search(Engine::Searxng, text(403, "text/html", "")).await;
    assert!(refused.unwrap_err().message.contains("search.formats"), "it says what to do");
}

#[tokio::test]
async fn serper() {
    let organic = value!([{"title": "Team", "link": "https://acme.test/team", "snippet": "Ada leads Acme."}]);
    let (_, seen) = check_found(Engine::Serper, value!({"organic": organic})).await;
    assert_eq!((seen.line().as_str(), seen.header("x-api-key")), ("POST /search", Some(CANARY)));
    assert_eq!(seen.json(), value!({"q": "who leads Acme & Sons?", "num": 10, "gl": "de"}));
    let answer = value!({"title": "Team", "link": "https://acme.test/team", "snippet": "Ada leads Acme."});
    let other = value!([{"title": "B", "link": "https://b.test/", "snippet": ""}]);
    let (found, _) = check_found(Engine::Serper, value!({"answerBox": answer, "organic": other})).await;
    assert_eq!(found.hits.len(), 2, "Google's own answer comes first");
    check(
        Engine::Serper,
        vec![
            (json(200, &value!({"organic": []})), "0 hits"),
            (json(400, &value!({"message": "Not enough credits", "statusCode": 400})), "out_of_credits"),
            (json(400, &value!({"message": "Bad query"})), "provider_error"),
            (json(403, &value!({"message": "Unauthorized."})), "invalid_credentials"),
            (json(429, &value!({"message": "Slow down"})), "rate_limited, again"),
        ],
    )
    .await;
}

#[tokio::test]
async fn brave() {
    let result = value!({"title": "Team", "url": "https://acme.test/team", "description": "Ada leads Acme."});
    let (_, seen) = check_found(Engine::Brave, value!({"web": {"results": [result]}})).await;
    assert_eq!(seen.header("x-subscription-token"), Some(CANARY));
    let line =
        "GET /res/v1/web/search?q=who+leads+Acme+%26+Sons%3F&count=10&text_decorations=false&country=de";
    assert_eq!(seen.line(), line);
    let error = |status, code: &str| {
        json(status, &value!({"type": "ErrorResponse", "error": {"code": code, "detail": "No"}}))
    };
    check(
        Engine::Brave,
        vec![
            (json(200, &value!({"query": {}})), "0 hits"),
            (error(422, "SUBSCRIPTION_TOKEN_INVALID"), "invalid_credentials"),
            (error(422, "VALIDATION"), "provider_error"),
            (error(429, "QUOTA_LIMITED"), "out_of_credits"),
            (
                error(429, "RATE_LIMITED").with("x-ratelimit-reset", "1, 1419704"),
                "rate_limited, again after 1 s",
            ),
            (error(404, "NOT_FOUND"), "provider_error"),
        ],
    )
    .await;
}

#[tokio::test]
async fn tavily() {
    let result = value!({"title": "Team", "url": "https://acme.test/team", "content": "Ada leads Acme.", "score": 0.9});
    let (found, seen) =
        check_found(Engine::Tavily, value!({"results": [result], "usage": {"credits": 1}})).await;
    assert_eq!(found.spent.credits.map(rowmill_model::Amount::number), Some(1.0));
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    let body = value!({"query": "who leads Acme & Sons?", "search_depth": "basic", "max_results": 10});
    assert_eq!(seen.json(), body);
    let detail = |status, words: &str| json(status, &value!({"detail": {"error": words}}));
    check(
        Engine::Tavily,
        vec![
            (json(200, &value!({"results": []})), "0 hits"),
            (detail(401, "Unauthorized"), "invalid_credentials"),
            (detail(432, "Your plan's limit"), "out_of_credits"),
            (detail(433, "Pay as you go limit"), "out_of_credits"),
            (detail(429, "Too fast"), "rate_limited, again"),
            (json(422, &value!({"detail": [{"msg": "field required"}]})), "provider_error"),
        ],
    )
    .await;
}

#[tokio::test]
async fn exa() {
    let result = value!({"title": "Team", "url": "https://acme.test/team", "text": "Ada leads Acme."});
    let (found, seen) =
        check_found(Engine::Exa, value!({"results": [result], "costDollars": {"total": 0.005}})).await;
    assert_eq!(found.spent.cost.map(rowmill_model::Amount::number), Some(0.005));
    assert_eq!((seen.line().as_str(), seen.header("x-api-key")), ("POST /search", Some(CANARY)));
    let body = value!({"query": "who leads Acme & Sons?", "type": "auto", "numResults": 10,
        "contents": {"text": {"maxCharacters": 600}}, "userLocation": "DE"});
    assert_eq!(seen.json(), body);
    let error = |status, tag: &str| json(status, &value!({"requestId": "r", "error": "No", "tag": tag}));
    check(
        Engine::Exa,
        vec![
            (json(200, &value!({"results": []})), "0 hits"),
            (error(401, "INVALID_API_KEY"), "invalid_credentials"),
            (error(402, "NO_MORE_CREDITS"), "out_of_credits"),
            (error(403, "TEAM_BUDGET_EXCEEDED"), "out_of_credits"),
            (error(429, "RATE_LIMIT"), "rate_limited, again"),
            (error(400, "INVALID_REQUEST_BODY"), "provider_error"),
        ],
    )
    .await;
}
