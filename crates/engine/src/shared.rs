//! What the parts of an engine share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rowmill_clock::Clock;
use rowmill_model::{Project, ProjectId, TeamId};
use rowmill_store::{Claim, Lane, Store, StoreError, WorkerId};
use tokio::sync::Notify;

use crate::batch_lanes::BatchLanes;
use crate::budgets::Budgets;
use crate::cell_permits::CellPermits;
use crate::cell_runner::CellRunner;
use crate::claim_ahead::ClaimAhead;
use crate::config::Config;
use crate::in_flight::InFlightCells;
use crate::liveness::Heartbeat;

/// Cells claimed ahead for each place, at most.
const AHEAD_MAX: usize = 16;
/// Projects whose team is remembered: more than have work at once.
const TEAMS_KNOWN_MAX: usize = 20_000;

/// How many pauses to wait when the disk is the reason.
const STORAGE_PAUSES: u32 = 8;

/// What the parts of an engine have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) runner: Arc<dyn CellRunner>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) config: Config,
    pub(crate) worker: WorkerId,
    pub(crate) in_flight: InFlightCells,
    /// Closed when nothing more is to begin.
    pub(crate) permits: CellPermits,
    pub(crate) claim_ahead: ClaimAhead,
    pub(crate) heartbeat: Heartbeat,
    /// Rung when there may be work, or a place for it.
    pub(crate) wake: Notify,
    /// Rung when it is not known whether this worker still holds all it has.
    pub(crate) recheck: Notify,
    /// While no more cells run than this, a place that falls free is told of.
    pub(crate) wanted: AtomicUsize,
    /// Whose projects are, as far as they were looked at. That never changes.
    pub(crate) team_of: Mutex<HashMap<ProjectId, TeamId>>,
    pub(crate) random: Mutex<fastrand::Rng>,
    pub(crate) budgets: Budgets,
    pub(crate) batch_lanes: BatchLanes,
}

impl Shared {
    /// When this worker is taken for lost, unless it is heard of before.
    pub(crate) fn expires_at_ms(&self) -> i64 {
        let expires_at = self.clock.now().saturating_add(self.config.lease);
        expires_at.unwrap_or(Timestamp::MAX).as_millisecond()
    }

    /// A claim of so many cells as of now.
    pub(crate) fn claim_of(&self, asks: Vec<(Lane, u32)>, bytes_max: usize) -> Claim {
        let (worker, expires_at_ms, now) = (self.worker, self.expires_at_ms(), self.clock.now());
        Claim { worker, expires_at_ms, now, asks, bytes_max }
    }

    /// How many cells of a team may be in hand without a result, running or claimed ahead.
    pub(crate) fn in_flight_max(&self) -> usize {
        let Config { concurrency, .. } = self.config;
        concurrency + self.claim_ahead.ahead(self.clock.now(), AHEAD_MAX * concurrency)
    }

    pub(crate) fn random(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.random.lock()
    }

    /// Says so and waits a little before whatever failed is tried again.
    pub(crate) async fn store_failed(&self, what: &'static str, error: &StoreError) {
        tracing::warn!(what, %error, "database error; retrying");
        // A disk that is full or fails stays so for a while; trying again and again only fills the log.
        let times = if error.is_of_storage() { STORAGE_PAUSES } else { 1 };
        self.clock.sleep(self.config.store_pause * times).await;
    }

    pub(crate) fn teams(&self) -> MutexGuard<'_, HashMap<ProjectId, TeamId>> {
        self.team_of.lock()
    }

    pub(crate) fn know_team(&self, project: &Project) {
        let mut teams = self.teams();
        if teams.len() >= TEAMS_KNOWN_MAX {
            teams.clear();
        }
        teams.insert(project.id, project.team);
    }
}
