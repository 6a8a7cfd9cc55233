//! What a page in the browser may ask for: what its text needs, and nothing else.

use reqwest::Method;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::Url;

use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{NetworkPolicy, REDIRECTS_MAX, Request, Response};

/// How often scripts may lead the page elsewhere.
const NAVIGATIONS_MAX: usize = 3;
const HEADERS_MAX: usize = 50;
/// What a page may send with one request.
const SENT_BYTES_MAX: usize = 64 * 1024;
/// Headers that the client sets itself, and those that speak of a person.
const LEFT_OUT: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "cookie",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];

/// A request of the page that waits for an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Paused {
    pub(super) request_id: String,
    frame_id: String,
    resource_type: String,
    request: Asked,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    url: String,
    method: String,
    #[serde(default)]
    headers: Map<String, Value>,
    post_data: Option<String>,
}

/// What is done with a request.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is the page itself, which is here already.
    Page,
    Fetch(Box<Request>),
    Refuse,
}

/// Judges the requests of one page.
#[derive(Debug)]
pub(super) struct RequestPolicy {
    main_frame: String,
    /// Images and fonts are for pictures only.
    with_pictures: bool,
    navigations: usize,
    requests_left: usize,
    response_bytes: usize,
}

impl RequestPolicy {
    pub(super) fn new(
        main_frame: String,
        with_pictures: bool,
        requests_max: usize,
        response_bytes: usize,
    ) -> Self {
        Self { main_frame, with_pictures, navigations: 0, requests_left: requests_max, response_bytes }
    }

    pub(super) fn main_frame(&self) -> &str {
        &self.main_frame
    }

    /// Whether a request asks for a page in place of the one that is shown.
    pub(super) fn is_page(&self, paused: &Paused) -> bool {
        paused.resource_type == "Document" && paused.frame_id == self.main_frame
    }

    pub(super) fn judge(&mut self, paused: &Paused) -> Verdict {
        let is_page = self.is_page(paused);
        if is_page {
            self.navigations += 1;
            if self.navigations == 1 {
                return Verdict::Page;
            }
        }
        let is_wanted = match paused.resource_type.as_str() {
            "Document" => is_page && self.navigations <= NAVIGATIONS_MAX,
            "Script" | "Stylesheet" | "XHR" | "Fetch" => true,
            "Image" | "Font" => self.with_pictures,
            _ => false,
        };
        if !is_wanted || self.requests_left == 0 {
            return Verdict::Refuse;
        }
        self.requests_left -= 1;
        paused
            .request
            .to_send(self.response_bytes)
            .map_or(Verdict::Refuse, |request| Verdict::Fetch(Box::new(request)))
    }
}

impl Asked {
    fn to_send(&self, response_bytes: usize) -> Result<Request, Failure> {
        let refused = || Failure::new(FailureKind::Blocked, "The browser may not send this request.");
        let url = Url::parse(&self.url).map_err(|_| refused())?;
        // Data and blobs need no network, and are not intercepted.
        let method = match self.method.as_str() {
            "GET" => Method::GET,
            "POST" => Method::POST,
            "HEAD" => Method::HEAD,
            "OPTIONS" => Method::OPTIONS,
            _ => return Err(refused()),
        };
        let mut request = Request::new(method, url, NetworkPolicy::Guarded)
            .redirects(REDIRECTS_MAX)
            .bytes_max(response_bytes);
        let headers = self.headers.iter().filter(|(name, _)| is_sent(name)).take(HEADERS_MAX);
        for (name, value) in headers {
            request = request.header(name, value.as_str().unwrap_or_default())?;
        }
        Ok(match &self.post_data {
            Some(body) if body.len() > SENT_BYTES_MAX => return Err(refused()),
            Some(body) => request.body("application/octet-stream", body.clone()),
            None => request,
        })
    }
}

fn is_sent(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    !LEFT_OUT.contains(&name.as_str()) && !name.starts_with("sec-") && !name.starts_with("proxy-")
}

/// The headers of an answer that the browser needs to use it.
pub(super) fn headers_for_browser(response: &Response) -> Vec<Value> {
    let is_needed = |name: &str| name == "content-type" || name.starts_with("access-control-");
    let headers = response.headers.iter().filter(|(name, _)| is_needed(name.as_str()));
    headers
        .filter_map(|(name, value)| Some(json!({"name": name.as_str(), "value": value.to_str().ok()?})))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paused(resource_type: &str, frame: &str, method: &str, url: &str) -> Paused {
        serde_json::from_value(json!({
            "requestId": "1", "frameId": frame, "resourceType": resource_type,
            "request": {"url": url, "method": method, "headers": {"Accept": "*/*", "Cookie": "a=b", "Sec-Fetch-Mode": "cors"}},
        }))
        .unwrap()
    }

    fn word(verdict: &Verdict) -> &'static str {
        match verdict {
            Verdict::Page => "page",
            Verdict::Fetch(_) => "fetch",
            Verdict::Refuse => "refuse",
        }
    }

    #[test]
    fn a_page_gets_what_its_text_needs() {
        let url = "https://example.com/";
        let mut policy = RequestPolicy::new("main".to_owned(), false, 100, 1_000);
        for (resource_type, frame, method, expected) in [
            ("Document", "other", "GET", "refuse"),
            ("Document", "main", "GET", "page"),
            ("Script", "main", "GET", "fetch"),
            ("Stylesheet", "main", "GET", "fetch"),
            ("XHR", "main", "POST", "fetch"),
            ("Fetch", "main", "OPTIONS", "fetch"),
            ("XHR", "main", "DELETE", "refuse"),
            ("Image", "main", "GET", "refuse"),
            ("Font", "main", "GET", "refuse"),
            ("Media", "main", "GET", "refuse"),
            ("Ping", "main", "POST", "refuse"),
            ("WebSocket", "main", "GET", "refuse"),
            ("EventSource", "main", "GET", "refuse"),
            ("Document", "main", "GET", "fetch"),
            ("Document", "main", "GET", "fetch"),
            ("Document", "main", "GET", "refuse"),
        ] {
            let verdict = policy.judge(&paused(resource_type, frame, method, url));
            assert_eq!(word(&verdict), expected, "{resource_type} {method}");
        }
        let mut policy = RequestPolicy::new("main".to_owned(), true, 1, 1_000);
        assert_eq!(word(&policy.judge(&paused("Image", "main", "GET", url))), "fetch");
        assert_eq!(word(&policy.judge(&paused("Image", "main", "GET", url))), "refuse");
    }

    #[test]
    fn nothing_personal_is_sent() {
        for name in ["Cookie", "Host", "User-Agent", "sec-ch-ua", "Proxy-Authorization"] {
            assert!(!is_sent(name), "{name}");
        }
        assert!(is_sent("Accept") && is_sent("X-Api-Key") && is_sent("Content-Type"));
    }
}
