//! Servers that take, and answer, something else than the wire's authors meant.

use std::time::Duration;

use rowmill_model::column::AiProvider::{self, Anthropic, Openai};
use rowmill_model::{ErrorCode, Spent, Usage};
use rowmill_providers::Failure;
use rowmill_providers::llm::{Adaptation, Answer as Told, Dialect, Output, Prefix, Question, Reply, ask};
use serde_json::{Value, json};

use crate::server::{self, Answer, Seen, Server, text};
use crate::support::{assert_clean, client, trusted};

/// Asks until the server refuses nothing any more, as the engine does.
async fn talk(
    provider: AiProvider,
    question: &Question,
    script: Vec<Answer>,
) -> (Result<Reply, Failure>, Vec<Seen>) {
    let server = Server::start(script).await;
    let (access, mut dialect, mut question) = (trusted(&server.base), Dialect::default(), question.clone());
    let reply = loop {
        let deadline = Duration::from_secs(20);
        let answer = ask(&client(""), provider, &access, &question, dialect, deadline).await;
        assert_clean(&answer);
        match answer {
            Ok(Told::Refused(Adaptation::Speak(next), _)) => dialect = next,
            Ok(Told::Refused(Adaptation::Shorten(tokens), _)) => question.max_tokens = Some(tokens),
            Ok(told) => break told.into_reply(),
            Err(failure) => break Err(failure),
        }
    };
    (reply, server.seen())
}

fn question() -> Question {
    Question {
        temperature: Some(0.5),
        max_tokens: Some(100_000),
        output: Output::Json(Some(json!({"type": "object"}))),
        ..Question::new("some-model", "Who?")
    }
}

fn refused(words: &str) -> Answer {
    server::json(400, &json!({"type": "error", "error": {"type": "invalid_request_error", "message": words}}))
}

fn good(provider: AiProvider) -> Answer {
    let body = match provider {
        Openai => json!({"choices": [{"message": {"content": "{}"}, "finish_reason": "stop"}]}),
        Anthropic => {
            json!({"type": "message", "content": [{"type": "text", "text": "{}"}], "stop_reason": "end_turn"})
        }
    };
    server::json(200, &body)
}

/// What a request holds once the server's refusal is heeded, as (field, value); null where it is left out.
async fn check(provider: AiProvider, words: &str, expected: &[(&str, Value)]) {
    let (reply, seen) = talk(provider, &question(), vec![refused(words), good(provider)]).await;
    assert_eq!((reply.unwrap().text.as_str(), seen.len()), ("{}", 2), "{words}");
    let (before, after) = (seen[0].json(), seen[1].json());
    for (field, value) in expected {
        assert_eq!(after.get(*field).unwrap_or(&Value::Null), value, "{words}: {field}");
    }
    let names =
        before.as_object().unwrap().keys().filter(|name| !["messages", "system"].contains(&name.as_str()));
    for name in names.filter(|name| expected.iter().all(|(field, _)| field != name)) {
        assert_eq!(before[name], after[name], "{words}: {name} is as it was");
    }
}

#[tokio::test]
async fn a_parameter_that_is_refused_is_changed_or_left_out() {
    let not_supported =
        |what: &str| format!("Unsupported parameter: '{what}' is not supported with this model.");
    let limit = |field: &'static str, limit: u32| [("max_tokens", Value::Null), (field, json!(limit))];
    check(Openai, &not_supported("max_tokens"), &limit("max_completion_tokens", 100_000)).await;
    let too_large = "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.";
    check(Openai, too_large, &[("max_tokens", json!(16_384))]).await;
    let too_large = "max_tokens: 100000 > 8192, which is the maximum allowed number of output tokens";
    check(Anthropic, too_large, &[("max_tokens", json!(8_192))]).await;
    for provider in [Openai, Anthropic] {
        check(provider, &not_supported("temperature"), &[("temperature", Value::Null)]).await;
    }
    let any_json = [("response_format", json!({"type": "json_object"}))];
    check(Openai, "response_format.json_schema is not supported", &any_json).await;
    check(Anthropic, "output_config: Extra inputs are not permitted", &[("output_config", Value::Null)])
        .await;
    check(Openai, "Only stream=true is supported", &[("stream", json!(true))]).await;
    let shorter = "This model's maximum context length is 4097 tokens. However, you requested 101000 tokens \
                   (1000 in the messages, 100000 in the completion).";
    check(Openai, shorter, &[("max_tokens", json!(3_097))]).await;
}

