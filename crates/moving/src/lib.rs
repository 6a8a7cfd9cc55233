//! Everything from one store to another.
//!
//! Section by section and page by page, in a fixed order. Each page is written together with a checkpoint of how far the
//! move has come, so whatever stops it, the next run goes on behind the last page that was written. In the
//! end both stores are read again and compared; only then is the target opened to everybody.

mod blocks;
mod checkpoint;
mod error;
mod mover;
mod pages;
mod report;
#[cfg(test)]
mod tests;
mod verify;

pub use crate::error::MoveError;
pub use crate::mover::carry;
pub use crate::report::{Cells, Moved, OnProgress, Options, Phase, Progress};
