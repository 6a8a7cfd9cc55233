//! Apollo: a POST whose parameters stand in the query.

use std::time::Duration;

use serde_json::Value;

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::Failure;
use crate::session::{Session, address, text};
use crate::vendors::apollo;

const DEADLINE: Duration = Duration::from_mins(1);

/// Stands where an address would cost credits.
const LOCKED: &str = "email_not_unlocked@";

pub(super) async fn find(session: &Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let request = apollo::with_key(session, session.post("api/v1/people/match"))?
        .query(&person.name_pairs("name"))
        .query(&[("domain", person.domain()), ("reveal_personal_emails", "false")]);
    let response = session.send(request.deadline(DEADLINE)).await?;
    if response.is_success() {
        return Ok(found(&response.json(apollo::WHO)?));
    }
    Err(apollo::failure(&response))
}

fn found(body: &Value) -> Finding {
    let status = text(body, "/person/email_status");
    let email = address(body.pointer("/person/email"))
        .filter(|email| !email.starts_with(LOCKED) && !matches!(status, "bounced" | "invalid"));
    hit_or_miss(email, status == "verified")
}
