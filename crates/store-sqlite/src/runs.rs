//! Starting and stopping runs, a few blocks at a time.

use std::collections::{BTreeMap, VecDeque};

use rowmill_model::ProjectId;
use rowmill_model::plan::{BLOCK_BITS, block_of, place_of, position_of};
use rowmill_store::{Change, Result, Rows, Standing, Stop, Stopped, StoreError, Trigger};
use rusqlite::Connection;

use crate::backend;
use crate::desk::{Desk, block_key, block_number, read_tally};
use crate::places::Places;
use crate::positions::{key, split};
use crate::projects::{self, Documents, State};

/// How many blocks, or rows named one by one, one transaction goes over: some milliseconds' work.
pub(crate) const BLOCKS_AT_ONCE: u64 = 64;
pub(crate) const ROWS_AT_ONCE: usize = 8_192;

/// Rows one transaction goes over.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Those from this block on, up to [`BLOCKS_AT_ONCE`] blocks.
    From(u64),
    These(Vec<u64>),
}

/// The rows of a run, cut into what one transaction goes over.
pub(crate) enum Parts {
    /// From this block on; `None` at the end.
    Blocks(Option<u64>),
    Rows(VecDeque<Vec<u64>>),
}

impl Parts {
    pub(crate) fn of(rows: Rows) -> Self {
        match rows {
            Rows::All => Self::Blocks(Some(0)),
            Rows::At(positions) => Self::Rows(positions.chunks(ROWS_AT_ONCE).map(<[u64]>::to_vec).collect()),
        }
    }

    pub(crate) fn next(&mut self) -> Option<Part> {
        match self {
            Self::Blocks(next) => next.take().map(Part::From),
            Self::Rows(parts) => parts.pop_front().map(Part::These),
        }
    }

    pub(crate) fn go_on(&mut self, next_block: Option<u64>) {
        if let Self::Blocks(next) = self {
            *next = next_block;
        }
    }
}

/// What one transaction did, and where the next goes on.
#[derive(Debug)]
pub(crate) struct Done<T> {
    pub(crate) count: T,
    /// `None` at the end.
    pub(crate) next_block: Option<u64>,
}

/// Queues cells in part of the rows; `limit` counts down.
pub(crate) fn trigger(
    connection: &Connection,
    documents: &Documents,
    trigger: &Trigger,
    part: Part,
    limit: u64,
) -> Result<(Done<u64>, Vec<Change>)> {
    let state = projects::state(connection, trigger.project)?.ok_or(StoreError::UnknownProject)?;
    let mut desk = Desk::open(connection, documents, state)?;
    let (positions, next_block) = match part {
        Part::These(positions) => (live_of(connection, state, positions)?, None),
        Part::From(first) => {
            let last = block_of(state.counters.next_position.saturating_sub(1));
            let end = (first + BLOCKS_AT_ONCE - 1).min(last);
            let live = live_in(connection, state, first, end)?;
            let positions = live
                .into_iter()
                .flat_map(|(block, places)| places.iter().map(move |place| position_of(block, place)));
            (positions.collect(), (end < last).then_some(end + 1))
        }
    };
    let mut count = 0;
    for position in positions {
        if count == limit {
            break;
        }
        if desk.step(position, |steps| steps.trigger(&trigger.pick))? {
            count += 1;
        }
    }
    let changes = if count == 0 || trigger.dry_run { Vec::new() } else { vec![desk.finish(trigger.now_ms)?] };
    Ok((Done { count, next_block }, changes))
}

