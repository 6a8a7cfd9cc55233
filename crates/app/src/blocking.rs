//! Work that would hold up other requests.

use tokio::runtime::{Handle, RuntimeFlavor};

/// What is larger than this is worked through off the threads that serve requests: at 1 GB/s it takes 64 µs, which
/// is what handing it over takes.
const INLINE_BYTES_MAX: usize = 64 * 1024;

/// Does `work` on so many bytes. Where they are many, the other requests of this thread go on elsewhere meanwhile.
pub fn off_async<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    let can_hand_over =
        Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    if bytes > INLINE_BYTES_MAX && can_hand_over { tokio::task::block_in_place(work) } else { work() }
}

/// How long some work takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Quick,
    /// It compiles patterns, which takes a while.
    Patterns,
}

impl Effort {
    pub(crate) fn with_patterns(has_patterns: bool) -> Self {
        if has_patterns { Self::Patterns } else { Self::Quick }
    }
}

/// Does `work`. If it takes a while, tenants take turns at it, and the other requests of this thread go on elsewhere.
pub(crate) async fn in_turn<T>(effort: Effort, work: impl FnOnce() -> T) -> T {
    match effort {
        Effort::Quick => work(),
        Effort::Patterns => {
            let _turn = rowmill_fairness::turn().await;
            off_async(usize::MAX, work)
        }
    }
}
