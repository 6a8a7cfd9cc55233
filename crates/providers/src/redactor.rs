//! The redactor: replaces secrets in answers and messages with stars.

use memchr::memmem;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderValue};
pub use rowmill_model::Secret;

const STARS: &str = "***";

/// In an answer, anything shorter is more likely a word of the answer than an echo of the secret.
const ANSWER_SECRET_BYTES_MIN: usize = 6;

/// Replaces secrets by stars in what others sent and in what is said of it, because servers echo what
/// they were sent: in error messages, in debugging answers, in redirects.
pub(crate) struct Redactor {
    /// Longest first, so that a secret within another leaves no rest.
    needles: Vec<String>,
}

impl Redactor {
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let mut needles: Vec<String> = secrets.iter().flat_map(|secret| spellings(secret.expose())).collect();
        needles.retain(|needle| !needle.is_empty());
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles }
    }

    pub(crate) fn text(&self, mut text: String) -> String {
        for needle in &self.needles {
            if text.contains(needle.as_str()) {
                text = text.replace(needle.as_str(), STARS);
            }
        }
        text
    }

    pub(crate) fn body(&self, mut body: Vec<u8>) -> Vec<u8> {
        for needle in self.needles.iter().filter(|needle| needle.len() >= ANSWER_SECRET_BYTES_MIN) {
            if memmem::find(&body, needle.as_bytes()).is_some() {
                body = replaced(&body, needle.as_bytes());
            }
        }
        body
    }

    pub(crate) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            let holds = |needle: &String| memmem::find(value.as_bytes(), needle.as_bytes()).is_some();
            if self.needles.iter().filter(|needle| needle.len() >= ANSWER_SECRET_BYTES_MIN).any(holds) {
                *value = HeaderValue::from_static(STARS);
            }
        }
    }
}

/// How a secret may come back: as it is, in a URL, in a form, in a JSON text.
fn spellings(secret: &str) -> Vec<String> {
    let encoded = utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string();
    let form: String = url::form_urlencoded::byte_serialize(secret.as_bytes()).collect();
    let json = serde_json::Value::from(secret).to_string();
    let json = json.trim_matches('"').to_owned();
    let slashed = json.replace('/', "\\/");
    vec![secret.to_owned(), secret.trim().to_owned(), encoded.to_lowercase(), encoded, form, json, slashed]
}

fn replaced(body: &[u8], needle: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(body.len());
    let mut rest = body;
    while let Some(place) = memmem::find(rest, needle) {
        let (before, after) = rest.split_at(place);
        out.extend_from_slice(before);
        out.extend_from_slice(STARS.as_bytes());
        rest = after.get(needle.len()..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_blackened_in_every_spelling() {
        let redactor = Redactor::new(&[Secret::new("a/b \"c\" d"), Secret::new("key"), Secret::new("")]);
        for (text, expected) in [
            ("x a/b \"c\" d y key", "x *** y ***"),
            (r#"{"echo":"a/b \"c\" d"}"#, r#"{"echo":"***"}"#),
            (r#"{"echo":"a\/b \"c\" d"}"#, r#"{"echo":"***"}"#),
            ("?q=a%2Fb%20%22c%22%20d", "?q=***"),
            ("?q=a%2fb%20%22c%22%20d", "?q=***"),
            ("q=a%2Fb+%22c%22+d", "q=***"),
            ("clean", "clean"),
        ] {
            assert_eq!(redactor.text(text.to_owned()), expected);
        }
    }

    #[test]
    fn a_short_secret_leaves_bodies_alone() {
        let redactor = Redactor::new(&[Secret::new("1"), Secret::new("canary-1")]);
        assert_eq!(redactor.body(b"[1,\"canary-1\",\"canary-1\"]".to_vec()), b"[1,\"***\",\"***\"]");
        assert_eq!(redactor.text("1".to_owned()), "***");
    }
}
