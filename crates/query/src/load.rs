//! Reading columns of a whole project, by several readers at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_model::record::Cells;
use rowmill_store::{RowRef, ScanDetail, ScanLook, Spans, Store, StoreError, WantedSlots};

use crate::column::{Column, ColumnKey, StateFacts};
use crate::parallel;
use crate::ranks::Ranks;
use crate::scan::{self, IDLE};
use crate::snapshot::Patch;
use crate::values::Values;

/// Rows that are read in one go.
const RUN_ROWS: u64 = 1 << 16;

/// Columns of a project as they were read, some runs of rows later than others.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// All that was read is at least as new as this change,
    pub(crate) oldest: u64,
    /// and none of it newer than this one.
    pub(crate) newest: u64,
    names: Vec<ColumnKey>,
    runs: Vec<RowRun>,
}

/// Neighbouring rows.
#[derive(Debug)]
struct RowRun {
    positions: Vec<u32>,
    /// By name.
    cells: Vec<ColumnCells>,
}

/// One column's cells of some rows.
#[derive(Debug)]
enum ColumnCells {
    Values(Values),
    States(Vec<StateFacts>),
}

/// What reading may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadBudget {
    pub(crate) bytes_max: usize,
    pub(crate) until: Instant,
}

/// Why columns are not in memory.
#[derive(Debug)]
pub(crate) enum LoadError {
    /// They do not fit.
    TooLarge,
    Store(StoreError),
}

impl From<StoreError> for LoadError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Reads these columns of all rows.
pub(crate) async fn load(
    store: &Arc<dyn Store>,
    project: ProjectId,
    rows_about: u64,
    names: &[ColumnKey],
    budget: LoadBudget,
) -> Result<Loaded, LoadError> {
    // The last run is open: how far positions reach is not known.
    let runs = rows_about / RUN_ROWS;
    let next = Arc::new(AtomicUsize::new(0));
    let taken = Arc::new(AtomicUsize::new(0));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..parallel::count() {
        let (store, names) = (Arc::clone(store), Arc::<[ColumnKey]>::from(names));
        let (next, taken) = (Arc::clone(&next), Arc::clone(&taken));
        readers.spawn(Tenant::current().scope(async move {
            let mut done = Vec::new();
            loop {
                let run = next.fetch_add(1, Ordering::Relaxed) as u64;
                if run > runs {
                    return Ok::<_, LoadError>(done);
                }
                let last = if run == runs { u64::MAX } else { (run + 1) * RUN_ROWS - 1 };
                let spans = Spans::run(run * RUN_ROWS, last);
                let (read, seq) = read_run(&*store, project, spans, &names, &taken, budget).await?;
                done.push((run, read, seq));
            }
        }));
    }
    let mut done = Vec::new();
    while let Some(read) = readers.join_next().await {
        done.extend(read.map_err(|failure| StoreError::Backend(failure.into()))??);
    }
    done.sort_unstable_by_key(|(run, ..)| *run);
    let seqs = || done.iter().map(|(.., seq)| *seq);
    let (oldest, newest) = (seqs().min().unwrap_or_default(), seqs().max().unwrap_or_default());
    let runs = done.into_iter().map(|(_, run, _)| run).collect();
    Ok(Loaded { oldest, newest, names: names.to_vec(), runs })
}

fn look(names: &[ColumnKey]) -> ScanLook {
    let is_state = |name: &ColumnKey| matches!(name, ColumnKey::State { .. });
    let detail = if names.iter().any(is_state) { ScanDetail::Whole } else { ScanDetail::Values };
    ScanLook { detail, slots: WantedSlots::only(names.iter().filter_map(ColumnKey::value_slot)) }
}

