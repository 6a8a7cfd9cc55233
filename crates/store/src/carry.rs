//! Carrying everything from one store to another.
//!
//! A store that is moved from or to is not served meanwhile. What it holds lies in sections; a section is read in
//! pages, in the order of its keys, and that order is the same in every store, so that two stores can be
//! compared page by page. What a store derives from the rest (live counts, lookups) it makes for itself as
//! things are written. Who holds which cell, and what is left of deleted projects, stays behind.

use async_trait::async_trait;
use rowmill_model::cell::Details;
use rowmill_model::plan::{Block, EndedRun, Tally};
use rowmill_model::record::Slot;
use rowmill_model::{ProjectId, Record, RowId, TeamId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::error::Result;
use crate::row_write::RowWrite;
use crate::types::{ApiKey, Sealed, Team};

#[async_trait]
pub trait Carry: std::fmt::Debug + Send + Sync {
    /// Which database this is: the same however it is addressed.
    fn identity(&self) -> &str;

    /// The same for people, without passwords.
    fn place(&self) -> &str;

    /// Whether nothing was ever kept here.
    async fn is_empty(&self) -> Result<bool>;

    /// All projects, in the order they were made.
    async fn projects(&self) -> Result<Vec<ProjectId>>;

    async fn project(&self, id: ProjectId) -> Result<Option<CarriedProject>>;

    /// A page of a section, from behind a key on; empty at the end.
    async fn read(&self, from: Section, after: Option<Key>, page_limit: PageLimit) -> Result<Items>;

    /// What this store made for itself of a project's rows.
    async fn derived(&self, id: ProjectId) -> Result<Derived>;

    /// How far an unfinished move into this store has come, as it was last noted.
    async fn checkpoint(&self) -> Result<Option<String>>;

    /// Makes this store the target of a move: until that is finished nobody else can open it.
    async fn begin(&self, checkpoint: String) -> Result<()>;

    /// Writes a project without its sections, together with the checkpoint.
    async fn write_project(&self, project: CarriedProject, checkpoint: String) -> Result<()>;

    /// Writes a page, together with the checkpoint.
    async fn write(&self, to: Section, items_page: Items, checkpoint: String) -> Result<()>;

    /// Brings everything to the disk and opens this store to everybody.
    async fn finish(&self) -> Result<()>;
}

/// Where things of one kind lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Section {
    Teams,
    Keys,
    Sealed,
    Webhooks,
    Spending,
    Receipts,
    Rows(ProjectId),
    Blocks(ProjectId),
    Guests(ProjectId),
    Retries(ProjectId),
}

impl Section {
    /// Those that belong to no project.
    pub const SHARED: [Self; 6] =
        [Self::Teams, Self::Keys, Self::Sealed, Self::Webhooks, Self::Spending, Self::Receipts];

    pub fn of(project: ProjectId) -> [Self; 4] {
        [Self::Rows(project), Self::Blocks(project), Self::Guests(project), Self::Retries(project)]
    }

    pub fn project(self) -> Option<ProjectId> {
        match self {
            Self::Teams | Self::Keys | Self::Sealed | Self::Webhooks | Self::Spending | Self::Receipts => {
                None
            }
            Self::Rows(project) | Self::Blocks(project) | Self::Guests(project) | Self::Retries(project) => {
                Some(project)
            }
        }
    }

    /// What lies there, for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Teams => "teams",
            Self::Keys => "API keys",
            Self::Sealed => "credentials and secrets",
            Self::Webhooks => "webhooks",
            Self::Spending => "prices and caps",
            Self::Receipts => "saved responses",
            Self::Rows(_) => "rows",
            Self::Blocks(_) => "cell states",
            Self::Guests(_) => "guests",
            Self::Retries(_) => "retries",
        }
    }
}

/// What things on a section are ordered by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Key {
    /// Of a team, an API key, or the webhooks or the prices and caps of a team.
    Id(Uuid),
    /// Of what is sealed: the team, the kind's word and the name.
    Sealed(Uuid, String, String),
    /// Of a receipt.
    Name([u8; 32]),
    /// Of a row or a block.
    Number(u64),
    /// Of a guest.
    Guest(String),
    /// Of a retry: when (Unix milliseconds), which column and which row.
    Retry(i64, Slot, u64),
}

/// How much is read at once.
#[derive(Debug, Clone, Copy)]
pub struct PageLimit {
    pub items: u32,
    /// What is beyond this is left, unless it is the first.
    pub bytes: usize,
}

