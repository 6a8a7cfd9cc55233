//! Rows on the wire. Lists are written by copying stored bytes, never by building values.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Write as _;

use rowmill_app::{Cursor, StoredRow};
use rowmill_model::cell::Outcome;
use rowmill_model::row::RowView;
use rowmill_model::{CellError, CellState, CellStatus, Column, ColumnType, ErrorCode, Table};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::key_by::KeyBy;
use super::timestamp;
use crate::error::Error;

/// A row with the details of its cells.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Row")]
pub(crate) struct RowFull {
    #[schemars(length(max = 36), regex(pattern = "^row_[0-9a-f]{32}$"))]
    id: String,
    /// By column id, or by header with `keyBy=header`.
    cells: BTreeMap<String, CellFull>,
}

/// A cell. Fields other than value and status are present only if they apply.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Cell")]
struct CellFull {
    /// Any JSON value.
    #[schemars(with = "Value")]
    value: Box<RawValue>,
    status: CellStatus,
    /// Whether an input has changed since the cell ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    stale: bool,
    /// Whether the value was written manually into a processed column.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    manual: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Outcome")]
    outcome: Option<Outcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CellError")]
    error: Option<CellError>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    retry_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    updated_at: Option<String>,
    /// How the value was produced: provider, model, milliseconds, cost (US dollars), credits (of the provider),
    /// source, status (of an HTTP response), tried (each finder that was called).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Map<String, Value>")]
    meta: Option<Map<String, Value>>,
}

impl RowFull {
    pub(crate) fn new(table: &Table, row: &StoredRow, key_by: KeyBy) -> Result<Self, Error> {
        let view = view(table, row)?;
        let cells = table
            .columns
            .iter()
            .map(|column| Ok((key_by.name(column).to_owned(), CellFull::new(&view, column)?)));
        Ok(Self { id: row.id.to_string(), cells: cells.collect::<Result<_, Error>>()? })
    }
}

impl CellFull {
    fn new(view: &RowView<'_>, column: &Column) -> Result<Self, Error> {
        let value = view.value(column);
        let too_much = if value.is_none() { view.too_much_found(column) } else { None };
        let state = view.state(column).cloned().unwrap_or_default();
        let CellState {
            status: _,
            stale,
            manual,
            outcome,
            error,
            attempts,
            retry_at_ms,
            updated_at_ms,
            meta,
        } = state;
        let too_large =
            |found| CellError { code: ErrorCode::TooLarge, message: format!("The path {found}.") };
        let error = error.or_else(|| too_much.map(too_large));
        Ok(Self {
            value: RawValue::from_string(value.map_or("null".to_owned(), Cow::into_owned))
                .map_err(|error| rowmill_app::Error::Internal(error.into()))?,
            status: view.status(column),
            stale,
            manual,
            outcome,
            error,
            attempts: (attempts > 0).then_some(attempts),
            retry_at: retry_at_ms.map(timestamp),
            updated_at: updated_at_ms.map(timestamp),
            meta,
        })
    }
}

/// What a row's values take in an answer, at most: each reference column may show all that another column stores.
pub(crate) fn shown_bytes(table: &Table, stored_bytes: usize) -> usize {
    let references = table.columns.iter().filter(|column| column.kind == ColumnType::Reference).count();
    stored_bytes.saturating_mul(references + 1)
}

/// What a list shows of each cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shown {
    Value,
    /// Value and status.
    Status,
    /// The same, with what else there is to say of how the cell stands.
    State,
}

/// How a list of rows is written.
#[derive(Debug)]
pub(crate) struct RowList<'a> {
    pub(crate) table: &'a Table,
    pub(crate) columns: Vec<&'a Column>,
    pub(crate) shown: Shown,
    pub(crate) key_by: KeyBy,
}

