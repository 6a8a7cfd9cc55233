//! Finders of a person's e-mail address.
//!
//! A finder answers with a [`Finding`] or fails; what a waterfall makes of either is the engine's. HTTP
//! statuses alone say too little here: each adapter knows its vendor's habits and names them.

mod anymailfinder;
mod apollo;
mod dropcontact;
mod finding;
mod findymail;
mod hunter;
mod icypeas;
mod leadmagic;
pub(crate) mod mail_hosts;
mod mail_settings;
mod pattern;
mod person;
mod prospeo;
mod smtp;
mod snov;
mod wiza;

use std::time::Duration;

pub use finding::{Finding, Hit, Search};
pub use mail_settings::MailSettings;
use pattern::Pattern;
pub use person::Person;
pub(crate) use person::domain_of;
use snov::Tokens;

use crate::access::Access;
use crate::failure::Failure;
pub use crate::gate::Gate;
use crate::session::Session;
use crate::ssrf_guard::Client;

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Finder {
    Hunter,
    Findymail,
    Prospeo,
    Dropcontact,
    Apollo,
    Snov,
    Icypeas,
    Leadmagic,
    Anymailfinder,
    Wiza,
}

/// All finders, with what they remember between searches: Snov.io's tokens.
#[derive(Debug)]
pub struct Finders {
    client: Client,
    tokens: Tokens,
    pattern: Pattern,
}

impl Finders {
    pub fn new(client: Client) -> Self {
        Self::with_mail(client, MailSettings::default())
    }

    pub fn with_mail(client: Client, settings: MailSettings) -> Self {
        Self { client, tokens: Tokens::default(), pattern: Pattern::new(settings) }
    }

    /// Guesses a person's address and asks the domain's own mail server: the finder `pattern`, which needs
    /// no key and so no [`Access`].
    pub async fn find_by_pattern(&self, person: &Person, gate: &dyn Gate) -> Result<Finding, Failure> {
        self.pattern.find(&self.client, person, gate).await
    }

    /// Looks for a person's address. Some finders search for minutes: they are asked again and again for
    /// at most `wait_max` in all, on the client's clock.
    pub async fn find(
        &self,
        finder: Finder,
        access: &Access,
        person: &Person,
        gate: &dyn Gate,
        wait_max: Duration,
    ) -> Result<Search, Failure> {
        let key = access.require_key()?;
        let session = &mut Session::new(&self.client, gate, access, key, wait_max);
        let finding = match finder {
            Finder::Hunter => hunter::find(session, person).await,
            Finder::Findymail => findymail::find(session, person).await,
            Finder::Prospeo => prospeo::find(session, person).await,
            Finder::Dropcontact => dropcontact::find(session, person).await,
            Finder::Apollo => apollo::find(session, person).await,
            Finder::Snov => snov::find(session, person, &self.tokens).await,
            Finder::Icypeas => icypeas::find(session, person).await,
            Finder::Leadmagic => leadmagic::find(session, person).await,
            Finder::Anymailfinder => anymailfinder::find(session, person).await,
            Finder::Wiza => wiza::find(session, person).await,
        }?;
        Ok(Search { finding, spent: session.spent })
    }
}
