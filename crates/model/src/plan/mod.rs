//! What runs next: the state machine of processed cells.
//!
//! A [`Plan`] is a project's columns seen as a graph of what waits for what. A [`Block`] holds the
//! [`Mark`]s of 256 rows. [`RowTransitions`] takes one row of a block through whatever happens to it: a trigger, a
//! stop, a write, a result. Nothing here reads a clock or a database; whoever stores blocks calls it in
//! the transaction that stores what it decides.

mod asking;
mod askings;
pub(crate) mod block;
mod causes;
mod condition;
mod dependencies;
mod ending;
mod judge;
mod left_cells;
pub(crate) mod mark;
mod prompt_inputs;
mod run;
mod tally;
#[cfg(test)]
mod tests;
mod transitions;

pub use askings::{Askings, Redefined, Refiling};
pub use block::{BLOCK_BITS, BLOCK_ROWS, Block, StaleChange, block_of, place_of, position_of};
pub use causes::Causes;
pub use condition::condition_not_met;
pub use dependencies::{Plan, PlanChange};
pub use ending::Ending;
pub use judge::{Verdict, missing_input, missing_prompt_input};
pub use left_cells::{LeftCells, Rehearsal};
pub use mark::{Mark, Phase};
pub use run::{EndedRun, RunTally, StartedBy};
pub use tally::{ColumnTally, RowTally, Tally, WaitsFor};
pub use transitions::{Pick, RowTransitions};
