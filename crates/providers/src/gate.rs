//! The gate: where each request of a finder or the scraper waits for its rate limit.

use async_trait::async_trait;

/// Passed before each call, so that the many calls of one search or one page are all counted.
#[async_trait]
pub trait Gate: Send + Sync {
    async fn acquire(&self);
}

/// An open gate.
#[async_trait]
impl Gate for () {
    async fn acquire(&self) {}
}
