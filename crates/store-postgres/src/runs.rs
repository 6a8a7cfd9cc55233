//! Starting and stopping runs, a few blocks at a time.

use std::collections::BTreeSet;

use rowmill_model::ProjectId;
use rowmill_model::plan::{BLOCK_BITS, StartedBy, block_of, position_of};
use rowmill_store::changes::{BLOCKS_AT_ONCE, Part, PartDone, block_after};
use rowmill_store::{Change, ParsedDocument, ProcessingStatus, Result, Stop, Stopped, Trigger, Triggered};
use uuid::Uuid;

use crate::convert::{signed, unsigned};
use crate::documents::{self, Documents};
use crate::project_state::{self, State};
use crate::row_changes::OpenProject;
use crate::transaction::Tx;

/// Queues cells in part of the rows; `limit` counts down. A dry run takes no lock and leaves nothing.
pub(crate) async fn trigger(
    tx: &mut Tx,
    documents: &Documents,
    (trigger, by): &(Trigger, StartedBy),
    part: &Part,
    limit: u64,
) -> Result<(PartDone<Triggered>, Vec<Change>)> {
    let state = if trigger.dry_run {
        project_state::existing(tx, trigger.project).await?
    } else {
        project_state::lock_one(tx, trigger.project).await?
    };
    let (positions, next_block) = match part {
        Part::These(positions) => (live_of(tx, &state, positions).await?, None),
        Part::From(first) => {
            let last = block_of(state.next_position.saturating_sub(1));
            let end = (first + BLOCKS_AT_ONCE - 1).min(last);
            (live_in(tx, &state, *first, end).await?, (end < last).then_some(end + 1))
        }
    };
    let mut open = OpenProject::open(tx, documents, state).await?;
    open.load(tx, [], positions.iter().copied().map(block_of)).await?;
    open.changes.started_by = by.clone();
    if trigger.dry_run {
        let count = open.changes.rehearse(positions, &trigger.pick, limit)?;
        return Ok((PartDone { count, next_block }, Vec::new()));
    }
    let count = open.changes.trigger(positions, &trigger.pick, limit)?;
    let changes = if count.rows == 0 { Vec::new() } else { vec![open.finish(tx, trigger.now_ms)?] };
    Ok((PartDone { count, next_block }, changes))
}

/// Puts cells back in part of the rows; says which workers lost some.
pub(crate) async fn stop(
    tx: &mut Tx,
    documents: &Documents,
    stop: &Stop,
    part: &Part,
) -> Result<(PartDone<(Stopped, BTreeSet<Uuid>)>, Vec<Change>)> {
    let state = project_state::lock_one(tx, stop.project).await?;
    let mut open = OpenProject::open(tx, documents, state).await?;
    let (positions, next_block) = match part {
        Part::These(positions) => {
            open.load(tx, [], positions.iter().copied().map(block_of)).await?;
            (positions.clone(), None)
        }
        Part::From(first) => {
            let blocks = open.load_blocks_from(tx, *first, BLOCKS_AT_ONCE).await?;
            let places =
                |block: &u64| (0..=u8::MAX).map(|place| position_of(*block, place)).collect::<Vec<_>>();
            (blocks.iter().flat_map(places).collect(), block_after(&blocks))
        }
    };
    let stopped = open.changes.stop(positions, stop.slots.as_deref(), matches!(part, Part::From(_)))?;
    let workers = open.changes.workers_revoked();
    let changes = if stopped.cells == 0 { Vec::new() } else { vec![open.finish(tx, stop.now_ms)?] };
    Ok((PartDone { count: (stopped, workers), next_block }, changes))
}

pub(crate) async fn processing_status(
    tx: &mut Tx,
    documents: &Documents,
    project: ProjectId,
) -> Result<Option<ProcessingStatus>> {
    let Some(state) = project_state::state(tx, project).await? else { return Ok(None) };
    let parsed = documents::planned(tx, documents, &state).await?;
    processing_status_of(parsed, &state).map(Some)
}

/// The status of a project whose document and state are known.
pub(crate) fn processing_status_of(parsed: ParsedDocument, state: &State) -> Result<ProcessingStatus> {
    Ok(ProcessingStatus {
        project: parsed.project,
        plan: parsed.plan,
        tally: state.tally()?,
        row_count: state.row_count,
        updated_at_ms: state.tallied_at_ms,
        batches: Vec::new(),
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
