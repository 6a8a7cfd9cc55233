//! What an operation answers, and how it is rendered.

use axum::body::Body;
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use bytes::Bytes;
use rowmill_model::ProjectId;
use serde::Serialize;

use crate::answer_memory::{AnswerMemory, held};
use crate::byte_budget::Charge;
use crate::error::Error;
use crate::etag::EntityTag;
use crate::paced;

/// A successful answer: a value, bytes that were rendered before, or a stream of them.
#[derive(Debug)]
pub struct Answer<T> {
    status: Option<StatusCode>,
    media: Option<Media>,
    headers: HeaderMap,
    content: Content<T>,
    charge: Option<Charge>,
    written: Option<ProjectId>,
}

#[derive(Debug)]
enum Content<T> {
    Value(T),
    Rendered(Bytes),
    Streamed(Body),
}

impl<T: Serialize> Answer<T> {
    pub fn new(value: T) -> Self {
        Self::of(Content::Value(value))
    }

    /// The whole body as it is to be sent, `success` and all: for answers that are copied and not built,
    /// and for those that are repeated.
    pub fn rendered(bytes: impl Into<Bytes>) -> Self {
        Self::of(Content::Rendered(bytes.into()))
    }

    /// A body that is sent as it comes about.
    pub fn streamed(body: Body) -> Self {
        Self::of(Content::Streamed(body))
    }

    fn of(content: Content<T>) -> Self {
        Self { status: None, media: None, headers: HeaderMap::new(), content, charge: None, written: None }
    }

    /// Instead of [`crate::endpoint::Endpoint::MEDIA`]. The document must know of it: [`crate::endpoint::Endpoint::MEDIA_ALSO`].
    #[must_use]
    pub fn as_media(self, media: Media) -> Self {
        Self { media: Some(media), ..self }
    }

    /// With a header beside those that every answer has.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// As a file: `disposition` says how a browser names it.
    #[must_use]
    pub fn as_download(self, disposition: &str) -> Self {
        match HeaderValue::from_str(disposition) {
            Ok(disposition) => self.with_header(CONTENT_DISPOSITION, disposition),
            Err(_) => self,
        }
    }

    /// With the tag of what it shows, or of what was written. The document must know of it:
    /// [`crate::endpoint::Endpoint::IS_TAGGED`].
    #[must_use]
    pub(crate) fn with_tag(mut self, tag: EntityTag) -> Self {
        self.headers.extend([tag.header()]);
        self
    }

    /// With the room it was given, which it keeps until it was sent.
    #[must_use]
    pub(crate) fn with_charge(self, charge: Option<Charge>) -> Self {
        Self { charge, ..self }
    }

    /// With the sequence of a project that was written, where that is not the one that the path names. The document must
    /// know of it: [`crate::endpoint::Endpoint::ANSWER_HEADERS`].
    #[must_use]
    pub(crate) fn having_written(self, project: ProjectId) -> Self {
        Self { written: Some(project), ..self }
    }

    /// Instead of [`crate::endpoint::Endpoint::STATUS`]. The document must know of it: [`crate::endpoint::Endpoint::STATUS_ALSO`].
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status: Some(status), ..self }
    }

    /// The answer without its type: the value becomes the bytes of a body.
    pub(crate) fn into_reply(self) -> Result<Reply, Error> {
        let Self { status, media, headers, content, charge, written } = self;
        let body = match content {
            Content::Value(value) => paced::body(render(&value)?),
            Content::Rendered(bytes) => paced::body(bytes),
            Content::Streamed(body) => body,
        };
        Ok(Reply { status, media, headers, body, charge, written })
    }
}

