//! Rows.

use std::marker::PhantomData;

use axum::http::{Method, StatusCode};
use rowmill_app::{Cursor, Page, Start, StoredProject, WantedSlots, knowing, off_async, slots_shown};
use rowmill_model::value::MatchCase;
use rowmill_model::{Limits, Offence, Scopes};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::row_queries::InsertQuery;
use super::{ProjectPath, page_size};
use crate::answer::Answer;
use crate::endpoint::{Access, Call, Endpoint, Examples};
use crate::error::Error;
use crate::page_cache::{KeptPage, PageKey};
use crate::page_changes::PageRows;
use crate::page_links::linked;
use crate::page_numbers::PageNumbers;
use crate::payload::{Json, Nothing, Raw};
use crate::row_selection::{columns_of, right_filters_and_sorting};
use crate::row_stream::{PageForm, Written};
use crate::state::ApiState;
use crate::versions::Version;
use crate::wire::Deleted;
use crate::wire::fields::{self, Entries, List};
use crate::wire::key_by::KeyBy;
use crate::wire::row::{Rows, RowsBody, RowsDelete, Shown};
use crate::wire::rows_inserted::RowsInserted;

const TAG: &str = "Rows";

pub(crate) struct ListRows<V>(PhantomData<V>);

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Page number, from 1. A page beyond the end is empty.
    #[schemars(range(min = 1))]
    page: Option<u64>,
    /// Rows per page.
    #[schemars(range(min = 1), extend("x-limit" = { "maximum": "pageSizeMax", "default": "pageSizeDefault" }))]
    page_size: Option<u32>,
    /// Return only the rows of this view, in its order.
    #[schemars(extend("x-document" = { "minLength": 1, "maxLength": 64 }))]
    view_id: Option<String>,
    /// Filters as in a view, as JSON. They are combined with the view's filters (AND).
    #[schemars(length(max = 8_000))]
    filters: Option<String>,
    /// Sorting as in a view, as JSON. It replaces the view's sorting.
    #[schemars(length(max = 2_000))]
    sorting: Option<String>,
    /// Return only rows with a cell that contains this text.
    #[schemars(length(max = 1_000))]
    search: Option<String>,
    /// Return only these columns: comma-separated ids or headers. A header that contains a comma must be
    /// given by its id.
    #[schemars(length(max = 10_000))]
    column_ids: Option<String>,
    /// Return cells as objects with value and status.
    with_status: Option<bool>,
    /// Return cells as in a single-row read, without `attempts`, `updatedAt` and `meta`.
    with_state: Option<bool>,
    /// What names the cells: the column id (default), or the column's `header`.
    #[serde(default)]
    #[schemars(with = "KeyBy")]
    key_by: Option<KeyBy>,
    /// Continue after a page: its `pagination.nextCursor`. Cannot be combined with `page`.
    #[schemars(length(max = 2_200))]
    cursor: Option<String>,
    /// Set to false to omit the total, which is faster for filtered lists.
    include_total: Option<bool>,
}

impl ListQuery {
    fn shown(&self) -> Shown {
        match (self.with_state, self.with_status) {
            (Some(true), _) => Shown::State,
            (_, Some(true)) => Shown::Status,
            _ => Shown::Value,
        }
    }
}

