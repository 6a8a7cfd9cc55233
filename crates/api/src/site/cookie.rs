//! The cookie that keeps a person signed in, and whether it counts.

use axum::http::HeaderMap;
use axum::http::header::{COOKIE, HeaderValue, ORIGIN};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rowmill_app::SESSION_DAYS;

use crate::public_url::PublicUrl;

const NAME: &str = "rowmill_session";
/// Longer than any that was made here.
const CHARS_MAX: usize = 512;

/// The session a browser sent, still sealed.
pub(crate) fn sent(headers: &HeaderMap) -> Option<Vec<u8>> {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|cookies| cookies.split(';')).filter_map(|pair| pair.split_once('='));
    let (_, text) = pairs.find(|(name, _)| name.trim() == NAME)?;
    BASE64_URL_SAFE_NO_PAD.decode(text.trim()).ok().filter(|_| text.len() <= CHARS_MAX)
}

/// Keeps a session in the browser.
pub(crate) fn keep(session: &[u8], reached: &PublicUrl) -> Option<HeaderValue> {
    let seconds = u64::from(SESSION_DAYS) * 24 * 60 * 60;
    written(&BASE64_URL_SAFE_NO_PAD.encode(session), seconds, reached)
}

/// Removes it from there.
pub(crate) fn remove(reached: &PublicUrl) -> Option<HeaderValue> {
    written("", 0, reached)
}

fn written(text: &str, seconds: u64, reached: &PublicUrl) -> Option<HeaderValue> {
    let path = if reached.prefix().is_empty() { "/" } else { reached.prefix() };
    let secure = if reached.is_https() { "; Secure" } else { "" };
    let cookie = format!("{NAME}={text}; Path={path}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}");
    let mut value = HeaderValue::from_str(&cookie).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// Whether our own page sent a request. Browsers say so themselves; those that do not name the origin.
pub(crate) fn is_same_origin(headers: &HeaderMap, reached: &PublicUrl) -> bool {
    told_origin(headers, reached).unwrap_or(false)
}

/// Whether another page than ours sent it, as far as that can be told.
pub(crate) fn is_foreign(headers: &HeaderMap, reached: &PublicUrl) -> bool {
    told_origin(headers, reached) == Some(false)
}

fn told_origin(headers: &HeaderMap, reached: &PublicUrl) -> Option<bool> {
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    if let Some(site) = headers.get("sec-fetch-site").map(text) {
        return Some(site == "same-origin");
    }
    headers.get(ORIGIN).map(text).map(|origin| {
        // A page may be reached by the address that is set or, past the proxy, by the server's own.
        reached.is_origin(&origin) || PublicUrl::reached(None, headers).is_origin(&origin)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_our_own_page_counts() {
        let check = |pairs: &[(&'static str, &str)], own: bool, foreign: bool| {
            let mut sent = headers(pairs);
            sent.insert("host", "a.example:8080".parse().unwrap());
            let reached = PublicUrl::reached(None, &sent);
            assert_eq!(
                (is_same_origin(&sent, &reached), is_foreign(&sent, &reached)),
                (own, foreign),
                "{pairs:?}"
            );
        };
        check(&[], false, false);
        check(&[("sec-fetch-site", "same-origin")], true, false);
        for foreign in ["same-site", "cross-site", "none", ""] {
            let origin = ("origin", "http://a.example:8080");
            check(&[("sec-fetch-site", foreign), origin], false, true);
        }
        check(&[("origin", "http://a.example:8080")], true, false);
        check(&[("origin", "http://a.example")], false, true);
        check(&[("origin", "null")], false, true);
    }

    #[test]
    fn a_cookie_comes_back_as_it_was_kept() {
        let reached = PublicUrl::parse("https://a.example/mill").unwrap();
        let kept = keep(b"sealed", &reached).unwrap();
        let kept = kept.to_str().unwrap();
        assert!(kept.ends_with("; Path=/mill; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure"), "{kept}");
        let (pair, _) = kept.split_once(';').unwrap();
        let back = headers(&[("cookie", &format!("other=1; {pair}; more=2"))]);
        assert_eq!(sent(&back).as_deref(), Some(b"sealed".as_slice()));
        assert_eq!(sent(&headers(&[("cookie", "rowmill_session=%%")])), None);
        assert_eq!(sent(&headers(&[])), None);
    }
}
