//! Several nodes on one database.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clocks;
mod opening;
mod rows;
mod setup;
mod wide_values;
mod work;
