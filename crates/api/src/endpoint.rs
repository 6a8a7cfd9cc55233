//! What an operation is. One type says everything about it: where its input comes from, what it
//! answers, and what the document tells about it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::{HeaderMap, Method, StatusCode};
use rowmill_fairness::Tenant;
use rowmill_model::{Limits, Scopes};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::answer::{Answer, Media};
use crate::answer_memory::AnswerMemory;
use crate::body_limit::BodyLimit;
use crate::error::Error;
use crate::payload::Payload;
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
    /// What a key must be allowed to do. Only what takes no key needs none.
    const SCOPES: Scopes;
    /// Put behind the id and the tag, to tell the versions of an operation apart.
    const VERSION: &'static str = "";
    const STATUS: StatusCode = StatusCode::OK;
    const MEDIA: Media = Media::Json;
    /// What else an answer may be sent as.
    const MEDIA_ALSO: Option<Media> = None;
    /// What an `Idempotency-Key` does on a POST.
    const REPEATS: Repeats = Repeats::WithWork;
    /// Another status of success, chosen by [`Answer::with_status`].
    const STATUS_ALSO: Option<StatusCode> = None;
    /// How large a body it takes.
    const BODY_LIMIT: BodyLimit = BodyLimit::Body;
    /// The headers it reads beside those that the kit reads, for the document.
    const REQUEST_HEADERS: &'static [RequestHeader] = &[];
    /// The headers of success beside those that every answer has, for the document. Each is defined in
    /// `openapi/components.rs`.
    const ANSWER_HEADERS: &'static [&'static str] = &[];
    /// Whether it is asked what else is wrong with a request whose query or body has been found wrong. Its use case must
    /// then refuse what is known to be wrong before it does anything: `app/known_offences.rs`.
    const CHECKS_REST: bool = false;
    /// Whether it may succeed on a project whose API is disabled. It then refuses by itself what it does not take there.
    const TAKES_DISABLED: bool = false;
    /// Whether it may go over all rows of a project: it then takes [`SEQUENCE`], and may take too long.
    const READS_ROWS: bool = false;
    /// Whether it answers with an `ETag`. A GET then takes `If-None-Match`, and a PATCH or DELETE `If-Match`.
    const IS_TAGGED: bool = false;
    /// Whether it answers with a `Link` header to other pages.
    const IS_PAGED: bool = false;
    /// When it was deprecated, in Unix seconds.
    const DEPRECATED_AT: Option<i64> = None;

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

/// What the kit asks of the application behind it.
pub trait Service: Clone + Send + Sync + 'static {
    type Principal: Principal;

    /// Who is calling, if they may call at all: known by their headers and by what the path names.
    fn authenticate(
        &self,
        access: Access,
        request: Head<'_>,
        path: &Map<String, Value>,
    ) -> impl Future<Output = Result<Self::Principal, Error>> + Send;

    /// Whether the caller may do this, here: has these scopes, and may reach what the path names.
    fn authorize(
        &self,
        principal: &Self::Principal,
        scopes: Scopes,
        path: &Map<String, Value>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Whether the project that a path names is there for this caller, and its API is enabled. Asked when a request is
    /// refused for what it says, because that refusal comes first.
    fn check_project(
        &self,
        _principal: &Self::Principal,
        _project_id: &str,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// The id of the team that a webhook's address names.
    fn webhook_team(&self, team_id: &str) -> impl Future<Output = Result<u128, Error>> + Send;

    /// The id of the team whose inbound hook an address names.
    fn hook_team(
        &self,
        _project_id: &str,
        _secret: &str,
    ) -> impl Future<Output = Result<u128, Error>> + Send {
        std::future::ready(Err(Error::UnknownPath))
    }

    /// A number that all changes made so far to a project's rows are counted in.
    fn sequence(&self, _project_id: &str) -> impl Future<Output = Option<u64>> + Send {
        std::future::ready(None)
    }

    /// The address a request reached this server by, without a slash at its end.
    fn base_url(&self, _headers: &HeaderMap) -> String {
        String::new()
    }

    /// What was kept for the request of this name, if it has this fingerprint. Another one is a conflict.
    fn recall(
        &self,
        _name: [u8; 32],
        _fingerprint: [u8; 32],
    ) -> impl Future<Output = Result<Option<String>, Error>> + Send {
        std::future::ready(Ok(None))
    }

    /// Keeps the answer to a request.
    fn remember(
        &self,
        _name: [u8; 32],
        _fingerprint: [u8; 32],
        _answer: String,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Whether requests can be served now.
    fn ready(&self) -> impl Future<Output = Result<(), Error>> + Send;
}

/// What is known of a request when its caller is looked up.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub method: &'a Method,
    pub headers: &'a HeaderMap,
    /// Where it comes from.
    pub client: IpAddr,
}

/// Whoever is calling.
pub trait Principal: Clone + Send + Sync + 'static {
    /// The caller that requests are counted for: the key and its team. Without a key they are counted for the
    /// client's address.
    fn rate_key(&self) -> Option<RateKey>;

    /// Whom the work of a request is done for.
    fn tenant(&self) -> Tenant;
}

/// Whom a request with a key is counted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateKey {
    pub key: u128,
    pub team: u128,
}

/// Who may call, and how they are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Only with a key; counted per key and per team.
    Key,
    /// With a key, or without one where what is read is open; without, counted per client address.
    OpenRead,
    /// Without a key; counted per `teamId` in the path. The address is the secret.
    Webhook,
    /// Without a key; `projectId` and `secret` in the path name an inbound hook. Counted per team, or, where there is no
    /// such hook, as failed authentication.
    Hook,
    /// Anybody, uncounted.
    Open,
}

impl Access {
    /// Whether other services send here, to an address that is a secret.
    pub fn is_inbound(self) -> bool {
        matches!(self, Self::Webhook | Self::Hook)
    }
}

/// A header that some operations read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestHeader {
    /// Where a stream of events goes on.
    LastEventId,
    /// Who made a delivery.
    WebhookSignature,
    /// Which version of a document is known already.
    IfNoneMatch,
    /// Whether the caller would rather not wait.
    Prefer,
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
    /// The query as it was sent, without its question mark.
    pub query: String,
    pub headers: HeaderMap,
    pub client: IpAddr,
    pub limits: Arc<Limits>,
    pub rates: Arc<Rates>,
    /// On a POST that carries an `Idempotency-Key`.
    pub idempotency: Option<Idempotency>,
    pub(crate) answers: Arc<AnswerMemory>,
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
    /// SHA-256 over the team, the path with the query, and the key.
    pub name: [u8; 32],
    /// SHA-256 over method, path, query and body: the same for the same request, else another.
    pub fingerprint: [u8; 32],
}

/// What an `Idempotency-Key` does on a POST.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// The endpoint keeps its outcome together with its work.
    WithWork,
    /// The answer is kept once it is made, because the work takes more than one transaction.
    WithAnswer,
    /// It is refused, because the answer shows a secret once and is not kept.
    Never,
    /// Nothing: the request changes nothing.
    Freely,
}

impl Repeats {
    /// Whether the same request is carried out once.
    pub fn is_once(self) -> bool {
        matches!(self, Self::WithWork | Self::WithAnswer)
    }
}

/// What the document shows for an operation.
#[derive(Debug, Clone, Default)]
pub struct Examples {
    pub body: Option<Value>,
    /// Without `success`, which is added.
    pub answer: Option<Value>,
}