impl<V: Version> Endpoint<ApiState> for ListRows<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::READ;
    const METHOD: Method = Method::GET;
    const ID: &'static str = "listRows";
    const SCOPES: Scopes = Scopes::READ;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "List rows";
    const DESCRIPTION: &'static str = "Lists rows in order of creation, or filtered and sorted by a view or by query parameters. Every \
         row contains every column.";
    const READS_ROWS: bool = true;
    const IS_PAGED: bool = true;
    const CHECKS_REST: bool = true;
    type Path = V::Path<ProjectPath>;
    type Query = ListQuery;
    type Body = Nothing;
    type Out = Rows;

    fn examples() -> Examples {
        Examples {
            body: None,
            answer: Some(json!({
                "rows": [{ "id": "row_0190f0e0b3c47d5e8f60123456789abc", "cells": { "_trigger": "Ada", "col_4fJq0ZtR9xWb": null } }],
                "pagination": { "page": 1, "pageSize": 50, "totalRows": 1, "totalPages": 1, "nextCursor": null },
            })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        query: ListQuery,
        _: Nothing,
    ) -> Result<Answer<Rows>, Error> {
        let path = V::within(path);
        let caller = call.caller()?;
        let size = page_size(query.page_size, &call.limits);
        let (mut list, mut wrong) = list_of(&query, size, &call.limits);
        let (page_number, is_numbered) = match &list.start {
            Start::Offset(offset) => (offset / u64::from(size) + 1, true),
            Start::After(cursor) => (cursor.rank / u64::from(size) + 1, false),
        };
        let stored = call.app().project(caller, &path.project_id).await;
        let stored = stored.map_err(|error| error.among(wrong.clone()))?;
        call.check_sequence(stored.change_seq)?;
        let name = page_key(&stored, &query, &list);
        if wrong.is_empty()
            && let Some(kept) = name.as_ref().and_then(|name| call.pages().get(name, &stored))
        {
            return Ok(linked(&call, &kept.numbers.links(), Answer::rendered(kept.answer)));
        }
        let table = &stored.project.table;
        match columns_of(table, query.column_ids.as_deref()) {
            Ok(columns) if query.column_ids.is_some() => list.slots = slots_shown(table, columns),
            Ok(_) => {}
            Err(error) => wrong.extend(error.into_details()),
        }
        let listed = knowing(&wrong, call.app().list_rows(&stored, list)).await;
        let Page { rows, rest, total, next } = listed.map_err(|error| error.among(wrong))?;
        let has_next = next.is_some();
        let numbers = PageNumbers { page: page_number, page_size: size, is_numbered, total, next };
        let links = numbers.links();
        let form = PageForm {
            project: stored.clone(),
            shown: query.shown(),
            key_by: query.key_by.unwrap_or_default(),
            column_ids: query.column_ids,
        };
        // Rows that are added change the last page, too.
        let span = rows.first().zip(rows.last()).filter(|_| has_next);
        let span = span.map(|(first, last)| PageRows {
            first: first.position,
            last: last.position,
            is_at_offset: is_numbered,
            has_states: form.shown != Shown::Value,
        });
        let answer = match form.write((rows, rest), &numbers, &call.answers).await? {
            Written::Whole { answer, rows_end, charge } => {
                if let Some(name) = name {
                    let kept = KeptPage { answer: answer.clone(), rows_end, numbers };
                    call.pages().insert(name, &stored, span, kept);
                }
                Answer::rendered(answer).with_charge(charge)
            }
            Written::Streamed(body) => Answer::streamed(body),
        };
        Ok(linked(&call, &links, answer))
    }
}

/// What names a page that may be kept: one of all rows, in order of creation. Others depend on more than
/// the project's state: on the time, for one.
fn page_key(stored: &StoredProject, query: &ListQuery, list: &rowmill_app::ListRows) -> Option<PageKey> {
    let ListQuery {
        page: _,
        page_size: _,
        view_id,
        filters,
        sorting,
        search,
        column_ids,
        with_status: _,
        with_state: _,
        key_by,
        cursor: _,
        include_total: _,
    } = query;
    let selects = [view_id, filters, sorting, search, column_ids];
    let is_plain = selects.iter().all(|part| part.is_none()) && key_by.unwrap_or_default() == KeyBy::Id;
    is_plain.then(|| PageKey {
        project: stored.project.id,
        start: list.start.clone(),
        size: list.limit,
        shown: query.shown(),
        include_total: list.include_total,
    })
}

/// Which rows are asked for, as far as that is right, and what is not.
fn list_of(query: &ListQuery, size: u32, limits: &Limits) -> (rowmill_app::ListRows, Vec<Offence>) {
    let (filters, sorting) = (query.filters.as_deref(), query.sorting.as_deref());
    let ((filters, sorting), mut offences) = right_filters_and_sorting(filters, sorting, limits);
    let start = match (&query.cursor, query.page) {
        (Some(_), Some(_)) => {
            offences.push(Offence::new("cursor", "cannot be combined with page"));
            Start::Offset(0)
        }
        (Some(text), None) => {
            let cursor = Cursor::parse(text);
            if cursor.is_none() {
                offences.push(Offence::new("cursor", "must be a nextCursor from a previous page"));
            }
            cursor.map_or(Start::Offset(0), Start::After)
        }
        (None, page) => Start::Offset(page.unwrap_or(1).saturating_sub(1).saturating_mul(u64::from(size))),
    };
    let list = rowmill_app::ListRows {
        view_id: query.view_id.clone(),
        filters,
        sorting,
        search: query.search.clone(),
        start,
        limit: size,
        include_total: query.include_total.unwrap_or(true),
        slots: WantedSlots::All,
    };
    (list, offences)
}

pub(crate) struct InsertRows<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for InsertRows<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::POST;
    const ID: &'static str = "insertRows";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Insert rows";
    const DESCRIPTION: &'static str = "Inserts one or more rows, all or nothing. Unknown fields become columns if the project's settings \
     allow it. Otherwise they are stored as an object in `_trigger`, if the row has no value for it, and \
     listed in `keptAsInput`; if it has, they are listed in `ignoredKeys`. With `matchOn`, matching rows are \
     updated; the status is 200 if no row was inserted. Unknown fields are then merged into `_trigger` if it \
     holds an object, and otherwise listed in `ignoredKeys`.";
    const STATUS: StatusCode = StatusCode::CREATED;
    const STATUS_ALSO: Option<StatusCode> = Some(StatusCode::OK);
    const DEPRECATED_AT: Option<i64> = V::DEPRECATED_AT;
    type Path = V::Path<ProjectPath>;
    type Query = InsertQuery;
    type Body = Raw<RowsBody>;
    type Out = RowsInserted;

    fn examples() -> Examples {
        Examples {
            body: Some(json!([{ "Email": "ada@example.com" }, { "Email": "alan@example.com" }])),
            answer: Some(json!({ "insertedCount": 2, "rows": [
                "row_0190f0e0b3c47d5e8f60123456789abc", "row_0190f0e0b3c47d5e8f60123456789abd",
            ] })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        query: InsertQuery,
        body: Raw<RowsBody>,
    ) -> Result<Answer<RowsInserted>, Error> {
        let path = V::within(path);
        let match_on = query.match_on.clone();
        let insert = insert_of(&body.text, query, &call)?;
        let inserted = call.app().insert_rows(call.caller()?, &path.project_id, insert).await?;
        let out = RowsInserted::new(inserted, match_on.as_deref());
        let status =
            if match_on.is_some() && !out.any_inserted() { StatusCode::OK } else { StatusCode::CREATED };
        Ok(Answer::new(out).with_status(status))
    }
}

fn insert_of<'a>(
    text: &'a str,
    query: InsertQuery,
    call: &Call<ApiState>,
) -> Result<rowmill_app::InsertRows<'a>, Error> {
    let most = call.limits.insert_rows_max;
    let read = off_async(text.len(), || fields::entries(text, usize::try_from(most).unwrap_or(usize::MAX)))?;
    let (batch, entries) = match read {
        Entries::One(row) => (None, vec![row]),
        Entries::Many(array, List { entries, count }) if count > entries.len() => {
            let message = format!(
                "has {count} rows; the limit is {most} per request (insertRowsMax). Split it into several requests"
            );
            return Err(rowmill_app::Error::limit(array, message).into());
        }
        Entries::Many(array, List { entries, count: _ }) => (Some(array), entries),
    };
    let InsertQuery { match_on, match_case, strict } = query;
    let match_case = if match_case == Some(false) { MatchCase::Ignored } else { MatchCase::Counts };
    let strict = strict.unwrap_or_default();
    Ok(rowmill_app::InsertRows { entries, batch, match_on, match_case, strict, once: call.once() })
}

