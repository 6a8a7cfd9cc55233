//! Handing out cells and taking their results.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use rowmill_model::plan::{Phase, Verdict, block_of, place_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::{CellError, CellStates, CellStatus, ProjectId};
use rowmill_store::{
    CellResult, Change, Claim, Claimed, Ended, Lane, Lanes, Result, Settle, Settled, Settlement, Ticket,
    WorkerId,
};
use rusqlite::{Connection, OptionalExtension};

use crate::backend;
use crate::desk::{Desk, write_places};
use crate::pages::RawRow;
use crate::places::Places;
use crate::projects::{self, Documents};

/// How many cells whose time has come are queued again in one go.
const DUE_AT_ONCE: u32 = 2_000;
/// How many lanes are told of at once: more than any worker can serve.
const LANES_MAX: usize = 10_000;

/// The columns with ready cells, found by leaping from one to the next.
pub(crate) fn lanes(connection: &Connection, now_ms: i64) -> Result<Lanes> {
    let mut lanes: Vec<(i64, Slot)> = Vec::new();
    let mut next = connection
        .prepare_cached(
            "SELECT project, slot FROM ready WHERE (project, slot) > (?1, ?2) ORDER BY project, slot LIMIT 1",
        )
        .map_err(backend)?;
    let mut last = (0_i64, Slot::MAX);
    while lanes.len() < LANES_MAX {
        let found = next.query_row(last, |row| Ok((row.get(0)?, row.get(1)?))).optional().map_err(backend)?;
        let Some(found) = found else { break };
        lanes.push(found);
        last = found;
    }
    let due: Vec<(i64, Slot)> = connection
        .prepare_cached("SELECT DISTINCT project, slot FROM (SELECT * FROM retries WHERE at <= ?1 LIMIT ?2)")
        .and_then(|mut query| {
            query.query_map((now_ms, DUE_AT_ONCE), |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        })
        .map_err(backend)?;
    lanes.extend(due);
    lanes.sort_unstable();
    lanes.dedup();
    let next_due_ms = connection
        .prepare_cached("SELECT at FROM retries WHERE at > ?1 ORDER BY at LIMIT 1")
        .and_then(|mut query| query.query_row([now_ms], |row| row.get(0)).optional())
        .map_err(backend)?;
    let mut ready = Vec::with_capacity(lanes.len());
    for (num, slot) in lanes {
        if let Some(project) = projects::id_of(connection, num)? {
            ready.push(Lane { project, slot });
        }
    }
    Ok(Lanes { ready, next_due_ms })
}

/// The desks of all projects that one transaction is about.
struct Desks<'c> {
    connection: &'c Connection,
    documents: &'c Documents,
    open: BTreeMap<ProjectId, Option<Desk<'c>>>,
}

impl<'c> Desks<'c> {
    fn new(connection: &'c Connection, documents: &'c Documents) -> Self {
        Self { connection, documents, open: BTreeMap::new() }
    }

    /// `None` if the project is gone.
    fn of(&mut self, project: ProjectId) -> Result<Option<&mut Desk<'c>>> {
        if !self.open.contains_key(&project) {
            let state = projects::state(self.connection, project)?;
            let desk = state.map(|state| Desk::open(self.connection, self.documents, state)).transpose()?;
            self.open.insert(project, desk);
        }
        Ok(self.open.get_mut(&project).and_then(Option::as_mut))
    }

    fn finish(self, now_ms: impl Into<Option<i64>> + Copy) -> Result<Vec<Change>> {
        self.open.into_values().flatten().map(|desk| desk.finish(now_ms)).collect()
    }
}

