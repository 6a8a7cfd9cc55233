//! `NeverBounce`: a refusal is a success, too, whose `status` says what is wrong.

use std::time::Duration;

use serde_json::Value;

use super::address::Address;
use super::verification::{Checks, Verification};
use super::verifier::Verifier;
use super::words::meaning;
use crate::failure::{Failure, FailureKind};
use crate::session::{Session, text};
use crate::ssrf_guard::Response;

const WHO: &str = "NeverBounce";
const DEADLINE: Duration = Duration::from_mins(1);

pub(super) async fn verify(session: &mut Session<'_>, address: &Address) -> Result<Verification, Failure> {
    let key = session.key.expose().trim();
    let request = session.get("v4.2/single/check").secret(session.key).query(&[
        ("key", key),
        ("email", address.email()),
        ("credits_info", "1"),
    ]);
    let response = session.send(request.deadline(DEADLINE)).await?;
    if !response.is_success() {
        return Err(response.finder_failure(WHO));
    }
    let body = response.json(WHO)?;
    if text(&body, "/status") != "success" {
        return Err(refusal(&response, &body));
    }
    session.note_credits(body.pointer("/credits_info/paid_credits_used"));
    Ok(Verification::new(meaning(Verifier::Neverbounce, text(&body, "/result"))).with(checks(&body)))
}

fn refusal(response: &Response, body: &Value) -> Failure {
    let is_spent = text(body, "/message").to_ascii_lowercase().contains("credit");
    match text(body, "/status") {
        "auth_failure" | "bad_referrer" => response.failure_of(WHO, FailureKind::InvalidCredentials),
        "throttle_triggered" => response.failure_of(WHO, FailureKind::RateLimited),
        "temp_unavail" => response.failure_of(WHO, FailureKind::ProviderError).with_transient(true),
        "general_failure" if is_spent => response.failure_of(WHO, FailureKind::OutOfCredits),
        "general_failure" => response.failure_of(WHO, FailureKind::InvalidInput),
        _ => response.failure_of(WHO, FailureKind::InvalidOutput),
    }
}

/// A flag is there or not; that it is not there tells nothing, but for those of DNS.
fn checks(body: &Value) -> Checks {
    let flags = body.get("flags").and_then(Value::as_array);
    let has = |name: &str| flags.is_some_and(|flags| flags.iter().any(|flag| flag.as_str() == Some(name)));
    let told = |name: &str| has(name).then_some(true);
    let known = |name: &str| flags.filter(|flags| !flags.is_empty()).map(|_| has(name));
    Checks {
        domain: known("has_dns"),
        mx: known("has_dns_mx"),
        role: told("role_account"),
        ..Checks::default()
    }
}
