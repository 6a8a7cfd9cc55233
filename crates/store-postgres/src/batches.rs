//! Batches of cells that a provider works off.

use std::collections::BTreeSet;

use async_trait::async_trait;
use rowmill_model::{ProjectId, TeamId};
use rowmill_store::batches::{Batch, BatchLease, BatchRecord, BatchStore};
use rowmill_store::spending::LedgerEntry;
use rowmill_store::{Lane, Result, WorkerId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::convert::narrow;
use crate::database::CommitDoubt::{Repeat, Tell};
use crate::ledger;
use crate::store::PostgresStore;
use crate::transaction::Tx;

#[async_trait]
impl BatchStore for PostgresStore {
    async fn open_batch(&self, batch: Batch, lease: BatchLease) -> Result<()> {
        self.node()
            .write(Repeat, (batch, lease), |tx, (batch, lease)| Box::pin(open(tx, batch, *lease)))
            .await
    }

    async fn take_batch(
        &self,
        lease: BatchLease,
        now_ms: i64,
        except: BTreeSet<TeamId>,
    ) -> Result<Option<Batch>> {
        let except: Vec<Uuid> = except.iter().map(|team| team.0).collect();
        let sql = "SELECT 1 FROM rowmill.batches WHERE due_at <= $1 AND held_until <= $1 AND team <> ALL ($2) LIMIT 1";
        if self.node.database.ask(sql, &[&now_ms, &except]).await?.is_empty() {
            return Ok(None);
        }
        let taken = self
            .node()
            .write(Tell, (lease, now_ms, except), |tx, (lease, now_ms, except)| {
                Box::pin(take(tx, *lease, *now_ms, except))
            })
            .await?;
        if let Some(batch) = &taken {
            // Who stops its cells need not ask the other nodes.
            self.node.change_bus.register_worker(batch.id);
        }
        Ok(taken)
    }

    async fn save_batch(
        &self,
        batch: Batch,
        lease: BatchLease,
        due_at_ms: i64,
        charge: Option<LedgerEntry>,
    ) -> Result<bool> {
        // What is charged is added: doing it twice would count it twice.
        let doubt = if charge.is_some() { Tell } else { Repeat };
        self.node()
            .write(doubt, (batch, lease, due_at_ms, charge), |tx, (batch, lease, due_at_ms, charge)| {
                Box::pin(async move {
                    let is_saved = save(tx, batch, *lease, *due_at_ms).await?;
                    if let Some(entry) = charge.as_ref().filter(|_| is_saved) {
                        ledger::add(tx, batch.team, batch.lane.project, std::slice::from_ref(entry));
                    }
                    Ok(is_saved)
                })
            })
            .await
    }

    async fn hold_batch(&self, id: Uuid, lease: BatchLease) -> Result<bool> {
        self.node().write(Repeat, (id, lease), |tx, (id, lease)| Box::pin(hold(tx, *id, *lease))).await
    }

    async fn close_batch(&self, id: Uuid, holder: WorkerId) -> Result<()> {
        self.node().write(Repeat, (id, holder), |tx, (id, holder)| Box::pin(close(tx, *id, *holder))).await?;
        self.node.change_bus.forget_worker(id);
        Ok(())
    }

    async fn batches(&self, project: Option<ProjectId>) -> Result<Vec<Batch>> {
        let sql = "SELECT id, team, project, slot, record FROM rowmill.batches \
                   WHERE $1::uuid IS NULL OR project = $1 ORDER BY since, id";
        let found = self.node.database.ask(sql, &[&project.map(ProjectId::uuid)]).await?;
        found.iter().map(read).collect()
    }

    async fn hurry_batches(&self, project: ProjectId, now_ms: i64) -> Result<()> {
        let input = (project, now_ms);
        self.node().write(Repeat, input, |tx, (project, now_ms)| Box::pin(hurry(tx, *project, *now_ms))).await
    }
}

async fn open(tx: &mut Tx, batch: &Batch, lease: BatchLease) -> Result<()> {
    let Batch { id, team, lane, record } = batch;
    let sql = "INSERT INTO rowmill.batches (id, team, project, slot, since, due_at, holder, held_until, record) \
               VALUES ($1, $2, $3, $4, $5, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING";
    let document = record.to_document()?;
    let (project, slot) = (lane.project.uuid(), i64::from(lane.slot));
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 8] =
        [id, &team.0, &project, &slot, &record.since_ms, &lease.holder.0, &lease.until_ms, &document];
    tx.query(sql, &params).await.map(|_| ())
}

async fn take(tx: &mut Tx, lease: BatchLease, now_ms: i64, except: &[Uuid]) -> Result<Option<Batch>> {
    let sql = "UPDATE rowmill.batches SET holder = $2, held_until = $3 WHERE id = (SELECT id FROM rowmill.batches \
               WHERE due_at <= $1 AND held_until <= $1 AND team <> ALL ($4) ORDER BY due_at, id LIMIT 1 \
               FOR UPDATE SKIP LOCKED) \
               RETURNING id, team, project, slot, record";
    let found = tx.query(sql, &[&now_ms, &lease.holder.0, &lease.until_ms, &except]).await?;
    found.first().map(read).transpose()
}

async fn save(tx: &mut Tx, batch: &Batch, lease: BatchLease, due_at_ms: i64) -> Result<bool> {
    let sql = "UPDATE rowmill.batches SET record = $3, held_until = $4, due_at = $5 \
               WHERE id = $1 AND holder = $2 RETURNING 1";
    let document = batch.record.to_document()?;
    let saved = tx.query(sql, &[&batch.id, &lease.holder.0, &document, &lease.until_ms, &due_at_ms]).await?;
    Ok(!saved.is_empty())
}

async fn hold(tx: &mut Tx, id: Uuid, lease: BatchLease) -> Result<bool> {
    let sql = "UPDATE rowmill.batches SET held_until = $3 WHERE id = $1 AND holder = $2 RETURNING 1";
    Ok(!tx.query(sql, &[&id, &lease.holder.0, &lease.until_ms]).await?.is_empty())
}

async fn close(tx: &mut Tx, id: Uuid, holder: WorkerId) -> Result<()> {
    let sql = "DELETE FROM rowmill.batches WHERE id = $1 AND holder = $2";
    tx.query(sql, &[&id, &holder.0]).await.map(|_| ())
}

async fn hurry(tx: &mut Tx, project: ProjectId, now_ms: i64) -> Result<()> {
    let sql = "UPDATE rowmill.batches SET due_at = least(due_at, $2) WHERE project = $1";
    tx.query(sql, &[&project.uuid(), &now_ms]).await.map(|_| ())
}

fn read(row: &Row) -> Result<Batch> {
    let document: &str = row.get(4);
    Ok(Batch {
        id: row.get(0),
        team: TeamId(row.get(1)),
        lane: Lane { project: ProjectId::from_uuid(row.get(2)), slot: narrow(row.get(3))? },
        record: BatchRecord::of_document(document)?,
    })
}
