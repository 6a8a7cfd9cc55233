//! What an operator can set about batches.

use std::time::Duration;

#[derive(Debug, Clone)]
pub struct BatchConfig {
    /// Cells in one batch; no more than its provider takes.
    pub requests_max: usize,
    /// Bytes of the questions in one batch; no more than its provider takes.
    pub bytes_max: u64,
    /// How long cells are collected before a batch is made of them.
    pub collect: Duration,
    /// How long to wait before a provider is first asked how a batch stands. The waits grow to twenty times as long.
    pub poll: Duration,
    /// How long a batch is looked for whose creation was not confirmed, before it is taken not to exist.
    pub doubt: Duration,
    /// How long a batch may take before it is given up.
    pub wait_max: Duration,
}

impl Default for BatchConfig {
    fn default() -> Self {
        Self {
            requests_max: 50_000,
            bytes_max: 200 * 1024 * 1024,
            collect: Duration::from_secs(15),
            poll: Duration::from_secs(30),
            doubt: Duration::from_mins(10),
            wait_max: Duration::from_hours(26),
        }
    }
}
