//! Handing out cells and taking their results.

use std::collections::{BTreeMap, BTreeSet};

use rowmill_model::ProjectId;
use rowmill_model::plan::{block_of, place_of, position_of};
use rowmill_model::record::Slot;
use rowmill_store::changes::{CellClaim, CellTaker, Look, Places};
use rowmill_store::{
    Change, Claim, Claimed, Lane, Lanes, RETRY_WAIT_MS_MAX, Result, Settle, Settled, Settlement, Ticket,
    WorkerId,
};
use rusqlite::{Connection, OptionalExtension, Row};
use uuid::Uuid;

use crate::apply;
use crate::convert::{backend, uuid_of};
use crate::documents::Documents;
use crate::project_state;
use crate::row_changes::{OpenProject, StoredClaim};

/// How many cells whose time has come are queued again in one go.
const DUE_AT_ONCE: u32 = 2_000;
/// How many lanes are told of at once: more than any worker can serve.
const LANES_MAX: usize = 10_000;

/// The columns with ready cells, found by leaping from one to the next.
pub(crate) fn lanes(connection: &Connection, now_ms: i64) -> Result<Lanes> {
    let latest_ms = now_ms.saturating_add(RETRY_WAIT_MS_MAX);
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
        .prepare_cached(
            "SELECT DISTINCT project, slot FROM \
             (SELECT * FROM (SELECT project, slot FROM retries WHERE at <= ?1 LIMIT ?3) UNION ALL \
             SELECT * FROM (SELECT project, slot FROM retries WHERE at > ?2 LIMIT ?3))",
        )
        .and_then(|mut query| {
            let lane = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
            query.query_map((now_ms, latest_ms, DUE_AT_ONCE), lane)?.collect()
        })
        .map_err(backend)?;
    lanes.extend(due);
    lanes.sort_unstable();
    lanes.dedup();
    let next_due_ms = connection
        .prepare_cached("SELECT at FROM retries WHERE at > ?1 AND at <= ?2 ORDER BY at LIMIT 1")
        .and_then(|mut query| query.query_row([now_ms, latest_ms], |row| row.get(0)).optional())
        .map_err(backend)?;
    let mut ready = Vec::with_capacity(lanes.len());
    for (num, slot) in lanes {
        if let Some(project) = project_state::id_of(connection, num)? {
            ready.push(Lane { project, slot });
        }
    }
    Ok(Lanes { ready, next_due_ms })
}

/// All projects that one transaction is about.
struct OpenProjects<'c> {
    connection: &'c Connection,
    documents: &'c Documents,
    open: BTreeMap<ProjectId, Option<OpenProject<'c>>>,
}

impl<'c> OpenProjects<'c> {
    fn new(connection: &'c Connection, documents: &'c Documents) -> Self {
        Self { connection, documents, open: BTreeMap::new() }
    }

    /// `None` if the project is gone.
    fn of(&mut self, project: ProjectId) -> Result<Option<&mut OpenProject<'c>>> {
        if !self.open.contains_key(&project) {
            let state = project_state::state(self.connection, project)?;
            let open =
                state.map(|state| OpenProject::open(self.connection, self.documents, state)).transpose()?;
            self.open.insert(project, open);
        }
        Ok(self.open.get_mut(&project).and_then(Option::as_mut))
    }

    /// Projects in which nothing happened are left as they are.
    fn finish(self, now_ms: impl Into<Option<i64>> + Copy) -> Result<Vec<Change>> {
        let touched = self.open.into_values().flatten().filter(|open| open.changes.is_touched());
        touched.map(|open| open.finish(now_ms)).collect()
    }
}

pub(crate) fn claim(
    connection: &Connection,
    documents: &Documents,
    claim: &Claim,
) -> Result<(Vec<Claimed>, Vec<Change>)> {
    let now_ms = claim.now.as_millisecond();
    let mut projects = OpenProjects::new(connection, documents);
    queue_due(connection, &mut projects, now_ms)?;
    see_worker(connection, claim.worker, claim.expires_at_ms)?;
    let mut taker = CellTaker::new(claim);
    for (lane, most) in &claim.asks {
        let Some(open) = projects.of(lane.project)? else { continue };
        let blocks = ready_blocks(open, lane.slot, *most)?;
        take_lane(&mut taker, open, lane.slot, *most, blocks, |_, _| true)?;
    }
    Ok((taker.into_claimed(), projects.finish(now_ms)?))
}

