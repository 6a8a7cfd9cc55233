//! One project's rows, while a transaction changes them.
//!
//! Whoever changes a row does it here, so that everything kept with rows changes with them: marks, counts,
//! live positions, lookups, claims, and the change that is told once it is on the disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rowmill_model::cell::{Detail, Details};
use rowmill_model::plan::{BLOCK_BITS, Block, Plan, Steps, Tally, block_of, place_of};
use rowmill_model::record::{Cells, Slot};
use rowmill_model::{Project, Record, RowId, value};
use rowmill_store::{Change, ChangedRows, Lane, NewRow, Result, RowAction, Spans, StoreError, Ticket};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use crate::pages::RawRow;
use crate::places::Places;
use crate::positions::{LiveDelta, key};
use crate::projects::{self, Documents, State};
use crate::{backend, damaged, lookups, pages};

const BLOCK_NUMBER_BITS: u32 = 40 - BLOCK_BITS;

/// Where a block is kept.
pub(crate) fn block_key(project: i64, block: u64) -> i64 {
    project << BLOCK_NUMBER_BITS | i64::try_from(block).unwrap_or_default()
}

/// The number of the block kept under a key.
pub(crate) fn block_number(key: i64) -> u64 {
    u64::try_from(key & ((1 << BLOCK_NUMBER_BITS) - 1)).unwrap_or_default()
}

pub(crate) fn read_block(connection: &Connection, project: i64, block: u64) -> Result<Option<Block>> {
    let marks: Option<Vec<u8>> = connection
        .prepare_cached("SELECT marks FROM blocks WHERE key = ?1")
        .and_then(|mut query| query.query_row([block_key(project, block)], |row| row.get(0)).optional())
        .map_err(backend)?;
    Ok(marks.map(|marks| Block::decode(&marks)).transpose()?)
}

pub(crate) fn read_tally(connection: &Connection, project: i64) -> Result<Option<(Tally, i64)>> {
    let found: Option<(String, i64)> = connection
        .prepare_cached("SELECT tally, updated_at FROM tallies WHERE project = ?1")
        .and_then(|mut query| query.query_row([project], |row| Ok((row.get(0)?, row.get(1)?))).optional())
        .map_err(backend)?;
    found.map(|(tally, at)| Ok((serde_json::from_str(&tally).map_err(damaged)?, at))).transpose()
}

pub(crate) struct Desk<'c> {
    pub(crate) connection: &'c Connection,
    pub(crate) state: State,
    pub(crate) project: Arc<Project>,
    pub(crate) plan: Arc<Plan>,
    live: LiveDelta,
    lookup_slots: Vec<Slot>,
    blocks: BTreeMap<u64, OpenBlock>,
    tally: Option<Tally>,
    rows: ChangedRows,
    touched: Spans,
    restated: bool,
    revoked: Vec<Ticket>,
    insert: CachedStatement<'c>,
    update: CachedStatement<'c>,
}

struct OpenBlock {
    block: Block,
    /// As it is stored.
    stored: Vec<u8>,
    /// The columns that had ready cells.
    ready: BTreeSet<Slot>,
}

impl<'c> Desk<'c> {
    /// Opens a project as it is stored.
    pub(crate) fn open(connection: &'c Connection, documents: &Documents, state: State) -> Result<Self> {
        let (project, plan) = projects::planned(connection, documents, state.head)?;
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
        let prepare = |sql| connection.prepare_cached(sql).map_err(backend);
        Ok(Self {
            connection,
            project,
            plan,
            live: LiveDelta::default(),
            lookup_slots: lookups::slots(connection, state.head.num)?,
            blocks: BTreeMap::new(),
            tally: None,
            rows: ChangedRows::These { written: Vec::new(), deleted: Vec::new() },
            touched: Spans::default(),
            restated: false,
            revoked: Vec::new(),
            insert: prepare("INSERT INTO rows (key, id, vals, details) VALUES (?1, ?2, ?3, ?4)")?,
            update: prepare("UPDATE rows SET vals = ?2, details = ?3 WHERE key = ?1")?,
            state,
        })
    }

