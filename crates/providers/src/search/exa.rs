//! Exa. It says what a search costs, and names an empty account with a tag.

use reqwest::Method;
use rowmill_model::{Amount, Spent};
use serde_json::{Value, json};

use super::adapter::{Found, HITS_MAX, Query, SNIPPET_CHARS_MAX, SearchEngine, hits, is_success};
use crate::access::Access;
use crate::failure::{Failure, FailureKind};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Exa";

pub(super) struct Exa;

impl SearchEngine for Exa {
    fn request(&self, access: &Access, query: &Query) -> Result<Request, Failure> {
        let contents = json!({"text": {"maxCharacters": SNIPPET_CHARS_MAX}});
        let mut body =
            json!({"query": query.text, "type": "auto", "numResults": HITS_MAX, "contents": contents});
        if let (Some(country), Some(fields)) = (&query.country, body.as_object_mut()) {
            fields.insert("userLocation".to_owned(), country.to_ascii_uppercase().into());
        }
        let request = Request::new(Method::POST, access.url("search"), access.network_policy);
        Ok(request.secret_header("x-api-key", "", access.require_key()?)?.json(&body))
    }

    fn read(&self, response: &Response) -> Result<Found, Failure> {
        if !is_success(response) {
            let body = response.json_lenient();
            let tag = body.get("tag").and_then(Value::as_str).unwrap_or_default();
            let is_spent = tag == "NO_MORE_CREDITS" || tag.ends_with("_BUDGET_EXCEEDED");
            return Err(if is_spent {
                response.failure_of(WHO, FailureKind::OutOfCredits)
            } else {
                response.failure(WHO)
            });
        }
        let body = response.json(WHO)?;
        let cost = body.pointer("/costDollars/total").and_then(Amount::read);
        Ok(Found { hits: hits(body.get("results"), ["title", "url", "text"]), spent: Spent::cost(cost) })
    }
}
