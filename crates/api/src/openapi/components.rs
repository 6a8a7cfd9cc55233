//! The parts of the document that operations share: failures, headers, the idempotency key, the bearer.

use crate::endpoint::RequestHeader;
use crate::error::Failure;
use crate::etag::TAGS_CHARS_MAX;
use axum::http::StatusCode;
use schemars::JsonSchema as _;
use serde_json::{Map, Value, json};

/// The name of a failure's shared response, and when it is given.
pub(crate) fn failure(status: StatusCode) -> (&'static str, &'static str) {
    match status {
        StatusCode::BAD_REQUEST => (
            "BadRequest",
            "The body or query is not valid, arrives too slowly (`bodyWaitSecondsMax`), or asks for more than a limit allows; `details` names every offence.",
        ),
        StatusCode::UNAUTHORIZED => ("Unauthorized", "No bearer token was sent."),
        StatusCode::FORBIDDEN => ("Forbidden", "The API key is invalid, or the project's API is disabled."),
        StatusCode::NOT_FOUND => {
            ("NotFound", "Something in the path or body does not exist or belongs to another team.")
        }
        StatusCode::CONFLICT => ("Conflict", "The Idempotency-Key was already used for a different request."),
        StatusCode::PRECONDITION_FAILED => (
            "ChangedMeanwhile",
            "What was to be changed, or read, is not what `If-Match` names: somebody changed it meanwhile. Nothing was written.",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            "BodyTooLarge",
            "The body exceeds `bodyBytesMax`, or a file `importBytesMax`, after decompression.",
        ),
        StatusCode::URI_TOO_LONG => {
            ("UriTooLong", "The address is longer than 65,534 bytes. The connection is closed.")
        }
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => (
            "HeadersTooLarge",
            "There are more than 100 headers, or they are larger than 400 KiB in all. The connection is closed.",
        ),
        StatusCode::UNSUPPORTED_MEDIA_TYPE => (
            "UnsupportedMediaType",
            "The Content-Type is not one that the operation takes, or the Content-Encoding is not gzip or zstd.",
        ),
        StatusCode::TOO_MANY_REQUESTS => {
            ("TooManyRequests", "Too many requests; `Retry-After` says how long to wait.")
        }
        StatusCode::SERVICE_UNAVAILABLE => (
            "NotReady",
            "The database cannot be reached, its disk fails (`storage_failed`), a read took longer than `readSecondsMax`, too many connections or request bodies are open, or the server is stopping; `Retry-After` says how long to wait.",
        ),
        StatusCode::INSUFFICIENT_STORAGE => (
            "StorageFull",
            "The database's disk is full, and nothing was saved (`storage_full`); `Retry-After` says how long to wait.",
        ),
        _ => (
            "InternalError",
            "Internal server error; the server log has the cause under `requestId`. The code `damaged` says that the database is damaged.",
        ),
    }
}

const FAILURES: [(StatusCode, &str, &str); 14] = [
    (StatusCode::BAD_REQUEST, "invalid_request", "title: is required"),
    (StatusCode::UNAUTHORIZED, "unauthenticated", "Bearer token is required"),
    (StatusCode::FORBIDDEN, "invalid_api_key", "Invalid API key"),
    (StatusCode::NOT_FOUND, "project_not_found", "Project not found"),
    (
        StatusCode::CONFLICT,
        "idempotency_conflict",
        "This Idempotency-Key was already used for a different request; use a new key",
    ),
    (
        StatusCode::PRECONDITION_FAILED,
        "changed_meanwhile",
        "Row changed meanwhile: its ETag is not the one in If-Match. Nothing was written; read it again, and repeat the \
         change with the new ETag",
    ),
    (
        StatusCode::PAYLOAD_TOO_LARGE,
        "body_too_large",
        "The body exceeds the limit of 33554432 bytes (bodyBytesMax)",
    ),
    (
        StatusCode::URI_TOO_LONG,
        "uri_too_long",
        "The address is longer than 65534 bytes; send a shorter query, or fewer parameters",
    ),
    (
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        "headers_too_large",
        "The request has more than 100 headers, or a head of more than 400 KiB; send fewer or shorter headers",
    ),
    (
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported_media_type",
        "The Content-Type must be application/json",
    ),
    (StatusCode::TOO_MANY_REQUESTS, "rate_limited", "Too many requests; wait 1 s and try again"),
    (
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal_error",
        "Internal server error; the server log has the cause under this request id",
    ),
    (StatusCode::SERVICE_UNAVAILABLE, "unavailable", "The database is unavailable; try again later"),
    (
        StatusCode::INSUFFICIENT_STORAGE,
        "storage_full",
        "The storage is full, so nothing was saved (database or disk is full); try again when the operator has freed space",
    ),
];

pub(crate) fn responses() -> Map<String, Value> {
    FAILURES.iter().map(|(status, code, error)| response(*status, code, error)).collect()
}

