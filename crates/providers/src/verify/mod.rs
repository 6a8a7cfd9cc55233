//! Verifiers of e-mail addresses.
//!
//! A verifier answers with a [`Verification`] or fails. What its own words mean is in one table (`words.rs`); what a
//! column makes of several answers is the engine's.

mod address;
mod domain_check;
mod findymail;
mod hunter;
mod leadmagic;
mod millionverifier;
mod neverbounce;
mod verification;
mod verifier;
mod words;
mod zerobounce;

use std::time::Duration;

pub use address::Address;
use domain_check::DomainCheck;
pub use verification::{Checks, Verdict, Verification};
pub use verifier::Verifier;

use crate::access::Access;
use crate::email::MailSettings;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::session::Session;
use crate::ssrf_guard::Client;

/// What a word of Hunter's means, which says it of addresses that it finds, too.
pub(crate) fn hunter_verdict(word: &str) -> Verdict {
    words::meaning(Verifier::Hunter, word).0
}

/// All verifiers.
#[derive(Debug)]
pub struct Verifiers {
    client: Client,
    domain_check: DomainCheck,
}

impl Verifiers {
    pub fn new(client: Client) -> Self {
        Self::with_mail(client, &MailSettings::default())
    }

    pub fn with_mail(client: Client, settings: &MailSettings) -> Self {
        Self { client, domain_check: DomainCheck::new(settings) }
    }

    /// Looks at the address and asks DNS: the verifier `domaincheck`, which needs no key and so no [`Access`].
    pub async fn check_domain(&self, address: &Address, gate: &dyn Gate) -> Result<Verification, Failure> {
        self.domain_check.verify(address, gate).await
    }

    /// Asks one verifier. One that takes its time is asked again for at most `wait_max` in all.
    pub async fn verify(
        &self,
        verifier: Verifier,
        access: &Access,
        address: &Address,
        gate: &dyn Gate,
        wait_max: Duration,
    ) -> Result<Verification, Failure> {
        let key = access.require_key()?;
        let session = &mut Session::new(&self.client, gate, access, key, wait_max);
        let mut verification = match verifier {
            Verifier::Hunter => hunter::verify(session, address).await,
            Verifier::Findymail => findymail::verify(session, address).await,
            Verifier::Leadmagic => leadmagic::verify(session, address).await,
            Verifier::Zerobounce => zerobounce::verify(session, address).await,
            Verifier::Neverbounce => neverbounce::verify(session, address).await,
            Verifier::Millionverifier => millionverifier::verify(session, address).await,
        }?;
        verification.spent += session.spent;
        Ok(verification)
    }
}
