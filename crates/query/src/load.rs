//! Reading columns of a whole project, by several readers at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_model::cell_picker::CellPicker;
use rowmill_model::record::Cells;
use rowmill_store::{RowRef, ScanDetail, ScanLook, Spans, Store, StoreError, WantedSlots};

use crate::column::{Column, ColumnKey};
use crate::parallel;
use crate::ranks::Ranks;
use crate::scan::{self, IDLE};
use crate::snapshot::{Patch, ScannedColumns, Snapshot};
use crate::value_column::ValueColumn;
use crate::values::Full;

/// Rows that are read in one go.
const RUN_ROWS: usize = 1 << 16;

/// After so many bytes a reader counts them with those of the others.
const COUNT_EVERY: usize = 1 << 16;

/// Columns of a project as they were read, some runs of rows later than others.
#[derive(Debug)]
pub(crate) struct Loaded {
    /// All that was read is at least as new as this change,
    oldest: u64,
    /// and none of it newer than this one.
    newest: u64,
    names: Vec<ColumnKey>,
    runs: Vec<RowRun>,
}

/// Neighbouring rows.
#[derive(Debug)]
struct RowRun {
    positions: Vec<u32>,
    /// By name.
    columns: Vec<Column>,
    /// Bytes that are not counted yet.
    uncounted: usize,
}

