//! Copies of projects.

use axum::http::{Method, StatusCode};
use rowmill_app::CopyRequest;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::wire::project::ProjectFull;

pub(crate) struct DuplicateProject;

/// What the copy is to be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ProjectDuplicate {
    /// 1 to 255 characters, not counting leading and trailing spaces. Default: `Copy of` and the project's title.
    #[serde(default)]
    #[schemars(with = "String", extend("x-document" = { "minLength": 1, "maxLength": 255, "pattern": "\\S" }))]
    title: Option<String>,
    /// Whether to copy the rows, too. Default: false.
    #[serde(default)]
    rows: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProjectDuplicated {
    project: ProjectFull,
}

impl Endpoint<ApiState> for DuplicateProject {
    const METHOD: Method = Method::POST;
    const ID: &'static str = "duplicateProject";
    const SCOPES: Scopes = Scopes::READ.and(Scopes::SCHEMA).and(Scopes::WRITE);
    const TAG: &'static str = "Projects";
    const SUMMARY: &'static str = "Duplicate a project";
    const DESCRIPTION: &'static str = "Creates a project with the same columns, views, settings and folder. Columns and views get ids of their own, and \
         refer to each other as in the original. Autoplay is off; inbound hooks and the event integration are not \
         copied. With `rows`, the rows are copied in the background, each as it is then: the project has `copying` \
         until all are there, and can only be read and deleted. Results count as entered by hand in the copy, so a \
         run keeps them unless it is forced. If the server stops meanwhile, the unfinished copy is removed.";
    const STATUS: StatusCode = StatusCode::CREATED;
    type Path = ProjectPath;
    type Query = Nothing;
    type Body = Json<ProjectDuplicate>;
    type Out = ProjectDuplicated;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "title": "Leads, autumn", "rows": true })), answer: None }
    }

    async fn handle(
        call: Call<ApiState>,
        path: ProjectPath,
        _: Nothing,
        Json(body): Json<ProjectDuplicate>,
    ) -> Result<Answer<ProjectDuplicated>, Error> {
        let ProjectDuplicate { title, rows } = body;
        let request = CopyRequest { title, with_rows: rows };
        let (caller, app) = (call.caller()?, call.shared_app());
        let saved = app.duplicate_project(caller, &path.project_id, request, call.once()).await?;
        let project = ProjectFull::seen_by(caller, &saved.project, 0);
        Ok(Answer::new(ProjectDuplicated { project }).having_written(saved.project.id))
    }
}
