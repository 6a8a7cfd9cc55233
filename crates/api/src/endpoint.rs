//! What an operation is. One type says everything about it: where its input comes from, what it
//! answers, and what the document tells about it.

use std::marker::PhantomData;
use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, Response, StatusCode};
use bytes::Bytes;
use rowmill_fairness::Tenant;
use rowmill_model::Limits;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::paced;
use crate::rate_limits::Rates;

/// The header in which a write tells the project's change sequence, and a read says what it must have seen.
pub const SEQUENCE: &str = "X-Rowmill-Sequence";

/// One operation. [`crate::Api::add`] mounts and documents it.
pub trait Endpoint<S: Service>: Send + Sync + 'static {
    const METHOD: Method;
    /// The operationId: unique, camelCase.
    const ID: &'static str;
    /// One of the tags given to [`crate::Api::tag`].
    const TAG: &'static str;
    const SUMMARY: &'static str;
    const DESCRIPTION: &'static str;
    const ACCESS: Access = Access::Key;
    /// Put behind the id and the tag, to tell the versions of an operation apart.
    const VERSION: &'static str = "";
    const STATUS: StatusCode = StatusCode::OK;
    const MEDIA: Media = Media::Json;
    /// What else an answer may be sent as.
    const MEDIA_ALSO: Option<Media> = None;
    /// Whether an `Idempotency-Key` makes a POST safe to repeat. What shows a secret once keeps no answer.
    const IS_REPEATABLE: bool = true;
    /// Another status of success, chosen by [`Answer::with_status`].
    const STATUS_ALSO: Option<StatusCode> = None;
    /// The largest body it takes, where that is less than [`Limits::body_bytes_max`].
    const BODY_BYTES_MAX: u32 = u32::MAX;
    /// Whether it may go over all rows of a project: it then takes [`SEQUENCE`], and may take too long.
    const READS_ROWS: bool = false;

    /// The parameters in the path: a struct of strings, each as it was sent but percent-decoded.
    type Path: DeserializeOwned + JsonSchema + Send;
    /// The parameters in the query: a struct of scalars, with `deny_unknown_fields`.
    type Query: DeserializeOwned + JsonSchema + Send;
    type Body: Payload;
    /// What is answered, beside `success: true`: a struct.
    type Out: Serialize + JsonSchema + Send;

    fn examples() -> Examples {
        Examples::default()
    }

    fn handle(
        call: Call<S>,
        path: Self::Path,
        query: Self::Query,
        body: Self::Body,
    ) -> impl Future<Output = Result<Answer<Self::Out>, Error>> + Send;
}

/// What an answer is sent as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    Json,
    /// Server-sent events, by [`Answer::streamed`].
    Events,
    /// Comma-separated values, or JSON Lines by [`Answer::as_media`].
    Csv,
    JsonLines,
}

impl Media {
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Events => "text/event-stream",
            Self::Csv => "text/csv; charset=utf-8",
            Self::JsonLines => "application/x-ndjson",
        }
    }
}

/// What the kit asks of the application behind it.
pub trait Service: Clone + Send + Sync + 'static {
    type Principal: Principal;

    /// Who is calling, if they may call at all: known by their headers and by what the path names.
    fn authenticate(
        &self,
        access: Access,
        method: &Method,
        headers: &HeaderMap,
        path: &Map<String, Value>,
    ) -> impl Future<Output = Result<Self::Principal, Error>> + Send;

    /// The id of the team that a webhook's address names.
    fn webhook_team(&self, team_id: &str) -> impl Future<Output = Result<u128, Error>> + Send;

    /// A number that all changes made so far to a project's rows are counted in.
    fn sequence(&self, _project_id: &str) -> impl Future<Output = Option<u64>> + Send {
        std::future::ready(None)
    }

    /// Whether requests can be served now.
    fn ready(&self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// Whoever is calling.
pub trait Principal: Clone + Send + Sync + 'static {
    /// The caller that requests are counted for: the id of the key. Without one they are counted for the
    /// client's address.
    fn rate_key(&self) -> Option<u128>;

    /// Whom the work of a request is done for.
    fn tenant(&self) -> Tenant;
}

/// Who may call, and how they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only with a key; counted per key.
    Key,
    /// With a key, or without one where what is read is open; without, counted per client address.
    OpenRead,
    /// Without a key; counted per `teamId` in the path. The address is the secret.
    Webhook,
    /// Anybody, uncounted.
    Open,
}

