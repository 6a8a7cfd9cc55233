//! The web application's files: what a browser may keep, for how long, and what the page may do.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::{Method, Response, StatusCode};
use axum::routing::get;
use rowmill_web::File;
use sha2::{Digest as _, Sha256};

use crate::accept_encoding::takes;
use crate::api::unknown_path;
use crate::public_url::PublicUrl;
use crate::state::ApiState;

/// Where the page finds its way by itself. The rest of the addresses are the API's.
const PAGES: &[&str] = &[
    "/",
    "/signin",
    "/projects",
    "/projects/",
    "/projects/{*rest}",
    "/settings",
    "/settings/",
    "/settings/{*rest}",
];

/// Where only programs call: they are told in JSON that there is nothing, whatever they accept.
const PROGRAMS: &[&str] = &["v2", "v3", "v4", "webhooks", "hooks", "mcp", ".well-known"];

/// Nothing from elsewhere, nothing inline but styles, which the grid sets on its elements.
const POLICY: &str = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; \
     connect-src 'self'; object-src 'none'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'";

const KEPT_FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASKED_AGAIN: &str = "no-cache";

pub(crate) fn routes(state: ApiState) -> Router {
    let pages = PAGES.iter().fold(Router::new(), |router, path| router.route(path, get(page)));
    let files = rowmill_web::files().iter().filter(|file| file.path != rowmill_web::INDEX);
    files
        .fold(pages, |router, file| {
            router.route(
                &format!("/{}", file.path),
                get(move |headers: HeaderMap| async move { serve(file, &headers) }),
            )
        })
        .fallback(unknown)
        .with_state(state)
}

/// An address where nothing is. People are shown the page, which says so and knows the way back.
async fn unknown(State(state): State<ApiState>, mut request: Request) -> Response<Body> {
    if !is_persons(&request) {
        return unknown_path(request).await;
    }
    // Nobody keeps this answer.
    request.headers_mut().remove(header::IF_NONE_MATCH);
    let mut response = page(State(state), request).await;
    *response.status_mut() = StatusCode::NOT_FOUND;
    response
}

/// Whether a browser asks for a page to show.
fn is_persons(request: &Request) -> bool {
    let accepted =
        request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let takes_pages = accepted.split(',').any(|entry| entry.trim_start().starts_with("text/html"));
    let first = request.uri().path().split('/').nth(1).unwrap_or_default();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    reads && takes_pages && !PROGRAMS.contains(&first)
}

/// The page, with the path that everything lies below.
async fn page(State(state): State<ApiState>, request: Request) -> Response<Body> {
    let prefix = state.reached(request.headers()).prefix().to_owned();
    let html = based(rowmill_web::index(), &prefix);
    let hash =
        Sha256::digest(&html).iter().take(16).fold(String::new(), |hash, byte| format!("{hash}{byte:02x}"));
    let mut response = unless_known(request.headers(), &hash, || Body::from(html));
    let fixed = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CACHE_CONTROL, ASKED_AGAIN),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "DENY"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (header::VARY, PublicUrl::VARY),
    ];
    set(&mut response, fixed);
    response
}

/// A page whose relative addresses start from this path.
fn based(page: &str, prefix: &str) -> String {
    let base = format!("<base href=\"{prefix}/\" />");
    let written = page.find("<base ").and_then(|start| {
        let end = start + page.get(start..)?.find('>')? + 1;
        Some((page.get(..start)?, page.get(end..)?))
    });
    let head = || page.find("<head>").map(|at| page.split_at(at + "<head>".len()));
    match written.or_else(head) {
        Some((before, after)) => format!("{before}{base}{after}"),
        None => page.to_owned(),
    }
}

fn serve(file: &'static File, headers: &HeaderMap) -> Response<Body> {
    let (encoding, bytes) = encoded(file, headers);
    let mut response = unless_known(headers, file.hash, || Body::from(Bytes::from_static(bytes)));
    let kept = if file.is_immutable() { KEPT_FOR_EVER } else { ASKED_AGAIN };
    set(
        &mut response,
        [
            (header::CONTENT_TYPE, file.content_type()),
            (header::CACHE_CONTROL, kept),
            (header::VARY, "accept-encoding"),
            // An image that is opened by itself is a page, too.
            (header::CONTENT_SECURITY_POLICY, POLICY),
        ],
    );
    if let Some(encoding) = encoding.filter(|_| response.status() == StatusCode::OK) {
        set(&mut response, [(header::CONTENT_ENCODING, encoding)]);
    }
    response
}

/// The smallest version that the browser takes.
fn encoded(file: &'static File, headers: &HeaderMap) -> (Option<&'static str>, &'static [u8]) {
    match (file.brotli, file.gzip) {
        (Some(bytes), _) if takes(headers, "br") => (Some("br"), bytes),
        (_, Some(bytes)) if takes(headers, "gzip") => (Some("gzip"), bytes),
        _ => (None, file.bytes),
    }
}

/// Weak tags, because compression changes the bytes and not the meaning.
fn unless_known(headers: &HeaderMap, hash: &str, body: impl FnOnce() -> Body) -> Response<Body> {
    let tag = format!("W/\"{hash}\"");
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut response = if known.split(',').any(|known| known.trim() == tag) {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        Response::new(body())
    };
    response.headers_mut().extend(HeaderValue::from_str(&tag).ok().map(|value| (header::ETAG, value)));
    set(&mut response, [(header::REFERRER_POLICY, "same-origin")]);
    response
}

fn set<const N: usize>(response: &mut Response<Body>, fixed: [(HeaderName, &'static str); N]) {
    let headers = fixed.map(|(name, value)| (name, HeaderValue::from_static(value)));
    response.headers_mut().extend(headers);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_learns_where_it_lies() {
        let check = |page: &str, prefix: &str, expected: &str| assert_eq!(based(page, prefix), expected);
        check("<head><base href=\"/\" /><title>", "/mill", "<head><base href=\"/mill/\" /><title>");
        check("<head><base href='/'><title>", "", "<head><base href=\"/\" /><title>");
        check("<head>\n<title>", "/a/b", "<head><base href=\"/a/b/\" />\n<title>");
        check("no page", "/a", "no page");
    }

    #[test]
    fn the_smallest_version_that_is_taken() {
        static FILE: File =
            File { path: "assets/a.js", bytes: b"plain", gzip: Some(b"gzip"), brotli: Some(b"br"), hash: "" };
        let check = |accepted: &str, expected: Option<&str>| {
            let headers = HeaderMap::from_iter([(header::ACCEPT_ENCODING, accepted.parse().unwrap())]);
            assert_eq!(encoded(&FILE, &headers).0, expected, "{accepted}");
        };
        check("gzip, deflate, br, zstd", Some("br"));
        check("gzip;q=0.5", Some("gzip"));
        check("br;q=0, gzip", Some("gzip"));
        check("identity", None);
    }
}
