//! Where the processing of a project stands.

use std::sync::Arc;

use rowmill_model::Project;
use rowmill_model::plan::{Plan, Tally};

use crate::batches::Batch;

/// The processing status of a project.
#[derive(Debug, Clone)]
pub struct ProcessingStatus {
    pub project: Arc<Project>,
    pub plan: Arc<Plan>,
    pub tally: Tally,
    pub row_count: u64,
    /// When it last changed, in Unix milliseconds; `None` if nothing was ever processed.
    pub updated_at_ms: Option<i64>,
    /// Its batches, oldest first. A store leaves them out: [`BatchStore`](crate::BatchStore) has them.
    pub batches: Vec<Batch>,
}
