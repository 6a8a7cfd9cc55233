//! What an operator can set about processing.

use std::time::Duration;

use crate::batch_config::BatchConfig;

#[derive(Debug, Clone)]
pub struct Config {
    /// Number of cells that run concurrently.
    pub concurrency: usize,
    /// How long a worker may be silent before its cells are given to others.
    pub lease: Duration,
    /// The first wait before a call is tried again; each further one may be twice as long.
    pub retry_base: Duration,
    /// The longest wait that doubling leads to.
    pub retry_max: Duration,
    /// The longest wait a provider can ask for.
    pub retry_after_max: Duration,
    /// Rows handed out by one claim, in bytes.
    pub claim_bytes_max: usize,
    /// Results written by one settlement.
    pub settle_cells_max: usize,
    /// How often the store is asked for work though nothing was heard of any: other nodes queue cells, too.
    pub look_every: Duration,
    /// How long to wait after the store failed.
    pub store_pause: Duration,
    /// The longest a cell may run, whatever it does.
    pub cell_deadline: Duration,
    /// How long, and how often, somebody is tried who cannot be reached at all.
    pub unreachable_max: Duration,
    pub unreachable_attempts_max: u32,
    /// The longest value a cell can have.
    pub value_bytes_max: usize,
    /// How deep a cell's value may nest.
    pub nesting_max: usize,
    pub batch: BatchConfig,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            concurrency: 128,
            lease: Duration::from_secs(30),
            retry_base: Duration::from_secs(1),
            retry_max: Duration::from_mins(1),
            retry_after_max: Duration::from_hours(1),
            claim_bytes_max: 32 * 1024 * 1024,
            settle_cells_max: 2_000,
            look_every: Duration::from_secs(1),
            store_pause: Duration::from_millis(250),
            cell_deadline: Duration::from_mins(15),
            unreachable_max: Duration::from_secs(30),
            unreachable_attempts_max: 3,
            value_bytes_max: 1024 * 1024,
            nesting_max: 64,
            batch: BatchConfig::default(),
        }
    }
}
