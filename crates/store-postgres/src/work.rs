//! Handing out cells and taking their results.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use rowmill_model::plan::{Phase, Verdict, block_of, place_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::{CellError, CellStates, CellStatus, ProjectId};
use rowmill_store::{
    CellResult, Change, Claim, Claimed, Ended, Lane, Lanes, Result, Settle, Settled, Settlement, Ticket,
};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::database::{Database, Tx};
use crate::desk::{self, Desk, not_loaded, unasked};
use crate::leases::see_worker;
use crate::pages::RawRow;
use crate::projects::{self, Busy, Documents, State};
use crate::taken::{Known, Taken, TakenRows};
use crate::versions::Version;
use crate::{narrow, signed, unsigned};

/// How many cells of a project whose time has come are queued again in one go.
const DUE_AT_ONCE: i64 = 2_000;
/// How many blocks beyond those looked at first are brought onto the desk in one go.
const BLOCKS_AT_ONCE: usize = 32;
/// How many lanes are told of at once: more than any worker can serve.
const LANES_MAX: i64 = 10_000;
/// How many tokens the database's sequence moves on at a time.
const TOKENS_AT_ONCE: u64 = 1_000;

/// The columns with ready cells and those with cells that are due, found by leaping from one to the next: a project,
/// its columns, and when the next of its cells is due.
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
     ARRAY(SELECT DISTINCT due.slot FROM (SELECT r.slot FROM rowmill.retries r \
     WHERE r.project = late.project AND r.at <= $1 ORDER BY r.at LIMIT $2) due), \
     (SELECT r.at FROM rowmill.retries r WHERE r.project = late.project AND r.at > $1 \
     ORDER BY r.at LIMIT 1) \
     FROM late JOIN rowmill.counters c USING (project)";

