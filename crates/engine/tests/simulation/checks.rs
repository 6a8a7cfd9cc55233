//! The promises.
//!
//! - No dependency is overtaken: when a cell is claimed, what it waits for has settled.
//! - A call sees the row as it is: its inputs are those of the row at that moment, and the cell is running.
//!   So nothing begins for a cell that was stopped, written or deleted.
//! - A value is written once, by a call for that very cell, made on the inputs the row still has, and begun
//!   after the cell was last stopped or written by hand.
//! - What was written by hand stays, unless force was used.
//! - The counters are what counting gives.
//! - No result is lost: what a call brought is written, unless the cell was taken away or the worker crashed.
//! - No rate is exceeded.

use std::collections::{BTreeMap, BTreeSet};

use rowmill_engine::Cell;
use rowmill_model::column::Dependency;
use rowmill_model::plan::RowTally;
use rowmill_model::record::Slot;
use rowmill_model::row::{RowView, Source};
use rowmill_model::{CellStates, CellStatus, Column, Project, RowId, Value};
use rowmill_store::{PageStart, Store, StoredRow};

use crate::fake_providers::{CREDENTIAL_RATES, credential_of};
use crate::world::World;

type CellKey = (RowId, Slot);
type Inputs = BTreeMap<String, String>;

/// What is remembered to hold later moments against.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    /// Calls in the order they began: for whom, and on what.
    pub(crate) calls: Vec<(CellKey, Inputs)>,
    pub(crate) under_way: BTreeSet<CellKey>,
    generating: BTreeSet<CellKey>,
    claimed: BTreeMap<CellKey, StoredRow>,
    /// The call each cell's value is from.
    current: BTreeMap<CellKey, usize>,
    written: BTreeSet<(CellKey, usize)>,
    /// Calls of a cell that began before this one must not be written.
    barred: BTreeMap<CellKey, usize>,
    by_hand: BTreeMap<CellKey, String>,
    /// Calls that brought a value which is to be written.
    brought: BTreeMap<CellKey, usize>,
    begun_ms: BTreeMap<usize, Vec<i64>>,
    column_begun_ms: BTreeMap<Slot, Vec<i64>>,
}

impl Ledger {
    pub(crate) fn bar(&mut self, cell: CellKey) {
        self.barred.insert(cell, self.calls.len());
    }

    pub(crate) fn write_by_hand(&mut self, cell: CellKey, value: &str) {
        self.bar(cell);
        if value == "null" {
            self.by_hand.remove(&cell);
        } else {
            self.by_hand.insert(cell, value.to_owned());
        }
    }

    pub(crate) fn bring(&mut self, cell: CellKey, number: usize) {
        self.brought.insert(cell, number);
    }

    /// Something happened that may take cells away.
    pub(crate) fn expect_nothing(&mut self) {
        self.brought.clear();
    }

    pub(crate) fn force(&mut self, cell: CellKey) {
        self.by_hand.remove(&cell);
    }
}

impl World {
    async fn rows(&self) -> Vec<StoredRow> {
        self.store().rows(self.project, PageStart::Offset(0), u32::MAX).await.unwrap().rows
    }

    async fn document(&self) -> std::sync::Arc<Project> {
        // Not `project`: that goes through the weather.
        self.store().processing_status(self.project).await.unwrap().unwrap().project
    }

    fn running(rows: &[StoredRow], project: &Project) -> BTreeSet<CellKey> {
        let is_running =
            |row: &StoredRow, column: &Column| status(row, column.slot) == CellStatus::Generating;
        let columns = || project.table.columns.iter().filter(|column| column.kind.is_processed());
        rows.iter()
            .flat_map(|row| {
                columns().filter(|column| is_running(row, column)).map(|column| (row.id, column.slot))
            })
            .collect()
    }

    pub(crate) async fn look_before_claim(&self) {
        let (rows, project) = (self.rows().await, self.document().await);
        self.state().ledger.generating = Self::running(&rows, &project);
    }

    /// Every cell that was just claimed has its dependencies settled, and the required ones filled.
    pub(crate) async fn look_after_claim(&self) {
        let (rows, project) = (self.rows().await, self.document().await);
        let before = std::mem::take(&mut self.state().ledger.generating);
        for cell in Self::running(&rows, &project).difference(&before) {
            let row = rows.iter().find(|row| row.id == cell.0).unwrap();
            let column = project.table.columns.iter().find(|column| column.slot == cell.1).unwrap();
            let looked_at = column.run_condition.columns().into_iter().map(|id| (id, false));
            let dependencies = column.dependencies.iter();
            let dependencies = dependencies.map(|Dependency { column_id, required }| (column_id, *required));
            for (id, required) in dependencies.chain(looked_at) {
                let Some(source) = project.table.by_id(id.as_str()) else { continue };
                let root = Source::compile(&project.table, source).slot().unwrap();
                let is_pending = matches!(status(row, root), CellStatus::Queued | CellStatus::Generating);
                self.must(!is_pending, || format!("{cell:?} overtook {id:?}"));
                let value = value(&project, row, source);
                let is_filled = value.is_some_and(|raw| !Value::parse(&raw).is_empty());
                self.must(!required || is_filled, || format!("{cell:?} runs without {id:?}"));
            }
            self.state().ledger.claimed.insert(*cell, row.clone());
        }
    }

