//! Why a move stops.

use rowmill_store::StoreError;
use rowmill_store::carry::Carry;

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("{0} is both source and target; choose another target")]
    Same(String),
    #[error("{0} is not empty; the target must be an empty database or a new folder")]
    NotEmpty(String),
    #[error(
        "{target} contains an unfinished move from {source_then}: run that move again, or choose another target"
    )]
    OtherSource { target: String, source_then: String },
    #[error(
        "{0} has changed since this move started, so the target is out of date: empty the target and start \
         again while the source is not in use"
    )]
    Changed(String),
    #[error(
        "verification failed: the target differs from the source ({0}). The target stays locked: empty it \
         and start again while the source is not in use"
    )]
    Differs(String),
    #[error("{place} stopped responding: run the same command again to resume")]
    Lost {
        place: String,
        #[source]
        cause: StoreError,
    },
    #[error("{place} cannot be moved")]
    Broken {
        place: String,
        #[source]
        cause: StoreError,
    },
}

pub(crate) type Result<T, E = MoveError> = std::result::Result<T, E>;

/// Says which of the two stores failed.
pub(crate) fn of(store: &dyn Carry) -> impl Fn(StoreError) -> MoveError {
    let place = store.place().to_owned();
    move |cause| {
        let place = place.clone();
        match cause {
            StoreError::Backend(_)
            | StoreError::Unavailable(_)
            | StoreError::InDoubt(_)
            | StoreError::StorageFull(_)
            | StoreError::StorageFailed(_)
            | StoreError::Closed => MoveError::Lost { place, cause },
            _ => MoveError::Broken { place, cause },
        }
    }
}