pub(crate) async fn lanes(database: &Database, now_ms: i64) -> Result<Lanes> {
    let found = database.ask(LANES, &[&now_ms, &DUE_AT_ONCE, &LANES_MAX]).await?;
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

/// Names for claims. The database hands them out to nodes by the thousand, so that a claim need not ask.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<std::ops::Range<u64>>);

impl Tokens {
    async fn next(&self, tx: &mut Tx) -> Result<u64> {
        if let Some(token) = self.0.lock().unwrap_or_else(PoisonError::into_inner).next() {
            return Ok(token);
        }
        let got = tx.query("SELECT nextval('rowmill.tokens')", &[]).await?;
        let first = got.first().map_or(0, |row| unsigned(row.get(0)));
        let mut tokens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *tokens = first + 1..first + TOKENS_AT_ONCE;
        Ok(first)
    }
}

/// The desks of all projects that one transaction is about.
pub(crate) struct Desks(pub(crate) BTreeMap<ProjectId, Desk>);

impl Desks {
    pub(crate) async fn open(tx: &mut Tx, documents: &Documents, states: Vec<State>) -> Result<Self> {
        let mut desks = BTreeMap::new();
        for state in states {
            desks.insert(state.id, Desk::open(tx, documents, state).await?);
        }
        Ok(Self(desks))
    }

    /// Takes projects and brings these rows of them onto the desks, as they are known or else read: in one round
    /// trip where it is one project whose number is known. Says which version the rows have that are written.
    async fn open_at(
        tx: &mut Tx,
        documents: &Documents,
        taken: &Taken,
        positions: &BTreeMap<ProjectId, BTreeSet<u64>>,
    ) -> Result<(Self, Version)> {
        let ids: Vec<ProjectId> = positions.keys().copied().collect();
        let known = match ids.as_slice() {
            [one] => documents.num(*one),
            _ => None,
        };
        let mut taken: BTreeMap<ProjectId, Vec<Known>> =
            positions.iter().map(|(id, rows)| (*id, taken.take(*id, rows.iter().copied()))).collect();
        if let Some(num) = known {
            let rows = positions.values().flatten().copied();
            let blocks: BTreeSet<u64> = rows.clone().map(block_of).collect();
            let at_hand: BTreeSet<u64> = taken.values().flatten().map(|(row, _)| row.position).collect();
            let (firsts, lasts) = desk::runs_of(rows.filter(|position| !at_hand.contains(position)));
            let asked: Vec<i64> = blocks.iter().copied().map(signed).collect();
            let (states, mut answers) = projects::lock_and_ask(
                tx,
                &ids,
                Busy::Wait,
                &[
                    (desk::ROWS_AT, &[&num, &firsts, &lasts]),
                    (desk::BLOCKS_AT, &[&num, &asked]),
                    (desk::CLAIMS_AT, &[&num, &asked]),
                    (Version::OF_WRITTEN, &[]),
                ],
            )
            .await?;
            let version = Version::told(answers.pop())?;
            let mut desks = Self::open(tx, documents, states).await?;
            for (project, desk) in &mut desks.0 {
                taken.remove(project).into_iter().flatten().for_each(|known| desk.know(known));
                desk.take(&answers, blocks.iter().copied())?;
            }
            return Ok((desks, version));
        }
        let (states, mut answers) =
            projects::lock_and_ask(tx, &ids, Busy::Wait, &[(Version::OF_WRITTEN, &[])]).await?;
        let version = Version::told(answers.pop())?;
        let mut desks = Self::open(tx, documents, states).await?;
        for (project, desk) in &mut desks.0 {
            taken.remove(project).into_iter().flatten().for_each(|known| desk.know(known));
            let rows = positions.get(project).into_iter().flatten().copied();
            desk.load(tx, rows.clone(), rows.map(block_of)).await?;
        }
        Ok((desks, version))
    }

    pub(crate) fn finish(self, tx: &mut Tx, now_ms: impl Into<Option<i64>> + Copy) -> Result<Vec<Change>> {
        self.0.into_values().map(|desk| desk.finish(tx, now_ms)).collect()
    }
}

pub(crate) async fn claim(
    tx: &mut Tx,
    documents: &Documents,
    tokens: &Tokens,
    claim: &Claim,
) -> Result<((Vec<Claimed>, TakenRows), Vec<Change>)> {
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
    let mut desks = Desks::open(tx, documents, std::mem::take(&mut glance.states)).await?;
    let mut take = Take { claim, tokens, bytes: 0, claimed: Vec::new() };
    for (project, desk) in &mut desks.0 {
        glance.lay_out(desk, *project, claim)?;
        queue_due(tx, desk, glance.due_of(*project)?, now_ms).await?;
        take.bring_rows(tx, desk).await?;
    }
    for (number, (lane, most)) in (1..).zip(&claim.asks) {
        if let Some(desk) = desks.0.get_mut(&lane.project) {
            take.from(tx, desk, lane.slot, *most, glance.blocks_of(number)).await?;
        }
    }
    let claimed = take.claimed;
    let mut rows = TakenRows::new();
    for Claimed { ticket, .. } in &claimed {
        let known = desks.0.get_mut(&ticket.lane.project).and_then(|desk| desk.lend(ticket.position));
        rows.entry(ticket.lane.project).or_default().extend(known);
    }
    // Projects in which nothing happened are left as they are.
    desks.0.retain(|_, desk| desk.is_touched());
    let changes = desks.finish(tx, now_ms)?;
    see_worker(tx, claim.worker, claim.expires_at_ms);
    Ok(((claimed, rows), changes))
}

/// What a claim must see of the projects it has taken, asked for in the round trip that takes them.
struct Glance {
    states: Vec<State>,
    due: Vec<Row>,
    /// Block, marks and the number of the ask.
    ready: Vec<Row>,
    claims: Vec<Row>,
}

/// Blocks with ready cells of each ask.
macro_rules! ready_of_asks {
    () => {
        "unnest($1::uuid[], $2::int8[], $3::int8[]) WITH ORDINALITY ask (id, slot, most, n) \
         JOIN rowmill.counters c ON c.id = ask.id \
         CROSS JOIN LATERAL (SELECT block FROM rowmill.ready \
         WHERE project = c.project AND slot = ask.slot ORDER BY block LIMIT ask.most) r "
    };
}

impl Glance {
    async fn take(tx: &mut Tx, projects: &[ProjectId], claim: &Claim, busy: Busy) -> Result<Self> {
        let ids: Vec<Uuid> = projects.iter().map(|id| id.uuid()).collect();
        // Asks of projects that are not taken find nothing.
        let id =
            |lane: &Lane| if projects.contains(&lane.project) { lane.project.uuid() } else { Uuid::nil() };
        let asked: Vec<Uuid> = claim.asks.iter().map(|(lane, _)| id(lane)).collect();
        let slots: Vec<i64> = claim.asks.iter().map(|(lane, _)| i64::from(lane.slot)).collect();
        let most: Vec<i64> = claim.asks.iter().map(|(_, most)| i64::from(blocks_at_first(*most))).collect();
        let (states, answers) = projects::lock_and_ask(
            tx,
            projects,
            busy,
            &[
                (
                    "SELECT c.id, r.at, r.slot, r.position FROM rowmill.counters c CROSS JOIN LATERAL \
                     (SELECT at, slot, position FROM rowmill.retries WHERE project = c.project AND at <= $2 \
                     ORDER BY at LIMIT $3) r WHERE c.id = ANY($1)",
                    &[&ids, &claim.now.as_millisecond(), &DUE_AT_ONCE],
                ),
                (
                    concat!(
                        "SELECT r.block, coalesce(b.marks, ''), ask.n FROM ",
                        ready_of_asks!(),
                        "LEFT JOIN rowmill.blocks b ON b.project = c.project AND b.block = r.block"
                    ),
                    &[&asked, &slots, &most],
                ),
                (
                    concat!(
                        "SELECT h.token, h.worker, h.slot, h.block, h.places, ask.n FROM ",
                        ready_of_asks!(),
                        "JOIN rowmill.claims h ON h.project = c.project AND h.block = r.block"
                    ),
                    &[&asked, &slots, &most],
                ),
            ],
        )
        .await?;
        let Ok([due, ready, claims]) = <[Vec<Row>; 3]>::try_from(answers) else { return Err(unasked()) };
        Ok(Self { states, due, ready, claims })
    }

    /// Puts blocks and their claims onto a project's desk.
    fn lay_out(&self, desk: &mut Desk, project: ProjectId, claim: &Claim) -> Result<()> {
        let is_of_project = |row: &&Row, column: usize| {
            let number = usize::try_from(row.get::<_, i64>(column) - 1).unwrap_or_default();
            claim.asks.get(number).is_some_and(|(lane, _)| lane.project == project)
        };
        let marks = self.ready.iter().filter(|row| is_of_project(row, 2));
        desk.take_blocks(marks, self.claims.iter().filter(|row| is_of_project(row, 5)))
    }

    fn blocks_of(&self, ask: i64) -> BTreeSet<u64> {
        self.ready.iter().filter(|row| row.get::<_, i64>(2) == ask).map(|row| unsigned(row.get(0))).collect()
    }

    /// The cells of a project whose time has come: when, column and position.
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

/// Taking ready cells.
struct Take<'a> {
    claim: &'a Claim,
    tokens: &'a Tokens,
    bytes: usize,
    claimed: Vec<Claimed>,
}

impl Take<'_> {
    /// Brings the rows onto the desk that will be taken if none is skipped, of all columns together.
    async fn bring_rows(&self, tx: &mut Tx, desk: &mut Desk) -> Result<()> {
        let mut positions = Vec::new();
        let asks = self.claim.asks.iter().filter(|(lane, _)| lane.project == desk.project.id);
        for (lane, most) in asks {
            let most = usize::try_from(*most).unwrap_or(usize::MAX);
            let before = positions.len();
            for block in desk.blocks_with_ready(lane.slot) {
                let left = most - (positions.len() - before);
                let ready = desk.block(block)?.ready(lane.slot).map(|place| position_of(block, place));
                positions.extend(ready.take(left));
            }
        }
        desk.load(tx, positions, []).await
    }

    async fn from(
        &mut self,
        tx: &mut Tx,
        desk: &mut Desk,
        slot: Slot,
        most: u32,
        listed: BTreeSet<u64>,
    ) -> Result<()> {
        let first = self.claimed.len();
        let mut wanted = usize::try_from(most).unwrap_or(usize::MAX);
        // More are listed than were looked at, if as many were found as were asked for.
        let mut goes_on = listed.len() >= usize::try_from(blocks_at_first(most)).unwrap_or(usize::MAX);
        let mut last = listed.last().copied();
        // Cells that were queued again a moment ago are not listed yet.
        let mut blocks: BTreeSet<u64> = desk.blocks_with_ready(slot).collect();
        blocks.extend(listed);
        loop {
            let some: Vec<u64> = blocks.into_iter().collect();
            for few in some.chunks(BLOCKS_AT_ONCE) {
                if wanted > 0 && self.bytes < self.claim.bytes_max {
                    self.take_some(tx, desk, slot, &mut wanted, few).await?;
                }
            }
            let (Some(after), true) = (last, goes_on && wanted > 0 && self.bytes < self.claim.bytes_max)
            else {
                break;
            };
            blocks = more_blocks(tx, desk.num(), slot, after, wanted).await?;
            goes_on = blocks.len() == wanted;
            last = blocks.last().copied();
        }
        self.hand_out(tx, desk, slot, first).await
    }

    /// Takes cells of rows that are on the desk.
    async fn on_desk(
        &mut self,
        tx: &mut Tx,
        desk: &mut Desk,
        slot: Slot,
        most: u32,
        positions: &BTreeSet<u64>,
    ) -> Result<()> {
        let first = self.claimed.len();
        let mut wanted = most;
        for position in positions {
            if wanted == 0 || self.bytes >= self.claim.bytes_max {
                break;
            }
            let is_ready = desk.block(block_of(*position))?.is_ready(slot, place_of(*position));
            if is_ready && self.take_one(desk, slot, *position)? {
                wanted -= 1;
            }
        }
        self.hand_out(tx, desk, slot, first).await
    }

    async fn take_some(
        &mut self,
        tx: &mut Tx,
        desk: &mut Desk,
        slot: Slot,
        wanted: &mut usize,
        blocks: &[u64],
    ) -> Result<()> {
        desk.load(tx, [], blocks.iter().copied()).await?;
        let mut ready = Vec::new();
        for block in blocks {
            ready.extend(desk.block(*block)?.ready(slot).map(|place| position_of(*block, place)));
        }
        let mut ready = ready.as_slice();
        while *wanted > 0 && !ready.is_empty() && self.bytes < self.claim.bytes_max {
            let (now, later) = ready.split_at((*wanted).min(ready.len()));
            desk.load(tx, now.iter().copied(), []).await?;
            for position in now {
                if self.bytes < self.claim.bytes_max && self.take_one(desk, slot, *position)? {
                    *wanted -= 1;
                }
            }
            ready = later;
        }
        Ok(())
    }

    /// Says whether the cell was taken, and not skipped.
    fn take_one(&mut self, desk: &mut Desk, slot: Slot, position: u64) -> Result<bool> {
        let Some(row) = desk.row(position) else { return Ok(false) };
        if let ControlFlow::Break(error) = self.judge(desk, slot, row)? {
            let now_ms = self.claim.now.as_millisecond();
            settle_one(desk, position, slot, CellResult::Skipped(error), now_ms)?;
            return Ok(false);
        }
        desk.step(position, |steps| steps.begin(slot))?;
        let ticket = Ticket { token: 0, lane: desk.lane(slot), position };
        let mark = desk.block(block_of(position))?.get(slot, place_of(position));
        let row = desk.row(position).ok_or_else(not_loaded)?;
        self.bytes += row.values.as_bytes().len();
        let (attempts, project) = (row.details.tries(slot, mark), Arc::clone(&desk.project));
        self.claimed.push(Claimed { ticket, row: row.id, values: row.values.clone(), attempts, project });
        Ok(true)
    }

    /// Breaks with the reason not to run the cell.
    fn judge(&self, desk: &Desk, slot: Slot, row: &RawRow) -> Result<ControlFlow<CellError>> {
        let block = desk.block(block_of(row.position))?;
        let place = place_of(row.position);
        let states = CellStates::of(block, place, &row.details);
        let view = RowView::new(&desk.project.table, row.values.cells()?, &states);
        Ok(match desk.plan.judge(slot, place, block, &view, self.claim.now) {
            Verdict::Run => ControlFlow::Continue(()),
            Verdict::Skip(error) => ControlFlow::Break(error),
        })
    }

    /// Makes a claim for each block of the cells just taken.
    async fn hand_out(&mut self, tx: &mut Tx, desk: &mut Desk, slot: Slot, first: usize) -> Result<()> {
        let mut places: BTreeMap<u64, BTreeSet<u8>> = BTreeMap::new();
        for cell in self.claimed.iter().skip(first) {
            let position = cell.ticket.position;
            places.entry(block_of(position)).or_default().insert(place_of(position));
        }
        let mut tokens = BTreeMap::new();
        for (block, places) in places {
            let token = self.tokens.next(tx).await?;
            tokens.insert(block, token);
            desk.hand_out(token, self.claim.worker.0, slot, block, places);
        }
        for cell in self.claimed.iter_mut().skip(first) {
            let token = tokens.get(&block_of(cell.ticket.position)).copied();
            cell.ticket.token = token.unwrap_or_default();
        }
        Ok(())
    }
}