pub(crate) fn claim(
    connection: &Connection,
    documents: &Documents,
    claim: &Claim,
) -> Result<(Vec<Claimed>, Vec<Change>)> {
    let now_ms = claim.now.as_millisecond();
    let mut desks = Desks::new(connection, documents);
    queue_due(connection, &mut desks, now_ms)?;
    see_worker(connection, claim.worker, claim.expires_at_ms)?;
    let mut take = Take { claim, bytes: 0, claimed: Vec::new() };
    for (lane, most) in &claim.asks {
        let Some(desk) = desks.of(lane.project)? else { continue };
        let mut wanted = *most;
        for block in ready_blocks(desk, lane.slot, wanted)? {
            let ready = desk.block(block)?.ready(lane.slot).collect();
            take.from(desk, lane.slot, block, &mut wanted, ready)?;
        }
    }
    Ok((take.claimed, desks.finish(now_ms)?))
}

/// Takes the ready cells of rows that were written a moment ago.
fn go_on(
    desks: &mut Desks<'_>,
    claim: &Claim,
    rows: &BTreeMap<(ProjectId, u64), Places>,
) -> Result<Vec<Claimed>> {
    see_worker(desks.connection, claim.worker, claim.expires_at_ms)?;
    let mut take = Take { claim, bytes: 0, claimed: Vec::new() };
    for (lane, most) in &claim.asks {
        let Some(desk) = desks.of(lane.project)? else { continue };
        let mut wanted = *most;
        for ((_, block), places) in rows.range((lane.project, 0)..=(lane.project, u64::MAX)) {
            let ready = desk.block(*block)?.ready(lane.slot).filter(|place| places.contains(*place));
            let ready = ready.collect();
            take.from(desk, lane.slot, *block, &mut wanted, ready)?;
        }
    }
    Ok(take.claimed)
}

/// Blocks of a lane that have ready cells: each has one at least, so as many as cells are wanted.
fn ready_blocks(desk: &Desk<'_>, slot: Slot, wanted: u32) -> Result<Vec<u64>> {
    // Cells that were queued again a moment ago are not written yet; they are found the next time.
    desk.connection
        .prepare_cached("SELECT block FROM ready WHERE project = ?1 AND slot = ?2 ORDER BY block LIMIT ?3")
        .and_then(|mut query| query.query_map((desk.num(), slot, wanted), |row| row.get(0))?.collect())
        .map_err(backend)
}

/// Taking ready cells.
struct Take<'a> {
    claim: &'a Claim,
    bytes: usize,
    claimed: Vec<Claimed>,
}

impl Take<'_> {
    /// Takes these ready cells of one column in one block, as many as are wanted.
    fn from(
        &mut self,
        desk: &mut Desk<'_>,
        slot: Slot,
        block: u64,
        wanted: &mut u32,
        ready: Vec<u8>,
    ) -> Result<()> {
        let first = self.claimed.len();
        let mut places = Places::default();
        for place in ready {
            if *wanted == 0 || self.bytes >= self.claim.bytes_max {
                break;
            }
            let position = position_of(block, place);
            let Some(row) = desk.raw(position)? else { continue };
            if let ControlFlow::Break(error) = self.judge(desk, slot, &row)? {
                let now_ms = self.claim.now.as_millisecond();
                settle_one(desk, &row, slot, CellResult::Skipped(error), now_ms)?;
                continue;
            }
            desk.step(position, |steps| steps.begin(slot))?;
            places.insert(place);
            *wanted -= 1;
            self.bytes += row.values.as_bytes().len();
            let ticket = Ticket { token: 0, lane: desk.lane(slot), position };
            let attempts = row.details.tries(slot, desk.block(block)?.get(slot, place));
            let project = Arc::clone(&desk.project);
            self.claimed.push(Claimed { ticket, row: row.id, values: row.values, attempts, project });
        }
        if places.is_empty() {
            return Ok(());
        }
        let token = self.hand_out(desk, slot, block, places)?;
        for cell in self.claimed.iter_mut().skip(first) {
            cell.ticket.token = token;
        }
        Ok(())
    }

    /// Breaks with the reason not to run the cell.
    fn judge(&self, desk: &mut Desk<'_>, slot: Slot, row: &RawRow) -> Result<ControlFlow<CellError>> {
        let (project, plan) = (Arc::clone(&desk.project), Arc::clone(&desk.plan));
        let block = desk.block(block_of(row.position))?;
        let place = place_of(row.position);
        // Only a condition looks at states.
        let states = if plan.is_conditional(slot) {
            CellStates::of(block, place, &row.details)
        } else {
            CellStates::IDLE
        };
        let view = RowView::new(&project.table, row.values.cells()?, &states);
        Ok(match plan.judge(slot, place, block, &view, self.claim.now) {
            Verdict::Run => ControlFlow::Continue(()),
            Verdict::Skip(error) => ControlFlow::Break(error),
        })
    }

    fn hand_out(&self, desk: &Desk<'_>, slot: Slot, block: u64, places: Places) -> Result<u64> {
        let worker = self.claim.worker.0;
        desk.connection
            .prepare_cached(
                "INSERT INTO claims (worker, project, slot, block, places) VALUES (?1, ?2, ?3, ?4, ?5)",
            )
            .and_then(|mut insert| {
                insert.insert((worker.as_bytes(), desk.num(), slot, block, places.to_bytes()))
            })
            .map(i64::cast_unsigned)
            .map_err(backend)
    }
}

