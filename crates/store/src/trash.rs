//! The trash: rows and projects that were deleted and can be restored.
//!
//! A row in the trash keeps its id, its position, its values and the marks of its cells, and is nowhere else: it is not
//! listed, counted, matched or run. Its position is used by no other row, so it comes back to its place. Rows that were
//! deleted together are one *batch*, numbered by the change sequence of their deletion. Columns and views in the trash are
//! part of the project's document ([`rowmill_model::Trash`]).

use async_trait::async_trait;
use rowmill_model::{Deletion, ProjectId, Record, RowId, TeamId};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::types::{ProjectPage, ProjectSummary, SeenProject};

/// A row in the trash.
#[derive(Debug, Clone, PartialEq)]
pub struct TrashedRow {
    pub id: RowId,
    pub place: TrashPlace,
    pub values: Record,
    pub deletion: Deletion,
}

/// Where a row is in the trash of its project. The last deletion comes first, and in it the row that was made last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrashPlace {
    pub batch: u64,
    pub position: u64,
}

/// Rows in the trash, the last deleted first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TrashPage {
    pub rows: Vec<TrashedRow>,
    /// Whether rows follow.
    pub more: bool,
    /// Rows in the project's trash.
    pub total: u64,
}

/// What became of rows that were to be restored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    pub rows: u64,
    /// Rows that stay in the trash, because their guest has another row by now.
    pub guests_elsewhere: Vec<RowId>,
}

/// A project in the trash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrashedProject {
    pub summary: ProjectSummary,
    pub row_count: u64,
    pub deletion: Deletion,
}

/// What a store does with the trash.
#[async_trait]
pub trait TrashStore {
    /// As [`crate::Store::delete_rows`], but the rows can be restored.
    async fn trash_rows(&self, project: ProjectId, rows: Vec<RowId>, deletion: Deletion) -> Result<u64>;

    /// A page of a project's trash, from behind a place on. Rows are read until they have `bytes_max` bytes, and at
    /// least one.
    async fn trashed_rows(
        &self,
        project: ProjectId,
        after: Option<TrashPlace>,
        limit: u32,
        bytes_max: usize,
    ) -> Result<TrashPage>;

    /// Brings rows back to their place, as they were. Cells that waited or ran are as they were before that; results
    /// that were made from something else than there is now are stale. Ids that are not in the trash are not counted.
    async fn restore_rows(&self, project: ProjectId, rows: Vec<RowId>, now_ms: i64) -> Result<Restored>;

    /// Empties a project's trash of rows; says how many there were. They are gone for every reader at once, and swept up
    /// later.
    async fn empty_trash(&self, project: ProjectId) -> Result<u64>;

    /// As [`crate::Store::delete_project`], but the project can be restored.
    async fn trash_project(
        &self,
        id: ProjectId,
        deletion: Deletion,
        seen: Option<SeenProject>,
    ) -> Result<bool>;

    /// A team's projects in the trash, the last deleted first.
    async fn trashed_projects(&self, team: TeamId, page: ProjectPage) -> Result<Vec<TrashedProject>>;

    async fn count_trashed_projects(&self, team: TeamId) -> Result<u64>;

    /// Brings a team's project back, whole; nothing in it waits or runs. Says whether it was in the trash.
    async fn restore_project(&self, team: TeamId, id: ProjectId, now_ms: i64) -> Result<bool>;

    /// Removes a team's projects from the trash for good; says how many there were.
    async fn empty_project_trash(&self, team: TeamId) -> Result<u64>;

    /// Some projects with columns or views in the trash that were deleted at this time or before.
    async fn projects_to_sweep(&self, until_ms: i64) -> Result<Vec<ProjectId>>;

    /// Removes for good some of the rows and projects that were deleted at this time or before. Says whether there may be more.
    async fn sweep_trash(&self, until_ms: i64) -> Result<bool>;
}

/// How many projects are named at once whose columns and views are to be swept up.
pub const SWEEP_PROJECTS: u32 = 20;

/// How many entries of the trash are swept up in one go; each is at most 256 rows.
pub const SWEEP_ENTRIES: u32 = 8;
