//! Projects.

use std::marker::PhantomData;

use axum::http::{Method, StatusCode};
use rowmill_app::{Caller, Noun, ProjectGuard, ProjectList, ProjectPatched, ProjectsOf, StoredProject};
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ProjectPath, page_size};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples, Repeats, SEQUENCE};
use crate::error::Error;
use crate::etag::{EntityTag, Preconditions};
use crate::links::PageLinks;
use crate::page_links::linked;
use crate::payload::{Json, Nothing, Optional};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::Deleted;
use crate::wire::project::{ProjectCreate, ProjectFull, ProjectHead, ProjectItem, ProjectPatch};

const TAG: &str = "Projects";

pub(crate) struct ListProjects<V>(PhantomData<V>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Page number, from 1. With `page` or `pageSize` the response is one page and includes `pagination`.
    #[schemars(range(min = 1))]
    page: Option<u64>,
    /// Projects per page. Default if `page` is given: `pageSizeDefault` of `GET /v4/limits`.
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax" }))]
    page_size: Option<u32>,
    /// Return only the projects in this folder.
    #[schemars(length(max = 255))]
    folder_id: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProjectList")]
pub(crate) struct Projects {
    projects: Vec<ProjectItem>,
    /// Present only if a page was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ProjectPages")]
    pagination: Option<ProjectPages>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProjectPages {
    page: u64,
    page_size: u32,
    total_rows: u64,
    total_pages: u64,
}

impl<V: Version> Endpoint<ApiState> for ListProjects<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listProjects";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List projects";
    const DESCRIPTION: &'static str = "Lists the team's projects, newest first: all of them, or one page.";
    const IS_PAGED: bool = true;
    type Path = V::Path<Nothing>;
    type Query = ListQuery;
    type Body = Nothing;
    type Out = Projects;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({ "projects": [{
                "id": "proj_0190f0e0a1b27c3d8e4f0123456789ab", "title": "Leads",
                "createdAt": "2026-11-15T09:30:00.000Z", "autoplay": false, "columnCount": 3, "folderId": null,
            }] })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        _: V::Path<Nothing>,
        query: ListQuery,
        _: Nothing,
    ) -> Result<Answer<Projects>, Error> {
        let ListQuery { page, page_size: size, folder_id } = query;
        let asked = page.is_some() || size.is_some();
        let (page, size) = (page.unwrap_or(1), page_size(size, &call.limits));
        let of = ProjectsOf { folder_id, page: asked.then_some((page, size)) };
        let ProjectList { projects, total } = call.app().list_projects(call.caller()?, of).await?;
        let pagination = total.map(|total_rows| ProjectPages {
            page,
            page_size: size,
            total_rows,
            total_pages: total_rows.div_ceil(u64::from(size)),
        });
        let pages = pagination.as_ref().map(|pagination| PageLinks::Numbered {
            page,
            has_next: page < pagination.total_pages,
            pages: Some(pagination.total_pages),
        });
        let projects = projects.into_iter().map(ProjectItem::from).collect();
        let answer = Answer::new(Projects { projects, pagination });
        Ok(match pages {
            Some(pages) => linked(&call, &pages, answer),
            None => answer,
        })
    }
}

pub(crate) struct CreateProject<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectCreated {
    project: ProjectFull,
    /// Corrections that were made, one sentence each.
    applied_fixes: Vec<String>,
}

impl<V: Version> Endpoint<ApiState> for CreateProject<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createProject";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create a project";
    const DESCRIPTION: &'static str =
        "Creates a project with the input column `_trigger`, followed by the columns in the body.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const ANSWER_HEADERS: &'static [&'static str] = &[SEQUENCE];
    const IS_TAGGED: bool = true;
    const CHECKS_REST: bool = true;
    type Path = V::Path<Nothing>;
    type Query = Nothing;
    type Body = Json<ProjectCreate>;
    type Out = ProjectCreated;

    fn examples() -> Examples {
        Examples {
            body: Some(
                json!({ "title": "Leads", "columns": [{ "templateId": "manual", "header": "Email" }] }),
            ),
            answer: None,
        }
    }

    async fn handle(
        call: Call<ApiState>,
        _: V::Path<Nothing>,
        _: Nothing,
        Json(body): Json<ProjectCreate>,
    ) -> Result<Answer<ProjectCreated>, Error> {
        let saved = call.app().create_project(call.caller()?, body.into(), call.once()).await?;
        let id = saved.project.id;
        let project = ProjectFull::seen_by(call.caller()?, &saved.project, 0);
        let tag = EntityTag::of(&project)?;
        let project = project.in_version(V::HAS_FORMATS);
        let created = ProjectCreated { project, applied_fixes: saved.fixes };
        Ok(Answer::new(created).with_tag(tag).having_written(id))
    }
}

