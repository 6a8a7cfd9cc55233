//! Random processing: whatever happens, the counts equal what the rows say.

use jiff::Timestamp;
use proptest::prelude::*;
use proptest::sample::Index;
use rowmill_model::cell::Meta;
use rowmill_model::column::DataShape;
use rowmill_model::plan::{ColumnTally, Pick, RowTally};
use rowmill_model::record::Slot;
use rowmill_model::{CellError, CellStatus, ErrorCode, ProjectId};
use uuid::Uuid;

use super::make::{
    ANSWER, MAIL, NAME, SECOND, change, create, insert, load, numbered, processed, row_id, write, writes,
};
use crate::store::Store;
use crate::types::{PageStart, StoredRow};
use crate::work::{CellResult, Claim, Claimed, Lane, Rows, Settle, Settlement, Stop, Trigger, WorkerId};

/// One thing that happens to a project that is processed.
#[derive(Debug, Clone)]
pub enum Event {
    Insert(u8),
    Delete(Index),
    Write(Index, Slot, Option<u8>),
    Trigger {
        force: bool,
        slot: Option<Slot>,
        error_only: bool,
        limit: Option<u8>,
    },
    Stop(Option<Slot>),
    Claim(Slot, u8),
    /// Settles one of the cells that were claimed, however long ago, and goes on with its row or does not.
    Settle(Index, u8, bool),
    Lose,
    Wait(u16),
    Autoplay(bool),
    /// The column asks something else.
    Reask(Slot),
    Reopen,
}

/// Sequences of events.
pub fn events() -> impl Strategy<Value = Vec<Event>> {
    let slot = || prop_oneof![Just(ANSWER), Just(SECOND)];
    let any_slot = prop_oneof![Just(NAME), Just(MAIL), Just(ANSWER), Just(SECOND)];
    let event = prop_oneof![
        2 => (0..40_u8).prop_map(Event::Insert),
        1 => any::<Index>().prop_map(Event::Delete),
        3 => (any::<Index>(), any_slot, prop::option::of(0..3_u8)).prop_map(|(row, slot, value)| Event::Write(row, slot, value)),
        3 => (any::<bool>(), prop::option::of(slot()), any::<bool>(), prop::option::of(0..9_u8))
            .prop_map(|(force, slot, error_only, limit)| Event::Trigger { force, slot, error_only, limit }),
        1 => prop::option::of(slot()).prop_map(Event::Stop),
        6 => (slot(), 0..20_u8).prop_map(|(slot, most)| Event::Claim(slot, most)),
        12 => (any::<Index>(), 0..6_u8, any::<bool>()).prop_map(|(cell, kind, goes_on)| Event::Settle(cell, kind, goes_on)),
        1 => Just(Event::Lose),
        2 => (0..3_000_u16).prop_map(Event::Wait),
        1 => any::<bool>().prop_map(Event::Autoplay),
        1 => slot().prop_map(Event::Reask),
        1 => Just(Event::Reopen),
    ];
    prop::collection::vec(event, 1..60)
}

/// Lets the events happen and counts after each. `reopen` gives the store again after a restart.
pub async fn counts_stay_true<S: AsRef<dyn Store>>(
    events: Vec<Event>,
    mut reopen: impl FnMut(Option<S>) -> S,
) {
    let mut store = reopen(None);
    let id = create(store.as_ref(), processed(1, 1)).await.project.id;
    insert(store.as_ref(), id, numbered(1, 250)).await;
    let mut world = World { id, next_row: 251, now_ms: 1_000, worker: 1, claimed: Vec::new() };
    for event in events {
        if matches!(event, Event::Reopen) {
            store.as_ref().close().await.unwrap();
            store = reopen(Some(store));
        } else {
            world.happen(store.as_ref(), event).await;
        }
        check_counts(store.as_ref(), id).await;
    }
}

struct World {
    id: ProjectId,
    next_row: u128,
    now_ms: i64,
    worker: u128,
    claimed: Vec<Claimed>,
}

