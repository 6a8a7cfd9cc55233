//! The type of a column's values: how they are shown, edited, checked, sorted and filtered.
//!
//! A format never changes what is stored. It says how a stored value is *read*: `"$1,200"` in a currency column is the
//! number 1200, `"yes"` in a checkbox column is true. A value that cannot be read so is kept, and is a misfit. What
//! each type reads is written once, in `reading.rs`; filters, sorting and the check of strict columns ask it. The web app
//! reads values, too; `cases.json` is the test of both.

mod amount;
mod calendar;
mod choice;
mod contact;
mod currency;
mod definition;
mod guess;
mod options;
mod order;
mod reading;
mod settings;

pub use definition::{
    DECIMALS_MAX, DateStyle, Format, FormatType, OPTION_CHARS_MAX, OPTIONS_MAX, RATING_MAX,
};
pub use guess::{GUESS_VALUES_MAX, Guess, guess};
pub use options::{OptionColor, SelectOption, SelectOptions};
pub use order::TypedOrder;
pub use reading::Reading;

#[cfg(test)]
mod tests;
