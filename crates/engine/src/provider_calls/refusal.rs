//! How a call with a credential ends that brought nothing.

use rowmill_providers::Failure;

use crate::cell_runner::CallOutcome;

/// Why a call brought nothing.
#[derive(Debug, Clone)]
pub(super) enum Refusal {
    /// It failed, or the credential was rejected before.
    Failed(Box<Failure>),
    /// Its turn does not come now.
    PutOff(CallOutcome),
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        Self::Failed(Box::new(failure))
    }
}

impl From<Refusal> for CallOutcome {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Failed(failure) => (*failure).into(),
            Refusal::PutOff(outcome) => outcome,
        }
    }
}
