//! Reading what is stored as it is stored, to check it. Others may use the database meanwhile.

use async_trait::async_trait;
use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, RowId, TeamId};

use crate::carry::{Items, Key, PageLimit, Section};
use crate::changes::CellClaim;
use crate::error::Result;
use crate::types::WantedSlots;
use crate::wide_values::WideSlots;

#[async_trait]
pub trait Inspect: std::fmt::Debug + Send + Sync {
    /// Which database this is, for people.
    fn place(&self) -> &str;

    /// Looks anew: what is read from here on is of one moment, until this is called again.
    async fn begin(&self) -> Result<()>;

    /// What the database's own check finds, a sentence each.
    async fn integrity(&self) -> Result<Vec<String>>;

    /// What belongs to projects that do not exist and are not being removed either, a sentence each.
    async fn strays(&self) -> Result<Vec<String>>;

    /// All projects, in the order they were made.
    async fn projects(&self) -> Result<Vec<ProjectId>>;

    /// `None` if it was deleted meanwhile.
    async fn project(&self, id: ProjectId) -> Result<Option<InspectedProject>>;

    /// A page of a section, from behind a key on; empty at the end. Rows and blocks are read with the next two.
    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items>;

    /// Rows from a position on, in order.
    async fn rows(&self, id: ProjectId, first: u64, page_limit: PageLimit) -> Result<Vec<InspectedRow>>;

    /// Blocks from a number on, in order, with their marks.
    async fn blocks(&self, id: ProjectId, first: u64, count_max: u32) -> Result<Vec<(u64, Vec<u8>)>>;

    /// Live counts of a level from a run on, in order.
    async fn live(&self, id: ProjectId, level: u32, first: u64, count_max: u32) -> Result<Vec<(u64, i64)>>;

    /// How many rows the entries of a project's trash name.
    async fn trashed_rows(&self, id: ProjectId) -> Result<u64>;

    /// What workers hold of a project.
    async fn claims(&self, id: ProjectId) -> Result<Vec<CellClaim>>;

    /// Those of these entries that are not in their index.
    async fn missing(&self, id: ProjectId, entries: Vec<IndexEntry>) -> Result<Vec<IndexEntry>>;

    /// How many entries there are.
    async fn index_sizes(&self, id: ProjectId) -> Result<IndexSizes>;
}

/// A project as it is stored.
#[derive(Debug, Clone)]
pub struct InspectedProject {
    /// The JSON of a [`rowmill_model::Project`].
    pub document: String,
    /// The JSON of its views.
    pub views: String,
    pub summary: InspectedSummary,
    /// None if they are missing.
    pub counters: Option<InspectedCounters>,
    pub lookup_slots: Vec<Slot>,
    /// The JSON of a [`rowmill_model::plan::Tally`].
    pub tally: Option<String>,
}

/// What stands beside the document for lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectedSummary {
    pub team: TeamId,
    pub title: String,
    pub autoplay: bool,
    pub folder_id: Option<String>,
    pub column_count: u64,
    pub created_at_ms: i64,
    pub event_id: Option<String>,
}

#[derive(Debug, Clone, Copy)]
pub struct InspectedCounters {
    pub row_count: u64,
    pub next_position: u64,
    pub trashed_count: u64,
    /// How many bytes the values take; `None` if that has not been counted yet.
    pub value_bytes: Option<i64>,
}

/// A row as it is stored. What has not even the right type is `None`.
#[derive(Debug, Clone)]
pub struct InspectedRow {
    pub position: u64,
    pub id: Option<RowId>,
    /// A packed [`rowmill_model::Record`].
    pub values: Option<Box<[u8]>>,
    /// Packed [`rowmill_model::cell::Details`], if there are any.
    pub details: Option<Box<[u8]>>,
    /// What is wrong with its wide values, for people.
    pub damage: Option<&'static str>,
}

/// What is stored apart from a row, and what the row notes of it.
#[derive(Debug, Clone, Default)]
pub struct InspectedWide {
    pub note: Option<Box<[u8]>>,
    pub bytes: Option<i64>,
    /// In the order of slots.
    pub stored: Vec<(Slot, Vec<u8>)>,
}

impl InspectedWide {
    /// Adds it to the values inside the row; or says what is the matter.
    pub fn join_to(&self, values: &mut Option<Box<[u8]>>) -> std::result::Result<(), &'static str> {
        let Some(note) = &self.note else {
            let is_ordinary = self.bytes.is_none() && self.stored.is_empty();
            return if is_ordinary { Ok(()) } else { Err("it has wide values that it does not note") };
        };
        let slots = WideSlots::from_bytes(note).map_err(|_| "its note of wide values cannot be read")?;
        let Some(near) = values.take() else { return Ok(()) };
        let joined = slots.join(&near, &WantedSlots::All, &self.stored);
        let before = near.len();
        *values = Some(near);
        let joined = joined.map_err(|_| "its wide values cannot be read, or are not those that it notes")?;
        let bytes = joined.as_bytes().len();
        *values = Some(joined.as_bytes().into());
        let is_counted =
            i64::try_from(bytes.saturating_sub(before)).is_ok_and(|more| self.bytes == Some(more));
        if is_counted { Ok(()) } else { Err("its wide values take other bytes than it notes") }
    }
}

/// Tells of wide values whose rows are neither in their table nor in its trash.
pub fn orphaned(count: u64) -> String {
    format!("there are {count} wide values of rows that do not exist")
}

/// Something that an index must have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexEntry {
    /// A row's position, by its id.
    Id(RowId, u64),
    /// A value that rows are matched on: column, hash and position.
    Lookup(Slot, i64, u64),
    /// A column and a block in which it has cells to run.
    Ready(Slot, u64),
    /// When a cell is tried again (Unix milliseconds), its column and its position.
    Retry(i64, Slot, u64),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexSizes {
    pub lookups: u64,
    pub ready: u64,
}
