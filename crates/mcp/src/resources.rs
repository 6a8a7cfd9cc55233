//! Resources: the schema of each table.

use rmcp::ErrorData;
use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use rowmill_app::ProjectSummary;
use serde_json::json;

use crate::context::Context;
use crate::refusal::Refusal;
use crate::tables;
use crate::tools::described;

/// Clients show these in a list; all tables can be read by their address.
const LISTED_MAX: usize = 100;
const BEFORE: &str = "rowmill://tables/";
const AFTER: &str = "/schema";
const MEDIA_TYPE: &str = "application/json";

pub(crate) async fn list(context: &Context<'_>) -> Result<Vec<Resource>, ErrorData> {
    let all = tables::all(context).await.map_err(|refusal| failed(&refusal))?;
    let resource = |table: &ProjectSummary| {
        Resource::new(format!("{BEFORE}{}{AFTER}", table.id), table.title.as_str())
            .with_description("Columns, settings and views of the table.")
            .with_mime_type(MEDIA_TYPE)
    };
    Ok(all.iter().take(LISTED_MAX).map(resource).collect())
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = ResourceTemplate::new(format!("{BEFORE}{{tableId}}{AFTER}"), "table schema")
        .with_description("Columns, settings and views of a table, by its id.")
        .with_mime_type(MEDIA_TYPE);
    vec![template]
}

pub(crate) async fn read(context: &Context<'_>, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    let unknown = || {
        let data = Some(json!({ "uri": uri }));
        ErrorData::resource_not_found("There is no such table; resources/list shows them", data)
    };
    let id = uri.strip_prefix(BEFORE).and_then(|rest| rest.strip_suffix(AFTER)).ok_or_else(unknown)?;
    let stored = match context.app.project(context.caller(), id).await {
        Err(rowmill_app::Error::NotFound(_)) => return Err(unknown()),
        found => found.map_err(|error| failed(&error.into()))?,
    };
    let contents = ResourceContents::text(described(&stored, 0).to_string(), uri).with_mime_type(MEDIA_TYPE);
    Ok(ReadResourceResult::new(vec![contents]))
}

/// A resource has no place for a refusal but the protocol's errors.
fn failed(refusal: &Refusal) -> ErrorData {
    if let Some(cause) = refusal.cause() {
        tracing::error!(error = ?cause, "resource failed");
    }
    ErrorData::internal_error(refusal.message().to_owned(), None)
}
