//! Attempts of a research that fail: what they take counts towards `maxSeconds`, and so do the waits between them.

use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::ErrorCode;

use super::super::ProviderCalls;
use super::record::Record;
use super::steps::Steps;
use super::task::Task;
use super::transcript::Transcript;
use crate::cell_runner::{CallFailure, CallOutcome};

/// The longest wait that counts as one between two attempts. Behind a longer one the server was stopped, or the provider
/// asked for it.
const WAIT_MAX: Duration = Duration::from_mins(1);

impl ProviderCalls {
    /// Goes through what was recorded before, and counts the wait since an attempt failed.
    pub(super) async fn resume(
        &self,
        task: &Task<'_>,
        records: Vec<Record>,
        transcript: &mut Transcript,
        steps: &mut Steps<'_>,
    ) {
        let run = task.cell.run;
        let is_own = |record: &Record| match record {
            Record::Failed { run: of, .. } | Record::Waited { run: of, .. } => *of == run,
            Record::Turn(_) | Record::Called(_) | Record::Charged => true,
        };
        let last = records.iter().rev().find(|record| !matches!(record, Record::Charged));
        let failed_at_ms = match last {
            Some(Record::Failed { at_ms, .. }) => Some(*at_ms),
            _ => None,
        };
        // The failures of a run before this one are over.
        let failed_at_ms = failed_at_ms.filter(|_| last.is_some_and(is_own));
        records.into_iter().filter(is_own).for_each(|record| transcript.apply(record));
        if let Some(at_ms) = failed_at_ms {
            let waited = self.now().as_millisecond().saturating_sub(at_ms);
            let millis = u64::try_from(waited).unwrap_or_default().min(millis(WAIT_MAX));
            let record = Record::Waited { millis, run };
            steps.add(&record).await;
            transcript.apply(record);
        }
    }

    /// Counts an attempt that failed. Where no time is left for another one, it was the last.
    pub(super) async fn count_failure(
        &self,
        task: &Task<'_>,
        (begun, millis_before): (Timestamp, u64),
        transcript: &mut Transcript,
        steps: &mut Steps<'_>,
        failure: CallFailure,
    ) -> CallFailure {
        if !failure.is_transient {
            return failure;
        }
        let was_last_turn = transcript.pending().is_none()
            && (transcript.last.is_some() || transcript.is_near(task.limits, &task.prices).is_some());
        let took = millis(self.now().duration_since(begun).unsigned_abs());
        let in_steps = transcript.used.millis.saturating_sub(millis_before);
        let record = Record::Failed {
            millis: took.saturating_sub(in_steps),
            at_ms: self.now().as_millisecond(),
            run: task.cell.run,
        };
        steps.add(&record).await;
        transcript.apply(record);
        let time = transcript.time(task.limits);
        let is_over =
            if transcript.used.steps == 0 { time.is_near() } else { was_last_turn && time.is_over() };
        if !is_over {
            return failure;
        }
        let mut failure = CallFailure { is_transient: false, ..failure };
        failure.error.message.push_str(" The research has no time left for another try (`maxSeconds`).");
        failure
    }
}

/// All the time went into attempts that failed: there is nothing to answer from.
pub(super) fn time_over(task: &Task<'_>) -> CallOutcome {
    let words = format!(
        "The research took longer than {} seconds (`maxSeconds`), all of them in attempts that failed. Run the cell \
         again later, or raise the limit in the column settings.",
        task.limits.max_seconds
    );
    CallOutcome::failed(ErrorCode::TimedOut, words)
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
