//! `SearXNG`: a server of one's own. Its JSON must be switched on, and engines that it asks may be away.

use reqwest::Method;
use rowmill_model::Spent;
use serde_json::Value;

use super::adapter::{Found, Query, SearchEngine, hits, is_success};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "SearXNG";

pub(super) struct Searxng;

impl SearchEngine for Searxng {
    fn request(&self, access: &Access, query: &Query) -> Result<Request, Failure> {
        let request = Request::new(Method::GET, access.url("search"), access.network_policy);
        // It knows languages and no countries, so the country is left to the query.
        Ok(request
            .header("accept", "application/json")?
            .query(&[("q", query.text.as_str()), ("format", "json")]))
    }

    fn read(&self, response: &Response) -> Result<Found, Failure> {
        if response.status == 403 {
            let words =
                "SearXNG refuses to answer with JSON. Add `json` to `search.formats` in its settings.yml.";
            return Err(Failure::new(FailureKind::ProviderError, words));
        }
        if !is_success(response) {
            return Err(response.failure(WHO));
        }
        let body = response.json(WHO)?;
        let hits = hits(body.get("results"), ["title", "url", "content"]);
        let away = body.get("unresponsive_engines").and_then(Value::as_array).map_or(0, Vec::len);
        if hits.is_empty() && away > 0 {
            let words = format!("{WHO} found nothing, and {away} of its engines did not respond.");
            return Err(Failure::transient(words));
        }
        Ok(Found { hits, spent: Spent::NOTHING })
    }
}
