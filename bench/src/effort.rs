//! How much is measured.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Part {
    Inserts,
    Pages,
    Cells,
    Deletes,
    Start,
    Webhook,
    /// Outbound webhooks.
    WebhooksOut,
    Processing,
    /// Only on PostgreSQL.
    Nodes,
    Views,
    /// Rows matched on a column.
    Matching,
    /// Rows with large values.
    Wide,
    /// A quiet team beside noisy ones.
    Fairness,
    /// Three nodes, `PgBouncer` and `HAProxy` with a large table. Only if it is named, and only on PostgreSQL.
    Scale,
}

/// How long and how often to measure, and what.
#[derive(Debug, Clone)]
pub(crate) struct Effort {
    pub(crate) only: Vec<Part>,
    /// Numbers of nodes; all if there are none.
    pub(crate) nodes: Vec<usize>,
    pub(crate) rounds: usize,
    pub(crate) round_time: Duration,
    /// Rows inserted by one side before it is the other's turn.
    pub(crate) round_rows: usize,
    pub(crate) starts: usize,
    /// Webhook deliveries in one round.
    pub(crate) round_deliveries: usize,
}

impl Effort {
    pub(crate) fn full(only: Vec<Part>, nodes: Vec<usize>) -> Self {
        Self {
            only,
            nodes,
            rounds: 5,
            round_time: Duration::from_secs(1),
            round_rows: 100_000,
            starts: 5,
            round_deliveries: 10_000,
        }
    }

    pub(crate) fn quick(only: Vec<Part>, nodes: Vec<usize>) -> Self {
        Self {
            only,
            nodes,
            rounds: 1,
            round_time: Duration::from_millis(200),
            round_rows: 20_000,
            starts: 1,
            round_deliveries: 1_000,
        }
    }

    pub(crate) fn includes(&self, part: Part) -> bool {
        self.only.is_empty() || self.only.contains(&part)
    }
}
