//! The trash on the wire.

use std::time::Duration;

use rowmill_app::{ItemsRestored, KeyNames, ProjectTrashListed, RestoreItems, TrashListed};
use rowmill_model::{ColumnType, Deletion, Record, RowId, Table, Value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::timestamp;

/// How many values tell a row from others, and how many characters of each are shown.
const LABEL_VALUES: usize = 3;
const LABEL_CHARS: usize = 80;

/// When something was deleted, by which API key, and until when it can be restored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Deletion")]
pub(crate) struct DeletionOut {
    #[schemars(extend("format" = "date-time"))]
    deleted_at: String,
    /// The API key that was used; null if it is not known.
    deleted_by: Option<DeletedBy>,
    /// After this time it is removed for good.
    #[schemars(extend("format" = "date-time"))]
    expires_at: String,
}

/// An API key that something was deleted with.
#[derive(Debug, Serialize, JsonSchema)]
struct DeletedBy {
    #[schemars(length(max = 36), regex(pattern = "^key_[0-9a-f]{32}$"))]
    id: String,
    /// Null if the key was revoked since.
    name: Option<String>,
}

impl DeletionOut {
    fn new(deletion: Deletion, names: &KeyNames, kept_for: Duration) -> Self {
        let kept_ms = i64::try_from(kept_for.as_millis()).unwrap_or(i64::MAX);
        let by = |key: rowmill_model::KeyId| DeletedBy {
            id: key.to_string(),
            name: names.get(key).map(str::to_owned),
        };
        Self {
            deleted_at: timestamp(deletion.at_ms),
            deleted_by: deletion.by.map(by),
            expires_at: timestamp(deletion.at_ms.saturating_add(kept_ms)),
        }
    }
}

/// What is in a project's trash, the last deleted first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Trash")]
pub(crate) struct TrashOut {
    rows: Vec<TrashedRowOut>,
    /// All of them, on every page.
    columns: Vec<TrashedColumnOut>,
    /// All of them, on every page.
    views: Vec<TrashedViewOut>,
    pagination: TrashPages,
}

/// A deleted row.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TrashedRow")]
pub(crate) struct TrashedRowOut {
    #[schemars(length(max = 36), regex(pattern = "^row_[0-9a-f]{32}$"))]
    id: String,
    /// Its first values, to recognize it by.
    label: String,
    #[serde(flatten)]
    deletion: DeletionOut,
}

/// A deleted column.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TrashedColumn")]
pub(crate) struct TrashedColumnOut {
    #[schemars(length(min = 1, max = 64))]
    id: String,
    header: String,
    #[serde(rename = "type")]
    kind: ColumnType,
    #[serde(flatten)]
    deletion: DeletionOut,
}

/// A deleted view.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "TrashedView")]
pub(crate) struct TrashedViewOut {
    #[schemars(length(max = 37), regex(pattern = "^view_[0-9a-f]{32}$"))]
    id: String,
    name: String,
    emoji: String,
    #[serde(flatten)]
    deletion: DeletionOut,
}

/// Pagination of the rows in the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct TrashPages {
    page_size: u32,
    total_rows: u64,
    /// The `cursor` of the next page; null at the end.
    #[schemars(length(max = 64))]
    next_cursor: Option<String>,
}

impl TrashOut {
    pub(crate) fn new(
        listed: TrashListed,
        page_size: u32,
        kept_for: Duration,
    ) -> Result<Self, rowmill_app::Error> {
        let TrashListed { project, trash, rows, next_cursor, key_names } = listed;
        let deletion = |deletion| DeletionOut::new(deletion, &key_names, kept_for);
        let table = &project.project.table;
        let row = |row: &rowmill_app::TrashedRow| {
            let (id, label) = (row.id.to_string(), label(table, &row.values)?);
            Ok(TrashedRowOut { id, label, deletion: deletion(row.deletion) })
        };
        Ok(Self {
            rows: rows.rows.iter().map(row).collect::<Result<_, rowmill_app::Error>>()?,
            columns: trash
                .columns
                .iter()
                .rev()
                .map(|trashed| TrashedColumnOut {
                    id: trashed.column.id.to_string(),
                    header: trashed.column.header.clone(),
                    kind: trashed.column.kind,
                    deletion: deletion(trashed.deletion),
                })
                .collect(),
            views: trash
                .views
                .iter()
                .rev()
                .map(|trashed| TrashedViewOut {
                    id: trashed.view.id.to_string(),
                    name: trashed.view.name.clone(),
                    emoji: trashed.view.emoji.clone(),
                    deletion: deletion(trashed.deletion),
                })
                .collect(),
            pagination: TrashPages { page_size, total_rows: rows.total, next_cursor },
        })
    }
}

