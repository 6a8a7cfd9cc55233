//! Finders of a person's e-mail address.
//!
//! A finder answers with a [`Finding`] or fails; what a waterfall makes of either is the engine's. HTTP
//! statuses alone say too little here: each adapter knows its vendor's habits and names them.

mod anymailfinder;
mod apollo;
mod dropcontact;
mod findymail;
mod hunter;
mod icypeas;
mod leadmagic;
mod person;
mod prospeo;
mod session;
mod snov;
mod wiza;

use std::time::Duration;

pub use person::Person;
use session::Session;
use snov::Tokens;

use crate::access::Access;
pub use crate::gate::Gate;
use crate::guard::Client;
use crate::outcome::Failure;

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

/// What a finder knows of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    Hit(Hit),
    /// Nothing, or nothing it may tell.
    Miss,
    /// The finder needs more of the person than there is; it was not asked.
    Ineligible,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    pub email: String,
    /// Whether the finder stands for it: a catch-all domain's, a risky or a guessed address is not.
    pub verified: bool,
    /// 0 to 100, where the finder says one.
    pub confidence: Option<u8>,
}

/// All finders, with what they remember between searches: Snov.io's tokens.
#[derive(Debug)]
pub struct Finders {
    client: Client,
    tokens: Tokens,
}

impl Finders {
    pub fn new(client: Client) -> Self {
        Self { client, tokens: Tokens::default() }
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
    ) -> Result<Finding, Failure> {
        let key = access.require_key()?;
        let session = &mut Session::new(&self.client, gate, access, key, wait_max);
        match finder {
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
        }
    }
}
