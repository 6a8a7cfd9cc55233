//! Wiza: a reveal is begun and asked for later. An empty account is a failed reveal, not a status.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::{Failure, FailureKind};
use crate::session::{Progress, Session, address, id, no_id, text};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Wiza";
const PATH: &str = "api/individual_reveals";
/// A work address takes 25 seconds on average, and up to 380.
const DELAY: Duration = Duration::from_secs(5);

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let request = with_key(session, session.post(PATH))?.json(&json!({
        "individual_reveal": {"full_name": person.full(), "domain": person.domain()},
        "enrichment_level": "partial",
        "email_options": {"accept_work": true, "accept_personal": false},
    }));
    let response = session.send(request).await?;
    if let Progress::Done(finding) = read(&response)? {
        return Ok(finding);
    }
    let reveal = id(&response.json(WHO)?, &["/data/id"]).ok_or_else(|| no_id(WHO))?;
    session.poll(DELAY, |session| with_key(session, session.get_by_id(PATH, &reveal)), read).await
}

fn with_key(session: &Session<'_>, request: Request) -> Result<Request, Failure> {
    request.secret_header("authorization", "Bearer ", session.key)
}

fn read(response: &Response) -> Result<Progress<Finding>, Failure> {
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    match text(&body, "/data/status") {
        "failed" => {
            let is_billing = text(&body, "/data/fail_error") == "billing_issue";
            let kind = if is_billing { FailureKind::OutOfCredits } else { FailureKind::ProviderError };
            Err(response.failure_of(WHO, kind))
        }
        "finished" => Ok(Progress::Done(found(&body))),
        _ if body.pointer("/data/is_complete") == Some(&Value::Bool(true)) => {
            Ok(Progress::Done(found(&body)))
        }
        _ => Ok(Progress::Pending(None)),
    }
}

/// The first address that Wiza stands for, else the first that it does not call invalid. The reveal's own
/// address comes before those of its list.
fn found(body: &Value) -> Finding {
    let listed = body.pointer("/data/emails").and_then(Value::as_array);
    let entries = body.get("data").into_iter().chain(listed.into_iter().flatten());
    let usable: Vec<(String, bool)> = entries
        .filter_map(|entry| {
            let status = text(entry, "/email_status");
            let email = address(entry.get("email")).filter(|_| status != "invalid")?;
            Some((email, status == "valid"))
        })
        .collect();
    let verified = usable.iter().position(|(_, verified)| *verified).unwrap_or_default();
    let found = usable.into_iter().nth(verified);
    found.map_or(Finding::Miss, |(email, verified)| hit_or_miss(Some(email), verified))
}