fn response(status: StatusCode, code: &str, error: &str) -> (String, Value) {
    let (name, description) = failure(status);
    let mut example = json!({ "success": false, "error": error, "code": code });
    if let Value::Object(example) = &mut example {
        if status == StatusCode::BAD_REQUEST {
            example.insert("details".to_owned(), json!([{ "path": "title", "message": "is required" }]));
        }
        if status.is_server_error() || is_unreadable(status) {
            example.insert("requestId".to_owned(), json!("0197f3d2-7c1e-7bb0-9d5f-3a1c5e7f9b11"));
        }
    }
    let is_limited = !status.is_server_error() && !is_unreadable(status);
    let headers = failure_headers(status, is_limited);
    let content = json!({ "application/json": { "schema": failure_reference(), "example": example } });
    (name.to_owned(), json!({ "description": description, "headers": headers, "content": content }))
}

/// A failure of the webhook, whose sender knows no envelope.
pub(crate) fn webhook_failure(status: StatusCode) -> Value {
    let description = match status {
        StatusCode::BAD_REQUEST => "The URL has no team id, or the body is not a valid delivery.",
        StatusCode::UNAUTHORIZED => {
            "No project accepted the delivery: the signature is missing, wrong or too old."
        }
        StatusCode::NOT_FOUND => "The team does not exist.",
        other => failure(other).1,
    };
    let headers = failure_headers(status, !status.is_server_error());
    let schema = json!({ "$ref": "#/components/schemas/WebhookFailure" });
    json!({ "description": description, "headers": headers, "content": { "application/json": { "schema": schema } } })
}

/// Whether a request is refused before it is known what it asks for.
pub(crate) fn is_unreadable(status: StatusCode) -> bool {
    matches!(status, StatusCode::URI_TOO_LONG | StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE)
}

fn failure_headers(status: StatusCode, is_limited: bool) -> Value {
    let mut headers = header_references(is_limited, says_when(status));
    if let (StatusCode::UNAUTHORIZED, Value::Object(headers)) = (status, &mut headers) {
        headers.extend([header_reference("WWW-Authenticate")]);
    }
    headers
}

/// Whether a failure says when to try again.
fn says_when(status: StatusCode) -> bool {
    let waits =
        [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE, StatusCode::INSUFFICIENT_STORAGE];
    waits.contains(&status)
}

pub(crate) fn header_references(is_limited: bool, is_refusal: bool) -> Value {
    let limited: &[&str] = if is_limited {
        &["Cache-Control", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"]
    } else {
        &[]
    };
    let refusal: &[&str] = if is_refusal { &["Retry-After"] } else { &[] };
    let names = ["X-Request-Id"].iter().chain(limited).chain(refusal);
    names.map(|name| header_reference(name)).collect()
}

/// A header's name, and where it is described.
pub(crate) fn header_reference(name: &str) -> (String, Value) {
    (name.to_owned(), json!({ "$ref": format!("#/components/headers/{name}") }))
}

pub(crate) fn headers() -> Value {
    let integer = |description: &str, example: u64| {
        json!({
            "description": description,
            "schema": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 },
            "example": example,
        })
    };
    let text = |description: &str, example: &str| {
        let schema = json!({ "type": "string", "maxLength": 4_096, "pattern": "^[ -~]*$" });
        json!({ "description": description, "schema": schema, "example": example })
    };
    json!({
        "X-Request-Id": {
            "description": "The request id: the client's own, if it sent one. It is also in the server log.",
            "required": true,
            "schema": { "type": "string", "maxLength": 128, "pattern": "^[A-Za-z0-9._-]{1,128}$" },
            "example": "0197f3d2-7c1e-7bb0-9d5f-3a1c5e7f9b11",
        },
        "X-RateLimit-Limit": integer("The burst size: how many requests can be sent at once. Absent if the limit is off.", 200),
        "X-RateLimit-Remaining": integer("How many requests are left now.", 199),
        "X-RateLimit-Reset": integer("When the full burst is available again, in Unix seconds.", 1_767_225_600),
        "X-Rowmill-Sequence": integer("The change sequence of the project after this write. Send it with a read to be sure that the read \
         includes this write and all earlier ones, on any node.", 42),
        "Link": {
            "description": "Addresses of related resources (RFC 8288), such as the next page.",
            "schema": { "type": "string", "maxLength": 16_384, "pattern": "^[ -~]*$" },
            "example": "<https://rowmill.example/v4/projects/proj_0190f0e0a1b27c3d8e4f0123456789ab/rows?page=2>; rel=\"next\"",
        },
        "Deprecation": {
            "description": "When this operation was deprecated (RFC 9745), as `@` and Unix seconds. `Link` names its successor.",
            "schema": { "type": "string", "maxLength": 32, "pattern": "^@[0-9]+$" },
            "example": "@1794787200",
        },
        "Idempotent-Replayed": {
            "description": "This response was stored: the request with this `Idempotency-Key` was carried out before.",
            "schema": { "type": "string", "enum": ["true"] },
            "example": "true",
        },
        "Retry-After": integer("How many seconds to wait before a retry.", 1),
        "Cache-Control": text("How the response may be cached.", "private, no-cache"),
        "WWW-Authenticate": text("How to authenticate.", "Bearer"),
        "ETag": text(
            "The version of what was read or written. Send it as `If-None-Match` with a read, or as `If-Match` with a write.",
            "\"3f0a1c5e7f9b11d27c1e7bb09d5f3a1c\"",
        ),
        "Location": text(
            "With status 202: where the import can be watched.",
            "https://rowmill.example/v4/projects/proj_0190f0e0a1b27c3d8e4f0123456789ab/imports/imp_0190f0e0d7e87f908123456789abcdef",
        ),
        "Preference-Applied": text("With status 202: the preference that was followed.", "respond-async"),
        "Content-Disposition": text(
            "The name of the file.",
            "attachment; filename=\"Leads.csv\"; filename*=UTF-8''Leads.csv",
        ),
    })
}

