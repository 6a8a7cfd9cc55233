//! All versions together.

use rowmill_model::Limits;

use crate::api::{Api, Fault, Finished};
use crate::state::ApiState;
use crate::versions;

/// Every operation of the service, mounted and documented.
pub fn service(limits: Limits) -> Result<Finished<ApiState>, Fault> {
    let mut api = Api::new(limits);
    api.tag("Projects", "A project is a table: columns, rows and views.")
        .tag("Columns", "What a table is made of: inputs, and columns that fill themselves.")
        .tag("Rows", "The rows of a project and their cells.")
        .tag("Processing", "Columns that fill themselves: start, stop and watch them.")
        .tag("Views", "Saved filters, sorting and column visibility.")
        .tag("Team", "Who is asking, and what the server allows.")
        .tag(
            "Credentials",
            "What the team calls providers with, and its secrets. Sealed at rest, never shown.",
        )
        .tag("Webhook", "Rows from an event platform. No key: the address is the secret.")
        .tag("Projects V3", "Projects by team slug. Reads may be open, as each project's settings say.")
        .tag("Columns V3", "Columns, as in version 4.")
        .tag("Rows V3", "Rows and cells, as in version 4.")
        .tag("Processing V3", "Processing, as in version 4.")
        .tag("Views V3", "Views, as in version 4.")
        .tag("Rows V2", "Kept for programs written for version 2: inserting and updating rows.");
    versions::add(&mut api);
    api.finish()
}
