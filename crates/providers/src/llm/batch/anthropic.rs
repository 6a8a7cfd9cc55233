//! Anthropic's batches: the questions are the body of the request that makes the batch.

use reqwest::Method;
use serde_json::{Value, json};

use super::types::{
    BatchFile, BatchLimits, BatchOutcome, BatchResult, DEADLINE, RemoteBatch, RemoteState, safe,
};
use crate::access::Access;
use crate::failure::Failure;
use crate::llm::anthropic::{VERSION, body};
use crate::llm::dialect::{Dialect, Streaming};
use crate::llm::question::Question;
use crate::ssrf_guard::{FileBody, Lines, Request};

pub(super) const LIMITS: BatchLimits = BatchLimits { requests: 100_000, bytes: 256 * 1024 * 1024 };

pub(super) fn entry(custom_id: &str, question: &Question, dialect: Dialect) -> String {
    let (params, _) = body(question, Dialect { streaming: Streaming::Off, ..dialect });
    json!({"custom_id": custom_id, "params": params}).to_string()
}

fn request(access: &Access, method: Method, path: &str) -> Result<Request, Failure> {
    let path = format!("v1/messages/batches/{path}");
    Request::new(method, access.url(path.trim_end_matches('/')), access.network_policy)
        .deadline(DEADLINE)
        .secret_header("x-api-key", "", access.require_key()?)?
        .header("anthropic-version", VERSION)
}

pub(super) fn get(access: &Access, path: &str) -> Result<Request, Failure> {
    request(access, Method::GET, path)
}

pub(super) fn post(access: &Access, path: &str) -> Result<Request, Failure> {
    request(access, Method::POST, path)
}

pub(super) fn create(access: &Access, input: BatchFile) -> Result<Request, Failure> {
    let file = FileBody {
        before: "{\"requests\":[".into(),
        file: input.file,
        bytes: input.bytes,
        after: "]}".into(),
    };
    post(access, "")?.file("application/json", file)
}

pub(super) fn read(body: &Value) -> Option<RemoteBatch> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("id").filter(|id| safe(id).is_ok())?;
    let is_over = text("processing_status")? == "ended";
    let counts = body.get("request_counts").and_then(Value::as_object);
    let count = counts.map(|counts| counts.values().filter_map(Value::as_u64).sum());
    let created_at = text("created_at").and_then(|at| at.parse::<jiff::Timestamp>().ok());
    Some(RemoteBatch {
        id: id.to_owned(),
        state: if is_over { RemoteState::Ended } else { RemoteState::Running },
        marker: None,
        created_at: created_at.map(jiff::Timestamp::as_second),
        count: count.filter(|count| *count > 0),
        // Where it says that they are is not asked: the key goes nowhere else.
        results: if is_over { vec![id.to_owned()] } else { Vec::new() },
    })
}

pub(super) fn result(lines: &Lines, line: &Value) -> Option<BatchResult> {
    let custom_id = line.get("custom_id")?.as_str()?.to_owned();
    let result = line.get("result")?;
    let outcome = match result.get("type")?.as_str()? {
        "succeeded" => {
            let message = result.get("message").unwrap_or(&Value::Null).to_string();
            BatchOutcome::Answered(lines.response(200, message.into_bytes()))
        }
        "errored" => {
            let error = result.get("error").unwrap_or(&Value::Null);
            let status = status_of(error.pointer("/error/type").and_then(Value::as_str).unwrap_or_default());
            BatchOutcome::Answered(lines.response(status, error.to_string().into_bytes()))
        }
        "expired" => BatchOutcome::Expired,
        "canceled" | "cancelled" => BatchOutcome::Cancelled,
        _ => BatchOutcome::Failed(Failure::transient("The provider gave neither an answer nor an error.")),
    };
    Some(BatchResult { custom_id, outcome })
}

/// The status that an error of this type comes with.
fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}
