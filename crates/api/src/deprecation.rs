//! Operations that clients should leave (RFC 9745).

use axum::http::Uri;
use axum::http::header::{HeaderMap, HeaderName, HeaderValue, LINK};

use crate::links::{Link, header_value};

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

/// What every answer of a deprecated operation tells.
#[derive(Debug)]
pub(crate) struct Deprecation {
    since: Option<HeaderValue>,
    links: Option<HeaderValue>,
}

impl Deprecation {
    /// Of an operation that was deprecated at this time, in Unix seconds, and is asked for at this address.
    pub(crate) fn new(at: i64, base_url: &str, uri: &Uri) -> Self {
        let docs = Link { rel: "deprecation", target: format!("{base_url}/docs#tag-rows-v2") };
        // `/v2/{teamSlug}/{projectId}/rest` is `/v4/projects/{projectId}/rest` today.
        let rest = uri.path().splitn(4, '/').nth(3);
        let successor = rest
            .map(|rest| Link { rel: "successor-version", target: format!("{base_url}/v4/projects/{rest}") });
        let links: Vec<Link> = [docs].into_iter().chain(successor).collect();
        Self { since: HeaderValue::from_str(&format!("@{at}")).ok(), links: header_value(&links) }
    }

    pub(crate) fn write_headers(self, headers: &mut HeaderMap) {
        headers.extend(self.since.map(|since| (DEPRECATION, since)));
        if let Some(links) = self.links {
            headers.append(LINK, links);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_successor_is_named() {
        let uri = Uri::from_static("/v2/default/proj_1/rows/row_2?strict=true");
        let mut headers = HeaderMap::new();
        Deprecation::new(5, "https://a.example/mill", &uri).write_headers(&mut headers);
        assert_eq!(headers["deprecation"], "@5");
        assert_eq!(
            headers[LINK],
            "<https://a.example/mill/docs#tag-rows-v2>; rel=\"deprecation\", \
             <https://a.example/mill/v4/projects/proj_1/rows/row_2>; rel=\"successor-version\""
        );
    }
}
