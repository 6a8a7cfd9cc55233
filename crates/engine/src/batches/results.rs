//! Reading the results of a batch, line by line, and writing them in groups.

use std::collections::BTreeSet;

use rowmill_model::spending::day_of;
use rowmill_model::{Column, Spent};
use rowmill_providers::Failure;
use rowmill_providers::llm::batch::{BatchApi, BatchResult, RemoteBatch};
use rowmill_store::batches::{Batch, WriteAhead};
use rowmill_store::spending::LedgerEntry;
use rowmill_store::{CellResult, Settlement, StoreError, Ticket};

use super::cell_name::CellName;
use super::settling::{GROUP, ask, lease, result_of, settle};
use crate::cell_runner::BatchCalls;
use crate::shared::Shared;

/// Values that are gathered before they are written.
const GROUP_BYTES: usize = 4 * 1024 * 1024;

/// What a result takes beside its value, roughly.
const RESULT_BYTES: usize = 512;

/// How far reading came.
pub(super) enum Read {
    /// To the end. These cells have no result.
    All(BTreeSet<Ticket>),
    Failed(Failure),
    /// Another node looks after the batch.
    Lost,
}

struct Reading<'a> {
    shared: &'a Shared,
    calls: &'a dyn BatchCalls,
    api: &'a BatchApi,
    column: &'a Column,
    batch: &'a mut Batch,
    /// Cells without a result.
    held: BTreeSet<Ticket>,
    /// Cells that had one already, in this pass.
    seen: BTreeSet<Ticket>,
    results: Vec<Settlement>,
    bytes: usize,
    /// What cells took that were taken away meanwhile.
    late: Spent,
    lines: u64,
    /// Up to here results may have been written and charged before.
    written: u64,
}

/// Reads all results from where somebody came before.
pub(super) async fn read_results(
    shared: &Shared,
    calls: &dyn BatchCalls,
    api: &BatchApi,
    column: &Column,
    batch: &mut Batch,
    remote: &RemoteBatch,
    held: BTreeSet<Ticket>,
) -> Result<Read, StoreError> {
    let skipped = batch.record.lines_read;
    // A question can have an answer and an error. Beyond that, somebody sends without end.
    let lines_max = batch.record.cells.saturating_mul(2).saturating_add(GROUP as u64);
    let ahead = batch.record.write_ahead;
    let mut reading = Reading {
        shared,
        calls,
        api,
        column,
        batch,
        held,
        seen: BTreeSet::new(),
        results: Vec::new(),
        bytes: 0,
        late: ahead.map_or(Spent::NOTHING, |ahead| ahead.late),
        lines: 0,
        written: ahead.map_or(0, |ahead| ahead.lines),
    };
    'all: for place in &remote.results {
        let mut results = match ask(reading.batch, api.results(place)).await {
            Ok(results) => results,
            Err(failure) => return Ok(Read::Failed(failure)),
        };
        loop {
            let line = match results.next().await {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(failure) => {
                    return Ok(if reading.write().await? { Read::Failed(failure) } else { Read::Lost });
                }
            };
            reading.lines += 1;
            if reading.lines > lines_max {
                tracing::warn!(batch = %reading.batch.id, "a provider sent more results than were asked for");
                break 'all;
            }
            if reading.lines <= skipped {
                continue;
            }
            if let Some(result) = line {
                reading.take(result).await;
            }
            let is_enough = reading.results.len() >= GROUP || reading.bytes >= GROUP_BYTES;
            if (is_enough || reading.lines.is_multiple_of(GROUP as u64)) && !reading.write().await? {
                return Ok(Read::Lost);
            }
        }
    }
    let is_kept = reading.write().await?;
    Ok(if is_kept { Read::All(reading.held) } else { Read::Lost })
}

impl Reading<'_> {
    async fn take(&mut self, result: BatchResult) {
        let BatchResult { custom_id, outcome } = result;
        // A name that we did not give is nobody's.
        let Some(name) = CellName::read(&custom_id, self.batch.id, self.batch.lane) else { return };
        if !self.seen.insert(name.ticket) {
            return;
        }
        let record = &self.batch.record;
        let outcome = self.calls.outcome(self.api, (&record.provider, &record.model), self.column, outcome);
        let result = result_of(self.shared, self.batch, self.column, name, outcome).await;
        if self.held.remove(&name.ticket) {
            self.bytes += bytes_of(&result);
            self.results.push(Settlement { ticket: name.ticket, result });
        } else if self.lines > self.written {
            // It comes too late, but it was paid for.
            self.late += result.spent();
        }
    }

    /// Writes what was gathered, and how far it goes. Says whether this node still looks after the batch.
    ///
    /// How far it will go is written before: who finds the batch after a crash does not take a result that was written
    /// for one that came too late.
    async fn write(&mut self) -> Result<bool, StoreError> {
        self.bytes = 0;
        let results = std::mem::take(&mut self.results);
        if !results.is_empty() {
            self.batch.record.write_ahead = Some(WriteAhead { lines: self.lines, late: self.late });
            if !self.save(None).await? {
                return Ok(false);
            }
            self.late += settle(self.shared, self.batch, results).await?;
        }
        let late = std::mem::replace(&mut self.late, Spent::NOTHING);
        let charge = (late != Spent::NOTHING).then(|| LedgerEntry {
            day: day_of(self.shared.clock.now().as_millisecond()),
            column: self.column.id.clone(),
            provider: self.batch.record.provider.clone(),
            person: String::new(),
            spent: late,
            tries: late.usage.attempts,
        });
        self.batch.record.lines_read = self.batch.record.lines_read.max(self.lines);
        self.batch.record.write_ahead = None;
        self.save(charge).await
    }

    async fn save(&self, charge: Option<LedgerEntry>) -> Result<bool, StoreError> {
        let now_ms = self.shared.clock.now().as_millisecond();
        self.shared.store.save_batch(self.batch.clone(), lease(self.shared), now_ms, charge).await
    }
}

/// What a result takes in memory, roughly.
fn bytes_of(result: &CellResult) -> usize {
    match result {
        CellResult::Value(raw, _) => raw.len() + RESULT_BYTES,
        CellResult::Failed(error, _) => error.message.len() + RESULT_BYTES,
        _ => RESULT_BYTES,
    }
}
