//! When a column's fallback is asked, and what the two of them come to.

use jiff::Timestamp;
use rowmill_model::cell::Meta;
use rowmill_model::{CellError, ErrorCode, Paid, Spent};
use serde_json::json;

use crate::cell_runner::{CallFailure, CallOutcome, Cell, busy};
use crate::time_left::time_left;

/// Whether an outcome of the first choice is a case for the fallback. A failure that may pass is not, as long as
/// there are tries left and somebody is there; nor is one of the column itself.
pub(super) fn falls_back(outcome: &CallOutcome, cell: &Cell) -> bool {
    // A trial is tried once.
    let is_last_try = cell.run.is_none() || cell.attempts.saturating_add(1) >= cell.column.retry.max_attempts;
    match outcome {
        CallOutcome::Failed(call_failure) => {
            let CallFailure { error, is_transient, is_unreachable, .. } = call_failure.as_ref();
            error.code != ErrorCode::InvalidInput && (!is_transient || *is_unreachable || is_last_try)
        }
        // It rests because it keeps failing. Who only asked for a pause is waited for.
        CallOutcome::Later(_, Some(cause), _) => cause.error.code != ErrorCode::RateLimited,
        CallOutcome::Later(_, None, _)
        | CallOutcome::Value(..)
        | CallOutcome::NoData(_)
        | CallOutcome::Skipped(_) => false,
    }
}

/// A first choice that failed.
pub(super) struct FirstChoice {
    pub(super) provider: Option<&'static str>,
    pub(super) model: Option<String>,
    pub(super) outcome: CallOutcome,
}

impl FirstChoice {
    /// The outcome of both, with what both took.
    pub(super) fn then(self, second: CallOutcome, now: Timestamp) -> CallOutcome {
        let Self { provider, model, outcome } = self;
        let first = match outcome {
            CallOutcome::Failed(call_failure) => *call_failure,
            CallOutcome::Later(at, Some(cause), meta) => {
                CallFailure { meta, ..later(at, cause.error, cause.is_unreachable, now) }
            }
            _ => return second,
        };
        let (spent, list) = (paid(&first.meta), Paid::of(&first.meta));
        let CellError { code, message } = &first.error;
        let why = json!({"provider": provider, "model": model, "code": code.word(), "message": message});
        match second {
            CallOutcome::Value(raw, mut meta) => {
                charge(&mut meta, spent, list);
                meta.insert("fallbackFrom".to_owned(), why);
                CallOutcome::Value(raw, meta)
            }
            CallOutcome::NoData(mut meta) => {
                charge(&mut meta, spent, list);
                meta.insert("fallbackFrom".to_owned(), why);
                CallOutcome::NoData(meta)
            }
            CallOutcome::Failed(second) => CallOutcome::Failed(Box::new(both(&first, *second, spent))),
            CallOutcome::Later(at, cause, meta) if spent == Spent::NOTHING => {
                CallOutcome::Later(at, cause, meta)
            }
            // To be put back is no try, but this one has been paid for.
            CallOutcome::Later(at, cause, meta) => {
                let is_unreachable = cause.as_ref().is_some_and(|cause| cause.is_unreachable);
                let second = CallFailure { meta, ..later(at, busy(cause), is_unreachable, now) };
                CallOutcome::Failed(Box::new(both(&first, second, spent)))
            }
            skipped @ CallOutcome::Skipped(_) => skipped,
        }
    }
}

fn later(at: Timestamp, error: CellError, is_unreachable: bool, now: Timestamp) -> CallFailure {
    let retry_after = Some(time_left(now, at));
    CallFailure { error, is_transient: true, retry_after, is_unreachable, meta: Meta::new() }
}

/// Both have failed. Another try is worth it if either may succeed then.
fn both(first: &CallFailure, second: CallFailure, spent: Spent) -> CallFailure {
    let mut meta = second.meta;
    charge(&mut meta, spent, Paid::of(&first.meta));
    let code = if second.is_transient && !first.is_transient { second.error.code } else { first.error.code };
    let message = format!("{} The fallback failed, too: {}", first.error.message, second.error.message);
    let waits = [(first.is_transient, first.retry_after), (second.is_transient, second.retry_after)];
    CallFailure {
        error: CellError { code, message },
        is_transient: first.is_transient || second.is_transient,
        retry_after: waits.into_iter().filter_map(|(is_transient, wait)| wait.filter(|_| is_transient)).min(),
        is_unreachable: first.is_unreachable && second.is_unreachable,
        meta,
    }
}

/// What was paid for an outcome.
fn paid(meta: &Meta) -> Spent {
    let mut spent = Spent::of(meta);
    spent.usage.attempts = 0;
    spent
}

/// Adds what the first choice took, and who was paid for it.
fn charge(meta: &mut Meta, spent: Spent, list: Vec<Paid>) {
    if spent == Spent::NOTHING {
        return;
    }
    // The answer itself was reused, but something was paid for this cell.
    if meta.remove("cached").is_some() {
        Spent::forget_tokens(meta);
    }
    let mut total = Spent::of(meta);
    total += spent;
    total.note(meta);
    Paid::note(list, meta);
}
