//! The black-box suite: the real binary over real HTTP.
//!
//! `cargo test -p rowmill --test suite [part of a name]…`
//!
//! A scenario is a function that promises what its name says, from a sentence of the contract. Most share
//! one server, each with a project of its own; those that need other settings, a crash or a stop start
//! their own. Whatever passes through the client is checked against the document that the server itself
//! publishes, and when all scenarios ran, every operation of that document must have been used.
//!
//! `harness` is how: processes, HTTP, the document, the runner. `scenarios` is what.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says how it went"
)]
#![expect(clippy::disallowed_methods, reason = "the suite measures how long a real server takes")]
#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent: json!(…)")]

mod harness;
mod scenarios;

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::runner::run(&scenarios::all())
}