/// Queues again the cells whose time has come.
fn queue_due(connection: &Connection, desks: &mut Desks<'_>, now_ms: i64) -> Result<()> {
    let due: Vec<(i64, i64, Slot, u64)> = connection
        .prepare_cached("SELECT at, project, slot, position FROM retries WHERE at <= ?1 ORDER BY at LIMIT ?2")
        .and_then(|mut query| {
            let cell = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            query.query_map((now_ms, DUE_AT_ONCE), cell)?.collect()
        })
        .map_err(backend)?;
    for (at, num, slot, position) in due {
        connection
            .prepare_cached(
                "DELETE FROM retries WHERE at = ?1 AND project = ?2 AND slot = ?3 AND position = ?4",
            )
            .and_then(|mut delete| delete.execute((at, num, slot, position)))
            .map_err(backend)?;
        let Some(project) = projects::id_of(connection, num)? else { continue };
        let Some(desk) = desks.of(project)? else { continue };
        let mark = desk.block(block_of(position))?.get(slot, place_of(position));
        let waits = mark.status == CellStatus::Queued && mark.phase == Phase::Later;
        // The cell may have been stopped, and be waiting for another try of another run.
        let is_due = waits
            && desk
                .raw(position)?
                .is_some_and(|row| row.details.trying(slot).is_none_or(|trying| trying.retry_at <= now_ms));
        if is_due {
            desk.step(position, |steps| steps.queue_again(slot))?;
        }
    }
    Ok(())
}

pub(crate) fn settle(
    connection: &Connection,
    documents: &Documents,
    settle: Settle,
) -> Result<(Settled, Vec<Change>)> {
    let Settle { worker, now_ms, results, next } = settle;
    let mut rows: BTreeMap<(ProjectId, u64), Places> = BTreeMap::new();
    let mut desks = Desks::new(connection, documents);
    let mut claims: BTreeMap<u64, Option<Held>> = BTreeMap::new();
    let mut taken = Vec::with_capacity(results.len());
    for Settlement { ticket, result } in results {
        let held = match claims.entry(ticket.token) {
            std::collections::btree_map::Entry::Occupied(held) => held.into_mut(),
            std::collections::btree_map::Entry::Vacant(vacant) => {
                vacant.insert(held(connection, ticket.token)?)
            }
        };
        let Some(desk) = desks.of(ticket.lane.project)? else {
            taken.push(false);
            continue;
        };
        let place = place_of(ticket.position);
        let holds = held.as_mut().filter(|held| {
            !desk.has_revoked(&ticket)
                && held.worker == worker.0.as_bytes()
                && (held.project, held.slot, held.block)
                    == (desk.num(), ticket.lane.slot, block_of(ticket.position))
                && held.places.contains(place)
        });
        let (Some(held), Some(row)) = (holds, desk.raw(ticket.position)?) else {
            taken.push(false);
            continue;
        };
        held.places.remove(place);
        settle_one(desk, &row, ticket.lane.slot, result, now_ms)?;
        rows.entry((ticket.lane.project, block_of(ticket.position))).or_default().insert(place);
        taken.push(true);
    }
    for (token, left) in claims.into_iter().filter_map(|(token, held)| Some((token, held?.places))) {
        // What was settled may have taken other cells away, of claims that are here, too.
        let kept = held(connection, token)?.map_or(Places::default(), |held| held.places);
        write_places(connection, token, kept.and(left))?;
    }
    let claimed = next.map(|claim| go_on(&mut desks, &claim, &rows)).transpose()?.unwrap_or_default();
    Ok((Settled { taken, claimed }, desks.finish(now_ms)?))
}

