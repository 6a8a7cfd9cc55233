//! Rows by their value in a column.

use axum::http::Method;
use rowmill_app::{Group, GroupBy, GroupTally, Groups, RowsOf};
use rowmill_model::summary::readable_sum;
use rowmill_model::{Column, Scopes, Table, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::Nothing;
use crate::row_selection::filters_and_sorting;
use crate::state::ApiState;

pub(crate) struct GetGroups;

/// Longer values are not returned whole: nobody filters by them, and there may be many.
const VALUE_BYTES_MAX: usize = 2_000;
const TEXT_CHARS_MAX: usize = 200;
const GROUPS_DEFAULT: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct GroupsQuery {
    /// The column to group by: an id or header.
    #[schemars(length(min = 1, max = 255), extend("example" = "col_4fJq0ZtR9xWb"))]
    column_id: String,
    /// A column whose numbers are summed up in each group: an id or header.
    #[schemars(length(min = 1, max = 255))]
    total_column_id: Option<String>,
    /// How many groups to return, those with the most rows. Default: 100.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Group only the rows of this view.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    view_id: Option<String>,
    /// Filters as in a view, as JSON. They are combined with the view's filters (AND).
    #[schemars(length(max = 8_000))]
    filters: Option<String>,
    /// Group only rows with a cell that contains this text.
    #[schemars(length(max = 1_000))]
    search: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "GroupList")]
pub(crate) struct GroupsOut {
    /// All rows that were grouped.
    row_count: u64,
    /// How many groups there are, those that are not returned included.
    group_count: u64,
    /// False if the table does not fit into the server's memory and has too many different values: rows with further
    /// ones are in no group.
    is_complete: bool,
    /// Those with the most rows first.
    groups: Vec<GroupOut>,
    /// The rows without a value.
    empty: GroupCounts,
}

/// The rows with one value. Values that read the same are one: `"$1,200"` in a currency column is `1200`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RowGroup")]
struct GroupOut {
    /// The value as text, the first 200 characters of it.
    #[schemars(length(max = 200))]
    text: String,
    /// The value, to be used in a filter. Omitted if its JSON has more than 2,000 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "serde_json::Value")]
    value: Option<Box<RawValue>>,
    #[serde(flatten)]
    counts: GroupCounts,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct GroupCounts {
    row_count: u64,
    /// The sum of `totalColumnId` in these rows. Null without one, or if it has no numbers.
    total: Option<f64>,
}

impl Endpoint<ApiState> for GetGroups {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getGroups";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Group rows";
    const DESCRIPTION: &'static str = "Counts rows by their value in a column, and sums up another column in each group. All rows are counted, or \
         those of a view, of filters or of a search.";
    const READS_ROWS: bool = true;
    type Path = ProjectPath;
    type Query = GroupsQuery;
    type Body = Nothing;
    type Out = GroupsOut;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "rowCount": 5, "groupCount": 2, "isComplete": true,
                "groups": [
                    { "text": "Won", "value": "Won", "rowCount": 3, "total": 1200.5 },
                    { "text": "Lost", "value": "Lost", "rowCount": 1, "total": null },
                ],
                "empty": { "rowCount": 1, "total": null },
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: GroupsQuery,
        _: Nothing,
    ) -> Result<Answer<GroupsOut>, Error> {
        let GroupsQuery { column_id, total_column_id, limit, view_id, filters, search } = query;
        let (filters, _) =
            filters_and_sorting(filters.as_deref(), None, &call.limits).map_err(Error::offences)?;
        let stored = call.app().project(call.caller()?, &path.project_id).await?;
        call.check_sequence(stored.change_seq)?;
        let table = &stored.project.table;
        let column = named(table, "columnId", &column_id)?;
        let total = total_column_id.as_deref().map(|id| named(table, "totalColumnId", id)).transpose()?;
        let by = GroupBy { column, total, limit: limit.unwrap_or(GROUPS_DEFAULT) };
        let rows = RowsOf { view_id, filters, sorting: None, search };
        Ok(Answer::new(call.app().group(&stored, rows, by).await?.into()))
    }
}

fn named<'t>(table: &'t Table, parameter: &str, name: &str) -> Result<&'t Column, Error> {
    table.named(name).ok_or_else(|| Error::offence(parameter, table.no_column(name, 0)))
}

impl From<Groups> for GroupsOut {
    fn from(groups: Groups) -> Self {
        let Groups { rows, groups, count, empty, is_complete } = groups;
        let groups = groups.into_iter().map(GroupOut::from).collect();
        Self { row_count: rows, group_count: count, is_complete, groups, empty: empty.into() }
    }
}

impl From<Group> for GroupOut {
    fn from(group: Group) -> Self {
        let Group { raw, tally } = group;
        let text = Value::parse(&raw).text().chars().take(TEXT_CHARS_MAX).collect();
        let value = (raw.len() <= VALUE_BYTES_MAX).then(|| RawValue::from_string(raw.into_string()).ok());
        Self { text, value: value.flatten(), counts: tally.into() }
    }
}

impl From<GroupTally> for GroupCounts {
    fn from(tally: GroupTally) -> Self {
        let GroupTally { rows, numbers, total } = tally;
        Self { row_count: rows, total: (numbers > 0 && total.is_finite()).then(|| readable_sum(total)) }
    }
}
