//! Rows in a view's order: filter, sort, page.
//!
//! What an operator or a sort key means is said once, in `model`. Here it is applied. Without filters and
//! sorting a page comes straight from the store. With them, the columns they look at are held in memory and
//! kept current by the changes the store tells of (`project_cache.rs`); a selection is a bitmap of the rows that match
//! (`plan.rs`, `bulk_filter.rs`) and their numbers in order (`order.rs`), kept while somebody asks for it
//! (`order_cache.rs`). What does not fit into memory is scanned instead (`stream.rs`).

mod asked;
mod asked_log;
mod blocking;
mod budget;
mod bulk_filter;
mod cache_loader;
mod change_log;
mod chunked_list;
mod column;
mod cursor;
mod find;
mod groups;
mod load;
mod order;
mod order_cache;
mod page;
mod parallel;
mod place;
mod plan;
mod project_cache;
mod query;
mod ranks;
mod rest;
mod run_assembly;
mod scan;
mod scan_demand;
mod selection;
mod snapshot;
mod stream;
mod summary;
mod top_k;
mod value_column;
mod value_sort;
mod values;
mod waiting_columns;
mod warm_load;
mod warm_up;
mod whole_order;

#[cfg(test)]
mod tests;

pub use crate::budget::Budget;
pub use crate::cursor::Cursor;
pub use crate::find::{Find, FindDirection, FindFrom, Found, FoundCell};
pub use crate::groups::{Group, GroupBy, GroupTally, Groups};
pub use crate::page::{Page, PageOf, Part, Start};
pub use crate::query::Query;
pub use crate::rest::{Rest, SLICE_BYTES};
pub use crate::selection::Selection;
pub use crate::summary::Summaries;
pub use crate::warm_up::WarmedUp;
