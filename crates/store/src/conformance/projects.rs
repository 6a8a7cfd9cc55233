//! Projects.

use rowmill_model::View;
use rowmill_model::filter::Filters;
use rowmill_model::sort::Sorting;
use rowmill_model::{ColumnId, ViewId};

use super::make::{batch, create, creation, insert, load, numbered, once, project, row_id};
use crate::error::StoreError;
use crate::store::Store;
use crate::types::{PageStart, ProjectPage, ProjectSave, SavedProject};

fn view(number: u128) -> View {
    View {
        id: ViewId::from_uuid(uuid::Uuid::from_u128(number)),
        name: format!("View {number}"),
        emoji: View::EMOJI_DEFAULT.to_owned(),
        created_at_ms: 5,
        filters: Filters::default(),
        sorting: Sorting::default(),
        column_visibility: [(ColumnId::trigger(), false)].into(),
    }
}

pub(super) async fn a_project_comes_back_as_it_was_saved(store: &dyn Store) {
    let mut sent = project(1, 1);
    sent.metadata.insert("big".to_owned(), serde_json::json!({ "list": [1, "ü", null] }));
    let saved =
        store.save_project(ProjectSave { views: vec![view(1)], ..creation(sent.clone()) }).await.unwrap();
    assert_eq!(saved.project, sent);
    let stored = load(store, sent.id).await;
    assert_eq!((*stored.project).clone(), sent);
    assert_eq!(*stored.views, [view(1)]);
    assert_eq!(stored.row_count, 0);
    assert!(store.project(project(2, 1).id).await.unwrap().is_none());
}

pub(super) async fn a_stale_save_changes_nothing(store: &dyn Store) {
    let mut changed = create(store, project(1, 1)).await.project;
    let version = load(store, changed.id).await.version;
    "Second".clone_into(&mut changed.title);
    let save = |version| ProjectSave { version: Some(version), ..creation(changed.clone()) };
    store.save_project(save(version)).await.unwrap();
    let again = store.save_project(save(version)).await;
    assert!(matches!(again, Err(StoreError::Stale)), "{again:?}");
    let stored = load(store, changed.id).await;
    assert_eq!(stored.project.title, "Second");
    assert_ne!(stored.version, version);
    let unknown = ProjectSave { version: Some(1), ..creation(project(9, 1)) };
    let unknown = store.save_project(unknown).await;
    assert!(matches!(unknown, Err(StoreError::UnknownProject)), "{unknown:?}");
}

pub(super) async fn the_list_is_newest_first_and_the_teams_own(store: &dyn Store) {
    for number in 1..=5 {
        let mut made = project(number, 1);
        made.folder_id = (number % 2 == 0).then(|| "even".to_owned());
        create(store, made).await;
    }
    create(store, project(6, 2)).await;
    let team = project(1, 1).team;
    let titles = async |folder: Option<&str>, offset, limit| {
        let page = ProjectPage { offset, limit };
        let listed = store.projects(team, folder.map(str::to_owned), page).await.unwrap();
        listed.into_iter().map(|summary| summary.title).collect::<Vec<_>>()
    };
    let all = ["Project 5", "Project 4", "Project 3", "Project 2", "Project 1"];
    assert_eq!(titles(None, 0, u32::MAX).await, all);
    assert_eq!(titles(None, 1, 2).await, all[1..3]);
    assert_eq!(titles(Some("even"), 0, 10).await, ["Project 4", "Project 2"]);
    assert_eq!(store.count_projects(team, None).await.unwrap(), 5);
    assert_eq!(store.count_projects(team, Some("even".to_owned())).await.unwrap(), 2);
    let first = store.projects(team, None, ProjectPage { offset: 4, limit: 1 }).await.unwrap().remove(0);
    assert_eq!((first.id, first.column_count, first.created_at_ms), (project(1, 1).id, 3, 1));
}

pub(super) async fn a_deleted_project_takes_its_rows_along(store: &dyn Store) {
    let (doomed, kept) =
        (create(store, project(1, 1)).await.project, create(store, project(2, 1)).await.project);
    insert(store, doomed.id, numbered(1, 3_000)).await;
    insert(store, kept.id, numbered(10_000, 3)).await;
    assert_eq!(store.count_team_rows(doomed.team).await.unwrap(), 3_003);
    assert!(store.delete_project(doomed.id, None).await.unwrap());
    assert_eq!(store.count_team_rows(doomed.team).await.unwrap(), 3);
    assert!(!store.delete_project(doomed.id, None).await.unwrap());
    assert!(store.project(doomed.id).await.unwrap().is_none());
    let gone = store.rows(doomed.id, PageStart::Offset(0), 10).await;
    assert!(matches!(gone, Err(StoreError::UnknownProject)), "{gone:?}");
    assert!(matches!(store.row(doomed.id, row_id(1)).await, Err(StoreError::UnknownProject)));
    let refused = store.insert_rows(batch(doomed.id, 1, numbered(20_000, 1))).await;
    assert!(matches!(refused, Err(StoreError::UnknownProject)), "{refused:?}");
    assert_eq!(store.rows(kept.id, PageStart::Offset(0), 10).await.unwrap().total, 3);
}

pub(super) async fn a_request_is_carried_out_once(store: &dyn Store) {
    let save = |number, once| ProjectSave {
        once: Some(once),
        subject: Some(format!("subject {number}")),
        fixes: vec![format!("fix {number}")],
        ..creation(project(number, 1))
    };
    store.save_project(save(1, once(1, 1, 100))).await.unwrap();
    let again = store.save_project(save(2, once(1, 1, 200))).await.unwrap();
    assert_eq!((again.project, again.fixes), (project(1, 1), vec!["fix 1".to_owned()]));
    assert_eq!(again.subject.as_deref(), Some("subject 1"));
    let kept = store.recall(once(1, 1, 200)).await.unwrap().unwrap();
    assert_eq!(serde_json::from_str::<SavedProject>(&kept).unwrap().project, project(1, 1));
    let other = store.save_project(save(3, once(1, 2, 200))).await;
    assert!(matches!(other, Err(StoreError::OnceConflict)), "{other:?}");
    assert!(matches!(store.recall(once(1, 2, 200)).await, Err(StoreError::OnceConflict)));
    assert_eq!(store.recall(once(2, 2, 200)).await.unwrap(), None);
    assert_eq!(store.count_projects(project(1, 1).team, None).await.unwrap(), 1);
    // After it is forgotten the name is free.
    assert_eq!(store.recall(once(1, 2, 1_100)).await.unwrap(), None);
    let anew = store.save_project(save(4, once(1, 2, 1_100))).await.unwrap();
    assert_eq!(anew.project, project(4, 1));
    // Or it is forgotten before its time.
    for number in [5, 6] {
        store.remember(once(number, 1, 1_200), format!("\"kept {number}\"")).await.unwrap();
    }
    store.forget(vec![once(5, 1, 1_200).name, once(7, 1, 1_200).name]).await.unwrap();
    assert_eq!(store.recall(once(5, 1, 1_200)).await.unwrap(), None);
    assert_eq!(store.recall(once(6, 1, 1_200)).await.unwrap().as_deref(), Some("\"kept 6\""));
}
