//! Finding a text in cells, one after the other.

use axum::http::Method;
use rowmill_app::{Find, FindDirection, FindFrom, RowsOf, TextFound};
use rowmill_model::{Scopes, Table};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::Nothing;
use crate::row_selection::{columns_of, filters_and_sorting};
use crate::state::ApiState;

pub(crate) struct FindCell;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct FindQuery {
    /// The text to find in a cell. Letter case does not count.
    #[schemars(length(min = 1, max = 1_000), extend("example" = "acme"))]
    text: String,
    /// Find it only in the rows of this view, in its order.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    view_id: Option<String>,
    /// Filters as in a view, as JSON. They are combined with the view's filters (AND).
    #[schemars(length(max = 8_000))]
    filters: Option<String>,
    /// Sorting as in a view, as JSON. It replaces the view's sorting.
    #[schemars(length(max = 2_000))]
    sorting: Option<String>,
    /// Find it only in rows with a cell that contains this text.
    #[schemars(length(max = 1_000))]
    search: Option<String>,
    /// Find it only in these columns: comma-separated ids or headers. A header that contains a comma must be given
    /// by its id.
    #[schemars(length(max = 10_000))]
    column_ids: Option<String>,
    /// Start at this row: its number in the list, from 0. Default: before the first cell, or behind the last one.
    #[schemars(range(min = 0))]
    from_row: Option<u64>,
    /// Start at this column of the row: an id or header. Default: its first cell.
    #[schemars(length(min = 1, max = 255))]
    from_column_id: Option<String>,
    /// Whether the cell at the start may be the one that is found. Default: false.
    include_start: Option<bool>,
    /// `next` (default) or `previous`. Behind the last cell comes the first one again.
    #[serde(default)]
    #[schemars(with = "Direction")]
    direction: Option<Direction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Direction {
    Next,
    Previous,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FindResult {
    /// How many cells contain the text.
    total: u64,
    /// False if the table does not fit into the server's memory and the search ended after about a million cells.
    is_complete: bool,
    /// Null if no cell contains the text.
    cell: Option<FoundCell>,
}

/// The cell that was found.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct FoundCell {
    /// Its number among all that contain the text, from 1.
    number: u64,
    #[schemars(length(max = 36), regex(pattern = "^row_[0-9a-f]{32}$"))]
    row_id: String,
    /// The row's number in the list, from 0.
    row_index: u64,
    #[schemars(length(max = 64))]
    column_id: String,
}

impl Endpoint<ApiState> for FindCell {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "findCell";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Find text in cells";
    const DESCRIPTION: &'static str = "Returns the next or previous cell that contains a text, and how many there are. Cells are counted row by row, \
         in the order of the list, and in each row in the order of the columns.";
    const READS_ROWS: bool = true;
    type Path = ProjectPath;
    type Query = FindQuery;
    type Body = Nothing;
    type Out = FindResult;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({ "total": 41, "isComplete": true, "cell": {
                "number": 3, "rowId": "row_0190f0e0b3c47d5e8f60123456789abc", "rowIndex": 17,
                "columnId": "col_4fJq0ZtR9xWb",
            } })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: FindQuery,
        _: Nothing,
    ) -> Result<Answer<FindResult>, Error> {
        let (filters, sorting) =
            filters_and_sorting(query.filters.as_deref(), query.sorting.as_deref(), &call.limits)
                .map_err(Error::offences)?;
        let stored = call.app().project(call.caller()?, &path.project_id).await?;
        call.check_sequence(stored.change_seq)?;
        let table = &stored.project.table;
        let find = find_of(&query, table)?;
        let rows = RowsOf { view_id: query.view_id, filters, sorting, search: query.search };
        let TextFound { total, is_complete, cell: place } = call.app().find(&stored, rows, find).await?;
        let found = place.and_then(|(row, cell)| {
            Some(FoundCell {
                number: cell.number,
                row_id: row.to_string(),
                row_index: cell.row,
                column_id: table.columns.get(cell.column)?.id.as_str().to_owned(),
            })
        });
        Ok(Answer::new(FindResult { total, is_complete, cell: found }))
    }
}

fn find_of(query: &FindQuery, table: &Table) -> Result<Find, Error> {
    let columns = columns_of(table, query.column_ids.as_deref())?;
    let is_chosen = |slot| columns.iter().any(|column| column.slot == slot);
    let places = table.columns.iter().enumerate().filter(|(_, column)| is_chosen(column.slot));
    let is_included = query.include_start.unwrap_or_default();
    let from_column = match &query.from_column_id {
        Some(name) => {
            let named = table.named(name).map(|column| column.slot);
            let place = table.columns.iter().position(|column| Some(column.slot) == named);
            place.ok_or_else(|| Error::offence("fromColumnId", table.no_column(name, 0)))?
        }
        None => 0,
    };
    // Without a column a row is searched from its first cell on.
    let is_included = is_included || query.from_column_id.is_none();
    let from = query.from_row.map(|row| FindFrom { row, column: from_column, is_included });
    let direction = match query.direction {
        None | Some(Direction::Next) => FindDirection::Next,
        Some(Direction::Previous) => FindDirection::Previous,
    };
    Ok(Find { text: query.text.clone(), columns: places.map(|(place, _)| place).collect(), from, direction })
}
