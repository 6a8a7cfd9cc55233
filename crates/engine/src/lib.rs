//! Cells to results: claim, call, retry, govern, write.
//!
//! ```text
//!            changes (listener): wake up, revoked tickets
//!      ┌───────────────────────────────────────────────────┐
//!   store ── lanes, claim ──▶ dispatch ── one task a cell ──▶ run ── call ──▶ Caller (outside)
//!      ▲                        ▲  how many of each lane?     │                 │
//!      │                        └───────── room ──────────────┼──── traffic: governors, breakers
//!      └───────── settle ◀── settler ◀──── outcome, retry ────┘                 │
//!      └───────── heartbeat, requeue_lost ◀── pulse             reuse: calls made once
//! ```
//!
//! - [`Engine`] holds it all together. It keeps nothing that must not be lost: what is queued, running or
//!   waiting for its time stands in the store, and a worker that dies is missed when its lease runs out.
//! - A cell that was stopped, written or deleted is *revoked*: the store tells so before it answers whoever
//!   did it, and the task is aborted there and then. A late result has no ticket any more and is dropped.
//! - [`Caller`] is the seam to the outside: [`Outside`] calls providers, the simulation's answer by seed.
//! - [`Traffic`] says how fast a credential, a host or a column may be called. Cells are claimed only where
//!   there is room, so that the others stay queued; one that finds the way closed after all is put back and
//!   no try is counted. On a database that several nodes share, they take turns.
//! - Time comes from a [`rowmill_providers::Clock`], chance from a seed.

mod breaker;
mod caller;
mod config;
mod credentials;
mod digest;
mod dispatch;
mod engine;
mod fit;
mod governor;
mod others;
mod outside;
mod pace;
mod places;
mod pulse;
mod registry;
mod retry;
mod reuse;
mod run;
mod settler;
mod share;
mod traffic;

pub use caller::{Caller, Cell, Outcome, Room, Trouble};
pub use config::Config;
pub use credentials::{CredentialFrom, Credentials, ProviderCredential, TeamCredentials};
pub use digest::Digest;
pub use engine::Engine;
pub use outside::{Outside, OutsideConfig};
pub use traffic::{Closed, Pass, Post, Traffic};
