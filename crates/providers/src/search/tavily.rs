//! Tavily. An empty account or a spent limit is a 432 or 433.

use reqwest::Method;
use rowmill_model::{Amount, Spent};
use serde_json::json;

use super::adapter::{Found, HITS_MAX, Query, SearchEngine, hits, is_success};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Tavily";

pub(super) struct Tavily;

impl SearchEngine for Tavily {
    fn request(&self, access: &Access, query: &Query) -> Result<Request, Failure> {
        // Its countries have names and no codes, so the country is left to the query.
        let body = json!({"query": query.text, "search_depth": "basic", "max_results": HITS_MAX});
        let request = Request::new(Method::POST, access.url("search"), access.network_policy);
        Ok(request.secret_header("authorization", "Bearer ", access.require_key()?)?.json(&body))
    }

    fn read(&self, response: &Response) -> Result<Found, Failure> {
        if matches!(response.status, 432 | 433) {
            return Err(response.failure_of(WHO, FailureKind::OutOfCredits));
        }
        if !is_success(response) {
            return Err(response.failure(WHO));
        }
        let body = response.json(WHO)?;
        let credits = body.pointer("/usage/credits").and_then(Amount::read);
        Ok(Found {
            hits: hits(body.get("results"), ["title", "url", "content"]),
            spent: Spent::credits(credits),
        })
    }
}
