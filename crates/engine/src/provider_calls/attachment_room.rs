//! Room for files that are held in memory while a model is asked.

use std::sync::Arc;

use rowmill_fairness::FairSemaphore;

/// Cells with files at the same time: of all teams, and of one.
const CELLS_MAX: usize = 6;
const TEAM_CELLS_MAX: usize = 4;

/// One permit is the room for the files of one cell.
pub(super) fn attachment_room() -> Arc<FairSemaphore> {
    FairSemaphore::new(CELLS_MAX, TEAM_CELLS_MAX)
}
