//! `LeadMagic`: answers at once; a catch-all domain's address is a hit of its own kind.

use std::time::Duration;

use serde_json::{Value, json};

use super::finding::Finding;
use super::person::Person;
use super::session::{Session, address, hit_or_miss, text};
use crate::failure::Failure;

const WHO: &str = "LeadMagic";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    if person.last().is_empty() {
        return Ok(Finding::Ineligible);
    }
    let search = json!({"first_name": person.first(), "last_name": person.last(), "domain": person.domain()});
    let request = session.post("v1/people/email-finder").secret_header("x-api-key", "", session.key)?;
    let response = session.send(request.json(&search).deadline(DEADLINE)).await?;
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    // An error may come as a success: `{success: false, errors: [{status, code, …}]}`.
    if body.get("success") == Some(&Value::Bool(false)) {
        let told = body.pointer("/errors/0/status").and_then(Value::as_u64);
        return Err(response.told_failure(WHO, told, text(&body, "/errors/0/code")));
    }
    session.note_credits(body.get("credits_consumed"));
    let status = text(&body, "/status");
    let email = address(body.get("email")).filter(|_| !matches!(status, "not_found" | "invalid"));
    Ok(hit_or_miss(email, status == "valid"))
}
