//! All versions together.

use rowmill_model::Limits;

use crate::api::{Api, Fault, Finished};
use crate::rowmill::Rowmill;
use crate::v4;

/// Every operation of the service, mounted and documented.
pub fn service(limits: Limits) -> Result<Finished<Rowmill>, Fault> {
    let mut api = Api::new(limits);
    api.tag("Projects", "A project is a table: columns, rows and views.")
        .tag("Columns", "What a table is made of: inputs, and columns that fill themselves.")
        .tag("Rows", "The rows of a project and their cells.")
        .tag("Views", "Saved filters, sorting and column visibility.")
        .tag("Team", "Who is asking, and what the server allows.");
    v4::add(&mut api);
    api.finish()
}
