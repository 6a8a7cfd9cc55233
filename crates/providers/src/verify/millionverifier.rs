//! `MillionVerifier`: an error may come as a success with its sentence in `error`.

use std::time::Duration;

use super::address::Address;
use super::verification::{Checks, Verification};
use super::verifier::Verifier;
use super::words::meaning;
use crate::failure::Failure;
use crate::session::{Session, flag, text};

const WHO: &str = "MillionVerifier";
/// How long it may ask the mail server, in seconds; it takes 2 to 60.
const TIMEOUT_SECONDS: &str = "30";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn verify(session: &Session<'_>, address: &Address) -> Result<Verification, Failure> {
    let key = session.key.expose().trim();
    let request = session.get("api/v3/").secret(session.key).query(&[
        ("api", key),
        ("email", address.email()),
        ("timeout", TIMEOUT_SECONDS),
    ]);
    let response = session.send(request.deadline(DEADLINE)).await?;
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    let error = text(&body, "/error");
    if !error.is_empty() {
        return Err(response.told_failure(WHO, None, error));
    }
    let checks = Checks { free: flag(&body, "/free"), role: flag(&body, "/role"), ..Checks::default() };
    Ok(Verification::new(meaning(Verifier::Millionverifier, text(&body, "/result"))).with(checks))
}
