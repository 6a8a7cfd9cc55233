//! What can go wrong on the wire: one table from failures to status, code and words.

use std::fmt::Write as _;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE, X_CONTENT_TYPE_OPTIONS};
use axum::http::{Response, StatusCode};
use rowmill_app::{Error as AppError, Noun};
use rowmill_model::Offence;
use rowmill_model::limits::OFFENCES_MAX;
use schemars::JsonSchema;
use serde::Serialize;

use crate::body_limit::BytesMax;
use crate::request_log::Correspondent;

/// How many offences one answer names. The rest would only cost memory.
const DETAILS_MAX: usize = OFFENCES_MAX;

/// When to ask for a stream again that was refused: they last long.
const STREAM_RETRY_SECONDS: &str = "5";

/// When to try again what the disk did not take: somebody has to see to it first.
const STORAGE_RETRY_SECONDS: &str = "10";

/// Why a request was not answered with success: the application's reasons and HTTP's own.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    App(#[from] AppError),
    #[error("Unknown path; GET /docs lists the API")]
    UnknownPath,
    #[error("This path does not support this method; see the Allow header")]
    MethodNotAllowed,
    #[error("{0}")]
    NotJson(String),
    #[error("The body exceeds the limit of {} bytes ({})", .bytes_max.number, .bytes_max.name)]
    BodyTooLarge { bytes_max: BytesMax },
    #[error("The file exceeds the limit of {bytes_max} bytes (importBytesMax)")]
    FileTooLarge { bytes_max: u32 },
    #[error(
        "The body came too slowly: the server waits {wait_seconds_max} s for it, and then for as long as it comes at \
         {bytes_per_second_min} bytes a second or faster"
    )]
    BodyTimeout { wait_seconds_max: u32, bytes_per_second_min: u32 },
    #[error("Too many connections are open; try again in a little while")]
    TooManyConnections,
    #[error("The address is longer than 65534 bytes; send a shorter query, or fewer parameters")]
    UriTooLong,
    #[error(
        "The request has more than 100 headers, or a head of more than 400 KiB; send fewer or shorter headers"
    )]
    HeadersTooLarge,
    #[error("The request is not valid HTTP/1.1: {0}")]
    MalformedRequest(&'static str),
    #[error("This address takes HTTPS only; begin the URL with https://")]
    HttpsOnly,
    #[error("{0}")]
    UnsupportedMediaType(String),
    #[error("Too many requests; wait {retry_after_seconds} s and try again")]
    RateLimited { retry_after_seconds: u64 },
    #[error("This changed meanwhile: its ETag is not the one in If-Match. Read it without If-Match")]
    NotAsDemanded,
    /// Somebody's page calls under a name of its own choosing.
    #[error(
        "The {header} header names {value:?}, which is not an address of this server; use the server's address, or have \
         the operator set --public-url to the one that you use"
    )]
    ForeignHost { header: &'static str, value: String },
    #[error(
        "Metrics need the token that the operator set with --metrics-token, as a bearer token. Without that setting they \
         are only for requests from the machine itself, and on the address of --admin-listen"
    )]
    MetricsToken,
    #[error("The session cookie is only accepted from Rowmill's own web app; send an API key instead")]
    CrossSite,
    #[error(
        "This server is reading as much as it has memory for (--request-memory); wait a second and try again"
    )]
    Busy,
    #[error("The database is unavailable")]
    NotReady(#[source] Option<Box<Self>>),
    /// Told to balancers while nothing can be written.
    #[error(transparent)]
    CannotWrite(AppError),
    #[error("panicked: {0}")]
    Panicked(String),
}

