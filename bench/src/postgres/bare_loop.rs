//! The limit of claiming and settling: a bare `SKIP LOCKED` loop on the service's own tables that does the
//! same writes, row by row and byte by byte, and knows nothing else.
//!
//! Each loop claims blocks of 256 cells that are ready: marks them, notes who has them, takes them off the
//! list, counts, commits. Then it writes the values and details of their rows, marks them, gives the claim
//! back, lists the next column's cells as ready, counts, commits. The counters are a line of its own, so
//! that loops wait for nobody.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rowmill_model::Record;
use rowmill_model::cell::{Detail, Details};
use tokio_postgres::{Client, Row, Statement};
use uuid::Uuid;

use super::cluster::connect;
use crate::any_result::AnyResult;
use crate::settling::COLUMNS;

/// Blocks claimed at once: about as many cells as the engine settles at once.
const BLOCKS: i64 = 4;

const READY: &str = "SELECT project, slot, block FROM rowmill.ready ORDER BY project, slot, block LIMIT $1 \
     FOR UPDATE SKIP LOCKED";
const ROWS: &str = "SELECT r.project, r.position, b.slot, r.vals, r.details \
     FROM unnest($1::int8[], $2::int8[], $3::int8[]) b (project, slot, block) JOIN rowmill.rows r \
     ON r.project = b.project AND r.position BETWEEN b.block * 256 AND b.block * 256 + 255";
const MARKS: &str = "SELECT b.marks FROM unnest($1::int8[], $2::int8[]) a (project, block) \
     JOIN rowmill.blocks b USING (project, block)";
const MARK: &str = "UPDATE rowmill.blocks b SET marks = $3 FROM unnest($1::int8[], $2::int8[]) a (project, block) \
     WHERE b.project = a.project AND b.block = a.block";
const CLAIM: &str = "INSERT INTO rowmill.claims (project, token, worker, slot, block, places) \
     SELECT a.project, a.token, $1, a.slot, a.block, $2 \
     FROM unnest($3::int8[], $4::int8[], $5::int8[], $6::int8[]) a (project, token, slot, block)";
const TAKE: &str = "DELETE FROM rowmill.ready r USING unnest($1::int8[], $2::int8[], $3::int8[]) \
     a (project, slot, block) WHERE r.project = a.project AND r.slot = a.slot AND r.block = a.block";
const COUNT: &str =
    "UPDATE rowmill.counters SET change_seq = change_seq + 1, tally = tally WHERE project = $1";
const LIVE: &str = "INSERT INTO rowmill.workers AS w (id, expires_at) VALUES ($1, $2) \
     ON CONFLICT (id) DO UPDATE SET expires_at = greatest(w.expires_at, excluded.expires_at)";
const SETTLE: &str = "UPDATE rowmill.rows r SET vals = new.vals, details = new.details \
     FROM unnest($1::int8[], $2::int8[], $3::bytea[], $4::bytea[]) new (project, position, vals, details) \
     WHERE r.project = new.project AND r.position = new.position";
const GIVE_BACK: &str = "DELETE FROM rowmill.claims c USING unnest($1::int8[], $2::int8[]) a (project, token) \
     WHERE c.project = a.project AND c.token = a.token";
const GO_ON: &str = "INSERT INTO rowmill.ready (project, slot, block) \
     SELECT a.project, a.slot + 1, a.block FROM unnest($1::int8[], $2::int8[], $3::int8[]) \
     a (project, slot, block) WHERE a.slot < $4";

/// What the store tells its sessions, too: left to itself the planner goes over whole tables now and then.
const BY_INDEX: &str = "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
     SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; \
     SET enable_material = off; SET jit = off";

/// Some loops, connected and prepared.
pub(crate) struct Loops(Vec<Arc<Loop>>);

impl Loops {
    pub(crate) async fn prepare(url: &str, count: usize) -> AnyResult<Self> {
        let mut loops = Vec::new();
        for number in 0..count {
            loops.push(Arc::new(Loop::prepare(connect(url).await?, number).await?));
        }
        Ok(Self(loops))
    }

    /// Runs them until all of these cells are settled; says how long that takes.
    pub(crate) async fn run(&self, cells: usize) -> AnyResult<Duration> {
        let settled = Arc::new(AtomicUsize::new(0));
        let start = Instant::now();
        let running: Vec<_> = self
            .0
            .iter()
            .map(|one| {
                let (one, settled) = (Arc::clone(one), Arc::clone(&settled));
                tokio::spawn(async move { one.run(&settled, cells).await })
            })
            .collect();
        for one in running {
            one.await??;
        }
        Ok(start.elapsed())
    }
}

struct Loop {
    client: Client,
    worker: Uuid,
    /// Its line in the counters.
    line: i64,
    /// Tokens given out.
    tokens: AtomicI64,
    statements: [Statement; 11],
}

/// The cells of one claim: parallel lists.
#[derive(Default)]
struct Batch {
    projects: Vec<i64>,
    slots: Vec<i64>,
    blocks: Vec<i64>,
    tokens: Vec<i64>,
}

