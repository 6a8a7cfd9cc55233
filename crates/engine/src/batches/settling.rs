//! Writing what became of the cells of a batch, and giving them back.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::BoxFuture;
use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, Column, Spent, pricing};
use rowmill_providers::Failure;
use rowmill_store::batches::{Batch, BatchLease};
use rowmill_store::{CellResult, Settlement, StoreError, Ticket};
use tokio::task::JoinError;

use super::cell_name::CellName;
use crate::cell_runner::CallOutcome;
use crate::measure::count_settled;
use crate::provider_calls::call_span::in_span_of_team;
use crate::retry::Tries;
use crate::run::to_cell_result;
use crate::shared::Shared;
use crate::time_left::after;

/// For how long a batch holds its cells: longer than any provider keeps results. Whoever looks after it gives them back
/// long before.
const CELLS_HELD_FOR: Duration = Duration::from_hours(30 * 24);
/// Results written by one transaction.
pub(super) const GROUP: usize = 500;
/// Rows that are read at once.
const ROWS_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Until when a batch's cells are its own.
pub(super) fn cells_until_ms(shared: &Shared) -> i64 {
    after(shared.clock.now(), CELLS_HELD_FOR).as_millisecond()
}

/// This node's lease on a batch.
pub(super) fn lease(shared: &Shared) -> BatchLease {
    BatchLease { holder: shared.worker, until_ms: shared.expires_at_ms() }
}

/// The lease of whoever gives a batch back.
pub(super) fn given_back(shared: &Shared) -> BatchLease {
    BatchLease { holder: shared.worker, until_ms: 0 }
}

/// Saves how far a batch has come. Says whether this node still looks after it.
pub(super) async fn save(
    shared: &Shared,
    batch: &Batch,
    lease: BatchLease,
    due_at: Timestamp,
) -> Result<bool, StoreError> {
    shared.store.save_batch(batch.clone(), lease, due_at.as_millisecond(), None).await
}

/// Asks the provider of a batch, within a span. Boxed, because such calls are large.
pub(super) fn ask<'a, T: Send + 'a>(
    batch: &'a Batch,
    asked: impl Future<Output = Result<T, Failure>> + Send + 'a,
) -> BoxFuture<'a, Result<T, Failure>> {
    Box::pin(in_span_of_team(batch.team, &batch.record.provider, Box::pin(asked)))
}

/// Whoever panicked has told what happened, but not where.
pub(super) fn log_panic(ended: Result<(), JoinError>) {
    if let Err(error) = ended {
        tracing::error!(%error, "looking after a batch ended with an error of the program; another try follows");
    }
}

/// The cells that a batch still holds.
pub(super) async fn held(shared: &Shared, batch: &Batch) -> Result<BTreeSet<Ticket>, StoreError> {
    let held = shared.store.heartbeat(batch.worker(), cells_until_ms(shared)).await?;
    Ok(held.into_iter().collect())
}

/// What an outcome makes of its cell. Notes what it cost.
pub(super) async fn result_of(
    shared: &Shared,
    batch: &Batch,
    column: &Column,
    name: CellName,
    mut outcome: CallOutcome,
) -> CellResult {
    let meta = match &mut outcome {
        CallOutcome::Value(_, meta) | CallOutcome::NoData(meta) => Some(meta),
        CallOutcome::Failed(failure) => Some(&mut failure.meta),
        CallOutcome::Skipped(_) | CallOutcome::Later(..) => None,
    };
    let now = shared.clock.now();
    if let Some(meta) = meta {
        let spending = shared.budgets.settings.of(&*shared.store, batch.team, now).await;
        pricing::note_list_cost(&spending.settings, meta);
    }
    let since = name.since_ms.and_then(|since| Timestamp::from_millisecond(since).ok());
    let tries = Tries {
        attempts: name.attempts,
        attempts_max: column.retry.max_attempts,
        since: since.unwrap_or(now),
    };
    to_cell_result(shared, &tries, outcome)
}

