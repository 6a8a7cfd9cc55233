//! Prospeo. No match, no credits and a bad key may all be 400: its own `error_code` decides.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::{Failure, FailureKind, wait};
use crate::session::{Session, address, text};
use crate::ssrf_guard::Response;

const WHO: &str = "Prospeo";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn find(session: &Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let mut data = person.name_map("full_name");
    data.insert("company_website".to_owned(), json!(person.domain()));
    let request = session
        .post("enrich-person")
        .secret_header("x-key", "", session.key)?
        .json(&json!({"only_verified_email": false, "enrich_mobile": false, "data": data}));
    let response = session.send(request.deadline(DEADLINE)).await?;
    let body = if response.is_success() { response.json(WHO)? } else { response.json_lenient() };
    let failed = body.get("error").and_then(Value::as_bool).unwrap_or(false) || !response.is_success();
    if failed { refused(&response, text(&body, "/error_code")) } else { Ok(found(&body)) }
}

fn found(body: &Value) -> Finding {
    // An address that is not revealed is masked.
    let is_revealed = body.pointer("/person/email/revealed") != Some(&Value::Bool(false));
    let email = address(body.pointer("/person/email/email")).filter(|_| is_revealed);
    hit_or_miss(email, text(body, "/person/email/status") == "VERIFIED")
}

fn refused(response: &Response, code: &str) -> Result<Finding, Failure> {
    let of = |kind| Err(response.failure_of(WHO, kind));
    match code {
        "NO_MATCH" => Ok(Finding::Miss),
        "INSUFFICIENT_CREDITS" => of(FailureKind::OutOfCredits),
        "RATE_LIMITED" | "RATE_LIMIT_EXCEEDED" => Err(limited(response)),
        "INTERNAL_ERROR" => Err(response.failure_of(WHO, FailureKind::ProviderError).with_transient(true)),
        "INVALID_API_KEY" | "ACCOUNT_RESTRICTED" => of(FailureKind::InvalidCredentials),
        "INVALID_DATAPOINTS" | "INVALID_REQUEST" => of(FailureKind::InvalidInput),
        _ if response.status == 429 => Err(limited(response)),
        _ if response.is_success() => of(FailureKind::ProviderError),
        _ => Err(response.finder_failure(WHO)),
    }
}

fn limited(response: &Response) -> Failure {
    let mut failure = response.failure_of(WHO, FailureKind::RateLimited);
    let reset = response.header("x-minute-reset-seconds");
    let reset = reset.and_then(|text| wait(text, jiff::Timestamp::UNIX_EPOCH));
    failure.retry_after = failure.retry_after.or(reset);
    failure
}
