//! What goes through the seam.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;

use rowmill_model::guest::CarriedFields;
use rowmill_model::record::Slot;
use rowmill_model::{CellStates, KeyId, Project, ProjectId, Record, Restrictions, RowId, Slug, TeamId, View};
use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};
use crate::import_jobs::ImportStep;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Team {
    pub id: TeamId,
    pub slug: Slug,
    pub name: String,
    pub created_at_ms: i64,
}

/// An API key, without its secret: only the hash of that is stored.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ApiKey {
    pub id: KeyId,
    pub team: TeamId,
    pub name: String,
    pub hash: [u8; 32],
    pub created_at_ms: i64,
    pub last_used: Option<LastUse>,
    /// It is worth nothing from then on.
    pub expires_at_ms: Option<i64>,
    pub restrictions: Restrictions,
}

/// When an API key was last used, accurate to the minute, and from which address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LastUse {
    pub at_ms: i64,
    /// Not known of uses before addresses were written down.
    pub from: Option<IpAddr>,
}

/// Something of a team's that only the holder of the sealing key can read.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Sealed {
    pub kind: SealedKind,
    pub name: String,
    pub bytes: Vec<u8>,
    pub updated_at_ms: i64,
}

impl std::fmt::Debug for Sealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { kind, name, bytes: _, updated_at_ms } = self;
        write!(f, "Sealed({kind:?} {name:?} of {updated_at_ms})")
    }
}

/// What is sealed. Names are unique in a team and kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SealedKind {
    /// What a team calls a provider with, by the provider's id.
    Provider,
    /// A team secret, by its name.
    Secret,
}

impl SealedKind {
    pub const ALL: [Self; 2] = [Self::Provider, Self::Secret];

    /// How it is written down.
    pub fn word(self) -> &'static str {
        match self {
            Self::Provider => "provider",
            Self::Secret => "secret",
        }
    }
}

/// A request that must be carried out once: its answer is kept and given again.
#[derive(Debug, Clone)]
pub struct IdempotentRequest {
    /// What names the request: a hash over team, path and idempotency key.
    pub name: [u8; 32],
    /// A hash over the whole request; another one under the same name is a conflict.
    pub fingerprint: [u8; 32],
    pub now_ms: i64,
    pub expires_at_ms: i64,
}

/// What a list of projects shows of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectSummary {
    pub id: ProjectId,
    pub title: String,
    pub created_at_ms: i64,
    pub autoplay: bool,
    pub column_count: u32,
    pub folder_id: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct ProjectPage {
    pub offset: u64,
    pub limit: u32,
}

impl ProjectPage {
    pub const ALL: Self = Self { offset: 0, limit: u32::MAX };
}

/// A project as it is now.
#[derive(Debug, Clone)]
pub struct StoredProject {
    pub project: Arc<Project>,
    pub views: Arc<Vec<View>>,
    /// Counts the changes to the project and its views, not to its rows.
    pub version: u64,
    pub row_count: u64,
    /// Counts the changes to its rows: while it stays the same, so do they.
    pub change_seq: u64,
}

#[derive(Debug, Clone)]
pub struct ProjectSave {
    pub project: Project,
    pub views: Vec<View>,
    /// The version the change was made on; `None` creates the project.
    pub version: Option<u64>,
    /// If set, the project must also have this many rows, or nothing is written: [`StoreError::Stale`].
    pub row_count: Option<u64>,
    /// What the change is about and the corrections made on the way, kept for when the answer is given
    /// again.
    pub subject: Option<String>,
    pub fixes: Vec<String>,
    pub once: Option<IdempotentRequest>,
}

/// A project as a caller has seen it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenProject {
    pub version: u64,
    pub row_count: u64,
}

impl SeenProject {
    /// Whether the project is still what was seen; if not, the caller is to look again.
    pub fn check(self, now: Self) -> Result<()> {
        if self == now { Ok(()) } else { Err(StoreError::Stale) }
    }
}

