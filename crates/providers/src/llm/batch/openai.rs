//! OpenAI's batches: a file is uploaded, and a batch is made from it.

use reqwest::Method;
use serde_json::{Map, Value, json};

use super::types::{
    BatchFile, BatchLimits, BatchOutcome, BatchResult, DEADLINE, RemoteBatch, RemoteState, safe,
};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::llm::dialect::{Dialect, Streaming};
use crate::llm::openai::body;
use crate::llm::question::Question;
use crate::ssrf_guard::{FileBody, Lines, Request};

pub(super) const LIMITS: BatchLimits = BatchLimits { requests: 50_000, bytes: 200 * 1024 * 1024 };

const BOUNDARY: &str = "rowmill-9f2c7a51d04e4b6c8a3e";
/// Under which our name for a batch stands in its metadata.
const MARKER: &str = "rowmill_batch";
const MESSAGE_CHARS_MAX: usize = 300;

pub(super) fn entry(access: &Access, custom_id: &str, question: &Question, dialect: Dialect) -> String {
    let (body, _) = body(access, question, Dialect { streaming: Streaming::Off, ..dialect });
    json!({"custom_id": custom_id, "method": "POST", "url": "/v1/chat/completions", "body": body}).to_string()
}

fn request(access: &Access, method: Method, path: &str) -> Result<Request, Failure> {
    let request = Request::new(method, access.url(path), access.network_policy).deadline(DEADLINE);
    match &access.api_key {
        Some(key) => request.secret_header("authorization", "Bearer ", key),
        None => Ok(request),
    }
}

pub(super) fn get(access: &Access, path: &str) -> Result<Request, Failure> {
    request(access, Method::GET, path)
}

pub(super) fn post(access: &Access, path: &str) -> Result<Request, Failure> {
    request(access, Method::POST, path)
}

pub(super) fn delete(access: &Access, file: &str) -> Result<Request, Failure> {
    request(access, Method::DELETE, &format!("files/{file}"))
}

pub(super) fn upload(access: &Access, name: &str, input: BatchFile) -> Result<Request, Failure> {
    let before = format!(
        "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}\r\n\
         Content-Disposition: form-data; name=\"file\"; filename=\"{name}.jsonl\"\r\n\
         Content-Type: application/jsonl\r\n\r\n"
    );
    let after = format!("\r\n--{BOUNDARY}--\r\n");
    let file = FileBody { before: before.into(), file: input.file, bytes: input.bytes, after: after.into() };
    request(access, Method::POST, "files")?.file(&format!("multipart/form-data; boundary={BOUNDARY}"), file)
}

pub(super) fn create(access: &Access, marker: &str, file: &str) -> Result<Request, Failure> {
    let body = json!({
        "input_file_id": file,
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {MARKER: marker},
    });
    Ok(post(access, "batches")?.json(&body))
}

pub(super) fn read(body: &Value) -> Option<RemoteBatch> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
    let id = text("id").filter(|id| safe(id).is_ok())?;
    let state = match text("status")? {
        "completed" | "expired" | "cancelled" => RemoteState::Ended,
        "failed" => RemoteState::Failed(refusal(body)),
        _ => RemoteState::Running,
    };
    let results = ["output_file_id", "error_file_id"].into_iter().filter_map(text).map(str::to_owned);
    Some(RemoteBatch {
        id: id.to_owned(),
        state,
        marker: body.get("metadata").and_then(|meta| meta.get(MARKER)?.as_str()).map(str::to_owned),
        created_at: body.get("created_at").and_then(Value::as_i64),
        count: body.pointer("/request_counts/total").and_then(Value::as_u64),
        results: results.collect(),
    })
}

/// Why a whole batch was refused. Too many tokens at once pass; everything else stays.
fn refusal(body: &Value) -> Failure {
    let errors = body.pointer("/errors/data").and_then(Value::as_array);
    let first = errors.and_then(|errors| errors.first()).unwrap_or(&Value::Null);
    let text = |key: &str| first.get(key).and_then(Value::as_str).unwrap_or_default();
    let message: String = text("message").chars().take(MESSAGE_CHARS_MAX).collect();
    if text("code") == "token_limit_exceeded" {
        let words = format!("The provider has too many tokens of batches in its queue: {message}");
        return Failure::new(FailureKind::RateLimited, words);
    }
    let words = if message.is_empty() { "It did not say why.".to_owned() } else { message };
    Failure::new(FailureKind::ProviderError, format!("The provider refused the batch: {words}"))
}

pub(super) fn result(lines: &Lines, line: &Value) -> Option<BatchResult> {
    let custom_id = line.get("custom_id")?.as_str()?.to_owned();
    let error = line.get("error").and_then(Value::as_object);
    let outcome = match (line.get("response").filter(|response| response.is_object()), error) {
        (Some(response), _) => {
            let status = response.get("status_code").and_then(Value::as_u64);
            let status = status.and_then(|status| u16::try_from(status).ok()).unwrap_or(500);
            let body = response.get("body").unwrap_or(&Value::Null).to_string().into_bytes();
            BatchOutcome::Answered(lines.response(status, body))
        }
        (None, Some(error)) => of_error(error),
        (None, None) => {
            BatchOutcome::Failed(Failure::transient("The provider gave neither an answer nor an error."))
        }
    };
    Some(BatchResult { custom_id, outcome })
}

fn of_error(error: &Map<String, Value>) -> BatchOutcome {
    let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("code") {
        "batch_expired" => BatchOutcome::Expired,
        "batch_cancelled" => BatchOutcome::Cancelled,
        code => {
            let cut = |text: &str| text.chars().take(MESSAGE_CHARS_MAX).collect::<String>();
            let (code, message) = (cut(code), cut(text("message")));
            let words = format!("The provider could not answer ({code}): {message}");
            BatchOutcome::Failed(Failure::transient(words))
        }
    }
}
