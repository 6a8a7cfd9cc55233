//! Columns that turn the items of a list into rows of another project.
//!
//! The rows are written in slices, through the same queue as rows that are posted. A row is found again by its match
//! value, so a cell that runs again, after a crash too, doubles nothing. A trial writes nothing.

use std::collections::HashSet;

use rowmill_model::cell::Meta;
use rowmill_model::column::FanOut;
use rowmill_model::fan_out::MappedFrom;
use rowmill_model::path::Path;
use rowmill_model::reference::whole_reference;
use rowmill_model::value::{MatchCase, elements, match_key};
use rowmill_model::{Column, ErrorCode, TeamId, Value};
use serde_json::{Value as Json, json};

use super::fill::Fill;
use super::{ProviderCalls, column_limit, invalid, millis_since, team_part};
use crate::call_limits::CallLimit;
use crate::cell_runner::{CallFailure, CallOutcome, Cell};
use crate::digest::Digest;
use crate::row_writer::{RowCounts, RowRefusal, RowsToWrite};

pub(super) const PROVIDER: &str = "fan-out";
/// Cells of a team that write at once, in each process: its writes wait for each other anyway.
const CELLS_AT_ONCE: usize = 4;
/// Rows that are written in one transaction; fewer, if they are large.
const SLICE_ROWS_MAX: usize = 250;
const SLICE_BYTES_MAX: usize = 1024 * 1024;
/// What the rows of one cell can take in all.
const ROWS_BYTES_MAX: usize = 16 * 1024 * 1024;
/// How many rows a trial shows.
const TRIAL_ROWS_MAX: usize = 5;
/// Items between which others get their turn.
const ITEMS_AT_ONCE: usize = 100;

impl ProviderCalls {
    /// What limits a column that fans out.
    pub(super) fn fan_out_limits(team: TeamId, column: &Column) -> Vec<CallLimit> {
        fan_out(column).map(|_| cells_limit(team)).into_iter().collect()
    }

    pub(super) async fn fan_out(&self, cell: &Cell) -> Result<CallOutcome, CallOutcome> {
        let config = complete(&cell.column)?;
        let mut row = Fill::new(cell, None)?;
        let list = whole_reference(config.list.trim()).map(|inner| row.value_json(inner)).unwrap_or_default();
        row.check()?;
        let items = items(&list, config)?;
        if items.is_empty() {
            return Ok(CallOutcome::NoData(Meta::new()));
        }
        let rows = RowMaker::new(config, &mut row)?;
        row.check()?;
        let made = rows.measured(&items).await?;
        if cell.run.is_none() {
            return Ok(value(
                &json!({ "items": items.len(), "leftOut": made.left_out, "rows": made.first }),
                Meta::new(),
            ));
        }
        let place: Vec<CallLimit> = column_limit(&cell.project, &cell.column)
            .into_iter()
            .chain([cells_limit(cell.project.team)])
            .collect();
        let _place = self.call_limits.acquire(&place, cell, self.clock(), self.config.wait_max).await?;
        let started = self.now();
        let RowCounts { created, updated, unchanged } = self.write_rows(cell, config, &rows, &items).await?;
        let mut meta = Meta::new();
        meta.insert("provider".to_owned(), PROVIDER.into());
        meta.insert("milliseconds".to_owned(), millis_since(started, self.now()));
        let summary = json!({ "created": created, "updated": updated, "unchanged": unchanged, "leftOut": made.left_out });
        Ok(value(&summary, meta))
    }

