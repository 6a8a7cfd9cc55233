//! Brave Search. A bad key is a 422 with a code, an empty account a 429 with another.

use reqwest::Method;
use rowmill_model::Spent;

use super::adapter::{Found, Query, SearchEngine, hits, is_success};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Brave Search";

pub(super) struct Brave;

impl SearchEngine for Brave {
    fn request(&self, access: &Access, query: &Query) -> Result<Request, Failure> {
        let request = Request::new(Method::GET, access.url("res/v1/web/search"), access.network_policy)
            .header("accept", "application/json")?
            .secret_header("x-subscription-token", "", access.require_key()?)?
            .query(&[("q", query.text.as_str()), ("count", "10"), ("text_decorations", "false")]);
        let country = query.country.as_deref().map(|country| ("country", country));
        Ok(request.query(country.as_slice()))
    }

    fn read(&self, response: &Response) -> Result<Found, Failure> {
        if !is_success(response) {
            return Err(failure(response));
        }
        let body = response.json(WHO)?;
        let hits = hits(body.pointer("/web/results"), ["title", "url", "description"]);
        Ok(Found { hits, spent: Spent::NOTHING })
    }
}

fn failure(response: &Response) -> Failure {
    let body = response.json_lenient();
    let code = ["/error/code", "/errors/0/code"].iter().find_map(|place| body.pointer(place)?.as_str());
    match code.unwrap_or_default() {
        "SUBSCRIPTION_TOKEN_INVALID" => response.failure_of(WHO, FailureKind::InvalidCredentials),
        "QUOTA_LIMITED" => response.failure_of(WHO, FailureKind::OutOfCredits),
        _ => {
            let mut failure = response.failure(WHO);
            if failure.is_transient && failure.retry_after.is_none() {
                failure.retry_after = reset(response);
            }
            failure
        }
    }
}

/// When the limit of a second is over. The header has two numbers: for the second, and for the month.
fn reset(response: &Response) -> Option<std::time::Duration> {
    let first = response.header("x-ratelimit-reset")?.split(',').next()?.trim();
    crate::failure::wait(first, jiff::Timestamp::UNIX_EPOCH)
}
