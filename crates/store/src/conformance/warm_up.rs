//! What a server loads after a start: columns that were asked for, and projects with views.

use std::collections::BTreeMap;

use rowmill_model::filter::Filters;
use rowmill_model::sort::{Direction, Sorting};
use rowmill_model::{ColumnId, Deletion, Project, ProjectId, View, ViewId};
use uuid::Uuid;

use super::make::{create, creation, insert, numbered, project};
use crate::store::Store;
use crate::types::ProjectSave;
use crate::warm_up::{ASKED_FOR_MS, AskedColumn, AskedColumns, ColumnPart};

fn column(id: &str, part: ColumnPart) -> AskedColumn {
    AskedColumn { column: ColumnId::new(id), path: None, part }
}

async fn asked(store: &dyn Store, now_ms: i64) -> Vec<AskedColumns> {
    store.asked_columns(10, now_ms).await.unwrap()
}

pub(super) async fn columns_that_were_asked_for_are_noted(store: &dyn Store) {
    let first = create(store, project(1, 1)).await.project.id;
    let second = create(store, project(2, 2)).await.project.id;
    let (a, b) = (column("col_a", ColumnPart::Values), column("col_b", ColumnPart::Sorted(Direction::Asc)));
    let of = |project: ProjectId, columns: &[&AskedColumn]| AskedColumns {
        project,
        columns: columns.iter().copied().cloned().collect(),
    };
    assert_eq!(asked(store, 1).await, []);
    let path = AskedColumn { path: Some("a.\"\u{e9}".to_owned()), ..a.clone() };
    store.note_asked(first, vec![a.clone(), path.clone()], 10).await.unwrap();
    store.note_asked(second, vec![b.clone()], 20).await.unwrap();
    assert_eq!(asked(store, 20).await, [of(second, &[&b]), of(first, &[&a, &path])]);
    assert_eq!(store.asked_columns(1, 20).await.unwrap(), [of(second, &[&b])]);
    // What is known is not written again, and what is new comes first.
    store.note_asked(first, vec![a.clone()], 30).await.unwrap();
    assert_eq!(asked(store, 30).await[0].project, second);
    store.note_asked(first, vec![b.clone()], 40).await.unwrap();
    assert_eq!(asked(store, 40).await, [of(first, &[&b, &a, &path]), of(second, &[&b])]);
    // Nobody asked for some of it in a long time.
    assert_eq!(asked(store, 20 + ASKED_FOR_MS).await, [of(first, &[&b])]);
    // It goes with its project, and comes back with it.
    let unknown = project(9, 1).id;
    store.note_asked(unknown, vec![a.clone()], 50).await.unwrap();
    assert!(store.trash_project(first, Deletion { at_ms: 60, by: None }, None).await.unwrap());
    assert_eq!(asked(store, 60).await, [of(second, &[&b])]);
    assert!(store.restore_project(project(1, 1).team, first, 70).await.unwrap());
    assert_eq!(asked(store, 70).await.len(), 2);
    for id in [first, second] {
        assert!(store.delete_project(id, None).await.unwrap());
    }
    store.note_asked(first, vec![a], 80).await.unwrap();
    assert_eq!(asked(store, 80).await, []);
}

pub(super) async fn projects_with_views_are_told(store: &dyn Store) {
    let view = View {
        id: ViewId::from_uuid(Uuid::from_u128(1)),
        name: "All".to_owned(),
        emoji: View::EMOJI_DEFAULT.to_owned(),
        created_at_ms: 1,
        filters: Filters::default(),
        sorting: Sorting::default(),
        column_visibility: BTreeMap::new(),
    };
    // Changed in another order than they were made.
    for (number, updated_at_ms, has_view, rows) in
        [(1, 30, true, 3), (2, 10, true, 5), (3, 40, false, 5), (4, 20, true, 3), (5, 50, true, 2)]
    {
        let project = Project { updated_at_ms, ..project(number, number) };
        let id = project.id;
        let views = if has_view { vec![view.clone()] } else { Vec::new() };
        store.save_project(ProjectSave { views, ..creation(project) }).await.unwrap();
        insert(store, id, numbered(number * 100, rows)).await;
    }
    let ids = |numbers: &[u128]| -> Vec<ProjectId> {
        numbers.iter().map(|number| project(*number, *number).id).collect()
    };
    assert_eq!(store.projects_with_views(3, 10).await.unwrap(), ids(&[1, 4, 2]));
    assert_eq!(store.projects_with_views(4, 10).await.unwrap(), ids(&[2]));
    assert_eq!(store.projects_with_views(1, 2).await.unwrap(), ids(&[5, 1]));
}
