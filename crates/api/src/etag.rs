//! Entity tags, and what a request demands of them (RFC 9110, sections 8.8.3 and 13).
//!
//! There is one rule: a tag is a hash of what a read shows. So it is the same on every node and after a restart, and it
//! changes exactly when the answer would. Where a row is read by header the tag is the same as by id.

use std::fmt;
use std::io;

use axum::http::header::{ETAG, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use axum::http::{HeaderMap, Response, StatusCode};
use rowmill_app::{Error as AppError, Noun};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::error::Error;

/// The longest `If-Match` or `If-None-Match`.
pub(crate) const TAGS_CHARS_MAX: usize = 8_000;

/// Half of a SHA-256, which is enough to never meet by chance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct EntityTag([u8; 16]);

impl EntityTag {
    /// The tag of what is shown.
    pub(crate) fn of(shown: &impl Serialize) -> Result<Self, Error> {
        let mut hashing = Hashing(Sha256::new());
        serde_json::to_writer(&mut hashing, shown)
            .map_err(|error| Error::App(AppError::Internal(error.into())))?;
        Ok(hashing.finish())
    }

    /// The tag of what is shown as it is.
    pub(crate) fn of_bytes(shown: &[u8]) -> Self {
        Hashing(Sha256::new_with_prefix(shown)).finish()
    }

    pub(crate) fn header(self) -> (HeaderName, HeaderValue) {
        let value = HeaderValue::from_str(&self.to_string());
        (ETAG, value.unwrap_or_else(|_| HeaderValue::from_static("\"\"")))
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{:032x}\"", u128::from_be_bytes(self.0))
    }
}

struct Hashing(Sha256);

impl Hashing {
    fn finish(self) -> EntityTag {
        let mut half = [0; 16];
        half.iter_mut().zip(self.0.finalize()).for_each(|(byte, hashed)| *byte = hashed);
        EntityTag(half)
    }
}

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a request demands: `If-Match` and `If-None-Match`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Tags {
    /// `*`: anything that exists.
    Any,
    /// With their quotation marks. What is no tag is none of them, so it matches nothing.
    These(Vec<SentTag>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SentTag {
    is_weak: bool,
    text: String,
}

impl Preconditions {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        Self { if_match: tags(headers, &IF_MATCH), if_none_match: tags(headers, &IF_NONE_MATCH) }
    }

    /// Refuses lists of tags that are longer than the document allows.
    pub(crate) fn check_length(headers: &HeaderMap) -> Result<(), Error> {
        for name in [IF_MATCH, IF_NONE_MATCH] {
            let chars: usize = headers.get_all(&name).iter().map(HeaderValue::len).sum();
            if chars > TAGS_CHARS_MAX {
                let words = format!("must have at most {TAGS_CHARS_MAX} characters, not {chars}");
                return Err(Error::offence(name.as_str(), words));
            }
        }
        Ok(())
    }

    /// Refuses a write that demands a version where none is compared: it would write over what somebody else wrote.
    pub(crate) fn check_none_is_lost(&self) -> Result<(), Error> {
        if matches!(self.if_match, None | Some(Tags::Any)) {
            return Ok(());
        }
        let words = "is not compared by this operation, so nothing was written; write one row, column, view or project at a time, or leave the header out";
        Err(Error::offence(IF_MATCH.as_str(), words))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// Whether something that exists may be changed. It has the first tag; what it is a part of may have others, and a
    /// part is what it was if the whole is.
    pub(crate) fn check(
        &self,
        noun: Noun,
        current: impl FnOnce() -> Result<Vec<EntityTag>, Error>,
    ) -> rowmill_app::Result<()> {
        let Self { if_match, if_none_match } = self;
        let is_unconditional = matches!(if_match, None | Some(Tags::Any)) && if_none_match.is_none();
        if is_unconditional {
            return Ok(());
        }
        let current = current().map_err(|error| AppError::Internal(error.into()))?;
        let matches = if_match.as_ref().is_none_or(|sent| current.iter().any(|tag| sent.has_strong(*tag)));
        let differs = if_none_match.as_ref().is_none_or(|sent| !current.iter().any(|tag| sent.has(*tag)));
        if matches && differs { Ok(()) } else { Err(AppError::ChangedMeanwhile(noun)) }
    }

    /// The answer to a read: the whole, 304 if the reader has it already, or 412 if it must be another.
    pub(crate) fn answer<B: Default>(&self, mut response: Response<B>) -> Result<Response<B>, Error> {
        if self.is_empty() {
            return Ok(response);
        }
        let Some(current) = response.headers().get(ETAG).and_then(|tag| tag.to_str().ok()) else {
            return Ok(response);
        };
        if self.if_match.as_ref().is_some_and(|sent| !sent.has_text(current, false)) {
            return Err(Error::NotAsDemanded);
        }
        if self.if_none_match.as_ref().is_some_and(|sent| sent.has_text(current, true)) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            *response.body_mut() = B::default();
            response.headers_mut().remove(axum::http::header::CONTENT_TYPE);
        }
        Ok(response)
    }
}

impl Tags {
    /// By strong comparison: a weak tag matches nothing.
    fn has_strong(&self, tag: EntityTag) -> bool {
        self.has_text(&tag.to_string(), false)
    }

    /// By weak comparison.
    fn has(&self, tag: EntityTag) -> bool {
        self.has_text(&tag.to_string(), true)
    }

    fn has_text(&self, tag: &str, weak_counts: bool) -> bool {
        match self {
            Self::Any => true,
            Self::These(sent) => sent.iter().any(|sent| (weak_counts || !sent.is_weak) && sent.text == tag),
        }
    }
}

/// The tags of all headers of this name, which are one list. `None` if there is no such header.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Tags> {
    let mut values = headers.get_all(name).iter().peekable();
    values.peek()?;
    let mut sent = Vec::new();
    for value in values {
        let text = String::from_utf8_lossy(value.as_bytes());
        if text.trim() == "*" {
            return Some(Tags::Any);
        }
        read_list(&text, &mut sent);
    }
    Some(Tags::These(sent))
}