impl<T: Serialize + Send + 'static> Answer<T> {
    /// A value and its tag that `make` makes from about this many bytes, with room for them. If they are many, it is
    /// made and rendered on another thread, so that async threads stay free for other requests.
    pub(crate) async fn computed(
        charge: Option<Charge>,
        bytes: usize,
        make: impl FnOnce() -> Result<(T, EntityTag), Error> + Send + 'static,
    ) -> Result<Self, Error> {
        if !paced::is_long(bytes, 0) {
            let (value, tag) = make()?;
            return Ok(Self::new(value).with_tag(tag).with_charge(charge));
        }
        let rendered = rowmill_fairness::compute(move || {
            let (value, tag) = make()?;
            Ok::<_, Error>((render(&value)?, tag))
        });
        let rendered = rendered.await.map_err(|failure| rowmill_app::Error::Internal(failure.into()))?;
        let (bytes, tag) = rendered?;
        Ok(Self::rendered(bytes).with_tag(tag).with_charge(charge))
    }
}

/// An [`Answer`] that is ready to be sent.
#[derive(Debug)]
pub(crate) struct Reply {
    status: Option<StatusCode>,
    media: Option<Media>,
    headers: HeaderMap,
    body: Body,
    charge: Option<Charge>,
    /// The project that was written, where that is not the one that the path names.
    pub(crate) written: Option<ProjectId>,
}

impl Reply {
    /// With room for what it holds, if it has none yet. The answer to a write is never refused.
    pub(crate) async fn admitted(mut self, memory: &AnswerMemory, is_read: bool) -> Result<Self, Error> {
        let bytes = http_body::Body::size_hint(&self.body).exact();
        let bytes = bytes.map_or(0, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if self.charge.is_none() {
            self.charge = if is_read { memory.admit(bytes).await? } else { memory.admit_written(bytes) };
        }
        Ok(self)
    }

    /// The response, with the operation's own status and media type where the answer names no other.
    pub(crate) fn into_response(self, status: StatusCode, media: Media) -> Response<Body> {
        let mut response = Response::new(held(self.body, self.charge));
        *response.status_mut() = self.status.unwrap_or(status);
        *response.headers_mut() = self.headers;
        let media = self.media.unwrap_or(media);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media.content_type()));
        if media == Media::Events {
            response.headers_mut().insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
        }
        response
    }
}

/// Tells nginx, and proxies that do as it does, to pass on what comes at once.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// What an answer is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Json,
    /// Server-sent events, by [`Answer::streamed`].
    Events,
    /// Comma-separated values, or JSON Lines by [`Answer::as_media`].
    Csv,
    JsonLines,
    /// Images, by [`Answer::rendered`].
    Png,
    Jpeg,
}

impl Media {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Events => "text/event-stream",
            Self::Csv => "text/csv; charset=utf-8",
            Self::JsonLines => "application/x-ndjson",
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
        }
    }
}

/// A struct as the body of a successful answer: its fields, after `success: true`.
pub fn render<T: Serialize>(value: &T) -> Result<Bytes, Error> {
    let mut bytes = SUCCESS.to_vec();
    serde_json::to_writer(&mut bytes, value).map_err(|error| rowmill_app::Error::Internal(error.into()))?;
    joined(bytes)
}

const SUCCESS: &[u8] = br#"{"success":true"#;

/// Makes one object of [`SUCCESS`] and the object that was written after it.
fn joined(mut bytes: Vec<u8>) -> Result<Bytes, Error> {
    match bytes.get(SUCCESS.len()..) {
        Some(b"{}") => drop(bytes.drain(SUCCESS.len()..=SUCCESS.len())),
        Some([b'{', ..]) => bytes.iter_mut().skip(SUCCESS.len()).take(1).for_each(|brace| *brace = b','),
        _ => return Err(rowmill_app::Error::Internal("an answer is a struct".into()).into()),
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn success_comes_first() {
        let check = |value: Value, expected: &str| assert_eq!(render(&value).unwrap(), expected);
        check(json!({}), r#"{"success":true}"#);
        check(json!({ "b": 1, "a": {} }), r#"{"success":true,"b":1,"a":{}}"#);
        assert!(render(&json!([])).is_err());
    }
}
