//! The trash: what was deleted, restoring it, and emptying it.

use axum::http::Method;
use rowmill_app::off_async;
use rowmill_model::{ProjectId, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ProjectPath, page_size};
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples, SEQUENCE};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::Deleted;
use crate::wire::trash::{ProjectTrashOut, RestoreBody, RestoredOut, TrashOut};

const TAG: &str = "Trash";

pub(crate) struct ListTrash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TrashQuery {
    /// Rows per page. A page of large rows can have fewer.
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
    page_size: Option<u32>,
    /// Continue after a page: its `pagination.nextCursor`.
    #[schemars(length(max = 64))]
    cursor: Option<String>,
}

impl Endpoint<ApiState> for ListTrash {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listTrash";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List what was deleted";
    const DESCRIPTION: &'static str = "Returns the project's deleted rows, columns and views, the last deleted first. They can be restored \
     until `expiresAt` (`trashDays`). Rows in the trash count towards `teamRowsMax`.";
    type Path = ProjectPath;
    type Query = TrashQuery;
    type Body = Nothing;
    type Out = TrashOut;

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        query: TrashQuery,
        _: Nothing,
    ) -> Result<Answer<TrashOut>, Error> {
        let size = page_size(query.page_size, &call.limits);
        let app = call.app();
        let listed = app.list_trash(call.caller()?, &path.project_id, query.cursor.as_deref(), size).await?;
        let kept_for = app.keeps_deleted_for();
        let bytes = listed.rows.rows.iter().map(|row| row.values.as_bytes().len()).sum();
        let charge = call.answers.admit(bytes).await?;
        let trash = off_async(bytes, || TrashOut::new(listed, size, kept_for))?;
        Ok(Answer::new(trash).with_charge(charge))
    }
}

pub(crate) struct RestoreTrash;

impl Endpoint<ApiState> for RestoreTrash {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "restoreTrash";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Restore rows, columns and views";
    const DESCRIPTION: &'static str = "Rows return to their place with their ids, values and cell states. Cells that were queued or running \
     when the row was deleted are as they were before that. Columns return with their values, and columns and views \
     that referred to them do so again unless they changed since. Ids that are not in the trash are not counted.";
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Json<RestoreBody>;
    type Out = RestoredOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "rowIds": ["row_0190f0e0b3c47d5e8f60123456789abc"] })),
            answer: Some(json!({
                "restoredRows": 1, "restoredColumns": 0, "restoredViews": 0, "notRestored": [], "appliedFixes": [],
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        Json(body): Json<RestoreBody>,
    ) -> Result<Answer<RestoredOut>, Error> {
        let items = body.into_items(call.once());
        let restored = call.app().restore_items(call.caller()?, &path.project_id, items).await?;
        Ok(Answer::new(restored.into()))
    }
}

pub(crate) struct EmptyTrash;

impl Endpoint<ApiState> for EmptyTrash {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "emptyTrash";
    const SCOPES: Scopes = Scopes::WRITE.and(Scopes::SCHEMA);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Empty the trash";
    const DESCRIPTION: &'static str = "Removes the project's deleted rows, columns and views for good. `deletedCount` is the number of all \
     of them.";
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        let deleted_count = call.app().empty_trash(call.caller()?, &path.project_id).await?;
        Ok(Answer::new(Deleted { deleted_count }))
    }
}

pub(crate) struct ListProjectTrash;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectTrashQuery {
    /// Page number, from 1.
    #[schemars(range(min = 1))]
    page: Option<u64>,
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
    page_size: Option<u32>,
}

impl Endpoint<ApiState> for ListProjectTrash {
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listProjectTrash";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List deleted projects";
    const DESCRIPTION: &'static str = "Returns the team's deleted projects, the last deleted first. They can be restored until `expiresAt`.";
    type Path = Nothing;
    type Query = ProjectTrashQuery;
    type Body = Nothing;
    type Out = ProjectTrashOut;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        query: ProjectTrashQuery,
        _: Nothing,
    ) -> Result<Answer<ProjectTrashOut>, Error> {
        let (page, size) = (query.page.unwrap_or(1), page_size(query.page_size, &call.limits));
        let listed = call.app().list_project_trash(call.caller()?, page, size).await?;
        Ok(Answer::new(ProjectTrashOut::new(listed, page, size, call.app().keeps_deleted_for())))
    }
}

pub(crate) struct RestoreProjects;

/// Projects to restore. Ids that are not in the trash are not counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct RestoreProjectsBody {
    #[schemars(length(max = 1_000))]
    project_ids: Vec<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectsRestored {
    restored_count: u64,
}

impl Endpoint<ApiState> for RestoreProjects {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "restoreProjects";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Restore projects";
    const DESCRIPTION: &'static str = "Projects return with everything they had, including their own trash. Cells that were queued or \
     running are as they were before that. Ids that are not in the trash are not counted. If one project was asked for \
     and restored, the response has its `X-Rowmill-Sequence`.";
    const ANSWER_HEADERS: &'static [&'static str] = &[SEQUENCE];
    type Path = Nothing;
    type Query = Nothing;
    type Body = Json<RestoreProjectsBody>;
    type Out = ProjectsRestored;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "projectIds": ["proj_0190f0e0a1b27c3d8e4f0123456789ab"] })),
            answer: Some(json!({ "restoredCount": 1 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Json(body): Json<RestoreProjectsBody>,
    ) -> Result<Answer<ProjectsRestored>, Error> {
        let once = call.once();
        let restored_count = call.app().restore_projects(call.caller()?, &body.project_ids, once).await?;
        let answer = Answer::new(ProjectsRestored { restored_count });
        // Of several there is no one sequence to tell.
        let only = match body.project_ids.as_slice() {
            [id] if restored_count == 1 => ProjectId::parse(id),
            _ => None,
        };
        Ok(match only {
            Some(project) => answer.having_written(project),
            None => answer,
        })
    }
}

pub(crate) struct EmptyProjectTrash;

impl Endpoint<ApiState> for EmptyProjectTrash {
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "emptyProjectTrash";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Remove deleted projects for good";
    const DESCRIPTION: &'static str = "Removes the team's deleted projects for good.";
    type Path = Nothing;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        let deleted_count = call.app().empty_project_trash(call.caller()?).await?;
        Ok(Answer::new(Deleted { deleted_count }))
    }
}
