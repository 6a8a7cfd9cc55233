//! Random histories of a table, with random questions in between.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::Index;
use rowmill_model::cell::Meta;
use rowmill_model::cell_status::{CellError, ErrorCode};
use rowmill_model::plan::Pick;
use rowmill_model::record::Slot;
use rowmill_model::{Deletion, ProjectId, Record, RowId};
use rowmill_store::conformance::MemoryStore;
use rowmill_store::{
    CellResult, CellWrite, Claim, Claimed, KeptInput, Lane, NewRow, NewRows, PageStart, ProjectSave, Rows,
    Settlement, Store, StoredProject, StoredRow, Trigger, WantedSlots, WorkerId, WriteCells,
};
use uuid::Uuid;

use super::made::{cell, create, expected, input, now, selection};
use super::whole;
use crate::cursor::Cursor;
use crate::page::{PageOf, Start};
use crate::query::Query;
use crate::selection::Selection;

const ANSWER: Slot = 3;

/// One thing that happens to a table.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Insert(Vec<[String; 3]>),
    Write(Vec<(Index, Slot, String)>),
    Delete(Vec<Index>),
    /// Deleted rows come back to their place.
    Restore(Vec<Index>),
    /// Copies of one row, so many that orders are made anew.
    Flood(u16, [String; 3]),
    Trigger(u8),
    Claim(u8),
    Settle(Index, u8),
    /// A processed column comes or goes: states may be others.
    Replan,
    Ask(Selection),
    /// One that was asked before.
    AskAgain(Index),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let row = || (input(), cell(), cell()).prop_map(|(input, a, b)| [input, a, b]);
    let write = (any::<Index>(), 0..4_u32, cell());
    let event = prop_oneof![
        3 => prop::collection::vec(row(), 1..12).prop_map(Event::Insert),
        4 => prop::collection::vec(write, 1..6).prop_map(Event::Write),
        2 => prop::collection::vec(any::<Index>(), 1..5).prop_map(Event::Delete),
        1 => prop::collection::vec(any::<Index>(), 1..5).prop_map(Event::Restore),
        1 => (1..300_u16, row()).prop_map(|(count, row)| Event::Flood(count, row)),
        1 => (0..9_u8).prop_map(Event::Trigger),
        2 => (1..9_u8).prop_map(Event::Claim),
        3 => (any::<Index>(), 0..5_u8).prop_map(|(cell, kind)| Event::Settle(cell, kind)),
        1 => Just(Event::Replan),
        6 => selection().prop_map(Event::Ask),
        6 => any::<Index>().prop_map(Event::AskAgain),
    ];
    prop::collection::vec(event, 4..40)
}

pub(super) struct World {
    pub(super) store: Arc<dyn Store>,
    pub(super) id: ProjectId,
    next_row: u128,
    now_ms: i64,
    claimed: Vec<Claimed>,
    asked: Vec<Selection>,
    /// With memory, with none, and with so little that it must be given up now and then.
    pub(super) queries: Vec<Query>,
}

