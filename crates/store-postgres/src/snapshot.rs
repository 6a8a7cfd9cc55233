//! A snapshot that stays readable: one transaction, open while a client reads.

use async_trait::async_trait;
use rowmill_fairness::Permit;
use rowmill_model::ProjectId;
use rowmill_store::{PageStart, Result, RowsAt, RowsPage, Snapshot, StoreError, Wanted};

use crate::page_answer::Source;
use crate::pages::{self, Asked};
use crate::transaction::Tx;

pub(crate) struct HeldSnapshot {
    tx: Option<Tx>,
    permit: Option<Permit>,
    project: ProjectId,
}

impl HeldSnapshot {
    pub(crate) fn new(tx: Tx, permit: Permit, project: ProjectId) -> Self {
        Self { tx: Some(tx), permit: Some(permit), project }
    }
}

impl std::fmt::Debug for HeldSnapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "HeldSnapshot({})", self.project)
    }
}

#[async_trait]
impl Snapshot for HeldSnapshot {
    async fn rows_within(&mut self, start: PageStart, limit: u32, wanted: Wanted) -> Result<RowsPage> {
        let tx = self.tx.as_mut().ok_or(StoreError::Closed)?;
        pages::page_in(tx, Asked { project: self.project, start, limit, wanted: &wanted.into() }).await
    }

    async fn rows_at_within(&mut self, positions: Vec<u64>, wanted: Wanted) -> Result<RowsAt> {
        let tx = self.tx.as_mut().ok_or(StoreError::Closed)?;
        pages::at(Source::Snapshot(tx), self.project, &positions, wanted).await
    }
}

impl Drop for HeldSnapshot {
    fn drop(&mut self) {
        if let Some(tx) = self.tx.take()
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            // Nobody needs to wait for the end of the transaction. Until then the permit counts as used.
            let permit = self.permit.take();
            runtime.spawn(async move {
                let _permit = permit;
                let _ = tx.commit().await;
            });
        }
    }
}
