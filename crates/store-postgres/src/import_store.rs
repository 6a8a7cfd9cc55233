//! The [`ImportStore`] of [`PostgresStore`].

use async_trait::async_trait;
use rowmill_model::{ImportId, ProjectId};
use rowmill_store::{
    ImportClaim, ImportJob, ImportPart, ImportStatus, ImportStep, ImportStore, NewImport, Result,
};
use uuid::Uuid;

use crate::database::CommitDoubt::{Repeat, Tell};
use crate::import_jobs;
use crate::retryable::Attempt;
use crate::store::PostgresStore;

#[async_trait]
impl ImportStore for PostgresStore {
    async fn create_import(&self, import: NewImport) -> Result<()> {
        self.node().write(Tell, import, |tx, import| Box::pin(import_jobs::create(tx, import))).await
    }

    async fn put_import_part(&self, part: ImportPart) -> Result<bool> {
        self.node().write(Tell, part, |tx, part| Box::pin(import_jobs::put_part(tx, part))).await
    }

    async fn queue_import(&self, id: ImportId) -> Result<bool> {
        self.node().write(Tell, id, |tx, id| Box::pin(import_jobs::queue(tx, *id))).await
    }

    async fn drop_import(&self, id: ImportId, now_ms: i64) -> Result<()> {
        let input = (id, now_ms);
        self.node()
            .write(Repeat, input, |tx, (id, now_ms)| Box::pin(import_jobs::drop_file(tx, *id, *now_ms)))
            .await
    }

    async fn imports(&self, project: ProjectId) -> Result<Vec<ImportJob>> {
        self.node().read(project, |tx, project| Box::pin(import_jobs::list(tx, *project))).await
    }

    async fn import(&self, project: ProjectId, id: ImportId) -> Result<Option<ImportJob>> {
        let input = (project, id);
        self.node().read(input, |tx, (project, id)| Box::pin(import_jobs::find(tx, *project, *id))).await
    }

    async fn rejected_of_import(&self, id: ImportId) -> Result<Vec<String>> {
        self.node().read(id, |tx, id| Box::pin(import_jobs::rejections(tx, *id))).await
    }

    async fn import_part(&self, id: ImportId, number: u32) -> Result<Option<Vec<u8>>> {
        let input = (id, number);
        self.node().read(input, |tx, (id, number)| Box::pin(import_jobs::part(tx, *id, *number))).await
    }

    async fn claim_import(&self, claim: ImportClaim) -> Result<Option<ImportJob>> {
        // Asked again and again: no transaction is begun while nothing waits.
        let sql = "SELECT 1 FROM rowmill.imports WHERE ended_at IS NULL AND status <> 'receiving' LIMIT 1";
        if self.node.database.ask(sql, &[]).await?.is_empty() {
            return Ok(None);
        }
        self.node().write(Tell, claim, |tx, claim| Box::pin(import_jobs::claim(tx, *claim))).await
    }

    async fn renew_import(
        &self,
        id: ImportId,
        holder: Uuid,
        lease_until_ms: i64,
        forgives: bool,
    ) -> Result<bool> {
        let renew: Attempt<(ImportId, Uuid, i64, bool), bool> = |tx, (id, holder, until_ms, forgives)| {
            Box::pin(import_jobs::renew(tx, *id, *holder, *until_ms, *forgives))
        };
        self.node().write(Tell, (id, holder, lease_until_ms, forgives), renew).await
    }

    async fn checkpoint_import(&self, step: ImportStep) -> Result<()> {
        self.node().write(Tell, step, |tx, step| Box::pin(import_jobs::checkpoint(tx, step, [0; 3]))).await
    }

    async fn end_import(
        &self,
        id: ImportId,
        holder: Uuid,
        status: ImportStatus,
        outcome: String,
        now_ms: i64,
    ) -> Result<bool> {
        let end: Attempt<((ImportId, Uuid), ImportStatus, String, i64), bool> =
            |tx, (of, status, outcome, now_ms)| {
                Box::pin(import_jobs::end(tx, *of, *status, outcome, *now_ms))
            };
        self.node().write(Tell, ((id, holder), status, outcome, now_ms), end).await
    }

    async fn cancel_import(&self, project: ProjectId, id: ImportId, now_ms: i64) -> Result<()> {
        let cancel: Attempt<(ProjectId, ImportId, i64), ()> =
            |tx, (project, id, now_ms)| Box::pin(import_jobs::cancel(tx, *project, *id, *now_ms));
        self.node().write(Repeat, (project, id, now_ms), cancel).await
    }

    async fn leave_imports(&self, holder: Uuid) -> Result<()> {
        self.node().write(Repeat, holder, |tx, holder| Box::pin(import_jobs::leave(tx, *holder))).await
    }

    async fn sweep_imports(&self, now_ms: i64, ended_before_ms: i64) -> Result<bool> {
        let input = (now_ms, ended_before_ms);
        self.node()
            .write(Repeat, input, |tx, (now_ms, before_ms)| {
                Box::pin(import_jobs::sweep(tx, *now_ms, *before_ms))
            })
            .await
    }
}
