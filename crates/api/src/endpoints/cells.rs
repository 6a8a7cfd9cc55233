//! Cells.

use std::marker::PhantomData;

use axum::http::Method;
use rowmill_app::{CellChange, Fields, FieldsRead, off_async};
use rowmill_model::limits::OFFENCES_MAX;
use rowmill_model::{Limits, Offence, Scopes};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::ProjectPath;
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::payload::{Nothing, Raw, not_json};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::fields::{self, List};
use crate::wire::row::CellsBody;

pub(crate) struct PatchCells<V>(PhantomData<V>);

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CellsWritten {
    /// Number of distinct cells written.
    updated_count: u64,
}

impl<V: Version> Endpoint<ApiState> for PatchCells<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::PATCH;
    const ID: &'static str = "updateCells";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = "Rows";
    const SUMMARY: &'static str = "Update cells";
    const DESCRIPTION: &'static str = "Updates cells of any rows, all or nothing. If a cell appears twice, the last entry wins. A value \
     written into a processed column is marked as manual; null makes the cell idle again.";
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Raw<CellsBody>;
    type Out = CellsWritten;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "cells": [
                { "rowId": "row_0190f0e0b3c47d5e8f60123456789abc", "columnId": "_trigger", "value": "Ada" },
            ] })),
            answer: Some(json!({ "updatedCount": 1 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        body: Raw<CellsBody>,
    ) -> Result<Answer<CellsWritten>, Error> {
        let path = V::within(path);
        let changes = off_async(body.text.len(), || read(&body.text, &call.limits))?;
        let updated_count = call.app().write_cells(call.caller()?, &path.project_id, &changes).await?;
        Ok(Answer::new(CellsWritten { updated_count }))
    }
}

/// Reads the body by hand, so that values stay raw text and every offence is named.
fn read<'a>(text: &'a str, limits: &Limits) -> Result<Vec<CellChange<'a>>, Error> {
    let body = fields::one(text)?;
    let mut offences = Vec::new();
    fields::check_names(&body, &["cells"], "", &mut offences);
    let most = usize::try_from(limits.cells_batch_max).unwrap_or(usize::MAX);
    let list = fields::get(&body, "cells").map(|raw| fields::array(raw, most)).transpose()?;
    let List { entries, count } = match list {
        Some(Some(list)) => list,
        Some(None) => {
            offences.push(Offence::new("cells", "must be an array of {rowId, columnId, value}"));
            List::default()
        }
        None => List::default(),
    };
    if count > most {
        let message = format!("has {count} entries, but one batch has at most {most} (cellsBatchMax)");
        return Err(rowmill_app::Error::limit("cells", message).into());
    }
    let mut changes = Vec::with_capacity(entries.len());
    let mut fields = Fields::default();
    for (index, entry) in entries.into_iter().enumerate() {
        let path = format!("cells[{index}]");
        match fields.read(entry).map_err(|error| not_json(&error))? {
            FieldsRead::All => changes.extend(change(&fields, &path, &mut offences)),
            FieldsRead::TooMany | FieldsRead::NotAnObject => {
                offences.push(Offence::new(path, "must be an object {rowId, columnId, value}"));
            }
        }
        if offences.len() >= OFFENCES_MAX {
            break;
        }
    }
    if offences.is_empty() { Ok(changes) } else { Err(Error::offences(offences)) }
}

fn change<'a>(entry: &Fields<'a>, path: &str, offences: &mut Vec<Offence>) -> Option<CellChange<'a>> {
    fields::check_names(entry, &["rowId", "columnId", "value"], path, offences);
    let mut text = |name: &str| {
        let raw = fields::get(entry, name)?;
        let text = fields::string(raw);
        if text.is_none() {
            offences.push(Offence::new(format!("{path}.{name}"), "must be a string"));
        }
        text
    };
    let (row_id, column_id) = (text("rowId"), text("columnId"));
    Some(CellChange { row_id: row_id?, column_id: column_id?, value: fields::get(entry, "value")? })
}
