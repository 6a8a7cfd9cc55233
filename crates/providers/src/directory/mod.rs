//! Directories of companies and of the people who work there.
//!
//! Each answers in fields of its own; here they get common names. A field that a directory does not tell is left out.

mod apollo;
mod company;
mod entry;
mod hunter;
mod leadmagic;
mod people;
mod query;

use std::time::Duration;

pub use company::Company;
pub use entry::{Directory, Entry, Listing};
pub use people::FoundPerson;
pub use query::{CompanyQuery, PeopleQuery};

use crate::access::Access;
use crate::failure::Failure;
use crate::gate::Gate;
use crate::session::Session;
use crate::ssrf_guard::Client;

/// Looks a company up.
pub async fn find_company(
    client: &Client,
    directory: Directory,
    access: &Access,
    query: &CompanyQuery,
    gate: &dyn Gate,
) -> Result<Listing<Company>, Failure> {
    let key = access.require_key()?;
    let session = &mut Session::new(client, gate, access, key, Duration::ZERO);
    let entry = match directory {
        Directory::Hunter => hunter::find_company(session, query).await,
        Directory::Apollo => apollo::find_company(session, query).await,
        Directory::Leadmagic => leadmagic::find_company(session, query).await,
    }?;
    let spent = session.spent;
    Ok(Listing { entry: company::filled(entry), spent })
}

/// Looks up who works at a company. A list is never empty.
pub async fn find_people(
    client: &Client,
    directory: Directory,
    access: &Access,
    query: &PeopleQuery,
    gate: &dyn Gate,
) -> Result<Listing<Vec<FoundPerson>>, Failure> {
    let key = access.require_key()?;
    let session = &mut Session::new(client, gate, access, key, Duration::ZERO);
    let entry = match directory {
        Directory::Hunter => hunter::find_people(session, query).await,
        Directory::Apollo => apollo::find_people(session, query).await,
        Directory::Leadmagic => leadmagic::find_people(session, query).await,
    }?;
    let spent = session.spent;
    Ok(Listing { entry: people::chosen(entry, query), spent })
}
