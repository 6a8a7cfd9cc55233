//! Dropcontact: a search is begun and asked for later. 403 is an empty account, not a bad key.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::{Failure, FailureKind};
use crate::session::{Progress, Session, address, id, no_id, text};
use crate::ssrf_guard::{Request, Response};

const WHO: &str = "Dropcontact";
const PATH: &str = "v1/enrich/all";
/// What Dropcontact itself asks callers to wait.
const DELAY: Duration = Duration::from_secs(30);

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let mut contact = person.name_map("full_name");
    contact.insert("website".to_owned(), json!(person.domain()));
    let request = with_key(session, session.post(PATH))?;
    let request = request.json(&json!({"data": [contact], "siren": false, "language": "en"}));
    let response = session.send(request).await?;
    let body = answer(&response)?;
    let Some(search) = id(&body, &["/request_id"]) else {
        let is_error = body.get("error").is_some_and(|error| *error != Value::Bool(false));
        let failure = || response.failure_of(WHO, FailureKind::ProviderError);
        return Err(if is_error { failure() } else { no_id(WHO) });
    };
    session.poll(DELAY, |session| with_key(session, session.get_by_id(PATH, &search)), read).await
}

fn with_key(session: &Session<'_>, request: Request) -> Result<Request, Failure> {
    request.secret_header("x-access-token", "", session.key)
}

fn answer(response: &Response) -> Result<Value, Failure> {
    match response.status {
        200..300 => response.json(WHO),
        403 => Err(response.failure_of(WHO, FailureKind::OutOfCredits)),
        _ => Err(response.finder_failure(WHO)),
    }
}

fn read(response: &Response) -> Result<Progress<Finding>, Failure> {
    let body = answer(response)?;
    if body.get("success") != Some(&Value::Bool(true)) {
        let reason = text(&body, "/reason");
        let not_ready = reason.contains("not ready") || reason.contains("try again");
        let failure = || response.failure_of(WHO, FailureKind::ProviderError);
        return if not_ready { Ok(Progress::Pending(told(reason))) } else { Err(failure()) };
    }
    let contact = body.pointer("/data/0").unwrap_or(&Value::Null);
    if contact.pointer("/errors/only_contact_data").is_some() {
        return Err(response.failure_of(WHO, FailureKind::InvalidInput));
    }
    Ok(Progress::Done(best(contact.get("email"))))
}

/// The wait in "Request not ready yet, try again in 30 seconds".
fn told(reason: &str) -> Option<Duration> {
    let seconds =
        reason.split(|character: char| !character.is_ascii_digit()).find(|word| !word.is_empty())?;
    seconds.parse::<u16>().ok().map(|seconds| Duration::from_secs(seconds.into()))
}

/// The person's own address before a catch-all domain's; a company's general address is no hit.
fn best(emails: Option<&Value>) -> Finding {
    let of = |wanted: &str| {
        let emails = emails.and_then(Value::as_array).into_iter().flatten();
        emails
            .filter(|email| text(email, "/qualification") == wanted)
            .find_map(|email| address(email.get("email")))
    };
    match of("nominative@pro") {
        Some(email) => hit_or_miss(Some(email), true),
        None => hit_or_miss(of("catch_all@pro"), false),
    }
}
