//! Loads what a change of rows needs, and applies the result. [`rowmill_store::changes`] decides in between.

use std::sync::Arc;

use rowmill_model::plan::{Plan, PlanChange, block_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::{Project, RowId};
use rowmill_store::changes::{BLOCKS_AT_ONCE, CellClaim, Finished, Look, Places, ProjectAtStart, RowChanges};
use rowmill_store::lookup::CANDIDATES_MAX;
use rowmill_store::{Change, Result};
use rusqlite::{Connection, Row};
use uuid::Uuid;

use crate::blocks::{block_key, block_number, read_marks, read_tally_text};
use crate::convert::{backend, uuid_of};
use crate::documents::{self, Documents};
use crate::pages::part_columns;
use crate::positions::key;
use crate::project_state::{self, State};
use crate::{apply, ended_runs, ledger, lookups, pages, webhooks, wide_values};

/// Changed rows are written when they reach this size, so that a batch of large rows is never held in memory whole, and a bulk
/// write looks early whether it gives way (see `write_queue`): it does so while SQLite works.
const FLUSH_BYTES: usize = 256 * 1024;

/// A project in the transaction that changes its rows.
pub(crate) struct OpenProject<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) num: i64,
    pub(crate) changes: RowChanges<()>,
}

impl<'c> OpenProject<'c> {
    /// Opens a project as it is stored.
    pub(crate) fn open(connection: &'c Connection, documents: &Documents, state: State) -> Result<Self> {
        let (project, plan) = documents::planned(connection, documents, state.head)?;
        Self::with(connection, state, project, plan)
    }

    /// Opens a project that this transaction has just saved.
    pub(crate) fn open_saved(connection: &'c Connection, state: State, project: Project) -> Result<Self> {
        let plan = Arc::new(Plan::of(&project));
        Self::with(connection, state, Arc::new(project), plan)
    }

    fn with(
        connection: &'c Connection,
        state: State,
        project: Arc<Project>,
        plan: Arc<Plan>,
    ) -> Result<Self> {
        let State { head, counters, change_seq } = state;
        let subscribed = webhooks::subscribed(connection, project.team)?;
        let changes = RowChanges::new(ProjectAtStart {
            project,
            plan,
            row_count: counters.row_count,
            next_position: counters.next_position,
            change_seq,
            lookup_slots: lookups::slots(connection, head.num)?,
            trashed_count: counters.trashed_count,
            subscribed,
        });
        Ok(Self { connection, num: head.num, changes })
    }

    pub(crate) fn load_row(&mut self, position: u64) -> Result<()> {
        if !self.changes.has_row(position)
            && let Some(row) = pages::read_part(self.connection, key(self.num, position))?
        {
            self.changes.know(row, ())?;
        }
        Ok(())
    }

    /// Loads of a loaded row what is looked at, if it lies apart.
    pub(crate) fn load_values(&mut self, position: u64, look: Look<'_>) -> Result<()> {
        for slot in self.changes.unread_at(position, look) {
            let text = wide_values::one(self.connection, key(self.num, position), slot)?;
            self.changes.fill(position, slot, text)?;
        }
        Ok(())
    }

    /// Loads a row by its id; says where it lies, if it is there.
    pub(crate) fn load_row_by_id(&mut self, id: RowId) -> Result<Option<u64>> {
        if let Some(position) = self.changes.position(id) {
            return Ok(Some(position));
        }
        let Some(row) = pages::find_part(self.connection, self.num, id)? else { return Ok(None) };
        let position = row.position;
        self.changes.know_by_id(row, ())?;
        Ok(Some(position))
    }

    /// Loads a row together with its block.
    pub(crate) fn load_row_and_block(&mut self, position: u64) -> Result<()> {
        self.load_row(position)?;
        self.load_block(block_of(position))
    }

    /// Loads the block of the next new row, if that matters.
    pub(crate) fn load_block_of_new(&mut self) -> Result<()> {
        self.changes.blocks_of_new(1).into_iter().try_for_each(|block| self.load_block(block))
    }

    pub(crate) fn load_block(&mut self, block: u64) -> Result<()> {
        if self.changes.is_block_open(block) {
            return Ok(());
        }
        let marks = read_marks(self.connection, self.num, block)?.unwrap_or_default();
        self.open_block(block, marks)
    }

