//! Things to put into a store.

use rowmill_model::column::Dependency;
use rowmill_model::project::ProjectSettings;
use rowmill_model::record::Slot;
use rowmill_model::{
    CellState, CellStatus, ColumnId, ColumnType, KeyId, Project, ProjectId, Record, Restrictions, RowId,
    Slug, Table, TeamId,
};
use uuid::Uuid;

use crate::store::Store;
use crate::types::{
    ApiKey, CellWrite, IdempotentRequest, KeptInput, NewRow, NewRows, ProjectSave, SavedProject,
    StoredProject, StoredRow, Team, WriteCells,
};

/// The slots of the columns a made project has beside its input column.
pub(super) const NAME: Slot = 1;
pub(super) const MAIL: Slot = 2;
/// The slots of the processed columns of a [`processed`] project.
pub(super) const ANSWER: Slot = 3;
pub(super) const SECOND: Slot = 4;

pub(super) fn team(number: u128, slug: &str) -> Team {
    Team {
        id: TeamId(Uuid::from_u128(number)),
        slug: Slug::parse(slug).unwrap(),
        name: format!("Team {slug}"),
        created_at_ms: i64::try_from(number).unwrap(),
    }
}

pub(super) fn key(number: u128, team: &Team) -> ApiKey {
    ApiKey {
        id: KeyId::from_uuid(Uuid::from_u128(number)),
        team: team.id,
        name: format!("key {number}"),
        hash: [u8::try_from(number).unwrap(); 32],
        created_at_ms: i64::try_from(number).unwrap(),
        last_used: None,
        expires_at_ms: None,
        restrictions: Restrictions::default(),
    }
}

pub(super) fn project(number: u128, team: u128) -> Project {
    let mut table = Table::new();
    table.push_manual(ColumnId::new("col_name00000000"), "Name");
    table.push_manual(ColumnId::new("col_mail00000000"), "Mail");
    Project {
        id: ProjectId::from_uuid(Uuid::from_u128(number)),
        team: TeamId(Uuid::from_u128(team)),
        title: format!("Project {number}"),
        autoplay: false,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table,
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: i64::try_from(number).unwrap(),
        updated_at_ms: i64::try_from(number).unwrap(),
    }
}

/// A project with two processed columns: [`ANSWER`] needs the name, [`SECOND`] needs the answer.
pub(super) fn processed(number: u128, team: u128) -> Project {
    let mut project = project(number, team);
    let table = &mut project.table;
    for (id, needs) in [("col_answer000000", "col_name00000000"), ("col_second000000", "col_answer000000")] {
        table.push_manual(ColumnId::new(id), id);
        if let Some(column) = table.columns.last_mut() {
            column.kind = ColumnType::Ai;
            column.dependencies = vec![Dependency { column_id: ColumnId::new(needs), required: true }];
        }
    }
    project
}

/// What a processed cell has that was written by hand.
pub(super) fn by_hand_at(now_ms: i64) -> CellState {
    CellState {
        status: CellStatus::Completed,
        manual: true,
        updated_at_ms: Some(now_ms),
        ..CellState::default()
    }
}

pub(super) fn creation(project: Project) -> ProjectSave {
    ProjectSave {
        project,
        views: Vec::new(),
        version: None,
        row_count: None,
        subject: None,
        fixes: Vec::new(),
        once: None,
    }
}

pub(super) async fn create(store: &dyn Store, project: Project) -> SavedProject {
    store.save_project(creation(project)).await.unwrap()
}

pub(super) async fn load(store: &dyn Store, id: ProjectId) -> StoredProject {
    store.project(id).await.unwrap().unwrap()
}

pub(super) async fn change(store: &dyn Store, id: ProjectId, change: impl FnOnce(&mut Project)) {
    let stored = load(store, id).await;
    let mut project = Project::clone(&stored.project);
    change(&mut project);
    let save = ProjectSave { version: Some(stored.version), ..creation(project) };
    store.save_project(save).await.unwrap();
}

pub(super) fn row_id(number: u128) -> RowId {
    RowId::from_uuid(Uuid::from_u128(number))
}

pub(super) fn row(number: u128, cells: &[(Slot, &str)]) -> NewRow {
    NewRow {
        id: row_id(number),
        values: Record::pack(cells.iter().copied()),
        cleared: cells.iter().filter(|(_, text)| *text == "null").map(|(slot, _)| *slot).collect(),
        leftover_bytes_max: None,
    }
}

/// Rows numbered from `first`, each with its number as its name.
pub(super) fn numbered(first: u128, count: u128) -> Vec<NewRow> {
    (first..first + count).map(|number| row(number, &[(NAME, &number.to_string())])).collect()
}

pub(super) fn batch(project: ProjectId, version: u64, rows: Vec<NewRow>) -> NewRows {
    NewRows {
        project,
        version,
        rows,
        match_on: None,
        project_save: None,
        ignored_keys: Vec::new(),
        new_rows_max: None,
        new_bytes_max: None,
        kept_input: KeptInput::default(),
        now_ms: 0,
        once: None,
        import: None,
    }
}

pub(super) async fn insert(store: &dyn Store, project: ProjectId, rows: Vec<NewRow>) {
    let version = load(store, project).await.version;
    store.insert_rows(batch(project, version, rows)).await.unwrap();
}

pub(super) fn writes(project: ProjectId, version: u64, cells: Vec<CellWrite>) -> WriteCells {
    WriteCells {
        project,
        version,
        project_save: None,
        cells,
        expected: None,
        new_bytes_max: None,
        now_ms: 0,
        returning: Vec::new(),
    }
}

pub(super) fn write(row: u128, slot: Slot, value: &str) -> CellWrite {
    CellWrite { row: row_id(row), slot, value: value.into() }
}

pub(super) fn once(name: u8, fingerprint: u8, now_ms: i64) -> IdempotentRequest {
    IdempotentRequest {
        name: [name; 32],
        fingerprint: [fingerprint; 32],
        now_ms,
        expires_at_ms: now_ms + 1_000,
    }
}

/// The raw text of a cell.
pub(super) fn cell(row: &StoredRow, slot: Slot) -> Option<String> {
    row.values.cells().unwrap().get(slot).map(str::to_owned)
}

/// The name cells of rows, in order.
pub(super) fn names(rows: &[StoredRow]) -> Vec<String> {
    rows.iter().map(|row| cell(row, NAME).unwrap_or_default()).collect()
}
