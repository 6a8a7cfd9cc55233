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

/// Prints the causes, with examples from the columns that the run was asked for, if it was for some. The run has ended
/// whether or not examples can be read.
pub(crate) async fn tell(server: &Server, table: &Table, run_columns: &[String], failures: &[CauseCount]) {
    let examples = examples(server, table, run_columns).await.unwrap_or_default();
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
async fn examples(
    server: &Server,
    table: &Table,
    run_columns: &[String],
) -> Result<BTreeMap<String, (String, String)>, Failure> {
    let Status { columns } = server.get(&table.path("/status"), &[]).await?.parse()?;
    let mut examples = BTreeMap::new();
    for (id, ColumnStatus { header, error: _ }) in failed_columns(columns, run_columns) {
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

/// The columns with failed cells to look at. Those that the run was asked for come first: cells of others may have failed
/// for the same reason long ago.
fn failed_columns(columns: Ordered<ColumnStatus>, run_columns: &[String]) -> Vec<(String, ColumnStatus)> {
    let mut failed: Vec<_> = columns.0.into_iter().filter(|(_, column)| column.error > 0).collect();
    failed.sort_by_key(|(id, _)| !run_columns.contains(id));
    failed.truncate(COLUMNS_MAX);
    failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_the_run_come_first() {
        let status = |id: &usize| (format!("c{id}"), ColumnStatus { header: String::new(), error: 1 });
        let check = |failed: &[usize], run_columns: &[&str], expected: &[&str]| {
            let mut columns: Vec<_> = failed.iter().map(status).collect();
            columns.push(("well".to_owned(), ColumnStatus { header: String::new(), error: 0 }));
            let run_columns: Vec<String> = run_columns.iter().map(|id| (*id).to_owned()).collect();
            let chosen = failed_columns(Ordered(columns), &run_columns);
            let ids: Vec<&str> = chosen.iter().map(|(id, _)| id.as_str()).collect();
            assert_eq!(ids, expected);
        };
        check(&[1, 2, 3], &[], &["c1", "c2", "c3"]);
        check(&[1, 2, 3], &["c3", "well", "c2"], &["c2", "c3", "c1"]);
        let many: Vec<usize> = (1..=12).collect();
        check(&many, &["c12"], &["c12", "c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8", "c9"]);
    }
}