async fn read_run(
    store: &dyn Store,
    project: ProjectId,
    spans: Spans,
    names: &Arc<[ColumnKey]>,
    taken: &Arc<AtomicUsize>,
    budget: LoadBudget,
) -> Result<(RowRun, u64), LoadError> {
    let lane = |name: &ColumnKey| match name {
        ColumnKey::Value { .. } => ColumnCells::Values(Values::default()),
        ColumnKey::State { .. } => ColumnCells::States(Vec::new()),
    };
    let run = RowRun { positions: Vec::new(), cells: names.iter().map(lane).collect() };
    let (columns, taken) = (Arc::clone(names), Arc::clone(taken));
    let fold = move |run: &mut RowRun, row: RowRef<'_>, cells: Cells<'_>| {
        let states = row.states.unwrap_or(&IDLE);
        // Positions beyond 32 bits are not held.
        run.positions.push(u32::try_from(row.position).map_err(|_| LoadError::TooLarge)?);
        let mut bytes = 4;
        for (name, lane) in columns.iter().zip(&mut run.cells) {
            match lane {
                ColumnCells::Values(values) => {
                    let pushed =
                        name.read(&cells, states, |raw| (values.push(raw), raw.len()), |_| (Ok(0), 0));
                    pushed.0.map_err(|_| LoadError::TooLarge)?;
                    bytes += pushed.1 + 4;
                }
                ColumnCells::States(state_facts) => {
                    state_facts.push(name.read(
                        &cells,
                        states,
                        |_| StateFacts::default(),
                        |state_facts| state_facts,
                    ));
                    bytes += 2;
                }
            }
        }
        if taken.fetch_add(bytes, Ordering::Relaxed) > budget.bytes_max {
            return Err(LoadError::TooLarge);
        }
        Ok(ControlFlow::Continue(()))
    };
    scan::fold(store, project, (spans, look(names)), budget.until, run, fold).await
}

impl Loaded {
    /// Where the rows lie.
    pub(crate) fn positions(&self) -> Vec<u32> {
        self.runs.iter().flat_map(|run| &run.positions).copied().collect()
    }

    /// The columns with a cell for each of these positions, those in `sorted` in order; null where none was
    /// read.
    pub(crate) fn columns(
        self,
        positions: &[u32],
        sorted: &[ColumnKey],
    ) -> Result<Vec<(ColumnKey, Column)>, LoadError> {
        let Self { names, runs, .. } = self;
        let numbered: Vec<(usize, ColumnKey)> = names.into_iter().enumerate().collect();
        let columns = parallel::map(&numbered, |(lane, name)| {
            let mut column = fill(name, *lane, &runs, positions)?;
            column.shrink();
            if let Column::Values(column) = &mut column
                && sorted.contains(name)
            {
                column.ranks = Some(Ranks::of(&column.values));
            }
            Ok((name.clone(), column))
        });
        columns.into_iter().collect()
    }
}

fn fill(name: &ColumnKey, lane: usize, runs: &[RowRun], positions: &[u32]) -> Result<Column, LoadError> {
    let mut column = Column::new(name);
    let mut wanted = positions.iter().enumerate().peekable();
    for run in runs {
        let Some(lane) = run.cells.get(lane) else { continue };
        for (index, position) in run.positions.iter().enumerate() {
            // Rows that were not read are gone; rows that are not wanted come later.
            while let Some((row, _)) = wanted.next_if(|(_, at)| *at < position) {
                put(&mut column, row, lane, None)?;
            }
            if let Some((row, _)) = wanted.next_if(|(_, at)| *at == position) {
                put(&mut column, row, lane, Some(index))?;
            }
        }
    }
    let nothing = ColumnCells::States(Vec::new());
    for (row, _) in wanted {
        put(&mut column, row, &nothing, None)?;
    }
    Ok(column)
}

fn put(column: &mut Column, row: usize, lane: &ColumnCells, index: Option<usize>) -> Result<(), LoadError> {
    match (column, lane) {
        (Column::Values(column), ColumnCells::Values(values)) => {
            column.set(row, index.map_or("", |index| values.get(index)), 0).map_err(|_| LoadError::TooLarge)
        }
        (Column::Values(column), ColumnCells::States(_)) => {
            column.set(row, "", 0).map_err(|_| LoadError::TooLarge)
        }
        (Column::States(column), lane) => {
            let state_facts = match lane {
                ColumnCells::States(state_facts) => index.and_then(|index| state_facts.get(index)).copied(),
                ColumnCells::Values(_) => None,
            };
            column.push(state_facts.unwrap_or_default());
            Ok(())
        }
    }
}

/// Reads these columns of some rows.
pub(crate) async fn read_patch(
    store: &dyn Store,
    project: ProjectId,
    spans: Spans,
    names: Vec<ColumnKey>,
    until: Instant,
) -> Result<(Patch, u64), StoreError> {
    let look = look(&names);
    let patch = Patch { spans: spans.clone(), names, rows: Vec::new() };
    let fold = |patch: &mut Patch, row: RowRef<'_>, cells: Cells<'_>| {
        let states = row.states.unwrap_or(&IDLE);
        let cells = patch.names.iter().map(|name| name.cell(&cells, states)).collect();
        patch.rows.push((row.position, cells));
        Ok::<_, StoreError>(ControlFlow::Continue(()))
    };
    scan::fold(store, project, (spans, look), until, patch, fold).await
}