/// The first values of a row. What was sent as input comes last, because it is seldom made for people.
fn label(table: &Table, values: &Record) -> Result<String, rowmill_app::Error> {
    let cells = values.cells()?;
    let columns = table.columns.iter().skip(1).chain(table.columns.first());
    let texts = columns.filter_map(|column| {
        let text = Value::parse(cells.get(column.slot)?).text().into_owned();
        (!text.trim().is_empty()).then(|| text.chars().take(LABEL_CHARS).collect::<String>())
    });
    Ok(texts.take(LABEL_VALUES).collect::<Vec<_>>().join(" · "))
}

/// What to restore. Ids that are not in the trash are not counted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(clippy::struct_field_names, reason = "the names are those of the API")]
pub(crate) struct RestoreBody {
    #[serde(default)]
    #[schemars(extend("x-limit" = { "maxItems": "rowIdsMax" }))]
    row_ids: Vec<String>,
    /// Ids or headers of deleted columns.
    #[serde(default)]
    #[schemars(extend("x-limit" = { "maxItems": "columnsMax" }), inner(length(max = 255)))]
    column_ids: Vec<String>,
    #[serde(default)]
    #[schemars(extend("x-limit" = { "maxItems": "viewsMax" }))]
    view_ids: Vec<String>,
}

impl RestoreBody {
    pub(crate) fn into_items(self, once: Option<rowmill_app::IdempotencyKey>) -> RestoreItems {
        let Self { row_ids, column_ids, view_ids } = self;
        RestoreItems { row_ids, column_ids, view_ids, once }
    }
}

/// What was restored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Restored")]
pub(crate) struct RestoredOut {
    restored_rows: u64,
    restored_columns: u64,
    restored_views: u64,
    /// Rows that stay in the trash, because a later webhook delivery made another row for the same guest. Delete that
    /// row first.
    not_restored: Vec<NotRestored>,
    /// Corrections that were made on the way: columns and views that changed since, and names that are taken.
    applied_fixes: Vec<String>,
}

/// A row that stays in the trash.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct NotRestored {
    row_id: String,
    reason: String,
}

impl From<ItemsRestored> for RestoredOut {
    fn from(restored: ItemsRestored) -> Self {
        let ItemsRestored { rows, columns, views, guests_elsewhere, fixes } = restored;
        let stays = |row: &RowId| NotRestored {
            row_id: row.to_string(),
            reason: "A later webhook delivery made another row for this guest; delete that row first"
                .to_owned(),
        };
        Self {
            restored_rows: rows,
            restored_columns: columns,
            restored_views: views,
            not_restored: guests_elsewhere.iter().map(stays).collect(),
            applied_fixes: fixes,
        }
    }
}

/// Deleted projects, the last deleted first.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ProjectTrash")]
pub(crate) struct ProjectTrashOut {
    projects: Vec<TrashedProjectOut>,
    pagination: ProjectTrashPages,
}

/// A deleted project.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "TrashedProject")]
pub(crate) struct TrashedProjectOut {
    #[schemars(length(max = 37), regex(pattern = "^proj_[0-9a-f]{32}$"))]
    id: String,
    title: String,
    #[schemars(extend("format" = "date-time"))]
    created_at: String,
    column_count: u32,
    row_count: u64,
    #[serde(flatten)]
    deletion: DeletionOut,
}

/// Pagination of deleted projects.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ProjectTrashPages {
    #[schemars(range(min = 1))]
    page: u64,
    page_size: u32,
    total_rows: u64,
    total_pages: u64,
}

impl ProjectTrashOut {
    pub(crate) fn new(listed: ProjectTrashListed, page: u64, page_size: u32, kept_for: Duration) -> Self {
        let ProjectTrashListed { projects, total, key_names } = listed;
        let project = |trashed: rowmill_app::TrashedProject| TrashedProjectOut {
            id: trashed.summary.id.to_string(),
            title: trashed.summary.title,
            created_at: timestamp(trashed.summary.created_at_ms),
            column_count: trashed.summary.column_count,
            row_count: trashed.row_count,
            deletion: DeletionOut::new(trashed.deletion, &key_names, kept_for),
        };
        let total_pages = total.div_ceil(u64::from(page_size));
        Self {
            projects: projects.into_iter().map(project).collect(),
            pagination: ProjectTrashPages { page, page_size, total_rows: total, total_pages },
        }
    }
}
