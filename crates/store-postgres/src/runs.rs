//! Starting and stopping runs, a few blocks at a time.

use std::collections::BTreeSet;

use rowmill_model::ProjectId;
use rowmill_model::plan::{BLOCK_BITS, block_of, position_of};
use rowmill_store::{Change, Result, Rows, Standing, Stop, Stopped, Trigger};
use uuid::Uuid;

use crate::database::Tx;
use crate::desk::Desk;
use crate::projects::{self, Documents, Parsed, State};
use crate::{signed, unsigned};

/// How many blocks, or rows named one by one, one transaction goes over: some milliseconds' work.
const BLOCKS_AT_ONCE: u64 = 64;
const ROWS_AT_ONCE: usize = 8_192;

/// Rows one transaction goes over.
#[derive(Debug, Clone)]
pub(crate) enum Part {
    /// Those from this block on, up to [`BLOCKS_AT_ONCE`] blocks.
    From(u64),
    These(Vec<u64>),
}

/// The rows of a run, cut into parts.
#[derive(Debug)]
pub(crate) enum Parts {
    /// From this block on; `None` at the end.
    Blocks(Option<u64>),
    Rows(std::collections::VecDeque<Vec<u64>>),
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

/// Queues cells in part of the rows; `limit` counts down. A dry run takes no lock and leaves nothing.
pub(crate) async fn trigger(
    tx: &mut Tx,
    documents: &Documents,
    trigger: &Trigger,
    part: &Part,
    limit: u64,
) -> Result<(Done<u64>, Vec<Change>)> {
    let state = if trigger.dry_run {
        projects::existing(tx, trigger.project).await?
    } else {
        projects::lock_one(tx, trigger.project).await?
    };
    let (positions, next_block) = match part {
        Part::These(positions) => (live_of(tx, &state, positions).await?, None),
        Part::From(first) => {
            let last = block_of(state.next_position.saturating_sub(1));
            let end = (first + BLOCKS_AT_ONCE - 1).min(last);
            (live_in(tx, &state, *first, end).await?, (end < last).then_some(end + 1))
        }
    };
    let mut desk = Desk::open(tx, documents, state).await?;
    let blocks: BTreeSet<u64> = positions.iter().copied().map(block_of).collect();
    desk.load(tx, [], blocks).await?;
    let mut count = 0;
    for position in positions {
        if count == limit {
            break;
        }
        if desk.step(position, |steps| steps.trigger(&trigger.pick))? {
            count += 1;
        }
    }
    let is_idle = count == 0 || trigger.dry_run;
    let changes = if is_idle { Vec::new() } else { vec![desk.finish(tx, trigger.now_ms)?] };
    Ok((Done { count, next_block }, changes))
}

/// Puts cells back in part of the rows; says which workers lost some.
pub(crate) async fn stop(
    tx: &mut Tx,
    documents: &Documents,
    stop: &Stop,
    part: &Part,
) -> Result<(Done<(Stopped, BTreeSet<Uuid>)>, Vec<Change>)> {
    let state = projects::lock_one(tx, stop.project).await?;
    let mut desk = Desk::open(tx, documents, state).await?;
    let (positions, next_block): (Vec<u64>, Option<u64>) = match part {
        Part::These(positions) => {
            let blocks: BTreeSet<u64> = positions.iter().copied().map(block_of).collect();
            desk.load(tx, [], blocks).await?;
            (positions.clone(), None)
        }
        Part::From(first) => {
            let blocks = desk.load_blocks_from(tx, *first, BLOCKS_AT_ONCE).await?;
            let is_full = u64::try_from(blocks.len()).is_ok_and(|len| len == BLOCKS_AT_ONCE);
            let next_block = blocks.last().filter(|_| is_full).map(|last| last + 1);
            let places = |block: u64| (0..=u8::MAX).map(move |place| position_of(block, place));
            (blocks.into_iter().flat_map(places).collect(), next_block)
        }
    };
    let mut stopped = Stopped::default();
    for position in positions {
        if desk.has_block(block_of(position)) {
            let cells = desk.step(position, |steps| steps.stop(stop.slots.as_deref()))?;
            stopped.rows += u64::from(cells > 0);
            stopped.cells += cells;
        }
    }
    let losers = desk.losers();
    let changes = if stopped.cells == 0 { Vec::new() } else { vec![desk.finish(tx, stop.now_ms)?] };
    Ok((Done { count: (stopped, losers), next_block }, changes))
}

pub(crate) async fn standing(
    tx: &mut Tx,
    documents: &Documents,
    project: ProjectId,
) -> Result<Option<Standing>> {
    let Some(state) = projects::state(tx, project).await? else { return Ok(None) };
    let parsed = projects::planned(tx, documents, &state).await?;
    standing_of(parsed, &state).map(Some)
}

/// How a project stands of which this is known.
pub(crate) fn standing_of(parsed: Parsed, state: &State) -> Result<Standing> {
    Ok(Standing {
        project: parsed.project,
        plan: parsed.plan,
        tally: state.tally()?,
        row_count: state.row_count,
        updated_at_ms: state.tallied_at,
    })
}

/// Which of these positions have a row, in the order given.
async fn live_of(tx: &mut Tx, state: &State, positions: &[u64]) -> Result<Vec<u64>> {
    let asked: Vec<i64> = positions.iter().copied().map(signed).collect();
    let sql = "SELECT position FROM rowmill.rows WHERE project = $1 AND position = ANY($2)";
    let found = tx.query(sql, &[&state.num, &asked]).await?;
    let live: BTreeSet<u64> = found.iter().map(|row| unsigned(row.get(0))).collect();
    Ok(positions.iter().copied().filter(|position| live.contains(position)).collect())
}

/// The positions that have a row, in a run of blocks. Rows are looked at only where some were deleted.
async fn live_in(tx: &mut Tx, state: &State, first: u64, last: u64) -> Result<Vec<u64>> {
    let sql = "SELECT segment, count FROM rowmill.live \
               WHERE project = $1 AND level = 0 AND segment BETWEEN $2 AND $3 ORDER BY segment";
    let runs = tx.query(sql, &[&state.num, &signed(first), &signed(last)]).await?;
    let mut live = Vec::new();
    for run in &runs {
        let start = unsigned(run.get(0)) << BLOCK_BITS;
        let span = state.next_position.saturating_sub(start).min(1 << BLOCK_BITS);
        if unsigned(run.get(1)) != span {
            let sql = "SELECT position FROM rowmill.rows WHERE project = $1 AND position BETWEEN $2 AND $3 \
                       ORDER BY position";
            let range = (signed(first << BLOCK_BITS), signed(((last + 1) << BLOCK_BITS) - 1));
            let found = tx.query(sql, &[&state.num, &range.0, &range.1]).await?;
            return Ok(found.iter().map(|row| unsigned(row.get(0))).collect());
        }
        live.extend(start..start + span);
    }
    Ok(live)
}
