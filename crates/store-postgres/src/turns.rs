//! Rates that all nodes keep together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use rowmill_store::turns::{Answer, Ask};
use rowmill_store::{Result, Turns};
use uuid::Uuid;

use crate::database::{Database, Doubt, Tx};

#[derive(Debug)]
pub(crate) struct SharedTurns(pub(crate) Arc<Database>);

#[async_trait]
impl Turns for SharedTurns {
    async fn take(&self, asks: Vec<Ask>) -> Result<Vec<Answer>> {
        let asks: Arc<[Ask]> = asks.into();
        self.0
            .write(Doubt::Tell, move |tx: &mut Tx| {
                let asks = Arc::clone(&asks);
                Box::pin(async move { take(tx, &asks).await })
            })
            .await
    }
}

/// What is known of one thing, in nanoseconds of the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Past {
    due: Vec<i64>,
    rests_until: i64,
}

async fn take(tx: &mut Tx, asks: &[Ask]) -> Result<Vec<Answer>> {
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
    let now = answers.get(3).and_then(|rows| rows.first()).map_or(0, |row| row.get::<_, i64>(0));
    let mut pasts: BTreeMap<Uuid, Past> = BTreeMap::new();
    for row in answers.iter().skip(1).take(2).flatten() {
        pasts.insert(row.get(0), Past { due: unpack(row.get(1)), rests_until: row.get(2) });
    }
    let mut decided = Vec::with_capacity(asks.len());
    for ask in asks {
        let past = pasts.entry(ask.key).or_insert(Past { due: Vec::new(), rests_until: 0 });
        decided.push(if ask.is_question() {
            let mut past = past.clone();
            ask.decide(&mut past.due, &mut past.rests_until, now)
        } else {
            ask.decide(&mut past.due, &mut past.rests_until, now)
        });
    }
    if !changed.is_empty() {
        let pasts: Vec<&Past> = changed.iter().filter_map(|key| pasts.get(key)).collect();
        let due: Vec<Vec<u8>> = pasts.iter().map(|past| pack(&past.due)).collect();
        let rests: Vec<i64> = pasts.iter().map(|past| past.rests_until).collect();
        let fresh: Vec<i64> = pasts.iter().map(|past| past.fresh_at()).collect();
        tx.at_last(
            "UPDATE rowmill.turns t SET due = n.due, rests_until = n.rests_until, fresh_at = n.fresh_at \
             FROM unnest($1::uuid[], $2::bytea[], $3::int8[], $4::int8[]) n (key, due, rests_until, fresh_at) \
             WHERE t.key = n.key",
            vec![Box::new(changed), Box::new(due), Box::new(rests), Box::new(fresh)],
        );
    }
    Ok(decided)
}

impl Past {
    fn fresh_at(&self) -> i64 {
        self.due.iter().copied().fold(self.rests_until, i64::max)
    }
}

/// Forgets what does not matter any more.
pub(crate) async fn forget(tx: &mut Tx) -> Result<()> {
    let sql = "DELETE FROM rowmill.turns WHERE key IN (SELECT key FROM rowmill.turns WHERE fresh_at < \
               (extract(epoch FROM clock_timestamp()) * 1000000000)::int8 ORDER BY key FOR UPDATE SKIP LOCKED)";
    tx.query(sql, &[]).await.map(|_| ())
}

fn pack(due: &[i64]) -> Vec<u8> {
    due.iter().flat_map(|due| due.to_le_bytes()).collect()
}

fn unpack(bytes: &[u8]) -> Vec<i64> {
    bytes.as_chunks().0.iter().copied().map(i64::from_le_bytes).collect()
}
