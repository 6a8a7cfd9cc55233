//! Findymail: says whether it verified the address, and no more.

use std::time::Duration;

use serde_json::json;

use super::address::Address;
use super::verification::Verification;
use super::verifier::Verifier;
use super::words::meaning;
use crate::failure::{Failure, FailureKind};
use crate::session::{Session, flag};

const WHO: &str = "Findymail";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn verify(session: &Session<'_>, address: &Address) -> Result<Verification, Failure> {
    let request = session
        .post("api/verify")
        .secret_header("authorization", "Bearer ", session.key)?
        .json(&json!({"email": address.email()}));
    let response = session.send(request.deadline(DEADLINE)).await?;
    match response.status {
        200..300 => {
            let verified = flag(&response.json(WHO)?, "/verified");
            let word = verified.map_or("", |verified| if verified { "true" } else { "false" });
            Ok(Verification::new(meaning(Verifier::Findymail, word)))
        }
        // The subscription is paused.
        423 => Err(response.failure_of(WHO, FailureKind::OutOfCredits)),
        _ => Err(response.finder_failure(WHO)),
    }
}
