//! Imports that run in the background.

use rowmill_model::{ImportId, ProjectId, TeamId};
use uuid::Uuid;

use super::make::{batch, create, load, numbered, project};
use crate::error::{Result, StoreError};
use crate::import_jobs::{ImportClaim, ImportJob, ImportPart, ImportStatus, ImportStep, NewImport};
use crate::store::Store;
use crate::types::{Inserted, NewRows};

const ONE: Uuid = Uuid::from_u128(1);
const OTHER: Uuid = Uuid::from_u128(2);

fn import_id(number: u128) -> ImportId {
    ImportId::from_uuid(Uuid::from_u128(number))
}

fn new(number: u128, team: u128, project: ProjectId) -> NewImport {
    NewImport {
        id: import_id(number),
        team: TeamId(Uuid::from_u128(team)),
        project,
        request: format!("{{\"number\":{number}}}"),
        bytes_expected: 0,
        jobs_max: 10,
        bytes_max: 1_000,
        now_ms: i64::try_from(number).unwrap(),
        lease_until_ms: 1_000,
    }
}

fn part(number: u128, place: u32, bytes: &[u8]) -> ImportPart {
    let id = import_id(number);
    ImportPart { id, number: place, bytes: bytes.to_vec(), bytes_max: 1_000, lease_until_ms: 1_000 }
}

async fn queue(store: &dyn Store, number: u128, team: u128, project: ProjectId) {
    store.create_import(new(number, team, project)).await.unwrap();
    assert!(store.put_import_part(part(number, 0, b"file")).await.unwrap());
    assert!(store.queue_import(import_id(number)).await.unwrap());
}

async fn claim(store: &dyn Store, holder: Uuid, now_ms: i64) -> Option<ImportJob> {
    claim_beside(store, holder, now_ms, u32::MAX).await
}

async fn claim_beside(store: &dyn Store, holder: Uuid, now_ms: i64, running_max: u32) -> Option<ImportJob> {
    let claim = ImportClaim { holder, now_ms, lease_until_ms: now_ms + 100, running_max };
    store.claim_import(claim).await.unwrap()
}

fn step(number: u128, holder: Uuid, after: u64) -> ImportStep {
    ImportStep {
        id: import_id(number),
        holder,
        after,
        rows_read: (after + 1) * 10,
        bytes_read: after + 1,
        fields: (after == 0).then(|| "{}".to_owned()),
        rejected: Some((1, format!("[{after}]"))),
        lease_until_ms: 0,
    }
}

async fn insert(store: &dyn Store, project: ProjectId, first: u128, step: ImportStep) -> Result<Inserted> {
    let version = load(store, project).await.version;
    let rows = batch(project, version, numbered(first, 3));
    store.insert_rows(NewRows { import: Some(Box::new(step)), ..rows }).await
}

pub(super) async fn a_file_is_kept_until_its_import_has_ended(store: &dyn Store) {
    let project = create(store, project(1, 1)).await.project.id;
    store.create_import(new(1, 1, project)).await.unwrap();
    assert!(store.put_import_part(part(1, 0, b"one")).await.unwrap());
    assert!(store.put_import_part(part(1, 1, b"two!")).await.unwrap());
    // Nobody sees or runs what is not here in full.
    assert_eq!(store.imports(project).await.unwrap(), []);
    assert_eq!(claim(store, ONE, 10).await, None);
    assert!(store.queue_import(import_id(1)).await.unwrap());
    let job = store.import(project, import_id(1)).await.unwrap().unwrap();
    assert_eq!((job.status, job.file_bytes, job.created_at_ms), (ImportStatus::Queued, 7, 1));
    assert_eq!(store.import_part(import_id(1), 1).await.unwrap().as_deref(), Some(&b"two!"[..]));
    assert_eq!(store.import_part(import_id(1), 2).await.unwrap(), None);
    let elsewhere = create(store, super::make::project(2, 1)).await.project.id;
    assert_eq!(store.import(elsewhere, import_id(1)).await.unwrap(), None);
    // No more of them and no more bytes than may be.
    let full = NewImport { jobs_max: 1, ..new(2, 1, project) };
    assert!(matches!(store.create_import(full).await, Err(StoreError::Full)));
    let large = NewImport { bytes_expected: 994, ..new(2, 1, project) };
    assert!(matches!(store.create_import(large).await, Err(StoreError::BytesFull)));
    store.create_import(new(3, 1, project)).await.unwrap();
    let large = ImportPart { bytes_max: 9, ..part(3, 0, b"abc") };
    assert!(matches!(store.put_import_part(large).await, Err(StoreError::BytesFull)));
    // One that is refused is not counted.
    let fits = ImportPart { bytes_max: 9, ..part(3, 0, b"ab") };
    assert!(store.put_import_part(fits).await.unwrap());
    store.drop_import(import_id(3), 5).await.unwrap();
    assert!(!store.put_import_part(part(3, 0, b"abc")).await.unwrap());
    // One that ended, and one that was not sent to its end.
    store.cancel_import(project, import_id(1), 20).await.unwrap();
    store.create_import(new(4, 1, project)).await.unwrap();
    while store.sweep_imports(1_000, 20).await.unwrap() {}
    assert!(!store.queue_import(import_id(4)).await.unwrap());
    assert_eq!(store.import_part(import_id(1), 0).await.unwrap(), None);
    assert_eq!(store.imports(project).await.unwrap().len(), 1);
    while store.sweep_imports(1_000, 21).await.unwrap() {}
    assert_eq!(store.imports(project).await.unwrap(), []);
}

