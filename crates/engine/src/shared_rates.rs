//! Rate limits shared by all nodes on one database: this node requests calls, and gives back what it did not use.
//!
//! Calls are requested when they are needed, some at a time, and given back if they were not. A pause that one
//! node was told of, or took because calls kept failing, is passed on; the others look for such pauses of
//! whatever they call themselves.

use std::sync::{Arc, Weak};
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_clock::Clock;
use rowmill_store::SharedRates;
use rowmill_store::shared_rates::{RateGrant, RateRequest};
use tokio::sync::Notify;

use crate::digest::Digest;
use crate::limit_state::LimitStates;

/// How often pauses of others are looked for, and calls that nobody used are given back.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(200);
/// How often the other nodes are counted.
const COUNT_EVERY: Duration = Duration::from_secs(1);
/// What was called within this time is looked at.
const USED_WITHIN: Duration = Duration::from_secs(5);
/// Between two questions, so that those who want something at the same time are served together.
const BATCH_WINDOW: Duration = Duration::from_millis(1);
/// Things asked about at once. The rest is asked the next time.
const REQUESTS_MAX: usize = 1_000;

/// Speaks with the other nodes for as long as there is something to speak about.
pub(crate) async fn sync_shared_rates(
    limits: Weak<Mutex<LimitStates>>,
    wake: Arc<Notify>,
    shared_rates: Arc<dyn SharedRates>,
    clock: Arc<dyn Clock>,
) {
    let (mut synced_at, mut counted_at) = (clock.now(), Timestamp::MIN);
    loop {
        tokio::select! {
            () = wake.notified() => clock.sleep(BATCH_WINDOW).await,
            () = clock.sleep(SYNC_EVERY) => {}
        }
        let now = clock.now();
        let syncs = is_over(synced_at, SYNC_EVERY, now);
        let asks = match limits.upgrade() {
            Some(limits) => collect_requests(&mut limits.lock(), now, syncs),
            None => return,
        };
        if syncs {
            synced_at = now;
        }
        if is_over(counted_at, COUNT_EVERY, now) {
            counted_at = now;
            // While the database is away, the last count is as good as any.
            if let (Ok(workers), Some(limits)) = (shared_rates.live_workers().await, limits.upgrade()) {
                limits.lock().workers = workers.max(1);
            }
        }
        if asks.is_empty() {
            continue;
        }
        let (keys, asks): (Vec<Digest>, Vec<RateRequest>) = asks.into_iter().unzip();
        let answers = shared_rates.take(asks).await;
        let Some(limits) = limits.upgrade() else { return };
        match answers {
            Ok(answers) => {
                let mut limits = limits.lock();
                apply_grants(&mut limits, clock.now(), keys.into_iter().zip(answers));
            }
            // Without calls nothing is called, which is right while the database is away.
            Err(error) => {
                tracing::debug!(%error, "could not reserve calls for a shared rate limit");
                clock.sleep(SYNC_EVERY).await;
            }
        }
    }
}

fn is_over(since: Timestamp, time: Duration, now: Timestamp) -> bool {
    Duration::try_from(now.duration_since(since)).is_ok_and(|passed| passed >= time)
}

/// What is to be asked and told now.
fn collect_requests(limits: &mut LimitStates, now: Timestamp, syncs: bool) -> Vec<(Digest, RateRequest)> {
    if syncs {
        let since = now.saturating_sub(USED_WITHIN).unwrap_or(Timestamp::MIN);
        let in_use = limits.entries.iter().filter(|(_, entry)| entry.used_at >= since);
        limits.pending.extend(in_use.map(|(key, _)| *key));
    }
    let mut asks = Vec::new();
    while asks.len() < REQUESTS_MAX
        && let Some(key) = limits.pending.pop_first()
    {
        let Some(entry) = limits.entries.get_mut(&key) else { continue };
        let pause = std::mem::take(&mut entry.unsent_pause);
        let grant_request = entry.rate_limiter.grant_request(now);
        if grant_request.is_none() && entry.breaker.is_none() {
            continue;
        }
        let (spacings, wanted, unused) = grant_request
            .map(|grant_request| (grant_request.spacings, grant_request.wanted, grant_request.unused))
            .unwrap_or_default();
        asks.push((key, RateRequest { key: key.uuid(), spacings, done: 0, unused, wanted, pause }));
    }
    asks
}

