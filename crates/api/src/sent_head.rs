//! What is kept of the head of a delivery to an inbound webhook.

use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;

/// The headers of a request as text. What is no text is left out.
#[derive(Debug)]
pub(crate) struct SentHead {
    pub(crate) content_type: Option<String>,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
}

impl SentHead {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let text = |value: &axum::http::HeaderValue| value.to_str().ok().map(str::to_owned);
        let headers_of =
            headers.iter().filter_map(|(name, value)| Some((name.as_str().to_owned(), text(value)?)));
        Self { content_type: headers.get(CONTENT_TYPE).and_then(text), headers: headers_of.collect() }
    }
}
