//! Hunter searches for a while: 202 is "ask again".

use std::time::Duration;

use serde_json::Value;

use super::finding::{Finding, Hit};
use super::person::Person;
use crate::failure::Failure;
use crate::session::{Progress, Session, address, text};
use crate::ssrf_guard::{Request, Response};
use crate::vendors::hunter;

/// Hunter searches for up to 20 seconds.
const DEADLINE: Duration = Duration::from_secs(40);
/// How long it is left alone while it still searches, unless it says so itself.
const DELAY: Duration = Duration::from_secs(5);

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let response = session.send(search(session, person)?).await?;
    match read(&response)? {
        Progress::Done(finding) => Ok(finding),
        Progress::Pending(told) => {
            session.poll(told.unwrap_or(DELAY), |session| search(session, person), read).await
        }
    }
}

fn search(session: &Session<'_>, person: &Person) -> Result<Request, Failure> {
    let request = hunter::get(session, "v2/email-finder")?;
    let request = request.query(&[("domain", person.domain())]).query(&person.name_pairs("full_name"));
    Ok(request.deadline(DEADLINE))
}

fn read(response: &Response) -> Result<Progress<Finding>, Failure> {
    match response.status {
        202 => Ok(Progress::Pending(response.hints().retry_after)),
        200..300 => Ok(Progress::Done(found(&response.json(hunter::WHO)?))),
        // The person asked not to be processed.
        451 => Ok(Progress::Done(Finding::Miss)),
        _ => Err(hunter::failure(response)),
    }
}

fn found(body: &Value) -> Finding {
    let status = text(body, "/data/verification/status");
    let score = body.pointer("/data/score").and_then(Value::as_u64);
    match address(body.pointer("/data/email")) {
        Some(email) if !matches!(status, "invalid" | "disposable") => Finding::Hit(Hit {
            email,
            verified: status == "valid",
            confidence: score.and_then(|score| u8::try_from(score.min(100)).ok()),
        }),
        _ => Finding::Miss,
    }
}
