//! Anthropic's messages.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::attachments::add_to_messages;
use super::cache::anthropic_blocks;
use super::dialect::{Dialect, Format, Sent, Streaming, Wire};
use super::question::{Output, Question};
use super::reply::{Reply, arguments_text, content_text, cost, has_thoughts, word};
use super::sse::{Events, STREAM_BYTES_MAX, events};
use super::thoughts::without_thoughts;
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Anthropic";
pub(super) const VERSION: &str = "2023-06-01";

/// The wire demands a limit; this one is long enough for a cell.
const MAX_TOKENS_DEFAULT: u32 = 4096;

/// OpenAI's scale ends at 2, this one at 1.
const TEMPERATURE_MAX: f64 = 1.0;

pub(super) fn request(
    access: &Access,
    question: &Question,
    dialect: Dialect,
) -> Result<(Request, Sent), Failure> {
    let (mut body, sent) = body(question, dialect);
    add_to_messages(&mut body, &question.attachments);
    Ok((post(access, dialect)?.json(&body), sent))
}

/// A request without its body.
pub(super) fn post(access: &Access, dialect: Dialect) -> Result<Request, Failure> {
    let request = Request::new(Method::POST, access.url("v1/messages"), access.network_policy)
        .secret_header("x-api-key", "", access.require_key()?)?
        .header("anthropic-version", VERSION)?;
    Ok(if dialect.streaming == Streaming::Off { request } else { request.bytes_max(STREAM_BYTES_MAX) })
}