    pub(crate) fn num(&self) -> i64 {
        self.state.head.num
    }

    pub(crate) fn lane(&self, slot: Slot) -> Lane {
        Lane { project: self.project.id, slot }
    }

    /// Where the next row goes.
    pub(crate) fn next_position(&self) -> u64 {
        self.state.counters.next_position
    }

    pub(crate) fn raw(&self, position: u64) -> Result<Option<RawRow>> {
        pages::read_raw(self.connection, key(self.num(), position))
    }

    pub(crate) fn insert(&mut self, row: &NewRow, now_ms: i64) -> Result<(RowId, RowAction)> {
        let position = self.state.counters.next_position;
        let cells = row.values.cells()?;
        let by_hand: Vec<Slot> = match self.plan.slots().next() {
            Some(_) => self.plan.slots().filter(|slot| cells.get(*slot).is_some()).collect(),
            None => Vec::new(),
        };
        let mut details = Details::default();
        for slot in &by_hand {
            details.set(*slot, &written_at(now_ms))?;
        }
        let row_key = key(self.num(), position);
        self.insert
            .execute((row_key, row.id.uuid().as_bytes(), row.values.as_bytes(), details.as_bytes()))
            .map_err(backend)?;
        if !self.lookup_slots.is_empty() {
            lookups::change(self.connection, self.num(), &self.lookup_slots, position, None, Some(&cells))?;
        }
        self.live.add(position, 1);
        self.state.counters.next_position += 1;
        self.state.counters.row_count += 1;
        self.touch(position);
        if self.plan.plays() || !by_hand.is_empty() {
            self.step(position, |steps| steps.made(by_hand))?;
        }
        Ok((row.id, RowAction::Inserted))
    }

    /// Writes what was sent over a stored row, unless that changes nothing.
    pub(crate) fn update(&mut self, position: u64, sent: &NewRow, now_ms: i64) -> Result<(RowId, RowAction)> {
        let stored =
            self.raw(position)?.ok_or_else(|| StoreError::Damaged("an indexed row is missing".to_owned()))?;
        let old = stored.values.cells()?;
        let sent_cells = sent.values.cells()?;
        let cleared = sent.cleared.iter().map(|slot| (*slot, "null"));
        let changed: Vec<(Slot, &str)> = sent_cells
            .iter()
            .chain(cleared)
            .filter(|(slot, raw)| !value::same(old.get(*slot).unwrap_or("null"), raw))
            .collect();
        if changed.is_empty() {
            return Ok((stored.id, RowAction::Unchanged));
        }
        self.write(&stored, &changed, now_ms)?;
        Ok((stored.id, RowAction::Updated))
    }

    /// Writes cells of a row by hand.
    pub(crate) fn write(&mut self, stored: &RawRow, writes: &[(Slot, &str)], now_ms: i64) -> Result<()> {
        let values = stored.values.with(writes.iter().copied())?;
        let slots: Vec<Slot> = writes.iter().map(|(slot, _)| *slot).collect();
        let mut details = stored.details.clone();
        for slot in self.plan.slots().filter(|slot| slots.contains(slot)) {
            let is_null = values.cells()?.get(slot).is_none();
            details.set(slot, &if is_null { Detail::default() } else { written_at(now_ms) })?;
        }
        self.put(stored, &values, &details)?;
        if slots.iter().any(|slot| self.plan.concerns(*slot)) {
            let (old, new) = (stored.values.cells()?, values.cells()?);
            let project = Arc::clone(&self.project);
            self.step(stored.position, |steps| steps.written(&project.table, &slots, &old, &new))?;
        }
        Ok(())
    }

