//! Reading a store in pages.

use rowmill_model::ProjectId;
use rowmill_store::carry::{CarriedProject, Carry, PageLimit, Section};

use crate::error::{MoveError, Result, of};
use crate::report::Options;

/// Bytes of values read at once.
pub(crate) const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Blocks read at once: one with many columns takes a hundred kilobytes.
pub(crate) const PAGE_BLOCKS_MAX: u32 = 256;

pub(crate) fn page_limit(section: Section, options: Options) -> PageLimit {
    let items = match section {
        Section::Blocks(_) => options.batch_rows.min(PAGE_BLOCKS_MAX),
        _ => options.batch_rows,
    };
    PageLimit { items, bytes: PAGE_BYTES_MAX }
}

/// A project that must be there.
pub(crate) async fn existing(store: &dyn Carry, id: ProjectId) -> Result<CarriedProject> {
    let project = store.project(id).await.map_err(of(store))?;
    project.ok_or_else(|| MoveError::Changed(store.place().to_owned()))
}

pub(crate) fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}
