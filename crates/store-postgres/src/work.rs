//! Claiming cells and settling their results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use rowmill_model::ProjectId;
use rowmill_model::plan::{block_of, place_of};
use rowmill_model::record::Slot;
use rowmill_store::changes::{CellTaker, Look, PartRow};
use rowmill_store::{
    Change, Claim, Claimed, Lane, Lanes, RETRY_WAIT_MS_MAX, Result, Settle, Settled, Settlement, Ticket,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::claimed_rows::{ClaimedRows, RowsByProject};
use crate::convert::{narrow, signed, unexpected_answer, unsigned};
use crate::database::Database;
use crate::documents::Documents;
use crate::leases::record_heartbeat;
use crate::project_state::{self, Busy, State};
use crate::row_changes::{OpenProject, OpenProjects};
use crate::tokens::Tokens;
use crate::transaction::Tx;

/// How many due retries of a project are queued in one transaction.
const DUE_AT_ONCE: i64 = 2_000;
/// How many blocks beyond those looked at first are loaded in one go.
const BLOCKS_AT_ONCE: usize = 32;
/// How many lanes are returned at once: more than any worker can serve.
const LANES_MAX: i64 = 10_000;

/// The columns with ready or due cells, found by a loose index scan: a project, its columns, and when the next of its
/// cells is due.
const LANES: &str = "WITH RECURSIVE lane (project, slot) AS ( \
     (SELECT project, slot FROM rowmill.ready ORDER BY project, slot LIMIT 1) UNION ALL \
     SELECT next.project, next.slot FROM lane CROSS JOIN LATERAL (SELECT project, slot \
     FROM rowmill.ready r WHERE (r.project, r.slot) > (lane.project, lane.slot) \
     ORDER BY r.project, r.slot LIMIT 1) next), \
     late (project) AS ( \
     (SELECT project FROM rowmill.retries ORDER BY project LIMIT 1) UNION ALL \
     SELECT next.project FROM late CROSS JOIN LATERAL (SELECT project FROM rowmill.retries r \
     WHERE r.project > late.project ORDER BY r.project LIMIT 1) next) \
     SELECT c.id, ARRAY[l.slot], NULL::int8 FROM (SELECT * FROM lane LIMIT $3) l \
     JOIN rowmill.counters c USING (project) UNION ALL \
     SELECT c.id, \
     ARRAY(SELECT DISTINCT due.slot FROM ((SELECT r.slot FROM rowmill.retries r \
     WHERE r.project = late.project AND r.at <= $1 ORDER BY r.at LIMIT $2) UNION ALL \
     (SELECT r.slot FROM rowmill.retries r \
     WHERE r.project = late.project AND r.at > $4 ORDER BY r.at LIMIT $2)) due), \
     (SELECT r.at FROM rowmill.retries r WHERE r.project = late.project AND r.at > $1 AND r.at <= $4 \
     ORDER BY r.at LIMIT 1) \
     FROM late JOIN rowmill.counters c USING (project)";

pub(crate) async fn lanes(database: &Database, now_ms: i64) -> Result<Lanes> {
    let latest_ms = now_ms.saturating_add(RETRY_WAIT_MS_MAX);
    let found = database.ask(LANES, &[&now_ms, &DUE_AT_ONCE, &LANES_MAX, &latest_ms]).await?;
    let mut ready = BTreeSet::new();
    let mut next_due_ms: Option<i64> = None;
    for row in &found {
        let project = ProjectId::from_uuid(row.get(0));
        for slot in row.get::<_, Vec<i64>>(1) {
            ready.insert(Lane { project, slot: narrow(slot)? });
        }
        let next: Option<i64> = row.get(2);
        next_due_ms = next_due_ms.into_iter().chain(next).min();
    }
    Ok(Lanes { ready: ready.into_iter().collect(), next_due_ms })
}

pub(crate) async fn claim(
    tx: &mut Tx,
    documents: &Documents,
    tokens: &Tokens,
    claim: &Claim,
) -> Result<((Vec<Claimed>, RowsByProject), Vec<Change>)> {
    let now_ms = claim.now.as_millisecond();
    let projects: BTreeSet<ProjectId> = claim.asks.iter().map(|(lane, _)| lane.project).collect();
    let projects: Vec<ProjectId> = projects.into_iter().collect();
    // What another node is busy with is left to it; only if all is, one is waited for, so that a worker
    // is never turned away for ever.
    let busy = if projects.len() > 1 { Busy::Skip } else { Busy::Wait };
    let mut glance = Glance::take(tx, &projects, claim, busy).await?;
    if glance.states.is_empty()
        && busy == Busy::Skip
        && let Some((lane, _)) = claim.asks.first()
    {
        glance = Glance::take(tx, &[lane.project], claim, Busy::Wait).await?;
    }
    let mut projects = OpenProjects::open(tx, documents, std::mem::take(&mut glance.states)).await?;
    let mut lanes = LaneTaker { taker: CellTaker::new(claim), tokens };
    for (project, open) in &mut projects.0 {
        glance.open_blocks(open, *project, claim)?;
        queue_due(tx, open, glance.due_of(*project)?, now_ms).await?;
        load_rows(tx, open, claim).await?;
    }
    for (number, (lane, most)) in (1..).zip(&claim.asks) {
        if let Some(open) = projects.0.get_mut(&lane.project) {
            lanes.take(tx, open, lane.slot, *most, glance.blocks_of(number)).await?;
        }
    }
    let claimed = lanes.taker.into_claimed();
    let mut rows = RowsByProject::new();
    for Claimed { ticket, .. } in &claimed {
        let open = projects.0.get_mut(&ticket.lane.project);
        rows.entry(ticket.lane.project)
            .or_default()
            .extend(open.and_then(|open| open.changes.lend(ticket.position)));
    }
    projects.retain_touched();
    let changes = projects.finish(tx, now_ms)?;
    record_heartbeat(tx, claim.worker, claim.expires_at_ms);
    Ok(((claimed, rows), changes))
}

/// What a claim must know of the projects it has locked, read in the round trip that locks them.
struct Glance {
    states: Vec<State>,
    due: Vec<Row>,
    /// Block, marks and the number of the ask.
    ready: Vec<Row>,
    claims: Vec<Row>,
}

/// The marks of blocks with ready cells, by ask.
static READY_BLOCKS: LazyLock<String> = LazyLock::new(|| {
    select_of_ready_blocks(
        "r.block, coalesce(b.marks, ''), ask.n",
        "LEFT JOIN rowmill.blocks b ON b.project = c.project AND b.block = r.block",
    )
});

/// The claims in these blocks.
static CLAIMS_IN_READY_BLOCKS: LazyLock<String> = LazyLock::new(|| {
    select_of_ready_blocks(
        "h.token, h.worker, h.slot, h.block, h.places, ask.n",
        "JOIN rowmill.claims h ON h.project = c.project AND h.block = r.block",
    )
});

/// A query over the first blocks with ready cells of each ask.
fn select_of_ready_blocks(columns: &str, join: &str) -> String {
    format!(
        "SELECT {columns} FROM \
         unnest($1::uuid[], $2::int8[], $3::int8[]) WITH ORDINALITY ask (id, slot, most, n) \
         JOIN rowmill.counters c ON c.id = ask.id \
         CROSS JOIN LATERAL (SELECT block FROM rowmill.ready \
         WHERE project = c.project AND slot = ask.slot ORDER BY block LIMIT ask.most) r \
         {join}"
    )
}

impl Glance {
    async fn take(tx: &mut Tx, projects: &[ProjectId], claim: &Claim, busy: Busy) -> Result<Self> {
        let ids: Vec<Uuid> = projects.iter().map(|id| id.uuid()).collect();
        let now_ms = claim.now.as_millisecond();
        let latest_ms = now_ms.saturating_add(RETRY_WAIT_MS_MAX);
        // Asks of projects that are not taken find nothing.
        let id =
            |lane: &Lane| if projects.contains(&lane.project) { lane.project.uuid() } else { Uuid::nil() };
        let asked: Vec<Uuid> = claim.asks.iter().map(|(lane, _)| id(lane)).collect();
        let slots: Vec<i64> = claim.asks.iter().map(|(lane, _)| i64::from(lane.slot)).collect();
        let most: Vec<i64> = claim.asks.iter().map(|(_, most)| i64::from(blocks_at_first(*most))).collect();
        let (states, answers) = project_state::lock_and_query(
            tx,
            projects,
            busy,
            &[
                (
                    "SELECT c.id, r.at, r.slot, r.position FROM rowmill.counters c CROSS JOIN LATERAL \
                     ((SELECT at, slot, position FROM rowmill.retries WHERE project = c.project AND at <= $2 \
                     ORDER BY at LIMIT $3) UNION ALL \
                     (SELECT at, slot, position FROM rowmill.retries WHERE project = c.project AND at > $4 \
                     ORDER BY at LIMIT $3)) r WHERE c.id = ANY($1)",
                    &[&ids, &now_ms, &DUE_AT_ONCE, &latest_ms],
                ),
                (&READY_BLOCKS, &[&asked, &slots, &most]),
                (&CLAIMS_IN_READY_BLOCKS, &[&asked, &slots, &most]),
            ],
        )
        .await?;
        let Ok([due, ready, claims]) = <[Vec<Row>; 3]>::try_from(answers) else {
            return Err(unexpected_answer());
        };
        Ok(Self { states, due, ready, claims })
    }

    /// Opens the blocks and claims of a project.
    fn open_blocks(&self, open: &mut OpenProject, project: ProjectId, claim: &Claim) -> Result<()> {
        let is_of_project = |row: &&Row, column: usize| {
            let number = usize::try_from(row.get::<_, i64>(column) - 1).unwrap_or_default();
            claim.asks.get(number).is_some_and(|(lane, _)| lane.project == project)
        };
        let marks = self.ready.iter().filter(|row| is_of_project(row, 2));
        open.take_blocks(marks, self.claims.iter().filter(|row| is_of_project(row, 5)))
    }

    fn blocks_of(&self, ask: i64) -> BTreeSet<u64> {
        self.ready.iter().filter(|row| row.get::<_, i64>(2) == ask).map(|row| unsigned(row.get(0))).collect()
    }

    /// The due retries of a project: when (Unix milliseconds), column and position.
    fn due_of(&self, project: ProjectId) -> Result<Vec<(i64, Slot, u64)>> {
        let of_project = self.due.iter().filter(|row| row.get::<_, Uuid>(0) == project.uuid());
        of_project.map(|row| Ok((row.get(1), narrow(row.get(2))?, unsigned(row.get(3))))).collect()
    }
}

/// How many blocks are looked at before it is asked for more: most have many ready cells.
fn blocks_at_first(most: u32) -> u32 {
    (most / 128 + 2).min(most)
}

/// The next blocks in which a column has ready cells: each has one at least, so as many as cells are wanted.
async fn more_blocks(tx: &mut Tx, num: i64, slot: Slot, after: u64, most: usize) -> Result<BTreeSet<u64>> {
    let sql = "SELECT block FROM rowmill.ready WHERE project = $1 AND slot = $2 AND block > $3 \
               ORDER BY block LIMIT $4";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let found = tx.query(sql, &[&num, &i64::from(slot), &signed(after), &most]).await?;
    Ok(found.iter().map(|row| unsigned(row.get(0))).collect())
}

/// Loads the rows that will be taken if none is skipped, of all columns together.
async fn load_rows(tx: &mut Tx, open: &mut OpenProject, claim: &Claim) -> Result<()> {
    let mut positions = Vec::new();
    let project = open.changes.project.id;
    for (lane, most) in claim.asks.iter().filter(|(lane, _)| lane.project == project) {
        let most = usize::try_from(*most).unwrap_or(usize::MAX);
        let before = positions.len();
        for block in open.changes.blocks_with_ready(lane.slot) {
            let left = most - (positions.len() - before);
            positions.extend(open.changes.ready_in(block, lane.slot)?.into_iter().take(left));
        }
    }
    open.load(tx, positions, []).await
}

/// Takes ready cells, lane by lane, and makes claims for them.
struct LaneTaker<'a> {
    taker: CellTaker<'a>,
    tokens: &'a Tokens,
}

