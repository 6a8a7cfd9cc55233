//! One cell, from its claim to its result.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rowmill_fairness::Tenant;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, ErrorCode, pricing};
use rowmill_store::{CellResult, Settlement, Ticket};
use rowmill_telemetry::{Span, TraceContext};

use crate::cell_runner::{CallFailure, CallOutcome, Cell};
use crate::cell_span;
use crate::config::Config;
use crate::results::Finished;
use crate::retry::{self, Tries};
use crate::shared::Shared;
use crate::value_check::{self, InvalidValue};

/// Runs a cell and hands in its result.
pub(crate) async fn run(shared: Arc<Shared>, cell: Cell) {
    if let Some(result) = shared.budgets.refusal(cell.ticket, shared.clock.now()) {
        let settlement = Settlement { ticket: cell.ticket, result };
        shared.in_flight.finish(Finished { settlement, project: Some(cell.project) });
        return;
    }
    let tenant = Tenant::team(cell.project.team.0.as_u128());
    let Some(permit) = shared.permits.take(tenant).await else {
        // It is never begun here. Whoever leaves gives back what they hold.
        shared.in_flight.release(cell.ticket);
        return shared.wake.notify_one();
    };
    let mut panic_guard = PanicGuard { shared: &shared, ticket: cell.ticket, is_armed: true };
    let deadline = shared.config.cell_deadline;
    let started = shared.clock.now();
    let span = cell_span::begin(&cell);
    let work = TraceContext::scope(span.as_ref().map(Span::context), shared.runner.call(&cell));
    let mut outcome = tokio::select! {
        biased;
        outcome = tenant.scope(work) => outcome,
        () = shared.clock.sleep(deadline) => timed_out(deadline),
    };
    drop(permit);
    if let Some(incomplete) = cell.incomplete() {
        outcome = incomplete;
    }
    note_list_cost(&shared, &cell, &mut outcome).await;
    shared.claim_ahead.finished();
    panic_guard.is_armed = false;
    let tries = Tries {
        attempts: cell.attempts,
        attempts_max: cell.column.retry.max_attempts,
        since: cell.waiting_since.unwrap_or(started),
    };
    let result = to_cell_result(&shared, &tries, outcome);
    cell_span::end(span, &result);
    let settlement = Settlement { ticket: cell.ticket, result };
    let running = shared.in_flight.finish(Finished { settlement, project: Some(cell.project) });
    if running <= shared.wanted.load(Ordering::Relaxed) {
        shared.wake.notify_one();
    }
}

/// Notes what a try comes to.
async fn note_list_cost(shared: &Shared, cell: &Cell, outcome: &mut CallOutcome) {
    let meta = match outcome {
        CallOutcome::Value(_, meta) | CallOutcome::NoData(meta) => meta,
        CallOutcome::Failed(call_failure) => &mut call_failure.meta,
        // Only a research is paid for before it is put off, and it has noted its prices.
        CallOutcome::Skipped(_) | CallOutcome::Later(..) => return,
    };
    let settings = &shared.budgets.settings;
    let spending = settings.of(&*shared.store, cell.project.team, shared.clock.now()).await;
    pricing::note_list_cost(&spending.settings, meta);
}

fn timed_out(deadline: Duration) -> CallOutcome {
    let message = format!("No result within {} seconds.", deadline.as_secs());
    let error = CellError { code: ErrorCode::TimedOut, message };
    CallOutcome::Failed(Box::new(CallFailure {
        error,
        is_transient: true,
        retry_after: None,
        is_unreachable: false,
        meta: Meta::new(),
    }))
}

/// What is to be written of a try's outcome.
pub(crate) fn to_cell_result(shared: &Shared, tries: &Tries, outcome: CallOutcome) -> CellResult {
    match outcome {
        CallOutcome::Value(raw, meta) => {
            let Config { value_bytes_max, nesting_max, .. } = shared.config;
            let (code, message) = match value_check::refusal(&raw, value_bytes_max, nesting_max) {
                None => return CellResult::Value(raw, meta),
                Some(InvalidValue::TooLong) => (
                    ErrorCode::TooLarge,
                    format!("The result exceeds the limit of {value_bytes_max} bytes for a cell."),
                ),
                Some(InvalidValue::TooDeep) => (
                    ErrorCode::TooLarge,
                    format!("The result exceeds the limit of {nesting_max} nesting levels."),
                ),
                Some(InvalidValue::Nul) => (
                    ErrorCode::InvalidOutput,
                    "The result contains the character U+0000, which a cell cannot store.".to_owned(),
                ),
            };
            CellResult::Failed(CellError { code, message }, meta)
        }
        CallOutcome::NoData(meta) => CellResult::NoData(meta),
        CallOutcome::Skipped(error) => CellResult::Skipped(error),
        CallOutcome::Later(at, cause, paid) => {
            retry::put_off(&shared.config, at, (cause.map(|cause| *cause), paid), tries, shared.clock.now())
        }
        CallOutcome::Failed(call_failure) => {
            let now = shared.clock.now();
            retry::decide(&shared.config, *call_failure, tries, now, &mut shared.random())
        }
    }
}

/// Ends a cell whose call panicked, so that it does not run for ever in everybody's eyes.
struct PanicGuard<'a> {
    shared: &'a Shared,
    ticket: Ticket,
    is_armed: bool,
}

impl Drop for PanicGuard<'_> {
    fn drop(&mut self) {
        if self.is_armed && std::thread::panicking() {
            let message = "An internal error interrupted this cell. See the server log.".to_owned();
            let error = CellError { code: ErrorCode::ProviderError, message };
            let result = CellResult::Failed(error, Meta::new());
            let settlement = Settlement { ticket: self.ticket, result };
            self.shared.in_flight.finish(Finished { settlement, project: None });
            self.shared.wake.notify_one();
        }
    }
}
