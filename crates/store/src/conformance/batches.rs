//! Batches of cells that a provider works off.

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
            state: BatchState::Preparing,
            since_ms,
            sent_at_ms: None,
            cells: 0,
            file: None,
            remote: None,
            lines_read: 0,
            polls: 0,
            cancelled_at_ms: None,
        },
    }
}

fn lease(holder: u128, until_ms: i64) -> BatchLease {
    BatchLease { holder: WorkerId(Uuid::from_u128(holder)), until_ms }
}

pub(super) async fn a_batch_is_looked_after_by_one_node(store: &dyn Store) {
    let (mut first, second) = (batch(1, 10, 100), batch(2, 11, 50));
    store.open_batch(first.clone(), lease(7, 1_000)).await.unwrap();
    store.open_batch(second.clone(), lease(7, 1_000)).await.unwrap();
    assert_eq!(store.batches(None).await.unwrap(), [second.clone(), first.clone()]);
    assert_eq!(store.batches(Some(first.lane.project)).await.unwrap(), [first.clone()]);
    assert_eq!(store.take_batch(lease(8, 2_000), 999).await.unwrap(), None, "both are held");
    assert_eq!(store.take_batch(lease(8, 2_000), 1_000).await.unwrap(), Some(second.clone()));
    first.record.state = BatchState::Waiting;
    first.record.remote = Some("batch_\u{fc}".to_owned());
    first.record.lines_read = 12;
    assert!(!store.save_batch(first.clone(), lease(8, 0), 5_000).await.unwrap(), "another one holds it");
    assert_ne!(store.batches(None).await.unwrap()[1], first);
    assert!(store.save_batch(first.clone(), lease(7, 0), 5_000).await.unwrap());
    assert_eq!(store.batches(Some(first.lane.project)).await.unwrap(), [first.clone()]);
    assert_eq!(
        store.take_batch(lease(9, 9_000), 4_999).await.unwrap(),
        Some(second.clone()),
        "its lease is over"
    );
    assert_eq!(store.take_batch(lease(9, 9_000), 4_999).await.unwrap(), None, "the other one is not due");
    store.hurry_batches(second.lane.project, 4_000).await.unwrap();
    assert_eq!(store.take_batch(lease(9, 9_000), 4_999).await.unwrap(), None);
    store.hurry_batches(first.lane.project, 4_000).await.unwrap();
    assert_eq!(store.take_batch(lease(9, 9_000), 4_999).await.unwrap(), Some(first.clone()));
    assert!(!store.hold_batch(first.id, lease(8, 20_000)).await.unwrap());
    assert!(store.hold_batch(first.id, lease(9, 20_000)).await.unwrap());
    assert_eq!(store.take_batch(lease(8, 30_000), 10_000).await.unwrap(), Some(second.clone()));
    assert_eq!(store.take_batch(lease(8, 30_000), 10_000).await.unwrap(), None, "it is held for longer");
    store.close_batch(first.id).await.unwrap();
    store.close_batch(first.id).await.unwrap();
    assert!(!store.save_batch(first, lease(9, 0), 5_000).await.unwrap(), "it is forgotten");
    assert_eq!(store.batches(None).await.unwrap(), [second]);
}
