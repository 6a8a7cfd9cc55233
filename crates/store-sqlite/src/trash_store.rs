//! The trash of a [`SqliteStore`]: every operation of [`TrashStore`], handed to the module that does it.

use async_trait::async_trait;
use rowmill_model::{Deletion, ProjectId, RowId, TeamId};
use rowmill_store::{
    ProjectPage, Restored, Result, SeenProject, TrashPage, TrashPlace, TrashStore, TrashedProject,
};
use rusqlite::Connection;

use crate::documents::Documents;
use crate::readers::ReadKind;
use crate::store::SqliteStore;
use crate::write_queue::Weight;
use crate::{trash, trashed_projects};

#[async_trait]
impl TrashStore for SqliteStore {
    async fn trash_rows(&self, project: ProjectId, rows: Vec<RowId>, deletion: Deletion) -> Result<u64> {
        let weight = Weight::of_rows(rows.len());
        self.change_by(weight, move |connection, documents| {
            trash::trash(connection, documents, project, &rows, deletion)
        })
        .await
    }

    async fn trashed_rows(
        &self,
        project: ProjectId,
        after: Option<TrashPlace>,
        limit: u32,
        bytes_max: usize,
    ) -> Result<TrashPage> {
        self.readers
            .read_long(ReadKind::List, move |connection| {
                trash::page(connection, project, after, limit, bytes_max)
            })
            .await
    }

    async fn restore_rows(&self, project: ProjectId, rows: Vec<RowId>, now_ms: i64) -> Result<Restored> {
        let weight = Weight::of_rows(rows.len());
        self.change_by(weight, move |connection, documents| {
            trash::restore(connection, documents, project, &rows, now_ms)
        })
        .await
    }

    async fn empty_trash(&self, project: ProjectId) -> Result<u64> {
        self.writer.write(move |connection| trash::empty(connection, project)).await
    }

    async fn trash_project(
        &self,
        id: ProjectId,
        deletion: Deletion,
        seen: Option<SeenProject>,
    ) -> Result<bool> {
        let trash = move |connection: &Connection, _: &Documents| {
            trashed_projects::trash(connection, id, deletion, seen)
        };
        self.change_by(Weight::Light, trash).await
    }

    async fn trashed_projects(&self, team: TeamId, page: ProjectPage) -> Result<Vec<TrashedProject>> {
        self.readers
            .read_long(ReadKind::List, move |connection| trashed_projects::list(connection, team, page))
            .await
    }

    async fn count_trashed_projects(&self, team: TeamId) -> Result<u64> {
        self.readers
            .read_long(ReadKind::List, move |connection| trashed_projects::count(connection, team))
            .await
    }

    async fn restore_project(&self, team: TeamId, id: ProjectId, now_ms: i64) -> Result<bool> {
        self.change_by(Weight::Bulk, move |connection, documents| {
            trashed_projects::restore(connection, documents, team, id, now_ms)
        })
        .await
    }

    async fn empty_project_trash(&self, team: TeamId) -> Result<u64> {
        let count = self.writer.write(move |connection| trashed_projects::empty(connection, team)).await?;
        self.purge_soon().await?;
        Ok(count)
    }

    async fn projects_to_sweep(&self, until_ms: i64) -> Result<Vec<ProjectId>> {
        self.readers
            .read_long(ReadKind::List, move |connection| trashed_projects::to_sweep(connection, until_ms))
            .await
    }

    async fn sweep_trash(&self, until_ms: i64) -> Result<bool> {
        let swept =
            self.writer.write(move |connection| trashed_projects::sweep(connection, until_ms)).await?;
        if swept {
            self.purge_soon().await?;
        }
        self.writer.write(move |connection| trash::sweep_some(connection, until_ms)).await
    }
}
