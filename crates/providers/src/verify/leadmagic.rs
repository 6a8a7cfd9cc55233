//! `LeadMagic`: answers at once, and says what it took.

use serde_json::json;

use super::address::Address;
use super::verification::{Checks, Verification};
use super::verifier::Verifier;
use super::words::meaning;
use crate::failure::Failure;
use crate::session::{Session, flag, text};
use crate::vendors::leadmagic;

pub(super) async fn verify(session: &mut Session<'_>, address: &Address) -> Result<Verification, Failure> {
    let question = json!({"email": address.email()});
    let body = leadmagic::post(session, "v1/people/email-validation", &question).await?.unwrap_or_default();
    let checks = Checks {
        catch_all: flag(&body, "/is_domain_catch_all"),
        mx: (!text(&body, "/mx_record").is_empty()).then_some(true),
        ..Checks::default()
    };
    Ok(Verification::new(meaning(Verifier::Leadmagic, text(&body, "/email_status"))).with(checks))
}
