//! Language models: what is asked, and what each documented answer means.

use std::time::Duration;

use rowmill_model::column::AiProvider::{self, Anthropic, Openai};
use rowmill_model::{Amount, AnswerSchema, ErrorCode, Spent};
use rowmill_providers::llm::{Dialect, Output, Question, Reply, ask, read_json};
use rowmill_providers::{Access, Failure, NetworkPolicy};
use serde_json::{Value, json};

use crate::server::{self, Answer, Seen, Server, text};
use crate::support::{CANARY, assert_clean, client, trusted};

const DEADLINE: Duration = Duration::from_secs(20);

async fn asked(provider: AiProvider, question: &Question, answer: Answer) -> (Result<Reply, Failure>, Seen) {
    let server = Server::start(vec![answer]).await;
    let mut access = trusted(&server.base);
    if provider == Openai {
        access.base_url.set_path("/v1");
    }
    let answer = ask(&client(""), provider, &access, question, Dialect::default(), DEADLINE).await;
    let reply = answer.and_then(rowmill_providers::llm::Answer::into_reply);
    assert_clean(&reply);
    (reply, server.seen().remove(0))
}

fn question() -> Question {
    Question::new("some-model", "Who?")
}

fn chat(message: &Value, finish: &Value) -> Answer {
    server::json(
        200,
        &json!({"id": "x", "object": "chat.completion", "model": "some-model-2026", "service_tier": "on_demand",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 20, "total_tokens": 30}}),
    )
}

fn message(content: &Value, stop_reason: &str) -> Answer {
    server::json(
        200,
        &json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-x", "content": content,
            "stop_reason": stop_reason, "usage": {"input_tokens": 3, "output_tokens": 4}}),
    )
}

#[tokio::test]
async fn openai_is_asked_in_its_words() {
    let answer = || chat(&json!({"role": "assistant", "content": "Ada"}), &json!("stop"));
    let (reply, seen) = asked(Openai, &question(), answer()).await;
    assert_eq!(
        reply.unwrap(),
        Reply {
            text: "Ada".to_owned(),
            model: Some("some-model-2026".to_owned()),
            input_tokens: Some(10),
            output_tokens: Some(20),
            cached_tokens: 0,
            cache_written_tokens: 0,
            spent: Spent::NOTHING,
            finish: Some("stop".to_owned()),
            truncated: false,
            reasoned: false,
        }
    );
    assert_eq!(seen.line(), "POST /v1/chat/completions");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {CANARY}").as_str()));
    assert_eq!(
        seen.json(),
        json!({"model": "some-model", "messages": [{"role": "user", "content": "Who?"}]})
    );
    let schema = json!({"type": "object"});
    let full = Question {
        system: Some("Be brief.".to_owned()),
        temperature: Some(0.5),
        max_tokens: Some(9),
        output: Output::Json(Some(schema.clone())),
        ..question()
    };
    let (_, seen) = asked(Openai, &full, answer()).await;
    assert_eq!(
        seen.json(),
        json!({"model": "some-model", "temperature": 0.5, "max_tokens": 9,
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Who?"}],
            "response_format": {"type": "json_schema",
                "json_schema": {"name": "answer", "schema": schema, "strict": false}}})
    );
    let (_, seen) = asked(Openai, &Question { output: Output::Json(None), ..question() }, answer()).await;
    assert_eq!(seen.json()["response_format"], json!({"type": "json_object"}));
    // OpenAI refuses `json_object` unless the word JSON is in a message.
    assert!(seen.json()["messages"][0]["content"].as_str().unwrap().contains("JSON"));
}

#[tokio::test]
async fn what_an_answer_cost_is_read_where_it_is_told() {
    const HEADER: &str = "x-litellm-response-cost";
    let priced = |content: &str, cost: Value| {
        server::json(
            200,
            &json!({"choices": [{"message": {"content": content}, "finish_reason": "length"}], "usage": {"cost": cost}}),
        )
    };
    let text = || chat(&json!({"content": "Ada"}), &json!("stop"));
    for (provider, answer, expected) in [
        (Openai, priced("Ada", json!(0.00014)), Some(0.00014)),
        (Openai, priced("Ada", json!(0)).with(HEADER, "0.5"), Some(0.0)),
        (Openai, priced("Ada", json!(-1)), None),
        (Openai, priced("Ada", json!("soon")), None),
        (Openai, text().with(HEADER, "2.5e-05"), Some(0.000_025)),
        (Openai, text().with(HEADER, "None"), None),
        (Openai, text().with(HEADER, "inf"), None),
        (Openai, text(), None),
        (Anthropic, message(&json!([{"text": "Ada"}]), "end_turn").with(HEADER, "0.25"), Some(0.25)),
        // An answer without text was paid for, too.
        (Openai, priced("", json!(0.5)), Some(0.5)),
        (Openai, chat(&json!({"refusal": "No."}), &json!("stop")).with(HEADER, "0.5"), Some(0.5)),
    ] {
        let (reply, _) = asked(provider, &question(), answer).await;
        let spent = reply.map_or_else(|failure| failure.spent, |reply| reply.paid());
        assert_eq!(spent.cost, expected.and_then(Amount::told));
    }
}

