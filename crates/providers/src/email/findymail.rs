//! Findymail: answers at once, and with verified addresses only.

use std::time::Duration;

use serde_json::json;

use super::finding::{Finding, hit_or_miss};
use super::person::Person;
use crate::failure::{Failure, FailureKind};
use crate::session::{Session, address};

const WHO: &str = "Findymail";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn find(session: &Session<'_>, person: &Person) -> Result<Finding, Failure> {
    let request = session
        .post("api/search/name")
        .secret_header("authorization", "Bearer ", session.key)?
        .json(&json!({"name": person.full(), "domain": person.domain()}));
    let response = session.send(request.deadline(DEADLINE)).await?;
    match response.status {
        200..300 => Ok(hit_or_miss(address(response.json(WHO)?.pointer("/contact/email")), true)),
        404 => Ok(Finding::Miss),
        // The subscription is paused.
        423 => Err(response.failure_of(WHO, FailureKind::OutOfCredits)),
        _ => Err(response.finder_failure(WHO)),
    }
}
