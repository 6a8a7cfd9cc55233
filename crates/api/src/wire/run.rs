//! Runs on the wire: what is to run, what is to stop, and where things stand.

use std::collections::BTreeMap;

use rowmill_app::{
    Batch, BatchState, IdempotencyKey, ProcessingStatus, SpendLimit, StopRows, TriggerMode, TriggerRows,
};
use rowmill_model::estimate::BATCH_SECONDS_MAX;
use rowmill_model::plan::{RunTally, Tally, WaitsFor};
use rowmill_model::{Amount, CellError, CellStatus, ColumnType, ErrorCode, Project, RunId, Spent};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::filter::{FiltersSchema, SortingSchema, exact_filters};
use super::spending::SpendLimitBody;
use super::{present, timestamp};

/// Which cells to run. An empty object runs all that can run.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct TriggerBody {
    /// Only these rows; an empty array means none. An unknown id returns 404 and nothing is queued.
    #[schemars(with = "Vec<String>", extend("x-limit" = { "maxItems": "rowIdsMax" }))]
    row_ids: Option<Vec<String>>,
    /// Also run completed and manual cells.
    force: bool,
    /// Only these columns, by id or header.
    #[schemars(with = "Vec<String>", extend("x-limit" = { "maxItems": "columnsMax" }))]
    column_ids: Option<Vec<String>>,
    /// Return only the rows of this view, in its order.
    #[schemars(with = "String", extend("x-document" = { "maxLength": 64 }))]
    view_id: Option<String>,
    /// Only rows that match these filters, as in a view. They are combined with the view's filters (AND).
    #[serde(deserialize_with = "exact_filters")]
    #[schemars(with = "FiltersSchema", extend("x-unchecked" = true))]
    filters: Option<Value>,
    /// Sorting, as in a view. It replaces the view's sorting.
    #[serde(deserialize_with = "present")]
    #[schemars(with = "SortingSchema", extend("x-unchecked" = true))]
    sorting: Option<Value>,
    /// Return only rows with a cell that contains this text.
    #[schemars(with = "String", length(max = 1_000))]
    search: Option<String>,
    /// Only cells with one of these statuses.
    #[schemars(with = "Vec<CellStatus>", length(max = 6))]
    statuses: Option<Vec<CellStatus>>,
    /// Only cells with one of these error codes.
    #[schemars(with = "Vec<ErrorCode>", length(max = 15))]
    error_codes: Option<Vec<ErrorCode>>,
    /// Maximum number of rows to run.
    #[schemars(with = "u64", range(min = 1, max = 1_000_000_000))]
    limit: Option<u64>,
    /// Only return how many rows would run, and what they are likely to take.
    dry_run: bool,
    /// Return what the run is likely to take, and keep it with the run, to be compared with what it took.
    estimate: bool,
    /// What the run may spend. It takes the place of the limit that the current run has.
    #[schemars(with = "SpendLimitBody")]
    spend_limit: Option<SpendLimitBody>,
}

impl TriggerBody {
    pub(crate) fn into_trigger(self, once: Option<IdempotencyKey>) -> TriggerRows {
        TriggerRows {
            row_ids: self.row_ids,
            column_ids: self.column_ids,
            view_id: self.view_id,
            filters: self.filters,
            sorting: self.sorting,
            search: self.search,
            statuses: self.statuses,
            error_codes: self.error_codes,
            limit: self.limit,
            force: self.force,
            mode: match (self.dry_run, self.estimate) {
                (true, _) => TriggerMode::DryRun,
                (false, true) => TriggerMode::EstimatedRun,
                (false, false) => TriggerMode::Run,
            },
            is_session: false,
            spend_limit: self.spend_limit.map(SpendLimit::from),
            once,
        }
    }
}

/// What to stop. An empty object stops everything.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct StopBody {
    /// Only these rows; an empty array means none. Unknown ids are ignored.
    #[schemars(with = "Vec<String>", extend("x-limit" = { "maxItems": "rowIdsMax" }))]
    row_ids: Option<Vec<String>>,
    /// Only these columns, by id or header. Unknown ones are ignored.
    #[schemars(with = "Vec<String>", extend("x-limit" = { "maxItems": "columnsMax" }))]
    column_ids: Option<Vec<String>>,
}

impl StopBody {
    pub(crate) fn into_stop(self, once: Option<IdempotencyKey>) -> StopRows {
        StopRows { row_ids: self.row_ids, column_ids: self.column_ids, once }
    }
}

/// The processing status of a project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Status {
    rows: RowCounts,
    /// The processed columns, by id.
    columns: BTreeMap<String, ColumnCounts>,
    /// Whether any cell is waiting or running.
    processing: bool,
    /// The current run, or the last one if none is running. Omitted before the first run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunCounts")]
    run: Option<RunCounts>,
    /// The id of that run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", length(max = 64))]
    run_id: Option<String>,
    /// Batches of columns with `processing: "batch"` that are not over, oldest first. Omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    batches: Vec<BatchStatus>,
    #[schemars(extend("format" = "date-time"))]
    updated_at: String,
}

/// Cells that were sent to a provider together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct BatchStatus {
    #[schemars(length(max = 64))]
    column_id: String,
    state: BatchStateOut,
    /// How many cells were sent; 0 while they are collected.
    cells: u64,
    /// When its first cell was taken.
    #[schemars(extend("format" = "date-time"))]
    since: String,
    /// When the provider wants to be done. Omitted before it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", extend("format" = "date-time"))]
    until: Option<String>,
}

