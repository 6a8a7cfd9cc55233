//! Icypeas: a search is begun and its item read until its status is an end. The key goes bare.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{Finding, Hit};
use super::person::Person;
use crate::failure::{Failure, FailureKind};
use crate::session::{Progress, Session, address, id, no_id, text};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Icypeas";
const DELAY: Duration = Duration::from_secs(2);

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let search =
        json!({"firstname": person.first(), "lastname": person.last(), "domainOrCompany": person.domain()});
    let request = with_key(session, session.post("api/email-search"))?.json(&search);
    let response = session.send(request).await?;
    let body = answer(&response)?;
    let item = body.get("item").unwrap_or(&Value::Null);
    if let Progress::Done(finding) = progress(&response, item)? {
        return Ok(finding);
    }
    let id = id(item, &["/_id"]).ok_or_else(|| no_id(WHO))?;
    let request = |session: &Session<'_>| {
        let request = with_key(session, session.post("api/bulk-single-searchs/read"))?;
        Ok(request.json(&json!({"id": id})))
    };
    session.poll(DELAY, request, read).await
}

fn with_key(session: &Session<'_>, request: Request) -> Result<Request, Failure> {
    request.secret_header("authorization", "", session.key)
}

fn answer(response: &Response) -> Result<Value, Failure> {
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    // Bad input comes as 200.
    if body.get("validationErrors").is_some_and(|errors| !errors.is_null()) {
        return Err(response.failure_of(WHO, FailureKind::InvalidInput));
    }
    if body.get("success") == Some(&Value::Bool(false)) {
        return Err(response.failure_of(WHO, FailureKind::ProviderError));
    }
    Ok(body)
}

fn read(response: &Response) -> Result<Progress<Finding>, Failure> {
    let body = answer(response)?;
    progress(response, body.pointer("/items/0").unwrap_or(&Value::Null))
}

fn progress(response: &Response, item: &Value) -> Result<Progress<Finding>, Failure> {
    let of = |kind| Err(response.failure_of(WHO, kind));
    match text(item, "/status") {
        "FOUND" | "DEBITED" => Ok(Progress::Done(best(item))),
        "NOT_FOUND" | "DEBITED_NOT_FOUND" => Ok(Progress::Done(Finding::Miss)),
        "INSUFFICIENT_FUNDS" => of(FailureKind::OutOfCredits),
        "BAD_INPUT" => of(FailureKind::InvalidInput),
        "ABORTED" => of(FailureKind::ProviderError),
        // NONE, SCHEDULED, IN_PROGRESS, and whatever word comes next.
        _ => Ok(Progress::Pending(None)),
    }
}

fn best(item: &Value) -> Finding {
    let emails = item.pointer("/results/emails").and_then(Value::as_array);
    let hits = emails.into_iter().flatten().filter_map(|found| {
        // The percentages are Icypeas's own.
        let (verified, confidence) = match text(found, "/certainty") {
            "ultra_sure" | "very_sure" => (true, Some(99)),
            "sure" => (true, Some(97)),
            "probable" => (false, Some(95)),
            "undeliverable" | "not_found" => return None,
            _ => (false, None),
        };
        Some(Hit { email: address(found.get("email"))?, verified, confidence })
    });
    hits.max_by_key(|hit| hit.confidence).map_or(Finding::Miss, Finding::Hit)
}