impl RowList<'_> {
    /// Writes rows, with commas between them and before the first unless a list begins with it.
    pub(crate) fn write_rows(
        &self,
        rows: &[StoredRow],
        begins: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let size: usize = rows.iter().map(|row| row.values.as_bytes().len() + 64).sum();
        out.reserve(size + self.columns.len() * 24 * rows.len() + 256);
        let cells = self.cell_writers();
        for (index, row) in rows.iter().enumerate() {
            if index > 0 || !begins {
                out.push(b',');
            }
            self.write_row(&cells, row, out)?;
        }
        Ok(())
    }

    /// Each column with the bytes that stand before its value.
    fn cell_writers(&self) -> Vec<(String, &Column)> {
        let name = |(index, column): (usize, &&Column)| {
            let comma = if index > 0 { "," } else { "" };
            format!("{comma}{}:", Value::from(self.key_by.name(column)))
        };
        self.columns.iter().enumerate().map(|pair| (name(pair), *pair.1)).collect()
    }

    fn write_row(
        &self,
        cells: &[(String, &Column)],
        row: &StoredRow,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        write!(out, r#"{{"id":"{}","cells":{{"#, row.id)
            .map_err(|error| rowmill_app::Error::Internal(error.into()))?;
        let values = row.values.cells().map_err(rowmill_app::Error::from)?;
        let plain = self.shown == Shown::Value
            && cells.iter().all(|(_, column)| column.kind != ColumnType::Reference);
        if plain {
            let mut value = values.get_in_turn();
            for (name, column) in cells {
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(value(column.slot).unwrap_or("null").as_bytes());
            }
        } else {
            let view = RowView::new(self.table, values, &row.states);
            for (name, column) in cells {
                out.extend_from_slice(name.as_bytes());
                self.write_cell(&view, column, out)?;
            }
        }
        out.extend_from_slice(b"}}");
        Ok(())
    }

    fn write_cell(&self, view: &RowView<'_>, column: &Column, out: &mut Vec<u8>) -> Result<(), Error> {
        let value = view.value(column).unwrap_or(Cow::Borrowed("null"));
        if self.shown == Shown::Value {
            out.extend_from_slice(value.as_bytes());
            return Ok(());
        }
        out.extend_from_slice(br#"{"value":"#);
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(br#","status":""#);
        out.extend_from_slice(view.status(column).word().as_bytes());
        out.push(b'"');
        if self.shown == Shown::State
            && let Some(state) = view.state(column)
        {
            write_state(state, out).map_err(|error| rowmill_app::Error::Internal(error.into()))?;
        }
        out.push(b'}');
        Ok(())
    }
}

/// What there is to say of a cell beside its value and status.
fn write_state(state: &CellState, out: &mut Vec<u8>) -> std::io::Result<()> {
    if state.stale {
        out.extend_from_slice(br#","stale":true"#);
    }
    if state.manual {
        out.extend_from_slice(br#","manual":true"#);
    }
    if let Some(outcome) = state.outcome {
        out.extend_from_slice(br#","outcome":"#);
        serde_json::to_writer(&mut *out, &outcome)?;
    }
    if let Some(error) = &state.error {
        out.extend_from_slice(br#","error":"#);
        serde_json::to_writer(&mut *out, error)?;
    }
    if let Some(at) = state.retry_at_ms {
        write!(out, r#","retryAt":"{}""#, timestamp(at))?;
    }
    Ok(())
}

fn view<'a>(table: &'a Table, row: &'a StoredRow) -> Result<RowView<'a>, Error> {
    let values = row.values.cells().map_err(rowmill_app::Error::from)?;
    Ok(RowView::new(table, values, &row.states))
}

/// Pagination.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pagination {
    #[schemars(range(min = 1))]
    page: u64,
    page_size: u32,
    /// Null with `includeTotal=false`.
    total_rows: Option<u64>,
    /// 0 if there are no rows. Null with `includeTotal=false`.
    total_pages: Option<u64>,
    /// The `cursor` of the next page; null at the end. It continues behind this page's last row, whatever happens
    /// to rows meanwhile. It is valid for the same sorting only.
    #[schemars(length(max = 2_200))]
    next_cursor: Option<String>,
}

impl Pagination {
    pub(crate) fn new(page: u64, page_size: u32, total: Option<u64>, next: Option<&Cursor>) -> Self {
        Self {
            page,
            page_size,
            total_rows: total,
            total_pages: total.map(|total| total.div_ceil(u64::from(page_size))),
            next_cursor: next.map(ToString::to_string),
        }
    }
}

/// A list of rows.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RowList")]
pub(crate) struct Rows {
    rows: Vec<RowItem>,
    pagination: Pagination,
}

/// A row in a list.
#[derive(Debug, Serialize, JsonSchema)]
struct RowItem {
    #[schemars(length(max = 36), regex(pattern = "^row_[0-9a-f]{32}$"))]
    id: String,
    /// By column id, or by header with `keyBy=header`: the value or null. With `withStatus=true`, an object with value and status; with
    /// `withState=true`, also the other details of the cell's state.
    cells: BTreeMap<String, Value>,
}

/// What a row body says: field names, which are column ids or headers, to values of any kind.
#[derive(Debug)]
pub(crate) struct RowBody;

impl JsonSchema for RowBody {
    fn schema_name() -> Cow<'static, str> {
        "RowBody".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "object",
            "description": "Maps field names to values. A field names a column by id, or else by header.",
            "additionalProperties": true,
        })
    }
}

/// One row, or many.
#[derive(Debug)]
pub(crate) struct RowsBody;

impl JsonSchema for RowsBody {
    fn schema_name() -> Cow<'static, str> {
        "RowsBody".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let row = generator.subschema_for::<RowBody>();
        let batch = generator.subschema_for::<RowBatch>();
        json_schema!({
            "description": "One row, an array of rows, or `{\"rows\": [rows]}` with no other key.",
            "anyOf": [
                { "type": "array", "items": row, "x-limit": { "maxItems": "insertRowsMax" } },
                batch,
                row,
            ],
        })
    }
}

/// Rows to insert.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read by hand")]
struct RowBatch {
    #[schemars(extend("x-limit" = { "maxItems": "insertRowsMax" }))]
    rows: Vec<RowBody>,
}

/// Rows to delete.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RowsDelete {
    /// Unknown ids are ignored and not counted.
    #[schemars(extend("x-limit" = { "maxItems": "rowIdsMax" }))]
    pub(crate) row_ids: Vec<String>,
}

/// Cell values to write.
#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read by hand")]
pub(crate) struct CellsBody {
    #[schemars(extend("x-limit" = { "maxItems": "cellsBatchMax" }))]
    cells: Vec<CellBody>,
}

#[derive(Debug, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "describes a body that is read by hand")]
struct CellBody {
    #[schemars(length(max = 255))]
    row_id: String,
    /// The column's id or header.
    #[schemars(length(max = 255))]
    column_id: String,
    /// Any JSON value; null clears the cell.
    value: Value,
}