/// A page of a section.
#[derive(Debug, Clone, PartialEq)]
pub enum Items {
    Teams(Vec<Team>),
    Keys(Vec<ApiKey>),
    Sealed(Vec<(TeamId, Sealed)>),
    Webhooks(Vec<CarriedWebhooks>),
    Spending(Vec<CarriedSpending>),
    Receipts(Vec<Receipt>),
    Rows(Vec<CarriedRow>),
    Blocks(Vec<CarriedBlock>),
    Guests(Vec<Guest>),
    Retries(Vec<Retry>),
}

/// The webhooks of a team, as they are stored. What waits to be delivered stays behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CarriedWebhooks {
    pub team: TeamId,
    pub version: u64,
    pub document: String,
    pub subscriptions: Option<String>,
}

/// The prices and caps of a team, as they are stored. What was spent stays behind.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CarriedSpending {
    pub team: TeamId,
    pub version: u64,
    pub document: String,
}

/// The kept answer of a request that is carried out once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt {
    pub name: [u8; 32],
    pub fingerprint: [u8; 32],
    pub outcome: String,
    pub expires_at_ms: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CarriedRow {
    pub position: u64,
    pub id: RowId,
    /// A packed [`rowmill_model::Record`].
    pub values: Box<[u8]>,
    /// Packed [`rowmill_model::cell::Details`], if there are any.
    pub details: Option<Box<[u8]>>,
}

impl CarriedRow {
    /// The row as a store writes it.
    pub fn to_write(&self) -> Result<RowWrite> {
        let Self { position, id, values, details } = self;
        let details = details.as_deref().map(Details::from_bytes).transpose()?.unwrap_or_default();
        RowWrite::new((*id, *position), Record::from_bytes(&**values).into(), details, None)
    }
}

/// The marks of 256 rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CarriedBlock {
    pub number: u64,
    pub block: Block,
    /// The columns that have ready cells here. To be said when it is written; a reader leaves it empty.
    pub ready: Vec<Slot>,
}

/// A guest's row, and when the last event came that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Guest {
    pub guest_id: String,
    pub position: u64,
    pub event_at_ms: i64,
}

/// A cell that waits for the time of its next try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Retry {
    pub at_ms: i64,
    pub slot: Slot,
    pub position: u64,
}

/// A project without its sections.
#[derive(Debug, Clone, PartialEq)]
pub struct CarriedProject {
    pub id: ProjectId,
    /// The JSON of a [`rowmill_model::Project`], as it is stored.
    pub document: String,
    /// The JSON of its views.
    pub views: String,
    pub version: u64,
    pub row_count: u64,
    pub next_position: u64,
    pub change_seq: u64,
    /// The columns rows are matched on.
    pub lookup_slots: Vec<Slot>,
    /// The counts and when they last changed; `None` if nothing was ever processed.
    pub tally: Option<(Tally, i64)>,
    /// Its runs that are over, newest first.
    pub ended_runs: Vec<EndedRun>,
}

/// Counts of what a store makes for itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Derived {
    /// Live rows by the counts of each level.
    pub live: [u64; 3],
    pub lookups: u64,
    /// Columns and blocks with cells that may run.
    pub ready: u64,
}

impl Items {
    pub fn len(&self) -> usize {
        match self {
            Self::Teams(items) => items.len(),
            Self::Keys(items) => items.len(),
            Self::Sealed(items) => items.len(),
            Self::Webhooks(items) => items.len(),
            Self::Spending(items) => items.len(),
            Self::Receipts(items) => items.len(),
            Self::Rows(items) => items.len(),
            Self::Blocks(items) => items.len(),
            Self::Guests(items) => items.len(),
            Self::Retries(items) => items.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key of the last thing on the page.
    pub fn last(&self) -> Option<Key> {
        Some(match self {
            Self::Teams(items) => Key::Id(items.last()?.id.0),
            Self::Keys(items) => Key::Id(items.last()?.id.uuid()),
            Self::Sealed(items) => {
                let (team, Sealed { kind, name, .. }) = items.last()?;
                Key::Sealed(team.0, kind.word().to_owned(), name.clone())
            }
            Self::Webhooks(items) => Key::Id(items.last()?.team.0),
            Self::Spending(items) => Key::Id(items.last()?.team.0),
            Self::Receipts(items) => Key::Name(items.last()?.name),
            Self::Rows(items) => Key::Number(items.last()?.position),
            Self::Blocks(items) => Key::Number(items.last()?.number),
            Self::Guests(items) => Key::Guest(items.last()?.guest_id.clone()),
            Self::Retries(items) => {
                let Retry { at_ms, slot, position } = *items.last()?;
                Key::Retry(at_ms, slot, position)
            }
        })
    }
}

impl Derived {
    /// Whether all levels count as many rows.
    pub fn counts(&self, rows: u64) -> bool {
        self.live.iter().all(|live| *live == rows)
    }
}
