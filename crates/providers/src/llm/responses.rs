//! `OpenAI`'s responses: the wire on which its newer models take tools.

use serde_json::{Map, Value, json};

use super::attachments::add_to_responses;
use super::cache::OpenAiCache;
use super::dialect::{Dialect, Format, LimitField, Sent, Wire};
use super::openai;
use super::question::Output;
use super::reply::{Reply, cost, word};
use super::schema::is_strict;
use super::tools::{Entry, HostedSearch, ToolCall, ToolQuestion, ToolReply, arguments, hosted_page};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "OpenAI";
const LIMIT: &str = "max_output_tokens";

pub(super) fn request(
    access: &Access,
    question: &ToolQuestion<'_>,
    dialect: Dialect,
) -> Result<(Request, Sent), Failure> {
    let (mut body, sent) = body(access, question, dialect);
    add_to_responses(&mut body, &question.question.attachments);
    Ok((openai::post(access, "responses", Dialect::default())?.json(&body), sent))
}

fn body(access: &Access, question: &ToolQuestion<'_>, dialect: Dialect) -> (Value, Sent) {
    let asked = &question.question;
    let cache = OpenAiCache::of(access, asked, dialect);
    let temperature = asked.temperature.filter(|_| !dialect.without_temperature);
    let limit = asked.max_tokens.filter(|_| dialect.limit_field == LimitField::Usual);
    let limit = limit.map(|limit| (LIMIT, dialect.limit(limit)));
    let format = format(&asked.output, dialect.format);
    let sent = Sent {
        limit,
        has_temperature: temperature.is_some(),
        has_format: format.is_some(),
        has_cache: cache.is_some(),
        wire: Wire::OpenAi,
    };
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(asked.model));
    body.insert("input".to_owned(), input(question.entries, cache).into());
    if let Some(cache) = cache {
        cache.add_to(&mut body, true);
    }
    // Nothing is left with the vendor, so what it reasoned comes along.
    body.insert("store".to_owned(), json!(false));
    let mut include = vec!["reasoning.encrypted_content"];
    include.extend(question.hosted_searches.map(|_| "web_search_call.action.sources"));
    body.insert("include".to_owned(), json!(include));
    if let Some(system) = asked.system_text(dialect.format) {
        body.insert("instructions".to_owned(), json!(system));
    }
    openai::insert_settings(&mut body, temperature, limit);
    if let Some(format) = format {
        body.insert("text".to_owned(), json!({"format": format}));
    }
    let tools: Vec<Value> = question
        .tools
        .iter()
        .map(|tool| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false})
        })
        .chain(question.hosted_searches.map(|_| json!({"type": "web_search"})))
        .collect();
    if !tools.is_empty() {
        body.insert("tools".to_owned(), tools.into());
        if !question.may_call {
            body.insert("tool_choice".to_owned(), json!("none"));
        }
    }
    (Value::Object(body), sent)
}

fn format(output: &Output, format: Format) -> Option<Value> {
    match (output, format) {
        (Output::Text, _) | (Output::Json(_), Format::Unsent) => None,
        (Output::Json(None), _) | (Output::Json(Some(_)), Format::AnyJson) => {
            Some(json!({"type": "json_object"}))
        }
        (Output::Json(Some(schema)), Format::Schema) => Some(
            json!({"type": "json_schema", "name": "answer", "schema": schema, "strict": is_strict(schema)}),
        ),
    }
}

fn input(entries: &[Entry], cache: Option<OpenAiCache<'_>>) -> Vec<Value> {
    let mut input = Vec::new();
    for (place, entry) in entries.iter().enumerate() {
        match entry {
            Entry::User(text) => {
                let cache = cache.filter(|_| place == 0);
                let content = cache.map_or_else(|| json!(text), |cache| cache.content(text, "input_text"));
                input.push(json!({"role": "user", "content": content}));
            }
            Entry::Model(output) => input.extend(output.as_array().into_iter().flatten().cloned()),
            Entry::Results(results) => input.extend(results.iter().map(
                |result| json!({"type": "function_call_output", "call_id": result.id, "output": result.text}),
            )),
        }
    }
    input
}