/// What is written of rows: parallel lists.
#[derive(Default)]
struct Written {
    projects: Vec<i64>,
    positions: Vec<i64>,
    vals: Vec<Vec<u8>>,
    details: Vec<Option<Vec<u8>>>,
}

impl Loop {
    async fn prepare(client: Client, number: usize) -> AnyResult<Self> {
        let line = 1_000_000 + i64::try_from(number)?;
        let made = "INSERT INTO rowmill.counters (project, id, version, row_count, next_position, change_seq, \
                    lookup_slots, tally, tallied_at) SELECT $1, $2, version, row_count, next_position, change_seq, \
                    lookup_slots, tally, tallied_at FROM rowmill.counters ORDER BY project LIMIT 1";
        let own = Uuid::from_u128(u128::from(line.cast_unsigned()));
        client.execute(made, &[&line, &own]).await?;
        client.batch_execute(BY_INDEX).await?;
        let mut statements = Vec::new();
        for sql in [READY, ROWS, MARKS, MARK, CLAIM, TAKE, COUNT, LIVE, SETTLE, GIVE_BACK, GO_ON] {
            statements.push(client.prepare(sql).await?);
        }
        let statements = statements.try_into().map_err(|_| "a statement is missing")?;
        Ok(Self { client, worker: own, line, tokens: AtomicI64::new(line * 1_000_000), statements })
    }

    async fn run(&self, settled: &AtomicUsize, cells: usize) -> AnyResult {
        while settled.load(Ordering::Relaxed) < cells {
            let Some((batch, rows)) = self.claim().await? else {
                // The others have the rest.
                tokio::time::sleep(Duration::from_millis(1)).await;
                continue;
            };
            settled.fetch_add(self.settle(&batch, &rows).await?, Ordering::Relaxed);
        }
        Ok(())
    }

    async fn claim(&self) -> AnyResult<Option<(Batch, Vec<Row>)>> {
        let [ready, rows, marks, mark, claim, take, count, live, ..] = &self.statements;
        let client = &self.client;
        let ((), found) =
            tokio::try_join!(client.batch_execute("BEGIN"), async { client.query(ready, &[&BLOCKS]).await })?;
        if found.is_empty() {
            client.batch_execute("COMMIT").await?;
            return Ok(None);
        }
        let mut batch = Batch::default();
        for row in &found {
            batch.projects.push(row.get(0));
            batch.slots.push(row.get(1));
            batch.blocks.push(row.get(2));
            batch.tokens.push(self.tokens.fetch_add(1, Ordering::Relaxed));
        }
        let Batch { projects, slots, blocks, tokens } = &batch;
        let places: Vec<u8> = (0..=u8::MAX).collect();
        let (rows, marks) =
            tokio::try_join!(async { client.query(rows, &[projects, slots, blocks]).await }, async {
                client.query(marks, &[projects, blocks]).await
            })?;
        let bytes = marks.first().map(|row| row.get::<_, Vec<u8>>(0)).unwrap_or_default();
        tokio::try_join!(
            async { client.execute(mark, &[projects, blocks, &bytes]).await },
            async { client.execute(claim, &[&self.worker, &places, projects, tokens, slots, blocks]).await },
            async { client.execute(take, &[projects, slots, blocks]).await },
            async { client.execute(count, &[&self.line]).await },
            async { client.execute(live, &[&self.worker, tokens.last().unwrap_or(&0)]).await },
            client.batch_execute("COMMIT")
        )?;
        Ok(Some((batch, rows)))
    }

    async fn settle(&self, batch: &Batch, rows: &[Row]) -> AnyResult<usize> {
        let [_, _, _, mark, _, _, count, _, settle, give_back, go_on] = &self.statements;
        let client = &self.client;
        let mut written = Written::default();
        let detail = Detail { attempts: 1, updated_at_ms: Some(1_700_000_000_000), ..Detail::default() };
        for row in rows {
            let slot = u32::try_from(row.get::<_, i64>(2))?;
            let vals = Record::from_bytes(row.get::<_, &[u8]>(3)).with([(slot, "\"ok\"")])?;
            let mut details =
                row.get::<_, Option<&[u8]>>(4).map(Details::from_bytes).transpose()?.unwrap_or_default();
            details.set(slot, &detail)?;
            written.projects.push(row.get(0));
            written.positions.push(row.get(1));
            written.vals.push(vals.as_bytes().to_vec());
            written.details.push(details.as_bytes().map(<[u8]>::to_vec));
        }
        let Batch { projects, slots, blocks, tokens } = batch;
        let marks = vec![1_u8; 4 * COLUMNS];
        let last = i64::try_from(COLUMNS)?;
        tokio::try_join!(
            client.batch_execute("BEGIN"),
            async {
                client
                    .execute(
                        settle,
                        &[&written.projects, &written.positions, &written.vals, &written.details],
                    )
                    .await
            },
            async { client.execute(mark, &[projects, blocks, &marks]).await },
            async { client.execute(give_back, &[projects, tokens]).await },
            async { client.execute(go_on, &[projects, slots, blocks, &last]).await },
            async { client.execute(count, &[&self.line]).await },
            client.batch_execute("COMMIT")
        )?;
        Ok(rows.len())
    }
}