/// Takes ready cells of rows that this transaction has settled others of.
fn claim_settled(
    projects: &mut OpenProjects<'_>,
    claim: &Claim,
    rows: &BTreeMap<(ProjectId, u64), Places>,
) -> Result<Vec<Claimed>> {
    see_worker(projects.connection, claim.worker, claim.expires_at_ms)?;
    let mut taker = CellTaker::new(claim);
    for (lane, most) in &claim.asks {
        let Some(open) = projects.of(lane.project)? else { continue };
        let settled = rows.range((lane.project, 0)..=(lane.project, u64::MAX));
        let blocks: Vec<u64> = settled.map(|((_, block), _)| *block).collect();
        let is_settled = |block: u64, place: u8| {
            rows.get(&(lane.project, block)).is_some_and(|places| places.contains(place))
        };
        take_lane(&mut taker, open, lane.slot, *most, blocks, is_settled)?;
    }
    Ok(taker.into_claimed())
}

/// Blocks of a lane that have ready cells: each has one at least, so as many as cells are wanted.
fn ready_blocks(open: &OpenProject<'_>, slot: Slot, wanted: u32) -> Result<Vec<u64>> {
    let listed: Vec<u64> = open
        .connection
        .prepare_cached("SELECT block FROM ready WHERE project = ?1 AND slot = ?2 ORDER BY block LIMIT ?3")
        .and_then(|mut query| query.query_map((open.num, slot, wanted), |row| row.get(0))?.collect())
        .map_err(backend)?;
    // Cells that were queued again a moment ago are not listed yet.
    let blocks: BTreeSet<u64> = open.changes.blocks_with_ready(slot).chain(listed).collect();
    Ok(blocks.into_iter().collect())
}

/// Takes ready cells of one column in these blocks, as many as are wanted, and makes claims for them.
fn take_lane(
    taker: &mut CellTaker<'_>,
    open: &mut OpenProject<'_>,
    slot: Slot,
    most: u32,
    blocks: Vec<u64>,
    is_wanted: impl Fn(u64, u8) -> bool,
) -> Result<()> {
    let first = taker.count();
    let mut wanted = most;
    'blocks: for block in blocks {
        if wanted == 0 || taker.is_full() {
            break;
        }
        open.load_block(block)?;
        for position in open.changes.ready_in(block, slot)? {
            if wanted == 0 || taker.is_full() {
                break 'blocks;
            }
            if !is_wanted(block, place_of(position)) {
                continue;
            }
            open.load_row(position)?;
            open.load_values(position, Look::Take(slot))?;
            if taker.take(&mut open.changes, slot, position)? {
                wanted -= 1;
                // The claim has the row; it need not be held twice.
                open.changes.lend(position);
            }
        }
    }
    for claim in taker.claims_since(first, slot) {
        let token = apply::claim(open.connection, open.num, &claim)?;
        taker.name_claim(first, &claim, token);
        open.changes.hand_out(token, claim, true);
    }
    Ok(())
}

