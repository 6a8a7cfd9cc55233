//! Views.

use std::marker::PhantomData;

use axum::http::{Method, StatusCode};
use rowmill_app::{Noun, ProjectGuard, StoredProject, ViewChanges, view_of};
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{ProjectPath, ViewPath};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::etag::{EntityTag, Preconditions};
use crate::payload::{Json, Nothing};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::Deleted;
use crate::wire::view::{ViewCreate, ViewFull, ViewPatch};

const TAG: &str = "Views";

pub(crate) struct ListViews<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ViewList")]
pub(crate) struct Views {
    /// In order.
    views: Vec<ViewFull>,
}

impl Views {
    fn of(stored: &StoredProject) -> Self {
        let views = stored.views.iter().cloned().enumerate();
        Self { views: views.map(|(order, view)| ViewFull::new(view, order)).collect() }
    }
}

impl<V: Version> Endpoint<ApiState> for ListViews<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listViews";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List views";
    const DESCRIPTION: &'static str = "Lists the project's views, in order.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Views;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Views>, Error> {
        let path = V::within(path);
        let stored = call.app().project(call.caller()?, &path.project_id).await?;
        let views = Views::of(&stored);
        let tag = EntityTag::of(&views)?;
        Ok(Answer::new(views).with_tag(tag))
    }
}

pub(crate) struct GetView<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for GetView<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getView";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a view";
    const DESCRIPTION: &'static str = "Returns the view with its filters, sorting and column visibility.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<ViewPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = ViewOut;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ViewPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<ViewOut>, Error> {
        let path = V::within(path);
        let stored = call.app().project(call.caller()?, &path.project_id).await?;
        tagged(view_of(&stored, &path.view_id)?.into())
    }
}

pub(crate) struct CreateView<V>(PhantomData<V>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StrictQuery {
    /// Set to true to refuse what would be corrected: an `order` beyond the end. Unknown columns are always
    /// refused.
    strict: Option<bool>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ViewAnswer")]
pub(crate) struct ViewOut {
    view: ViewFull,
}

impl<V: Version> Endpoint<ApiState> for CreateView<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "createView";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Create a view";
    const DESCRIPTION: &'static str = "Saves filters, sorting and column visibility under a name.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const IS_TAGGED: bool = true;
    const CHECKS_REST: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = StrictQuery;
    type Body = Json<ViewCreate>;
    type Out = ViewOut;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({
                "name": "Berlin", "emoji": "🐻",
                "filters": [{ "columnId": "_trigger", "operator": "contains", "value": "berlin" }],
                "sorting": [{ "columnId": "_trigger", "direction": "asc" }],
            })),
            answer: None,
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: StrictQuery,
        Json(body): Json<ViewCreate>,
    ) -> Result<Answer<ViewOut>, Error> {
        let path = V::within(path);
        let saved =
            call.app().create_view(call.caller()?, &path.project_id, body.into(), call.once()).await?;
        tagged(saved.into())
    }
}

pub(crate) struct PatchView<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for PatchView<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateView";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update a view";
    const DESCRIPTION: &'static str = "Replaces the given fields.";
    const IS_TAGGED: bool = true;
    const CHECKS_REST: bool = true;
    type Path = V::Path<ViewPath>;
    type Query = StrictQuery;
    type Body = Json<ViewPatch>;
    type Out = ViewOut;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "name": "Berlin and around" })), answer: None }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ViewPath>,
        query: StrictQuery,
        Json(body): Json<ViewPatch>,
    ) -> Result<Answer<ViewOut>, Error> {
        let ViewPath { project_id, view_id } = V::within(path);
        let mut changes = ViewChanges::from(body);
        changes.strict = query.strict.unwrap_or_default();
        let demanded = Preconditions::of(&call.headers);
        let guard = |stored: &StoredProject| check(&demanded, stored, &view_id);
        let guard = (!demanded.is_empty()).then_some(&guard as ProjectGuard<'_>);
        let saved = call.app().patch_view(call.caller()?, &project_id, &view_id, changes, guard).await?;
        tagged(saved.into())
    }
}

pub(crate) struct DeleteView<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for DeleteView<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteView";
    const SCOPES: Scopes = Scopes::SCHEMA;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete a view";
    const DESCRIPTION: &'static str = "Deletes the view. Rows are not deleted.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<ViewPath>;
    type Query = Nothing;
    type Body = Nothing;
    type Out = Deleted;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ViewPath>,
        _: Nothing,
        _: Nothing,
    ) -> Result<Answer<Deleted>, Error> {
        let ViewPath { project_id, view_id } = V::within(path);
        let demanded = Preconditions::of(&call.headers);
        let guard = |stored: &StoredProject| check(&demanded, stored, &view_id);
        let guard = (!demanded.is_empty()).then_some(&guard as ProjectGuard<'_>);
        call.app().delete_view(call.caller()?, &project_id, &view_id, guard).await?;
        Ok(Answer::new(Deleted { deleted_count: 1 }))
    }
}

/// Whether a view, or the list that has it, is what a request demands.
fn check(demanded: &Preconditions, stored: &StoredProject, view: &str) -> rowmill_app::Result<()> {
    demanded.check(Noun::View, || {
        let view = ViewFull::from(view_of(stored, view)?);
        Ok(vec![EntityTag::of(&view)?, EntityTag::of(&Views::of(stored))?])
    })
}

fn tagged(view: ViewFull) -> Result<Answer<ViewOut>, Error> {
    let tag = EntityTag::of(&view)?;
    Ok(Answer::new(ViewOut { view }).with_tag(tag))
}
