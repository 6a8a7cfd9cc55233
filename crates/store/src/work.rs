//! What goes through the seam when cells are processed.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use rowmill_model::cell::{Detail, Details, Meta, Trying};
use rowmill_model::plan::{Ending, LeftCells, Mark, Pick};
use rowmill_model::record::Slot;
use rowmill_model::{CellError, Project, ProjectId, RowId, Spent, Usage};
use rowmill_telemetry::TraceContext;
use uuid::Uuid;

use crate::row_values::RowValues;
use crate::spans::Spans;

/// Which rows are meant, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    All,
    /// In the order in which they are to be taken. A position that is not there is passed over.
    At(Vec<u64>),
}

#[derive(Debug, Clone)]
pub struct Trigger {
    pub project: ProjectId,
    pub rows: Rows,
    pub pick: Pick,
    /// Maximum number of rows to run.
    pub limit: Option<u64>,
    /// Count and change nothing.
    pub dry_run: bool,
    pub now_ms: i64,
}

/// What a trigger queued.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Triggered {
    /// Rows with at least one queued cell.
    pub rows: u64,
    /// The number of the run that they belong to; `None` if nothing was queued.
    pub run: Option<u64>,
    /// Of a dry run: the cells that it would leave as they are.
    pub left: LeftCells,
    /// Of a dry run: the cells of each column that would be queued.
    pub cells: BTreeMap<Slot, u64>,
}

impl Triggered {
    /// With what another transaction queued. If the run ended in between, the last one counts.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        for (slot, count) in later.cells {
            *self.cells.entry(slot).or_default() += count;
        }
        let (rows, run) = (self.rows + later.rows, later.run.or(self.run));
        Self { rows, run, left: self.left.and(later.left), cells: self.cells }
    }
}

/// Ended runs are kept until a project has this many newer ones.
pub const ENDED_RUNS_MAX: u64 = 1_000;
/// And not for longer than this, in milliseconds: 90 days.
pub const ENDED_RUNS_KEPT_MS: i64 = 90 * 24 * 60 * 60 * 1_000;

#[derive(Debug, Clone)]
pub struct Stop {
    pub project: ProjectId,
    pub rows: Rows,
    /// All columns without it.
    pub slots: Option<Vec<Slot>>,
    pub now_ms: i64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stopped {
    pub rows: u64,
    pub cells: u64,
}

/// Someone who takes cells and brings results: a process, for as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkerId(pub Uuid);

/// A column in which cells are ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    pub project: ProjectId,
    pub slot: Slot,
}

/// The longest wait before a try, in milliseconds: an hour that a provider may ask for, and a bit. Whatever lies further
/// ahead was written while the clock was wrong.
pub const RETRY_WAIT_MS_MAX: i64 = 65 * 60 * 1_000;

/// Whether a cell that waits for this time is to be tried now.
pub fn is_due(at_ms: i64, now_ms: i64) -> bool {
    at_ms <= now_ms || at_ms > now_ms.saturating_add(RETRY_WAIT_MS_MAX)
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lanes {
    /// Columns with cells that may be claimed now.
    pub ready: Vec<Lane>,
    /// When the next cell that waits for its time is due, in Unix milliseconds.
    pub next_due_ms: Option<i64>,
}

#[derive(Debug, Clone)]
pub struct Claim {
    pub worker: WorkerId,
    /// When the worker is taken for lost, unless it is heard of before. Unix milliseconds.
    pub expires_at_ms: i64,
    pub now: Timestamp,
    /// How many cells of which lanes.
    pub asks: Vec<(Lane, u32)>,
    /// Stop claiming once the rows handed out have this many bytes.
    pub bytes_max: usize,
}

/// The right to bring one cell's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// Names the claim. A cell that is stopped, written or lost is in no claim any more.
    pub token: u64,
    pub lane: Lane,
    pub position: u64,
}

/// A cell to run, with what its column reads of the row as it is.
#[derive(Debug, Clone)]
pub struct Claimed {
    pub ticket: Ticket,
    pub row: RowId,
    /// At least those that its column [reads](rowmill_model::plan::Plan::reads).
    pub values: RowValues,
    /// Tries of this run that failed.
    pub attempts: u32,
    /// When it first failed or was put off in this run, in Unix milliseconds.
    pub waiting_since_ms: Option<i64>,
    /// The number of the project's run that the cell belongs to.
    pub run: u64,
    /// The trace of the request that started that run.
    pub trace: Option<TraceContext>,
    /// The project whose columns the cell belongs to.
    pub project: Arc<Project>,
}

/// Results to write, and what to take in their place.
#[derive(Debug, Clone)]
pub struct Settle {
    pub worker: WorkerId,
    pub now_ms: i64,
    pub results: Vec<Settlement>,
    pub next: Option<Claim>,
}

/// What became of results.
#[derive(Debug, Clone, Default)]
pub struct Settled {
    /// Of each, whether it was taken: one whose ticket does not hold any more is dropped.
    pub taken: Vec<bool>,
    /// The cells taken in their place.
    pub claimed: Vec<Claimed>,
}

#[derive(Debug, Clone)]
pub struct Settlement {
    pub ticket: Ticket,
    pub result: CellResult,
}