    /// Cells of lost workers are not theirs any more.
    pub(crate) async fn look_for_lost(&self) {
        let (rows, project) = (self.rows().await, self.document().await);
        let running = Self::running(&rows, &project);
        self.state().ledger.brought.retain(|cell, _| running.contains(cell));
    }

    /// A call begins; its number.
    pub(crate) async fn begin_call(&self, cell: &Cell) -> usize {
        let key = (cell.row, cell.ticket.lane.slot);
        let (rows, now_ms) = (self.rows().await, self.now_ms());
        let claimed = self.state().ledger.claimed.get(&key).cloned();
        let values = cell.values.whole().unwrap();
        self.must(claimed.is_some_and(|row| row.values == values), || {
            format!("{key:?} is called on another row than was claimed")
        });
        let row = rows.iter().find(|row| row.id == cell.row);
        self.must(row.is_some_and(|row| status(row, key.1) == CellStatus::Generating), || {
            format!("{key:?} is called though it does not run")
        });
        let handed = StoredRow { values, id: cell.row, position: 0, states: CellStates::IDLE };
        let inputs = inputs(&cell.project, &handed, &cell.column);
        if let Some(row) = row {
            let actual = self::inputs(&cell.project, row, &cell.column);
            self.must(actual == inputs, || {
                format!("{key:?} is called on {inputs:?}, the row has {actual:?}")
            });
        }
        let attempts_max = cell.column.retry.max_attempts;
        self.must(cell.attempts < attempts_max, || {
            format!("{key:?} is tried more than {attempts_max} times")
        });
        let brought = self.state().ledger.brought.get(&key).copied();
        self.must(brought.is_none(), || {
            format!("{key:?} is called again, and its {brought:?} was never written")
        });
        let is_alone = self.state().ledger.under_way.insert(key);
        self.must(is_alone, || format!("{key:?} is called twice at once"));
        let mut state = self.state();
        let ledger = &mut state.ledger;
        ledger.calls.push((key, inputs));
        ledger.begun_ms.entry(credential_of(key.1)).or_default().push(now_ms);
        if cell.column.rate_limit.is_some() {
            ledger.column_begun_ms.entry(key.1).or_default().push(now_ms);
        }
        ledger.calls.len() - 1
    }

    /// Looks at every cell there is.
    pub(crate) async fn look_around(&self) {
        if !std::mem::take(&mut self.state().has_changed) {
            return;
        }
        let (rows, project) = (self.rows().await, self.document().await);
        for row in &rows {
            let cells = row.values.cells().unwrap();
            for column in project.table.columns.iter().filter(|column| column.kind.is_processed()) {
                self.look_at(&project, row, column, cells.get(column.slot));
            }
        }
        self.look_at_brought(&rows, &project);
        self.count(&rows, &project).await;
    }

    /// What was made of other inputs than the row has now is rightly dropped.
    fn look_at_brought(&self, rows: &[StoredRow], project: &Project) {
        let ledger = &mut self.state().ledger;
        let Ledger { brought, calls, .. } = ledger;
        brought.retain(|(row, slot), number| {
            let row = rows.iter().find(|stored| stored.id == *row);
            let column = project.table.columns.iter().find(|column| column.slot == *slot);
            let (Some(row), Some(column)) = (row, column) else { return false };
            calls.get(*number).is_some_and(|(_, made_of)| *made_of == inputs(project, row, column))
        });
    }