/// The table. A stable code is a promise: never change one, only add.
fn verdict(error: &Error) -> (StatusCode, &'static str) {
    match error {
        Error::App(error) => app_verdict(error),
        Error::UnknownPath => (StatusCode::NOT_FOUND, "not_found"),
        Error::MethodNotAllowed => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
        Error::NotJson(_) => (StatusCode::BAD_REQUEST, "invalid_json"),
        Error::BodyTooLarge { .. } | Error::FileTooLarge { .. } => {
            (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large")
        }
        Error::BodyTimeout { .. } => (StatusCode::BAD_REQUEST, "request_timeout"),
        Error::TooManyConnections => (StatusCode::SERVICE_UNAVAILABLE, "too_many_connections"),
        Error::UriTooLong => (StatusCode::URI_TOO_LONG, "uri_too_long"),
        Error::HeadersTooLarge => (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large"),
        Error::MalformedRequest(_) | Error::HttpsOnly => (StatusCode::BAD_REQUEST, "malformed_request"),
        Error::UnsupportedMediaType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
        Error::RateLimited { .. } => (StatusCode::TOO_MANY_REQUESTS, "rate_limited"),
        Error::NotAsDemanded => (StatusCode::PRECONDITION_FAILED, "changed_meanwhile"),
        Error::CrossSite | Error::ForeignHost { .. } => (StatusCode::FORBIDDEN, "cross_site"),
        Error::MetricsToken => (StatusCode::UNAUTHORIZED, "unauthenticated"),
        Error::Busy => (StatusCode::SERVICE_UNAVAILABLE, "busy"),
        Error::NotReady(_) => (StatusCode::SERVICE_UNAVAILABLE, "not_ready"),
        Error::CannotWrite(error) => (StatusCode::SERVICE_UNAVAILABLE, app_verdict(error).1),
        Error::Panicked(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
    }
}

fn app_verdict(error: &AppError) -> (StatusCode, &'static str) {
    match error {
        AppError::Invalid { .. } => (StatusCode::BAD_REQUEST, "invalid_request"),
        AppError::LimitExceeded { .. } | AppError::QuotaExceeded(_) => {
            (StatusCode::BAD_REQUEST, "limit_exceeded")
        }
        AppError::Unauthenticated => (StatusCode::UNAUTHORIZED, "unauthenticated"),
        AppError::InvalidKey | AppError::KeyExpired(_) => (StatusCode::FORBIDDEN, "invalid_api_key"),
        AppError::AddressNotAllowed(_) => (StatusCode::FORBIDDEN, "address_not_allowed"),
        AppError::MissingScope(_) => (StatusCode::FORBIDDEN, "missing_scope"),
        AppError::LimitedToProjects => (StatusCode::FORBIDDEN, "limited_to_projects"),
        AppError::NotOperator => (StatusCode::FORBIDDEN, "not_operator"),
        AppError::ApiDisabled => (StatusCode::FORBIDDEN, "api_disabled"),
        AppError::Copying => (StatusCode::FORBIDDEN, "project_copying"),
        AppError::NotFound(noun) | AppError::SomeNotFound { noun, .. } => {
            (StatusCode::NOT_FOUND, not_found_code(*noun))
        }
        AppError::ImageUnavailable(_) => (StatusCode::NOT_FOUND, "image_unavailable"),
        AppError::MissingTeamId => (StatusCode::BAD_REQUEST, "missing_team_id"),
        AppError::InvalidPayload => (StatusCode::BAD_REQUEST, "invalid_payload"),
        AppError::UnreadableType(_) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type"),
        AppError::InvalidSignature => (StatusCode::UNAUTHORIZED, "invalid_signature"),
        AppError::ChangedMeanwhile(_) => (StatusCode::PRECONDITION_FAILED, "changed_meanwhile"),
        AppError::IdempotencyConflict => (StatusCode::CONFLICT, "idempotency_conflict"),
        AppError::TooManyFeeds => (StatusCode::TOO_MANY_REQUESTS, "too_many_streams"),
        AppError::TooLong => (StatusCode::SERVICE_UNAVAILABLE, "too_long"),
        AppError::StorageFull(_) => (StatusCode::INSUFFICIENT_STORAGE, "storage_full"),
        AppError::StorageFailed(_) => (StatusCode::SERVICE_UNAVAILABLE, "storage_failed"),
        AppError::Damaged(_) => (StatusCode::INTERNAL_SERVER_ERROR, "damaged"),
        AppError::Unavailable(_) => (StatusCode::SERVICE_UNAVAILABLE, "unavailable"),
        AppError::InDoubt(_) => (StatusCode::SERVICE_UNAVAILABLE, "outcome_unknown"),
        AppError::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
        AppError::Internal(_) => (StatusCode::INTERNAL_SERVER_ERROR, "internal_error"),
    }
}

fn not_found_code(noun: Noun) -> &'static str {
    match noun {
        Noun::Team => "team_not_found",
        Noun::Project => "project_not_found",
        Noun::Column => "column_not_found",
        Noun::Row => "row_not_found",
        Noun::View => "view_not_found",
        Noun::Run => "run_not_found",
        Noun::Provider => "provider_not_found",
        Noun::Secret => "secret_not_found",
        Noun::Key => "key_not_found",
        Noun::Session => "session_not_found",
        Noun::Import => "import_not_found",
        Noun::Webhook => "webhook_not_found",
        Noun::Delivery => "delivery_not_found",
        Noun::Hook => "hook_not_found",
        Noun::Image => "image_not_found",
    }
}

/// The body of every error response.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Failure {
    /// Always false.
    #[schemars(extend("enum" = [false]))]
    pub success: bool,
    /// What went wrong, as a sentence.
    #[schemars(length(max = 10_000), extend("example" = "Project not found"))]
    pub error: String,
    /// The error code. Codes are stable.
    #[schemars(length(max = 64), regex(pattern = "^[a-z_]+$"), extend("example" = "project_not_found"))]
    pub code: &'static str,
    /// Each thing that is wrong with the body or query, the first 1,000 of them.
    #[serde(skip_serializing_if = "<[Offence]>::is_empty")]
    #[schemars(length(max = 1_000))]
    pub details: Vec<Offence>,
    /// With 5xx errors, and where the request's head could not be read: the request id to look for in the server
    /// log.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 128))]
    pub request_id: Option<String>,
}

/// The body of every error response of the webhook.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WebhookFailure {
    /// What went wrong.
    #[schemars(length(max = 10_000), extend("example" = "Invalid payload"))]
    error: String,
}

