//! Whether the disk takes writes. Readiness is told from it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{Result, StoreError};

/// How often a store that cannot be written to is tried, at most.
const PROBE_EVERY: Duration = Duration::from_secs(2);

/// How the last write ended, as far as the disk is concerned.
#[derive(Debug, Default)]
pub struct WriteHealth(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    fault: Option<StoreError>,
    probed_at: Option<Instant>,
}

impl WriteHealth {
    /// Notes how a write ended. Failures that have nothing to do with the disk change nothing.
    pub fn note<T>(&self, outcome: &Result<T>) {
        match outcome {
            Ok(_) => self.state().fault = None,
            Err(failure) if failure.is_of_storage() => self.state().fault = Some(failure.again()),
            Err(_) => {}
        }
    }

    /// Why the last write failed, if the disk is the reason.
    pub fn check(&self) -> Result<()> {
        self.state().fault.as_ref().map_or(Ok(()), |fault| Err(fault.again()))
    }

    /// Whether somebody should try now whether writes succeed again. Says so once in a while.
    pub fn wants_probe(&self, now: Instant) -> bool {
        let mut state = self.state();
        let is_due = state.probed_at.is_none_or(|at| now.saturating_duration_since(at) >= PROBE_EVERY);
        if state.fault.is_none() || !is_due {
            return false;
        }
        state.probed_at = Some(now);
        true
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "any moment will do")]
    fn a_fault_lasts_until_a_write_succeeds_and_is_probed_now_and_then() {
        let (health, now) = (WriteHealth::default(), Instant::now());
        health.note::<()>(&Err(StoreError::Stale));
        assert!(health.check().is_ok() && !health.wants_probe(now));
        health.note::<()>(&Err(StoreError::StorageFull("no space left".into())));
        assert!(matches!(health.check(), Err(StoreError::StorageFull(_))));
        assert!(health.wants_probe(now) && !health.wants_probe(now));
        assert!(health.wants_probe(now + PROBE_EVERY));
        health.note::<()>(&Err(StoreError::Stale));
        assert!(health.check().is_err());
        health.note(&Ok(()));
        assert!(health.check().is_ok() && !health.wants_probe(now + 2 * PROBE_EVERY));
    }
}