/// `preparing`: cells are collected and sent. `waiting`: the provider works on it. `cancelling`: it was stopped, and the
/// provider has been asked to do no more.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum BatchStateOut {
    Preparing,
    Waiting,
    Cancelling,
}

impl BatchStatus {
    fn of(project: &Project, batch: &Batch) -> Option<Self> {
        let column = project.table.columns.iter().find(|column| column.slot == batch.lane.slot)?;
        let record = &batch.record;
        let state = match record.state {
            _ if record.cancelled_at_ms.is_some() => BatchStateOut::Cancelling,
            BatchState::Preparing | BatchState::Creating => BatchStateOut::Preparing,
            BatchState::Waiting => BatchStateOut::Waiting,
        };
        let allowed_ms = i64::try_from(BATCH_SECONDS_MAX * 1_000).unwrap_or(i64::MAX);
        Some(Self {
            column_id: column.id.to_string(),
            state,
            cells: record.cells,
            since: timestamp(record.since_ms),
            until: record.sent_at_ms.map(|sent_at_ms| timestamp(sent_at_ms.saturating_add(allowed_ms))),
        })
    }
}

/// Number of rows in each state. Each row counts once, in the first state that applies: generating, queued,
/// error, idle (a processed cell never ran), complete.
#[derive(Debug, Serialize, JsonSchema)]
struct RowCounts {
    total: u64,
    idle: u64,
    queued: u64,
    generating: u64,
    complete: u64,
    error: u64,
}

/// Number of cells of a column in each state.
#[derive(Debug, Serialize, JsonSchema)]
struct ColumnCounts {
    #[schemars(length(max = 255))]
    header: String,
    #[serde(rename = "type")]
    kind: ColumnType,
    idle: u64,
    queued: u64,
    generating: u64,
    complete: u64,
    error: u64,
    skipped: u64,
    /// Completed cells that are out of date (`stale`). They are part of `complete`.
    stale: u64,
}

/// The results of a run so far. A run starts when a cell is queued while none is waiting or running, and lasts
/// while any is.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct RunCounts {
    /// All cells of the run: waiting, running, and finished in one of the ways below.
    cells: u64,
    /// Completed with a value.
    done: u64,
    /// Completed without a result (`no_data`).
    empty: u64,
    failed: u64,
    skipped: u64,
    /// Stopped before they finished.
    stopped: u64,
    /// Cost in US dollars, as reported by providers. Omitted if none reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    cost: Option<f64>,
    /// Cost in US dollars by the price list, of calls for which no provider reported it. Omitted if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    list_cost: Option<f64>,
    /// Provider credits used, as reported by providers. Omitted if none reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", range(min = 0))]
    credits: Option<f64>,
    /// What cells wait for that are tried again. Omitted if none waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RunWaiting")]
    waiting: Option<RunWaiting>,
}

/// What the cells of a run wait for.
#[derive(Debug, Serialize, JsonSchema)]
struct RunWaiting {
    /// How many cells wait for another try. At a spending cap: all queued cells of the columns that it holds back.
    cells: u64,
    /// How the last try failed.
    reason: CellError,
    /// When the next try is. At a spending cap: when the cap begins again, if it does by itself.
    #[schemars(extend("format" = "date-time"))]
    until: String,
}

impl RunWaiting {
    fn of(tally: &Tally) -> Option<Self> {
        let (cells, WaitsFor { error, until_ms, .. }) = tally.waiting()?;
        Some(Self { cells, reason: error.clone(), until: timestamp(*until_ms) })
    }
}

impl RunCounts {
    fn of(tally: &Tally) -> Option<Self> {
        let run = tally.run();
        let RunTally {
            done,
            empty,
            failed,
            skipped,
            stopped,
            spent: Spent { cost, list_cost, credits, usage: _ },
            failures: _,
            skips: _,
        } = run;
        tally.has_run().then(|| Self {
            cells: tally.pending() + run.ended(),
            done,
            empty,
            failed,
            skipped,
            stopped,
            cost: cost.map(Amount::number),
            list_cost: list_cost.map(Amount::number),
            credits: credits.map(Amount::number),
            waiting: RunWaiting::of(tally),
        })
    }
}

impl Status {
    pub(crate) fn new(standing: &ProcessingStatus) -> Self {
        let ProcessingStatus { project, plan, tally, row_count, updated_at_ms, batches } = standing;
        let rows = tally.rows(plan, *row_count);
        let processed = project.table.columns.iter().filter(|column| column.kind.is_processed());
        let columns = processed.map(|column| {
            let cells = tally.column(column.slot, *row_count);
            let counts = ColumnCounts {
                header: column.header.clone(),
                kind: column.kind,
                idle: cells.idle,
                queued: cells.queued,
                generating: cells.generating,
                complete: cells.completed,
                error: cells.error,
                skipped: cells.skipped,
                stale: cells.stale,
            };
            (column.id.to_string(), counts)
        });
        let run = RunCounts::of(tally);
        let run_id = run.as_ref().map(|_| RunId(tally.run_number()).to_string());
        Self {
            rows: RowCounts {
                total: rows.total,
                idle: rows.idle,
                queued: rows.queued,
                generating: rows.generating,
                complete: rows.complete,
                error: rows.error,
            },
            columns: columns.collect(),
            processing: tally.is_processing(),
            run,
            run_id,
            batches: batches.iter().filter_map(|batch| BatchStatus::of(project, batch)).collect(),
            updated_at: timestamp(updated_at_ms.unwrap_or(project.updated_at_ms)),
        }
    }
}
