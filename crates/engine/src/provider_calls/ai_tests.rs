//! Whole AI cells: what is asked again, what is remembered, what is paid, and who steps in.

use std::time::Duration;

use rowmill_model::cell::Meta;
use rowmill_model::{DataShape, ErrorCode};
use serde_json::{Value as Json, json};

use super::tests::{Server, asks, code, provider_calls, reply, value};
use crate::cell_runner::{CallFailure, CallOutcome, Cell, CellRunner as _};

type Scripted = (u16, &'static str, Json);

const PRICE: &str = "x-litellm-response-cost: 0.25\r\n";

fn refused(words: &str) -> Scripted {
    (400, "", json!({"error": {"message": words}}))
}

fn says(text: &str) -> Scripted {
    (200, PRICE, reply(text))
}

/// An answer with a reason to end, and thoughts.
fn ends(content: &str, finish: &str) -> Scripted {
    let message = json!({"content": content, "reasoning_content": "hm"});
    let usage = json!({"prompt_tokens": 3, "completion_tokens": 2});
    (200, PRICE, json!({"choices": [{"message": message, "finish_reason": finish}], "usage": usage}))
}

/// The bodies that a server was sent.
fn sent(server: &Server) -> Vec<Json> {
    let body = |seen: &String| serde_json::from_str(seen.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    server.seen().iter().map(body).collect()
}

fn failed(outcome: CallOutcome) -> CallFailure {
    match outcome {
        CallOutcome::Failed(call_failure) => *call_failure,
        other => panic!("no failure: {other:?}"),
    }
}

/// Answers, tokens in, tokens out, and dollars.
fn bill(meta: &Meta) -> [Json; 4] {
    ["calls", "inputTokens", "outputTokens", "cost"].map(|name| meta.get(name).cloned().unwrap_or_default())
}

#[tokio::test]
async fn a_refusal_is_met_once_and_remembered_for_a_while() {
    let server = Server::start(vec![
        refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
        refused("temperature is not supported"),
        says("one"),
        says("two"),
        says("three"),
        refused("temperature is not supported"),
        says("four"),
    ])
    .await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(json!({"prompt": "Who?", "maxTokens": 9, "temperature": 0.5}), DataShape::Text);
    let (_, meta) = value(provider_calls.call(&cell).await);
    assert_eq!(meta["adapted"], json!(["max_tokens", "temperature"]));
    assert_eq!(bill(&meta), [Json::Null, json!(3), json!(2), json!(0.25)], "a refusal costs nothing");
    value(provider_calls.call(&cell).await);
    let bodies = sent(&server);
    assert_eq!(bodies.len(), 4, "the second cell is asked right at once");
    assert_eq!(
        bodies[3],
        json!({"model": "tiny", "messages": [{"role": "user", "content": "Who?"}], "max_completion_tokens": 9})
    );
    // Another model may be able to do more; and so may this one, one day.
    let other = asks(json!({"prompt": "Who?", "model": "big", "temperature": 0.5}), DataShape::Text);
    value(provider_calls.call(&other).await);
    provider_calls.clock().sleep(Duration::from_hours(6)).await;
    value(provider_calls.call(&cell).await);
    let temperatures: Vec<Json> = sent(&server).iter().map(|body| body["temperature"].clone()).collect();
    assert_eq!(temperatures[4..], [json!(0.5), json!(0.5), Json::Null]);
}

#[tokio::test]
async fn refusals_come_to_an_end_and_what_did_not_help_is_forgotten() {
    let mut script = vec![refused("temperature is wrong"), refused("It is something else.")];
    // Each number is smaller than the last: a server could go on for ever.
    script.extend(
        (0..9).map(|number| refused(&format!("max_tokens is too large, at most {}", 90_000 - number))),
    );
    let server = Server::start(script).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(json!({"prompt": "Who?", "maxTokens": 90_001, "temperature": 0.5}), DataShape::Text);
    assert_eq!(code(&provider_calls.call(&cell).await), ErrorCode::ProviderError);
    assert_eq!(server.seen().len(), 2);
    assert_eq!(code(&provider_calls.call(&cell).await), ErrorCode::ProviderError);
    let bodies = sent(&server);
    assert_eq!((bodies.len(), &bodies[2]["temperature"]), (9, &json!(0.5)));
}

#[tokio::test]
async fn an_answer_that_did_not_fit_is_asked_for_once_more_with_room() {
    let server = Server::start(vec![
        ends("", "length"),
        says("Ulm"),
        ends("{\"n\": 1", "length"),
        says("{\"n\": 1}"),
        ends("", "stop"),
        ends("", "length"),
        says("{\"n\": ["),
        ends("{\"n\": [1", "length"),
    ])
    .await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let text = |tokens: u32| asks(json!({"prompt": "Who?", "maxTokens": tokens}), DataShape::Text);
    let number = || asks(json!({"prompt": "Count", "outputSchema": {"type": "object"}}), DataShape::Json);
    let twice = [json!(2), json!(6), json!(4), json!(0.5)];
    let (raw, meta) = value(provider_calls.call(&text(1_000)).await);
    assert_eq!((raw.as_str(), bill(&meta)), ("\"Ulm\"", twice.clone()));
    let (raw, meta) = value(provider_calls.call(&number()).await);
    assert_eq!((raw.as_str(), bill(&meta)), ("{\"n\": 1}", twice.clone()));
    let failure = failed(provider_calls.call(&text(10)).await);
    assert_eq!((failure.error.code, bill(&failure.meta)), (ErrorCode::InvalidOutput, twice.clone()));
    assert!(failure.error.message.contains("reasoning"), "{}", failure.error.message);
    let failure = failed(provider_calls.call(&number()).await);
    assert_eq!((failure.error.code, bill(&failure.meta)), (ErrorCode::InvalidOutput, twice));
    assert!(failure.error.message.contains("token limit"), "{}", failure.error.message);
    let limits: Vec<Json> = sent(&server).iter().map(|body| body["max_tokens"].clone()).collect();
    let none = Json::Null;
    let room = json!(16_384);
    assert_eq!(
        limits,
        [json!(1_000), json!(4_000), none.clone(), room.clone(), json!(10), json!(1_024), none, room]
    );
}

#[tokio::test]
async fn a_second_answer_that_cannot_be_had_leaves_the_first_on_the_bill() {
    let busy = (429, "retry-after: 30\r\n", json!({"error": {"message": "Slow down"}}));
    let declines =
        (200, PRICE, json!({"choices": [{"message": {"refusal": "No."}}], "usage": {"prompt_tokens": 5}}));
    let server = Server::start(vec![says("{\"n\": 1"), busy, says("{\"n\": 1"), declines]).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(json!({"prompt": "Count", "outputSchema": {"type": "object"}}), DataShape::Json);
    let failure = failed(provider_calls.call(&cell).await);
    assert_eq!((failure.error.code, failure.is_transient), (ErrorCode::RateLimited, true));
    assert_eq!(bill(&failure.meta), [Json::Null, json!(3), json!(2), json!(0.25)]);
    provider_calls.clock().sleep(Duration::from_secs(30)).await;
    let failure = failed(provider_calls.call(&cell).await);
    assert_eq!(bill(&failure.meta), [Json::Null, json!(8), json!(2), json!(0.5)]);
}

#[tokio::test]
async fn a_paid_answer_is_a_try_even_if_the_cell_must_wait() {
    let server = Server::start(vec![says("no json")]).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let cell = asks(json!({"prompt": "Count", "outputSchema": {"type": "object"}}), DataShape::Json);
    let once_a_minute = serde_json::from_value(json!({"requests": 1, "perSeconds": 60})).unwrap();
    let cell = cell.with(|column| column.rate_limit = Some(once_a_minute));
    let failure = failed(provider_calls.call(&cell).await);
    assert_eq!((failure.error.code, failure.is_transient), (ErrorCode::RateLimited, true));
    assert!(failure.retry_after.is_some_and(|wait| wait > Duration::from_secs(50)));
    assert_eq!(bill(&failure.meta), [Json::Null, json!(3), json!(2), json!(0.25)]);
}

fn with_fallback(fallback: &Json, attempts: u32) -> Cell {
    let config = json!({"prompt": "Who?", "model": "first", "fallback": fallback});
    Cell { attempts, ..asks(config, DataShape::Text) }
}

#[tokio::test]
async fn a_fallback_model_steps_in() {
    let declines =
        (200, PRICE, json!({"choices": [{"message": {"refusal": "No."}}], "usage": {"prompt_tokens": 5}}));
    let broken = || (500, "", json!({"error": {"message": "Down"}}));
    let server = Server::start(vec![declines, says("Ada"), broken(), broken(), says("Bob")]).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let fallback = json!({"model": "second"});
    let (raw, meta) = value(provider_calls.call(&with_fallback(&fallback, 0)).await);
    assert_eq!((raw.as_str(), &meta["model"]), ("\"Ada\"", &json!("tiny-1")));
    assert_eq!(bill(&meta), [Json::Null, json!(8), json!(2), json!(0.5)], "both were paid for");
    let why = json!({"provider": "openai", "model": "first", "code": "provider_error",
        "message": "The model declined to answer: No."});
    assert_eq!(meta["fallbackFrom"], why);
    // What may pass is tried again first, with the first choice.
    let outcome = provider_calls.call(&with_fallback(&fallback, 0)).await;
    assert!(failed(outcome).is_transient);
    assert_eq!(value(provider_calls.call(&with_fallback(&fallback, 4)).await).0, "\"Bob\"");
    let models: Vec<Json> = sent(&server).iter().map(|body| body["model"].clone()).collect();
    assert_eq!(models, ["first", "second", "first", "first", "second"]);
}

#[tokio::test]
async fn a_fallback_provider_steps_in_for_one_that_is_not_there() {
    let message = json!({"content": [{"type": "text", "text": "Ada"}], "model": "claude-x", "stop_reason": "end_turn",
        "usage": {"input_tokens": 3, "output_tokens": 2}});
    let claude = Server::start(vec![(200, "", message)]).await;
    let provider_calls = provider_calls(&[("anthropic", &claude)], &[]);
    let config = json!({"prompt": "Who?", "provider": "openai", "fallback": {"provider": "anthropic"}});
    let (raw, meta) = value(provider_calls.call(&asks(config, DataShape::Text)).await);
    assert_eq!(
        (raw.as_str(), &meta["provider"], &meta["model"]),
        ("\"Ada\"", &json!("anthropic"), &json!("claude-x"))
    );
    let named =
        asks(json!({"prompt": "Who?", "provider": "openai", "fallback": {"model": "x"}}), DataShape::Text);
    assert_eq!(
        code(&provider_calls.call(&named).await),
        ErrorCode::MissingCredentials,
        "nobody else is asked"
    );
    assert_eq!(claude.seen().len(), 1);
}

#[tokio::test]
async fn where_both_fail_both_are_told_and_paid() {
    let broken = (500, "", json!({"error": {"message": "Down"}}));
    let declines =
        (200, PRICE, json!({"choices": [{"message": {"refusal": "No."}}], "usage": {"prompt_tokens": 5}}));
    let server = Server::start(vec![declines.clone(), broken, declines.clone(), declines]).await;
    let provider_calls = provider_calls(&[("openai", &server)], &[]);
    let failure = failed(provider_calls.call(&with_fallback(&json!({"model": "second"}), 0)).await);
    assert!(failure.is_transient, "the fallback may come back");
    assert_eq!(bill(&failure.meta), [Json::Null, json!(5), Json::Null, json!(0.25)]);
    let failure = failed(provider_calls.call(&with_fallback(&json!({"model": "second"}), 0)).await);
    assert!(
        !failure.is_transient && failure.error.message.contains("The fallback failed, too"),
        "{failure:?}"
    );
    assert_eq!(bill(&failure.meta), [Json::Null, json!(10), Json::Null, json!(0.5)]);
}