/// What became of a cell.
#[derive(Debug, Clone, PartialEq)]
pub enum CellResult {
    /// Raw JSON text, and where it came from.
    Value(Box<str>, Meta),
    /// Cleanly nothing.
    NoData(Meta),
    /// Try again at this time, in Unix milliseconds. The try may have been paid for: what, and to whom, is in `meta`.
    Retry {
        at_ms: i64,
        error: CellError,
        meta: Meta,
    },
    /// Not tried, because whoever would be asked rests: as [`CellResult::Retry`], but no try is counted.
    Later {
        at_ms: i64,
        /// Why it rests; none if the cell only waits for its turn.
        error: Option<CellError>,
        /// When what it waits for ends, in Unix milliseconds, if that is known to be another time than the next try.
        ends_at_ms: Option<i64>,
        /// What was paid before, and to whom, by a cell that goes on where it was.
        meta: Meta,
    },
    /// An input turned out to be missing only when it was looked at closely.
    Skipped(CellError),
    Failed(CellError, Meta),
}

/// What a result makes of its cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Ended {
    pub ending: Ending,
    /// The new value as raw JSON text; without one the old value stays.
    pub value: Option<Box<str>>,
    pub detail: Detail,
    /// When the cell is due again, in Unix milliseconds.
    pub retry_at_ms: Option<i64>,
}

impl CellResult {
    /// What was paid for it, as far as that is known.
    pub fn spent(&self) -> Spent {
        match self {
            // A try that failed was a try, whatever it cost.
            Self::Value(_, meta) | Self::NoData(meta) | Self::Failed(_, meta) | Self::Retry { meta, .. } => {
                Spent::of(meta)
            }
            Self::Later { meta, .. } => {
                let spent = Spent::of(meta);
                Spent { usage: Usage { attempts: 0, ..spent.usage }, ..spent }
            }
            Self::Skipped(_) => Spent::NOTHING,
        }
    }

    /// Where it came from, and what was paid for it.
    pub fn meta(&self) -> Option<&Meta> {
        match self {
            Self::Value(_, meta)
            | Self::NoData(meta)
            | Self::Failed(_, meta)
            | Self::Retry { meta, .. }
            | Self::Later { meta, .. } => Some(meta),
            Self::Skipped(_) => None,
        }
    }

    /// When what its cell waits for ends, if it says so.
    pub fn ends_at_ms(&self) -> Option<i64> {
        if let Self::Later { ends_at_ms, .. } = self { *ends_at_ms } else { None }
    }

    /// `kept` is what is known of the row's cells, `mark` where this one stands.
    pub fn end(self, kept: &Details, slot: Slot, mark: Mark, now_ms: i64) -> Ended {
        let tries = kept.tries(slot, mark);
        let attempts = tries.saturating_add(1);
        let ended = Detail { attempts, updated_at_ms: Some(now_ms), ..Detail::default() };
        let known = |meta: Meta| Some(meta).filter(|meta| !meta.is_empty());
        let last = |ending, value, detail| Ended { ending, value, detail, retry_at_ms: None };
        let since_ms = kept.waiting_since_ms(slot, mark).or(Some(now_ms));
        // What the cell had before stays until the run ends.
        let again = |attempts, retry_at_ms, error| Ended {
            ending: Ending::Retry,
            value: None,
            detail: Detail {
                trying: Some(Trying { attempts, retry_at_ms, error, since_ms }),
                ..kept.get(slot).unwrap_or_default()
            },
            retry_at_ms: Some(retry_at_ms),
        };
        match self {
            Self::Value(raw, meta) if &*raw != "null" => {
                last(Ending::Value, Some(raw), Detail { meta: known(meta), ..ended })
            }
            Self::Value(_, meta) | Self::NoData(meta) => {
                last(Ending::NoData, Some("null".into()), Detail { meta: known(meta), ..ended })
            }
            Self::Retry { at_ms: retry_at_ms, error, .. } => again(attempts, retry_at_ms, Some(error)),
            Self::Later { at_ms: retry_at_ms, error, .. } => {
                let last = || kept.trying(slot).filter(|_| mark.tried)?.error;
                again(tries, retry_at_ms, error.or_else(last))
            }
            Self::Skipped(CellError { code, message }) => {
                let detail = Detail { message: Some(message), attempts: 0, ..ended };
                last(Ending::Skipped(code), None, detail)
            }
            Self::Failed(CellError { code, message }, meta) => {
                let detail = Detail { message: Some(message), meta: known(meta), ..ended };
                last(Ending::Failed(code), None, detail)
            }
        }
    }
}

/// What was changed by one transaction, told once it is on the disk and before its caller is answered.
#[derive(Debug, Clone)]
pub struct Change {
    pub project: ProjectId,
    /// The project's change sequence after it.
    pub seq: u64,
    pub rows: ChangedRows,
    /// Where the rows lie that were written or deleted, and maybe some others.
    pub touched: Spans,
    /// The position from which on rows have another offset, because rows left there or came back. New rows are behind all
    /// others, and move none.
    pub moved_from: Option<u64>,
    /// Whether the state of any cell may be another, without its row being named.
    pub restated: bool,
    /// Cells that were taken away from whoever ran them.
    pub revoked: Vec<Ticket>,
    /// Whether cells may have become ready.
    pub ready: bool,
    /// Whether deliveries to webhooks were written.
    pub told: bool,
}

impl Change {
    /// A change after which every row of a project may be another, or gone.
    pub fn of_all_rows(project: ProjectId, seq: u64) -> Self {
        Self {
            project,
            seq,
            rows: ChangedRows::Many,
            touched: Spans::all(),
            moved_from: Some(0),
            restated: true,
            revoked: Vec::new(),
            ready: false,
            told: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChangedRows {
    /// Rows written, and rows deleted.
    These { written: Vec<u64>, deleted: Vec<RowId> },
    /// Too many to name.
    Many,
}

impl ChangedRows {
    /// More than this are too many to name.
    pub const NAMED_MAX: usize = 1_000;
}

/// Called with every change, in order. It must be quick: writers wait for it.
pub type Listener = Box<dyn Fn(&Change) + Send + Sync>;
