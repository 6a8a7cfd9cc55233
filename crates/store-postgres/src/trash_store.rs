//! The trash of a [`PostgresStore`]: every operation of [`TrashStore`], handed to the module that does it.

use std::sync::Arc;

use async_trait::async_trait;
use rowmill_model::{Deletion, ProjectId, RowId, TeamId};
use rowmill_store::{
    ProjectPage, Restored, Result, SeenProject, TrashPage, TrashPlace, TrashStore, TrashedProject,
};

use crate::database::CommitDoubt::{Repeat, Tell};
use crate::store::PostgresStore;
use crate::{trash, trashed_projects};

#[async_trait]
impl TrashStore for PostgresStore {
    async fn trash_rows(&self, project: ProjectId, rows: Vec<RowId>, deletion: Deletion) -> Result<u64> {
        let input = (Arc::clone(&self.node), project, rows, deletion);
        self.node
            .change(vec![project], Tell, input, |tx, (node, project, rows, deletion)| {
                Box::pin(trash::trash(tx, &node.documents, *project, rows, *deletion))
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
        let _turn = self.node.long_turn(u64::from(limit)).await;
        self.node
            .read((project, after, limit, bytes_max), |tx, (project, after, limit, bytes_max)| {
                Box::pin(trash::page(tx, *project, *after, *limit, *bytes_max))
            })
            .await
    }

    async fn restore_rows(&self, project: ProjectId, rows: Vec<RowId>, now_ms: i64) -> Result<Restored> {
        let input = (Arc::clone(&self.node), project, rows, now_ms);
        self.node
            .change(vec![project], Tell, input, |tx, (node, project, rows, now_ms)| {
                Box::pin(trash::restore(tx, &node.documents, *project, rows, *now_ms))
            })
            .await
    }

    async fn empty_trash(&self, project: ProjectId) -> Result<u64> {
        self.node.write(Tell, project, |tx, project| Box::pin(trash::empty(tx, *project))).await
    }

    async fn trash_project(
        &self,
        id: ProjectId,
        deletion: Deletion,
        seen: Option<SeenProject>,
    ) -> Result<bool> {
        self.node
            .change(vec![id], Tell, (id, deletion, seen), |tx, (id, deletion, seen)| {
                Box::pin(trashed_projects::trash(tx, *id, *deletion, *seen))
            })
            .await
    }

    async fn trashed_projects(&self, team: TeamId, page: ProjectPage) -> Result<Vec<TrashedProject>> {
        self.node
            .read((team, page), |tx, (team, page)| Box::pin(trashed_projects::list(tx, *team, *page)))
            .await
    }

    async fn count_trashed_projects(&self, team: TeamId) -> Result<u64> {
        self.node.read(team, |tx, team| Box::pin(trashed_projects::count(tx, *team))).await
    }

    async fn restore_project(&self, team: TeamId, id: ProjectId, now_ms: i64) -> Result<bool> {
        let input = (Arc::clone(&self.node), team, id, now_ms);
        self.node
            .change(vec![id], Tell, input, |tx, (node, team, id, now_ms)| {
                Box::pin(trashed_projects::restore(tx, &node.documents, *team, *id, *now_ms))
            })
            .await
    }

    async fn empty_project_trash(&self, team: TeamId) -> Result<u64> {
        let count =
            self.node.write(Tell, team, |tx, team| Box::pin(trashed_projects::empty(tx, *team))).await?;
        self.node.purge_pending.notify_one();
        Ok(count)
    }

    async fn projects_to_sweep(&self, until_ms: i64) -> Result<Vec<ProjectId>> {
        self.node.read(until_ms, |tx, until_ms| Box::pin(trashed_projects::to_sweep(tx, *until_ms))).await
    }

    async fn sweep_trash(&self, until_ms: i64) -> Result<bool> {
        let sweep = self
            .node
            .write(Repeat, until_ms, |tx, until_ms| Box::pin(trashed_projects::sweep(tx, *until_ms)));
        if sweep.await? {
            self.node.purge_pending.notify_one();
        }
        self.node.write(Repeat, until_ms, |tx, until_ms| Box::pin(trash::sweep_some(tx, *until_ms))).await
    }
}
