//! Apollo: a POST whose parameters stand in the query.

use std::time::Duration;

use serde_json::Value;

use super::finding::Finding;
use super::person::Person;
use super::session::{Session, address, hit_or_miss, text};
use crate::failure::{Failure, FailureKind, words};

const WHO: &str = "Apollo";
const DEADLINE: Duration = Duration::from_mins(1);

/// Stands where an address would cost credits.
const LOCKED: &str = "email_not_unlocked@";

pub(super) async fn find(session: &Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let request = session
        .post("api/v1/people/match")
        .secret_header("x-api-key", "", session.key)?
        .query(&person.name_pairs("name"))
        .query(&[("domain", person.domain()), ("reveal_personal_emails", "false")]);
    let response = session.send(request.deadline(DEADLINE)).await?;
    if response.is_success() {
        return Ok(found(&response.json(WHO)?));
    }
    let spent =
        words(&response.body).is_some_and(|words| words.to_lowercase().contains("insufficient credits"));
    if response.status == 422 && spent {
        return Err(response.failure_of(WHO, FailureKind::OutOfCredits));
    }
    Err(response.finder_failure(WHO))
}

fn found(body: &Value) -> Finding {
    let status = text(body, "/person/email_status");
    let email = address(body.pointer("/person/email"))
        .filter(|email| !email.starts_with(LOCKED) && !matches!(status, "bounced" | "invalid"));
    hit_or_miss(email, status == "verified")
}
