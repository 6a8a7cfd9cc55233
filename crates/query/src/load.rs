//! Reading columns of a whole project, by several readers at once.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use rowmill_fairness::Tenant;
use rowmill_model::ProjectId;
use rowmill_model::cell_picker::CellPicker;
use rowmill_model::record::Cells;
use rowmill_store::{RowRef, ScanDetail, ScanLook, Spans, Store, StoreError, WantedSlots};

use crate::blocking::blocking;
use crate::column::{Column, ColumnKey};
use crate::parallel;
use crate::ranks::Ranks;
use crate::run_assembly::{RowRun, RunAssembly};
use crate::scan::{self, IDLE};
use crate::snapshot::{Patch, ScannedColumns, Snapshot};
use crate::values::Full;

/// Rows that are read in one go. Few in tests, so that their small tables have several runs.
const RUN_ROWS: usize = if cfg!(test) { 16 } else { 1 << 16 };

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
    rows: RowRun,
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

impl From<Full> for LoadError {
    fn from(Full: Full) -> Self {
        Self::TooLarge
    }
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
    let last_run = usize::try_from(rows_about / run_rows).map_err(|_| LoadError::TooLarge)?;
    let reading = Arc::new(Reading {
        names: names.to_vec(),
        budget,
        next: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        runs: RunAssembly::new(names, last_run + 1, budget.bytes_max),
    });
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..budget.readers {
        let (store, reading) = (Arc::clone(store), Arc::clone(&reading));
        readers.spawn(Tenant::current().scope(async move {
            let mut seqs = Vec::new();
            loop {
                let run = reading.next.fetch_add(1, Ordering::Relaxed);
                if run > last_run {
                    return Ok::<_, LoadError>(seqs);
                }
                let first = run as u64 * run_rows;
                let last = if run == last_run { u64::MAX } else { first + run_rows - 1 };
                let (read, seq) = read_run(&*store, project, Spans::run(first, last), &reading).await?;
                let reading = Arc::clone(&reading);
                blocking(move || reading.runs.put(run, read)).await??;
                seqs.push(seq);
            }
        }));
    }
    let mut seqs = Vec::new();
    while let Some(read) = readers.join_next().await {
        seqs.extend(read.map_err(|failure| StoreError::Backend(failure.into()))??);
    }
    let reading = Arc::into_inner(reading).ok_or_else(|| StoreError::Backend("a reader goes on".into()))?;
    Ok(Loaded {
        oldest: seqs.iter().copied().min().unwrap_or_default(),
        newest: seqs.iter().copied().max().unwrap_or_default(),
        names: reading.names,
        rows: reading.runs.whole(),
    })
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
    let run = (reading.runs.empty_run(), 0);
    let shared = Arc::clone(reading);
    let mut picker = reading.picker();
    let fold = move |(run, uncounted): &mut (RowRun, usize), row: RowRef<'_>| {
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
        *uncounted += bytes;
        if *uncounted >= COUNT_EVERY {
            shared.count(std::mem::take(uncounted))?;
        }
        Ok::<_, LoadError>(ControlFlow::Continue(()))
    };
    let look = look(&reading.names);
    let ((run, uncounted), seq) =
        scan::fold(store, project, (spans, look), reading.budget.until, run, fold).await?;
    reading.count(uncounted)?;
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
    runs: RunAssembly,
}

impl Reading {
    /// Finds the values of a row, by name.
    fn picker(&self) -> CellPicker {
        CellPicker::new(self.names.iter().map(ColumnKey::value_slot))
    }

    /// Counts what a reader has taken.
    fn count(&self, bytes: usize) -> Result<(), LoadError> {
        let taken = self.taken.fetch_add(bytes, Ordering::Relaxed) + bytes;
        if taken > self.budget.bytes_max { Err(LoadError::TooLarge) } else { Ok(()) }
    }
}

impl Loaded {
    /// What is to be taken into a snapshot, with no columns yet: a cell for each row that is there, or that was read.
    pub(crate) fn frame(&self, snapshot: &Snapshot) -> ScannedColumns {
        let here = snapshot.is_loaded.then(|| (snapshot.seq, snapshot.positions().to_vec()));
        let (seq, positions) = here.unwrap_or_else(|| (self.oldest, self.rows.positions.clone()));
        ScannedColumns {
            generation: snapshot.generation,
            oldest: self.oldest.min(seq),
            newest: self.newest,
            positions,
            columns: Vec::new(),
        }
    }

    /// The columns with a cell for each of these positions; null where none was read.
    pub(crate) fn columns(self, positions: &[u32]) -> Result<Vec<(ColumnKey, Column)>, LoadError> {
        let Self { names, rows, .. } = self;
        let are_these = rows.positions == positions;
        let column = |name: &ColumnKey, read: Column| -> Result<Column, LoadError> {
            let mut column = if are_these { read } else { fill(name, &rows.positions, &read, positions)? };
            column.shrink();
            Ok(column)
        };
        names
            .into_iter()
            .zip(rows.columns)
            .map(|(name, read)| column(&name, read).map(|made| (name, made)))
            .collect()
    }
}

/// Puts those columns in order that are sorted by.
pub(crate) fn put_in_order(columns: &mut [(ColumnKey, Column)], sorted: &[ColumnKey]) {
    let ranks = parallel::map(columns, |(name, column)| {
        column.values().filter(|_| sorted.contains(name)).map(|column| Ranks::of(&column.values))
    });
    for ((_, column), ranks) in columns.iter_mut().zip(ranks) {
        if let Column::Values(column) = column {
            column.ranks = ranks;
        }
    }
}

/// A column of rows that are not quite those that were read.
fn fill(name: &ColumnKey, read_at: &[u32], read: &Column, positions: &[u32]) -> Result<Column, Full> {
    let mut column = Column::new(name);
    let nothing = Column::new(name);
    let mut wanted = positions.iter().peekable();
    for (index, position) in read_at.iter().enumerate() {
        // Rows that were not read are gone; rows that are not wanted come later.
        while wanted.next_if(|at| *at < position).is_some() {
            column.push_from(&nothing, None)?;
        }
        if wanted.next_if(|at| *at == position).is_some() {
            column.push_from(read, Some(index))?;
        }
    }
    wanted.try_for_each(|_| column.push_from(&nothing, None))?;
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