    /// Writes a row's values and details, and whatever follows from the values alone.
    pub(crate) fn put(&mut self, stored: &RawRow, values: &Record, details: &Details) -> Result<()> {
        let row_key = key(self.num(), stored.position);
        self.update.execute((row_key, values.as_bytes(), details.as_bytes())).map_err(backend)?;
        self.touch(stored.position);
        if self.lookup_slots.is_empty() {
            return Ok(());
        }
        let (old, new) = (stored.values.cells()?, values.cells()?);
        let (old, new) = (Some(&old), Some(&new));
        lookups::change(self.connection, self.num(), &self.lookup_slots, stored.position, old, new)
    }

    pub(crate) fn delete(&mut self, row: RowId, position: u64) -> Result<()> {
        let row_key = key(self.num(), position);
        if !self.lookup_slots.is_empty() {
            let vals: Vec<u8> = self
                .connection
                .prepare_cached("SELECT vals FROM rows WHERE key = ?1")
                .and_then(|mut query| query.query_row([row_key], |row| row.get(0)))
                .map_err(backend)?;
            let cells = Cells::unpack(&vals)?;
            lookups::change(self.connection, self.num(), &self.lookup_slots, position, Some(&cells), None)?;
        }
        self.connection
            .prepare_cached("DELETE FROM rows WHERE key = ?1")
            .and_then(|mut delete| delete.execute([row_key]))
            .map_err(backend)?;
        self.live.add(position, -1);
        self.state.counters.row_count = self.state.counters.row_count.saturating_sub(1);
        self.touched.push(position);
        self.name(|_, deleted| deleted.push(row));
        if self.has_block(block_of(position))? {
            self.step(position, |steps| steps.stop(None))?;
            let plan = Arc::clone(&self.plan);
            let (open, tally) = self.opened(block_of(position))?;
            tally.remove(&plan, &open.block, place_of(position));
            open.block.clear(place_of(position));
        }
        Ok(())
    }

    /// Takes one row's cells through something, and keeps the counts and claims.
    pub(crate) fn step<T>(&mut self, position: u64, step: impl FnOnce(&mut Steps<'_>) -> T) -> Result<T> {
        let (place, plan) = (place_of(position), Arc::clone(&self.plan));
        let (open, tally) = self.opened(block_of(position))?;
        let (outcome, revoked) = tally.step(&plan, &mut open.block, place, step);
        for slot in revoked {
            self.revoke(slot, position)?;
        }
        self.touch(position);
        Ok(outcome)
    }

    pub(crate) fn block(&mut self, block: u64) -> Result<&Block> {
        Ok(&self.opened(block)?.0.block)
    }

    /// Whether any cell of a block was ever touched.
    pub(crate) fn has_block(&self, block: u64) -> Result<bool> {
        if self.blocks.contains_key(&block) {
            return Ok(true);
        }
        self.connection
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM blocks WHERE key = ?1)")
            .and_then(|mut query| query.query_row([block_key(self.num(), block)], |row| row.get(0)))
            .map_err(backend)
    }

    /// Notes that a row is not what it was.
    pub(crate) fn touch(&mut self, position: u64) {
        self.touched.push(position);
        self.name(|written, _| {
            if written.last() != Some(&position) {
                written.push(position);
            }
        });
    }

    fn name(&mut self, name: impl FnOnce(&mut Vec<u64>, &mut Vec<RowId>)) {
        if let ChangedRows::These { written, deleted } = &mut self.rows {
            name(written, deleted);
            if written.len() + deleted.len() > ChangedRows::NAMED_MAX {
                self.rows = ChangedRows::Many;
            }
        }
    }

    /// Whether this transaction has taken a cell away from whoever runs it.
    pub(crate) fn has_revoked(&self, ticket: &Ticket) -> bool {
        self.revoked.contains(ticket)
    }

