//! The settler: writes results into the store, in batches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rowmill_model::record::Slot;
use rowmill_model::{Column, ColumnId, Project, ProjectId, Table};
use rowmill_store::{Lane, Settle, Settled, Settlement, Ticket};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use crate::cell_runner::Capacity;
use crate::dispatch::start;
use crate::measure::count_settled;
use crate::results::{BATCH_WINDOW, Finished};
use crate::shared::Shared;

/// Nobody waits for more than that.
const BATCH_ENOUGH: usize = 1_024;

/// Writes results until nobody can hand in any more.
pub(crate) async fn settle(shared: Arc<Shared>, results: Vec<UnboundedReceiver<Finished>>) {
    let mut writers: JoinSet<()> =
        results.into_iter().map(|results| write(Arc::clone(&shared), results)).collect();
    while writers.join_next().await.is_some() {}
}

/// Writes whatever has finished in one transaction, again and again. While one is under way the next
/// batch gathers. A batch that fails is kept and written again: a result that was written already has no
/// ticket any more, so nothing is written twice.
async fn write(shared: Arc<Shared>, mut results: UnboundedReceiver<Finished>) {
    let mut finished = Vec::new();
    let most = shared.config.settle_cells_max;
    while results.recv_many(&mut finished, most).await > 0 {
        if finished.len() < BATCH_ENOUGH && shared.claim_ahead.is_quick() {
            shared.clock.sleep(BATCH_WINDOW).await;
            while finished.len() < most
                && let Ok(result) = results.try_recv()
            {
                finished.push(result);
            }
        }
        let may_go_on = shared.claim_ahead.is_quick() && !shared.permits.is_closed();
        let asks = if may_go_on { next_of(&shared, &finished).await } else { Vec::new() };
        let batch: Vec<Settlement> = finished.drain(..).map(|finished| finished.settlement).collect();
        // Before the claim, so that no revocation of its tickets is missed.
        let number = shared.in_flight.begin_claim();
        let Settled { taken, claimed } = loop {
            let (worker, now_ms) = (shared.worker, shared.clock.now().as_millisecond());
            let next =
                (!asks.is_empty()).then(|| shared.claim_of(asks.clone(), shared.config.claim_bytes_max));
            let settle = Settle { worker, now_ms, results: batch.clone(), next };
            match shared.store.settle_and_claim(settle).await {
                Ok(done) => break done,
                Err(error) => shared.store_failed("settle", &error).await,
            }
        };
        start(&shared, claimed);
        shared.in_flight.end_claim(number);
        count_settled(&batch, &taken);
        let tickets: Vec<Ticket> = batch.into_iter().map(|settlement| settlement.ticket).collect();
        shared.runner.settled(&tickets).await;
        shared.in_flight.settled(tickets);
        shared.wake.notify_one();
    }
}

/// The cells that waited for these results are begun along with writing them, where there is room for all of them: a
/// row goes through quick columns without being looked for again. Where a rate or a slow call holds them back
/// there is nothing to be gained, and whoever else waits has their turn first.
async fn next_of(shared: &Shared, finished: &[Finished]) -> Vec<(Lane, u32)> {
    let mut settled: BTreeMap<ProjectId, (&Arc<Project>, BTreeSet<Slot>)> = BTreeMap::new();
    for Finished { settlement, project } in finished {
        if let Some(project) = project {
            let (_, slots) = settled.entry(project.id).or_insert_with(|| (project, BTreeSet::new()));
            slots.insert(settlement.ticket.lane.slot);
        }
    }
    // They take the places of those that are done.
    let (_, in_flight) = shared.in_flight.load();
    let free = (2 * shared.in_flight_max() + finished.len()).saturating_sub(in_flight).min(finished.len());
    let mut demands = Vec::new();
    for (project, slots) in settled.into_values() {
        // Money is set aside by the dispatcher alone.
        if shared.budgets.settings.has_caps(project.team) {
            continue;
        }
        for column in waiting_for(&project.table, &slots).filter(|column| !column.is_in_batches()) {
            let capacity = shared.runner.capacity(project, column).await;
            demands.push((Lane { project: project.id, slot: column.slot }, capacity));
        }
    }
    let needed = free * demands.len();
    let has_room = |capacity: &Capacity| capacity.limits.iter().all(|(_, available)| *available >= needed);
    let free = u32::try_from(free).unwrap_or(u32::MAX);
    demands.into_iter().filter(|(_, capacity)| has_room(capacity)).map(|(lane, _)| (lane, free)).collect()
}

/// The columns that wait for some of these.
fn waiting_for<'a>(table: &'a Table, slots: &BTreeSet<Slot>) -> impl Iterator<Item = &'a Column> {
    let columns = &table.columns;
    let settled: BTreeSet<&ColumnId> =
        columns.iter().filter(|column| slots.contains(&column.slot)).map(|column| &column.id).collect();
    columns.iter().filter(move |column| {
        column.dependencies.iter().any(|dependency| settled.contains(&dependency.column_id))
    })
}

#[cfg(test)]
mod tests {
    use rowmill_model::ColumnType;
    use rowmill_model::column::Dependency;

    use super::*;

    #[test]
    fn what_depends_on_a_settled_column_waits_for_it() {
        let mut table = Table::new();
        for (name, needs) in [("a", None), ("b", Some("a")), ("c", Some("b")), ("d", Some("a"))] {
            table.push_manual(ColumnId::new(name), name);
            if let (Some(column), Some(needs)) = (table.columns.last_mut(), needs) {
                column.kind = ColumnType::Ai;
                column.dependencies = vec![Dependency { column_id: ColumnId::new(needs), required: true }];
            }
        }
        let slot = |name: &str| table.by_id(name).unwrap().slot;
        let names = |slots: &[&str]| -> Vec<&str> {
            let slots = slots.iter().map(|name| slot(name)).collect();
            waiting_for(&table, &slots).map(|column| column.id.as_str()).collect()
        };
        assert_eq!(names(&["a"]), ["b", "d"]);
        assert_eq!(names(&["a", "b"]), ["b", "c", "d"]);
        assert_eq!(names(&["c", "d"]), [""; 0]);
    }
}
