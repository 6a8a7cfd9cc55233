//! Starting, stopping and watching runs.

use std::collections::HashSet;

use rowmill_model::estimate::Estimate;
use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::plan::{Pick, StartedBy};
use rowmill_model::record::Slot;
use rowmill_model::table::ColumnNames;
use rowmill_model::{CellStatus, ErrorCode, Offence, ProjectId, RowId, RunId};
use rowmill_store::{ProcessingStatus, Rows, Stop, Stopped, StoredProject, Trigger, Triggered};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::app::App;
use crate::caller::Caller;
use crate::error::{Error, Noun, Result};
use crate::idempotency::IdempotencyKey;
use crate::spending::SpendLimit;
use crate::views::place;

/// Which cells are to run. What is `None` is not asked about.
#[derive(Debug, Clone, Default)]
pub struct TriggerRows {
    /// All rows without it, none if it is empty.
    pub row_ids: Option<Vec<String>>,
    pub column_ids: Option<Vec<String>>,
    pub view_id: Option<String>,
    /// Filters as in a view. They hold together with the view's.
    pub filters: Option<Value>,
    /// It takes the place of the view's.
    pub sorting: Option<Value>,
    /// Text that some cell of a row must contain.
    pub search: Option<String>,
    pub statuses: Option<Vec<CellStatus>>,
    pub error_codes: Option<Vec<ErrorCode>>,
    /// Queue cells in this many rows at most, the first of the view or of the table.
    pub limit: Option<u64>,
    pub force: bool,
    pub mode: TriggerMode,
    /// Whether a person in the browser asks for it.
    pub is_session: bool,
    /// What the run may spend.
    pub spend_limit: Option<SpendLimit>,
    pub once: Option<IdempotencyKey>,
}

/// What a trigger does beside queueing cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TriggerMode {
    #[default]
    Run,
    /// Says what it is likely to take, too, and remembers it with the run.
    EstimatedRun,
    /// Queues nothing, and says what it would take.
    DryRun,
}

/// What a trigger queued.
#[derive(Debug, Clone, PartialEq)]
pub struct TriggeredRows {
    /// Rows with at least one queued cell.
    pub count: u64,
    /// The run they belong to; `None` if nothing was queued.
    pub run: Option<RunId>,
    /// What it is likely to take, if that was asked for.
    pub estimate: Option<Estimate>,
}

/// The same as it is kept for when the answer is given again.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum KeptTrigger {
    Estimated(u64, Option<u64>, Box<Option<Estimate>>),
    /// As earlier versions kept it.
    Run(u64, Option<u64>),
    /// As earlier versions kept it.
    Count(u64),
}

impl TriggerRows {
    /// Whether it is about some rows in some order, and not about all.
    fn selects(&self) -> bool {
        let Self { view_id, filters, sorting, search, .. } = self;
        view_id.is_some() || filters.is_some() || sorting.is_some() || search.is_some()
    }
}

#[derive(Debug, Clone, Default)]
pub struct StopRows {
    pub row_ids: Option<Vec<String>>,
    pub column_ids: Option<Vec<String>>,
    pub once: Option<IdempotencyKey>,
}

/// How many unknown ids are named one by one.
const UNKNOWN_NAMED_MAX: usize = OFFENCES_MAX;