pub(super) async fn a_batch_of_an_import_is_written_once(store: &dyn Store) {
    let project = create(store, project(1, 1)).await.project.id;
    queue(store, 1, 1, project).await;
    let job = claim(store, ONE, 10).await.unwrap();
    assert_eq!((job.status, job.started_at_ms, job.claims), (ImportStatus::Running, Some(10), 1));
    insert(store, project, 100, step(1, ONE, 0)).await.unwrap();
    // The same again, and by one who has no lease.
    for lost in [step(1, ONE, 0), step(1, OTHER, 1)] {
        let outcome = insert(store, project, 200, lost).await;
        assert!(matches!(outcome, Err(StoreError::ImportLost)), "{outcome:?}");
    }
    assert_eq!(claim(store, OTHER, 109).await, None, "the lease lasts");
    assert!(store.renew_import(import_id(1), ONE, 150, false).await.unwrap());
    assert_eq!(claim(store, OTHER, 110).await, None);
    // Another goes on where it was.
    let job = claim(store, OTHER, 150).await.unwrap();
    assert_eq!((job.progress.step, job.progress.rows_read, job.progress.inserted), (1, 10, 3));
    assert_eq!((job.started_at_ms, job.fields.as_deref(), job.claims), (Some(10), Some("{}"), 1));
    assert!(!store.renew_import(import_id(1), ONE, 500, false).await.unwrap());
    assert!(matches!(insert(store, project, 200, step(1, ONE, 1)).await, Err(StoreError::ImportLost)));
    insert(store, project, 200, step(1, OTHER, 1)).await.unwrap();
    store.checkpoint_import(step(1, OTHER, 2)).await.unwrap();
    assert!(matches!(store.checkpoint_import(step(1, OTHER, 2)).await, Err(StoreError::ImportLost)));
    let over = async |holder| {
        store
            .end_import(import_id(1), holder, ImportStatus::Finished, "{\"a\":1}".to_owned(), 300)
            .await
            .unwrap()
    };
    assert!(!over(ONE).await && over(OTHER).await && !over(OTHER).await);
    let job = store.import(project, import_id(1)).await.unwrap().unwrap();
    assert_eq!((job.status, job.ended_at_ms), (ImportStatus::Finished, Some(300)));
    assert_eq!((job.progress.inserted, job.progress.rejected), (6, 3));
    assert_eq!(job.outcome.as_deref(), Some("{\"a\":1}"));
    assert_eq!(store.rejected_of_import(import_id(1)).await.unwrap(), ["[0]", "[1]", "[2]"]);
    assert_eq!(load(store, project).await.row_count, 6);
}

pub(super) async fn a_cancelled_import_writes_nothing_more(store: &dyn Store) {
    let project = create(store, project(1, 1)).await.project.id;
    queue(store, 1, 1, project).await;
    claim(store, ONE, 10).await.unwrap();
    insert(store, project, 100, step(1, ONE, 0)).await.unwrap();
    let elsewhere = create(store, super::make::project(2, 1)).await.project.id;
    store.cancel_import(elsewhere, import_id(1), 20).await.unwrap();
    assert!(store.renew_import(import_id(1), ONE, 100, false).await.unwrap(), "it is another project's");
    store.cancel_import(project, import_id(1), 20).await.unwrap();
    assert!(matches!(insert(store, project, 200, step(1, ONE, 1)).await, Err(StoreError::ImportLost)));
    assert_eq!(load(store, project).await.row_count, 3);
    assert!(!store.renew_import(import_id(1), ONE, 100, false).await.unwrap());
    assert_eq!(claim(store, OTHER, 9_999).await, None);
    let job = store.import(project, import_id(1)).await.unwrap().unwrap();
    assert_eq!((job.status, job.ended_at_ms), (ImportStatus::Cancelled, Some(20)));
}

pub(super) async fn teams_take_turns_with_their_imports(store: &dyn Store) {
    let mut projects = Vec::new();
    for (number, team) in [(1, 1), (2, 1), (3, 2)] {
        projects.push(create(store, project(number, team)).await.project.id);
    }
    // Two in one project, one in another of the same team, and then one of another team.
    queue(store, 1, 1, projects[0]).await;
    queue(store, 2, 1, projects[0]).await;
    queue(store, 3, 1, projects[1]).await;
    assert_eq!(claim(store, ONE, 10).await.unwrap().id, import_id(1));
    assert_eq!(claim_beside(store, ONE, 10, 0).await, None, "a reserved slot stays free for other teams");
    queue(store, 4, 2, projects[2]).await;
    let mut order = vec![import_id(1)];
    while let Some(job) = claim(store, ONE, 10).await {
        order.push(job.id);
    }
    assert_eq!(order, [import_id(1), import_id(4), import_id(3)], "one at a time in a project");
    store.end_import(import_id(1), ONE, ImportStatus::Failed, String::new(), 20).await.unwrap();
    assert_eq!(claim(store, ONE, 10).await.unwrap().id, import_id(2));
    // One that ends lets others have what it has at once.
    store.leave_imports(ONE).await.unwrap();
    let job = claim(store, OTHER, 11).await.unwrap();
    assert_eq!((job.id, job.claims), (import_id(2), 1));
}
