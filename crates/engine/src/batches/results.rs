//! Reading the results of a batch, line by line, and writing them in groups.

use std::collections::BTreeSet;

use rowmill_model::{Column, Spent};
use rowmill_providers::Failure;
use rowmill_providers::llm::batch::{BatchApi, BatchResult, RemoteBatch};
use rowmill_store::batches::Batch;
use rowmill_store::spending::LedgerEntry;
use rowmill_store::{CellResult, Settlement, StoreError, Ticket};

use super::cell_name::CellName;
use super::settling::{GROUP, lease, result_of, settle};
use crate::cell_runner::BatchCalls;
use crate::shared::Shared;

/// Values that are gathered before they are written.
const GROUP_BYTES: usize = 4 * 1024 * 1024;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

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
        late: Spent::NOTHING,
        lines: 0,
    };
    for place in &remote.results {
        let mut results = match api.results(place).await {
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
        } else {
            // It comes too late, but it was paid for.
            self.late += result.spent();
        }
    }

    /// Writes what was gathered, and how far it goes. Says whether this node still looks after the batch.
    async fn write(&mut self) -> Result<bool, StoreError> {
        self.bytes = 0;
        settle(self.shared, self.batch, std::mem::take(&mut self.results)).await?;
        let late = std::mem::replace(&mut self.late, Spent::NOTHING);
        let now_ms = self.shared.clock.now().as_millisecond();
        if late != Spent::NOTHING {
            let entry = LedgerEntry {
                day: now_ms.div_euclid(DAY_MS),
                column: self.column.id.clone(),
                provider: self.batch.record.provider.clone(),
                person: String::new(),
                spent: late,
                tries: late.usage.attempts,
            };
            self.shared.store.charge(self.batch.team, self.batch.lane.project, entry).await?;
        }
        self.batch.record.lines_read = self.batch.record.lines_read.max(self.lines);
        self.shared.store.save_batch(self.batch.clone(), lease(self.shared), now_ms).await
    }
}

/// What a result takes in memory, roughly.
fn bytes_of(result: &CellResult) -> usize {
    match result {
        CellResult::Value(raw, _) => raw.len(),
        _ => 512,
    }
}
