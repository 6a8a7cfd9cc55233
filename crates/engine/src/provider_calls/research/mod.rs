//! Columns that research: a model searches the web and reads pages until it knows the answer, or a limit is near.
//!
//! Each step is recorded before the next one begins (`steps`), and the state is made from the records alone
//! (`transcript`). So a cell that runs again goes on where it was, and no step is paid for twice. `agent` takes the
//! steps, `calls` and `web_search` carry out what the model asks for, `answer` reads what it says in the end.

mod addresses;
mod agent;
mod answer;
mod calls;
mod details;
mod instructions;
mod record;
mod steps;
mod task;
#[cfg(test)]
mod tests;
mod transcript;
mod web_search;

pub(super) use task::Task;
