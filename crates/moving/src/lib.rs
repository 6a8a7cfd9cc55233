//! Everything from one store to another.
//!
//! Section by section and page by page, in a fixed order. Each page is written together with a checkpoint of how far the
//! move has come, so whatever stops it, the next run goes on behind the last page that was written. In the
//! end both stores are read again and compared; only then is the target opened to everybody.

mod blocks;
mod checkpoint;
#[cfg(test)]
mod tests;
mod verify;

use std::sync::Arc;

use rowmill_model::ProjectId;
use rowmill_model::plan::{ColumnTally, Plan, Tally};
use rowmill_store::StoreError;
use rowmill_store::carry::{Carry, Items, Key, PageLimit, Section};

use crate::checkpoint::{Checkpoint, MoveStep};

/// Bytes of values read at once.
const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Blocks read at once: one with many columns takes a hundred kilobytes.
const PAGE_BLOCKS_MAX: u32 = 256;

#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Rows, or whatever else, written in one transaction at most.
    pub batch_rows: u32,
}

/// How far a move has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    pub phase: Phase,
    pub rows: u64,
    pub rows_total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Copying,
    /// The same, gone on with where an earlier run stopped.
    Resuming,
    Verifying,
}

/// Called now and then.
pub type OnProgress<'a> = &'a (dyn Fn(Progress) + Send + Sync);

/// What was moved, as counted in the target in the end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moved {
    pub teams: u64,
    pub keys: u64,
    pub sealed: u64,
    pub receipts: u64,
    pub projects: u64,
    pub rows: u64,
    pub guests: u64,
    pub retries: u64,
    pub cells: Cells,
    /// Bytes of rows.
    pub bytes: u64,
    /// Rows that this run wrote; an earlier one may have written the others.
    pub rows_now: u64,
}

/// Processed cells by where they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cells {
    pub idle: u64,
    pub queued: u64,
    pub completed: u64,
    pub error: u64,
    pub skipped: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("{0} is both source and target; choose another target")]
    Same(String),
    #[error("{0} is not empty; the target must be an empty database or a new folder")]
    NotEmpty(String),
    #[error(
        "{target} contains an unfinished move from {source_then}: run that move again, or choose another target"
    )]
    OtherSource { target: String, source_then: String },
    #[error(
        "{0} has changed since this move started, so the target is out of date: empty the target and start \
         again while the source is not in use"
    )]
    Changed(String),
    #[error(
        "verification failed: the target differs from the source ({0}). The target stays locked: empty it \
         and start again while the source is not in use"
    )]
    Differs(String),
    #[error("{place} stopped responding: run the same command again to resume")]
    Lost {
        place: String,
        #[source]
        cause: StoreError,
    },
    #[error("{place} cannot be moved")]
    Broken {
        place: String,
        #[source]
        cause: StoreError,
    },
}

type Result<T, E = MoveError> = std::result::Result<T, E>;

/// Moves everything, or goes on with a move that was not finished.
pub async fn carry(
    source: &dyn Carry,
    target: &dyn Carry,
    options: Options,
    on_progress: OnProgress<'_>,
) -> Result<Moved> {
    if source.identity() == target.identity() {
        return Err(MoveError::Same(source.place().to_owned()));
    }
    let projects = source.projects().await.map_err(of(source))?;
    let mut rows_total = 0;
    for id in &projects {
        rows_total += existing(source, *id).await?.row_count;
    }
    let (checkpoint, phase) = match target.checkpoint().await.map_err(of(target))? {
        Some(text) => (resumed(source, target, &text, &projects).await?, Phase::Resuming),
        None => (begun(source, target).await?, Phase::Copying),
    };
    let rows_before = checkpoint.rows;
    let mut run = Mover { source, target, options, on_progress, phase, rows_total, checkpoint };
    run.copy(&projects).await?;
    let rows_now = run.checkpoint.rows - rows_before;
    let moved = verify::verify(source, target, options, &projects, on_progress, rows_total).await?;
    target.finish().await.map_err(of(target))?;
    Ok(Moved { rows_now, ..moved })
}

/// Makes an empty store the target.
async fn begun(source: &dyn Carry, target: &dyn Carry) -> Result<Checkpoint> {
    if !target.is_empty().await.map_err(of(target))? {
        return Err(MoveError::NotEmpty(target.place().to_owned()));
    }
    let checkpoint = Checkpoint::new(source);
    target.begin(checkpoint.to_text()).await.map_err(of(target))?;
    Ok(checkpoint)
}

/// Reads how far the same move has come, if it is the same and nothing has changed since.
async fn resumed(
    source: &dyn Carry,
    target: &dyn Carry,
    text: &str,
    projects: &[ProjectId],
) -> Result<Checkpoint> {
    let checkpoint = Checkpoint::parse(text).map_err(of(target))?;
    if checkpoint.source != source.identity() {
        let (target, source_then) = (target.place().to_owned(), checkpoint.place);
        return Err(MoveError::OtherSource { target, source_then });
    }
    let changed = || MoveError::Changed(source.place().to_owned());
    let there = target.projects().await.map_err(of(target))?;
    if !projects.starts_with(&there) {
        return Err(changed());
    }
    for id in there {
        let (then, now) = (existing(target, id).await?, existing(source, id).await?);
        if (then.version, then.change_seq) != (now.version, now.change_seq) {
            return Err(changed());
        }
    }
    Ok(checkpoint)
}