/// Ends a cell, or a try of it, and all that follows from that.
fn settle_one(desk: &mut Desk<'_>, row: &RawRow, slot: Slot, result: CellResult, now_ms: i64) -> Result<()> {
    let mark = desk.block(block_of(row.position))?.get(slot, place_of(row.position));
    let spent = result.spent();
    let Ended { ending, value, detail, retry_at_ms } = result.end(&row.details, slot, mark, now_ms);
    if let Some(at) = retry_at_ms {
        desk.connection
            .prepare_cached(
                "INSERT INTO retries (at, project, slot, position) VALUES (?1, ?2, ?3, ?4) \
                 ON CONFLICT DO NOTHING",
            )
            .and_then(|mut insert| insert.execute((at, desk.num(), slot, row.position)))
            .map_err(backend)?;
    }
    let values = row.values.with(value.as_deref().map(|raw| (slot, raw)))?;
    let mut details = row.details.clone();
    details.set(slot, &detail)?;
    desk.put(row, &values, &details)?;
    let (old, new) = (row.values.cells()?, values.cells()?);
    let project = Arc::clone(&desk.project);
    desk.step(row.position, |steps| {
        steps.spend(spent);
        steps.settle(&project.table, slot, ending, &old, &new);
    })
}

/// A claim as it is stored.
struct Held {
    worker: Vec<u8>,
    project: i64,
    slot: Slot,
    block: u64,
    places: Places,
}

fn held(connection: &Connection, token: u64) -> Result<Option<Held>> {
    let mut query = connection
        .prepare_cached("SELECT worker, project, slot, block, places FROM claims WHERE token = ?1")
        .map_err(backend)?;
    let mut found = query.query([token]).map_err(backend)?;
    found.next().map_err(backend)?.map(|row| read_held(row, 0)).transpose()
}

fn read_held(row: &rusqlite::Row<'_>, first: usize) -> Result<Held> {
    let places: Vec<u8> = row.get(first + 4).map_err(backend)?;
    Ok(Held {
        worker: row.get(first).map_err(backend)?,
        project: row.get(first + 1).map_err(backend)?,
        slot: row.get(first + 2).map_err(backend)?,
        block: row.get(first + 3).map_err(backend)?,
        places: Places::from_bytes(&places)?,
    })
}

fn held_by(connection: &Connection, worker: &[u8]) -> Result<Vec<(u64, Held)>> {
    let mut query = connection
        .prepare_cached(
            "SELECT token, worker, project, slot, block, places FROM claims WHERE worker = ?1 ORDER BY token",
        )
        .map_err(backend)?;
    let mut found = query.query([worker]).map_err(backend)?;
    let mut claims = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        claims.push((row.get(0).map_err(backend)?, read_held(row, 1)?));
    }
    Ok(claims)
}

