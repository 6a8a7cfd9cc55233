//! Shared rate limits: all nodes take their calls from one table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use rowmill_store::shared_rates::{RateGrant, RateRequest};
use rowmill_store::{Result, SharedRates};
use uuid::Uuid;

use crate::database::{CommitDoubt, Database};
use crate::transaction::Tx;

#[derive(Debug)]
pub(crate) struct PostgresSharedRates(pub(crate) Arc<Database>);

#[async_trait]
impl SharedRates for PostgresSharedRates {
    async fn take(&self, asks: Vec<RateRequest>) -> Result<Vec<RateGrant>> {
        self.0.write(CommitDoubt::Tell, asks, |tx, asks| Box::pin(take(tx, asks))).await
    }

    async fn live_workers(&self) -> Result<usize> {
        self.0.read((), |tx, ()| Box::pin(live_workers(tx))).await
    }
}

/// A worker lives until its lease runs out. Batches hold their cells like workers, but run nothing.
async fn live_workers(tx: &mut Tx) -> Result<usize> {
    let sql = "SELECT count(*) FROM rowmill.workers w WHERE w.expires_at > \
               (extract(epoch FROM clock_timestamp()) * 1000)::int8 AND NOT EXISTS \
               (SELECT 1 FROM rowmill.batches b WHERE b.id = w.id)";
    let found = tx.query(sql, &[]).await?;
    let count = found.first().map_or(0, |row| row.get::<_, i64>(0));
    Ok(usize::try_from(count).unwrap_or_default())
}

/// The state of one rate, in nanoseconds of the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
struct RateState {
    due_ns: Vec<i64>,
    paused_until_ns: i64,
}

async fn take(tx: &mut Tx, asks: &[RateRequest]) -> Result<Vec<RateGrant>> {
    // Whoever locks several does so in order. Questions lock nothing.
    let keys_of = |question: bool| -> Vec<Uuid> {
        let asks = asks.iter().filter(|ask| ask.is_question() == question);
        asks.map(|ask| ask.key).collect::<BTreeSet<Uuid>>().into_iter().collect()
    };
    let (changed, looked_at) = (keys_of(false), keys_of(true));
    let answers = tx
        .queries(&[
            (
                "INSERT INTO rowmill.turns (key) SELECT key FROM unnest($1::uuid[]) key ON CONFLICT DO NOTHING",
                &[&changed],
            ),
            ("SELECT key, due, rests_until FROM rowmill.turns WHERE key = ANY($1)", &[&looked_at]),
            (
                "SELECT key, due, rests_until FROM rowmill.turns WHERE key = ANY($1) ORDER BY key FOR UPDATE",
                &[&changed],
            ),
            ("SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::int8", &[]),
        ])
        .await?;
    let now_ns = answers.get(3).and_then(|rows| rows.first()).map_or(0, |row| row.get::<_, i64>(0));
    let mut states: BTreeMap<Uuid, RateState> = BTreeMap::new();
    for row in answers.iter().skip(1).take(2).flatten() {
        states.insert(row.get(0), RateState { due_ns: unpack(row.get(1)), paused_until_ns: row.get(2) });
    }
    let mut decided = Vec::with_capacity(asks.len());
    for ask in asks {
        let state = states.entry(ask.key).or_insert(RateState { due_ns: Vec::new(), paused_until_ns: 0 });
        decided.push(if ask.is_question() {
            let mut state = state.clone();
            ask.decide(&mut state.due_ns, &mut state.paused_until_ns, now_ns)
        } else {
            ask.decide(&mut state.due_ns, &mut state.paused_until_ns, now_ns)
        });
    }
    if !changed.is_empty() {
        let states: Vec<&RateState> = changed.iter().filter_map(|key| states.get(key)).collect();
        let due: Vec<Vec<u8>> = states.iter().map(|state| pack(&state.due_ns)).collect();
        let rests: Vec<i64> = states.iter().map(|state| state.paused_until_ns).collect();
        let fresh: Vec<i64> = states.iter().map(|state| state.fresh_at_ns()).collect();
        tx.at_last(
            "UPDATE rowmill.turns t SET due = n.due, rests_until = n.rests_until, fresh_at = n.fresh_at \
             FROM unnest($1::uuid[], $2::bytea[], $3::int8[], $4::int8[]) n (key, due, rests_until, fresh_at) \
             WHERE t.key = n.key",
            vec![Box::new(changed), Box::new(due), Box::new(rests), Box::new(fresh)],
        );
    }
    Ok(decided)
}

impl RateState {
    /// From when on nothing needs to be remembered.
    fn fresh_at_ns(&self) -> i64 {
        self.due_ns.iter().copied().fold(self.paused_until_ns, i64::max)
    }
}

/// Forgets rates that have recovered fully.
pub(crate) async fn forget(tx: &mut Tx) -> Result<()> {
    let sql = "DELETE FROM rowmill.turns WHERE key IN (SELECT key FROM rowmill.turns WHERE fresh_at < \
               (extract(epoch FROM clock_timestamp()) * 1000000000)::int8 ORDER BY key FOR UPDATE SKIP LOCKED)";
    tx.query(sql, &[]).await.map(|_| ())
}

fn pack(due_ns: &[i64]) -> Vec<u8> {
    due_ns.iter().flat_map(|due_ns| due_ns.to_le_bytes()).collect()
}

fn unpack(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().copied().map(i64::from_le_bytes).collect()
}