    fn look_at(&self, project: &Project, row: &StoredRow, column: &Column, raw: Option<&str>) {
        let cell = (row.id, column.slot);
        let by_hand = self.state().ledger.by_hand.get(&cell).cloned();
        if let Some(by_hand) = by_hand {
            self.must(raw == Some(by_hand.as_str()), || format!("{cell:?} lost its hand-written {by_hand}"));
        }
        let number = raw.and_then(|raw| raw.strip_prefix("\"v")?.strip_suffix('"')?.parse().ok());
        let Some(number) = number else { return };
        if self.state().ledger.current.insert(cell, number) == Some(number) {
            return;
        }
        self.note(&format!("{cell:?} wrote v{number}"));
        let (is_new, barred, made) = {
            let ledger = &mut self.state().ledger;
            ledger.brought.remove(&cell);
            let barred = ledger.barred.get(&cell).copied().unwrap_or_default();
            (ledger.written.insert((cell, number)), barred, ledger.calls.get(number).cloned())
        };
        self.must(is_new, || format!("{cell:?} got v{number} twice"));
        self.must(number >= barred, || format!("{cell:?} got v{number} of a call that was stopped"));
        let Some((runner, made_on)) = made else {
            return self.must(false, || format!("{cell:?} got v{number}, which nobody made"));
        };
        self.must(runner == cell, || format!("{cell:?} got v{number} of {runner:?}"));
        let state = row.states.get(column.slot).unwrap();
        let is_settled = state.status == CellStatus::Completed && !state.stale;
        let actual = inputs(project, row, column);
        let is_same = |(id, raw): (&String, &String)| made_on.get(id).is_none_or(|made_on| made_on == raw);
        self.must(!is_settled || actual.iter().all(is_same), || {
            format!("{cell:?} got v{number} made of {made_on:?}, but the row has {actual:?}")
        });
    }

    async fn count(&self, rows: &[StoredRow], project: &Project) {
        let standing = self.store().processing_status(self.project).await.unwrap().unwrap();
        let total = standing.row_count;
        let slots: Vec<Slot> = standing.plan.slots().collect();
        for slot in &slots {
            let tally = standing.tally.column(*slot, total);
            let counted = |wanted| rows.iter().filter(|row| status(row, *slot) == wanted).count() as u64;
            for (told, wanted) in [
                (tally.idle, CellStatus::Idle),
                (tally.queued, CellStatus::Queued),
                (tally.generating, CellStatus::Generating),
                (tally.completed, CellStatus::Completed),
                (tally.error, CellStatus::Error),
                (tally.skipped, CellStatus::Skipped),
            ] {
                let counted = counted(wanted);
                self.must(told == counted, || {
                    format!("column {slot}: {told} cells {wanted:?}, not {counted}")
                });
            }
        }
        let mut counted = RowTally { total, idle: 0, queued: 0, generating: 0, complete: 0, error: 0 };
        for row in rows {
            let has = |wanted| slots.iter().any(|slot| status(row, *slot) == wanted);
            let place = match () {
                () if has(CellStatus::Generating) => &mut counted.generating,
                () if has(CellStatus::Queued) => &mut counted.queued,
                () if has(CellStatus::Error) => &mut counted.error,
                () if has(CellStatus::Idle) => &mut counted.idle,
                () => &mut counted.complete,
            };
            *place += 1;
        }
        let told = standing.tally.rows(&standing.plan, total);
        self.must(told == counted, || format!("{told:?}, not {counted:?}, in {}", project.title));
    }

    /// In no window were there more calls than a rate allows.
    pub(crate) fn look_at_rates(&self, project: &Project) {
        let most = |begun: &[i64], window_ms: i64| {
            let within =
                |start: &i64| begun.iter().filter(|at| (*start..start + window_ms).contains(at)).count();
            begun.iter().map(within).max().unwrap_or_default()
        };
        let (by_credential, by_column) = {
            let ledger = &self.state().ledger;
            (ledger.begun_ms.clone(), ledger.column_begun_ms.clone())
        };
        for (credential, begun) in by_credential {
            let rate = &CREDENTIAL_RATES[credential];
            let most = most(&begun, i64::from(rate.per_seconds) * 1_000);
            self.must(most <= rate.requests as usize, || {
                format!("credential {credential}: {most} calls, {rate:?}")
            });
        }
        for (slot, begun) in by_column {
            let column = project.table.columns.iter().find(|column| column.slot == slot);
            let Some(rate) = column.and_then(|column| column.rate_limit.clone()) else { continue };
            let most = most(&begun, i64::from(rate.per_seconds) * 1_000);
            self.must(most <= rate.requests as usize, || format!("column {slot}: {most} calls, {rate:?}"));
        }
    }
}

pub(crate) fn status(row: &StoredRow, slot: Slot) -> CellStatus {
    row.states.get(slot).map_or(CellStatus::Idle, |state| state.status)
}

fn value(project: &Project, row: &StoredRow, column: &Column) -> Option<String> {
    let cells = row.values.cells().unwrap();
    let states = CellStates::IDLE;
    RowView::new(&project.table, cells, &states).value(column).map(std::borrow::Cow::into_owned)
}

/// What a cell depends on, by column.
fn inputs(project: &Project, row: &StoredRow, column: &Column) -> Inputs {
    let inputs = column.dependencies.iter().filter_map(|dependency| {
        let source = project.table.by_id(dependency.column_id.as_str())?;
        let raw = value(project, row, source).unwrap_or_else(|| "null".to_owned());
        Some((source.id.as_str().to_owned(), raw))
    });
    inputs.collect()
}