pub(crate) fn parameters() -> Value {
    json!({
        "IdempotencyKey": {
            "name": "Idempotency-Key",
            "in": "header",
            "required": false,
            "description": "Makes retries safe: the first response for this key is stored for 24 hours and returned again \
             for the same path, query and body, with `Idempotent-Replayed: true`. A different body returns 409.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
            "example": "import-2026-01-01-part-7",
        },
        "IfMatch": {
            "name": "If-Match",
            "in": "header",
            "required": false,
            "description": "The `ETag` of a read or write, several separated by commas, or `*`. If none is the current one, \
             nothing is written, and the response is 412.",
            "schema": { "type": "string", "maxLength": TAGS_CHARS_MAX },
            "example": "\"3f0a1c5e7f9b11d27c1e7bb09d5f3a1c\"",
        },
        "Sequence": {
            "name": "X-Rowmill-Sequence",
            "in": "header",
            "required": false,
            "description": "The value of this header from the response to a write: the read includes that write. Reads on \
             the node that wrote always do.",
            "schema": { "type": "integer", "format": "int64", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 },
            "example": 42,
        },
        "LastEventId": {
            "name": "Last-Event-ID",
            "in": "header",
            "required": false,
            "description": "The `id` of the last event that was received: the stream continues after it. Browsers send \
             it automatically. It takes precedence over `lastEventId`.",
            "schema": { "type": "string", "maxLength": 64, "pattern": "^[ -~]*$" },
            "example": "42",
        },
        "WebhookSignature": {
            "name": "webhook-signature",
            "in": "header",
            "required": false,
            "description": "`t=<Unix seconds>,v1=<hex>`: the HMAC-SHA256 of `<t>.<body>` with the `signingSecret` of the \
             project, at most 5 minutes old. Required by projects that have such a secret.",
            "schema": { "type": "string", "maxLength": 4_096, "pattern": "^[ -~]*$" },
            "example": "t=1767225600,v1=5257a869e7ecebeda32affa62cdca3fa51cad7e77a0e56ff536d0ce8e108d8bd",
        },
        "IfNoneMatch": {
            "name": "If-None-Match",
            "in": "header",
            "required": false,
            "description": "The `ETag` of an earlier read, or several. If one is the current one, the response is 304 without a \
             body.",
            "schema": { "type": "string", "maxLength": TAGS_CHARS_MAX },
            "example": "\"3f0a1c5e7f9b11d27c1e7bb09d5f3a1c\"",
        },
        "Prefer": {
            "name": "Prefer",
            "in": "header",
            "required": false,
            "description": "`respond-async` has the request carried out in the background (RFC 7240).",
            "schema": { "type": "string", "maxLength": 1_000, "pattern": "^[ -~]*$" },
            "example": "respond-async",
        },
    })
}

/// Where a header that an operation reads is described.
pub(crate) fn parameter_reference(header: RequestHeader) -> Value {
    let name = match header {
        RequestHeader::LastEventId => "LastEventId",
        RequestHeader::WebhookSignature => "WebhookSignature",
        RequestHeader::IfNoneMatch => "IfNoneMatch",
        RequestHeader::Prefer => "Prefer",
    };
    json!({ "$ref": format!("#/components/parameters/{name}") })
}

pub(crate) fn security_schemes() -> Value {
    json!({
        "bearer": { "type": "http", "scheme": "bearer", "description": "An API key, created with `rowmill key create`. It identifies the team." },
    })
}

/// The component that describes a failure's body.
fn failure_reference() -> Value {
    json!({ "$ref": format!("#/components/schemas/{}", Failure::schema_name()) })
}