    /// Writes the rows in slices. Between two of them other writers get in, and a cell that was stopped ends.
    async fn write_rows(
        &self,
        cell: &Cell,
        config: &FanOut,
        rows: &RowMaker<'_>,
        items: &[&str],
    ) -> Result<RowCounts, CallOutcome> {
        let Some(writer) = &self.row_writer else {
            return Err(invalid("This process cannot write rows of other projects."));
        };
        let mut counts = RowCounts::default();
        let mut matched = HashSet::new();
        let mut items = items.iter();
        loop {
            let slice = rows.slice(&mut items, &mut matched);
            if slice.is_empty() {
                return Ok(counts);
            }
            if cell.is_revoked() {
                return Err(CallOutcome::failed(ErrorCode::Stopped, "The cell was stopped."));
            }
            let slice = RowsToWrite {
                team: cell.project.team,
                source: cell.project.id,
                target: &config.target_project_id,
                match_on: &config.match_on,
                rows: &slice,
            };
            let RowCounts { created, updated, unchanged } = writer.write(slice).await.map_err(refused)?;
            counts.created += created;
            counts.updated += updated;
            counts.unchanged += unchanged;
        }
    }
}

/// The configuration of a column that fans out.
pub(super) fn fan_out(column: &Column) -> Option<&FanOut> {
    column.task_config.as_ref()?.fan_out()
}

/// What a trial shows before anything runs: the rows that the first items become.
pub(super) fn resolved(cell: &Cell, config: &FanOut) -> Result<Json, CallOutcome> {
    let mut row = Fill::new(cell, None)?;
    let list = whole_reference(config.list.trim()).map(|inner| row.value_json(inner)).unwrap_or_default();
    row.check()?;
    let items = items(&list, config)?;
    let rows = RowMaker::new(config, &mut row)?;
    row.check()?;
    let shown = items.iter().take(TRIAL_ROWS_MAX).filter_map(|item| Some(shown(&rows.row(item)?.text)));
    Ok(json!({ "items": items.len(), "rows": shown.collect::<Vec<_>>() }))
}

/// A configuration with all that a run needs.
fn complete(column: &Column) -> Result<&FanOut, CallOutcome> {
    let config = fan_out(column).ok_or_else(|| invalid("The column's task is unknown to this server."))?;
    let lacks = [
        (config.list.trim().is_empty(), "list"),
        (config.target_project_id.is_empty(), "target project"),
        (config.mapping.is_empty(), "mapping"),
        (config.match_on.is_empty(), "column to match on"),
    ];
    match lacks.into_iter().find(|(is_missing, _)| *is_missing) {
        Some((_, what)) => Err(invalid(format!("The column has no {what}. Add one in the column settings."))),
        None => Ok(config),
    }
}

/// The items of a list. An object is a list of one, and nothing is an empty list.
fn items<'a>(list: &'a str, config: &FanOut) -> Result<Vec<&'a str>, CallOutcome> {
    let items = match Value::parse(list) {
        Value::Null => Vec::new(),
        Value::Text(text) if text.is_empty() => Vec::new(),
        Value::Array(_) => elements(list),
        Value::Object(_) => vec![list],
        Value::Text(_) => return Err(not_a_list("a text")),
        Value::Number(_) => return Err(not_a_list("a number")),
        Value::Bool(_) => return Err(not_a_list("true or false")),
    };
    let most = config.limit.clamp(1, FanOut::LIMIT_MAX);
    if items.len() > usize::try_from(most).unwrap_or(usize::MAX) {
        let message = format!(
            "The list has {} items, and the column takes at most {most} (limit). Nothing was written. Raise the limit, or \
             use a shorter list.",
            items.len()
        );
        return Err(CallOutcome::failed(ErrorCode::TooLarge, message));
    }
    Ok(items)
}

fn not_a_list(what: &str) -> CallOutcome {
    invalid(format!("The value is {what}, and not a list. Choose a column or a path that leads to a list."))
}

/// Makes rows of items.
struct RowMaker<'a> {
    /// The target columns, each with where its value comes from.
    fields: Vec<(String, Part)>,
    match_on: &'a str,
}

enum Part {
    Item(Path),
    /// The same JSON in all rows.
    Constant(String),
}

/// A row, and the hash of what it is matched by.
struct MadeRow {
    text: String,
    match_key: u64,
}

/// What the rows of a list come to.
struct Measured {
    left_out: usize,
    /// The first of them.
    first: Vec<Json>,
}