impl LaneTaker<'_> {
    async fn take(
        &mut self,
        tx: &mut Tx,
        open: &mut OpenProject,
        slot: Slot,
        most: u32,
        listed: BTreeSet<u64>,
    ) -> Result<()> {
        let first = self.taker.count();
        let mut wanted = usize::try_from(most).unwrap_or(usize::MAX);
        // More are listed than were looked at, if as many were found as were asked for.
        let mut has_more = listed.len() >= usize::try_from(blocks_at_first(most)).unwrap_or(usize::MAX);
        let mut last = listed.last().copied();
        // Cells that were queued again a moment ago are not listed yet.
        let mut blocks: BTreeSet<u64> = open.changes.blocks_with_ready(slot).collect();
        blocks.extend(listed);
        loop {
            let some: Vec<u64> = blocks.into_iter().collect();
            for few in some.chunks(BLOCKS_AT_ONCE) {
                if wanted > 0 && !self.taker.is_full() {
                    self.take_in(tx, open, slot, &mut wanted, few).await?;
                }
            }
            let (Some(after), true) = (last, has_more && wanted > 0 && !self.taker.is_full()) else {
                break;
            };
            blocks = more_blocks(tx, open.num(), slot, after, wanted).await?;
            has_more = blocks.len() == wanted;
            last = blocks.last().copied();
        }
        self.make_claims(tx, open, slot, first).await
    }

    /// Takes ready cells of rows that are loaded.
    async fn take_loaded(
        &mut self,
        tx: &mut Tx,
        open: &mut OpenProject,
        slot: Slot,
        most: u32,
        positions: &BTreeSet<u64>,
    ) -> Result<()> {
        let first = self.taker.count();
        let mut ready = Vec::new();
        for position in positions {
            if open.changes.block(block_of(*position))?.is_ready(slot, place_of(*position)) {
                ready.push(*position);
            }
        }
        let looks: Vec<_> = ready.iter().map(|position| (*position, Look::Take(slot))).collect();
        open.load_values(tx, &looks).await?;
        let mut wanted = most;
        for position in ready {
            if wanted == 0 || self.taker.is_full() {
                break;
            }
            if self.taker.take(&mut open.changes, slot, position)? {
                wanted -= 1;
            }
        }
        self.make_claims(tx, open, slot, first).await
    }

    async fn take_in(
        &mut self,
        tx: &mut Tx,
        open: &mut OpenProject,
        slot: Slot,
        wanted: &mut usize,
        blocks: &[u64],
    ) -> Result<()> {
        open.load(tx, [], blocks.iter().copied()).await?;
        let mut ready = Vec::new();
        for block in blocks {
            ready.extend(open.changes.ready_in(*block, slot)?);
        }
        let mut ready = ready.as_slice();
        while *wanted > 0 && !ready.is_empty() && !self.taker.is_full() {
            let (now, later) = ready.split_at((*wanted).min(ready.len()));
            open.load(tx, now.iter().copied(), []).await?;
            let looks: Vec<_> = now.iter().map(|position| (*position, Look::Take(slot))).collect();
            open.load_values(tx, &looks).await?;
            for position in now {
                if !self.taker.is_full() && self.taker.take(&mut open.changes, slot, *position)? {
                    *wanted -= 1;
                }
            }
            ready = later;
        }
        Ok(())
    }

    /// Makes a claim for each block of the cells just taken.
    async fn make_claims(
        &mut self,
        tx: &mut Tx,
        open: &mut OpenProject,
        slot: Slot,
        first: usize,
    ) -> Result<()> {
        for claim in self.taker.claims_since(first, slot) {
            let token = self.tokens.next(tx).await?;
            self.taker.name_claim(first, &claim, token);
            open.changes.hand_out(token, claim, false);
        }
        Ok(())
    }
}