/// Everything about a request that is not path, query or body.
#[derive(Debug, Clone)]
pub struct Call<S: Service> {
    pub state: S,
    pub principal: Option<S::Principal>,
    pub request_id: Arc<str>,
    pub method: Method,
    /// The path as it was sent.
    pub path: String,
    pub headers: HeaderMap,
    pub client: IpAddr,
    pub limits: Arc<Limits>,
    pub rates: Arc<Rates>,
    /// On a POST that carries an `Idempotency-Key`.
    pub idempotency: Option<Idempotency>,
}

impl<S: Service> Call<S> {
    /// Whether a project has come as far as a reader says it must have. It has, whatever a write answered: a
    /// number beyond it was told by nobody.
    pub fn check_sequence(&self, reached: u64) -> Result<(), Error> {
        let Some(sent) = self.headers.get(SEQUENCE) else { return Ok(()) };
        let number: Option<u64> = sent.to_str().ok().and_then(|text| text.parse().ok());
        if number.is_some_and(|number| number <= reached) {
            return Ok(());
        }
        Err(Error::offence(
            SEQUENCE,
            "must be an X-Rowmill-Sequence value returned by a write to this project",
        ))
    }

    /// The caller, or 401.
    pub fn principal(&self) -> Result<&S::Principal, Error> {
        self.principal.as_ref().ok_or_else(|| rowmill_app::Error::Unauthenticated.into())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Idempotency {
    pub key: String,
    /// SHA-256 over method, path, query and body: the same for the same request, else another.
    pub fingerprint: [u8; 32],
}

/// What the document shows for an operation.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    pub body: Option<Value>,
    /// Without `success`, which is added.
    pub answer: Option<Value>,
}

/// No parameters, or no body.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nothing {}

/// How an operation takes its body.
pub trait Payload: Sized + Send {
    type Schema: JsonSchema;
    const PRESENCE: Presence;
    /// Whether the kit checks the body against the schema before [`Payload::accept`].
    const IS_CHECKED: bool;

    /// What it may be sent as.
    const MEDIA: &'static [&'static str] = &["application/json"];

    /// The body where it is not read beforehand: [`Presence::Streamed`].
    fn stream(_body: Body) -> Option<Self> {
        None
    }

    /// The body. `text` has passed the guard and, if [`Payload::IS_CHECKED`], the check.
    fn accept(text: String) -> Result<Self, Error>;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// A body is not read.
    None,
    Optional,
    Required,
    /// Handed to the operation as it comes, whatever its size and type.
    Streamed,
}

/// A file, read by the operation itself.
#[derive(Debug)]
pub struct File(pub Body);

impl Payload for File {
    type Schema = FileText;
    const PRESENCE: Presence = Presence::Streamed;
    const IS_CHECKED: bool = false;
    const MEDIA: &'static [&'static str] = &["text/csv", "application/x-ndjson"];

    fn stream(body: Body) -> Option<Self> {
        Some(Self(body))
    }

    fn accept(_text: String) -> Result<Self, Error> {
        Ok(Self(Body::empty()))
    }
}

/// The text of a file.
#[derive(Debug, Serialize)]
pub struct FileText(String);

impl JsonSchema for FileText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "maxLength": 4_294_967_295_u32 })
    }
}

/// A JSON body, checked against its schema.
#[derive(Debug, Clone)]
pub struct Json<T>(pub T);

/// A JSON body that may be left out, which is the default.
#[derive(Debug, Clone)]
pub struct Optional<T>(pub T);

/// A body parsed by the endpoint itself, where speed or raw text matters; `T` documents it. Guarded
/// (UTF-8, nesting, U+0000) but not yet known to be JSON: see [`not_json`].
#[derive(Debug, Clone)]
pub struct Raw<T> {
    pub text: String,
    documented: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned + JsonSchema + Send> Payload for Json<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Required;
    const IS_CHECKED: bool = true;

    fn accept(text: String) -> Result<Self, Error> {
        typed(&text).map(Self)
    }
}

impl<T: DeserializeOwned + JsonSchema + Default + Send> Payload for Optional<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Optional;
    const IS_CHECKED: bool = true;

    fn accept(text: String) -> Result<Self, Error> {
        if text.is_empty() { Ok(Self(T::default())) } else { typed(&text).map(Self) }
    }
}