/// Queues again the cells whose time has come, and those whose time no clock that is right has written.
fn queue_due(connection: &Connection, projects: &mut OpenProjects<'_>, now_ms: i64) -> Result<()> {
    let latest_ms = now_ms.saturating_add(RETRY_WAIT_MS_MAX);
    let due: Vec<(i64, i64, Slot, u64)> = connection
        .prepare_cached(
            "SELECT * FROM (SELECT at, project, slot, position FROM retries WHERE at <= ?1 ORDER BY at LIMIT ?3) \
             UNION ALL \
             SELECT * FROM (SELECT at, project, slot, position FROM retries WHERE at > ?2 ORDER BY at LIMIT ?3)",
        )
        .and_then(|mut query| {
            let cell = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
            query.query_map((now_ms, latest_ms, DUE_AT_ONCE), cell)?.collect()
        })
        .map_err(backend)?;
    for (at_ms, num, slot, position) in due {
        let project = project_state::id_of(connection, num)?;
        let open = project.map(|project| projects.of(project)).transpose()?.flatten();
        let Some(open) = open else {
            // What a deleted project left would be found due for ever.
            connection
                .prepare_cached("DELETE FROM retries WHERE (at <= ?1 OR at > ?2) AND project = ?3")
                .and_then(|mut delete| delete.execute((now_ms, latest_ms, num)))
                .map_err(backend)?;
            continue;
        };
        open.load_row_and_block(position)?;
        open.changes.queue_due(at_ms, slot, position, now_ms)?;
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
    let mut projects = OpenProjects::new(connection, documents);
    let mut taken = Vec::with_capacity(results.len());
    for Settlement { ticket, result } in results {
        let Ticket { lane: Lane { project, .. }, position, .. } = ticket;
        let Some(open) = projects.of(project)? else {
            taken.push(false);
            continue;
        };
        open.load_row_and_block(position)?;
        open.load_values(position, Look::Settle(ticket.lane.slot, &result))?;
        let is_taken = open.changes.settle_ticket(worker.0, ticket, result, now_ms)?;
        if is_taken {
            rows.entry((project, block_of(position))).or_default().insert(place_of(position));
        }
        taken.push(is_taken);
    }
    let claimed = next.map(|claim| claim_settled(&mut projects, &claim, &rows)).transpose()?;
    let claimed = claimed.unwrap_or_default();
    Ok((Settled { taken, claimed }, projects.finish(now_ms)?))
}

fn claims_of_worker(connection: &Connection, worker: Uuid) -> Result<Vec<StoredClaim>> {
    let sql =
        "SELECT token, worker, project, slot, block, places FROM claims WHERE worker = ?1 ORDER BY token";
    let mut query = connection.prepare_cached(sql).map_err(backend)?;
    let mut found = query.query([worker.as_bytes()]).map_err(backend)?;
    let mut claims = Vec::new();
    while let Some(row) = found.next().map_err(backend)? {
        claims.push(StoredClaim::read(row)?);
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
        tickets.extend(tickets_in(&StoredClaim::read(row)?, project));
    }
    Ok(tickets)
}

fn tickets_in(stored: &StoredClaim, project: ProjectId) -> impl Iterator<Item = Ticket> {
    let StoredClaim { token, claim: CellClaim { slot, block, places, .. }, .. } = stored;
    let (token, block, lane) = (*token, *block, Lane { project, slot: *slot });
    places.iter().map(move |place| Ticket { token, lane, position: position_of(block, place) })
}

pub(crate) fn see_worker(connection: &Connection, worker: WorkerId, expires_at_ms: i64) -> Result<()> {
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
    for stored in claims_of_worker(connection, worker.0)? {
        let Some(project) = project_state::id_of(connection, stored.num)? else { continue };
        tickets.extend(tickets_in(&stored, project));
    }
    Ok(tickets)
}

pub(crate) fn requeue_lost(
    connection: &Connection,
    documents: &Documents,
    now_ms: i64,
) -> Result<(u64, Vec<Change>)> {
    let lost: Vec<Uuid> = connection
        .prepare_cached("SELECT id FROM workers WHERE expires_at <= ?1")
        .and_then(|mut query| query.query_map([now_ms], |row| uuid_of(row, 0))?.collect())
        .map_err(backend)?;
    dismiss(connection, documents, &lost)
}

pub(crate) fn leave(
    connection: &Connection,
    documents: &Documents,
    worker: WorkerId,
) -> Result<(u64, Vec<Change>)> {
    dismiss(connection, documents, &[worker.0])
}

/// Every worker of a process that is gone; asked once the data directory is this process's own. Batches go on.
pub(crate) fn dismiss_all(connection: &Connection, documents: &Documents) -> Result<u64> {
    let all: Vec<Uuid> = connection
        .prepare_cached("SELECT id FROM workers WHERE id NOT IN (SELECT id FROM batches)")
        .and_then(|mut query| query.query_map((), |row| uuid_of(row, 0))?.collect())
        .map_err(backend)?;
    dismiss(connection, documents, &all).map(|(cells, _)| cells)
}

/// Forgets workers and queues again what they hold.
fn dismiss(connection: &Connection, documents: &Documents, workers: &[Uuid]) -> Result<(u64, Vec<Change>)> {
    let mut projects = OpenProjects::new(connection, documents);
    for worker in workers {
        for StoredClaim { token, num, claim } in claims_of_worker(connection, *worker)? {
            let project = project_state::id_of(connection, num)?;
            match project.map(|project| projects.of(project)).transpose()?.flatten() {
                Some(open) => open.load_block(claim.block)?,
                None => apply::delete_claim(connection, token)?,
            }
        }
        connection
            .prepare_cached("DELETE FROM workers WHERE id = ?1")
            .and_then(|mut delete| delete.execute([worker.as_bytes()]))
            .map_err(backend)?;
    }
    let mut cells = 0;
    for open in projects.open.values_mut().flatten() {
        cells += open.changes.requeue_of(workers)?;
    }
    Ok((cells, projects.finish(None)?))
}