pub(crate) struct DeleteRows<V>(PhantomData<V>);

impl<V: Version> Endpoint<ApiState> for DeleteRows<V> {
    const VERSION: &'static str = V::SUFFIX;
    const ACCESS: Access = V::WRITE;
    const METHOD: Method = Method::DELETE;
    const ID: &'static str = "deleteRows";
    const SCOPES: Scopes = Scopes::WRITE;
    const TAG: &'static str = TAG;
    const SUMMARY: &'static str = "Delete rows";
    const DESCRIPTION: &'static str =
        "Deletes the rows with these ids. Unknown ids are ignored and not counted.";
    type Path = V::Path<ProjectPath>;
    type Query = Nothing;
    type Body = Json<RowsDelete>;
    type Out = Deleted;

    fn examples() -> Examples {
        Examples {
            body: Some(json!({ "rowIds": ["row_0190f0e0b3c47d5e8f60123456789abc"] })),
            answer: Some(json!({ "deletedCount": 1 })),
        }
    }

    async fn handle(
        call: Call<ApiState>,
        path: V::Path<ProjectPath>,
        _: Nothing,
        Json(body): Json<RowsDelete>,
    ) -> Result<Answer<Deleted>, Error> {
        let path = V::within(path);
        let deleted_count = call.app().delete_rows(call.caller()?, &path.project_id, &body.row_ids).await?;
        Ok(Answer::new(Deleted { deleted_count }))
    }
}