/// What was saved, or, for a request carried out before, what was saved then.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SavedProject {
    pub project: Project,
    pub views: Vec<View>,
    /// The id of the column or view the change made.
    pub subject: Option<String>,
    pub fixes: Vec<String>,
}

#[derive(Debug, Clone)]
pub struct NewRows {
    pub project: ProjectId,
    /// The project version the values were laid out for.
    pub version: u64,
    pub rows: Vec<NewRow>,
    /// Update the stored row whose value in this index (see [`crate::lookup`]) is the same, instead of inserting.
    pub match_on: Option<Slot>,
    /// A changed project to save with the rows: columns made from keys.
    pub project_save: Option<Box<Project>>,
    pub ignored_keys: Vec<String>,
    /// If more rows than this would be new, none is written: [`StoreError::Full`](crate::error::StoreError::Full).
    pub new_rows_max: Option<u64>,
    /// If the values would take more bytes than this beside those they take now, nothing is written:
    /// [`StoreError::BytesFull`](crate::error::StoreError::BytesFull).
    pub new_bytes_max: Option<u64>,
    pub kept_input: KeptInput,
    pub now_ms: i64,
    pub once: Option<IdempotentRequest>,
    /// How far an import has come with these rows.
    pub import: Option<Box<ImportStep>>,
}

#[derive(Debug, Clone)]
pub struct NewRow {
    pub id: RowId,
    pub values: Record,
    /// Cells that were sent as null: they clear the cell of a matched row.
    pub cleared: Vec<Slot>,
    /// Set if the value for `_trigger` was made of fields that name no column: into a matched row they are merged, and
    /// make an object of at most this many bytes.
    pub leftover_bytes_max: Option<usize>,
}

/// Fields that name no column and were kept in `_trigger`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptInput {
    pub fields: Vec<String>,
    /// Fields, kept or not, to the headers that they may be misspellings of.
    pub hints: BTreeMap<String, String>,
}

/// What became of a batch, or, for a request carried out before, of that one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inserted {
    /// In the order sent.
    pub rows: Vec<(RowId, RowAction)>,
    pub ignored_keys: Vec<String>,
    #[serde(default)]
    pub kept_input: KeptInput,
}

impl Inserted {
    /// How many rows were inserted, updated and unchanged.
    pub fn counts(&self) -> [u64; 3] {
        [RowAction::Inserted, RowAction::Updated, RowAction::Unchanged]
            .map(|action| self.rows.iter().filter(|(_, other)| *other == action).count() as u64)
    }