    /// Loads a run of blocks that have marks, [`BLOCKS_AT_ONCE`] at most; says which.
    pub(crate) fn load_blocks_from(&mut self, first: u64) -> Result<Vec<u64>> {
        let found: Vec<(i64, Vec<u8>)> = self
            .connection
            .prepare_cached("SELECT key, marks FROM blocks WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3")
            .and_then(|mut query| {
                let range = (block_key(self.num, first), block_key(self.num + 1, 0) - 1, BLOCKS_AT_ONCE);
                query.query_map(range, |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
            })
            .map_err(backend)?;
        let mut blocks = Vec::with_capacity(found.len());
        for (block, marks) in found.into_iter().map(|(key, marks)| (block_number(key), marks)) {
            self.open_block(block, marks)?;
            blocks.push(block);
        }
        Ok(blocks)
    }

    fn open_block(&mut self, block: u64, marks: Vec<u8>) -> Result<()> {
        if self.changes.lacks_tally() {
            let tally = read_tally_text(self.connection, self.num)?;
            self.changes.open_tally(tally.map(|(text, _)| text));
        }
        let mut query = self
            .connection
            .prepare_cached(
                "SELECT token, worker, project, slot, block, places FROM claims WHERE project = ?1 AND block = ?2",
            )
            .map_err(backend)?;
        let mut claims = query.query((self.num, block)).map_err(backend)?;
        while let Some(row) = claims.next().map_err(backend)? {
            let StoredClaim { token, claim, .. } = StoredClaim::read(row)?;
            self.changes.open_claim(token, claim);
        }
        self.changes.open_block(block, marks)
    }

    /// Loads the rows that may hold a value with this hash, with their blocks. `slots`: what is compared and may be
    /// written there.
    pub(crate) fn load_matches(&mut self, slot: Slot, hash: i64, slots: &[Slot]) -> Result<()> {
        if !self.changes.knows_matches(slot, hash) {
            let positions = lookups::positions(self.connection, self.num, slot, hash)?;
            if positions.len() <= CANDIDATES_MAX {
                positions.iter().try_for_each(|position| self.load_row_and_block(*position))?;
            }
            self.changes.open_matches(slot, hash, positions);
        }
        let positions = self.changes.matches(slot, hash);
        if positions.len() > CANDIDATES_MAX {
            return Ok(());
        }
        let mut positions = positions.into_iter();
        positions.try_for_each(|position| self.load_values(position, Look::Write(slots)))
    }

    /// Writes what changed so far, if it is large.
    pub(crate) fn flush_if_large(&mut self) -> Result<()> {
        if self.changes.bytes() > FLUSH_BYTES { self.flush() } else { Ok(()) }
    }

    pub(crate) fn flush(&mut self) -> Result<()> {
        let writes = self.changes.flush()?;
        let project = &self.changes.project;
        webhooks::add(self.connection, project.team, &writes.deliveries)?;
        ledger::add(self.connection, project.team, project.id, &writes.ledger)?;
        apply::writes(self.connection, self.num, &writes)
    }

    /// Goes over every block after the columns changed, some at a time. Where columns came back from the trash, it finds
    /// out whether the results of `refreshed` are stale.
    pub(crate) fn replan(&mut self, change: &PlanChange, refreshed: &[Slot]) -> Result<()> {
        let tally = read_tally_text(self.connection, self.num)?;
        self.changes.open_tally(tally.map(|(text, _)| text));
        self.changes.begin_replan(change)?;
        let mut next = Some(0);
        while let Some(first) = next {
            let blocks = self.load_blocks_from(first)?;
            self.changes.replan_loaded(change)?;
            if !refreshed.is_empty() {
                blocks.iter().try_for_each(|block| self.refresh(*block, refreshed))?;
            }
            self.flush()?;
            next = blocks.last().map(|last| last + 1);
        }
        self.changes.end_replan();
        Ok(())
    }

    fn refresh(&mut self, block: u64, slots: &[Slot]) -> Result<()> {
        let (first, last) = (position_of(block, 0), position_of(block, u8::MAX));
        let mut query = self
            .connection
            .prepare_cached(concat!("SELECT ", part_columns!(), " FROM rows WHERE key BETWEEN ?1 AND ?2"))
            .map_err(backend)?;
        let mut found = query.query((key(self.num, first), key(self.num, last))).map_err(backend)?;
        while let Some(row) = found.next().map_err(backend)? {
            let mut row = pages::part_row(row)?;
            for slot in self.changes.unread(&row, Look::Refresh(slots)) {
                let text = wide_values::one(self.connection, key(self.num, row.position), slot)?;
                row.fill(slot, text)?;
            }
            self.changes.refresh(&row, slots)?;
        }
        Ok(())
    }

    /// Writes what is left, and returns the change to tell listeners. Without a time, the time of the counts stays.
    pub(crate) fn finish(self, now_ms: impl Into<Option<i64>>) -> Result<Change> {
        let now_ms = now_ms.into();
        let at_ms = match now_ms {
            Some(now_ms) => now_ms,
            // The last time that is known.
            None => read_tally_text(self.connection, self.num)?.map(|(_, at_ms)| at_ms).unwrap_or_default(),
        };
        let (team, project) = (self.changes.project.team, self.changes.project.id);
        let finished = self.changes.finish(at_ms)?;
        let Finished { writes, row_count, next_position, value_bytes_change, trashed_count, .. } = finished;
        let Finished { tally, ended_runs: runs, change, .. } = finished;
        apply::writes(self.connection, self.num, &writes)?;
        webhooks::add(self.connection, team, &writes.deliveries)?;
        ledger::add(self.connection, team, project, &writes.ledger)?;
        runs.iter().try_for_each(|run| ended_runs::keep(self.connection, self.num, run))?;
        match (tally, now_ms) {
            (Some(tally), now_ms) => apply::tally(self.connection, self.num, &tally, now_ms)?,
            (None, Some(now_ms)) => apply::tallied_at(self.connection, self.num, now_ms)?,
            (None, None) => {}
        }
        let counters = project_state::Counters { row_count, next_position, trashed_count };
        project_state::write_counters(self.connection, self.num, counters, value_bytes_change, change.seq)?;
        Ok(change)
    }
}

/// A claim as it is stored.
pub(crate) struct StoredClaim {
    pub(crate) token: u64,
    /// The project's number.
    pub(crate) num: i64,
    pub(crate) claim: CellClaim,
}

impl StoredClaim {
    /// Reads token, worker, project, slot, block and places.
    pub(crate) fn read(row: &Row<'_>) -> Result<Self> {
        let places: Vec<u8> = row.get(5).map_err(backend)?;
        let worker: Uuid = uuid_of(row, 1).map_err(backend)?;
        let (slot, block) = (row.get(3).map_err(backend)?, row.get(4).map_err(backend)?);
        Ok(Self {
            token: row.get(0).map_err(backend)?,
            num: row.get(2).map_err(backend)?,
            claim: CellClaim { worker, slot, block, places: Places::from_bytes(&places)? },
        })
    }
}
