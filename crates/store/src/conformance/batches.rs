//! Batches of cells that a provider works off.

use std::collections::BTreeSet;

use rowmill_model::{ProjectId, TeamId};
use uuid::Uuid;

use crate::batches::{Batch, BatchLease, BatchRecord, BatchState};
use crate::store::Store;
use crate::work::{Lane, WorkerId};

fn batch(number: u128, project: u128, since_ms: i64) -> Batch {
    Batch {
        id: Uuid::from_u128(number),
        team: TeamId(Uuid::from_u128(1)),
        lane: Lane { project: ProjectId::from_uuid(Uuid::from_u128(project)), slot: 3 },
        record: BatchRecord {
            provider: "openai".to_owned(),
            model: "gpt".to_owned(),
            ..BatchRecord::new(since_ms)
        },
    }
}

fn lease(holder: u128, until_ms: i64) -> BatchLease {
    BatchLease { holder: WorkerId(Uuid::from_u128(holder)), until_ms }
}

fn none() -> BTreeSet<TeamId> {
    BTreeSet::new()
}

pub(super) async fn batches_of_some_teams_are_left_to_others(store: &dyn Store) {
    let of = |number: u128, team: u128, since_ms| Batch {
        team: TeamId(Uuid::from_u128(team)),
        ..batch(number, 10 + number, since_ms)
    };
    let (first, second, third) = (of(1, 0xa1, 100), of(2, 0xa1, 200), of(3, 0xb2, 300));
    for batch in [&first, &second, &third] {
        store.open_batch(batch.clone(), lease(7, 0)).await.unwrap();
    }
    let team = |number: u128| BTreeSet::from([TeamId(Uuid::from_u128(number))]);
    let both: BTreeSet<TeamId> = team(0xa1).into_iter().chain(team(0xb2)).collect();
    assert_eq!(store.take_batch(lease(8, 9_000), 1_000, both).await.unwrap(), None);
    assert_eq!(store.take_batch(lease(8, 9_000), 1_000, team(0xa1)).await.unwrap(), Some(third));
    assert_eq!(store.take_batch(lease(8, 9_000), 1_000, team(0xa1)).await.unwrap(), None);
    assert_eq!(store.take_batch(lease(8, 9_000), 1_000, team(0xb2)).await.unwrap(), Some(first));
    assert_eq!(store.take_batch(lease(8, 9_000), 1_000, none()).await.unwrap(), Some(second));
}

pub(super) async fn a_batch_is_looked_after_by_one_node(store: &dyn Store) {
    let (mut first, second) = (batch(1, 10, 100), batch(2, 11, 50));
    store.open_batch(first.clone(), lease(7, 1_000)).await.unwrap();
    store.open_batch(second.clone(), lease(7, 1_000)).await.unwrap();
    assert_eq!(store.batches(None).await.unwrap(), [second.clone(), first.clone()]);
    assert_eq!(store.batches(Some(first.lane.project)).await.unwrap(), [first.clone()]);
    assert_eq!(store.take_batch(lease(8, 2_000), 999, none()).await.unwrap(), None, "both are held");
    assert_eq!(store.take_batch(lease(8, 2_000), 1_000, none()).await.unwrap(), Some(second.clone()));
    first.record.state = BatchState::Waiting;
    first.record.remote = Some("batch_\u{fc}".to_owned());
    first.record.lines_read = 12;
    assert!(
        !store.save_batch(first.clone(), lease(8, 0), 5_000, None).await.unwrap(),
        "another one holds it"
    );
    assert_ne!(store.batches(None).await.unwrap()[1], first);
    assert!(store.save_batch(first.clone(), lease(7, 0), 5_000, None).await.unwrap());
    assert_eq!(store.batches(Some(first.lane.project)).await.unwrap(), [first.clone()]);
    assert_eq!(
        store.take_batch(lease(9, 9_000), 4_999, none()).await.unwrap(),
        Some(second.clone()),
        "its lease is over"
    );
    assert_eq!(
        store.take_batch(lease(9, 9_000), 4_999, none()).await.unwrap(),
        None,
        "the other one is not due"
    );
    store.hurry_batches(second.lane.project, 4_000).await.unwrap();
    assert_eq!(store.take_batch(lease(9, 9_000), 4_999, none()).await.unwrap(), None);
    store.hurry_batches(first.lane.project, 4_000).await.unwrap();
    assert_eq!(store.take_batch(lease(9, 9_000), 4_999, none()).await.unwrap(), Some(first.clone()));
    assert!(!store.hold_batch(first.id, lease(8, 20_000)).await.unwrap());
    assert!(store.hold_batch(first.id, lease(9, 20_000)).await.unwrap());
    assert_eq!(store.take_batch(lease(8, 30_000), 10_000, none()).await.unwrap(), Some(second.clone()));
    assert_eq!(
        store.take_batch(lease(8, 30_000), 10_000, none()).await.unwrap(),
        None,
        "it is held for longer"
    );
    store.close_batch(first.id, WorkerId(Uuid::from_u128(8))).await.unwrap();
    assert!(store.hold_batch(first.id, lease(9, 20_000)).await.unwrap(), "only its holder closes it");
    store.close_batch(first.id, WorkerId(Uuid::from_u128(9))).await.unwrap();
    store.close_batch(first.id, WorkerId(Uuid::from_u128(9))).await.unwrap();
    assert!(!store.save_batch(first, lease(9, 0), 5_000, None).await.unwrap(), "it is forgotten");
    assert_eq!(store.batches(None).await.unwrap(), [second]);
}
