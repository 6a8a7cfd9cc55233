//! What a caller demands of something before it is changed, such as that nobody else changed it. It is asked of what is
//! stored at that moment, and what it was asked of is what is written over: otherwise it is asked again.

use rowmill_store::{StoredProject, StoredRow};

use crate::error::Result;

pub type ProjectGuard<'a> = &'a (dyn Fn(&StoredProject) -> Result<()> + Send + Sync);
pub type RowGuard<'a> = &'a (dyn Fn(&StoredProject, &StoredRow) -> Result<()> + Send + Sync);

/// Asks what is demanded, if anything is.
pub(crate) fn check(guard: Option<ProjectGuard<'_>>, stored: &StoredProject) -> Result<()> {
    guard.map_or(Ok(()), |guard| guard(stored))
}
