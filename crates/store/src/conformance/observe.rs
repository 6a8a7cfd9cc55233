//! What an operator sees of the work that waits.

use jiff::Timestamp;
use rowmill_model::plan::Pick;
use uuid::Uuid;

use super::make::{ANSWER, create, insert, numbered, processed};
use crate::store::Store;
use crate::work::{Claim, Lane, Rows, Stop, Trigger, WorkerId};

pub(super) async fn projects_with_work_are_told(store: &dyn Store) {
    let mut ids = Vec::new();
    for number in 1..=3 {
        let id = create(store, processed(number, 1)).await.project.id;
        insert(store, id, numbered(number * 1_000, 300)).await;
        ids.push(id);
    }
    assert!(store.busy_projects(10).await.unwrap().is_empty());
    for project in ids.iter().copied() {
        let pick = Pick::default();
        let trigger = Trigger { project, rows: Rows::All, pick, limit: None, dry_run: false, now_ms: 5 };
        store.trigger(trigger).await.unwrap();
    }
    let lane = Lane { project: ids[1], slot: ANSWER };
    let now = Timestamp::from_millisecond(10).unwrap();
    let worker = WorkerId(Uuid::from_u128(1));
    let claim = Claim { worker, expires_at_ms: 1_000, now, asks: vec![(lane, 7)], bytes_max: usize::MAX };
    assert_eq!(store.claim(claim).await.unwrap().len(), 7);

    let busy = store.busy_projects(10).await.unwrap();
    let mut sorted = ids.clone();
    sorted.sort_unstable();
    assert_eq!(busy.iter().map(|busy| busy.project).collect::<Vec<_>>(), sorted);
    for project in &busy {
        let stored = store.project(project.project).await.unwrap().unwrap();
        assert_eq!((project.team, project.version), (stored.project.team, stored.version));
        let status = store.processing_status(project.project).await.unwrap().unwrap();
        let counts = |tally: &rowmill_model::plan::Tally| {
            let column = tally.column(ANSWER, 300);
            (column.queued, column.generating, tally.running().map(|(at, _)| at))
        };
        let running = if project.project == ids[1] { 7 } else { 0 };
        assert_eq!(counts(&project.tally), (300 - running, running, Some(5)));
        assert_eq!(counts(&project.tally), counts(&status.tally));
    }
    assert_eq!(store.busy_projects(2).await.unwrap().len(), 2);
    for project in ids.iter().copied() {
        store.stop(Stop { project, rows: Rows::All, slots: None, now_ms: 6 }).await.unwrap();
    }
    assert!(store.busy_projects(10).await.unwrap().is_empty());
    store.database_stats().await.unwrap();
}
