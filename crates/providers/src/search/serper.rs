//! Serper: Google's results. A bad key is a 403, and an empty account a 400 with words.

use reqwest::Method;
use rowmill_model::Spent;
use serde_json::json;

use super::adapter::{Found, HITS_MAX, Hit, Query, SearchEngine, hits, is_success};
use crate::access::Access;
use crate::failure::{Failure, FailureKind, words};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Serper";

pub(super) struct Serper;

impl SearchEngine for Serper {
    fn request(&self, access: &Access, query: &Query) -> Result<Request, Failure> {
        let mut body = json!({"q": query.text, "num": HITS_MAX});
        if let (Some(country), Some(fields)) = (&query.country, body.as_object_mut()) {
            fields.insert("gl".to_owned(), country.as_str().into());
        }
        let request = Request::new(Method::POST, access.url("search"), access.network_policy);
        Ok(request.secret_header("x-api-key", "", access.require_key()?)?.json(&body))
    }

    fn read(&self, response: &Response) -> Result<Found, Failure> {
        let is_spent = || words(&response.body).is_some_and(|words| words.to_lowercase().contains("credits"));
        if response.status == 400 && is_spent() {
            return Err(response.failure_of(WHO, FailureKind::OutOfCredits));
        }
        if !is_success(response) {
            return Err(response.failure(WHO));
        }
        let body = response.json(WHO)?;
        let mut found = hits(body.get("organic"), ["title", "link", "snippet"]);
        // What Google answers itself stands first.
        let answers = [
            ("answerBox", ["title", "link", "snippet"]),
            ("knowledgeGraph", ["title", "website", "description"]),
        ];
        let own: Vec<Hit> = answers
            .iter()
            .filter_map(|(name, names)| Some((body.get(*name)?, *names)))
            .flat_map(|(answer, names)| hits(Some(&json!([answer])), names))
            .collect();
        found.splice(0..0, own);
        found.truncate(HITS_MAX);
        Ok(Found { hits: found, spent: Spent::NOTHING })
    }
}
