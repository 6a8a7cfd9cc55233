//! Tools in `OpenAI`'s chat completions.

use serde_json::{Value, json};

use super::attachments::add_to_chat;
use super::cache::OpenAiCache;
use super::dialect::{Dialect, Sent};
use super::openai;
use super::question::Question;
use super::tools::{Entry, ToolCall, ToolQuestion, ToolReply, arguments};
use crate::access::Access;
use crate::failure::Failure;
use crate::ssrf_guard::{Request, Response};

pub(super) fn request(
    access: &Access,
    question: &ToolQuestion<'_>,
    dialect: Dialect,
) -> Result<(Request, Sent), Failure> {
    let (mut body, sent) = openai::body(access, &question.question, dialect);
    let cache = OpenAiCache::of(access, &question.question, dialect);
    if let Some(messages) = body.get_mut("messages").and_then(Value::as_array_mut) {
        for (place, entry) in question.entries.iter().enumerate() {
            match entry {
                Entry::User(text) => {
                    let cache = cache.filter(|_| place == 0);
                    let content = cache.map_or_else(|| json!(text), |cache| cache.content(text, "text"));
                    messages.push(json!({"role": "user", "content": content}));
                }
                Entry::Model(turn) => messages.push(turn.clone()),
                Entry::Results(results) => messages.extend(results.iter().map(
                    |result| json!({"role": "tool", "tool_call_id": result.id, "content": result.text}),
                )),
            }
        }
    }
    add_to_chat(&mut body, &question.question.attachments);
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            let (name, description, parameters) = (tool.name, tool.description, &tool.parameters);
            json!({"type": "function",
                "function": {"name": name, "description": description, "parameters": parameters}})
        })
        .collect();
    if let Some(fields) = body.as_object_mut().filter(|_| !tools.is_empty()) {
        fields.insert("tools".to_owned(), tools.into());
        // Most servers take it for granted, and some do not know the word.
        if !question.may_call {
            fields.insert("tool_choice".to_owned(), "none".into());
        }
    }
    Ok((openai::post(access, "chat/completions", dialect)?.json(&body), sent))
}

pub(super) fn read(response: &Response, question: &Question) -> Result<ToolReply, Failure> {
    let (reply, body) = openai::read_whole(response, question)?;
    let mut turn = body.pointer("/choices/0/message").cloned().unwrap_or_default();
    let calls = name_calls(&mut turn);
    if let Some(fields) = turn.as_object_mut() {
        // What servers send as null they do not always take so.
        fields.retain(|name, value| !value.is_null() || name == "content");
        fields.insert("role".to_owned(), "assistant".into());
        if calls.is_empty() {
            fields.remove("tool_calls");
        }
    }
    Ok(ToolReply { reply, turn, calls, hosted: Vec::new(), is_paused: false })
}

/// The calls of a turn, each with an id: some servers forget it, and want it back all the same.
fn name_calls(turn: &mut Value) -> Vec<ToolCall> {
    let Some(sent) = turn.get_mut("tool_calls").and_then(Value::as_array_mut) else { return Vec::new() };
    sent.retain(|call| {
        call.pointer("/function/name").and_then(Value::as_str).is_some_and(|name| !name.is_empty())
    });
    let mut calls = Vec::new();
    for (number, call) in sent.iter_mut().enumerate() {
        let id = call.get("id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let id = id.map_or_else(|| format!("call_{number}"), str::to_owned);
        if let Some(fields) = call.as_object_mut() {
            fields.insert("id".to_owned(), id.as_str().into());
            fields.entry("type").or_insert_with(|| "function".into());
        }
        let name = call.pointer("/function/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let sent = call.pointer("/function/arguments").unwrap_or(&Value::Null);
        calls.push(ToolCall { id, name, arguments: arguments(sent) });
    }
    calls
}
