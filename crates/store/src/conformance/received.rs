//! What inbound webhooks received: kept within bounds, listed, and swept.

use rowmill_model::{HookId, ProjectId, TeamId};
use uuid::Uuid;

use crate::received::{
    KeepReceived, NewReceived, ReceivedFilter, ReceivedHead, ReceivedOutcome, ReceivedSource, ReceivedStatus,
};
use crate::store::Store;
use crate::webhooks::DeliveryId;

const TEAM: TeamId = TeamId(Uuid::from_u128(1));
const OTHER: TeamId = TeamId(Uuid::from_u128(2));
const ALL: KeepReceived = KeepReceived { count: 1_000, bytes: 1_000_000 };

fn hook(number: u128) -> HookId {
    HookId::from_uuid(Uuid::from_u128(number))
}

fn outcome(at_ms: i64, status: ReceivedStatus) -> ReceivedOutcome {
    ReceivedOutcome {
        at_ms,
        is_replay: false,
        status,
        rows_created: 1,
        rows_updated: 2,
        rows_unchanged: 3,
        ignored_keys: vec!["a".to_owned()],
        reason: Some("because".to_owned()),
    }
}

fn new(team: TeamId, hook: Option<HookId>, received_at_ms: i64) -> NewReceived {
    let head = ReceivedHead {
        content_type: Some("text/plain".to_owned()),
        headers: vec![("x-source".to_owned(), "a \u{e9}".to_owned())],
        signed_for: vec![ProjectId::from_uuid(Uuid::from_u128(5))],
    };
    NewReceived {
        team,
        hook,
        project: hook.map(|_| ProjectId::from_uuid(Uuid::from_u128(7))),
        received_at_ms,
        head,
        outcome: outcome(received_at_ms, ReceivedStatus::Processed),
        body: vec![0, 0xFF, b'x'],
    }
}

async fn times(store: &dyn Store, team: TeamId, filter: ReceivedFilter) -> Vec<i64> {
    let listed = store.received(team, filter, 1_000).await.unwrap();
    assert!(listed.iter().all(|record| record.body.is_none()), "lists are without bodies");
    listed.iter().map(|record| record.id.created_at_ms).collect()
}

pub(super) async fn what_came_in_is_kept_and_listed(store: &dyn Store) {
    let failed = NewReceived { outcome: outcome(11, ReceivedStatus::Failed), ..new(TEAM, Some(hook(2)), 11) };
    let several =
        vec![new(TEAM, Some(hook(1)), 10), new(OTHER, Some(hook(1)), 13), failed, new(TEAM, None, 12)];
    store.keep_received(several, ALL).await.unwrap();
    let all = ReceivedFilter::default();
    let ids: Vec<DeliveryId> =
        store.received(TEAM, all, 10).await.unwrap().iter().map(|record| record.id).collect();
    let (first, third) = (ids[2], ids[0]);
    assert_eq!(times(store, TEAM, all).await, [12, 11, 10], "newest first, and the team's own");
    let of = |source| ReceivedFilter { source: Some(source), ..all };
    assert_eq!(times(store, TEAM, of(ReceivedSource::Hook(hook(1)))).await, [10]);
    assert_eq!(times(store, TEAM, of(ReceivedSource::Hooks)).await, [11, 10]);
    assert_eq!(times(store, TEAM, of(ReceivedSource::EventPlatform)).await, [12]);
    let failed = ReceivedFilter { status: Some(ReceivedStatus::Failed), ..all };
    assert_eq!(times(store, TEAM, failed).await, [11]);
    let before = ReceivedFilter { before: Some(third.num), ..all };
    assert_eq!(store.received(TEAM, before, 1).await.unwrap()[0].id.created_at_ms, 11);

    let found = store.received_one(TEAM, first).await.unwrap().unwrap();
    let kept = new(TEAM, Some(hook(1)), 10);
    assert_eq!((found.hook, found.project, found.status), (kept.hook, kept.project, kept.outcome.status));
    assert_eq!((found.body, found.body_bytes), (Some(kept.body), 3));
    assert_eq!((found.head, found.outcomes), (kept.head, vec![kept.outcome]));
    assert_eq!(store.received_one(OTHER, first).await.unwrap(), None, "another team's");
    let another = DeliveryId { created_at_ms: 99, ..first };
    assert_eq!(store.received_one(TEAM, another).await.unwrap(), None);

    let replayed = ReceivedOutcome { is_replay: true, ..outcome(20, ReceivedStatus::Ignored) };
    assert!(store.add_outcome(TEAM, first, replayed.clone()).await.unwrap());
    assert!(!store.add_outcome(OTHER, first, replayed.clone()).await.unwrap());
    let found = store.received_one(TEAM, first).await.unwrap().unwrap();
    assert_eq!((found.status, found.outcomes.len()), (ReceivedStatus::Ignored, 2));
    assert_eq!(found.outcomes[1], replayed);
}

pub(super) async fn the_oldest_make_room(store: &dyn Store) {
    let all = ReceivedFilter::default();
    store.keep_received(vec![new(OTHER, None, 1)], ALL).await.unwrap();
    for at_ms in 10..15 {
        let keep = KeepReceived { count: 3, ..ALL };
        store.keep_received(vec![new(TEAM, None, at_ms)], keep).await.unwrap();
    }
    assert_eq!(times(store, TEAM, all).await, [14, 13, 12]);
    let few_bytes = KeepReceived { bytes: 6_500, ..ALL };
    let large = NewReceived { body: vec![1; 5_000], ..new(TEAM, None, 15) };
    store.keep_received(vec![large.clone()], few_bytes).await.unwrap();
    assert_eq!(times(store, TEAM, all).await, [15, 14], "as many as fit beside it");
    let next = NewReceived { received_at_ms: 16, ..large.clone() };
    store.keep_received(vec![next], few_bytes).await.unwrap();
    assert_eq!(times(store, TEAM, all).await, [16]);
    let tiny = KeepReceived { count: 1, bytes: 1 };
    store.keep_received(vec![NewReceived { received_at_ms: 17, ..large }], tiny).await.unwrap();
    assert_eq!(times(store, TEAM, all).await, [17], "the newest is kept");
    assert_eq!(times(store, OTHER, all).await, [1], "others stay");
}

pub(super) async fn old_ones_are_swept(store: &dyn Store) {
    for at_ms in 10..15 {
        let both = vec![new(TEAM, None, at_ms), new(OTHER, Some(hook(1)), at_ms)];
        store.keep_received(both, ALL).await.unwrap();
    }
    while store.sweep_received(13).await.unwrap() {}
    let all = ReceivedFilter::default();
    assert_eq!(times(store, TEAM, all).await, [14, 13]);
    assert_eq!(times(store, OTHER, all).await, [14, 13]);
    // What was swept does not count any more.
    let keep = KeepReceived { count: 3, ..ALL };
    store.keep_received(vec![new(TEAM, None, 16)], keep).await.unwrap();
    assert_eq!(times(store, TEAM, all).await, [16, 14, 13]);
}