impl World {
    fn worker(&self) -> WorkerId {
        WorkerId(Uuid::from_u128(self.worker))
    }

    async fn happen(&mut self, store: &dyn Store, event: Event) {
        let id = self.id;
        let number =
            |index: &Index| u128::try_from(index.index(usize::try_from(self.next_row).unwrap())).unwrap();
        match event {
            Event::Insert(count) => {
                insert(store, id, numbered(self.next_row, u128::from(count))).await;
                self.next_row += u128::from(count);
            }
            Event::Delete(row) => {
                store.delete_rows(id, vec![row_id(number(&row))]).await.unwrap();
            }
            Event::Write(row, slot, value) => {
                let value = value.map_or("null".to_owned(), |value| value.to_string());
                let version = load(store, id).await.version;
                // The row may have been deleted.
                let _ = store.write_cells(writes(id, version, vec![write(number(&row), slot, &value)])).await;
            }
            Event::Trigger { force, slot, error_only, limit } => {
                let statuses = error_only.then(|| vec![CellStatus::Error]);
                let pick = Pick { slots: slot.map(|slot| vec![slot]), statuses, error_codes: None, force };
                let trigger = Trigger {
                    project: id,
                    rows: Rows::All,
                    pick,
                    limit: limit.map(u64::from),
                    dry_run: false,
                    now_ms: self.now_ms,
                };
                let dry = store.trigger(Trigger { dry_run: true, ..trigger.clone() }).await.unwrap();
                assert_eq!(store.trigger(trigger).await.unwrap(), dry);
            }
            Event::Stop(slot) => {
                let slots = slot.map(|slot| vec![slot]);
                store.stop(Stop { project: id, rows: Rows::All, slots, now_ms: self.now_ms }).await.unwrap();
            }
            Event::Claim(slot, most) => {
                let cells = store.claim(self.claim(&[slot], u32::from(most))).await.unwrap();
                assert!(cells.len() <= usize::from(most));
                self.claimed.extend(cells);
            }
            Event::Settle(cell, kind, goes_on) => self.settle(store, cell, kind, goes_on).await,
            Event::Lose => {
                self.worker += 1;
                store.requeue_lost(self.now_ms + 2_000).await.unwrap();
            }
            Event::Wait(ms) => self.now_ms += i64::from(ms),
            Event::Autoplay(autoplay) => {
                change(store, id, |project| project.autoplay = autoplay).await;
            }
            Event::Reask(slot) => {
                change(store, id, |project| {
                    for column in project.table.columns.iter_mut().filter(|column| column.slot == slot) {
                        column.data_shape = match column.data_shape {
                            DataShape::Text => DataShape::Json,
                            _ => DataShape::Text,
                        };
                    }
                })
                .await;
            }
            Event::Reopen => {}
        }
    }

    fn claim(&self, slots: &[Slot], most: u32) -> Claim {
        Claim {
            worker: self.worker(),
            expires_at_ms: self.now_ms + 2_000,
            now: Timestamp::from_millisecond(self.now_ms).unwrap(),
            asks: slots.iter().map(|slot| (Lane { project: self.id, slot: *slot }, most)).collect(),
            bytes_max: usize::MAX,
        }
    }

