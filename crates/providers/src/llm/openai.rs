//! OpenAI's chat completions, as OpenAI and everybody who is compatible speak them.
//!
//! Compatible servers leave fields out and invent words, so answers are read field by field.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::attachments::add_to_chat;
use super::cache::{OpenAiCache, is_openai};
use super::dialect::{Dialect, Format, LimitField, Sent, Streaming, Wire};
use super::question::{Output, Question, Turn};
use super::refusal::error_of;
use super::reply::{Reply, arguments_text, content_text, cost, has_thoughts, says_something, word};
use super::schema::is_strict;
use super::sse::{Events, STREAM_BYTES_MAX, append, events};
use super::thoughts::without_thoughts;
use crate::access::Access;
use crate::failure::{Failure, FailureKind, wait};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "The model's server";

pub(super) fn request(
    access: &Access,
    question: &Question,
    dialect: Dialect,
) -> Result<(Request, Sent), Failure> {
    let (mut body, sent) = body(access, question, dialect);
    add_to_chat(&mut body, &question.attachments);
    Ok((post(access, "chat/completions", dialect)?.json(&body), sent))
}

/// A request without its body.
pub(super) fn post(access: &Access, path: &str, dialect: Dialect) -> Result<Request, Failure> {
    let request = Request::new(Method::POST, access.url(path), access.network_policy);
    let request = match &access.api_key {
        Some(key) => request.secret_header("authorization", "Bearer ", key)?,
        None => request,
    };
    Ok(if dialect.streaming == Streaming::Off { request } else { request.bytes_max(STREAM_BYTES_MAX) })
}

pub(super) fn body(access: &Access, question: &Question, dialect: Dialect) -> (Value, Sent) {
    let Question { model, system: _, turns, prefix: _, temperature, max_tokens, output, attachments: _ } =
        question;
    let cache = OpenAiCache::of(access, question, dialect);
    let system = question.system_text(dialect.format).map(|text| json!({"role": "system", "content": text}));
    let content = |(place, turn): (usize, &Turn)| match cache.filter(|_| place == 0) {
        Some(cache) => cache.content(&turn.text, "text"),
        None => json!(turn.text),
    };
    let turns = turns.iter().enumerate();
    let turns = turns.map(|turn| json!({"role": turn.1.speaker.word(), "content": content(turn)}));
    let turns_are_elsewhere = question.turns.is_empty();
    let messages: Vec<Value> = system.into_iter().chain(turns).collect();
    let temperature = temperature.filter(|_| !dialect.without_temperature);
    let limit = limit_field(access, dialect).zip(max_tokens.map(|limit| dialect.limit(limit)));
    let format = response_format(output, dialect.format);
    let sent = Sent {
        limit,
        has_temperature: temperature.is_some(),
        has_format: format.is_some(),
        has_cache: cache.is_some(),
        wire: Wire::OpenAi,
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), json!(messages));
    insert_settings(&mut body, temperature, limit);
    if let Some(format) = format {
        body.insert("response_format".to_owned(), format);
    }
    if let Some(cache) = cache {
        cache.add_to(&mut body, turns_are_elsewhere);
    }
    if dialect.streaming != Streaming::Off {
        body.insert("stream".to_owned(), json!(true));
    }
    if dialect.streaming == Streaming::WithUsage {
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    (Value::Object(body), sent)
}

/// How to answer, as all of OpenAI's wires have it.
pub(super) fn insert_settings(
    body: &mut Map<String, Value>,
    temperature: Option<f64>,
    limit: Option<(&'static str, u32)>,
) {
    if let Some(temperature) = temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some((field, limit)) = limit {
        body.insert(field.to_owned(), json!(limit));
    }
}

fn response_format(output: &Output, format: Format) -> Option<Value> {
    match (output, format) {
        (Output::Text, _) | (Output::Json(_), Format::Unsent) => None,
        (Output::Json(None), _) | (Output::Json(Some(_)), Format::AnyJson) => {
            Some(json!({"type": "json_object"}))
        }
        (Output::Json(Some(schema)), Format::Schema) => {
            // OpenAI refuses `strict` with a schema outside its strict subset.
            let format = json!({"name": "answer", "schema": schema, "strict": is_strict(schema)});
            Some(json!({"type": "json_schema", "json_schema": format}))
        }
    }
}

/// OpenAI's newer models refuse the old name, and most compatible servers know only that.
fn limit_field(access: &Access, dialect: Dialect) -> Option<&'static str> {
    match (dialect.limit_field, is_openai(access)) {
        (LimitField::Usual, true) | (LimitField::Other, false) => Some("max_completion_tokens"),
        (LimitField::Usual, false) | (LimitField::Other, true) => Some("max_tokens"),
        (LimitField::Unsent, _) => None,
    }
}

