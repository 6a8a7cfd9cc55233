//! One cell, from its claim to its result.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rowmill_fairness::Tenant;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, ErrorCode};
use rowmill_store::{CellResult, Settlement, Ticket};

use crate::caller::{Cell, Outcome, Trouble};
use crate::config::Config;
use crate::engine::Shared;
use crate::fit::{self, Unfit};
use crate::retry;
use crate::settler::Finished;

/// Runs a cell and hands in its result.
pub(crate) async fn run(shared: Arc<Shared>, cell: Cell) {
    let tenant = Tenant::team(cell.project.team.0.as_u128());
    let Some(place) = shared.places.take(tenant).await else {
        // It is never begun here. Whoever leaves gives back what they hold.
        shared.registry.let_go(cell.ticket);
        return shared.wake.notify_one();
    };
    let mut broken = Broken { shared: &shared, ticket: cell.ticket, is_armed: true };
    let deadline = shared.config.cell_deadline;
    let outcome = tokio::select! {
        biased;
        outcome = tenant.scope(shared.caller.call(&cell)) => outcome,
        () = shared.clock.sleep(deadline) => late(deadline),
    };
    drop(place);
    shared.pace.finished();
    broken.is_armed = false;
    let result = conclude(&shared, &cell, outcome);
    let settlement = Settlement { ticket: cell.ticket, result };
    let running = shared.registry.finish(Finished { settlement, project: Some(cell.project) });
    if running <= shared.wanted.load(Ordering::Relaxed) {
        shared.wake.notify_one();
    }
}

fn late(deadline: Duration) -> Outcome {
    let message = format!("There was no result within {} seconds.", deadline.as_secs());
    let error = CellError { code: ErrorCode::TimedOut, message };
    Outcome::Failed(Box::new(Trouble { error, may_pass: true, retry_after: None, meta: Meta::new() }))
}

/// What is to be written of a try's outcome.
fn conclude(shared: &Shared, cell: &Cell, outcome: Outcome) -> CellResult {
    match outcome {
        Outcome::Value(raw, meta) => {
            let Config { value_bytes_max, nesting_max, .. } = shared.config;
            let (code, message) = match fit::refusal(&raw, value_bytes_max, nesting_max) {
                None => return CellResult::Value(raw, meta),
                Some(Unfit::TooLong) => (
                    ErrorCode::TooLarge,
                    format!("The result is longer than a cell may be: {value_bytes_max} bytes."),
                ),
                Some(Unfit::TooDeep) => (
                    ErrorCode::TooLarge,
                    format!("The result is nested deeper than a cell may be: {nesting_max} levels."),
                ),
                Some(Unfit::Nul) => (
                    ErrorCode::InvalidOutput,
                    "The result has a character in it that no cell can hold (U+0000).".to_owned(),
                ),
            };
            CellResult::Failed(CellError { code, message }, meta)
        }
        Outcome::NoData(meta) => CellResult::NoData(meta),
        Outcome::Skipped(error) => CellResult::Skipped(error),
        Outcome::Later(at, error) => CellResult::Later(at.as_millisecond().saturating_add(1), error),
        Outcome::Failed(trouble) => {
            let attempts_max = cell.column.retry.max_attempts;
            let now = shared.clock.now();
            let random = &mut shared.random();
            retry::decide(&shared.config, *trouble, cell.attempts, attempts_max, now, random)
        }
    }
}

/// Ends a cell whose call panicked, so that it does not run for ever in everybody's eyes.
struct Broken<'a> {
    shared: &'a Shared,
    ticket: Ticket,
    is_armed: bool,
}

impl Drop for Broken<'_> {
    fn drop(&mut self) {
        if self.is_armed && std::thread::panicking() {
            let message = "The server broke off while it ran this cell.".to_owned();
            let error = CellError { code: ErrorCode::ProviderError, message };
            let result = CellResult::Failed(error, Meta::new());
            let settlement = Settlement { ticket: self.ticket, result };
            self.shared.registry.finish(Finished { settlement, project: None });
            self.shared.wake.notify_one();
        }
    }
}