impl World {
    pub(super) async fn new() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let id = create(&*store).await;
        let queries = [usize::MAX, 0, 40_000].map(|bytes| Query::with_memory(Arc::clone(&store), bytes));
        let (claimed, asked) = (Vec::new(), Vec::new());
        Self { store, id, next_row: 0, now_ms: 1_000, claimed, asked, queries: queries.into() }
    }

    pub(super) async fn project(&self) -> StoredProject {
        self.store.project(self.id).await.unwrap().unwrap()
    }

    pub(super) async fn rows(&self) -> Vec<StoredRow> {
        self.store.rows(self.id, PageStart::Offset(0), u32::MAX).await.unwrap().rows
    }

    async fn insert(&mut self, rows: impl Iterator<Item = [String; 3]>) {
        let mut new = Vec::new();
        for cells in rows {
            self.next_row += 1;
            let values = Record::pack((0..).zip(cells.iter().map(String::as_str)));
            let id = RowId::from_uuid(Uuid::from_u128(self.next_row));
            new.push(NewRow { id, values, cleared: Vec::new(), leftover_bytes_max: None });
        }
        let insert = NewRows {
            project: self.id,
            version: self.project().await.version,
            rows: new,
            match_on: None,
            project_save: None,
            ignored_keys: Vec::new(),
            kept_input: KeptInput::default(),
            new_rows_max: None,
            new_bytes_max: None,
            now_ms: self.now_ms,
            once: None,
            import: None,
        };
        self.store.insert_rows(insert).await.unwrap();
    }

    pub(super) async fn happen(&mut self, event: Event) {
        self.now_ms += 1_000;
        let rows = self.rows().await;
        let row_of = |index: &Index| (!rows.is_empty()).then(|| rows[index.index(rows.len())].id);
        match event {
            Event::Insert(rows) => self.insert(rows.into_iter()).await,
            Event::Flood(count, row) => self.insert((0..count).map(|_| row.clone())).await,
            Event::Write(writes) => {
                let cells = writes.iter().filter_map(|(row, slot, value)| {
                    Some(CellWrite { row: row_of(row)?, slot: *slot, value: value.as_str().into() })
                });
                let write = WriteCells {
                    project: self.id,
                    version: self.project().await.version,
                    project_save: None,
                    cells: cells.collect(),
                    expected: None,
                    new_bytes_max: None,
                    now_ms: self.now_ms,
                    returning: Vec::new(),
                };
                self.store.write_cells(write).await.unwrap();
            }
            Event::Delete(gone) => {
                let gone = gone.iter().filter_map(row_of).collect();
                let deletion = Deletion { at_ms: self.now_ms, by: None };
                self.store.trash_rows(self.id, gone, deletion).await.unwrap();
            }
            Event::Restore(back) => {
                let trashed =
                    self.store.trashed_rows(self.id, None, u32::MAX, usize::MAX).await.unwrap().rows;
                if !trashed.is_empty() {
                    let back = back.iter().map(|index| index.get(&trashed).id).collect();
                    self.store.restore_rows(self.id, back, self.now_ms).await.unwrap();
                }
            }
            Event::Trigger(limit) => self.trigger(limit).await,
            Event::Claim(most) => self.claim(most).await,
            Event::Settle(cell, kind) => self.settle(cell, kind).await,
            Event::Replan => self.replan().await,
            Event::Ask(selection) => {
                self.check(&selection).await;
                self.asked.push(selection);
            }
            Event::AskAgain(index) if !self.asked.is_empty() => {
                let selection = self.asked[index.index(self.asked.len())].clone();
                self.check(&selection).await;
            }
            Event::AskAgain(_) => {}
        }
    }

    async fn trigger(&self, limit: u8) {
        let trigger = Trigger {
            project: self.id,
            rows: Rows::All,
            pick: Pick { slots: None, statuses: None, error_codes: None, force: limit.is_multiple_of(2) },
            limit: Some(u64::from(limit)),
            dry_run: false,
            now_ms: self.now_ms,
        };
        self.store.trigger(trigger).await.unwrap();
    }

    async fn claim(&mut self, most: u8) {
        let claim = Claim {
            worker: WorkerId(Uuid::from_u128(9)),
            expires_at_ms: self.now_ms + 1_000_000,
            now: now(),
            asks: vec![(Lane { project: self.id, slot: ANSWER }, u32::from(most))],
            bytes_max: usize::MAX,
        };
        self.claimed.extend(self.store.claim(claim).await.unwrap());
    }

    async fn settle(&mut self, cell: Index, kind: u8) {
        if self.claimed.is_empty() {
            return;
        }
        let claimed = self.claimed.swap_remove(cell.index(self.claimed.len()));
        let error = |code| CellError { code, message: "so it goes".to_owned() };
        let result = match kind {
            0 => CellResult::Value("\"Answer\"".into(), Meta::new()),
            1 => CellResult::NoData(Meta::new()),
            2 => CellResult::Retry {
                at_ms: self.now_ms + 500,
                error: error(ErrorCode::RateLimited),
                meta: Meta::new(),
            },
            3 => CellResult::Skipped(error(ErrorCode::MissingInput)),
            _ => CellResult::Failed(error(ErrorCode::ProviderError), Meta::new()),
        };
        let settlement = Settlement { ticket: claimed.ticket, result };
        self.store.settle(WorkerId(Uuid::from_u128(9)), self.now_ms, vec![settlement]).await.unwrap();
    }

    /// The column needs another one than before.
    async fn replan(&self) {
        let stored = self.project().await;
        let mut project = (*stored.project).clone();
        for column in &mut project.table.columns {
            for dependency in &mut column.dependencies {
                dependency.required = !dependency.required;
            }
        }
        let (views, version) = (Vec::new(), Some(stored.version));
        let save = ProjectSave {
            project,
            views,
            version,
            row_count: None,
            subject: None,
            fixes: Vec::new(),
            once: None,
        };
        self.store.save_project(save).await.unwrap();
    }

    async fn check(&self, selection: &Selection) {
        let (project, rows) = (self.project().await, self.rows().await);
        let expected = expected(&project, &rows, selection);
        for (place, query) in self.queries.iter().enumerate() {
            let found = query.positions(&project, selection.clone(), now()).await.unwrap();
            assert_eq!(found, expected, "query {place}, {selection:?}");
            let limit = expected.len() / 3 + 1;
            let by_offset = pages(query, &project, selection, limit, true).await;
            assert_eq!(by_offset, expected, "query {place} by offset, {selection:?}");
            let by_cursor = pages(query, &project, selection, limit, false).await;
            assert_eq!(by_cursor, expected, "query {place} by cursor, {selection:?}");
            whole::check(query, &project, &rows, selection, &expected).await;
        }
    }
}

/// The positions of all pages.
async fn pages(
    query: &Query,
    project: &StoredProject,
    selection: &Selection,
    limit: usize,
    by_offset: bool,
) -> Vec<u64> {
    let mut positions = Vec::new();
    let mut start = Start::Offset(0);
    loop {
        let of = PageOf {
            selection: selection.clone(),
            start: start.clone(),
            limit: u32::try_from(limit).unwrap(),
            include_total: by_offset,
            slots: WantedSlots::All,
            now: now(),
        };
        let page = query.page(project, of).await.unwrap();
        positions.extend(page.rows.iter().map(|row| row.position));
        let Some(next) = page.next else {
            assert!(page.total.is_none_or(|total| total == positions.len() as u64));
            return positions;
        };
        assert_eq!(next.rank, positions.len() as u64);
        // As a client hands it back.
        let next = Cursor::parse(&next.to_string()).unwrap();
        start = if by_offset { Start::Offset(next.rank) } else { Start::After(next) };
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, max_shrink_iters: 2_000, ..ProptestConfig::default() })]
    #[test]
    fn whatever_happened_what_is_found_is_what_model_says(events in events()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for event in events {
                world.happen(event).await;
            }
        });
    }
}
