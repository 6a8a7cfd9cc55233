//! Leases and heartbeats: which worker holds which cells, and for how long.

use std::collections::BTreeSet;

use rowmill_model::ProjectId;
use rowmill_model::plan::position_of;
use rowmill_store::{Change, Lane, Result, Ticket, WorkerId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::{narrow, unsigned};
use crate::documents::Documents;
use crate::project_state::{self, Busy};
use crate::row_changes::OpenProjects;
use crate::transaction::Tx;

/// Records a heartbeat: extends the worker's lease. The worker's row is the last that a transaction locks.
pub(crate) fn record_heartbeat(tx: &mut Tx, worker: WorkerId, expires_at_ms: i64) {
    tx.at_last(
        "INSERT INTO rowmill.workers AS w (id, expires_at) VALUES ($1, $2) \
         ON CONFLICT (id) DO UPDATE SET expires_at = greatest(w.expires_at, excluded.expires_at)",
        vec![Box::new(worker.0), Box::new(expires_at_ms)],
    );
}

pub(crate) async fn heartbeat(tx: &mut Tx, worker: WorkerId, expires_at_ms: i64) -> Result<Vec<Ticket>> {
    let sql = "SELECT h.token, c.id, h.slot, h.block, h.places FROM rowmill.claims h \
               JOIN rowmill.counters c USING (project) WHERE h.worker = $1 ORDER BY h.token";
    let found = tx.query(sql, &[&worker.0]).await?;
    record_heartbeat(tx, worker, expires_at_ms);
    read_tickets(&found)
}

/// The tickets of all workers for a project's cells.
pub(crate) async fn tickets_of(tx: &mut Tx, num: i64) -> Result<Vec<Ticket>> {
    let sql = "SELECT h.token, c.id, h.slot, h.block, h.places FROM rowmill.claims h \
               JOIN rowmill.counters c USING (project) WHERE h.project = $1 ORDER BY h.token";
    read_tickets(&tx.query(sql, &[&num]).await?)
}

fn read_tickets(claims: &[Row]) -> Result<Vec<Ticket>> {
    let mut tickets = Vec::new();
    for row in claims {
        let token = unsigned(row.get(0));
        let lane = Lane { project: ProjectId::from_uuid(row.get(1)), slot: narrow(row.get(2))? };
        let block = unsigned(row.get(3));
        let places: &[u8] = row.get(4);
        let ticket = |place: &u8| Ticket { token, lane, position: position_of(block, *place) };
        tickets.extend(places.iter().map(ticket));
    }
    Ok(tickets)
}

/// Which workers are released.
#[derive(Debug, Clone, Copy)]
pub(crate) enum DepartingWorkers {
    One(WorkerId),
    /// All whose lease has expired by this time.
    Lost {
        now_ms: i64,
    },
}

/// The workers that are to be released, and the projects they hold cells of.
pub(crate) async fn departing(
    tx: &mut Tx,
    departing: DepartingWorkers,
) -> Result<(Vec<Uuid>, Vec<ProjectId>)> {
    let workers: Vec<Uuid> = match departing {
        DepartingWorkers::One(worker) => vec![worker.0],
        DepartingWorkers::Lost { now_ms } => {
            // A claim whose worker nobody knows would be held for ever.
            let sql = "SELECT id FROM rowmill.workers WHERE expires_at <= $1 UNION \
                       SELECT worker FROM rowmill.claims h WHERE NOT EXISTS \
                       (SELECT 1 FROM rowmill.workers w WHERE w.id = h.worker)";
            tx.query(sql, &[&now_ms]).await?.iter().map(|row| row.get(0)).collect()
        }
    };
    if workers.is_empty() {
        return Ok((workers, Vec::new()));
    }
    let sql = "SELECT DISTINCT c.id FROM rowmill.claims h JOIN rowmill.counters c USING (project) \
               WHERE h.worker = ANY($1)";
    let found = tx.query(sql, &[&workers]).await?;
    Ok((workers, found.iter().map(|row| ProjectId::from_uuid(row.get(0))).collect()))
}

/// Requeues the cells that workers hold in these projects, and deletes the workers.
pub(crate) async fn release_workers(
    tx: &mut Tx,
    documents: &Documents,
    departing: DepartingWorkers,
    workers: &[Uuid],
    projects: &[ProjectId],
) -> Result<(u64, Vec<Change>)> {
    let states = project_state::lock(tx, projects, Busy::Wait).await?;
    // Checked while the projects are locked: a worker whose heartbeat arrived meanwhile keeps its cells.
    let workers: Vec<Uuid> = match departing {
        DepartingWorkers::One(_) => workers.to_vec(),
        DepartingWorkers::Lost { now_ms } => {
            let sql = "SELECT id FROM rowmill.workers WHERE id = ANY($1) AND expires_at > $2";
            let alive = tx.query(sql, &[&workers, &now_ms]).await?;
            let alive: BTreeSet<Uuid> = alive.iter().map(|row| row.get(0)).collect();
            workers.iter().copied().filter(|worker| !alive.contains(worker)).collect()
        }
    };
    let mut projects = OpenProjects::open(tx, documents, states).await?;
    let mut cells = 0;
    for open in projects.0.values_mut() {
        let sql = "SELECT DISTINCT block FROM rowmill.claims WHERE project = $1 AND worker = ANY($2)";
        let found = tx.query(sql, &[&open.num(), &workers]).await?;
        open.load(tx, [], found.iter().map(|row| unsigned(row.get(0)))).await?;
        cells += open.changes.requeue_of(&workers)?;
    }
    projects.retain_touched();
    let changes = projects.finish(tx, None)?;
    // A worker whose heartbeat arrived meanwhile, or that has other claims by now, stays.
    let expired_by_ms = match departing {
        DepartingWorkers::One(_) => i64::MAX,
        DepartingWorkers::Lost { now_ms } => now_ms,
    };
    tx.at_last(
        "DELETE FROM rowmill.workers w WHERE id = ANY($1) AND expires_at <= $2 \
         AND NOT EXISTS (SELECT 1 FROM rowmill.claims h WHERE h.worker = w.id)",
        vec![Box::new(workers), Box::new(expired_by_ms)],
    );
    Ok((cells, changes))
}
