//! Idempotency keys on the wire: requests with the same key wait for each other, an answer that is given again is
//! marked, and the answers of work that takes more than one transaction are kept whole.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::{Body, Bytes};
use axum::http::header::{HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Response, StatusCode, Uri};
use http_body::{Body as _, Frame, SizeHint};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use rowmill_app::Error as AppError;
use rowmill_model::{Limits, Offence};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::deadline::Deadline;
use crate::endpoint::{Repeats, Service};
use crate::error::Error;
use crate::paced;
use crate::request_log::Correspondent;

/// Marks an answer that was given before.
pub(crate) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
pub(crate) const IS_REPLAYED: HeaderValue = HeaderValue::from_static("true");

const KEY: &str = "idempotency-key";
const KEY_CHARS_MAX: usize = 255;
/// No request has it: asking with it says whether anything is kept under a name.
const NOBODYS_FINGERPRINT: [u8; 32] = [0; 32];

/// The key of a POST, where the operation takes one.
pub(crate) fn sent_key(repeats: Repeats, parts: &Parts) -> Result<Option<String>, Offence> {
    let Some(value) = parts.headers.get(KEY).filter(|_| parts.method == axum::http::Method::POST) else {
        return Ok(None);
    };
    let refuse = |words: &str| Err(Offence::new("Idempotency-Key", words));
    if repeats == Repeats::Never {
        return refuse("is not supported here, because the response contains a secret and is not stored");
    }
    let text = value.to_str().unwrap_or_default();
    let is_key = text.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_key || text.is_empty() || text.len() > KEY_CHARS_MAX {
        return refuse("must be 1 to 255 visible ASCII characters, without spaces");
    }
    Ok(Some(text.to_owned()).filter(|_| repeats != Repeats::Freely))
}

/// What names a request: whose it is, where it goes, its key. The query is part of where: it says what is done, so with
/// another one it is another request.
pub(crate) fn name_of(team: u128, uri: &Uri, key: &str) -> [u8; 32] {
    let mut name = Sha256::new();
    name.update(team.to_be_bytes());
    name.update(uri.path());
    if let Some(query) = uri.query().filter(|query| !query.is_empty()) {
        name.update("?");
        name.update(query);
    }
    name.update([0]);
    name.update(key);
    name.finalize().into()
}

/// The same for the same method, path, query and body, else another.
pub(crate) fn fingerprint(parts: &Parts, text: &str) -> [u8; 32] {
    let mut hash = begin_hash(parts);
    hash.update(text);
    hash.finalize().into()
}

fn begin_hash(parts: &Parts) -> Sha256 {
    let mut hash = Sha256::new();
    for part in [parts.method.as_str(), parts.uri.path(), parts.uri.query().unwrap_or_default()] {
        hash.update(part);
        hash.update([0]);
    }
    hash
}

/// An answer as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct KeptAnswer {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl KeptAnswer {
    fn into_response(self) -> Result<Response<Body>, Error> {
        let broken = |error| AppError::Internal(error);
        let mut response = Response::new(paced::body(self.body.into()));
        *response.status_mut() = StatusCode::from_u16(self.status).map_err(|error| broken(error.into()))?;
        for (name, value) in self.headers {
            let name: HeaderName =
                name.parse().map_err(|error: axum::http::header::InvalidHeaderName| broken(error.into()))?;
            let value = HeaderValue::from_str(&value).map_err(|error| broken(error.into()))?;
            response.headers_mut().append(name, value);
        }
        response.headers_mut().insert(REPLAYED, IS_REPLAYED);
        Ok(response)
    }
}