pub(super) fn read(response: &Response, question: &Question) -> Result<Reply, Failure> {
    read_whole(response, question).map(|(reply, _)| reply)
}

/// The reply, and the body that it was read from.
pub(super) fn read_whole(response: &Response, question: &Question) -> Result<(Reply, Value), Failure> {
    if !(200..300).contains(&response.status) {
        return Err(failure(response, response.status));
    }
    let body = match events(response) {
        Some(events) => whole(&events)?,
        None => response.json(WHO)?,
    };
    let choice = body.pointer("/choices/0").unwrap_or(&Value::Null);
    let error = |of: &Value| of.get("error").filter(|error| !error.is_null()).cloned();
    if let Some(error) = error(&body).or_else(|| error(choice)) {
        // Some routers answer 200 and put the status they were given into the body.
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let status = status.filter(|status| (400..600).contains(status));
        return Err(failure(response, status.unwrap_or(500)));
    }
    let message = choice.get("message").unwrap_or(&Value::Null);
    let reply = reply(&body, choice, message, question, response);
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    if refusal.is_some() || matches!(reply.finish.as_deref(), Some("content_filter" | "refusal")) {
        return Err(reply.declined(refusal));
    }
    Ok((reply, body))
}

fn reply(body: &Value, choice: &Value, message: &Value, question: &Question, response: &Response) -> Reply {
    let content = message.get("content").unwrap_or(&Value::Null);
    let content_said = content_text(content);
    // Servers of the time before chats answer with a bare text.
    let said = if content_said.is_empty() {
        content_text(choice.get("text").unwrap_or(&Value::Null))
    } else {
        content_said
    };
    let (said, has_thoughts_before) = without_thoughts(&said);
    let text =
        match tool_arguments(message).filter(|_| said.trim().is_empty() && question.output != Output::Text) {
            Some(arguments) => arguments,
            None => said.to_owned(),
        };
    let count = |pointer: &str| body.pointer(pointer).and_then(Value::as_u64);
    let finish = word(choice, "finish_reason");
    Reply {
        text,
        model: word(body, "model"),
        input_tokens: count("/usage/prompt_tokens"),
        output_tokens: count("/usage/completion_tokens"),
        // DeepSeek has a name of its own for it.
        cached_tokens: count("/usage/prompt_tokens_details/cached_tokens")
            .or_else(|| count("/usage/prompt_cache_hit_tokens"))
            .unwrap_or_default(),
        cache_written_tokens: count("/usage/prompt_tokens_details/cache_write_tokens").unwrap_or_default(),
        spent: cost(body, response),
        truncated: finish.as_deref() == Some("length"),
        finish,
        reasoned: has_thoughts_before
            || has_thoughts(content)
            || says_something(message, "reasoning_content")
            || says_something(message, "reasoning")
            || count("/usage/completion_tokens_details/reasoning_tokens").is_some_and(|tokens| tokens > 0),
    }
}

/// The answer of a model that took the schema for a tool.
fn tool_arguments(message: &Value) -> Option<String> {
    let call = message.pointer("/tool_calls/0/function/arguments");
    arguments_text(call.or_else(|| message.pointer("/function_call/arguments"))?)
}