impl Error {
    /// A request with exactly one thing wrong with it.
    pub fn offence(path: impl Into<String>, message: impl Into<String>) -> Self {
        AppError::invalid(vec![Offence::new(path, message)]).into()
    }

    pub fn offences(details: Vec<Offence>) -> Self {
        AppError::invalid(details).into()
    }

    /// The failure of a request of which this much was known to be wrong.
    pub(crate) fn among(self, known: Vec<Offence>) -> Self {
        match self {
            Self::App(error) => error.among(known).into(),
            other if known.is_empty() => other,
            _ => Self::offences(known),
        }
    }

    /// Whether a request is refused for what it says, and not for who makes it, on which project, or how often.
    pub(crate) fn is_of_content(&self) -> bool {
        use StatusCode as Status;
        let status = self.status();
        let is_of_caller = [Status::UNAUTHORIZED, Status::FORBIDDEN, Status::TOO_MANY_REQUESTS];
        status.is_client_error() && !is_of_caller.contains(&status)
    }

    pub fn status(&self) -> StatusCode {
        verdict(self).0
    }

    pub fn code(&self) -> &'static str {
        verdict(self).1
    }

    /// The answer to send. The cause of a 500 is logged here, once, and nowhere else.
    pub(crate) fn respond(self, request_id: &str) -> Response<Body> {
        let (status, code) = verdict(&self);
        let internal = status.is_server_error();
        let is_stream = code == "too_many_streams";
        let is_unreadable = matches!(
            self,
            Self::UriTooLong | Self::HeadersTooLarge | Self::MalformedRequest(_) | Self::HttpsOnly
        );
        // Being full is the operator's setting and not a failure: one line for each would fill the log.
        let is_full = matches!(self, Self::Busy | Self::TooManyConnections);
        if is_full {
            tracing::debug!(request_id, code, "request refused");
        } else if internal {
            let (client, team, key) = Correspondent::current();
            tracing::error!(
                request_id,
                code,
                error = chain(&self),
                client = client.map(tracing::field::display),
                team = team.map(tracing::field::display),
                key = key.map(tracing::field::display),
                "request failed"
            );
        }
        let error = if self.is_secret() {
            "Internal server error; the server log has the cause under this request id".to_owned()
        } else {
            self.to_string()
        };
        let failure = Failure {
            success: false,
            error,
            code,
            details: self.into_details(),
            request_id: (internal || is_unreadable).then(|| request_id.to_owned()),
        };
        let mut response = Response::new(Body::from(serde_json::to_vec(&failure).unwrap_or_default()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(code, "storage_full" | "storage_failed") {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(STORAGE_RETRY_SECONDS));
        } else if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if is_stream {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(STREAM_RETRY_SECONDS));
        }
        response
    }

    /// Whether the cause is for the log only. Damage is told: waiting does not help, and somebody must restore a backup.
    fn is_secret(&self) -> bool {
        self.status() == StatusCode::INTERNAL_SERVER_ERROR && !matches!(self, Self::App(AppError::Damaged(_)))
    }

    /// To a webhook's sender every body that cannot be taken is an invalid payload.
    pub(crate) fn of_webhook(self) -> Self {
        match self {
            Self::App(AppError::Invalid { .. } | AppError::LimitExceeded { .. }) | Self::NotJson(_) => {
                AppError::InvalidPayload.into()
            }
            other => other,
        }
    }

    /// The answer to a webhook: the sender knows no envelope.
    pub(crate) fn respond_bare(self, request_id: &str) -> Response<Body> {
        let words = if self.is_secret() { "Server error".to_owned() } else { self.to_string() };
        let mut response = self.respond(request_id);
        let failure = WebhookFailure { error: words };
        *response.body_mut() = Body::from(serde_json::to_vec(&failure).unwrap_or_default());
        response
    }

    pub(crate) fn into_details(self) -> Vec<Offence> {
        let mut details = match self {
            Self::App(
                AppError::Invalid { details, .. }
                | AppError::LimitExceeded { details, .. }
                | AppError::SomeNotFound { details, .. },
            ) => details,
            _ => Vec::new(),
        };
        details.truncate(DETAILS_MAX);
        details
    }
}

