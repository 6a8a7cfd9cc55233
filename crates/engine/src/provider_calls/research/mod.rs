//! Columns that research: a model searches the web and reads pages until it knows the answer, or a limit is near.
//!
//! Each step is recorded before the next one begins (`steps`), and the state is made from the records alone
//! (`transcript`). So a cell that runs again goes on where it was, and no step is paid for twice. `agent` takes the
//! steps, `calls` and `web_search` carry out what the model asks for, `prices` says what that comes to, `answer` reads
//! what it says in the end. `time_limit` says how much time is left, and `failures` counts what failed attempts
//! take of it.

mod addresses;
mod agent;
mod answer;
mod calls;
mod details;
mod failures;
mod instructions;
mod prices;
mod record;
mod steps;
mod task;
#[cfg(test)]
mod tests;
mod time_limit;
mod transcript;
mod web_search;

pub(super) use task::Task;
pub(super) use web_search::{engine_ids, engines};