/// What reading may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadBudget {
    pub(crate) bytes_max: usize,
    /// How many read at once.
    pub(crate) readers: usize,
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
    let run_rows = RUN_ROWS as u64;
    let runs = rows_about / run_rows;
    let reading = Arc::new(Reading {
        names: names.to_vec(),
        budget,
        next: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        learned: names.iter().map(|_| LearnedColumn::default()).collect(),
    });
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..budget.readers {
        let (store, reading) = (Arc::clone(store), Arc::clone(&reading));
        readers.spawn(Tenant::current().scope(async move {
            let mut done = Vec::new();
            loop {
                let run = reading.next.fetch_add(1, Ordering::Relaxed) as u64;
                if run > runs {
                    return Ok::<_, LoadError>(done);
                }
                let last = if run == runs { u64::MAX } else { (run + 1) * run_rows - 1 };
                let spans = Spans::run(run * run_rows, last);
                let (read, seq) = read_run(&*store, project, spans, &reading).await?;
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
    reading: &Arc<Reading>,
) -> Result<(RowRun, u64), LoadError> {
    let run = RowRun { positions: Vec::new(), columns: reading.columns(), uncounted: 0 };
    let shared = Arc::clone(reading);
    let mut picker = reading.picker();
    let fold = move |run: &mut RowRun, row: RowRef<'_>| {
        // Positions beyond 32 bits are not held.
        run.positions.push(u32::try_from(row.position).map_err(|_| LoadError::TooLarge)?);
        let states = row.states.unwrap_or(&IDLE);
        let cells = picker.pick(row.values).map_err(StoreError::from)?;
        let mut bytes = 4;
        for ((number, name), column) in shared.names.iter().enumerate().zip(&mut run.columns) {
            match column {
                Column::Values(column) => {
                    let raw = cells.get(number).map_err(StoreError::from)?;
                    let (pushed, len) = name.read_value(raw, |raw| (column.push(raw), raw.len()));
                    pushed.map_err(|_| LoadError::TooLarge)?;
                    bytes += len + 4;
                }
                Column::States(column) => {
                    column.push(name.read_state(states));
                    bytes += 2;
                }
            }
        }
        run.uncounted += bytes;
        if run.uncounted >= COUNT_EVERY {
            shared.count(run)?;
        }
        Ok::<_, LoadError>(ControlFlow::Continue(()))
    };
    let look = look(&reading.names);
    let (mut run, seq) = scan::fold(store, project, (spans, look), reading.budget.until, run, fold).await?;
    reading.count(&mut run)?;
    reading.learn(&run);
    Ok((run, seq))
}

/// What all readers of a project share.
#[derive(Debug)]
struct Reading {
    names: Vec<ColumnKey>,
    budget: LoadBudget,
    /// The next run.
    next: AtomicUsize,
    /// Bytes that were read so far.
    taken: AtomicUsize,
    /// By name: what runs that were read say of those that follow.
    learned: Vec<LearnedColumn>,
}

#[derive(Debug, Default)]
struct LearnedColumn {
    /// Whether its values were found to repeat too little to be shared.
    is_unshared: AtomicBool,
    /// What the texts of such a run take.
    run_bytes: AtomicUsize,
}

impl Reading {
    /// Empty columns for a run.
    fn columns(&self) -> Vec<Column> {
        let column = |(name, learned): (&ColumnKey, &LearnedColumn)| match Column::new(name) {
            Column::Values(_) if learned.is_unshared.load(Ordering::Relaxed) => {
                let bytes = learned.run_bytes.load(Ordering::Relaxed);
                Column::Values(Box::new(ValueColumn::unshared(RUN_ROWS, bytes)))
            }
            column => column,
        };
        self.names.iter().zip(&self.learned).map(column).collect()
    }

    /// Finds the values of a row, by name.
    fn picker(&self) -> CellPicker {
        CellPicker::new(self.names.iter().map(ColumnKey::value_slot))
    }

    /// Counts what a run has taken since this was last asked.
    fn count(&self, run: &mut RowRun) -> Result<(), LoadError> {
        let bytes = std::mem::take(&mut run.uncounted);
        let taken = self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if taken > self.budget.bytes_max { Err(LoadError::TooLarge) } else { Ok(()) }
    }

    /// Notes whose values hardly repeat in a run, so that other runs do not find it out again, and what these take.
    fn learn(&self, run: &RowRun) {
        for (column, learned) in run.columns.iter().zip(&self.learned) {
            if let Some(column) = column.values().filter(|column| !column.is_shared()) {
                learned.run_bytes.fetch_max(column.values.texts().len(), Ordering::Relaxed);
                learned.is_unshared.store(true, Ordering::Relaxed);
            }
        }
    }
}

impl Loaded {
    /// What is to be taken into a snapshot, with no columns yet: a cell for each row that is there, or that was read.
    pub(crate) fn frame(&self, snapshot: &Snapshot) -> ScannedColumns {
        let here = snapshot.is_loaded.then(|| (snapshot.seq, snapshot.positions().to_vec()));
        let (seq, positions) = here.unwrap_or_else(|| (self.oldest, self.positions()));
        ScannedColumns {
            generation: snapshot.generation,
            oldest: self.oldest.min(seq),
            newest: self.newest,
            positions,
            columns: Vec::new(),
        }
    }

    /// Where the rows lie.
    fn positions(&self) -> Vec<u32> {
        self.runs.iter().flat_map(|run| &run.positions).copied().collect()
    }

    /// The columns with a cell for each of these positions, those in `sorted` in order; null where none was
    /// read.
    pub(crate) fn columns(
        self,
        positions: &[u32],
        sorted: &[ColumnKey],
    ) -> Result<Vec<(ColumnKey, Column)>, LoadError> {
        let numbered: Vec<(usize, &ColumnKey)> = self.names.iter().enumerate().collect();
        let columns = parallel::map(&numbered, |(number, name)| {
            Ok(((*name).clone(), self.column((*number, name), positions, sorted.contains(name))?))
        });
        columns.into_iter().collect()
    }

    /// The column with this number and name.
    pub(crate) fn column(
        &self,
        (number, name): (usize, &ColumnKey),
        positions: &[u32],
        is_sorted: bool,
    ) -> Result<Column, LoadError> {
        let parts: Vec<&Column> = self.runs.iter().filter_map(|run| run.columns.get(number)).collect();
        let are_all = self.runs.iter().flat_map(|run| &run.positions).eq(positions);
        let made =
            if are_all { Column::concat(name, &parts) } else { fill(name, &self.runs, &parts, positions) };
        let mut column = made.map_err(|_| LoadError::TooLarge)?;
        if let Column::Values(column) = &mut column
            && is_sorted
        {
            column.ranks = Some(Ranks::of(&column.values));
        }
        Ok(column)
    }
}

/// A column of rows that are not quite those that were read.
fn fill(name: &ColumnKey, runs: &[RowRun], parts: &[&Column], positions: &[u32]) -> Result<Column, Full> {
    let mut column = Column::new(name);
    let nothing = Column::new(name);
    let mut wanted = positions.iter().peekable();
    for (run, part) in runs.iter().zip(parts) {
        for (index, position) in run.positions.iter().enumerate() {
            // Rows that were not read are gone; rows that are not wanted come later.
            while wanted.next_if(|at| *at < position).is_some() {
                column.push_from(&nothing, None)?;
            }
            if wanted.next_if(|at| *at == position).is_some() {
                column.push_from(part, Some(index))?;
            }
        }
    }
    wanted.try_for_each(|_| column.push_from(&nothing, None))?;
    column.shrink();
    Ok(column)
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
    let fold = |patch: &mut Patch, row: RowRef<'_>| {
        let cells = Cells::unpack(row.values)?;
        let states = row.states.unwrap_or(&IDLE);
        let cells = patch.names.iter().map(|name| name.cell(&cells, states)).collect();
        patch.rows.push((row.position, cells));
        Ok::<_, StoreError>(ControlFlow::Continue(()))
    };
    scan::fold(store, project, (spans, look), until, patch, fold).await
}