impl App {
    /// Queues cells; says in how many rows, and in which run.
    pub async fn trigger(
        &self,
        caller: Caller,
        project: &str,
        trigger: TriggerRows,
    ) -> Result<TriggeredRows> {
        let once = trigger.once;
        let queue = async || {
            let stored = self.project_to_change(caller, project).await?;
            let (rows, pick) = self.rows_to_run(&stored, &trigger).await?;
            let by = self.starter(caller, trigger.is_session).await?;
            let start = Trigger {
                project: stored.project.id,
                rows,
                pick,
                limit: trigger.limit,
                dry_run: false,
                now_ms: self.clock.now_ms(),
            };
            let mut estimate = None;
            if trigger.mode != TriggerMode::Run {
                // Before anything is queued: what is queued would not run once more.
                let rehearsal = Trigger { dry_run: true, ..start.clone() };
                let rehearsed = self.store.start_run(rehearsal, by.clone()).await?;
                estimate = self.estimate(&stored, &start.rows, &start.pick, &rehearsed).await?;
                if trigger.mode == TriggerMode::DryRun {
                    return Ok(KeptTrigger::Estimated(rehearsed.rows, None, Box::new(estimate)));
                }
            }
            let limit = trigger.spend_limit;
            if let Some(limit) = limit {
                self.cap_run(&stored, limit, None).await?;
            }
            let start = Trigger { now_ms: self.clock.now_ms(), ..start };
            let Triggered { rows, run, .. } = self.store.start_run(start, by).await?;
            if run.is_none() && limit.is_some() {
                self.uncap_next_run(&stored).await?;
            }
            if let Some(run) = run {
                if let Some(limit) = limit {
                    self.cap_run(&stored, limit, Some(run)).await?;
                }
                if let Some(estimate) = &estimate {
                    self.note_estimate(&stored, RunId(run), estimate.clone()).await?;
                }
            }
            Ok(KeptTrigger::Estimated(rows, run, Box::new(estimate)))
        };
        Ok(match self.only_once(once, queue).await? {
            KeptTrigger::Estimated(count, run, estimate) => {
                TriggeredRows { count, run: run.map(RunId), estimate: *estimate }
            }
            KeptTrigger::Run(count, run) => TriggeredRows { count, run: run.map(RunId), estimate: None },
            KeptTrigger::Count(count) => TriggeredRows { count, run: None, estimate: None },
        })
    }

    /// Which rows and cells are meant.
    pub(crate) async fn rows_to_run(
        &self,
        stored: &StoredProject,
        trigger: &TriggerRows,
    ) -> Result<(Rows, Pick)> {
        let slots = trigger.column_ids.as_deref().map(|ids| processed_slots(stored, ids)).transpose()?;
        let named = match &trigger.row_ids {
            Some(ids) => Some(self.known_positions(stored, ids).await?),
            None => None,
        };
        let rows = if trigger.selects() {
            Rows::At(self.selected_positions(stored, trigger, named).await?)
        } else {
            named.map_or(Rows::All, Rows::At)
        };
        let pick = Pick {
            slots,
            statuses: trigger.statuses.clone(),
            error_codes: trigger.error_codes.clone(),
            force: trigger.force,
        };
        Ok((rows, pick))
    }

    /// Who starts a run, by the name of the key.
    pub(crate) async fn starter(&self, caller: Caller, is_session: bool) -> Result<StartedBy> {
        let key = self.store.key(caller.with_key()?.key).await?;
        let name = key.map(|key| key.name).unwrap_or_default();
        Ok(if is_session { StartedBy::Session(name) } else { StartedBy::Key(name) })
    }

    /// Puts what waits or runs back to what it was.
    pub async fn stop(&self, caller: Caller, project: &str, stop: StopRows) -> Result<Stopped> {
        let once = stop.once;
        let (rows, cells) = self
            .only_once(once, async || {
                let stored = self.project_to_change(caller, project).await?;
                let slots = stop.column_ids.as_ref().map(|ids| {
                    let names = ColumnNames::of(&stored.project.table);
                    ids.iter().filter_map(|id| names.get(id)).map(|column| column.slot).collect()
                });
                let rows = match &stop.row_ids {
                    Some(ids) => {
                        let ids = ids.iter().filter_map(|id| RowId::parse(id)).collect();
                        let positions = self.store.positions(stored.project.id, ids).await?;
                        Rows::At(distinct(positions.into_iter().flatten()))
                    }
                    None => Rows::All,
                };
                let stop = Stop { project: stored.project.id, rows, slots, now_ms: self.clock.now_ms() };
                let stopped = self.store.stop(stop).await?;
                Ok((stopped.rows, stopped.cells))
            })
            .await?;
        Ok(Stopped { rows, cells })
    }