    async fn settle(&mut self, store: &dyn Store, cell: Index, kind: u8, goes_on: bool) {
        if self.claimed.is_empty() {
            return;
        }
        let claimed = cell.get(&self.claimed).clone();
        let error = CellError { code: ErrorCode::TimedOut, message: "Too slow.".to_owned() };
        let result = match kind {
            0 => CellResult::NoData(Meta::new()),
            1 => CellResult::Retry { at_ms: self.now_ms + 500, error, meta: Meta::new() },
            2 => CellResult::Failed(error, Meta::new()),
            digit => CellResult::Value(digit.to_string().into(), Meta::new()),
        };
        let slot = claimed.ticket.lane.slot;
        let before = store.row(self.id, claimed.row).await.unwrap();
        let results = vec![Settlement { ticket: claimed.ticket, result }];
        let next = goes_on.then(|| self.claim(&[ANSWER, SECOND], 3));
        let settled = store
            .settle_and_claim(Settle { worker: self.worker(), now_ms: self.now_ms, results, next })
            .await
            .unwrap();
        let (taken, next) = (settled.taken[0], settled.claimed);
        assert!(next.iter().all(|next| taken && next.row == claimed.row));
        self.claimed.extend(next);
        let was_running = before.as_ref().is_some_and(|row| status(row, slot) == CellStatus::Generating);
        assert!(was_running || !taken, "a cell that does not run takes no result");
        if !taken {
            assert_eq!(store.row(self.id, claimed.row).await.unwrap(), before);
        }
    }
}

fn status(row: &StoredRow, slot: Slot) -> CellStatus {
    row.states.get(slot).map_or(CellStatus::Idle, |state| state.status)
}

fn is_stale(row: &StoredRow, slot: Slot) -> bool {
    row.states.get(slot).is_some_and(|state| state.status == CellStatus::Completed && state.stale)
}

/// Counts every cell and every row, and compares.
pub(super) async fn check_counts(store: &dyn Store, id: ProjectId) {
    let standing = store.processing_status(id).await.unwrap().unwrap();
    let slots: Vec<Slot> = standing.plan.slots().collect();
    let mut rows = Vec::new();
    let mut start = PageStart::Offset(0);
    loop {
        let page = store.rows(id, start, 1_000).await.unwrap();
        rows.extend(page.rows);
        match rows.last() {
            Some(last) if page.more => start = PageStart::After(last.position),
            _ => break,
        }
    }
    let count = |wanted: &dyn Fn(&StoredRow) -> bool| {
        u64::try_from(rows.iter().filter(|row| wanted(row)).count()).unwrap()
    };
    let total = u64::try_from(rows.len()).unwrap();
    assert_eq!(standing.row_count, total);
    let bytes: usize = rows.iter().map(|row| row.values.as_bytes().len()).sum();
    // What was moved here is counted when somebody asks.
    for project in store.team_bytes(standing.project.team).await.unwrap().uncounted {
        store.count_bytes(project).await.unwrap();
    }
    let counted = store.team_bytes(standing.project.team).await.unwrap();
    assert_eq!((counted.bytes, counted.uncounted.len()), (bytes as u64, 0), "bytes of values");
    for slot in &slots {
        let of = |wanted: CellStatus| count(&|row| status(row, *slot) == wanted);
        let counted = ColumnTally {
            idle: of(CellStatus::Idle),
            queued: of(CellStatus::Queued),
            generating: of(CellStatus::Generating),
            completed: of(CellStatus::Completed),
            error: of(CellStatus::Error),
            skipped: of(CellStatus::Skipped),
            stale: count(&|row| is_stale(row, *slot)),
        };
        assert_eq!(standing.tally.column(*slot, total), counted, "slot {slot}");
    }
    let has = |row: &StoredRow, wanted: CellStatus| slots.iter().any(|slot| status(row, *slot) == wanted);
    let first_that_fits = |row: &StoredRow| {
        [CellStatus::Generating, CellStatus::Queued, CellStatus::Error, CellStatus::Idle]
            .into_iter()
            .find(|status| has(row, *status))
            .unwrap_or(CellStatus::Completed)
    };
    let of = |wanted: CellStatus| count(&|row| first_that_fits(row) == wanted);
    let counted = RowTally {
        total,
        idle: of(CellStatus::Idle),
        queued: of(CellStatus::Queued),
        generating: of(CellStatus::Generating),
        complete: of(CellStatus::Completed),
        error: of(CellStatus::Error),
    };
    assert_eq!(standing.tally.rows(&standing.plan, total), counted);
}
