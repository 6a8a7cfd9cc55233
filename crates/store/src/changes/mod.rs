//! Row changes: what a transaction does to one project's rows, decided once for every database.
//!
//! A store loads what a change needs ([`RowChanges::know`], [`RowChanges::unread`], …), asks for the change
//! ([`RowChanges::insert`], [`RowChanges::settle`], …), and applies the [`WriteSet`] that comes of it. Everything
//! that is kept with rows changes here together: marks, counts, live positions, lookups, claims, and the
//! [`Change`] that listeners are told once it is committed. Nothing here does I/O.
//!
//! `V` is a row's version, for stores that write over rows they read earlier (optimistic concurrency): `()` where
//! one writer holds the database, PostgreSQL's `xmin` where there are many.

mod cells;
mod finish;
mod ledger;
mod live;
mod looks;
mod matched;
mod outbox;
mod parts;
mod places;
mod raw_row;
mod row_changes;
mod rows;
mod take;
mod told_row;
mod trash;
mod write_set;

pub use self::ledger::payments;
pub use self::live::{LIVE_LEVEL_BITS, LiveDelta};
pub use self::looks::Look;
pub use self::matched::{
    LeftoverFields, RowWrites, slots_of, writes_into_guest, writes_into_match, writes_of,
};
pub use self::outbox::{Subscribed, timestamp};
pub use self::parts::{BLOCKS_AT_ONCE, Part, PartDone, Parts, block_after};
pub use self::places::Places;
pub use self::raw_row::{PartRow, RawRow};
pub use self::row_changes::{ProjectAtStart, RowChanges};
pub use self::rows::{GuestRow, writes_by_row};
pub use self::take::CellTaker;
pub use self::trash::{came_back, refreshed};
pub use self::write_set::{CellClaim, Finished, TrashEntry, WriteSet};