#[tokio::test]
async fn a_server_without_a_key_is_asked_without_one() {
    let server = Server::start(vec![chat(&json!({"content": "Ada"}), &json!("stop"))]).await;
    let access = Access { api_key: None, ..trusted(&server.base) };
    ask(&client(""), Openai, &access, &question(), Dialect::default(), DEADLINE).await.unwrap();
    assert_eq!(server.seen()[0].header("authorization"), None);
    let failure =
        ask(&client(""), Anthropic, &access, &question(), Dialect::default(), DEADLINE).await.unwrap_err();
    assert_eq!(failure.kind.code(), ErrorCode::MissingCredentials);
}

#[tokio::test]
async fn a_teams_own_server_is_guarded() {
    let server = Server::start(vec![]).await;
    let access = Access { network_policy: NetworkPolicy::Guarded, ..trusted(&server.base) };
    for provider in [Openai, Anthropic] {
        let failure =
            ask(&client(""), provider, &access, &question(), Dialect::default(), DEADLINE).await.unwrap_err();
        assert_eq!(failure.kind.code(), ErrorCode::Blocked);
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn anthropic_is_asked_in_its_words() {
    let content =
        json!([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A"}, {"text": "da"}]);
    let answer = || message(&content, "end_turn");
    let (reply, seen) = asked(Anthropic, &question(), answer()).await;
    let reply = reply.unwrap();
    assert_eq!((reply.text.as_str(), reply.finish.as_deref()), ("Ada", Some("end_turn")));
    assert_eq!((reply.input_tokens, reply.output_tokens), (Some(3), Some(4)));
    assert_eq!(seen.line(), "POST /v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(CANARY));
    assert_eq!(seen.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(
        seen.json(),
        json!({"model": "some-model", "max_tokens": 4096, "messages": [{"role": "user", "content": "Who?"}]})
    );
    let full = Question {
        system: Some("Be brief.".to_owned()),
        temperature: Some(1.5),
        max_tokens: Some(9),
        output: Output::Json(Some(json!({"type": "object"}))),
        ..question()
    };
    let (_, seen) = asked(Anthropic, &full, answer()).await;
    assert_eq!(
        seen.json(),
        json!({"model": "some-model", "system": "Be brief.", "temperature": 1.0, "max_tokens": 9,
            "messages": [{"role": "user", "content": "Who?"}],
            "output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}})
    );
}

#[tokio::test]
async fn odd_but_good_answers_are_read() {
    let text = |content: Value, finish: Value| chat(&json!({"content": content}), &finish);
    for (provider, answer, finish, truncated) in [
        (Openai, text(json!("Ada"), json!("eos")), Some("eos"), false),
        (Openai, text(json!("Ada"), json!("")), None, false),
        (Openai, text(json!("Ada"), json!(null)), None, false),
        (Openai, text(json!("Ada"), json!("length")), Some("length"), true),
        (Openai, text(json!([{"type": "text", "text": "Ada"}]), json!("stop")), Some("stop"), false),
        (
            Openai,
            server::json(200, &json!({"choices": [{"message": {"content": "Ada"}}], "usage": {}})),
            None,
            false,
        ),
        (
            Openai,
            server::json(200, &json!({"choices": [{"message": {"content": "Ada"}}], "error": null})),
            None,
            false,
        ),
        (
            Anthropic,
            message(&json!([{"type": "text", "text": "Ada"}]), "max_tokens"),
            Some("max_tokens"),
            true,
        ),
        (Anthropic, message(&json!([{"text": "Ada"}]), "something_new"), Some("something_new"), false),
        (Anthropic, server::json(200, &json!({"content": [{"text": "Ada"}]})), None, false),
    ] {
        let reply = asked(provider, &question(), answer).await.0.unwrap();
        assert_eq!((reply.text.as_str(), reply.finish.as_deref()), ("Ada", finish));
        assert_eq!(reply.truncated, truncated, "{reply:?}");
    }
}

async fn check(
    provider: AiProvider,
    answer: Answer,
    code: ErrorCode,
    is_transient: bool,
    wait_ms: Option<u64>,
) {
    let failure = asked(provider, &question(), answer).await.0.unwrap_err();
    let found = (failure.kind.code(), failure.is_transient, failure.retry_after);
    assert_eq!(found, (code, is_transient, wait_ms.map(Duration::from_millis)), "{failure:?}");
}

fn error(status: u16, kind: &str, code: &Value) -> Answer {
    let message = format!("Said of {CANARY}");
    server::json(status, &json!({"error": {"message": message, "type": kind, "param": null, "code": code}}))
}

#[tokio::test]
async fn openai_failures_are_told_apart() {
    use ErrorCode::{
        InvalidCredentials, InvalidOutput, OutOfCredits, ProviderError, RateLimited, TimedOut, TooLarge,
    };
    let limited = || error(429, "requests", &json!("rate_limit_exceeded"));
    for (answer, code, is_transient, wait_ms) in [
        (limited(), RateLimited, true, None),
        (limited().with("retry-after", "2"), RateLimited, true, Some(2_000)),
        (limited().with("retry-after", "2").with("retry-after-ms", "150"), RateLimited, true, Some(150)),
        (limited().with("x-should-retry", "false"), RateLimited, false, None),
        (error(429, "throttling_error", &json!("429")), RateLimited, true, None),
        (error(429, "insufficient_quota", &json!("insufficient_quota")), OutOfCredits, false, None),
        (
            error(429, "insufficient_quota", &json!(null)).with("x-should-retry", "true"),
            OutOfCredits,
            false,
            None,
        ),
        (error(429, "x", &json!("credit_balance_exhausted")), OutOfCredits, false, None),
        (error(429, "x", &json!("project_spend_limit_reached")), OutOfCredits, false, None),
        (error(402, "x", &json!("payment_required")), OutOfCredits, false, None),
        (error(500, "server_error", &json!(null)), ProviderError, true, None),
        (error(503, "x", &json!("server_is_overloaded")), ProviderError, true, None),
        (error(503, "x", &json!("slow_down")).with("retry-after", "1"), ProviderError, true, Some(1_000)),
        (text(502, "text/html", "<h1>Bad gateway</h1>"), ProviderError, true, None),
        (error(401, "invalid_request_error", &json!("invalid_api_key")), InvalidCredentials, false, None),
        (error(403, "x", &json!("unsupported_country")), InvalidCredentials, false, None),
        (error(404, "invalid_request_error", &json!("model_not_found")), ProviderError, false, None),
        (error(400, "invalid_request_error", &json!("context_length_exceeded")), TooLarge, false, None),
        (error(413, "request_too_large", &json!(null)), TooLarge, false, None),
        (error(408, "timeout", &json!(null)), TimedOut, true, None),
        (text(302, "text/plain", "").with("location", "http://127.0.0.1:1/"), ProviderError, false, None),
        (text(200, "application/json", "{"), InvalidOutput, false, None),
        (text(200, "text/html", "<html>"), InvalidOutput, false, None),
        (server::json(200, &json!({"error": {"code": 429, "message": "x"}})), RateLimited, true, None),
        (server::json(200, &json!({"error": {"message": "x"}})), ProviderError, true, None),
        (server::json(200, &json!({})), InvalidOutput, false, None),
        (chat(&json!({"content": null, "refusal": "I cannot"}), &json!("stop")), ProviderError, false, None),
        (chat(&json!({"content": "half"}), &json!("content_filter")), ProviderError, false, None),
        (chat(&json!({"content": ""}), &json!("length")), InvalidOutput, false, None),
        (chat(&json!({"content": null, "tool_calls": []}), &json!("tool_calls")), InvalidOutput, false, None),
        (Answer::Reset, ProviderError, true, None),
        (Answer::Garbage, ProviderError, true, None),
        (Answer::Endless, TooLarge, false, None),
    ] {
        check(Openai, answer, code, is_transient, wait_ms).await;
    }
}

#[tokio::test]
async fn gemini_in_openais_form_is_understood() {
    let gemini = |status: u16, details: Value| {
        let body =
            json!([{"error": {"code": status, "message": "Quota", "status": "X", "details": details}}]);
        server::json(status, &body)
    };
    let delay = json!([{"@type": "x/google.rpc.RetryInfo", "retryDelay": "31.5s"}]);
    let per_day =
        json!([{"violations": [{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}, delay[0]]);
    check(Openai, gemini(429, delay), ErrorCode::RateLimited, true, Some(31_500)).await;
    check(Openai, gemini(429, per_day), ErrorCode::OutOfCredits, false, None).await;
    check(Openai, gemini(402, json!(null)), ErrorCode::OutOfCredits, false, None).await;
    check(Openai, gemini(400, json!([])), ErrorCode::ProviderError, false, None).await;
    check(Openai, gemini(503, json!([])), ErrorCode::ProviderError, true, None).await;
    check(Openai, gemini(504, json!([])), ErrorCode::ProviderError, true, None).await;
}

#[tokio::test]
async fn anthropic_failures_are_told_apart() {
    use ErrorCode::{InvalidCredentials, InvalidOutput, OutOfCredits, ProviderError, RateLimited, TimedOut};
    let error = |status: u16, kind: &str| {
        let error = json!({"type": kind, "message": format!("Said of {CANARY}")});
        server::json(status, &json!({"type": "error", "error": error, "request_id": "req_1"}))
    };
    let spent = |status: u16, kind: &str, message: &str, code: &str| {
        let error = json!({"type": kind, "message": message, "details": {"error_code": code}});
        server::json(status, &json!({"type": "error", "error": error}))
    };
    for (answer, code, is_transient, wait_ms) in [
        (error(429, "rate_limit_error").with("retry-after", "12"), RateLimited, true, Some(12_000)),
        (error(429, "rate_limit_error").with("retry-after-ms", "90"), RateLimited, true, Some(90)),
        (spent(429, "rate_limit_error", "x", "enforced_spend_limit_reached"), OutOfCredits, false, None),
        (error(402, "billing_error"), OutOfCredits, false, None),
        (
            spent(400, "invalid_request_error", "You have reached your spend limit", ""),
            OutOfCredits,
            false,
            None,
        ),
        (
            spent(400, "invalid_request_error", "Your credit balance is too low", ""),
            OutOfCredits,
            false,
            None,
        ),
        (error(529, "overloaded_error"), ProviderError, true, None),
        (error(500, "api_error"), ProviderError, true, None),
        (error(500, "api_error").with("x-should-retry", "false"), ProviderError, false, None),
        (error(504, "timeout_error"), TimedOut, true, None),
        (error(409, "invalid_request_error"), ProviderError, true, None),
        (error(400, "invalid_request_error"), ProviderError, false, None),
        (error(400, "invalid_request_error").with("x-should-retry", "true"), ProviderError, true, None),
        (error(401, "authentication_error"), InvalidCredentials, false, None),
        (error(403, "permission_error"), InvalidCredentials, false, None),
        (error(404, "not_found_error"), ProviderError, false, None),
        (error(200, "overloaded_error"), ProviderError, true, None),
        (text(503, "text/plain", "upstream"), ProviderError, true, None),
        (text(200, "application/json", "nope"), InvalidOutput, false, None),
        (message(&json!([]), "refusal"), ProviderError, false, None),
        (message(&json!([]), "max_tokens"), InvalidOutput, false, None),
        (message(&json!([{"type": "tool_use"}]), "tool_use"), InvalidOutput, false, None),
    ] {
        check(Anthropic, answer, code, is_transient, wait_ms).await;
    }
}

#[tokio::test]
async fn an_answer_with_problems_is_shown_to_the_model() {
    let schema = json!({"type": "object", "required": ["name"]});
    let question = Question { output: Output::Json(Some(schema.clone())), ..question() };
    let problems = read_json("{}", Some(&AnswerSchema::compile(&schema).unwrap())).unwrap_err();
    let again = question.repair("{}", &problems);
    let answer = chat(&json!({"content": "{\"name\":\"Ada\"}"}), &json!("stop"));
    let (reply, seen) = asked(Openai, &again, answer).await;
    let messages = &seen.json()["messages"];
    assert_eq!(messages[1], json!({"role": "assistant", "content": "{}"}));
    let told = messages[2]["content"].as_str().unwrap();
    assert!(told.contains("\"name\" is a required property") && told.contains(&schema.to_string()), "{told}");
    let json = read_json(&reply.unwrap().text, Some(&AnswerSchema::compile(&schema).unwrap())).unwrap();
    assert_eq!(json.get(), "{\"name\":\"Ada\"}");
}