/// Queues again the cells whose time has come.
async fn queue_due(tx: &mut Tx, desk: &mut Desk, due: Vec<(i64, Slot, u64)>, now_ms: i64) -> Result<()> {
    if due.is_empty() {
        return Ok(());
    }
    let positions = due.iter().map(|(.., position)| *position);
    desk.load(tx, positions.clone(), positions.map(block_of)).await?;
    for (at, slot, position) in due {
        desk.writes.retries_done.push((at, slot, position));
        let mark = desk.block(block_of(position))?.get(slot, place_of(position));
        let waits = mark.status == CellStatus::Queued && mark.phase == Phase::Later;
        // The cell may have been stopped, and be waiting for another try of another run.
        let is_due = desk
            .row(position)
            .is_some_and(|row| row.details.trying(slot).is_none_or(|trying| trying.retry_at <= now_ms));
        if waits && is_due {
            desk.step(position, |steps| steps.queue_again(slot))?;
        }
    }
    Ok(())
}

/// Says of each result whether it was taken, and which cells were taken in their place, with their rows.
pub(crate) async fn settle(
    tx: &mut Tx,
    documents: &Documents,
    taken_rows: &Taken,
    tokens: &Tokens,
    settle: &Settle,
) -> Result<((Settled, TakenRows), Vec<Change>)> {
    let Settle { worker, now_ms, results, next } = settle;
    let now_ms = *now_ms;
    let mut positions: BTreeMap<ProjectId, BTreeSet<u64>> = BTreeMap::new();
    for Settlement { ticket, .. } in results {
        positions.entry(ticket.lane.project).or_default().insert(ticket.position);
    }
    let (mut desks, version) = Desks::open_at(tx, documents, taken_rows, &positions).await?;
    let mut taken = Vec::with_capacity(results.len());
    for Settlement { ticket, result } in results {
        let desk = desks.0.get_mut(&ticket.lane.project);
        let held = desk.and_then(|desk| {
            desk.row(ticket.position)?;
            desk.give_back(worker.0, *ticket).then_some(desk)
        });
        taken.push(held.is_some());
        if let Some(desk) = held {
            settle_one(desk, ticket.position, ticket.lane.slot, result.clone(), now_ms)?;
        }
    }
    desks.0.retain(|_, desk| desk.is_touched());
    let claimed = match next {
        Some(claim) => go_on(tx, tokens, &mut desks, claim, &positions).await?,
        None => Vec::new(),
    };
    let mut rows = TakenRows::new();
    for Claimed { ticket, .. } in &claimed {
        let desk = desks.0.get(&ticket.lane.project);
        let known = desk.and_then(|desk| desk.known(ticket.position, version));
        rows.entry(ticket.lane.project).or_default().extend(known);
    }
    Ok(((Settled { taken, claimed }, rows), desks.finish(tx, now_ms)?))
}