#[tokio::test]
async fn a_server_that_refuses_much_is_asked_for_little() {
    let script = |provider| {
        vec![
            refused("Unknown parameter: max_tokens"),
            refused("Unknown parameter: max_completion_tokens"),
            refused("Unknown parameter: temperature"),
            refused("response_format of type json_schema is not supported"),
            refused("response_format is not supported"),
            good(provider),
        ]
    };
    let (reply, seen) = talk(Openai, &question(), script(Openai)).await;
    assert_eq!(reply.unwrap().text, "{}");
    let last = seen[5].json();
    let fields: Vec<&String> = last.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["model", "messages"]);
    let system = last["messages"][0]["content"].as_str().unwrap();
    assert!(system.contains("JSON Schema") && system.contains(r#"{"type":"object"}"#), "{system}");
    // Anthropic cannot do without a limit: to ask for another name is the end of it.
    let (reply, seen) = talk(Anthropic, &question(), script(Anthropic)).await;
    assert_eq!((reply.unwrap_err().kind.code(), seen.len()), (ErrorCode::ProviderError, 1));
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_an_error_of_its_own() {
    for (provider, answer, words) in [
        (
            Anthropic,
            refused("prompt is too long: 210000 tokens > 200000 maximum"),
            "it has 210000 tokens, and the model takes 200000.",
        ),
        (
            Openai,
            refused(
                "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
            ),
            "it has 9001 tokens, and the model takes 8192.",
        ),
        (
            Openai,
            refused("Your input exceeds the context window of this model."),
            "it has 4 bytes, about 1 tokens.",
        ),
        (
            Openai,
            server::json(
                200,
                &json!({"error": {"code": 400, "message": "The input token count (99) exceeds the maximum number of tokens allowed (50)."}}),
            ),
            "it has 99 tokens, and the model takes 50.",
        ),
        (
            Anthropic,
            server::json(
                413,
                &json!({"type": "error", "error": {"type": "request_too_large", "message": "Request exceeds the maximum size"}}),
            ),
            "it has 4 bytes",
        ),
    ] {
        let (reply, seen) = talk(provider, &question(), vec![answer]).await;
        let failure = reply.unwrap_err();
        assert_eq!((failure.kind.code(), failure.is_transient, seen.len()), (ErrorCode::TooLarge, false, 1));
        assert!(failure.message.contains(words), "{}", failure.message);
    }
}

fn chat(choice: &Value) -> Answer {
    server::json(200, &json!({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 5}}))
}

fn says(message: &Value) -> Answer {
    chat(&json!({"message": message, "finish_reason": "stop"}))
}

fn content(parts: &Value) -> Answer {
    server::json(200, &json!({"type": "message", "content": parts, "stop_reason": "end_turn"}))
}

#[tokio::test]
async fn an_answer_is_found_wherever_it_stands() {
    let call = |arguments: Value| json!({"content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "answer", "arguments": arguments}}]});
    for (provider, answer, expected, reasoned) in [
        (Openai, says(&json!({"content": "<think>{\"a\": 2}</think>\n{\"a\": 1}"})), "\n{\"a\": 1}", true),
        (Openai, says(&json!({"content": "{\"a\": 1}", "reasoning_content": "hm"})), "{\"a\": 1}", true),
        (Openai, says(&json!({"content": "{\"a\": 1}", "reasoning": "hm"})), "{\"a\": 1}", true),
        (
            Openai,
            says(
                &json!({"content": [{"type": "thinking", "text": "hm"}, {"type": "text", "text": "{\"a\": 1}"}]}),
            ),
            "{\"a\": 1}",
            true,
        ),
        (Openai, says(&call(json!("{\"a\": 1}"))), "{\"a\": 1}", false),
        (Openai, says(&call(json!({"a": 1}))), "{\"a\":1}", false),
        (
            Openai,
            says(&json!({"content": "", "function_call": {"name": "x", "arguments": "{\"a\": 1}"}})),
            "{\"a\": 1}",
            false,
        ),
        (Openai, chat(&json!({"text": "{\"a\": 1}", "finish_reason": "stop"})), "{\"a\": 1}", false),
        (
            Anthropic,
            content(&json!([{"type": "tool_use", "id": "t", "name": "answer", "input": {"a": 1}}])),
            "{\"a\":1}",
            false,
        ),
        (
            Anthropic,
            content(
                &json!([{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "{\"a\": 1}"}]),
            ),
            "{\"a\": 1}",
            true,
        ),
    ] {
        let reply = talk(provider, &question(), vec![answer]).await.0.unwrap();
        assert_eq!((reply.text.as_str(), reply.reasoned), (expected, reasoned));
    }
    // A tool call is no text.
    let plain = Question::new("some-model", "Who?");
    assert!(talk(Openai, &plain, vec![says(&call(json!("{}")))]).await.0.is_err());
}

#[tokio::test]
async fn an_answer_without_text_was_paid_for() {
    let thought = || says(&json!({"content": "<think>still", "reasoning_content": null}));
    let refusal = || says(&json!({"refusal": "No."}));
    for answer in
        [thought(), refusal(), chat(&json!({"message": {"content": ""}, "finish_reason": "length"}))]
    {
        let failure = talk(Openai, &question(), vec![answer]).await.0.unwrap_err();
        let usage = Usage { input_tokens: 7, output_tokens: 5, ..Usage::NONE };
        assert_eq!(failure.spent, Spent { usage, ..Spent::NOTHING }, "{failure:?}");
    }
}

#[tokio::test]
async fn what_rows_share_is_marked_and_what_was_cached_is_told() {
    let prefix = Some(Prefix { bytes: "Rules. ".len(), key: "k1".to_owned() });
    let shared = Question { prefix, ..Question::new("some-model", "Rules. Row") };
    let usage = json!({"input_tokens": 7, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 5});
    let message = json!({"content": [{"type": "text", "text": "Ada"}], "usage": usage});
    let good = || server::json(200, &message);
    let told = |reply: &Reply| (reply.input_tokens, reply.cached_tokens, reply.cache_written_tokens);
    let (reply, seen) = talk(Anthropic, &shared, vec![good()]).await;
    assert_eq!(told(&reply.unwrap()), (Some(127), 100, 20));
    let parts = json!([
        {"type": "text", "text": "Rules. ", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Row"},
    ]);
    assert_eq!(seen[0].json()["messages"][0]["content"], parts);
    let refusal = refused("messages.0.content.0.cache_control: Extra inputs are not permitted");
    let (reply, seen) = talk(Anthropic, &shared, vec![refusal, good()]).await;
    assert_eq!(reply.unwrap().text, "Ada");
    assert_eq!(seen[1].json()["messages"][0]["content"], "Rules. Row");
    let details = json!({"cached_tokens": 100, "cache_write_tokens": 20});
    let usage = json!({"prompt_tokens": 127, "prompt_tokens_details": details});
    let answer = json!({"choices": [{"message": {"content": "Ada"}}], "usage": usage});
    let (reply, seen) = talk(Openai, &shared, vec![server::json(200, &answer)]).await;
    assert_eq!(told(&reply.unwrap()), (Some(127), 100, 20));
    assert_eq!(seen[0].json().get("prompt_cache_key"), None, "only OpenAI itself knows it");
    assert_eq!(seen[0].json()["messages"][0]["content"], "Rules. Row");
}

fn stream(events: &[Value], end: &str) -> Answer {
    let events = events.iter().fold(String::new(), |all, event| all + "data: " + &event.to_string() + "\n\n");
    text(200, "text/event-stream; charset=utf-8", &(events + end))
}

#[tokio::test]
async fn a_stream_is_put_together() {
    let piece = |delta: Value| json!({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": null}]});
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}], "usage": null});
    let usage = json!({"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 5, "cost": 0.5}});
    let pieces = [
        piece(json!({"role": "assistant", "reasoning_content": "hm"})),
        piece(json!({"content": "{\"a\""})),
        piece(json!({"content": ": 1}"})),
        end.clone(),
        usage,
    ];
    let reply = talk(Openai, &question(), vec![stream(&pieces, "data: [DONE]\n\n")]).await.0.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.model.as_deref(), reply.truncated, reply.reasoned),
        ("{\"a\": 1}", Some("m-1"), true, true)
    );
    assert_eq!(
        (reply.input_tokens, reply.output_tokens, reply.spent.cost.map(rowmill_model::Amount::number)),
        (Some(7), Some(5), Some(0.5))
    );
    let call =
        |arguments: &str| piece(json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]}));
    let calls = [call("{\"a\""), call(": 1}"), end.clone()];
    assert_eq!(talk(Openai, &question(), vec![stream(&calls, "")]).await.0.unwrap().text, "{\"a\": 1}");
    // Half a stream is not half an answer.
    let broken = talk(Openai, &question(), vec![stream(&pieces[..2], "")]).await.0.unwrap_err();
    assert_eq!((broken.kind.code(), broken.is_transient), (ErrorCode::ProviderError, true));
    let error = json!({"error": {"code": 429, "message": "Slow down"}});
    let failure = talk(Openai, &question(), vec![stream(&[piece(json!({"content": "a"})), error], "")])
        .await
        .0
        .unwrap_err();
    assert_eq!(failure.kind.code(), ErrorCode::RateLimited);
}

