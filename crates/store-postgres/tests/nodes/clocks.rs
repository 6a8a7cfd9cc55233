//! Nodes whose clocks disagree.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use rowmill_clock::{Clock, SystemClock};
use rowmill_model::ProjectId;
use rowmill_model::cell::Meta;
use rowmill_store::{
    CellResult, Claim, Claimed, IdempotentRequest, Lane, NewRows, Settlement, Store as _, WorkerId,
};
use rowmill_store_postgres::{Options, PostgresStore};
use uuid::Uuid;

use super::setup::{ANSWER, on_a_database, project, rows, trigger};

/// A clock that is minutes off.
#[derive(Debug)]
struct WrongClock {
    ahead_ms: i64,
}

#[async_trait]
impl Clock for WrongClock {
    fn now(&self) -> jiff::Timestamp {
        SystemClock.now() + jiff::SignedDuration::from_millis(self.ahead_ms)
    }

    fn monotonic(&self) -> Instant {
        SystemClock.monotonic()
    }

    async fn sleep(&self, duration: Duration) {
        SystemClock.sleep(duration).await;
    }
}

/// A node on a machine whose clock is wrong, and that clock.
struct Wrong(PostgresStore, Arc<WrongClock>);

impl Wrong {
    async fn open(address: &str, ahead_ms: i64) -> Self {
        let clock = Arc::new(WrongClock { ahead_ms });
        let options = Options { clock: Arc::clone(&clock) as Arc<dyn Clock>, ..Options::default() };
        Self(PostgresStore::connect(address, options).await.unwrap(), clock)
    }

    fn now_ms(&self) -> i64 {
        self.1.now_ms() + self.0.clock_ahead_ms()
    }

    async fn claim(&self, worker: u128, project: ProjectId, lease_ms: i64) -> Vec<Claimed> {
        let (expires_at_ms, now_ms) = (self.now_ms() + lease_ms, self.now_ms());
        let now = jiff::Timestamp::from_millisecond(now_ms).unwrap();
        let (worker, asks) = (WorkerId(Uuid::from_u128(worker)), vec![(Lane { project, slot: ANSWER }, 1)]);
        let claim = Claim { worker, expires_at_ms, now, asks, bytes_max: usize::MAX };
        self.0.claim(claim).await.unwrap()
    }
}

const MINUTES_5_MS: i64 = 5 * 60 * 1_000;

#[test]
fn clocks_that_disagree_by_minutes_do_no_harm() {
    on_a_database(async |address| {
        let fast = Wrong::open(&address, MINUTES_5_MS).await;
        let slow = Wrong::open(&address, -MINUTES_5_MS).await;
        for node in [&fast, &slow] {
            assert!((node.now_ms() - SystemClock.now_ms()).abs() < 5_000, "{}", node.0.clock_ahead_ms());
        }
        let id = project(&fast.0, 1).await;
        fast.0.insert_rows(rows(id, 1, 1)).await.unwrap();
        trigger(&fast.0, id).await;

        // A lease that holds on one node holds on the other, and one that ran out has.
        assert_eq!(slow.claim(1, id, 30_000).await.len(), 1);
        assert_eq!(fast.0.requeue_lost(fast.now_ms()).await.unwrap(), 0);
        slow.0.leave(WorkerId(Uuid::from_u128(1))).await.unwrap();
        assert_eq!(fast.claim(2, id, 1).await.len(), 1);
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert_eq!(slow.0.requeue_lost(slow.now_ms()).await.unwrap(), 1);

        // What one puts off for a moment, the other takes up after a moment.
        let cells = fast.claim(3, id, 30_000).await;
        let error =
            rowmill_model::CellError { code: rowmill_model::ErrorCode::TimedOut, message: String::new() };
        let result = CellResult::Retry { at_ms: fast.now_ms() + 500, error, meta: Meta::new() };
        let settlement = Settlement { ticket: cells[0].ticket, result };
        let worker = WorkerId(Uuid::from_u128(3));
        assert_eq!(fast.0.settle(worker, fast.now_ms(), vec![settlement]).await.unwrap(), [true]);
        let due = slow.0.lanes(slow.now_ms()).await.unwrap().next_due_ms.unwrap() - slow.now_ms();
        assert!((-5_000..=1_000).contains(&due), "{due}");
        let started = SystemClock.monotonic();
        while slow.claim(4, id, 30_000).await.is_empty() {
            assert!(started.elapsed() < Duration::from_secs(20), "the retry is never due");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }

        // A request that is kept for a minute is known for that minute everywhere.
        let once = |node: &Wrong| IdempotentRequest {
            name: [1; 32],
            fingerprint: [2; 32],
            now_ms: node.now_ms(),
            expires_at_ms: node.now_ms() + 60_000,
        };
        let insert = |node: &Wrong, first| NewRows { once: Some(once(node)), ..rows(id, first, 1) };
        let first = slow.0.insert_rows(insert(&slow, 100)).await.unwrap();
        assert_eq!(fast.0.insert_rows(insert(&fast, 200)).await.unwrap(), first);
        assert!(slow.0.recall(once(&slow)).await.unwrap().is_some());
    });
}
