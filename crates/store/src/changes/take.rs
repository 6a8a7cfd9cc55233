//! Taking ready cells for a worker: which run, and which are skipped because a condition or an input says so.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use rowmill_model::path::allowance::{self, ROW_VISITS_MAX};
use rowmill_model::plan::{Verdict, block_of, place_of, position_of};
use rowmill_model::record::Slot;
use rowmill_model::row::RowView;
use rowmill_model::wide_cells::Missed;
use rowmill_model::{CellError, CellStates};

use super::places::Places;
use super::raw_row::PartRow;
use super::row_changes::{OpenBlock, RowChanges, not_loaded};
use super::write_set::CellClaim;
use crate::error::Result;
use crate::work::{CellResult, Claim, Claimed, Ticket};

/// How much text the conditions of one claim look through. Other writes wait meanwhile.
const JUDGED_BYTES_MAX: usize = 16 << 20;

/// Takes cells until the claim has what it asked for.
#[derive(Debug)]
pub struct CellTaker<'a> {
    claim: &'a Claim,
    bytes: usize,
    /// How much text conditions have looked through.
    judged_bytes: usize,
    claimed: Vec<Claimed>,
}

impl<'a> CellTaker<'a> {
    pub fn new(claim: &'a Claim) -> Self {
        Self { claim, bytes: 0, judged_bytes: 0, claimed: Vec::new() }
    }

    /// Whether the rows taken have as many bytes as were asked for, or others have waited long enough for conditions to be
    /// judged.
    pub fn is_full(&self) -> bool {
        self.bytes >= self.claim.bytes_max || self.judged_bytes >= JUDGED_BYTES_MAX
    }

    pub fn count(&self) -> usize {
        self.claimed.len()
    }

    pub fn into_claimed(self) -> Vec<Claimed> {
        self.claimed
    }

    /// Takes a ready cell of a loaded row. Says whether it was taken, and not skipped.
    pub fn take<V: Copy>(&mut self, changes: &mut RowChanges<V>, slot: Slot, position: u64) -> Result<bool> {
        let Some(row) = changes.row(position) else { return Ok(false) };
        self.judged_bytes =
            self.judged_bytes.saturating_add(changes.plan.judging_bytes(slot, row.values.read_bytes()));
        // What is left when this claim ends is looked for again, even if nothing was taken.
        changes.any_ready |= self.judged_bytes >= JUDGED_BYTES_MAX;
        let Some(row) = changes.row(position) else { return Ok(false) };
        if let ControlFlow::Break(error) = self.judge(changes, slot, row)? {
            let now_ms = self.claim.now.as_millisecond();
            changes.settle(position, slot, CellResult::Skipped(error), now_ms)?;
            return Ok(false);
        }
        changes.step(position, |steps| steps.begin(slot))?;
        let ticket = Ticket { token: 0, lane: changes.lane(slot), position };
        let mark = changes.block(block_of(position))?.get(slot, place_of(position));
        let row = changes.row(position).ok_or_else(not_loaded)?;
        self.bytes += row.values.read_bytes();
        let attempts = row.details.tries(slot, mark);
        let waiting_since_ms = row.details.waiting_since_ms(slot, mark);
        let (row, mut values) = (row.id, row.values.clone());
        // What the worker misses is no concern of this transaction.
        values.note_in(&Missed::default());
        let (run, trace) = (changes.run_number(), changes.run_trace());
        let project = Arc::clone(&changes.project);
        self.claimed.push(Claimed { ticket, row, values, attempts, waiting_since_ms, run, trace, project });
        Ok(true)
    }

    /// Breaks with the reason not to run the cell.
    fn judge<V: Copy>(
        &self,
        changes: &RowChanges<V>,
        slot: Slot,
        row: &PartRow,
    ) -> Result<ControlFlow<CellError>> {
        let block = changes.block(block_of(row.position))?;
        let place = place_of(row.position);
        // Only a condition looks at states.
        let states = if changes.plan.is_conditional(slot) {
            CellStates::of(block, place, &row.details)
        } else {
            CellStates::IDLE
        };
        let view = RowView::new(&changes.project.table, row.values.cells()?, &states);
        let judge = || changes.plan.judge(slot, place, block, &view, self.claim.now);
        let (verdict, _) = allowance::within(ROW_VISITS_MAX, judge);
        Ok(match verdict {
            Verdict::Run => ControlFlow::Continue(()),
            Verdict::Skip(error) => ControlFlow::Break(error),
        })
    }

    /// Claims, one a block, for the cells taken since there were `first` of them; each needs a token.
    pub fn claims_since(&self, first: usize, slot: Slot) -> Vec<CellClaim> {
        let mut places: BTreeMap<u64, Places> = BTreeMap::new();
        for cell in self.claimed.iter().skip(first) {
            let position = cell.ticket.position;
            places.entry(block_of(position)).or_default().insert(place_of(position));
        }
        let worker = self.claim.worker.0;
        places.into_iter().map(|(block, places)| CellClaim { worker, slot, block, places }).collect()
    }

    /// Writes a claim's token into the tickets of its cells, which were taken since there were `first` of them.
    pub fn name_claim(&mut self, first: usize, claim: &CellClaim, token: u64) {
        let is_in =
            |position: u64| block_of(position) == claim.block && claim.places.contains(place_of(position));
        for cell in self.claimed.iter_mut().skip(first).filter(|cell| is_in(cell.ticket.position)) {
            cell.ticket.token = token;
        }
    }
}

/// The ready cells of one column in a loaded block, as positions.
impl<V: Copy> RowChanges<V> {
    pub fn ready_in(&self, block: u64, slot: Slot) -> Result<Vec<u64>> {
        Ok(self.block(block)?.ready(slot).map(|place| position_of(block, place)).collect())
    }

    /// The loaded blocks in which a column has ready cells.
    pub fn blocks_with_ready(&self, slot: Slot) -> impl Iterator<Item = u64> {
        let has_ready = move |open: &OpenBlock| open.block.ready(slot).next().is_some();
        self.blocks.iter().filter(move |(_, open)| has_ready(open)).map(|(block, _)| *block)
    }
}