/// The answer that a stream's pieces make.
fn whole(events: &Events) -> Result<Value, Failure> {
    let [mut content, mut reasoning, mut refusal, mut text] = [const { String::new() }; 4];
    let mut calls: Vec<StreamedCall> = Vec::new();
    let (mut model, mut finish, mut usage) = (Value::Null, Value::Null, Value::Null);
    for event in &events.data {
        if event.get("error").is_some_and(|error| !error.is_null()) {
            return Ok(event.clone());
        }
        let known = |key: &str| event.get(key).filter(|value| !value.is_null()).cloned();
        model = known("model").unwrap_or(model);
        usage = known("usage").unwrap_or(usage);
        let Some(choice) = event.pointer("/choices/0") else { continue };
        finish = choice.get("finish_reason").filter(|finish| !finish.is_null()).cloned().unwrap_or(finish);
        // Servers that stream unasked may send the whole message at once.
        let delta = choice.get("delta").or_else(|| choice.get("message")).unwrap_or(&Value::Null);
        append(&mut content, delta.get("content"));
        append(&mut reasoning, delta.get("reasoning_content").or_else(|| delta.get("reasoning")));
        append(&mut refusal, delta.get("refusal"));
        append(&mut text, choice.get("text"));
        for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
            StreamedCall::add(&mut calls, call);
        }
    }
    if finish.is_null() && !events.is_done {
        return Err(Failure::transient(format!(
            "{WHO} broke the stream off before the response was complete."
        )));
    }
    let calls: Vec<Value> = calls.into_iter().map(StreamedCall::json).collect();
    let mut message = json!({"role": "assistant", "content": content, "tool_calls": calls});
    for (name, text) in [("reasoning_content", reasoning), ("refusal", refusal)] {
        if let Some(fields) = message.as_object_mut().filter(|_| !text.is_empty()) {
            fields.insert(name.to_owned(), text.into());
        }
    }
    let choice = json!({"message": message, "text": text, "finish_reason": finish});
    Ok(json!({"model": model, "choices": [choice], "usage": usage}))
}

/// A call of a tool, as far as it has come.
#[derive(Default)]
struct StreamedCall {
    id: String,
    name: String,
    arguments: String,
}

impl StreamedCall {
    /// More calls than anybody makes at once.
    const CALLS_MAX: usize = 64;

    fn add(calls: &mut Vec<Self>, piece: &Value) {
        let index = piece.get("index").and_then(Value::as_u64).unwrap_or_default();
        let index = usize::try_from(index).unwrap_or(usize::MAX);
        if index >= Self::CALLS_MAX {
            return;
        }
        while calls.len() <= index {
            calls.push(Self::default());
        }
        if let Some(call) = calls.get_mut(index) {
            append(&mut call.id, piece.get("id"));
            append(&mut call.name, piece.pointer("/function/name"));
            append(&mut call.arguments, piece.pointer("/function/arguments"));
        }
    }

    fn json(self) -> Value {
        let Self { id, name, arguments } = self;
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }
}

pub(super) fn failure(response: &Response, status: u16) -> Failure {
    let body = response.json_lenient();
    let error = error_of(&body);
    if is_out_of_credits(error) {
        return response.failure_of(WHO, FailureKind::OutOfCredits);
    }
    let mut failure = response.failure_at(WHO, status);
    if failure.is_transient && failure.retry_after.is_none() {
        failure.retry_after = details(error)
            .find_map(|detail| detail.get("retryDelay").and_then(Value::as_str))
            .and_then(|delay| wait(delay, jiff::Timestamp::UNIX_EPOCH));
    }
    failure
}

/// Codes of an account that is empty, as opposed to one that asks too fast. Both come as 429.
fn is_out_of_credits(error: &Value) -> bool {
    let by_code = ["code", "type"].iter().filter_map(|key| error.get(*key)?.as_str()).any(|code| {
        matches!(
            code,
            "insufficient_quota" | "credit_balance_exhausted" | "billing_not_active" | "insufficient_credits"
        ) || ["spend", "usage_limit", "hard_limit"].iter().any(|part| code.contains(part))
    });
    let per_day = details(error)
        .filter_map(|detail| detail.get("violations")?.as_array())
        .flatten()
        .filter_map(|violation| violation.get("quotaId")?.as_str())
        .any(|quota| quota.contains("PerDay"));
    by_code || per_day
}

fn details(error: &Value) -> impl Iterator<Item = &Value> {
    error.get("details").and_then(Value::as_array).into_iter().flatten()
}
