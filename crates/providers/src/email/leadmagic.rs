//! `LeadMagic`: answers at once; a catch-all domain's address is a hit of its own kind.

use serde_json::json;

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::Failure;
use crate::session::{Session, address, text};
use crate::vendors::leadmagic;

pub(super) async fn find(session: &mut Session<'_>, person: &Person) -> Result<Finding, Failure> {
    if person.last().is_empty() {
        return Ok(Finding::Ineligible);
    }
    let search = json!({"first_name": person.first(), "last_name": person.last(), "domain": person.domain()});
    let Some(body) = leadmagic::post(session, "v1/people/email-finder", &search).await? else {
        return Ok(Finding::Miss);
    };
    let status = text(&body, "/status");
    let email = address(body.get("email")).filter(|_| !matches!(status, "not_found" | "invalid"));
    Ok(hit_or_miss(email, status == "valid"))
}
