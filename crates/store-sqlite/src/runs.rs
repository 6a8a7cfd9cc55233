//! Starting and stopping runs, a few blocks at a time.

use std::collections::BTreeMap;

use rowmill_model::ProjectId;
use rowmill_model::plan::{BLOCK_BITS, StartedBy, block_of, place_of, position_of};
use rowmill_store::changes::{BLOCKS_AT_ONCE, Part, PartDone, Places, block_after};
use rowmill_store::{Change, ProcessingStatus, Result, Stop, Stopped, StoreError, Trigger, Triggered};
use rusqlite::Connection;

use crate::blocks::read_tally;
use crate::convert::backend;
use crate::documents::{self, Documents};
use crate::positions::{key, split};
use crate::project_state::{self, State};
use crate::row_changes::OpenProject;

/// Queues cells in part of the rows; `limit` counts down.
pub(crate) fn trigger(
    connection: &Connection,
    documents: &Documents,
    (trigger, by): (&Trigger, &StartedBy),
    part: Part,
    limit: u64,
) -> Result<(PartDone<Triggered>, Vec<Change>)> {
    let state = project_state::state(connection, trigger.project)?.ok_or(StoreError::UnknownProject)?;
    let mut open = OpenProject::open(connection, documents, state)?;
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
    let mut loaded = None;
    for block in positions.iter().copied().map(block_of) {
        if loaded.replace(block) != Some(block) {
            open.load_block(block)?;
        }
    }
    open.changes.started_by = by.clone();
    if trigger.dry_run {
        let count = open.changes.rehearse(positions, &trigger.pick, limit)?;
        return Ok((PartDone { count, next_block }, Vec::new()));
    }
    let count = open.changes.trigger(positions, &trigger.pick, limit)?;
    let changes = if count.rows == 0 { Vec::new() } else { vec![open.finish(trigger.now_ms)?] };
    Ok((PartDone { count, next_block }, changes))
}

/// Puts cells back in part of the rows.
pub(crate) fn stop(
    connection: &Connection,
    documents: &Documents,
    stop: &Stop,
    part: Part,
) -> Result<(PartDone<Stopped>, Vec<Change>)> {
    let state = project_state::state(connection, stop.project)?.ok_or(StoreError::UnknownProject)?;
    let mut open = OpenProject::open(connection, documents, state)?;
    let is_all = matches!(part, Part::From(_));
    let (positions, next_block) = match part {
        Part::These(positions) => {
            for position in &positions {
                open.load_block(block_of(*position))?;
            }
            (positions, None)
        }
        Part::From(first) => {
            let blocks = open.load_blocks_from(first)?;
            let places =
                |block: &u64| (0..=u8::MAX).map(|place| position_of(*block, place)).collect::<Vec<_>>();
            (blocks.iter().flat_map(places).collect(), block_after(&blocks))
        }
    };
    let stopped = open.changes.stop(positions, stop.slots.as_deref(), is_all)?;
    let changes = if stopped.cells == 0 { Vec::new() } else { vec![open.finish(stop.now_ms)?] };
    Ok((PartDone { count: stopped, next_block }, changes))
}

pub(crate) fn processing_status(
    connection: &Connection,
    documents: &Documents,
    project: ProjectId,
) -> Result<Option<ProcessingStatus>> {
    let Some(stored) = documents::load(connection, documents, project)? else { return Ok(None) };
    let Some(state) = project_state::state(connection, project)? else { return Ok(None) };
    let (project, plan) = documents::planned(connection, documents, state.head)?;
    let tally = read_tally(connection, state.head.num)?;
    let updated_at_ms = tally.as_ref().map(|(_, at)| *at);
    let tally = tally.map(|(tally, _)| tally).unwrap_or_default();
    Ok(Some(ProcessingStatus {
        project,
        plan,
        tally,
        row_count: stored.row_count,
        updated_at_ms,
        batches: Vec::new(),
    }))
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