/// Queues retries that are due.
async fn queue_due(
    tx: &mut Tx,
    open: &mut OpenProject,
    due: Vec<(i64, Slot, u64)>,
    now_ms: i64,
) -> Result<()> {
    if due.is_empty() {
        return Ok(());
    }
    let positions = due.iter().map(|(.., position)| *position);
    open.load(tx, positions.clone(), positions.map(block_of)).await?;
    due.into_iter()
        .try_for_each(|(at_ms, slot, position)| open.changes.queue_due(at_ms, slot, position, now_ms))
}

/// Says of each result whether it was taken, and which cells were taken in their place, with their rows.
pub(crate) async fn settle(
    tx: &mut Tx,
    documents: &Documents,
    claimed_rows: &ClaimedRows,
    tokens: &Tokens,
    settle: &Settle,
) -> Result<((Settled, RowsByProject), Vec<Change>)> {
    let Settle { worker, now_ms, results, next } = settle;
    let mut positions: BTreeMap<ProjectId, BTreeSet<u64>> = BTreeMap::new();
    let mut looks: BTreeMap<ProjectId, Vec<(u64, Look<'_>)>> = BTreeMap::new();
    for Settlement { ticket, result } in results {
        let Ticket { lane: Lane { project, slot }, position, .. } = *ticket;
        positions.entry(project).or_default().insert(position);
        looks.entry(project).or_default().push((position, Look::Settle(slot, result)));
    }
    for looks in looks.values_mut() {
        looks.sort_by_key(|(position, _)| *position);
    }
    let lacks = |open: &OpenProject, row: &PartRow| {
        let project = open.changes.project.id;
        let looks = looks.get(&project).map(Vec::as_slice).unwrap_or_default();
        let first = looks.partition_point(|(position, _)| *position < row.position);
        let settled = looks.iter().skip(first).take_while(|(position, _)| *position == row.position);
        let asks = next.iter().flat_map(|claim| &claim.asks).filter(|(lane, _)| lane.project == project);
        let mut looks = settled.map(|(_, look)| *look).chain(asks.map(|(lane, _)| Look::Take(lane.slot)));
        looks.any(|look| !open.changes.unread(row, look).is_empty())
    };
    let (mut projects, version) =
        OpenProjects::open_at(tx, documents, claimed_rows, &positions, &lacks).await?;
    for (project, open) in &mut projects.0 {
        open.load_values(tx, looks.get(project).map(Vec::as_slice).unwrap_or_default()).await?;
    }
    let mut taken = Vec::with_capacity(results.len());
    for Settlement { ticket, result } in results {
        taken.push(match projects.0.get_mut(&ticket.lane.project) {
            Some(open) => open.changes.settle_ticket(worker.0, *ticket, result.clone(), *now_ms)?,
            None => false,
        });
    }
    projects.retain_touched();
    let claimed = match next {
        Some(claim) => claim_settled(tx, tokens, &mut projects, claim, &positions).await?,
        None => Vec::new(),
    };
    let mut rows = RowsByProject::new();
    for Claimed { ticket, .. } in &claimed {
        let open = projects.0.get(&ticket.lane.project);
        let row = open.and_then(|open| open.changes.row_after(ticket.position, version));
        rows.entry(ticket.lane.project).or_default().extend(row);
    }
    Ok(((Settled { taken, claimed }, rows), projects.finish(tx, *now_ms)?))
}

/// Takes ready cells of rows that this transaction has settled others of.
async fn claim_settled(
    tx: &mut Tx,
    tokens: &Tokens,
    projects: &mut OpenProjects,
    claim: &Claim,
    positions: &BTreeMap<ProjectId, BTreeSet<u64>>,
) -> Result<Vec<Claimed>> {
    let mut lanes = LaneTaker { taker: CellTaker::new(claim), tokens };
    for (lane, most) in &claim.asks {
        let (Some(open), Some(positions)) = (projects.0.get_mut(&lane.project), positions.get(&lane.project))
        else {
            continue;
        };
        lanes.take_loaded(tx, open, lane.slot, *most, positions).await?;
    }
    if lanes.taker.count() > 0 {
        record_heartbeat(tx, claim.worker, claim.expires_at_ms);
    }
    Ok(lanes.taker.into_claimed())
}