/// What anybody holds of a project's cells.
pub(crate) fn tickets_of(connection: &Connection, num: i64, project: ProjectId) -> Result<Vec<Ticket>> {
    let mut query = connection
        .prepare_cached("SELECT token, worker, project, slot, block, places FROM claims WHERE project = ?1")
        .map_err(backend)?;
    let mut found = query.query([num]).map_err(backend)?;
    let mut tickets = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        let token = row.get(0).map_err(backend)?;
        tickets.extend(read_held(row, 1)?.tickets(token, project));
    }
    Ok(tickets)
}

impl Held {
    fn tickets(&self, token: u64, project: ProjectId) -> impl Iterator<Item = Ticket> {
        let (lane, block) = (Lane { project, slot: self.slot }, self.block);
        self.places.iter().map(move |place| Ticket { token, lane, position: position_of(block, place) })
    }
}

fn see_worker(connection: &Connection, worker: WorkerId, expires_at_ms: i64) -> Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO workers (id, expires_at) VALUES (?1, ?2) \
             ON CONFLICT DO UPDATE SET expires_at = max(expires_at, excluded.expires_at)",
        )
        .and_then(|mut upsert| upsert.execute((worker.0.as_bytes(), expires_at_ms)))
        .map(|_| ())
        .map_err(backend)
}

pub(crate) fn heartbeat(
    connection: &Connection,
    worker: WorkerId,
    expires_at_ms: i64,
) -> Result<Vec<Ticket>> {
    see_worker(connection, worker, expires_at_ms)?;
    let mut tickets = Vec::new();
    for (token, held) in held_by(connection, worker.0.as_bytes())? {
        let Some(project) = projects::id_of(connection, held.project)? else { continue };
        tickets.extend(held.tickets(token, project));
    }
    Ok(tickets)
}

pub(crate) fn requeue_lost(
    connection: &Connection,
    documents: &Documents,
    now_ms: i64,
) -> Result<(u64, Vec<Change>)> {
    let lost: Vec<Vec<u8>> = connection
        .prepare_cached("SELECT id FROM workers WHERE expires_at <= ?1")
        .and_then(|mut query| query.query_map([now_ms], |row| row.get(0))?.collect())
        .map_err(backend)?;
    dismiss(connection, documents, &lost)
}

pub(crate) fn leave(
    connection: &Connection,
    documents: &Documents,
    worker: WorkerId,
) -> Result<(u64, Vec<Change>)> {
    dismiss(connection, documents, &[worker.0.as_bytes().to_vec()])
}

/// Every worker of a process that is gone; asked once the data directory is this process's own.
pub(crate) fn dismiss_all(connection: &Connection, documents: &Documents) -> Result<u64> {
    let all: Vec<Vec<u8>> = connection
        .prepare_cached("SELECT id FROM workers")
        .and_then(|mut query| query.query_map((), |row| row.get(0))?.collect())
        .map_err(backend)?;
    dismiss(connection, documents, &all).map(|(cells, _)| cells)
}

/// Forgets workers and queues again what they hold.
fn dismiss(
    connection: &Connection,
    documents: &Documents,
    workers: &[Vec<u8>],
) -> Result<(u64, Vec<Change>)> {
    let mut desks = Desks::new(connection, documents);
    let mut cells = 0;
    for worker in workers {
        for (token, held) in held_by(connection, worker)? {
            write_places(connection, token, Places::default())?;
            let Some(project) = projects::id_of(connection, held.project)? else { continue };
            let Some(desk) = desks.of(project)? else { continue };
            for place in held.places.iter() {
                desk.step(position_of(held.block, place), |steps| steps.queue_again(held.slot))?;
                cells += 1;
            }
        }
        connection
            .prepare_cached("DELETE FROM workers WHERE id = ?1")
            .and_then(|mut delete| delete.execute([worker]))
            .map_err(backend)?;
    }
    Ok((cells, desks.finish(None)?))
}
