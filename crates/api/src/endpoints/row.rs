//! One row.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use axum::http::Method;
use rowmill_app::{Noun, RowGuard, StoredProject, StoredRow, off_async};
use rowmill_model::{Scopes, Table};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::RowPath;
use super::row_queries::{PatchQuery, RowQuery};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::etag::{EntityTag, Preconditions};
use crate::payload::{Nothing, Raw};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::fields;
use crate::wire::key_by::KeyBy;
use crate::wire::row::{RowBody, RowFull, shown_bytes};

const TAG: &str = "Rows";

pub(crate) struct GetRow<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "RowAnswer")]
pub(crate) struct RowOut {
    row: RowFull,
}

impl<V: Version> Endpoint<ApiState> for GetRow<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "getRow";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Get a row";
    const DESCRIPTION: &'static str = "Returns one row with the value, status and details of each cell.";
    const IS_TAGGED: bool = true;
    type Path = V::Path<RowPath>;
    type Query = RowQuery;
    type Body = Nothing;
    type Out = RowOut;

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<RowPath>,
        query: RowQuery,
        _: Nothing,
    ) -> Result<Answer<RowOut>, Error> {
        let path = V::within(path);
        let (stored, row) = call.app().row(call.caller()?, &path.project_id, &path.row_id).await?;
        let bytes = row.values.as_bytes().len();
        let key_by = query.key_by.unwrap_or_default();
        let charge = call.answers.admit(bytes).await?;
        Answer::computed(charge, shown_bytes(&stored.project.table, bytes), move || {
            let (row, tag) = tagged(&stored.project.table, &row, key_by)?;
            Ok((RowOut { row }, tag))
        })
        .await
    }
}

pub(crate) struct PatchRow<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "RowPatched")]
pub(crate) struct RowPatchedOut {
    row: RowFull,
    /// Fields that do not name a column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ignored_keys: Vec<String>,
    /// Fields of `ignoredKeys` that may be misspelt, and the headers they resemble.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    hints: BTreeMap<String, String>,
}

impl<V: Version> Endpoint<ApiState> for PatchRow<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateRow";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Update a row";
    const DESCRIPTION: &'static str = "Updates the given fields, or `{\"cells\": {columnId: value}}`. Unknown fields are listed in \
     `ignoredKeys`, or become columns if the project's settings allow it.";
    const IS_TAGGED: bool = true;
    const DEPRECATED_AT: Option<i64> = V::DEPRECATED_AT;
    type Path = V::Path<RowPath>;
    type Query = PatchQuery;
    type Body = Raw<RowBody>;
    type Out = RowPatchedOut;

    fn examples() -> Examples {
        Examples { body: Some(json!({ "Email": "ada@example.org" })), answer: None }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<RowPath>,
        query: PatchQuery,
        body: Raw<RowBody>,
    ) -> Result<Answer<RowPatchedOut>, Error> {
        let path = V::within(path);
        let RowPatch { fields, is_in_cells } = off_async(body.text.len(), || patch_of(&body.text))?;
        let strict = query.strict.unwrap_or_default();
        let demanded = Preconditions::of(&call.headers);
        let guard = |stored: &StoredProject, row: &StoredRow| {
            off_async(row.values.as_bytes().len(), || {
                demanded.check(Noun::Row, || Ok(vec![tagged(&stored.project.table, row, KeyBy::Id)?.1]))
            })
        };
        let guard = (!demanded.is_empty()).then_some(&guard as RowGuard<'_>);
        let RowPath { project_id, row_id } = path;
        let patched =
            call.app().patch_row(call.caller()?, &project_id, &row_id, &fields, strict, guard).await;
        let patched = patched.map_err(|failure| {
            if is_in_cells { failure.with_paths(|path| format!("cells.{path}")) } else { failure }
        })?;
        let bytes = patched.row.values.as_bytes().len();
        let key_by = query.key_by.unwrap_or_default();
        let charge = call.answers.admit_written(bytes);
        let table = &patched.project.project.table;
        Answer::computed(charge, shown_bytes(table, bytes), move || {
            let (row, tag) = tagged(&patched.project.project.table, &patched.row, key_by)?;
            Ok((RowPatchedOut { row, ignored_keys: patched.ignored_keys, hints: patched.hints }, tag))
        })
        .await
    }
}

/// A row as it is shown, and its tag, which does not depend on what names the cells.
fn tagged(table: &Table, row: &StoredRow, key_by: KeyBy) -> Result<(RowFull, EntityTag), Error> {
    let headers: Vec<&str> = table.columns.iter().map(|column| column.header.as_str()).collect();
    let by_id = RowFull::new(table, row, KeyBy::Id)?;
    let tag = EntityTag::of(&(&by_id, headers))?;
    Ok((if key_by == KeyBy::Id { by_id } else { RowFull::new(table, row, key_by)? }, tag))
}

/// The fields of the body, or of its lone object `cells`.
struct RowPatch<'b> {
    fields: rowmill_app::Fields<'b>,
    is_in_cells: bool,
}

fn patch_of(text: &str) -> Result<RowPatch<'_>, Error> {
    let body = fields::one(text)?;
    if let [(name, raw)] = body.0.as_slice()
        && name == "cells"
        && let Some(fields) = fields::object(raw)?
    {
        return Ok(RowPatch { fields, is_in_cells: true });
    }
    Ok(RowPatch { fields: body, is_in_cells: false })
}