/// Puts cells back in part of the rows.
pub(crate) fn stop(
    connection: &Connection,
    documents: &Documents,
    stop: &Stop,
    part: Part,
) -> Result<(Done<Stopped>, Vec<Change>)> {
    let state = projects::state(connection, stop.project)?.ok_or(StoreError::UnknownProject)?;
    let num = state.head.num;
    let mut desk = Desk::open(connection, documents, state)?;
    let mut stopped = Stopped::default();
    let mut stop_at = |desk: &mut Desk<'_>, position: u64| -> Result<()> {
        let cells = desk.step(position, |steps| steps.stop(stop.slots.as_deref()))?;
        stopped.rows += u64::from(cells > 0);
        stopped.cells += cells;
        Ok(())
    };
    let next_block = match part {
        Part::These(positions) => {
            for position in positions {
                if desk.has_block(block_of(position))? {
                    stop_at(&mut desk, position)?;
                }
            }
            None
        }
        Part::From(first) => {
            let blocks: Vec<u64> = connection
                .prepare_cached("SELECT key FROM blocks WHERE key BETWEEN ?1 AND ?2 ORDER BY key LIMIT ?3")
                .and_then(|mut query| {
                    let range = (block_key(num, first), block_key(num + 1, 0) - 1, BLOCKS_AT_ONCE);
                    query.query_map(range, |row| row.get(0).map(block_number))?.collect()
                })
                .map_err(backend)?;
            for block in &blocks {
                for place in 0..=u8::MAX {
                    stop_at(&mut desk, position_of(*block, place))?;
                }
            }
            let is_full = u64::try_from(blocks.len()).unwrap_or(u64::MAX) == BLOCKS_AT_ONCE;
            blocks.last().filter(|_| is_full).map(|last| last + 1)
        }
    };
    let changes = if stopped.cells == 0 { Vec::new() } else { vec![desk.finish(stop.now_ms)?] };
    Ok((Done { count: stopped, next_block }, changes))
}

pub(crate) fn standing(
    connection: &Connection,
    documents: &Documents,
    project: ProjectId,
) -> Result<Option<Standing>> {
    let Some(stored) = projects::load(connection, documents, project)? else { return Ok(None) };
    let Some(state) = projects::state(connection, project)? else { return Ok(None) };
    let (project, plan) = projects::planned(connection, documents, state.head)?;
    let tally = read_tally(connection, state.head.num)?;
    let updated_at_ms = tally.as_ref().map(|(_, at)| *at);
    let tally = tally.map(|(tally, _)| tally).unwrap_or_default();
    Ok(Some(Standing { project, plan, tally, row_count: stored.row_count, updated_at_ms }))
}

/// Which of these positions have a row, in the order given.
fn live_of(connection: &Connection, state: State, positions: Vec<u64>) -> Result<Vec<u64>> {
    let mut exists =
        connection.prepare_cached("SELECT EXISTS (SELECT 1 FROM rows WHERE key = ?1)").map_err(backend)?;
    let mut live = Vec::with_capacity(positions.len());
    for position in positions {
        if exists.query_row([key(state.head.num, position)], |row| row.get(0)).map_err(backend)? {
            live.push(position);
        }
    }
    Ok(live)
}

/// The places that have a row, in a run of blocks. Rows are looked at only where some were deleted.
fn live_in(connection: &Connection, state: State, first: u64, last: u64) -> Result<BTreeMap<u64, Places>> {
    let num = state.head.num;
    let mut counted = connection
        .prepare_cached(
            "SELECT segment, count FROM live WHERE project = ?1 AND level = 0 AND segment BETWEEN ?2 AND ?3 \
             ORDER BY segment",
        )
        .map_err(backend)?;
    let counts = counted
        .query_map((num, first, last), |row| Ok((row.get::<_, u64>(0)?, row.get::<_, u64>(1)?)))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<_>>>)
        .map_err(backend)?;
    let mut live = BTreeMap::new();
    for (block, count) in counts {
        let start = block << BLOCK_BITS;
        let span = state.counters.next_position.saturating_sub(start).min(1 << BLOCK_BITS);
        let places =
            if count == span { Places::below(span) } else { places_with_rows(connection, num, start)? };
        live.insert(block, places);
    }
    Ok(live)
}

fn places_with_rows(connection: &Connection, num: i64, start: u64) -> Result<Places> {
    let mut places = Places::default();
    let mut query =
        connection.prepare_cached("SELECT key FROM rows WHERE key BETWEEN ?1 AND ?2").map_err(backend)?;
    let last = start + (1 << BLOCK_BITS) - 1;
    let mut keys = query.query((key(num, start), key(num, last))).map_err(backend)?;
    while let Some(row) = keys.next().map_err(backend)? {
        places.insert(place_of(split(row.get(0).map_err(backend)?).1));
    }
    Ok(places)
}