pub(crate) struct CreateSample;

/// The sample is always the same: an empty object, or no body at all.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
// Named, so that a field that is sent is told by its name.
#[schemars(rename = "SampleCreate", extend("properties" = {}))]
pub(crate) struct SampleCreate {}

impl Endpoint<ApiState> for CreateSample {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createSampleProject";
    const SCOPES: Scopes = Scopes::SCHEMA.and(Scopes::WRITE);
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create the sample project";
    const DESCRIPTION: &'static str = "Creates a small table of fictional companies. The server answers for their websites itself, so the \
     sample runs without API keys and without a network.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const ANSWER_HEADERS: &'static [&'static str] = &[SEQUENCE];
    const IS_TAGGED: bool = true;
    const REPEATS: Repeats = Repeats::WithAnswer;
    type Path = Nothing;
    type Query = Nothing;
    type Body = Optional<SampleCreate>;
    type Out = ProjectCreated;

    async fn handle(
        call: Call<ApiState>,
        _: Nothing,
        _: Nothing,
        Optional(SampleCreate {}): Optional<SampleCreate>,
    ) -> Result<Answer<ProjectCreated>, Error> {
        let (project, row_count) = call.app().create_sample(call.caller()?).await?;
        let id = project.id;
        let project = ProjectFull::seen_by(call.caller()?, &project, row_count);
        let tag = EntityTag::of(&project)?;
        let created = ProjectCreated { project, applied_fixes: Vec::new() };
        Ok(Answer::new(created).with_tag(tag).having_written(id))
    }
}

pub(crate) struct GetProject<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProjectAnswer")]
pub(crate) struct ProjectOut {
    project: ProjectFull,
}

impl<V: Version> Endpoint<ApiState> for GetProject<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getProject";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a project";
    const DESCRIPTION: &'static str = "Returns the project with its settings, counts and columns.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = ProjectOut;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<ProjectOut>, Error> {
        let path = V::within(path);
        let caller = call.caller()?;
        let stored = call.app().project(caller, &path.project_id).await?;
        let project = ProjectFull::seen_by(caller, &stored.project, stored.row_count);
        let tag = EntityTag::of(&project)?;
        let project = project.in_version(V::HAS_FORMATS);
        Ok(Answer::new(ProjectOut { project }).with_tag(tag))
    }
}

pub(crate) struct PatchProject<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProjectPatched")]
pub(crate) struct ProjectChangedOut {
    project: ProjectHead,
}

impl<V: Version> Endpoint<ApiState> for PatchProject<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateProject";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update a project";
    const DESCRIPTION: &'static str = "Updates the given fields. `metadata` is replaced, `settings` are merged. If the project's API is \
     disabled, only the change that enables it is accepted.";
    const IS_TAGGED: bool = true;
    const CHECKS_REST: bool = true;
    const TAKES_DISABLED: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Json<ProjectPatch>;
    type Out = ProjectChangedOut;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "title": "Leads, spring", "autoplay": true })), answer: None }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        Json(body): Json<ProjectPatch>,
    ) -> Result<Answer<ProjectChangedOut>, Error> {
        let path = V::within(path);
        let (caller, demanded) = (call.caller()?, Preconditions::of(&call.headers));
        let guard = |stored: &StoredProject| check(&demanded, caller, stored);
        let guard = (!demanded.is_empty()).then_some(&guard as ProjectGuard<'_>);
        let patched = call.app().patch_project(caller, &path.project_id, body.into(), guard).await?;
        let ProjectPatched { project, row_count } = patched;
        let tag = EntityTag::of(&ProjectFull::seen_by(caller, &project, row_count))?;
        Ok(Answer::new(ProjectChangedOut { project: ProjectHead::new(&project) }).with_tag(tag))
    }
}

pub(crate) struct DeleteProject<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for DeleteProject<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteProject";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a project";
    const DESCRIPTION: &'static str =
        "Deletes the project with its columns, rows and views. This cannot be undone.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        let path = V::within(path);
        let (caller, demanded) = (call.caller()?, Preconditions::of(&call.headers));
        let guard = |stored: &StoredProject| check(&demanded, caller, stored);
        let guard = (!demanded.is_empty()).then_some(&guard as ProjectGuard<'_>);
        call.app().delete_project(caller, &path.project_id, guard).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}

/// Whether a project is what a request demands.
fn check(demanded: &Preconditions, caller: Caller, stored: &StoredProject) -> rowmill_app::Result<()> {
    let full = || ProjectFull::seen_by(caller, &stored.project, stored.row_count);
    demanded.check(Noun::Project, || Ok(vec![EntityTag::of(&full())?]))
}