    /// The processing status of a project.
    pub async fn standing(&self, caller: Caller, project: &str) -> Result<ProcessingStatus> {
        let Some(id) = ProjectId::parse(project) else {
            // Says what is wrong in the order of all requests: first with the caller.
            self.project(caller, project).await?;
            return Err(Error::NotFound(Noun::Project));
        };
        // All at once: this is asked for again and again, and each question may be a round trip.
        let (readable, status, batches) = tokio::join!(
            self.project(caller, project),
            self.store.processing_status(id),
            self.store.batches(Some(id)),
        );
        readable?;
        let status = status?.ok_or(Error::NotFound(Noun::Project))?;
        Ok(ProcessingStatus { batches: batches?, ..status })
    }

    /// Does `work`, unless its request was carried out before: then its outcome is given again.
    pub(crate) async fn only_once<T: Serialize + DeserializeOwned>(
        &self,
        once: Option<IdempotencyKey>,
        work: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T> {
        let once = self.once(once);
        // The same request sent twice at once: the second waits for the first one's answer.
        let _turn = match &once {
            Some(key) => Some(self.repeating.lock(key.name).await),
            None => None,
        };
        if let Some(outcome) = self.recall(once.as_ref()).await? {
            return Ok(outcome);
        }
        let outcome = work().await?;
        if let Some(once) = once {
            let kept = serde_json::to_string(&outcome).map_err(|error| Error::Internal(error.into()))?;
            self.store.remember(once, kept).await?;
        }
        Ok(outcome)
    }

    /// The positions of rows that must all exist, in the order named.
    async fn known_positions(&self, stored: &StoredProject, ids: &[String]) -> Result<Vec<u64>> {
        let parsed: Vec<Option<RowId>> = ids.iter().map(|id| RowId::parse(id)).collect();
        let known = parsed.iter().copied().flatten().collect();
        let mut found = self.store.positions(stored.project.id, known).await?.into_iter();
        let positions: Vec<Option<u64>> = parsed.iter().map(|id| id.and_then(|_| found.next()?)).collect();
        let unknown = positions.iter().enumerate().filter(|(_, position)| position.is_none());
        let details: Vec<Offence> = unknown
            .take(UNKNOWN_NAMED_MAX)
            .map(|(index, _)| Offence::new(format!("rowIds[{index}]"), "is not a row of this project"))
            .collect();
        if !details.is_empty() {
            return Err(Error::SomeNotFound { noun: Noun::Row, details });
        }
        Ok(distinct(positions.into_iter().flatten()))
    }

    /// The positions of the rows that a run is about, in their order; of those named only, if some are.
    async fn selected_positions(
        &self,
        stored: &StoredProject,
        trigger: &TriggerRows,
        named: Option<Vec<u64>>,
    ) -> Result<Vec<u64>> {
        let TriggerRows { view_id, filters, sorting, search, .. } = trigger;
        let view = match view_id {
            Some(view) => stored.views.get(place(&stored.views, view)?),
            None => None,
        };
        let selection = self.select(stored, view, filters.as_ref(), sorting.as_ref(), search.clone()).await?;
        let mut positions = self.query.positions(stored, selection, self.clock.now()).await?;
        if let Some(named) = named {
            let named: HashSet<u64> = named.into_iter().collect();
            positions.retain(|position| named.contains(position));
        }
        Ok(positions)
    }
}

fn processed_slots(stored: &StoredProject, ids: &[String]) -> Result<Vec<Slot>> {
    let mut unknown = Vec::new();
    let mut by_hand = Vec::new();
    let mut slots = Vec::with_capacity(ids.len());
    let table = &stored.project.table;
    let names = ColumnNames::of(table);
    for (index, id) in ids.iter().enumerate() {
        let path = format!("columnIds[{index}]");
        match names.get(id) {
            Some(column) if column.kind.is_processed() => slots.push(column.slot),
            Some(_) => by_hand.push(Offence::new(path, "is not a processed column")),
            None => {
                let words = table.no_column(id, unknown.len());
                unknown.push(Offence::new(path, words));
            }
        }
    }
    if !unknown.is_empty() {
        return Err(Error::SomeNotFound { noun: Noun::Column, details: unknown });
    }
    if by_hand.is_empty() { Ok(slots) } else { Err(Error::invalid(by_hand)) }
}

fn distinct(positions: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut seen = HashSet::new();
    positions.filter(|position| seen.insert(*position)).collect()
}
