//! `stop_run`: stops what is queued and running.

use rowmill_app::StopRows;
use serde_json::json;

use crate::arguments::Arguments;
use crate::context::Context;
use crate::names;
use crate::refusal::{Outcome, Refusal};
use crate::tables;

pub(super) async fn call(context: &Context<'_>, arguments: &mut Arguments) -> Outcome {
    let name = arguments.required_text("table");
    let columns = arguments.texts("columns");
    let row_ids = arguments.texts("rows");
    arguments.finish()?;
    let stored = tables::find(context, &name).await?;
    let column_ids = match &columns {
        Some(names) => {
            let found = names::columns(&stored.project.table, "columns", Some(names));
            Some(names::ids(&found.map_err(Refusal::problems)?))
        }
        None => None,
    };
    let stop = StopRows { row_ids, column_ids, once: None };
    let stopped = context.app.stop(context.caller(), &stored.project.id.to_string(), stop).await?;
    Ok(json!({ "stoppedRows": stopped.rows, "stoppedCells": stopped.cells }))
}
