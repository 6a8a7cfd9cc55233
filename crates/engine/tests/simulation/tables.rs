//! Tables made up by chance.

use rowmill_model::column::{Dependency, RateLimit, ReferenceConfig, Retry};
use rowmill_model::filter::Filters;
use rowmill_model::project::ProjectSettings;
use rowmill_model::{Column, ColumnId, ColumnType, Limits, Project, ProjectId, Table, TeamId};
use serde_json::json;
use uuid::Uuid;

pub(crate) fn project_id() -> ProjectId {
    ProjectId::from_uuid(Uuid::from_u128(1))
}

/// A project with an input column, some processed ones, and references between them.
pub(crate) fn project(random: &mut fastrand::Rng) -> Project {
    let mut project = Project {
        id: project_id(),
        team: TeamId(Uuid::from_u128(1)),
        title: "Simulated".to_owned(),
        autoplay: random.u8(..3) == 0,
        folder_id: None,
        metadata: serde_json::Map::new(),
        settings: ProjectSettings::default(),
        table: Table::new(),
        trash: rowmill_model::Trash::default(),
        hooks: Vec::new(),
        copying: None,
        created_at_ms: 0,
        updated_at_ms: 0,
    };
    for _ in 0..random.u8(2..=6) {
        add_column(&mut project, random);
        if random.u8(..4) == 0 {
            add_reference(&mut project, random);
        }
    }
    project
}

/// Adds a processed column that depends on some of those before it.
pub(crate) fn add_column(project: &mut Project, random: &mut fastrand::Rng) {
    let table = &mut project.table;
    let others: Vec<ColumnId> = table.columns.iter().map(|column| column.id.clone()).collect();
    let condition = (random.u8(..4) == 0).then(|| {
        let column_id = random.choice(&others).unwrap();
        let operator = if random.bool() { "isNotEmpty" } else { "notEquals" };
        let value = if operator == "notEquals" { json!("i3") } else { json!(null) };
        let filters = json!([{"columnId": column_id.as_str(), "operator": operator, "value": value}]);
        Filters::parse(&filters, "runCondition", table, &Limits::default()).unwrap()
    });
    let mut dependencies: Vec<Dependency> = Vec::new();
    for _ in 0..random.u8(..3) {
        let column_id = random.choice(&others).unwrap().clone();
        if !dependencies.iter().any(|dependency| dependency.column_id == column_id) {
            dependencies.push(Dependency { column_id, required: random.u8(..3) == 0 });
        }
    }
    let column = push(table);
    column.kind = [ColumnType::Ai, ColumnType::Task, ColumnType::Api][random.usize(..3)];
    column.dependencies = dependencies;
    column.run_condition = condition.unwrap_or_default();
    column.retry = Retry { max_attempts: random.u32(1..=4) };
    column.rate_limit = (random.u8(..5) == 0)
        .then(|| RateLimit { requests: random.u32(1..6), per_seconds: random.u32(1..8) });
}

fn add_reference(project: &mut Project, random: &mut fastrand::Rng) {
    let table = &mut project.table;
    let column_id = random.choice(&table.columns).unwrap().id.as_str().to_owned();
    let column = push(table);
    column.kind = ColumnType::Reference;
    column.reference_config = Some(ReferenceConfig { column_id, path: String::new() });
}

fn push(table: &mut Table) -> &mut Column {
    let name = format!("col_{:012}", table.next_slot);
    table.push_manual(ColumnId::new(name.as_str()), &name);
    table.columns.last_mut().unwrap()
}

/// Removes a processed column that no reference follows, as the corrections would.
pub(crate) fn remove_column(project: &mut Project, random: &mut fastrand::Rng) {
    let table = &mut project.table;
    let is_followed = |id: &ColumnId| {
        let configs = table.columns.iter().filter_map(|column| column.reference_config.as_ref());
        configs.into_iter().any(|config| config.column_id == id.as_str())
    };
    let free = table.columns.iter().filter(|column| column.kind.is_processed() && !is_followed(&column.id));
    let free: Vec<ColumnId> = free.map(|column| column.id.clone()).collect();
    let Some(doomed) = random.choice(&free) else { return };
    table.columns.retain(|column| column.id != *doomed);
    for column in &mut table.columns {
        column.dependencies.retain(|dependency| dependency.column_id != *doomed);
        if let Some(rest) = column.run_condition.without(doomed.as_str()) {
            column.run_condition = rest;
        }
    }
}
