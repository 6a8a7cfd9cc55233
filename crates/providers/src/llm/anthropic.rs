//! Anthropic's messages.

use reqwest::Method;
use rowmill_model::Spent;
use serde_json::{Map, Value, json};

use super::question::{Output, Question};
use super::reply::{Reply, content_text, declined, word};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Anthropic";
const VERSION: &str = "2023-06-01";

/// The wire demands a limit; this one is long enough for a cell.
const MAX_TOKENS_DEFAULT: u32 = 4096;

/// OpenAI's scale ends at 2, this one at 1.
const TEMPERATURE_MAX: f64 = 1.0;

pub(super) fn request(access: &Access, question: &Question) -> Result<Request, Failure> {
    let request = Request::new(Method::POST, access.url("v1/messages"), access.network_policy)
        .secret_header("x-api-key", "", access.require_key()?)?
        .header("anthropic-version", VERSION)?;
    Ok(request.json(&body(question)))
}

fn body(question: &Question) -> Value {
    let Question { model, system: _, turns, temperature, max_tokens, output } = question;
    let messages: Vec<Value> =
        turns.iter().map(|turn| json!({"role": turn.speaker.word(), "content": turn.text})).collect();
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(model));
    body.insert("max_tokens".to_owned(), json!(max_tokens.unwrap_or(MAX_TOKENS_DEFAULT)));
    body.insert("messages".to_owned(), json!(messages));
    if let Some(system) = question.system_text() {
        body.insert("system".to_owned(), json!(system));
    }
    if let Some(temperature) = temperature {
        body.insert("temperature".to_owned(), json!(temperature.min(TEMPERATURE_MAX)));
    }
    if let Output::Json(Some(schema)) = output {
        let format = json!({"format": {"type": "json_schema", "schema": schema}});
        body.insert("output_config".to_owned(), format);
    }
    Value::Object(body)
}

pub(super) fn read(response: &Response) -> Result<Reply, Failure> {
    if !(200..300).contains(&response.status) {
        return Err(failure(response));
    }
    let body = response.json(WHO)?;
    if body.get("type").and_then(Value::as_str) == Some("error") {
        return Err(failure(response));
    }
    let finish = word(&body, "stop_reason");
    let text = content_text(body.get("content").unwrap_or(&Value::Null));
    if finish.as_deref() == Some("refusal") {
        return Err(declined(Some(&text)));
    }
    let tokens = |key: &str| body.pointer(&format!("/usage/{key}")).and_then(Value::as_u64);
    Ok(Reply {
        text,
        model: word(&body, "model"),
        input_tokens: tokens("input_tokens"),
        output_tokens: tokens("output_tokens"),
        truncated: matches!(finish.as_deref(), Some("max_tokens" | "model_context_window_exceeded")),
        finish,
        spent: Spent::NOTHING,
    })
}

fn failure(response: &Response) -> Failure {
    let body = response.json_lenient();
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