pub(super) fn body(question: &Question, dialect: Dialect) -> (Value, Sent) {
    let Question { model, system: _, turns, prefix, temperature, max_tokens, output, attachments: _ } =
        question;
    let prefix = prefix.as_ref().filter(|_| !dialect.without_cache);
    let mut has_cache = false;
    let mut messages: Vec<Value> = Vec::with_capacity(turns.len());
    for (place, turn) in turns.iter().enumerate() {
        let blocks = anthropic_blocks(&turn.text, prefix.filter(|_| place == 0));
        has_cache |= blocks.is_some();
        let content = blocks.map_or_else(|| json!(turn.text), |blocks| json!(blocks));
        messages.push(json!({"role": turn.speaker.word(), "content": content}));
    }
    let limit = dialect.limit(max_tokens.unwrap_or(MAX_TOKENS_DEFAULT));
    let temperature = temperature.filter(|_| !dialect.without_temperature);
    let schema = match (output, dialect.format) {
        (Output::Json(Some(schema)), Format::Schema) => Some(schema),
        (Output::Json(_) | Output::Text, _) => None,
    };
    let sent = Sent {
        limit: Some(("max_tokens", limit)),
        has_temperature: temperature.is_some(),
        has_format: schema.is_some(),
        has_cache,
        wire: Wire::Anthropic,
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("max_tokens".to_owned(), json!(limit));
    body.insert("messages".to_owned(), json!(messages));
    if let Some(system) = question.system_text(dialect.format) {
        body.insert("system".to_owned(), json!(system));
    }
    if let Some(temperature) = temperature {
        body.insert("temperature".to_owned(), json!(temperature.min(TEMPERATURE_MAX)));
    }
    if let Some(schema) = schema {
        let format = json!({"format": {"type": "json_schema", "schema": schema}});
        body.insert("output_config".to_owned(), format);
    }
    if dialect.streaming != Streaming::Off {
        body.insert("stream".to_owned(), json!(true));
    }
    (Value::Object(body), sent)
}

pub(super) fn read(response: &Response, question: &Question) -> Result<Reply, Failure> {
    read_whole(response, question).map(|(reply, _)| reply)
}

/// The reply, and the body that it was read from.
pub(super) fn read_whole(response: &Response, question: &Question) -> Result<(Reply, Value), Failure> {
    if !(200..300).contains(&response.status) {
        return Err(failure(response, &response.json_lenient()));
    }
    let body = match events(response) {
        Some(events) => whole(&events)?,
        None => response.json(WHO)?,
    };
    if body.get("type").and_then(Value::as_str) == Some("error") {
        return Err(failure(response, &body));
    }
    let content = body.get("content").unwrap_or(&Value::Null);
    let said = content_text(content);
    let (said, has_thoughts_before) = without_thoughts(&said);
    let text = match tool_input(content).filter(|_| said.trim().is_empty() && question.output != Output::Text)
    {
        Some(input) => input,
        None => said.to_owned(),
    };
    let finish = word(&body, "stop_reason");
    let count = |key: &str| body.pointer(&format!("/usage/{key}")).and_then(Value::as_u64);
    let cached_tokens = count("cache_read_input_tokens").unwrap_or_default();
    let cache_written_tokens = count("cache_creation_input_tokens").unwrap_or_default();
    let reply = Reply {
        text,
        model: word(&body, "model"),
        // The three are told apart here. Elsewhere the input is all of them.
        input_tokens: count("input_tokens")
            .map(|plain| plain.saturating_add(cached_tokens).saturating_add(cache_written_tokens)),
        cached_tokens,
        cache_written_tokens,
        output_tokens: count("output_tokens"),
        spent: cost(&body, response),
        truncated: matches!(finish.as_deref(), Some("max_tokens" | "model_context_window_exceeded")),
        reasoned: has_thoughts_before || has_thoughts(content),
        finish,
    };
    if reply.finish.as_deref() == Some("refusal") {
        return Err(reply.declined(Some(&reply.text)));
    }
    Ok((reply, body))
}

/// The answer of a model that took the schema for a tool.
fn tool_input(content: &Value) -> Option<String> {
    content.as_array()?.iter().find_map(|part| arguments_text(part.get("input")?))
}

/// The answer that a stream's pieces make.
fn whole(events: &Events) -> Result<Value, Failure> {
    let mut whole = Value::Null;
    let mut parts: Vec<Value> = Vec::new();
    let mut is_complete = false;
    for event in &events.data {
        match event.get("type").and_then(Value::as_str).unwrap_or_default() {
            "error" => return Ok(event.clone()),
            "message_start" => whole = event.get("message").cloned().unwrap_or_default(),
            "content_block_start" => {
                parts.push(event.get("content_block").cloned().unwrap_or_default());
            }
            "content_block_delta" => {
                if let (Some(part), Some(delta)) = (parts.last_mut(), event.get("delta")) {
                    extend(part, delta);
                }
            }
            "message_delta" => {
                is_complete = true;
                set(&mut whole, "stop_reason", event.pointer("/delta/stop_reason"));
                let mut usage = whole.get("usage").cloned().unwrap_or_default();
                let counts = event.get("usage").and_then(Value::as_object);
                for (name, count) in counts.into_iter().flatten() {
                    set(&mut usage, name, Some(count));
                }
                set(&mut whole, "usage", Some(&usage));
            }
            "message_stop" => is_complete = true,
            _ => {}
        }
    }
    if !is_complete {
        return Err(Failure::transient(format!(
            "{WHO} broke the stream off before the response was complete."
        )));
    }
    set(&mut whole, "content", Some(&Value::Array(parts)));
    Ok(whole)
}

/// Adds a piece to the part of the content that it belongs to.
fn extend(part: &mut Value, delta: &Value) {
    let pieces =
        [("text", "text"), ("thinking", "thinking"), ("signature", "signature"), ("input", "partial_json")];
    for (key, piece) in pieces {
        let Some(piece) = delta.get(piece).and_then(Value::as_str) else { continue };
        // The input of a tool begins as an empty object and goes on as text.
        let before = part.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        set(part, key, Some(&Value::from(before + piece)));
    }
}

fn set(object: &mut Value, key: &str, value: Option<&Value>) {
    if object.is_null() {
        *object = json!({});
    }
    if let (Some(object), Some(value)) = (object.as_object_mut(), value) {
        object.insert(key.to_owned(), value.clone());
    }
}

pub(super) fn failure(response: &Response, body: &Value) -> Failure {
    let text = |pointer: &str| body.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    if is_spent(response.status, text("/error/details/error_code"), text("/error/message")) {
        return response.failure_of(WHO, FailureKind::OutOfCredits);
    }
    let by_word = match text("/error/type") {
        "rate_limit_error" => Some((FailureKind::RateLimited, true)),
        "timeout_error" => Some((FailureKind::TimedOut, true)),
        "overloaded_error" | "api_error" => Some((FailureKind::ProviderError, true)),
        "authentication_error" | "permission_error" => Some((FailureKind::InvalidCredentials, false)),
        "billing_error" => Some((FailureKind::OutOfCredits, false)),
        "not_found_error" => Some((FailureKind::ProviderError, false)),
        // `invalid_request_error` also stands for 409 and 408, which the status tells better.
        _ => None,
    };
    let failure = match by_word {
        Some((kind, is_transient)) => response.failure_of(WHO, kind).with_transient(is_transient),
        None if response.status == 409 => response.failure(WHO).with_transient(true),
        None => response.failure(WHO),
    };
    failure.with_hints(response.hints())
}

/// A spend limit comes as 429 with a code and no time to wait, or as 400 with only words.
fn is_spent(status: u16, code: &str, message: &str) -> bool {
    let message = message.to_lowercase();
    let by_words =
        ["spend limit", "credit balance", "usage limits"].iter().any(|words| message.contains(words));
    code == "enforced_spend_limit_reached" || (status == 400 && by_words)
}