    /// Holds a batch to [`NewRows::new_rows_max`].
    pub fn check_new(rows: &[(RowId, RowAction)], new_rows_max: Option<u64>) -> Result<()> {
        let new = rows.iter().filter(|(_, action)| *action == RowAction::Inserted).count();
        match new_rows_max {
            Some(max) if u64::try_from(new).unwrap_or(u64::MAX) > max => Err(StoreError::Full),
            _ => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowAction {
    Inserted,
    Updated,
    Unchanged,
}

/// A guest's row in one project.
#[derive(Debug, Clone)]
pub struct GuestWrite {
    pub project: ProjectId,
    /// The project version the values were laid out for.
    pub version: u64,
    pub guest_id: String,
    /// When the platform's event came about, in Unix milliseconds; without it, it counts as the newest.
    pub event_at_ms: Option<i64>,
    /// If not, a guest without a row is [`StoreError::Full`](crate::error::StoreError::Full).
    pub may_create: bool,
    /// As in [`NewRows`].
    pub new_bytes_max: Option<u64>,
    pub now_ms: i64,
    /// The row of a new guest.
    pub row: NewRow,
    /// What the event says, for a guest whose row is there.
    pub carried: CarriedFields,
    pub cell_bytes_max: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GuestsWritten {
    pub rows_created: u64,
    pub rows_updated: u64,
}

#[derive(Debug, Clone)]
pub struct WriteCells {
    pub project: ProjectId,
    pub version: u64,
    /// A changed project to save with the cells: columns made from keys.
    pub project_save: Option<Box<Project>>,
    /// Of two writes to one cell the later wins. Into a processed column they are written by hand.
    pub cells: Vec<CellWrite>,
    /// A row that must still be this, or nothing is written: [`StoreError::Stale`].
    pub expected: Option<Box<StoredRow>>,
    /// As in [`NewRows`].
    pub new_bytes_max: Option<u64>,
    pub now_ms: i64,
    /// Rows to give back as they are after the write.
    pub returning: Vec<RowId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CellWrite {
    pub row: RowId,
    pub slot: Slot,
    /// Raw JSON text; `null` clears the cell.
    pub value: Box<str>,
}

#[derive(Debug, Clone)]
pub struct WrittenCells {
    pub rows: Vec<StoredRow>,
}

/// A row as it is stored.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRow {
    pub id: RowId,
    /// Its place in the order of creation; grows, with holes where rows were deleted.
    pub position: u64,
    pub values: Record,
    pub states: CellStates,
}

/// A row during a scan, not yet copied.
#[derive(Debug, Clone, Copy)]
pub struct RowRef<'a> {
    /// `None` where only values were asked for.
    pub id: Option<RowId>,
    pub position: u64,
    /// A packed [`Record`].
    pub values: &'a [u8],
    /// `None` where every cell is idle, or where states were not asked for.
    pub states: Option<&'a CellStates>,
}

/// Columns whose values are read. A row that was read shows at least these; values of other columns may be there or
/// absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum WantedSlots {
    #[default]
    All,
    /// These, in order.
    Only(Arc<[Slot]>),
}

impl WantedSlots {
    pub fn only(slots: impl IntoIterator<Item = Slot>) -> Self {
        let slots: BTreeSet<Slot> = slots.into_iter().collect();
        Self::Only(slots.into_iter().collect())
    }

    pub fn none() -> Self {
        Self::only([])
    }

    /// These and some more.
    #[must_use]
    pub fn and(&self, more: impl IntoIterator<Item = Slot>) -> Self {
        match self {
            Self::All => Self::All,
            Self::Only(slots) => Self::only(slots.iter().copied().chain(more)),
        }
    }

    pub fn contains(&self, slot: Slot) -> bool {
        match self {
            Self::All => true,
            Self::Only(slots) => slots.binary_search(&slot).is_ok(),
        }
    }
}

/// What is read of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// Reading ends with the row that reaches this many bytes of values.
    pub bytes_max: usize,
    pub slots: WantedSlots,
}

impl Wanted {
    pub const ALL: Self = Self { bytes_max: usize::MAX, slots: WantedSlots::All };
}

impl From<usize> for Wanted {
    /// All values, of so many bytes.
    fn from(bytes_max: usize) -> Self {
        Self { bytes_max, slots: WantedSlots::All }
    }
}

/// What a scan shows of each row, and of which columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScanLook {
    pub detail: ScanDetail,
    pub slots: WantedSlots,
}

impl From<ScanDetail> for ScanLook {
    /// Of all columns.
    fn from(detail: ScanDetail) -> Self {
        Self { detail, slots: WantedSlots::All }
    }
}

/// What a scan shows of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScanDetail {
    /// Its values, without its id; every cell seems idle.
    Values,
    /// Its id, values and states.
    Whole,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RowsAt {
    pub rows: Vec<StoredRow>,
    /// Where the others lie that were asked for and exist, but did not fit into the bytes allowed; in the order
    /// asked for.
    pub rest: Vec<u64>,
    /// The project's change sequence, in the same snapshot.
    pub change_seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageStart {
    /// Skip this many rows.
    Offset(u64),
    /// Go on behind this position.
    After(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct RowsPage {
    pub rows: Vec<StoredRow>,
    /// Where the page's other rows lie, which did not fit into the bytes allowed.
    pub rest: Vec<u64>,
    /// Rows in the project, in the same snapshot.
    pub total: u64,
    /// Whether rows follow the last one of this page.
    pub more: bool,
    /// The project's change sequence, in the same snapshot.
    pub change_seq: u64,
}