#[tokio::test]
async fn anthropics_stream_is_put_together() {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let block = |block: Value| json!({"type": "content_block_start", "index": 0, "content_block": block});
    let start = json!({"type": "message_start", "message": {"model": "claude-x", "content": [], "usage": {"input_tokens": 7, "output_tokens": 1}}});
    let end =
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}});
    let events = [
        start.clone(),
        block(json!({"type": "thinking", "thinking": ""})),
        delta(json!({"type": "thinking_delta", "thinking": "hm"})),
        block(json!({"type": "text", "text": ""})),
        delta(json!({"type": "text_delta", "text": "{\"a\""})),
        delta(json!({"type": "text_delta", "text": ": 1}"})),
        end.clone(),
        json!({"type": "message_stop"}),
    ];
    let reply = talk(Anthropic, &question(), vec![stream(&events, "")]).await.0.unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.reasoned, reply.finish.as_deref()),
        ("{\"a\": 1}", true, Some("end_turn"))
    );
    assert_eq!((reply.input_tokens, reply.output_tokens), (Some(7), Some(5)));
    let tool = [
        start,
        block(json!({"type": "tool_use", "name": "answer", "input": {}})),
        delta(json!({"type": "input_json_delta", "partial_json": "{\"a\""})),
        delta(json!({"type": "input_json_delta", "partial_json": ": 1}"})),
        end,
    ];
    assert_eq!(talk(Anthropic, &question(), vec![stream(&tool, "")]).await.0.unwrap().text, "{\"a\": 1}");
    let broken = talk(Anthropic, &question(), vec![stream(&events[..5], "")]).await.0.unwrap_err();
    assert_eq!((broken.kind.code(), broken.is_transient), (ErrorCode::ProviderError, true));
    let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let failure = talk(Anthropic, &question(), vec![stream(&[overloaded], "")]).await.0.unwrap_err();
    assert_eq!((failure.kind.code(), failure.is_transient), (ErrorCode::ProviderError, true));
}
