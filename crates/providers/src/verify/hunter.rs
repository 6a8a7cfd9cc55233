//! Hunter: 202 is "still running, ask again", 222 is "the mail server got in the way".

use std::time::Duration;

use serde_json::Value;

use super::address::Address;
use super::verification::{Checks, Verification};
use super::verifier::Verifier;
use super::words::meaning;
use crate::failure::Failure;
use crate::session::{Progress, Session, flag, text};
use crate::ssrf_guard::{Request, Response};
use crate::vendors::hunter;

const DEADLINE: Duration = Duration::from_secs(40);
/// How long it is left alone while it still works, unless it says so itself.
const DELAY: Duration = Duration::from_secs(5);

pub(super) async fn verify(session: &mut Session<'_>, address: &Address) -> Result<Verification, Failure> {
    let response = session.send(question(session, address)?).await?;
    match read(&response)? {
        Progress::Done(verification) => Ok(verification),
        Progress::Pending(told) => {
            session.poll(told.unwrap_or(DELAY), |session| question(session, address), read).await
        }
    }
}

fn question(session: &Session<'_>, address: &Address) -> Result<Request, Failure> {
    let request = hunter::get(session, "v2/email-verifier")?;
    Ok(request.query(&[("email", address.email())]).deadline(DEADLINE))
}

fn read(response: &Response) -> Result<Progress<Verification>, Failure> {
    match response.status {
        202 => Ok(Progress::Pending(response.hints().retry_after)),
        // The server of the address gave no clear answer, or the person asked not to be processed.
        222 | 451 => Ok(Progress::Done(Verification::new(meaning(Verifier::Hunter, "unknown")))),
        200..300 => Ok(Progress::Done(told(&response.json(hunter::WHO)?))),
        _ => Err(hunter::failure(response)),
    }
}

fn told(body: &Value) -> Verification {
    let checks = Checks {
        syntax: flag(body, "/data/regexp"),
        mx: flag(body, "/data/mx_records"),
        disposable: flag(body, "/data/disposable"),
        free: flag(body, "/data/webmail"),
        catch_all: flag(body, "/data/accept_all"),
        mailbox: flag(body, "/data/smtp_check"),
        ..Checks::default()
    };
    Verification::new(meaning(Verifier::Hunter, text(body, "/data/status"))).with(checks)
}
