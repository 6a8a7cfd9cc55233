//! Fairness between tenants: whom work is for, and a semaphore in which tenants take turns.
//!
//! Wherever work of several teams meets something scarce (readers, child processes, memory) it passes a
//! [`FairSemaphore`]. Whoever asks a thousand times at once then waits behind their own requests, not in
//! front of everybody else's. Work on one thing takes turns by a [`KeyedMutex`], and keeps nobody else waiting.

mod compute;
mod keyed_mutex;
mod semaphore;
mod tenant;

pub use crate::compute::{compute, turn};
pub use crate::keyed_mutex::{KeyGuard, KeyedMutex};
pub use crate::semaphore::{FairSemaphore, Permit};
pub use crate::tenant::Tenant;