/// The searches that `OpenAI` made. What its text cites is added to the last of them.
fn hosted(output: &[Value], parts: &[&Value]) -> Vec<HostedSearch> {
    let text =
        |of: &Value, place: &str| of.pointer(place).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_search =
        |item: &&Value| text(item, "/type") == "web_search_call" && text(item, "/action/type") == "search";
    let mut searches: Vec<HostedSearch> = output
        .iter()
        .filter(is_search)
        .map(|item| {
            let several = item.pointer("/action/queries").and_then(Value::as_array).into_iter().flatten();
            let several: Vec<&str> = several.filter_map(Value::as_str).collect();
            let query = if several.is_empty() { text(item, "/action/query") } else { several.join("; ") };
            let sources = item.pointer("/action/sources").and_then(Value::as_array).into_iter().flatten();
            HostedSearch { query, pages: sources.filter_map(hosted_page).collect(), error: None }
        })
        .collect();
    let citations =
        parts.iter().filter_map(|part| part.get("annotations").and_then(Value::as_array)).flatten();
    if let Some(last) = searches.last_mut() {
        last.pages.extend(citations.filter_map(hosted_page));
    }
    searches
}

pub(super) fn read(response: &Response) -> Result<ToolReply, Failure> {
    if !(200..300).contains(&response.status) {
        return Err(openai::failure(response, response.status));
    }
    let body = response.json(WHO)?;
    if body.get("error").is_some_and(|error| !error.is_null()) {
        return Err(openai::failure(response, 500));
    }
    let output = body.get("output").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_of = |item: &Value, kind: &str| item.get("type").and_then(Value::as_str) == Some(kind);
    let parts: Vec<&Value> = output
        .iter()
        .filter(|item| is_of(item, "message"))
        .filter_map(|item| item.get("content").and_then(Value::as_array))
        .flatten()
        .collect();
    let text = |kind: &str, name: &str| -> String {
        let of_kind = parts.iter().filter(|part| is_of(part, kind));
        of_kind.filter_map(|part| part.get(name).and_then(Value::as_str)).collect()
    };
    let count = |place: &str| body.pointer(place).and_then(Value::as_u64);
    let reply = Reply {
        text: text("output_text", "text"),
        model: word(&body, "model"),
        input_tokens: count("/usage/input_tokens"),
        output_tokens: count("/usage/output_tokens"),
        cached_tokens: count("/usage/input_tokens_details/cached_tokens").unwrap_or_default(),
        cache_written_tokens: count("/usage/input_tokens_details/cache_write_tokens").unwrap_or_default(),
        spent: cost(&body, response),
        truncated: body.get("status").and_then(Value::as_str) == Some("incomplete"),
        finish: word(&body, "status"),
        reasoned: output.iter().any(|item| is_of(item, "reasoning")),
    };
    let refusal = text("refusal", "refusal");
    if !refusal.is_empty() {
        return Err(reply.declined(Some(&refusal)));
    }
    if body.get("status").and_then(Value::as_str) == Some("failed") {
        let failure =
            Failure::new(FailureKind::ProviderError, format!("{WHO} could not finish the response."));
        return Err(Failure { spent: reply.paid(), ..failure });
    }
    let calls = output
        .iter()
        .filter(|item| is_of(item, "function_call"))
        .map(|item| {
            let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let sent = item.get("arguments").unwrap_or(&Value::Null);
            ToolCall { id: text("call_id"), name: text("name"), arguments: arguments(sent) }
        })
        .collect();
    Ok(ToolReply {
        hosted: hosted(&output, &parts),
        is_paused: false,
        reply,
        turn: output.clone().into(),
        calls,
    })
}