/// Takes ready cells of rows that this transaction has on its desks.
async fn go_on(
    tx: &mut Tx,
    tokens: &Tokens,
    desks: &mut Desks,
    claim: &Claim,
    positions: &BTreeMap<ProjectId, BTreeSet<u64>>,
) -> Result<Vec<Claimed>> {
    let mut take = Take { claim, tokens, bytes: 0, claimed: Vec::new() };
    for (lane, most) in &claim.asks {
        let (Some(desk), Some(positions)) = (desks.0.get_mut(&lane.project), positions.get(&lane.project))
        else {
            continue;
        };
        take.on_desk(tx, desk, lane.slot, *most, positions).await?;
    }
    if !take.claimed.is_empty() {
        see_worker(tx, claim.worker, claim.expires_at_ms);
    }
    Ok(take.claimed)
}

/// Ends a cell, or a try of it, and all that follows from that.
fn settle_one(desk: &mut Desk, position: u64, slot: Slot, result: CellResult, now_ms: i64) -> Result<()> {
    let mark = desk.block(block_of(position))?.get(slot, place_of(position));
    let row = desk.row(position).ok_or_else(not_loaded)?;
    let spent = result.spent();
    let Ended { ending, value, detail, retry_at_ms } = result.end(&row.details, slot, mark, now_ms);
    let values = row.values.with(value.as_deref().map(|raw| (slot, raw)))?;
    let mut details = row.details.clone();
    details.set(slot, &detail)?;
    if let Some(at) = retry_at_ms {
        desk.writes.retries_made.push((at, slot, position));
    }
    let old = desk.put(position, values.clone(), details)?;
    let (old, new) = (old.cells()?, values.cells()?);
    let project = Arc::clone(&desk.project);
    desk.step(position, |steps| {
        steps.spend(spent);
        steps.settle(&project.table, slot, ending, &old, &new);
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn tokens_are_handed_out_by_the_thousand() {
        assert!(include_str!("migrations/0001_foundation.sql").contains("tokens INCREMENT BY 1000;"));
        assert_eq!(super::TOKENS_AT_ONCE, 1_000);
    }
}
