//! Triggering and stopping over many rows: part by part, each in a transaction of its own, so that other writers get
//! in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use rowmill_model::plan::StartedBy;
use rowmill_store::changes::{Part, Parts};
use rowmill_store::{Result, Rows, Stop, Stopped, Trigger, Triggered};

use crate::database::CommitDoubt;
use crate::node::Node;
use crate::retryable::Attempt;
use crate::runs;

/// What is triggered, and who does it.
type Started = Arc<(Trigger, StartedBy)>;

pub(crate) async fn trigger(node: &Arc<Node>, mut trigger: Trigger, by: StartedBy) -> Result<Triggered> {
    let mut parts = Parts::of(std::mem::replace(&mut trigger.rows, Rows::All));
    let (project, dry_run) = (trigger.project, trigger.dry_run);
    let limit = trigger.limit.unwrap_or(u64::MAX);
    let trigger = Arc::new((trigger, by));
    let attempt: Attempt<(Arc<Node>, Started, Part, u64), _> =
        |tx, (node, trigger, part, left)| Box::pin(runs::trigger(tx, &node.documents, trigger, part, *left));
    let mut triggered = Triggered::default();
    while let Some(part) = parts.next_part().filter(|_| triggered.rows < limit) {
        let input = (Arc::clone(node), Arc::clone(&trigger), part, limit - triggered.rows);
        let done = if dry_run {
            node.read(input, attempt).await?.0
        } else {
            node.change(vec![project], CommitDoubt::Tell, input, attempt).await?
        };
        triggered = triggered.and(done.count);
        parts.resume_at(done.next_block);
    }
    Ok(triggered)
}

pub(crate) async fn stop(node: &Arc<Node>, mut stop: Stop) -> Result<Stopped> {
    let mut parts = Parts::of(std::mem::replace(&mut stop.rows, Rows::All));
    let project = stop.project;
    let stop = Arc::new(stop);
    let attempt: Attempt<(Arc<Node>, Arc<Stop>, Part), _> =
        |tx, (node, stop, part)| Box::pin(runs::stop(tx, &node.documents, stop, part));
    let (mut stopped, mut losers) = (Stopped::default(), BTreeSet::new());
    while let Some(part) = parts.next_part() {
        let input = (Arc::clone(node), Arc::clone(&stop), part);
        let done = node.change(vec![project], CommitDoubt::Tell, input, attempt).await?;
        let (count, workers) = done.count;
        stopped.rows += count.rows;
        stopped.cells += count.cells;
        losers.extend(workers);
        parts.resume_at(done.next_block);
    }
    // Once this is answered, no node starts any of these cells.
    node.change_bus.wait_until_heard(losers).await;
    Ok(stopped)
}
