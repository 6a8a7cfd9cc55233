//! Columns.

use std::marker::PhantomData;

use axum::http::{Method, StatusCode};
use rowmill_app::{ColumnChanged, Correcting};
use rowmill_model::Column;
use rowmill_model::template::TEMPLATES;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ColumnPath, ProjectPath};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::column::{ColumnCreate, ColumnFull, ColumnPatch, MadeColumn as _, TemplateItem};

const TAG: &str = "Columns";

pub(crate) struct ListColumns<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ColumnList")]
pub(crate) struct Columns {
    /// In order.
    columns: Vec<ColumnFull>,
}

impl<V: Version> Endpoint<ApiState> for ListColumns<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listColumns";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List columns";
    const DESCRIPTION: &'static str = "Lists the project's columns with their full configuration, in order.";
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Columns;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Columns>, Error> {
        let path = V::within(path);
        let caller = call.caller()?;
        let stored = call.app().project(caller, &path.project_id).await?;
        let table = &stored.project.table;
        let columns = table.columns.iter().map(|column| ColumnFull::seen_by(caller, table, column)).collect();
        Ok(Answer::new(Columns { columns }))
    }
}

pub(crate) struct ListTemplates<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TemplateList")]
pub(crate) struct Templates {
    templates: Vec<TemplateItem>,
}

impl<V: Version> Endpoint<ApiState> for ListTemplates<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listColumnTemplates";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List column templates";
    const DESCRIPTION: &'static str =
        "Lists the column templates. Pass an `id` as `templateId` to create a column.";
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Templates;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Templates>, Error> {
        let path = V::within(path);
        call.app().project(call.caller()?, &path.project_id).await?;
        Ok(Answer::new(Templates {
            templates: TEMPLATES
                .iter()
                .map(|template| TemplateItem::new(template, V::template_word(template)))
                .collect(),
        }))
    }
}

pub(crate) struct CreateColumn<V>(PhantomData<V>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateQuery {
    /// Set to true to refuse a column that needs corrections. All are listed in `details`, and nothing is
    /// created.
    strict: Option<bool>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchQuery {
    /// Set to true to refuse a change that needs corrections. All are listed in `details`, and nothing is
    /// changed.
    strict: Option<bool>,
    /// Set to true to clear references to unknown columns also where a reference worked before.
    fix: Option<bool>,
}

impl PatchQuery {
    fn correcting(&self) -> Correcting {
        match (self.strict, self.fix) {
            (Some(true), _) => Correcting::Never,
            (_, Some(true)) => Correcting::Freely,
            _ => Correcting::Carefully,
        }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Created{C}")]
pub(crate) struct ColumnCreated<C> {
    column: C,
    /// Corrections that were made, one sentence each.
    applied_fixes: Vec<String>,
}

impl<V: Version> Endpoint<ApiState> for CreateColumn<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createColumn";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create a column";
    const DESCRIPTION: &'static str = "Creates a column from a template. The body overrides the template's defaults. Invalid parts are \
     corrected and reported in `appliedFixes`.";
    const STATUS: StatusCode = StatusCode::CREATED;
    type Path = V::Path<ProjectPath>;
    type Query = CreateQuery;
    type Body = Json<ColumnCreate>;
    type Out = ColumnCreated<V::MadeColumn>;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({
                "templateId": "ai-text", "header": "Summary",
                "aiConfig": { "prompt": "Summarize in one sentence: @{_trigger}" },
            })),
            answer: None,
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        query: CreateQuery,
        Json(body): Json<ColumnCreate>,
    ) -> Result<Answer<Self::Out>, Error> {
        let path = V::within(path);
        let correcting = if query.strict == Some(true) { Correcting::Never } else { Correcting::Freely };
        let (caller, once) = (call.caller()?, call.once()?);
        let changed = call.app().create_column(caller, &path.project_id, &body.0, correcting, once).await?;
        let column = V::MadeColumn::of(&changed.project.table, column_of(&changed)?);
        Ok(Answer::new(ColumnCreated { column, applied_fixes: changed.fixes }))
    }
}

pub(crate) struct PatchColumn<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ColumnPatched {
    column: ColumnFull,
    /// Corrections that were made, one sentence each.
    applied_fixes: Vec<String>,
}

impl<V: Version> Endpoint<ApiState> for PatchColumn<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateColumn";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update a column";
    const DESCRIPTION: &'static str = "Merges the body into the column: objects are merged field by field, arrays and scalars are replaced, \
     null clears. The full column as returned by a read is accepted if its read-only fields are unchanged. \
     A change that would clear a reference that worked is refused, unless `fix` is true.";
    type Path = V::Path<ColumnPath>;
    type Query = PatchQuery;
    type Body = Json<ColumnPatch>;
    type Out = ColumnPatched;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "header": "Summary", "retry": { "maxAttempts": 3 } })), answer: None }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ColumnPath>,
        query: PatchQuery,
        Json(body): Json<ColumnPatch>,
    ) -> Result<Answer<ColumnPatched>, Error> {
        let path = V::within(path);
        let ColumnPath { project_id, column_id } = path;
        let caller = call.caller()?;
        let changed =
            call.app().patch_column(caller, &project_id, &column_id, &body.0, query.correcting()).await?;
        let column = ColumnFull::new(&changed.project.table, column_of(&changed)?);
        Ok(Answer::new(ColumnPatched { column, applied_fixes: changed.fixes }))
    }
}

pub(crate) struct DeleteColumn<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ColumnGone {
    deleted_count: u64,
    /// Corrections to columns and views that referred to the column.
    applied_fixes: Vec<String>,
}

impl<V: Version> Endpoint<ApiState> for DeleteColumn<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteColumn";
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a column";
    const DESCRIPTION: &'static str =
        "Deletes the column, its cells, and references to it in other columns and views.";
    type Path = V::Path<ColumnPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = ColumnGone;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ColumnPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<ColumnGone>, Error> {
        let path = V::within(path);
        let deleted = call.app().delete_column(call.caller()?, &path.project_id, &path.column_id).await?;
        Ok(Answer::new(ColumnGone { deleted_count: 1, applied_fixes: deleted.fixes }))
    }
}

fn column_of(changed: &ColumnChanged) -> Result<&Column, Error> {
    let column = changed.project.table.by_id(changed.column.as_str());
    Ok(column.ok_or(rowmill_app::Error::NotFound(rowmill_app::Noun::Column))?)
}