impl<'a> RowMaker<'a> {
    fn new(config: &'a FanOut, row: &mut Fill<'_>) -> Result<Self, CallOutcome> {
        let mut fields = Vec::with_capacity(config.mapping.len());
        for (column, text) in &config.mapping {
            let part = match MappedFrom::read(text).map_err(invalid)? {
                MappedFrom::Item(path) => Part::Item(path),
                MappedFrom::Row(text) => Part::Constant(row.json_text(text)),
            };
            fields.push((column.clone(), part));
        }
        Ok(Self { fields, match_on: &config.match_on })
    }

    /// The row of an item; none if it has no value to be matched by.
    fn row(&self, item: &str) -> Option<MadeRow> {
        let mut text = String::from("{");
        let mut match_key_found = None;
        for (column, part) in &self.fields {
            let found;
            let raw = match part {
                Part::Item(path) => {
                    let Some(value) = path.resolve(item) else { continue };
                    found = value;
                    &*found
                }
                Part::Constant(raw) => raw.as_str(),
            };
            // What an item does not have is left as it is in a row that is there already.
            if Value::parse(raw).is_empty() {
                continue;
            }
            if column == self.match_on {
                match_key_found = match_key(raw, MatchCase::Counts);
            }
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Json::from(column.as_str()).to_string());
            text.push(':');
            text.push_str(raw);
        }
        text.push('}');
        match_key_found.map(|match_key| MadeRow { text, match_key })
    }

    /// Looks at all rows before the first is written.
    async fn measured(&self, items: &[&str]) -> Result<Measured, CallOutcome> {
        let mut measured = Measured { left_out: 0, first: Vec::new() };
        let mut matched = HashSet::new();
        let mut bytes = 0_usize;
        for (place, item) in items.iter().enumerate() {
            if place % ITEMS_AT_ONCE == ITEMS_AT_ONCE - 1 {
                tokio::task::yield_now().await;
            }
            let Some(row) = self.row(item).filter(|row| matched.insert(row.match_key)) else {
                measured.left_out += 1;
                continue;
            };
            bytes += row.text.len();
            if bytes > ROWS_BYTES_MAX {
                let message = format!(
                    "The rows would take more than {ROWS_BYTES_MAX} bytes in all. Nothing was written. Map fewer or shorter \
                     values."
                );
                return Err(CallOutcome::failed(ErrorCode::TooLarge, message));
            }
            if measured.first.len() < TRIAL_ROWS_MAX {
                measured.first.push(shown(&row.text));
            }
        }
        Ok(measured)
    }

    /// The rows of the next items; none if there are no more. Of items with the same match value the first counts.
    fn slice<'i>(
        &self,
        items: &mut impl Iterator<Item = &'i &'i str>,
        matched: &mut HashSet<u64>,
    ) -> Vec<String> {
        let mut slice = Vec::new();
        let mut bytes = 0;
        for item in items {
            let Some(row) = self.row(item).filter(|row| matched.insert(row.match_key)) else { continue };
            bytes += row.text.len();
            slice.push(row.text);
            if slice.len() >= SLICE_ROWS_MAX || bytes >= SLICE_BYTES_MAX {
                break;
            }
        }
        slice
    }
}

fn shown(text: &str) -> Json {
    serde_json::from_str(text).unwrap_or_default()
}

fn value(summary: &Json, meta: Meta) -> CallOutcome {
    CallOutcome::Value(summary.to_string().into(), meta)
}

fn refused(refusal: RowRefusal) -> CallOutcome {
    let RowRefusal { error, is_transient } = refusal;
    CallOutcome::Failed(Box::new(CallFailure {
        error,
        is_transient,
        retry_after: None,
        is_unreachable: false,
        meta: Meta::new(),
    }))
}

fn cells_limit(team: TeamId) -> CallLimit {
    CallLimit {
        provider: PROVIDER,
        key: Digest::of(["fan-out", &team_part(team)]),
        rates: Vec::new(),
        at_once_max: CELLS_AT_ONCE,
        has_circuit_breaker: false,
    }
}
