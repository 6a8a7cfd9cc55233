//! Columns.

use std::marker::PhantomData;

use axum::http::{Method, StatusCode};
use rowmill_app::{Caller, ColumnChanged, Correcting, Noun, ProjectGuard, StoredProject};
use rowmill_model::template::TEMPLATES;
use rowmill_model::{Column, Scopes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ColumnPath, ProjectPath};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::etag::{EntityTag, Preconditions};
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::column::{
    ColumnCreate, ColumnFull, ColumnPatch, MadeColumn as _, TemplateItem, check_version,
};

const TAG: &str = "Columns";

pub(crate) struct ListColumns<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ColumnList")]
pub(crate) struct Columns {
    /// In order.
    columns: Vec<ColumnFull>,
}

impl Columns {
    fn seen_by(caller: Caller, stored: &StoredProject) -> Self {
        let table = &stored.project.table;
        let columns = table.columns.iter().map(|column| ColumnFull::seen_by(caller, table, column)).collect();
        Self { columns }
    }

    fn in_version(mut self, has_formats: bool) -> Self {
        self.columns = self.columns.into_iter().map(|column| column.in_version(has_formats)).collect();
        self
    }
}

impl<V: Version> Endpoint<ApiState> for ListColumns<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listColumns";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List columns";
    const DESCRIPTION: &'static str = "Lists the project's columns with their full configuration, in order.";
    const IS_TAGGED: bool = true;
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
        let columns = Columns::seen_by(caller, &stored);
        let tag = EntityTag::of(&columns)?;
        Ok(Answer::new(columns.in_version(V::HAS_FORMATS)).with_tag(tag))
    }
}

pub(crate) struct GetColumn<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ColumnAnswer")]
pub(crate) struct ColumnOut {
    column: ColumnFull,
}

impl<V: Version> Endpoint<ApiState> for GetColumn<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getColumn";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a column";
    const DESCRIPTION: &'static str = "Returns the column with its full configuration.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<ColumnPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = ColumnOut;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ColumnPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<ColumnOut>, Error> {
        let path = V::within(path);
        let caller = call.caller()?;
        let stored = call.app().project(caller, &path.project_id).await?;
        let column = column_seen_by(caller, &stored, &path.column_id)?;
        let tag = EntityTag::of(&column)?;
        Ok(Answer::new(ColumnOut { column: column.in_version(V::HAS_FORMATS) }).with_tag(tag))
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
    const SCOPES: Scopes = Scopes::READ;
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
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create a column";
    const DESCRIPTION: &'static str = "Creates a column from a template. The body overrides the template's defaults. Invalid parts are \
     corrected and reported in `appliedFixes`.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const IS_TAGGED: bool = true;
    const CHECKS_REST: bool = true;
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
        check_version(&body.0, V::HAS_FORMATS)?;
        let correcting = if query.strict == Some(true) { Correcting::Never } else { Correcting::Freely };
        let (caller, once) = (call.caller()?, call.once());
        let changed = call.app().create_column(caller, &path.project_id, &body.0, correcting, once).await?;
        let (table, column) = (&changed.project.table, column_of(&changed)?);
        let tag = EntityTag::of(&ColumnFull::new(table, column))?;
        let column = V::MadeColumn::of(table, column);
        Ok(Answer::new(ColumnCreated { column, applied_fixes: changed.fixes }).with_tag(tag))
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
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update a column";
    const DESCRIPTION: &'static str = "Merges the body into the column: objects are merged field by field, arrays and scalars are replaced, \
     null clears. The full column as returned by a read is accepted if its read-only fields are unchanged. \
     A change that would clear a reference that worked is refused, unless `fix` is true.";
    const IS_TAGGED: bool = true;
    const CHECKS_REST: bool = true;
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
        check_version(&body.0, V::HAS_FORMATS)?;
        let (caller, demanded) = (call.caller()?, Preconditions::of(&call.headers));
        let guard = |stored: &StoredProject| check(&demanded, caller, stored, &column_id);
        let guard = (!demanded.is_empty()).then_some(&guard as ProjectGuard<'_>);
        let correcting = query.correcting();
        let changed =
            call.app().patch_column(caller, &project_id, &column_id, &body.0, correcting, guard).await?;
        let column = ColumnFull::new(&changed.project.table, column_of(&changed)?);
        let tag = EntityTag::of(&column)?;
        let column = column.in_version(V::HAS_FORMATS);
        Ok(Answer::new(ColumnPatched { column, applied_fixes: changed.fixes }).with_tag(tag))
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
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a column";
    const DESCRIPTION: &'static str =
        "Deletes the column, its cells, and references to it in other columns and views.";
    const IS_TAGGED: bool = true;
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
        let ColumnPath { project_id, column_id } = V::within(path);
        let (caller, demanded) = (call.caller()?, Preconditions::of(&call.headers));
        let guard = |stored: &StoredProject| check(&demanded, caller, stored, &column_id);
        let guard = (!demanded.is_empty()).then_some(&guard as ProjectGuard<'_>);
        let deleted = call.app().delete_column(caller, &project_id, &column_id, guard).await?;
        Ok(Answer::new(ColumnGone { deleted_count: 1, applied_fixes: deleted.fixes }))
    }
}

/// Whether a column, or the list that has it, is what a request demands.
fn check(
    demanded: &Preconditions,
    caller: Caller,
    stored: &StoredProject,
    column: &str,
) -> rowmill_app::Result<()> {
    demanded.check(Noun::Column, || {
        let column = EntityTag::of(&column_seen_by(caller, stored, column)?)?;
        Ok(vec![column, EntityTag::of(&Columns::seen_by(caller, stored))?])
    })
}

fn column_seen_by(caller: Caller, stored: &StoredProject, id: &str) -> Result<ColumnFull, Error> {
    let table = &stored.project.table;
    let column = table.by_id(id).ok_or(rowmill_app::Error::NotFound(Noun::Column))?;
    Ok(ColumnFull::seen_by(caller, table, column))
}

fn column_of(changed: &ColumnChanged) -> Result<&Column, Error> {
    let column = changed.project.table.by_id(changed.column.as_str());
    Ok(column.ok_or(rowmill_app::Error::NotFound(Noun::Column))?)
}
