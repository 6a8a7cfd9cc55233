//! How many questions about a project wait for a scan, so that a scan that nobody waits for gives way.

use tokio::sync::watch;

#[derive(Debug)]
pub(crate) struct ScanDemand(watch::Sender<usize>);

impl Default for ScanDemand {
    fn default() -> Self {
        Self(watch::Sender::new(0))
    }
}

impl ScanDemand {
    /// A question waits for as long as it holds what this gives.
    pub(crate) fn join(&self) -> Demand<'_> {
        self.0.send_modify(|count| *count += 1);
        Demand(self)
    }

    /// Waits until a question waits.
    pub(crate) async fn begins(&self) {
        // The sender lives as long as this does.
        let _ = self.0.subscribe().wait_for(|count| *count > 0).await;
    }

    /// Waits until no question waits.
    pub(crate) async fn ends(&self) {
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

/// A question that waits for a scan.
#[derive(Debug)]
pub(crate) struct Demand<'d>(&'d ScanDemand);

impl Drop for Demand<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}
