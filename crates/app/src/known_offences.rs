//! What is known to be wrong with a request while the rest of it is checked. So a caller hears of everything at once,
//! whichever step finds it.
//!
//! A use case that takes part calls [`refuse_known`] when all else is checked, and before it does anything.

use rowmill_model::Offence;

use crate::error::{Error, Result};

tokio::task_local! {
    static KNOWN: Vec<Offence>;
}

/// Does something for a request of which this much is known to be wrong, beside what was known before.
pub async fn knowing<T>(known: &[Offence], rest: impl Future<Output = T>) -> T {
    let mut all = KNOWN.try_with(Clone::clone).unwrap_or_default();
    all.extend_from_slice(known);
    KNOWN.scope(all, rest).await
}

/// Fails if something is known to be wrong.
pub(crate) fn refuse_known() -> Result<()> {
    let known = KNOWN.try_with(Clone::clone).unwrap_or_default();
    if known.is_empty() { Ok(()) } else { Err(Error::invalid(known)) }
}
