//! Why cells of a run failed: the causes with their counts, each with an example.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::json;

use crate::failure::Failure;
use crate::output::{counted, plain};
use crate::server::Server;
use crate::tables::Table;
use crate::wire::{CauseCount, Cell, Ordered, Row};

/// How many columns with failed cells are looked at, and how many cells of each.
const COLUMNS_MAX: usize = 10;
const CELLS_MAX: u64 = 100;
const MESSAGE_CHARS_MAX: usize = 300;

/// Prints the causes. The run has ended whether or not examples can be read.
pub(crate) async fn tell(server: &Server, table: &Table, failures: &[CauseCount]) {
    let examples = examples(server, table).await.unwrap_or_default();
    for CauseCount { code, cells } in failures {
        let cells = counted(*cells, "cell");
        if let Some((column, message)) = examples.get(code) {
            notice!("{cells} failed with {code}, for example in {column:?}: {message}");
        } else {
            notice!("{cells} failed with {code}.");
        }
    }
}

#[derive(Deserialize)]
struct Status {
    columns: Ordered<ColumnStatus>,
}

#[derive(Deserialize)]
struct ColumnStatus {
    header: String,
    error: u64,
}

#[derive(Deserialize)]
struct Page {
    rows: Vec<Row<Cell>>,
}

/// A column and a message for each code.
async fn examples(server: &Server, table: &Table) -> Result<BTreeMap<String, (String, String)>, Failure> {
    let Status { columns } = server.get(&table.path("/status"), &[]).await?.parse()?;
    let failed = columns.0.into_iter().filter(|(_, column)| column.error > 0);
    let mut examples = BTreeMap::new();
    for (id, ColumnStatus { header, error: _ }) in failed.take(COLUMNS_MAX) {
        let filters = json!([{ "columnId": id, "operator": "statusIs", "value": "error" }]);
        let query = [
            ("filters", filters.to_string()),
            ("columnIds", id),
            ("withState", "true".to_owned()),
            ("pageSize", CELLS_MAX.to_string()),
            ("includeTotal", "false".to_owned()),
        ];
        let Page { rows } = server.get(&table.path("/rows"), &query).await?.parse()?;
        let cells = rows.into_iter().flat_map(|row| row.cells.0).map(|(_, cell)| cell);
        for error in cells.filter_map(|cell| cell.error) {
            let message: String = plain(&error.message).chars().take(MESSAGE_CHARS_MAX).collect();
            examples.entry(error.code).or_insert_with(|| (header.clone(), message));
        }
    }
    Ok(examples)
}