/// Tags may hold commas, so the list is read tag by tag. What is no tag ends it: nobody knows what was meant.
fn read_list(text: &str, sent: &mut Vec<SentTag>) {
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let (is_weak, quoted) = match rest.strip_prefix("W/") {
            Some(quoted) => (true, quoted),
            None => (false, rest),
        };
        let Some((opaque, behind)) = quoted.strip_prefix('"').and_then(|inner| inner.split_once('"')) else {
            return;
        };
        sent.push(SentTag { is_weak, text: format!("\"{opaque}\"") });
        rest = behind.trim_start_matches([' ', '\t']);
        if !rest.is_empty() && !rest.starts_with(',') {
            return;
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pairs: &[(&'static str, &str)]) -> Preconditions {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        Preconditions::of(&headers)
    }

    #[test]
    fn a_tag_is_of_what_is_shown() {
        let tag = |value: serde_json::Value| EntityTag::of(&value).unwrap().to_string();
        let one = tag(serde_json::json!({ "a": 1 }));
        assert_eq!(one, tag(serde_json::json!({ "a": 1 })));
        assert_ne!(one, tag(serde_json::json!({ "a": 2 })));
        assert_eq!(one.len(), 34);
        assert!(one.starts_with('"') && one.ends_with('"'), "{one}");
    }

    #[test]
    fn a_write_demands_a_tag() {
        let tags = [EntityTag([1; 16]), EntityTag([2; 16])];
        let [own, whole] = tags.map(|tag| tag.to_string());
        let check = |pairs: &[(&'static str, &str)], expected: bool| {
            let allowed = sent(pairs).check(Noun::Row, || Ok(tags.to_vec()));
            assert_eq!(allowed.is_ok(), expected, "{pairs:?}");
        };
        check(&[], true);
        check(&[("if-match", "*")], true);
        check(&[("if-match", &own)], true);
        check(&[("if-match", &whole)], true);
        check(&[("if-match", &format!("\"a,b\" ,, {own}, W/\"c\""))], true);
        check(&[("if-match", "\"a\""), ("if-match", &own)], true);
        check(&[("if-match", &format!("W/{own}"))], false);
        check(&[("if-match", "\"other\"")], false);
        check(&[("if-match", own.trim_matches('"'))], false);
        check(&[("if-match", &format!("nonsense, {own}"))], false);
        check(&[("if-match", "")], false);
        check(&[("if-none-match", "*")], false);
        check(&[("if-none-match", &format!("W/{own}"))], false);
        check(&[("if-none-match", "\"other\"")], true);
    }

    #[test]
    fn a_read_is_answered_in_short_if_nothing_changed() {
        let tag = EntityTag([1; 16]);
        let check = |pairs: &[(&'static str, &str)], expected: u16| {
            let mut response = Response::new("body");
            response.headers_mut().extend([tag.header()]);
            let answered = sent(pairs).answer(response);
            let status = answered.as_ref().map_or_else(Error::status, Response::status);
            assert_eq!(status.as_u16(), expected, "{pairs:?}");
            if let Ok(answered) = answered {
                assert_eq!(answered.body().is_empty(), expected == 304);
                assert_eq!(answered.headers()[ETAG], tag.to_string());
            }
        };
        let own = tag.to_string();
        check(&[], 200);
        check(&[("if-none-match", &own)], 304);
        check(&[("if-none-match", &format!("\"a\", W/{own}"))], 304);
        check(&[("if-none-match", "*")], 304);
        check(&[("if-none-match", "\"a\"")], 200);
        check(&[("if-none-match", "nonsense")], 200);
        check(&[("if-match", &own)], 200);
        check(&[("if-match", "\"a\"")], 412);
    }
}
