//! Documents that do not change while the server runs.
//!
//! Each is made when somebody first asks for it, and kept with its compressed forms: compressing one for every request
//! would take milliseconds that others wait for. Both is done on threads apart.

use std::fmt::Display;
use std::io::Write as _;
use std::sync::Arc;

use axum::body::Body;
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Response, StatusCode};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use rowmill_fairness::{Tenant, compute};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use crate::accept_encoding::takes;
use crate::docs;
use crate::error::Error;
use crate::paced;

/// The level of tar, package registries and most servers.
const ZSTD_LEVEL: i32 = 3;

/// Work that keeps a processor busy, for anybody who asks. All of them together are one tenant.
pub(crate) async fn compute_for_anyone<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let done = Tenant::ANONYMOUS.scope(compute(work)).await;
    done.map_err(|error| rowmill_app::Error::Internal(error.into()).into())
}

/// Something that is made once, when it is first needed.
pub(crate) struct MadeOnce<T> {
    made: OnceCell<Arc<T>>,
    make: Arc<dyn Fn() -> T + Send + Sync>,
}

impl<T: Send + Sync + 'static> MadeOnce<T> {
    pub(crate) fn new(make: impl Fn() -> T + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { made: OnceCell::new(), make: Arc::new(make) })
    }

    pub(crate) async fn get(&self) -> Result<Arc<T>, Error> {
        let make = Arc::clone(&self.make);
        let once = self.made.get_or_try_init(|| compute_for_anyone(move || Arc::new(make())));
        once.await.map(Arc::clone)
    }
}

/// A document as it is sent: once, and then only confirmed.
pub(crate) struct Fixed {
    content_type: &'static str,
    bytes: Bytes,
    gzip: Option<Bytes>,
    zstd: Option<Bytes>,
    etag: String,
    content_security_policy: Option<HeaderValue>,
}

impl From<docs::File> for Fixed {
    fn from(file: docs::File) -> Self {
        let policy = file.content_security_policy.and_then(|policy| HeaderValue::from_str(&policy).ok());
        Self::new(file.content_type, file.text.into(), policy)
    }
}

impl Fixed {
    fn new(content_type: &'static str, bytes: Bytes, content_security_policy: Option<HeaderValue>) -> Self {
        let tag = BASE64_STANDARD.encode(Sha256::digest(&bytes));
        // Weak, because compression changes the bytes and not the meaning.
        let etag = format!("W/\"{tag}\"");
        Self { content_type, bytes, gzip: None, zstd: None, etag, content_security_policy }
    }

    pub(crate) fn json(text: Bytes) -> Self {
        Self::new("application/json", text, None)
    }

    /// With its compressed forms, for what is kept.
    pub(crate) fn compressed(mut self) -> Self {
        self.gzip = kept(gzip(&self.bytes), "gzip");
        self.zstd = kept(zstd::encode_all(self.bytes.as_ref(), ZSTD_LEVEL), "zstd");
        self
    }

    pub(crate) fn answer(&self, headers: &HeaderMap) -> Response<Body> {
        let known =
            headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let is_known = known.split(',').any(|tag| tag.trim() == self.etag);
        let (coding, bytes) = self.form(headers);
        let mut response = Response::new(if is_known { Body::empty() } else { paced::body(bytes.clone()) });
        let to = response.headers_mut();
        if !is_known {
            to.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.content_type));
            to.extend(coding.map(|coding| (header::CONTENT_ENCODING, HeaderValue::from_static(coding))));
        }
        let fixed = [
            (header::CACHE_CONTROL, "no-cache"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::VARY, "accept-encoding"),
        ];
        to.extend(fixed.map(|(name, value): (HeaderName, _)| (name, HeaderValue::from_static(value))));
        to.extend(HeaderValue::from_str(&self.etag).ok().map(|value| (header::ETAG, value)));
        to.extend(self.content_security_policy.clone().map(|value| (header::CONTENT_SECURITY_POLICY, value)));
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        response
    }

    /// The form that is sent, and how it is compressed.
    fn form(&self, headers: &HeaderMap) -> (Option<&'static str>, &Bytes) {
        match (&self.zstd, &self.gzip) {
            (Some(bytes), _) if takes(headers, "zstd") => (Some("zstd"), bytes),
            (_, Some(bytes)) if takes(headers, "gzip") => (Some("gzip"), bytes),
            _ => (None, &self.bytes),
        }
    }
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Memory is all that can fail, and then the document is sent as it is.
fn kept<E: Display>(compressed: Result<Vec<u8>, E>, coding: &str) -> Option<Bytes> {
    compressed
        .map(Bytes::from)
        .inspect_err(|error| tracing::warn!(%error, "a document was not compressed ({coding})"))
        .ok()
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn the_form_that_is_taken_is_sent() {
        let text = Bytes::from("word ".repeat(1_000));
        let fixed = Fixed::json(text.clone()).compressed();
        for (accepted, coding) in [
            ("", None),
            ("gzip, deflate, br, zstd", Some("zstd")),
            ("gzip;q=0.5", Some("gzip")),
            ("zstd;q=0, gzip", Some("gzip")),
            ("br", None),
        ] {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted.parse().unwrap())]);
            let response = fixed.answer(&headers);
            let sent = response.headers().get(header::CONTENT_ENCODING).cloned();
            assert_eq!(sent.as_ref().map(|value| value.to_str().unwrap()), coding, "{accepted}");
            let body = response.into_body().collect().await.unwrap().to_bytes();
            let read = match coding {
                Some("zstd") => zstd::decode_all(body.as_ref()).unwrap(),
                Some(_) => {
                    let mut read = Vec::new();
                    let mut decoder = flate2::read::GzDecoder::new(body.as_ref());
                    std::io::Read::read_to_end(&mut decoder, &mut read).unwrap();
                    read
                }
                None => body.to_vec(),
            };
            assert_eq!(read, text, "{accepted}");
        }
    }

    #[tokio::test]
    async fn what_is_known_is_confirmed() {
        let fixed = Fixed::json("{}".into());
        let headers = HeaderMap::from_iter([(header::IF_NONE_MATCH, fixed.etag.parse().unwrap())]);
        let response = fixed.answer(&headers);
        assert_eq!(response.status(), StatusCode::NOT_MODIFIED);
        assert!(response.into_body().collect().await.unwrap().to_bytes().is_empty());
    }

    #[tokio::test]
    async fn many_who_ask_at_once_have_it_made_once() {
        let made = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let count = Arc::clone(&made);
        let document = MadeOnce::new(move || count.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        let all = (0..50).map(|_| {
            let document = Arc::clone(&document);
            tokio::spawn(async move { *document.get().await.unwrap() })
        });
        for one in all.collect::<Vec<_>>() {
            assert_eq!(one.await.unwrap(), 0);
        }
        assert_eq!(made.load(std::sync::atomic::Ordering::SeqCst), 1);
    }
}