    /// Takes a running cell out of the claim it is in.
    fn revoke(&mut self, slot: Slot, position: u64) -> Result<()> {
        let mut claims = self
            .connection
            .prepare_cached(
                "SELECT token, places FROM claims WHERE project = ?1 AND block = ?2 AND slot = ?3",
            )
            .map_err(backend)?;
        let found = claims
            .query_map((self.num(), block_of(position), slot), |row| {
                Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
            .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
            .map_err(backend)?;
        for (token, places) in found {
            let mut places = Places::from_bytes(&places)?;
            if places.contains(place_of(position)) {
                places.remove(place_of(position));
                write_places(self.connection, token, places)?;
                self.revoked.push(Ticket { token, lane: self.lane(slot), position });
            }
        }
        Ok(())
    }

    fn opened(&mut self, block: u64) -> Result<(&mut OpenBlock, &mut Tally)> {
        if self.tally.is_none() {
            let tally = read_tally(self.connection, self.state.head.num)?;
            self.tally = Some(tally.map(|(tally, _)| tally).unwrap_or_default());
        }
        if !self.blocks.contains_key(&block) {
            let stored = read_block(self.connection, self.state.head.num, block)?.unwrap_or_default();
            let ready = ready_slots(&self.plan, &stored);
            self.blocks.insert(block, OpenBlock { stored: stored.encode(), ready, block: stored });
        }
        match (self.blocks.get_mut(&block), &mut self.tally) {
            (Some(open), Some(tally)) => Ok((open, tally)),
            _ => Err(StoreError::Damaged("a block cannot be opened".to_owned())),
        }
    }

    /// Goes over every block after the columns changed: what waits is worked out anew, all is counted
    /// again, and whoever runs a cell of a column that is gone loses it.
    pub(crate) fn replan(&mut self) -> Result<()> {
        let num = self.num();
        let keys: Vec<i64> = self
            .connection
            .prepare_cached("SELECT key FROM blocks WHERE key BETWEEN ?1 AND ?2 ORDER BY key")
            .and_then(|mut query| {
                let range = (block_key(num, 0), block_key(num + 1, 0) - 1);
                query.query_map(range, |row| row.get(0))?.collect()
            })
            .map_err(backend)?;
        let plan = Arc::clone(&self.plan);
        self.drop_claims_of_columns_gone()?;
        let known = match self.tally.take() {
            Some(tally) => tally,
            None => read_tally(self.connection, num)?.map(|(tally, _)| tally).unwrap_or_default(),
        };
        self.tally = Some(known.recounting());
        for block in keys.into_iter().map(block_number) {
            let (open, tally) = self.opened(block)?;
            open.block.keep_only(plan.slots());
            for place in 0..=u8::MAX {
                Steps::new(&plan, &mut open.block, place).look_around();
                tally.add(&plan, &open.block, place);
            }
            // The columns that were ready may be gone: all entries are written anew.
            self.connection
                .prepare_cached("DELETE FROM ready WHERE project = ?1 AND block = ?2")
                .and_then(|mut delete| delete.execute((num, block)))
                .map_err(backend)?;
            if let Some(mut open) = self.blocks.remove(&block) {
                open.ready.clear();
                self.close_block(block, &open)?;
            }
        }
        // A row nobody touched is counted by nobody; one with marks may count otherwise than before.
        self.rows = ChangedRows::Many;
        self.restated = true;
        Ok(())
    }

    fn drop_claims_of_columns_gone(&mut self) -> Result<()> {
        let mut query = self
            .connection
            .prepare_cached("SELECT token, slot, block, places FROM claims WHERE project = ?1")
            .map_err(backend)?;
        let claims = query
            .query_map([self.num()], |row| {
                Ok((
                    row.get::<_, u64>(0)?,
                    row.get::<_, Slot>(1)?,
                    row.get::<_, u64>(2)?,
                    row.get::<_, Vec<u8>>(3)?,
                ))
            })
            .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
            .map_err(backend)?;
        let slots: BTreeSet<Slot> = self.plan.slots().collect();
        for (token, slot, block, places) in claims {
            if slots.contains(&slot) {
                continue;
            }
            write_places(self.connection, token, Places::default())?;
            for place in Places::from_bytes(&places)?.iter() {
                let position = rowmill_model::plan::position_of(block, place);
                self.revoked.push(Ticket { token, lane: self.lane(slot), position });
            }
        }
        Ok(())
    }

    /// Writes what is kept with the rows, and says what is to be told. Without a time the counts keep theirs.
    pub(crate) fn finish(mut self, now_ms: impl Into<Option<i64>>) -> Result<Change> {
        let mut ready = false;
        for (block, open) in std::mem::take(&mut self.blocks) {
            ready |= self.close_block(block, &open)?;
        }
        if let Some(tally) = &self.tally {
            let text = serde_json::to_string(tally).map_err(damaged)?;
            self.connection
                .prepare_cached(
                    "INSERT INTO tallies (project, tally, updated_at) VALUES (?1, ?2, coalesce(?3, 0)) \
                     ON CONFLICT DO UPDATE SET tally = excluded.tally, updated_at = coalesce(?3, updated_at)",
                )
                .and_then(|mut upsert| upsert.execute((self.num(), text, now_ms.into())))
                .map_err(backend)?;
        }
        self.live.write(self.connection, self.state.head.num)?;
        let seq = projects::write_counters(self.connection, self.state.head.num, self.state.counters)?;
        let Self { project, rows, touched, restated, revoked, .. } = self;
        Ok(Change { project: project.id, seq, rows, touched, restated, revoked, ready })
    }

    /// Writes a block back, if it changed; says whether it has ready cells.
    fn close_block(&self, block: u64, open: &OpenBlock) -> Result<bool> {
        let ready = ready_slots(&self.plan, &open.block);
        for slot in ready.symmetric_difference(&open.ready) {
            let sql = if ready.contains(slot) {
                "INSERT INTO ready (project, slot, block) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING"
            } else {
                "DELETE FROM ready WHERE project = ?1 AND slot = ?2 AND block = ?3"
            };
            self.connection
                .prepare_cached(sql)
                .and_then(|mut change| change.execute((self.num(), slot, block)))
                .map_err(backend)?;
        }
        let marks = open.block.encode();
        if marks != open.stored {
            let block_key = block_key(self.num(), block);
            if marks.is_empty() {
                self.connection
                    .prepare_cached("DELETE FROM blocks WHERE key = ?1")
                    .and_then(|mut delete| delete.execute([block_key]))
                    .map_err(backend)?;
            } else {
                self.connection
                    .prepare_cached(
                        "INSERT INTO blocks (key, marks) VALUES (?1, ?2) \
                         ON CONFLICT DO UPDATE SET marks = excluded.marks",
                    )
                    .and_then(|mut upsert| upsert.execute((block_key, marks)))
                    .map_err(backend)?;
            }
        }
        Ok(!ready.is_empty())
    }
}

/// Writes what is left of a claim; an empty one is forgotten.
pub(crate) fn write_places(connection: &Connection, token: u64, places: Places) -> Result<()> {
    let written = if places.is_empty() {
        connection
            .prepare_cached("DELETE FROM claims WHERE token = ?1")
            .and_then(|mut delete| delete.execute([token]))
    } else {
        connection
            .prepare_cached("UPDATE claims SET places = ?2 WHERE token = ?1")
            .and_then(|mut update| update.execute((token, places.to_bytes())))
    };
    written.map(|_| ()).map_err(backend)
}

fn ready_slots(plan: &Plan, block: &Block) -> BTreeSet<Slot> {
    plan.slots().filter(|slot| block.ready(*slot).next().is_some()).collect()
}

fn written_at(now_ms: i64) -> Detail {
    Detail { updated_at: Some(now_ms), ..Detail::default() }
}
