//! Guests of events.

use rowmill_model::guest::CarriedFields;
use rowmill_model::integration::EVENT_INTEGRATION;
use rowmill_model::{Project, ProjectId};
use serde_json::json;

use super::make::{create, creation, load, names, project, row, row_id};
use crate::conformance::make::NAME;
use crate::error::StoreError;
use crate::store::Store;
use crate::types::{GuestWrite, GuestsWritten, PageStart, ProjectSave};

pub(super) fn following(number: u128, team: u128, event_id: &str, enabled: bool) -> Project {
    let mut project = project(number, team);
    project.metadata.insert("integration".to_owned(), EVENT_INTEGRATION.into());
    let event = json!({ "eventId": event_id, "webhookEnabled": enabled });
    project.metadata.insert("eventplatform".to_owned(), event);
    project
}

pub(super) fn guest(
    project: ProjectId,
    version: u64,
    guest_id: &str,
    event_at_ms: i64,
    number: u128,
) -> GuestWrite {
    let row = row(number, &[(NAME, &number.to_string())]);
    GuestWrite {
        project,
        version,
        guest_id: guest_id.to_owned(),
        event_at_ms: Some(event_at_ms),
        may_create: true,
        new_bytes_max: None,
        now_ms: 15,
        row,
        carried: CarriedFields::default(),
        cell_bytes_max: 1_000,
    }
}

fn written(rows_created: u64, rows_updated: u64) -> GuestsWritten {
    GuestsWritten { rows_created, rows_updated }
}

async fn listed(store: &dyn Store, id: ProjectId) -> Vec<String> {
    names(&store.rows(id, PageStart::Offset(0), 1_000).await.unwrap().rows)
}

pub(super) async fn a_guest_has_one_row_a_project(store: &dyn Store) {
    let (first, second) = (following(1, 1, "evt", true), following(2, 1, "evt", true));
    for project in [&first, &second, &following(3, 1, "other", true), &following(4, 1, "evt", false)] {
        create(store, project.clone()).await;
    }
    create(store, following(5, 2, "evt", true)).await;
    let ids = async |event: &str| store.projects_of_event(first.team, event.to_owned()).await.unwrap();
    assert_eq!(ids("evt").await, [first.id, second.id]);
    assert_eq!(ids("none").await, []);
    let both =
        |at, number| vec![guest(first.id, 1, "g", at, number), guest(second.id, 1, "g", at, number + 1)];
    assert_eq!(store.upsert_guests(both(10, 100)).await.unwrap(), written(2, 0));
    assert_eq!(store.upsert_guests(both(11, 200)).await.unwrap(), written(0, 2));
    assert_eq!(
        (listed(store, first.id).await, listed(store, second.id).await),
        (vec!["200".into()], vec!["201".into()])
    );
    // The row keeps the id it was made with; deleted, it comes back under a new one.
    assert_eq!(store.delete_rows(first.id, vec![row_id(100)]).await.unwrap(), 1);
    assert_eq!(store.upsert_guests(vec![guest(first.id, 1, "g", 12, 300)]).await.unwrap(), written(1, 0));
    assert_eq!(listed(store, first.id).await, ["300"]);
    // Leaving the event is a change of the project like any other.
    let save = ProjectSave { version: Some(1), ..creation(following(2, 1, "evt", false)) };
    store.save_project(save).await.unwrap();
    assert_eq!(ids("evt").await, [first.id]);
}

pub(super) async fn an_older_event_changes_nothing(store: &dyn Store) {
    let id = create(store, following(1, 1, "evt", true)).await.project.id;
    let send = async |at, number| store.upsert_guests(vec![guest(id, 1, "g", at, number)]).await.unwrap();
    assert_eq!(send(10, 1).await, written(1, 0));
    assert_eq!(send(9, 2).await, written(0, 0));
    assert_eq!(send(10, 3).await, written(0, 1));
    assert_eq!(send(20, 3).await, written(0, 0), "unchanged");
    assert_eq!(send(19, 4).await, written(0, 0), "older than the unchanged one");
    assert_eq!(listed(store, id).await, ["3"]);
    let timeless = GuestWrite { event_at_ms: None, ..guest(id, 1, "g", 0, 5) };
    assert_eq!(
        store.upsert_guests(vec![timeless]).await.unwrap(),
        written(0, 1),
        "the newest, whatever the clock says"
    );
    assert_eq!(send(19, 6).await, written(0, 0), "the clock did not turn back");
    assert_eq!(listed(store, id).await, ["5"]);
}

pub(super) async fn a_stale_delivery_writes_nothing(store: &dyn Store) {
    let first = create(store, following(1, 1, "evt", true)).await.project.id;
    let second = create(store, following(2, 1, "evt", true)).await.project.id;
    let stale = store.upsert_guests(vec![guest(first, 1, "g", 1, 1), guest(second, 9, "g", 1, 2)]).await;
    assert!(matches!(stale, Err(StoreError::Stale)), "{stale:?}");
    assert_eq!(load(store, first).await.row_count, 0);
}

pub(super) async fn many_deliveries_make_one_row(store: &dyn Store) {
    let id = create(store, following(1, 1, "evt", true)).await.project.id;
    let mut pending: Vec<_> = (0..60_u128)
        .map(|n| Box::pin(store.upsert_guests(vec![guest(id, 1, &format!("g{}", n % 3), 5, 100 + n)])))
        .collect();
    let mut created = 0;
    std::future::poll_fn(|context| {
        pending.retain_mut(|delivery| match delivery.as_mut().poll(context) {
            std::task::Poll::Ready(outcome) => {
                created += outcome.unwrap().rows_created;
                false
            }
            std::task::Poll::Pending => true,
        });
        if pending.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    assert_eq!((created, listed(store, id).await.len()), (3, 3));
}
