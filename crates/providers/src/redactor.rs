//! The redactor: replaces secrets in answers and messages with stars.

use memchr::memmem;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{HeaderMap, HeaderValue};
pub use rowmill_model::Secret;

const STARS: &str = "***";

/// In an answer, anything shorter is more likely a word of the answer than an echo of the secret.
const ANSWER_SECRET_BYTES_MIN: usize = 6;
/// A secret with fewer characters may be a part of ordinary words: it is replaced only where it is a whole value.
const PART_CHARS_MIN: usize = 8;

/// Replaces secrets by stars in what others sent and in what is said of it, because servers echo what
/// they were sent: in error messages, in debugging answers, in redirects.
pub(crate) struct Redactor {
    /// Longest first, so that a secret within another leaves no rest.
    needles: Vec<Needle>,
}

/// One spelling of a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Needle {
    text: String,
    /// Whether it is replaced only where it is a whole value.
    is_whole: bool,
}

impl Redactor {
    pub(crate) fn new(secrets: &[Secret]) -> Self {
        let of_secret = |secret: &Secret| {
            let is_whole = secret.expose().trim().chars().count() < PART_CHARS_MIN;
            spellings(secret.expose()).into_iter().map(move |text| Needle { text, is_whole })
        };
        let mut needles: Vec<Needle> = secrets.iter().flat_map(of_secret).collect();
        needles.retain(|needle| !needle.text.is_empty());
        needles.sort_by(|a, b| b.text.len().cmp(&a.text.len()).then_with(|| a.text.cmp(&b.text)));
        needles.dedup();
        Self { needles }
    }

    pub(crate) fn text(&self, text: String) -> String {
        let bytes = self.needles.iter().fold(text.into_bytes(), |bytes, needle| needle.replaced(bytes));
        // Needles are text, and end where characters end.
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    pub(crate) fn body(&self, body: Vec<u8>) -> Vec<u8> {
        self.for_answers().fold(body, |body, needle| needle.replaced(body))
    }

    pub(crate) fn headers(&self, headers: &mut HeaderMap) {
        for value in headers.values_mut() {
            if self.for_answers().any(|needle| needle.find(value.as_bytes(), 0).is_some()) {
                *value = HeaderValue::from_static(STARS);
            }
        }
    }

    fn for_answers(&self) -> impl Iterator<Item = &Needle> {
        self.needles.iter().filter(|needle| needle.text.len() >= ANSWER_SECRET_BYTES_MIN)
    }
}

impl Needle {
    fn replaced(&self, text: Vec<u8>) -> Vec<u8> {
        let Some(first) = self.find(&text, 0) else { return text };
        let mut out = Vec::with_capacity(text.len());
        let (mut done, mut found) = (0, Some(first));
        while let Some(place) = found {
            out.extend_from_slice(text.get(done..place).unwrap_or_default());
            out.extend_from_slice(STARS.as_bytes());
            done = place + self.text.len();
            found = self.find(&text, done);
        }
        out.extend_from_slice(text.get(done..).unwrap_or_default());
        out
    }

    /// The next place at or after `start` where it is to be replaced.
    fn find(&self, text: &[u8], start: usize) -> Option<usize> {
        let places = memmem::find_iter(text.get(start..)?, self.text.as_bytes());
        places
            .map(|place| start + place)
            .find(|place| !self.is_whole || is_value(text, *place, self.text.len()))
    }
}

/// Whether what stands here is a whole value: all of the text, in quotes, or after `=`, as in a URL or a form.
fn is_value(text: &[u8], place: usize, len: usize) -> bool {
    let before = place.checked_sub(1).and_then(|before| text.get(before)).copied();
    let after = text.get(place + len).copied();
    match before {
        None => after.is_none(),
        Some(quote @ (b'"' | b'\'' | b'`')) => after == Some(quote) || quote == b'"' && after == Some(b'\\'),
        Some(b'=') => after.is_none_or(|after| !after.is_ascii_alphanumeric() && !b"-_%".contains(&after)),
        Some(_) => false,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_blackened_in_every_spelling() {
        let redactor = Redactor::new(&[Secret::new("a/b \"c\" d"), Secret::new("long-key"), Secret::new("")]);
        for (text, expected) in [
            ("x a/b \"c\" d y long-key", "x *** y ***"),
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

    #[test]
    fn a_short_secret_is_replaced_only_as_a_whole_value() {
        let redactor = Redactor::new(&[Secret::new("k"), Secret::new("network")]);
        for (text, expected) in [
            ("network error: kept talking to k", "network error: kept talking to k"),
            ("k", "***"),
            ("network", "***"),
            ("{\"key\":\"k\",\"kind\":\"ok\"}", "{\"key\":\"***\",\"kind\":\"ok\"}"),
            ("GET /?key=k&kk=kk failed", "GET /?key=***&kk=kk failed"),
            ("key 'network' is wrong", "key '***' is wrong"),
            ("key=network-2", "key=network-2"),
            ("key=network.", "key=***."),
            ("key=network", "key=***"),
        ] {
            assert_eq!(redactor.text(text.to_owned()), expected);
        }
        assert_eq!(redactor.body(br#"["network","a network","k"]"#.to_vec()), br#"["***","a network","k"]"#);
    }
}