fn apply_grants(
    limits: &mut LimitStates,
    now: Timestamp,
    answers: impl Iterator<Item = (Digest, RateGrant)>,
) {
    for (key, RateGrant { granted, due_in, paused_for }) in answers {
        let Some(entry) = limits.entries.get_mut(&key) else { continue };
        if !due_in.is_empty() {
            entry.rate_limiter.receive(now, granted, &due_in);
        }
        if !paused_for.is_zero() {
            entry.rate_limiter.pause(now, paused_for);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use async_trait::async_trait;
    use futures_util::future::join_all;
    use rowmill_clock::RuntimeClock;
    use rowmill_model::column::RateLimit;
    use rowmill_providers::{Failure, FailureKind};
    use rowmill_store::Result;
    use uuid::Uuid;

    use super::*;
    use crate::call_limits::{CallLimit, CallLimits};

    /// A database at some distance.
    #[derive(Debug)]
    struct FakeSharedRates {
        clock: Arc<RuntimeClock>,
        pasts: Mutex<HashMap<Uuid, (Vec<i64>, i64)>>,
        workers: usize,
    }

    #[async_trait]
    impl SharedRates for FakeSharedRates {
        async fn take(&self, asks: Vec<RateRequest>) -> Result<Vec<RateGrant>> {
            self.clock.sleep(Duration::from_millis(1)).await;
            let now = i64::try_from(self.clock.now().as_nanosecond()).unwrap();
            let decide = |ask: &RateRequest| {
                let mut pasts = self.pasts.lock();
                let (due, rests_until) = pasts.entry(ask.key).or_default();
                ask.decide(due, rests_until, now)
            };
            let answers = asks.iter().map(decide).collect();
            self.clock.sleep(Duration::from_millis(1)).await;
            Ok(answers)
        }

        async fn live_workers(&self) -> Result<usize> {
            Ok(self.workers)
        }
    }

    fn nodes(count: usize) -> (Arc<RuntimeClock>, Vec<CallLimits>) {
        let clock = Arc::new(RuntimeClock::new(Timestamp::UNIX_EPOCH));
        let fake_rates =
            Arc::new(FakeSharedRates { clock: Arc::clone(&clock), pasts: Mutex::default(), workers: count });
        let node = || {
            CallLimits::with_shared_rates(
                Arc::<FakeSharedRates>::clone(&fake_rates),
                Arc::<RuntimeClock>::clone(&clock),
            )
        };
        let nodes = (0..count).map(|_| node()).collect();
        (clock, nodes)
    }

    fn limit(requests: u32, has_circuit_breaker: bool) -> CallLimit {
        let rates = if requests == 0 { vec![] } else { vec![RateLimit { requests, per_seconds: 1 }] };
        CallLimit {
            provider: "test",
            key: Digest::of(["post"]),
            rates,
            at_once_max: usize::MAX,
            has_circuit_breaker,
        }
    }

    /// Calls as often as it may until then; when, in milliseconds.
    async fn drive(
        clock: &RuntimeClock,
        call_limits: &CallLimits,
        limit: CallLimit,
        until_ms: i64,
    ) -> Vec<i64> {
        let mut calls = Vec::new();
        let limits = [limit];
        while clock.now().as_millisecond() < until_ms {
            while let Ok(permit) = call_limits.try_acquire(&limits, clock.now()) {
                drop(permit);
                calls.push(clock.now().as_millisecond());
            }
            clock.sleep(Duration::from_millis(1)).await;
        }
        calls
    }

    #[tokio::test(start_paused = true)]
    async fn all_nodes_together_keep_to_the_rate() {
        for (requests, tolerance) in [(5, 0), (40, 1), (200, 5)] {
            let (clock, nodes) = nodes(3);
            let driven = nodes.iter().map(|node| drive(&clock, node, limit(requests, false), 10_000));
            let mut calls: Vec<i64> = join_all(driven).await.concat();
            calls.sort_unstable();
            let most = calls
                .iter()
                .map(|start| calls.iter().filter(|call| (*start..start + 1_000).contains(call)).count())
                .max();
            assert!(most.unwrap() <= requests as usize + tolerance, "{requests}: {most:?}");
            let used = f64::from(u32::try_from(calls.len()).unwrap()) / (f64::from(requests) * 10.0);
            assert!(used > 0.85, "{requests}: only {used} of the rate is used");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn grants_that_are_not_used_are_for_others() {
        let (clock, nodes) = nodes(2);
        let limits = [limit(100, false)];
        // One node calls now and then, and takes ten calls each time.
        let idle = async {
            let mut calls = 0_u32;
            while clock.now().as_millisecond() < 10_000 {
                while nodes[0].try_acquire(&limits, clock.now()).is_err() {
                    clock.sleep(Duration::from_millis(2)).await;
                }
                calls += 1;
                clock.sleep(Duration::from_millis(400)).await;
            }
            calls
        };
        let (few, many) = tokio::join!(idle, drive(&clock, &nodes[1], limit(100, false), 10_000));
        assert!(few > 15, "{few}");
        assert!(many.len() > 750, "{}", many.len());
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_share_what_may_be_done_at_once() {
        for (count, share) in [(1, 8), (2, 4), (3, 2), (20, 1)] {
            let (clock, nodes) = nodes(count);
            assert_eq!(nodes[0].share_of(8), 8, "nobody was counted yet");
            clock.sleep(2 * SYNC_EVERY).await;
            assert_eq!(nodes[0].share_of(8), share, "{count} nodes");
            let limits = [CallLimit { at_once_max: nodes[0].share_of(8), ..limit(0, true) }];
            let permits = std::iter::from_fn(|| nodes[0].try_acquire(&limits, clock.now()).ok());
            assert_eq!(permits.take(9).collect::<Vec<_>>().len(), share);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_is_heard_of_by_all() {
        let (clock, nodes) = nodes(2);
        let limits = [limit(0, true)];
        drop(nodes[1].try_acquire(&limits, clock.now()).unwrap());
        let mut told = Failure::new(FailureKind::RateLimited, "");
        (told.is_transient, told.retry_after) = (true, Some(Duration::from_secs(30)));
        nodes[0].try_acquire(&limits, clock.now()).unwrap().report::<()>(&Err(told), clock.now());
        clock.sleep(2 * SYNC_EVERY).await;
        let closed = nodes[1].try_acquire(&limits, clock.now()).unwrap_err();
        let available_at = closed.available_at.unwrap().as_millisecond();
        assert!((30_000..30_010).contains(&available_at), "{available_at}");
    }
}