/// An error and its causes, on one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut line = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(line, ": {error}");
        cause = error.source();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_of_a_500_reaches_the_log_line() {
        let error = Error::App(AppError::Internal(Box::new(std::io::Error::other("disk on fire"))));
        assert_eq!(chain(&error), "internal error: disk on fire");
    }

    #[tokio::test]
    async fn a_webhook_tells_of_damage_and_of_no_other_cause() {
        let check = async |error: AppError, words: &str| {
            let response = Error::from(error).respond_bare("id");
            assert_eq!(response.status(), 500, "the sender tries again");
            let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
            let told: serde_json::Value = serde_json::from_slice(&body).unwrap();
            assert!(told["error"].as_str().unwrap().starts_with(words), "{told}");
            assert_eq!(told.as_object().unwrap().len(), 1, "{told}");
        };
        check(AppError::Damaged("a page".into()), "The database is damaged (a page)").await;
        check(AppError::Internal("a secret".into()), "Server error").await;
    }

    /// Whoever gets a code can look it up.
    #[test]
    fn every_code_is_in_the_guide() {
        let guide = include_str!("../../../docs/errors.md");
        let source = include_str!("error.rs").split("#[cfg(test)]").next().unwrap();
        let table =
            source.split("fn verdict").nth(1).unwrap().split("pub(crate) struct Failure").next().unwrap();
        let is_code = |text: &&str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
        };
        let codes: Vec<&str> = table.split('"').skip(1).step_by(2).filter(is_code).collect();
        assert!(codes.len() > 30, "{codes:?}");
        for code in codes {
            assert!(guide.contains(&format!("`{code}`")), "{code} is not in docs/errors.md");
        }
    }

    #[test]
    fn statuses_follow_the_contract() {
        let check = |error: Error, status: u16, code: &str| {
            assert_eq!((error.status().as_u16(), error.code()), (status, code), "{error}");
        };
        check(AppError::Unauthenticated.into(), 401, "unauthenticated");
        check(AppError::InvalidKey.into(), 403, "invalid_api_key");
        check(AppError::ApiDisabled.into(), 403, "api_disabled");
        check(AppError::NotFound(Noun::Row).into(), 404, "row_not_found");
        check(AppError::IdempotencyConflict.into(), 409, "idempotency_conflict");
        check(AppError::ChangedMeanwhile(Noun::Row).into(), 412, "changed_meanwhile");
        check(AppError::TooLong.into(), 503, "too_long");
        check(AppError::Unavailable("away".into()).into(), 503, "unavailable");
        check(AppError::StorageFull("no space left".into()).into(), 507, "storage_full");
        check(AppError::StorageFailed("read-only".into()).into(), 503, "storage_failed");
        check(Error::CannotWrite(AppError::StorageFull("no space left".into())), 503, "storage_full");
        check(AppError::Damaged("a page".into()).into(), 500, "damaged");
        check(AppError::InDoubt("away".into()).into(), 503, "outcome_unknown");
        check(AppError::Stopping.into(), 503, "stopping");
        check(AppError::limit("rows", "too many").into(), 400, "limit_exceeded");
        check(
            Error::BodyTooLarge { bytes_max: BytesMax { number: 1, name: "bodyBytesMax" } },
            413,
            "body_too_large",
        );
        check(Error::Busy, 503, "busy");
        check(Error::BodyTimeout { wait_seconds_max: 1, bytes_per_second_min: 1 }, 400, "request_timeout");
        check(Error::TooManyConnections, 503, "too_many_connections");
        check(Error::UriTooLong, 414, "uri_too_long");
        check(Error::HeadersTooLarge, 431, "headers_too_large");
        check(Error::MalformedRequest("no"), 400, "malformed_request");
        check(Error::HttpsOnly, 400, "malformed_request");
    }
}
