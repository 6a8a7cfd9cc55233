//! `ZeroBounce`: 403 is its "API Shield", which passes, and not a bad key. A bad key comes as a success.

use std::time::Duration;

use super::address::Address;
use super::verification::{Checks, Verification};
use super::verifier::Verifier;
use super::words::meaning;
use crate::failure::{Failure, FailureKind};
use crate::session::{Session, detail, flag, text};

const WHO: &str = "ZeroBounce";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn verify(session: &Session<'_>, address: &Address) -> Result<Verification, Failure> {
    let request = session.get("v2/validate").secret(session.key).query(&[
        ("api_key", session.key.expose().trim()),
        ("email", address.email()),
        ("ip_address", ""),
    ]);
    let response = session.send(request.deadline(DEADLINE)).await?;
    match response.status {
        200..300 => {}
        403 => return Err(response.failure_of(WHO, FailureKind::RateLimited)),
        _ => return Err(response.finder_failure(WHO)),
    }
    let body = response.json(WHO)?;
    let error = text(&body, "/error");
    if !error.is_empty() {
        return Err(response.told_failure(WHO, None, error));
    }
    let finer = text(&body, "/sub_status");
    let checks = Checks {
        free: flag(&body, "/free_email"),
        mx: flag(&body, "/mx_found"),
        catch_all: flag(&body, "/catchall_domain"),
        disposable: (finer == "disposable").then_some(true),
        role: finer.starts_with("role_based").then_some(true),
        detail: detail(finer),
        ..Checks::default()
    };
    Ok(Verification::new(meaning(Verifier::Zerobounce, text(&body, "/status"))).with(checks))
}
