//! Filters: which rows a view shows, a condition lets run, a list returns.
//!
//! A filter looks at one cell; groups combine filters. [`Filters`] is the document as it is sent and
//! stored, [`Predicate`] the same made ready to ask of rows. What each operator means is written once,
//! in `check.rs`.

mod check;
pub(crate) mod document;
mod operand;
mod operator;
mod pattern;
mod predicate;
mod reader;
mod search;
mod within;

pub use check::PlainTest;
pub use document::{Conjunction, Filter, FilterNode, Filters};
pub use operand::{Measure, SizeTest};
pub use operator::Operator;
pub use pattern::Pattern;
pub use predicate::{Leaf, Node, Predicate, Test};
pub use reader::{COLUMN_ID_CHARS_MAX, TIME_ZONE_CHARS_MAX};
pub use search::Search;

#[cfg(test)]
mod tests;
