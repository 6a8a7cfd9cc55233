//! Updates of many rows.

use std::marker::PhantomData;

use axum::http::Method;
use rowmill_app::off_async;
use rowmill_model::Scopes;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::Raw;
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::fields::{self, Entries, List};
use crate::wire::row_patch::{RowsPatch, RowsUpdated};

pub(crate) struct PatchRows<V>(PhantomData<V>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PatchRowsQuery {
    /// Set to true to refuse fields that do not name a column. All are listed in `details`, and nothing is
    /// changed.
    strict: Option<bool>,
}

impl<V: Version> Endpoint<ApiState> for PatchRows<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateRows";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Update rows";
    const DESCRIPTION: &'static str = "Updates fields of many rows, all or nothing: at most `insertRowsMax` rows and `patchCellsMax` cells. \
     If a cell appears twice, the last entry wins. An unknown row is 404, and `details` names each. Unknown fields are \
     listed in `ignoredKeys`, or become columns if the project's settings allow it.";
    type Path = V::Path<ProjectPath>;
    type Query = PatchRowsQuery;
    type Body = Raw<RowsPatch>;
    type Out = RowsUpdated;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "rows": [
                { "id": "row_0190f0e0b3c47d5e8f60123456789abc", "Email": "ada@example.org" },
                { "id": "row_0190f0e0b3c47d5e8f60123456789abd", "cells": { "col_4fJq0ZtR9xWb": null } },
            ] })),
            answer: Some(json!({ "updatedCount": 2 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        query: PatchRowsQuery,
        body: Raw<RowsPatch>,
    ) -> Result<Answer<RowsUpdated>, Error> {
        let path = V::within(path);
        let (strict, most) = (query.strict.unwrap_or_default(), call.limits.insert_rows_max);
        let changes = changes_of(&body.text, strict, most)?;
        let patched = call.app().patch_rows(call.caller()?, &path.project_id, &changes).await?;
        Ok(Answer::new(patched.into()))
    }
}

fn changes_of(text: &str, strict: bool, most: u32) -> Result<rowmill_app::PatchRows<'_>, Error> {
    let read = off_async(text.len(), || fields::entries(text, usize::try_from(most).unwrap_or(usize::MAX)))?;
    match read {
        Entries::One(_) => {
            Err(Error::offence("rows", "is required, alone: an array of {id, …fields}, each with a row's id"))
        }
        Entries::Many(array, List { entries, count }) if count > entries.len() => {
            let message = format!(
                "has {count} rows; the limit is {most} per request (insertRowsMax). Split it into several requests"
            );
            Err(rowmill_app::Error::limit(array, message).into())
        }
        Entries::Many(array, List { entries, count: _ }) => {
            Ok(rowmill_app::PatchRows { entries, array, strict })
        }
    }
}
