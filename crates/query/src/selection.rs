//! A selection: which rows a read asks for, and in which order.

use rowmill_model::filter::Filters;
use rowmill_model::sort::Sorting;

/// Which rows, in which order.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    pub filters: Filters,
    pub sorting: Sorting,
    /// Text that some cell of the row must contain.
    pub search: Option<String>,
}

impl Selection {
    pub(crate) fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.sorting.is_empty() && self.search.as_deref().is_none_or(str::is_empty)
    }
}
