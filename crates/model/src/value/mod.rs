//! A cell's value: raw JSON text, looked at without being rewritten.
//!
//! Values are stored and handed on as the text they came in, so numbers keep their digits. What the
//! rest of the crate needs to know of one is asked here: its kind, its text, whether it is empty,
//! whether two are the same.

mod canonical;
mod cell_value;
pub mod date;
mod kind;
mod long_numbers;
mod matching;
pub mod number;
pub(crate) mod raw;
mod strings;
mod tree;

pub(crate) use canonical::canonical;
pub use canonical::same;
#[cfg(test)]
pub(crate) use cell_value::FOLDED_BYTES;
pub use cell_value::{Value, fold};
pub use date::Date;
pub use kind::Kind;
pub use long_numbers::quote_long_numbers;
pub use matching::{MatchCase, match_key, matches};
pub use number::Number;
pub use raw::{elements, member, members, with_members};
pub use strings::replace_strings;
