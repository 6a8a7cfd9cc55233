//! What a caller has seen must still be so, or nothing is written.

use jiff::Timestamp;
use rowmill_model::ProjectId;
use rowmill_model::cell::Meta;
use rowmill_model::plan::Pick;
use uuid::Uuid;

use super::make::{
    ANSWER, MAIL, NAME, create, creation, insert, load, numbered, processed, project, row_id, write, writes,
};
use crate::error::StoreError;
use crate::store::Store;
use crate::types::{ProjectSave, SeenProject, StoredRow, WriteCells};
use crate::work::{CellResult, Claim, Claimed, Lane, Rows, Settlement, Trigger, WorkerId};

const WORKER: WorkerId = WorkerId(Uuid::from_u128(1));

async fn seen(store: &dyn Store, id: ProjectId) -> StoredRow {
    store.row(id, row_id(1)).await.unwrap().unwrap()
}

/// Writes another mail into the first row, if it is still what was expected.
async fn write_mail(store: &dyn Store, id: ProjectId, expected: StoredRow) -> Result<StoredRow, StoreError> {
    let version = load(store, id).await.version;
    let cells = vec![write(1, MAIL, &format!("{}", expected.values.as_bytes().len()))];
    let expected = Some(Box::new(expected));
    let write = WriteCells { expected, returning: vec![row_id(1)], ..writes(id, version, cells) };
    store.write_cells(write).await.map(|mut written| written.rows.remove(0))
}

async fn claim(store: &dyn Store, project: ProjectId) -> Claimed {
    let now = Timestamp::from_millisecond(10).unwrap();
    let asks = vec![(Lane { project, slot: ANSWER }, 1)];
    let claim = Claim { worker: WORKER, expires_at_ms: 1_000, now, asks, bytes_max: usize::MAX };
    store.claim(claim).await.unwrap().remove(0)
}

/// The row passes through every state of a cell: each time what was read before is refused, and what is read now is
/// taken.
pub(super) async fn a_row_that_changed_is_not_written(store: &dyn Store) {
    let id = create(store, processed(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let idle = seen(store, id).await;
    let everything = Trigger {
        project: id,
        rows: Rows::All,
        pick: Pick::default(),
        limit: None,
        dry_run: false,
        now_ms: 5,
    };
    store.trigger(everything).await.unwrap();
    let queued = seen(store, id).await;
    let refused = write_mail(store, id, idle).await;
    assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    assert_eq!(seen(store, id).await, queued, "nothing was written");
    write_mail(store, id, queued.clone()).await.unwrap();
    let Claimed { ticket, .. } = claim(store, id).await;
    let running = seen(store, id).await;
    assert!(write_mail(store, id, queued).await.is_err(), "it is running now");
    let written = write_mail(store, id, running.clone()).await.unwrap();
    assert_eq!(written, seen(store, id).await);
    let result = CellResult::Value("5".into(), Meta::new());
    store.settle(WORKER, 11, vec![Settlement { ticket, result }]).await.unwrap();
    let completed = seen(store, id).await;
    assert!(write_mail(store, id, written).await.is_err(), "it is completed now");
    let version = load(store, id).await.version;
    store.write_cells(writes(id, version, vec![write(2, NAME, "8")])).await.unwrap();
    write_mail(store, id, completed).await.unwrap();
    let last = seen(store, id).await;
    store.delete_rows(id, vec![row_id(1)]).await.unwrap();
    assert!(write_mail(store, id, last).await.is_err(), "it is gone");
}

pub(super) async fn a_project_with_other_rows_is_not_saved(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let stored = load(store, id).await;
    let save = |row_count| ProjectSave {
        version: Some(stored.version),
        row_count: Some(row_count),
        ..creation(project(1, 1))
    };
    let refused = store.save_project(save(2)).await;
    assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
    assert_eq!(load(store, id).await.version, stored.version);
    store.save_project(save(3)).await.unwrap();
    assert_ne!(load(store, id).await.version, stored.version);
}

pub(super) async fn a_project_that_changed_is_not_deleted(store: &dyn Store) {
    let id = create(store, project(1, 1)).await.project.id;
    insert(store, id, numbered(1, 3)).await;
    let version = load(store, id).await.version;
    for (version, row_count) in [(version + 1, 3), (version, 2)] {
        let refused = store.delete_project(id, Some(SeenProject { version, row_count })).await;
        assert!(matches!(refused, Err(StoreError::Stale)), "{refused:?}");
        assert_eq!(load(store, id).await.row_count, 3);
    }
    assert!(store.delete_project(id, Some(SeenProject { version, row_count: 3 })).await.unwrap());
    assert!(store.project(id).await.unwrap().is_none());
}
