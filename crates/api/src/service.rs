//! All versions together.

use rowmill_model::Limits;

use crate::api::{Api, Fault, Finished};
use crate::state::ApiState;
use crate::versions;

/// Every operation of the service, mounted and documented.
pub fn service(limits: Limits) -> Result<Finished<ApiState>, Fault> {
    let mut api = Api::new(limits);
    api.tag("Projects", "A project is a table: columns, rows and views.")
        .tag("Columns", "Inputs, and columns that Rowmill fills.")
        .tag("Rows", "The rows of a project and their cells.")
        .tag("Processing", "Start, stop and monitor the processing of columns.")
        .tag("Views", "Saved filters, sorting and column visibility.")
        .tag("Team", "The team, its API keys, and the server's limits.")
        .tag("Credentials", "The team's provider credentials and secrets. Encrypted at rest, never returned.")
        .tag("Webhook", "Rows from an event platform. No API key: the webhook URL is secret.")
        .tag("Projects V3", "Projects by team slug. A project's settings can allow reads without a key.")
        .tag("Columns V3", "Columns, as in version 4.")
        .tag("Rows V3", "Rows and cells, as in version 4.")
        .tag("Processing V3", "Processing, as in version 4.")
        .tag("Views V3", "Views, as in version 4.")
        .tag("Rows V2", "For clients of version 2: insert and update rows.");
    versions::add(&mut api);
    api.finish()
}
