//! An endpoint without its types (type erasure).
//!
//! An [`Endpoint`] is generic: each has its own path, query, body and answer. A [`Definition`] is a plain struct of the
//! same content, whose only generic part is [`bind`]. So everything that mounts, documents and serves operations is
//! compiled once, and not once per endpoint.

use std::pin::Pin;

use axum::body::Body;
use axum::http::{Method, StatusCode};
use rowmill_model::{Offence, Scopes};
use serde_json::Value;

use crate::answer::{Media, Reply};
use crate::body_limit::BodyLimit;
use crate::endpoint::{Access, Call, Endpoint, Examples, Repeats, RequestHeader, Service};
use crate::error::Error;
use crate::payload::{Payload, Presence};
use crate::schema::TypeSchema;

/// What an endpoint says of itself.
pub(crate) struct Definition<S: Service> {
    pub method: Method,
    pub id: &'static str,
    pub tag: &'static str,
    pub version: &'static str,
    pub summary: &'static str,
    pub description: &'static str,
    pub access: Access,
    pub scopes: Scopes,
    pub status: StatusCode,
    pub status_also: Option<StatusCode>,
    pub media: Media,
    pub media_also: Option<Media>,
    pub repeats: Repeats,
    pub checks_rest: bool,
    pub takes_disabled: bool,
    pub reads_rows: bool,
    pub request_headers: &'static [RequestHeader],
    pub answer_headers: &'static [&'static str],
    pub headers: OwnHeaders,
    pub path: TypeSchema,
    pub query: TypeSchema,
    pub body: BodyDefinition,
    pub answer: TypeSchema,
    pub examples: fn() -> Examples,
    pub bind: Bind<S>,
}

/// What an endpoint says of the headers of its answers.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct OwnHeaders {
    pub is_tagged: bool,
    pub is_paged: bool,
    /// In Unix seconds.
    pub deprecated_at: Option<i64>,
}

/// What an endpoint says of its body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BodyDefinition {
    pub presence: Presence,
    pub is_checked: bool,
    pub media_types: &'static [&'static str],
    pub limit: BodyLimit,
    pub schema: TypeSchema,
}

impl<S: Service> Definition<S> {
    /// What an `Idempotency-Key` does. Who sends a webhook knows of none.
    pub(crate) fn repeats_here(&self) -> Repeats {
        if self.access.is_inbound() { Repeats::Freely } else { self.repeats }
    }

    pub(crate) fn of<E: Endpoint<S>>() -> Self {
        Self {
            method: E::METHOD,
            id: E::ID,
            tag: E::TAG,
            version: E::VERSION,
            summary: E::SUMMARY,
            description: E::DESCRIPTION,
            access: E::ACCESS,
            scopes: E::SCOPES,
            status: E::STATUS,
            status_also: E::STATUS_ALSO,
            media: E::MEDIA,
            media_also: E::MEDIA_ALSO,
            repeats: E::REPEATS,
            checks_rest: E::CHECKS_REST,
            takes_disabled: E::TAKES_DISABLED,
            reads_rows: E::READS_ROWS,
            request_headers: E::REQUEST_HEADERS,
            answer_headers: E::ANSWER_HEADERS,
            headers: OwnHeaders {
                is_tagged: E::IS_TAGGED,
                is_paged: E::IS_PAGED,
                deprecated_at: E::DEPRECATED_AT,
            },
            path: TypeSchema::of::<E::Path>(),
            query: TypeSchema::of::<E::Query>(),
            body: BodyDefinition {
                presence: E::Body::PRESENCE,
                is_checked: E::Body::IS_CHECKED,
                media_types: E::Body::MEDIA,
                limit: E::BODY_LIMIT,
                schema: TypeSchema::of::<<E::Body as Payload>::Schema>(),
            },
            answer: TypeSchema::of::<E::Out>(),
            examples: E::examples,
            bind: bind::<S, E>,
        }
    }
}

/// Parses path and query into the endpoint's types. The query has passed its check, or these are its offences.
pub(crate) type Bind<S> = fn(path: Value, query: Result<Value, Vec<Offence>>) -> Result<Accept<S>, Rejected>;
/// Then parses the body.
pub(crate) type Accept<S> = Box<dyn FnOnce(Content) -> Result<Run<S>, Error> + Send>;
/// Then runs the endpoint.
pub(crate) type Run<S> = Box<dyn FnOnce(Call<S>) -> Running + Send>;
type Running = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send>>;

/// The content of a body.
pub(crate) enum Content {
    /// Read whole, guarded and checked. Empty if there is none.
    Text(String),
    /// For [`Presence::Streamed`].
    Stream(Body),
    /// For [`Presence::Whole`].
    Bytes(Vec<u8>),
}

/// What is wrong with the parameters of a request.
pub(crate) enum Rejected {
    Path,
    Query(Vec<Offence>),
}

fn bind<S: Service, E: Endpoint<S>>(
    path: Value,
    query: Result<Value, Vec<Offence>>,
) -> Result<Accept<S>, Rejected> {
    let path: E::Path = serde_json::from_value(path).map_err(|_| Rejected::Path)?;
    let query: E::Query = serde_json::from_value(query.map_err(Rejected::Query)?)
        .map_err(|error| Rejected::Query(vec![Offence::new("", error.to_string())]))?;
    Ok(Box::new(move |content| {
        let body = match content {
            Content::Text(text) => E::Body::accept(text)?,
            Content::Stream(body) => E::Body::stream(body).ok_or(Error::UnknownPath)?,
            Content::Bytes(bytes) => E::Body::whole(bytes).ok_or(Error::UnknownPath)?,
        };
        Ok(Box::new(move |call| {
            Box::pin(async move { E::handle(call, path, query, body).await?.into_reply() })
        }))
    }))
}
