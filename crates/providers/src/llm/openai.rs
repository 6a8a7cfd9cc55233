//! OpenAI's chat completions, as OpenAI and everybody who is compatible speak them.
//!
//! Compatible servers leave fields out and invent words, so answers are read field by field.

use reqwest::Method;
use rowmill_model::Spent;
use serde_json::{Map, Value, json};

use super::question::{Output, Question};
use super::reply::{Reply, content_text, declined, word};
use super::schema::is_strict;
use crate::access::Access;
use crate::failure::{Failure, FailureKind, wait};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "The model's server";

pub(super) fn request(access: &Access, question: &Question) -> Result<Request, Failure> {
    let request = Request::new(Method::POST, access.url("chat/completions"), access.network_policy);
    let request = match &access.api_key {
        Some(key) => request.secret_header("authorization", "Bearer ", key)?,
        None => request,
    };
    Ok(request.json(&body(access, question)))
}

fn body(access: &Access, question: &Question) -> Value {
    let Question { model, system: _, turns, temperature, max_tokens, output } = question;
    let system = question.system_text().map(|text| json!({"role": "system", "content": text}));
    let turns = turns.iter().map(|turn| json!({"role": turn.speaker.word(), "content": turn.text}));
    let messages: Vec<Value> = system.into_iter().chain(turns).collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("messages".to_owned(), json!(messages));
    if let Some(temperature) = temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(max_tokens) = max_tokens {
        body.insert(max_tokens_field(access).to_owned(), json!(max_tokens));
    }
    match output {
        Output::Text => {}
        Output::Json(None) => {
            body.insert("response_format".to_owned(), json!({"type": "json_object"}));
        }
        Output::Json(Some(schema)) => {
            // OpenAI refuses `strict` with a schema outside its strict subset.
            let format = json!({"name": "answer", "schema": schema, "strict": is_strict(schema)});
            let format = json!({"type": "json_schema", "json_schema": format});
            body.insert("response_format".to_owned(), format);
        }
    }
    Value::Object(body)
}

/// OpenAI's newer models refuse the old name, and most compatible servers know only that.
fn max_tokens_field(access: &Access) -> &'static str {
    if access.base_url.host_str() == Some("api.openai.com") { "max_completion_tokens" } else { "max_tokens" }
}

pub(super) fn read(response: &Response) -> Result<Reply, Failure> {
    if !(200..300).contains(&response.status) {
        return Err(failure(response, response.status));
    }
    let body = response.json(WHO)?;
    if let Some(error) = body.get("error").filter(|error| !error.is_null()) {
        // Some routers answer 200 and put the status they were given into the body.
        let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let status = status.filter(|status| (400..600).contains(status));
        return Err(failure(response, status.unwrap_or(500)));
    }
    let choice = body.pointer("/choices/0").cloned().unwrap_or_default();
    let message = choice.get("message").cloned().unwrap_or_default();
    let finish = word(&choice, "finish_reason");
    let refusal = message.get("refusal").and_then(Value::as_str).filter(|text| !text.is_empty());
    if refusal.is_some() || matches!(finish.as_deref(), Some("content_filter" | "refusal")) {
        return Err(declined(refusal));
    }
    let tokens = |key: &str| body.pointer(&format!("/usage/{key}")).and_then(Value::as_u64);
    Ok(Reply {
        text: content_text(message.get("content").unwrap_or(&Value::Null)),
        model: word(&body, "model"),
        input_tokens: tokens("prompt_tokens"),
        output_tokens: tokens("completion_tokens"),
        truncated: finish.as_deref() == Some("length"),
        finish,
        spent: Spent::NOTHING,
    })
}

fn failure(response: &Response, status: u16) -> Failure {
    let body = response.json_lenient();
    // Gemini's compatible form wraps its error in a list.
    let error = body.pointer("/0/error").or_else(|| body.get("error")).unwrap_or(&Value::Null);
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