/// Writes results of a batch. Says what those took whose cells were taken away.
pub(super) async fn settle(
    shared: &Shared,
    batch: &Batch,
    results: Vec<Settlement>,
) -> Result<Spent, StoreError> {
    if results.is_empty() {
        return Ok(Spent::NOTHING);
    }
    let now_ms = shared.clock.now().as_millisecond();
    let taken = shared.store.settle(batch.worker(), now_ms, results.clone()).await?;
    count_settled(&results, &taken);
    shared.wake.notify_one();
    let mut late = Spent::NOTHING;
    for (settlement, _) in results.iter().zip(taken).filter(|(_, is_taken)| !is_taken) {
        late += settlement.result.spent();
    }
    Ok(late)
}

/// Fails all cells that a batch still holds, each by its own tries.
pub(super) async fn fail_cells(
    shared: &Shared,
    batch: &Batch,
    column: &Column,
    held: &BTreeSet<Ticket>,
    failure: &Failure,
) -> Result<(), StoreError> {
    let tickets: Vec<Ticket> = held.iter().copied().collect();
    for tickets in tickets.chunks(GROUP) {
        let mut waiting: std::collections::BTreeMap<u64, Ticket> =
            tickets.iter().map(|ticket| (ticket.position, *ticket)).collect();
        while !waiting.is_empty() {
            let positions: Vec<u64> = waiting.keys().copied().collect();
            let read =
                shared.store.rows_at_within(batch.lane.project, positions, ROWS_BYTES_MAX.into()).await?;
            if read.rows.is_empty() {
                break;
            }
            let mut results = Vec::with_capacity(read.rows.len());
            for row in read.rows {
                let Some(ticket) = waiting.remove(&row.position) else { continue };
                let attempts = row.states.get(batch.lane.slot).map_or(0, |state| state.attempts);
                let name = CellName { ticket, attempts, since_ms: None };
                let result = result_of(shared, batch, column, name, failure.clone().into()).await;
                results.push(Settlement { ticket, result });
            }
            settle(shared, batch, results).await?;
        }
    }
    Ok(())
}

/// Puts all cells that a batch still holds back until then. No try is counted.
pub(super) async fn put_off(
    shared: &Shared,
    batch: &Batch,
    held: &BTreeSet<Ticket>,
    at: Timestamp,
    error: Option<CellError>,
) -> Result<(), StoreError> {
    let tickets: Vec<Ticket> = held.iter().copied().collect();
    for tickets in tickets.chunks(GROUP) {
        let later = |ticket: &Ticket| {
            let (at_ms, error) = (at.as_millisecond(), error.clone());
            let result = CellResult::Later { at_ms, error, ends_at_ms: None, meta: Meta::new() };
            Settlement { ticket: *ticket, result }
        };
        settle(shared, batch, tickets.iter().map(later).collect()).await?;
    }
    Ok(())
}

/// Forgets a batch, unless another node looks after it. What it still holds is queued again.
pub(super) async fn close(shared: &Shared, batch: &Batch) -> Result<(), StoreError> {
    if shared.store.hold_batch(batch.id, lease(shared)).await? {
        shared.store.leave(batch.worker()).await?;
        shared.store.close_batch(batch.id, shared.worker).await?;
        shared.wake.notify_one();
    }
    Ok(())
}

/// Renews a lease as long as that can be done.
pub(super) async fn keep_lease(shared: &Shared, batch: &Batch) {
    let mut failed_since = None;
    loop {
        shared.clock.sleep(shared.config.lease / 3).await;
        let now = shared.clock.now();
        match shared.store.hold_batch(batch.id, lease(shared)).await {
            Ok(true) => failed_since = None,
            Ok(false) => return,
            Err(error) => {
                tracing::warn!(%error, "could not renew the lease of a batch");
                let since = *failed_since.get_or_insert(now);
                if now.duration_since(since).unsigned_abs() >= shared.config.lease / 2 {
                    return;
                }
            }
        }
    }
}
