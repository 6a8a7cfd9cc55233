//! What columns come to.

use axum::http::Method;
use rowmill_app::{RowsOf, Summaries};
use rowmill_model::filter::Measure;
use rowmill_model::summary::{ColumnSummary, SummarySource};
use rowmill_model::{Column, Scopes, Table};
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

pub(crate) struct GetSummary;

/// So many columns are summarized at once: each may mean reading all of its cells.
const COLUMNS_MAX: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SummaryQuery {
    /// The columns: 1 to 20 comma-separated ids or headers. A header that contains a comma must be given by its id.
    #[schemars(length(min = 1, max = 10_000), extend("example" = "col_4fJq0ZtR9xWb"))]
    column_ids: String,
    /// Summarize only the rows of this view.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    view_id: Option<String>,
    /// Filters as in a view, as JSON. They are combined with the view's filters (AND).
    #[schemars(length(max = 8_000))]
    filters: Option<String>,
    /// Summarize only rows with a cell that contains this text.
    #[schemars(length(max = 1_000))]
    search: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// All rows that were summarized.
    row_count: u64,
    /// In the order of the table.
    columns: Vec<ColumnSummaryOut>,
}

/// What the cells of a column come to. Numbers and dates are read as the column's type says: `"$1,200"` in a currency
/// column is 1200.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ColumnSummary")]
struct ColumnSummaryOut {
    #[schemars(length(max = 64))]
    column_id: String,
    filled: u64,
    /// Cells with null, `""`, `[]` or `{}`.
    empty: u64,
    /// How many different values there are, empty ones not counted. Values that read as the same text are the same.
    /// Null if the table does not fit into the server's memory and there are more than a million.
    unique: Option<u64>,
    /// How many cells are numbers. The figures below are null without any. Only columns of numbers and columns
    /// without a type have numbers.
    numbers: u64,
    sum: Option<f64>,
    average: Option<f64>,
    min: Option<f64>,
    max: Option<f64>,
    /// The first date of a column of dates, in ISO 8601. Null without any.
    #[schemars(length(max = 255))]
    earliest: Option<String>,
    /// The last date.
    #[schemars(length(max = 255))]
    latest: Option<String>,
}

impl Endpoint<ApiState> for GetSummary {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getSummary";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Summarize columns";
    const DESCRIPTION: &'static str = "Returns what columns come to: how many cells are filled, empty and different, and the sum, average, \
         smallest and largest number or the first and last date. All rows are counted, or those of a view, of filters \
         or of a search.";
    const READS_ROWS: bool = true;
    type Path = ProjectPath;
    type Query = SummaryQuery;
    type Body = Nothing;
    type Out = Summary;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({ "rowCount": 3, "columns": [{
                "columnId": "col_4fJq0ZtR9xWb", "filled": 2, "empty": 1, "unique": 2, "numbers": 2,
                "sum": 12.5, "average": 6.25, "min": 2.5, "max": 10.0, "earliest": null, "latest": null,
            }] })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: SummaryQuery,
        _: Nothing,
    ) -> Result<Answer<Summary>, Error> {
        let SummaryQuery { column_ids, view_id, filters, search } = query;
        let (filters, _) =
            filters_and_sorting(filters.as_deref(), None, &call.limits).map_err(Error::offences)?;
        let stored = call.app().project(call.caller()?, &path.project_id).await?;
        call.check_sequence(stored.change_seq)?;
        let table = &stored.project.table;
        let columns = columns_of(table, Some(&column_ids))?;
        if columns.is_empty() || columns.len() > COLUMNS_MAX {
            return Err(Error::offence("columnIds", format!("must name 1 to {COLUMNS_MAX} columns")));
        }
        let rows = RowsOf { view_id, filters, sorting: None, search };
        let summaries = call.app().summarize(&stored, rows, &columns).await?;
        Ok(Answer::new(Summary::of(summaries, table, &columns)))
    }
}

impl Summary {
    fn of(summaries: Summaries, table: &Table, columns: &[&Column]) -> Self {
        let Summaries { rows, columns: summaries } = summaries;
        let columns = columns
            .iter()
            .zip(summaries)
            .map(|(column, summary)| {
                let measure = SummarySource::compile(table, column).measure;
                ColumnSummaryOut::of(column, measure, rows, &summary)
            })
            .collect();
        Self { row_count: rows, columns }
    }
}

impl ColumnSummaryOut {
    fn of(column: &Column, measure: Option<Measure>, rows: u64, summary: &ColumnSummary) -> Self {
        let (has_numbers, has_dates) = (measure == Some(Measure::Number), measure == Some(Measure::Instant));
        let sizes = summary.sizes().filter(|_| has_numbers);
        let finite = |size: f64| Some(size).filter(|size| size.is_finite());
        let (earliest, latest) = summary.texts().filter(|_| has_dates).unzip();
        Self {
            column_id: column.id.as_str().to_owned(),
            filled: summary.filled,
            empty: rows.saturating_sub(summary.filled),
            unique: summary.unique,
            numbers: if has_numbers { summary.measured } else { 0 },
            sum: summary.sum().filter(|_| has_numbers),
            average: summary.average().filter(|_| has_numbers),
            min: sizes.and_then(|(min, _)| finite(min)),
            max: sizes.and_then(|(_, max)| finite(max)),
            earliest,
            latest,
        }
    }
}