/// The answer that was kept for this very request. Only if something is kept under its name is the body read here, and
/// forgotten as it comes.
pub(crate) async fn kept_answer<S: Service>(
    state: &S,
    name: [u8; 32],
    parts: &Parts,
    body: Option<&mut Body>,
    limits: &Limits,
) -> Result<Option<Response<Body>>, Error> {
    match state.recall(name, NOBODYS_FINGERPRINT).await {
        Err(Error::App(AppError::IdempotencyConflict)) => {}
        nothing => return nothing.map(|_| None),
    }
    let mut hash = begin_hash(parts);
    if let Some(body) = body {
        hash_rest(&mut hash, body, limits).await?;
    }
    // None is left if its time was over meanwhile. The body is gone by then, so it cannot be carried out now.
    let kept = state.recall(name, hash.finalize().into()).await?.ok_or(AppError::IdempotencyConflict)?;
    let kept: KeptAnswer = serde_json::from_str(&kept).map_err(|error| AppError::Internal(error.into()))?;
    kept.into_response().map(Some)
}

async fn hash_rest(hash: &mut Sha256, body: &mut Body, limits: &Limits) -> Result<(), Error> {
    let bytes_max = limits.import_bytes_max;
    let mut deadline = Deadline::new(limits.body_wait_seconds_max.saturating_mul(2), limits);
    let mut left = usize::try_from(bytes_max).unwrap_or(usize::MAX);
    while let Some(piece) = deadline.piece(body).await? {
        let data = piece.map_err(|error| Error::NotJson(format!("The file ended early: {error}")))?;
        left = left.checked_sub(data.len()).ok_or(Error::FileTooLarge { bytes_max })?;
        hash.update(&data);
    }
    Ok(())
}

/// Keeps an answer for who sends the same request again. What was done is done: a failure to keep it is only logged.
pub(crate) async fn keep_answer<S: Service>(
    state: &S,
    name: [u8; 32],
    fingerprint: [u8; 32],
    response: Response<Body>,
) -> Result<Response<Body>, Error> {
    let (head, body) = response.into_parts();
    let bytes = body.collect().await.map_err(|error| AppError::Internal(error.into()))?.to_bytes();
    let headers = head
        .headers
        .iter()
        .filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    let kept = KeptAnswer {
        status: head.status.as_u16(),
        headers: headers.collect(),
        body: String::from_utf8_lossy(&bytes).into_owned(),
    };
    let text = serde_json::to_string(&kept).map_err(|error| AppError::Internal(error.into()))?;
    if let Err(error) = state.remember(name, fingerprint, text).await {
        let (_, team, _) = Correspondent::current();
        let team = team.map(tracing::field::display);
        tracing::warn!(%error, team, "the answer to a request with an idempotency key was not kept");
    }
    Ok(Response::from_parts(head, paced::body(bytes)))
}

/// What is known of a body that somebody else reads.
#[derive(Debug, Clone)]
pub(crate) struct BodyHash(Arc<Mutex<(Sha256, bool)>>);

impl BodyHash {
    /// Over a body that is read by others, or that is of no account.
    pub(crate) fn over(parts: &Parts, body: Body, is_read: bool) -> (Self, Body) {
        // Nobody asks an empty body for its end.
        let is_whole = !is_read || body.is_end_stream();
        let hash = Self(Arc::new(Mutex::new((begin_hash(parts), is_whole))));
        let body = if is_read { Body::new(HashedBody { inner: body, hash: hash.clone() }) } else { body };
        (hash, body)
    }

    /// The fingerprint, if the body was read to its end.
    pub(crate) fn fingerprint(&self) -> Option<[u8; 32]> {
        let (hash, is_whole) = &*self.0.lock();
        is_whole.then(|| hash.clone().finalize().into())
    }
}

struct HashedBody {
    inner: Body,
    hash: BodyHash,
}

impl http_body::Body for HashedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = ready!(Pin::new(&mut self.inner).poll_frame(context));
        let is_end = self.inner.is_end_stream();
        let (hash, is_whole) = &mut *self.hash.0.lock();
        match &polled {
            Some(Ok(frame)) => {
                if let Some(data) = frame.data_ref() {
                    hash.update(data);
                }
                *is_whole = is_end;
            }
            Some(Err(_)) => *is_whole = false,
            None => *is_whole = true,
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