impl<T: JsonSchema + Send> Payload for Raw<T> {
    type Schema = T;
    const PRESENCE: Presence = Presence::Required;
    const IS_CHECKED: bool = false;

    fn accept(text: String) -> Result<Self, Error> {
        Ok(Self { text, documented: PhantomData })
    }
}

impl Payload for Nothing {
    type Schema = Self;
    const PRESENCE: Presence = Presence::None;
    const IS_CHECKED: bool = false;

    fn accept(_text: String) -> Result<Self, Error> {
        Ok(Self {})
    }
}

/// From the text where possible, so that raw values in `T` keep their digits.
fn typed<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_str(text).or_else(|error| {
        // JSON Schema counts 1.0 as an integer, serde does not.
        let value = integral(serde_json::from_str(text).unwrap_or_default());
        serde_json::from_value(value).map_err(|_| Error::offence("", error.to_string()))
    })
}

fn integral(value: Value) -> Value {
    match value {
        Value::Array(entries) => entries.into_iter().map(integral).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, integral(value))).collect(),
        Value::Number(number) => match number.as_f64() {
            #[expect(clippy::cast_possible_truncation, reason = "whole and exact within these bounds")]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        other => other,
    }
}

/// Text that is not JSON, as the failure of a request.
pub fn not_json(error: &serde_json::Error) -> Error {
    Error::NotJson(format!("The body is not valid JSON: {error}"))
}

/// A successful answer: a value, bytes that were rendered before, or a stream of them.
#[derive(Debug)]
pub struct Answer<T> {
    status: Option<StatusCode>,
    media: Option<Media>,
    headers: HeaderMap,
    content: Content<T>,
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
        Self { status: None, media: None, headers: HeaderMap::new(), content }
    }

    /// Instead of [`Endpoint::MEDIA`]. The document must know of it: [`Endpoint::MEDIA_ALSO`].
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

    /// Instead of [`Endpoint::STATUS`]. The document must know of it: [`Endpoint::STATUS_ALSO`].
    #[must_use]
    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status: Some(status), ..self }
    }

    pub(crate) fn into_response(self, status: StatusCode, media: Media) -> Result<Response<Body>, Error> {
        let body = match self.content {
            Content::Value(value) => paced::body(render(&value)?),
            Content::Rendered(bytes) => paced::body(bytes),
            Content::Streamed(body) => body,
        };
        let mut response = Response::new(body);
        *response.status_mut() = self.status.unwrap_or(status);
        *response.headers_mut() = self.headers;
        let content_type = self.media.unwrap_or(media).content_type();
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Ok(response)
    }
}

/// A struct as the body of a successful answer: its fields, after `success: true`.
pub fn render<T: Serialize>(value: &T) -> Result<Bytes, Error> {
    const SUCCESS: &[u8] = br#"{"success":true"#;
    let mut bytes = SUCCESS.to_vec();
    let internal = |error: Box<dyn std::error::Error + Send + Sync>| rowmill_app::Error::Internal(error);
    serde_json::to_writer(&mut bytes, value).map_err(|error| internal(error.into()))?;
    match bytes.get(SUCCESS.len()..) {
        Some(b"{}") => drop(bytes.drain(SUCCESS.len()..=SUCCESS.len())),
        Some([b'{', ..]) => bytes.iter_mut().skip(SUCCESS.len()).take(1).for_each(|brace| *brace = b','),
        _ => return Err(internal("an answer is a struct".into()).into()),
    }
    Ok(bytes.into())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn success_comes_first() {
        let check = |value: Value, expected: &str| assert_eq!(render(&value).unwrap(), expected);
        check(json!({}), r#"{"success":true}"#);
        check(json!({ "b": 1, "a": {} }), r#"{"success":true,"b":1,"a":{}}"#);
        assert!(render(&json!([])).is_err());
    }

    #[test]
    fn whole_floats_are_integers() {
        assert_eq!(integral(json!({ "a": [1.0, 1.5, -2.0, 1e300] })), json!({ "a": [1, 1.5, -2, 1e300] }));
        let Json(number) = Json::<u32>::accept("7.0".to_owned()).unwrap();
        assert_eq!(number, 7);
    }
}