struct Mover<'a> {
    source: &'a dyn Carry,
    target: &'a dyn Carry,
    options: Options,
    on_progress: OnProgress<'a>,
    phase: Phase,
    rows_total: u64,
    checkpoint: Checkpoint,
}

impl Mover<'_> {
    async fn copy(&mut self, projects: &[ProjectId]) -> Result<()> {
        self.say();
        let steps: Vec<MoveStep> = MoveStep::all(projects).collect();
        let Some(place) = steps.iter().position(|step| *step == self.checkpoint.step) else {
            return Err(MoveError::Changed(self.source.place().to_owned()));
        };
        for step in steps.into_iter().skip(place) {
            match step {
                // It is noted together with being written.
                MoveStep::Project(_) if step == self.checkpoint.step => {}
                MoveStep::Project(id) => self.copy_project(id).await?,
                MoveStep::Section(on) => {
                    let after =
                        if step == self.checkpoint.step { self.checkpoint.after.clone() } else { None };
                    self.copy_section(on, after).await?;
                }
            }
        }
        Ok(())
    }

    async fn copy_project(&mut self, id: ProjectId) -> Result<()> {
        let mut project = existing(self.source, id).await?;
        let plan = blocks::plan(&project).map_err(of(self.source))?;
        if let Some((tally, _)) = &mut project.tally {
            *tally = blocks::recount(self.source, id, &plan, tally).await.map_err(of(self.source))?;
        }
        self.checkpoint.step = MoveStep::Project(id);
        self.checkpoint.after = None;
        self.target.write_project(project, self.checkpoint.to_text()).await.map_err(of(self.target))
    }

    async fn copy_section(&mut self, on: Section, after: Option<Key>) -> Result<()> {
        let plan = match on {
            Section::Blocks(id) => {
                let project = existing(self.source, id).await?;
                Some(Arc::new(blocks::plan(&project).map_err(of(self.source))?))
            }
            _ => None,
        };
        let page_limit = page_limit(on, self.options);
        let mut page = self.source.read(on, after, page_limit).await.map_err(of(self.source))?;
        while let Some(last) = page.last() {
            if let (Items::Blocks(page), Some(plan)) = (&mut page, &plan) {
                blocks::make_ready(plan, page);
            }
            if let Items::Rows(rows) = &page {
                self.checkpoint.rows += count(rows.len());
            }
            self.checkpoint.step = MoveStep::Section(on);
            self.checkpoint.after = Some(last.clone());
            // The next page is read while this one is written.
            let (written, next) = tokio::join!(
                self.target.write(on, page, self.checkpoint.to_text()),
                self.source.read(on, Some(last), page_limit)
            );
            written.map_err(of(self.target))?;
            page = next.map_err(of(self.source))?;
            self.say();
        }
        Ok(())
    }

    fn say(&self) {
        (self.on_progress)(Progress {
            phase: self.phase,
            rows: self.checkpoint.rows,
            rows_total: self.rows_total,
        });
    }
}

fn page_limit(section: Section, options: Options) -> PageLimit {
    let items = match section {
        Section::Blocks(_) => options.batch_rows.min(PAGE_BLOCKS_MAX),
        _ => options.batch_rows,
    };
    PageLimit { items, bytes: PAGE_BYTES_MAX }
}

/// A project that must be there.
async fn existing(store: &dyn Carry, id: ProjectId) -> Result<rowmill_store::carry::CarriedProject> {
    let project = store.project(id).await.map_err(of(store))?;
    project.ok_or_else(|| MoveError::Changed(store.place().to_owned()))
}

/// Says which of the two stores failed.
fn of(store: &dyn Carry) -> impl Fn(StoreError) -> MoveError {
    let place = store.place().to_owned();
    move |cause| {
        let place = place.clone();
        match cause {
            StoreError::Backend(_)
            | StoreError::Unavailable(_)
            | StoreError::InDoubt(_)
            | StoreError::Closed => MoveError::Lost { place, cause },
            _ => MoveError::Broken { place, cause },
        }
    }
}

fn count(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

impl Cells {
    fn of(plan: &Plan, tally: &Tally, rows: u64) -> Self {
        let mut cells = Self::default();
        for column in plan.slots().map(|slot| tally.column(slot, rows)) {
            let ColumnTally { idle, queued, generating, completed, error, skipped } = column;
            cells.join(Self { idle, queued: queued + generating, completed, error, skipped });
        }
        cells
    }

    fn join(&mut self, others: Self) {
        let Self { idle, queued, completed, error, skipped } = others;
        self.idle += idle;
        self.queued += queued;
        self.completed += completed;
        self.error += error;
        self.skipped += skipped;
    }
}
