//! Cells that go to their provider in batches, at half the price.
//!
//! ```text
//!   dispatch ── lanes ──▶ collector ── claim, question ──▶ spool (a file) ── upload, create ──▶ provider
//!                             │ open_batch, save_batch                                            │
//!   store ◀── settle ── results ◀── lines ── keeper ◀── take_batch: how does it stand? ◀──────────┘
//! ```
//!
//! - A batch holds its cells as a worker does, under its own id, with a lease that outlives it. So stop, writes by hand
//!   and late results follow the usual rule: without its ticket a result is dropped.
//! - What the store knows of a batch is written before and after every step that costs something. A batch whose creation
//!   was not confirmed is looked for at the provider, and never created twice.
//! - Any node may look after a batch, as a lease. Reading results twice is harmless.

mod cell_name;
mod collector;
mod keeper;
mod results;
mod settling;
mod spool;

pub(crate) use collector::collect_batches;
pub(crate) use keeper::keep_batches;
