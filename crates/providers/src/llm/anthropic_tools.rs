//! Tools in Anthropic's messages.

use serde_json::{Value, json};

use super::anthropic;
use super::attachments::add_to_messages;
use super::cache::anthropic_blocks;
use super::dialect::{Dialect, Sent};
use super::question::{Prefix, Question};
use super::tools::{
    Entry, HostedPage, HostedSearch, ToolCall, ToolQuestion, ToolReply, ToolResult, arguments, hosted_page,
};
use crate::access::Access;
use crate::failure::Failure;
use crate::ssrf_guard::{Request, Response};

/// The version of Anthropic's own web search that all its models know.
const HOSTED_SEARCH: &str = "web_search_20250305";

pub(super) fn request(
    access: &Access,
    question: &ToolQuestion<'_>,
    dialect: Dialect,
) -> Result<(Request, Sent), Failure> {
    let (mut body, sent) = anthropic::body(&question.question, dialect);
    let has_cache = !dialect.without_cache;
    let prefix = question.question.prefix.as_ref().filter(|_| has_cache);
    let hosted = question
        .hosted_searches
        .map(|max_uses| json!({"type": HOSTED_SEARCH, "name": "web_search", "max_uses": max_uses.max(1)}));
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
        })
        .chain(hosted)
        .collect();
    if let Some(fields) = body.as_object_mut() {
        let mut messages = messages(question.entries, prefix);
        if has_cache {
            mark_last(&mut messages);
        }
        fields.insert("messages".to_owned(), messages.into());
        if !tools.is_empty() {
            // They must be named wherever the conversation has calls, also where no more are taken.
            fields.insert("tools".to_owned(), tools.into());
            if !question.may_call {
                fields.insert("tool_choice".to_owned(), json!({"type": "none"}));
            }
        }
    }
    add_to_messages(&mut body, &question.question.attachments);
    Ok((anthropic::post(access, dialect)?.json(&body), Sent { has_cache, ..sent }))
}

/// What is said one after another by one side is one message.
fn messages(entries: &[Entry], prefix: Option<&Prefix>) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        let (role, content) = match entry {
            Entry::User(text) => {
                let blocks = anthropic_blocks(text, prefix.filter(|_| place == 0)).map(Vec::from);
                ("user", blocks.unwrap_or_else(|| vec![json!({"type": "text", "text": text})]))
            }
            Entry::Model(turn) => ("assistant", turn.as_array().cloned().unwrap_or_default()),
            Entry::Results(results) => {
                let block = |result: &ToolResult| {
                    json!({"type": "tool_result", "tool_use_id": result.id, "content": result.text,
                        "is_error": result.is_error})
                };
                ("user", results.iter().map(block).collect())
            }
        };
        let last = messages.last_mut().filter(|last| last.get("role").and_then(Value::as_str) == Some(role));
        match last.and_then(|last| last.get_mut("content")).and_then(Value::as_array_mut) {
            Some(before) => before.extend(content),
            None => messages.push(json!({"role": role, "content": content})),
        }
    }
    messages
}

/// The next turn sends all of it again, which is read from the server's cache then.
fn mark_last(messages: &mut [Value]) {
    let last = messages.last_mut().and_then(|last| last.get_mut("content")).and_then(Value::as_array_mut);
    if let Some(block) = last.and_then(|content| content.last_mut()).and_then(Value::as_object_mut) {
        block.insert("cache_control".to_owned(), json!({"type": "ephemeral"}));
    }
}

pub(super) fn read(response: &Response, question: &Question) -> Result<ToolReply, Failure> {
    let (reply, body) = anthropic::read_whole(response, question)?;
    let mut turn = body.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
    let calls = turn.iter_mut().filter_map(call).collect();
    // An empty text is sent at times, and never taken back.
    turn.retain(|block| {
        let is_text = block.get("type").and_then(Value::as_str) == Some("text");
        !is_text || block.get("text").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
    });
    Ok(ToolReply {
        is_paused: reply.finish.as_deref() == Some("pause_turn"),
        hosted: hosted(&turn),
        reply,
        turn: turn.into(),
        calls,
    })
}

/// The searches that Anthropic made, each with what it found. An error comes in the place of the list.
fn hosted(turn: &[Value]) -> Vec<HostedSearch> {
    let is_of = |block: &&Value, kind: &str| block.get("type").and_then(Value::as_str) == Some(kind);
    let citations =
        turn.iter().filter_map(|block| block.get("citations").and_then(Value::as_array)).flatten();
    let cited: Vec<HostedPage> = citations.filter_map(hosted_page).collect();
    let searches = turn.iter().filter(|block| is_of(block, "server_tool_use"));
    searches
        .filter(|search| search.get("name").and_then(Value::as_str) == Some("web_search"))
        .map(|search| {
            let id = search.get("id");
            let mut results = turn.iter().filter(|block| is_of(block, "web_search_tool_result"));
            let result = results.find(|result| result.get("tool_use_id") == id);
            let content = result.and_then(|result| result.get("content")).unwrap_or(&Value::Null);
            let mut pages: Vec<HostedPage> =
                content.as_array().into_iter().flatten().filter_map(hosted_page).collect();
            for page in &mut pages {
                let texts =
                    cited.iter().filter(|cited| cited.url == page.url).map(|cited| cited.text.as_str());
                page.text = texts.collect::<Vec<_>>().join("\n");
            }
            let query = search.pointer("/input/query").and_then(Value::as_str).unwrap_or_default().to_owned();
            let error = content.get("error_code").and_then(Value::as_str).map(str::to_owned);
            HostedSearch { query, pages, error }
        })
        .collect()
}

/// The call in a block. Its input was streamed as a text, and goes back as an object.
fn call(block: &mut Value) -> Option<ToolCall> {
    if block.get("type").and_then(Value::as_str) != Some("tool_use") {
        return None;
    }
    let text = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (id, name) = (text("id"), text("name"));
    let read = arguments(block.get("input").unwrap_or(&Value::Null));
    if let Some(fields) = block.as_object_mut() {
        fields.insert("input".to_owned(), read.clone().unwrap_or_else(|| json!({})));
    }
    Some(ToolCall { id, name, arguments: read })
}
