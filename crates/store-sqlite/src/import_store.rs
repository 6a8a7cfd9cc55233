//! The [`ImportStore`] of [`SqliteStore`].

use async_trait::async_trait;
use rowmill_model::{ImportId, ProjectId};
use rowmill_store::{
    ImportClaim, ImportJob, ImportPart, ImportStatus, ImportStep, ImportStore, NewImport, Result,
};
use uuid::Uuid;

use crate::import_jobs;
use crate::readers::ReadKind;
use crate::store::SqliteStore;

#[async_trait]
impl ImportStore for SqliteStore {
    async fn create_import(&self, import: NewImport) -> Result<()> {
        self.writer.write(move |connection| import_jobs::create(connection, &import)).await
    }

    async fn put_import_part(&self, part: ImportPart) -> Result<bool> {
        self.writer.write(move |connection| import_jobs::put_part(connection, &part)).await
    }

    async fn queue_import(&self, id: ImportId) -> Result<bool> {
        self.writer.write(move |connection| import_jobs::queue(connection, id)).await
    }

    async fn drop_import(&self, id: ImportId, now_ms: i64) -> Result<()> {
        self.writer.write(move |connection| import_jobs::drop_file(connection, id, now_ms)).await
    }

    async fn imports(&self, project: ProjectId) -> Result<Vec<ImportJob>> {
        self.readers.read(|connection| import_jobs::list(connection, project))
    }

    async fn import(&self, project: ProjectId, id: ImportId) -> Result<Option<ImportJob>> {
        self.readers.read(|connection| import_jobs::find(connection, project, id))
    }

    async fn rejected_of_import(&self, id: ImportId) -> Result<Vec<String>> {
        self.readers
            .read_long(ReadKind::List, move |connection| import_jobs::rejections(connection, id))
            .await
    }

    async fn import_part(&self, id: ImportId, number: u32) -> Result<Option<Vec<u8>>> {
        self.readers
            .read_long(ReadKind::List, move |connection| import_jobs::part(connection, id, number))
            .await
    }

    async fn claim_import(&self, claim: ImportClaim) -> Result<Option<ImportJob>> {
        // Asked again and again: the writer is left alone while nothing waits.
        if self.readers.read(import_jobs::open_count)? == 0 {
            return Ok(None);
        }
        self.writer.write(move |connection| import_jobs::claim(connection, claim)).await
    }

    async fn renew_import(
        &self,
        id: ImportId,
        holder: Uuid,
        lease_until_ms: i64,
        forgives: bool,
    ) -> Result<bool> {
        self.writer
            .write(move |connection| import_jobs::renew(connection, id, holder, lease_until_ms, forgives))
            .await
    }

    async fn checkpoint_import(&self, step: ImportStep) -> Result<()> {
        self.writer.write(move |connection| import_jobs::checkpoint(connection, &step, [0; 3])).await
    }

    async fn end_import(
        &self,
        id: ImportId,
        holder: Uuid,
        status: ImportStatus,
        outcome: String,
        now_ms: i64,
    ) -> Result<bool> {
        self.writer
            .write(move |connection| import_jobs::end(connection, (id, holder), status, &outcome, now_ms))
            .await
    }

    async fn cancel_import(&self, project: ProjectId, id: ImportId, now_ms: i64) -> Result<()> {
        self.writer.write(move |connection| import_jobs::cancel(connection, project, id, now_ms)).await
    }

    async fn leave_imports(&self, holder: Uuid) -> Result<()> {
        self.writer.write(move |connection| import_jobs::leave(connection, holder)).await
    }

    async fn sweep_imports(&self, now_ms: i64, ended_before_ms: i64) -> Result<bool> {
        self.writer.write(move |connection| import_jobs::sweep(connection, now_ms, ended_before_ms)).await
    }
}
