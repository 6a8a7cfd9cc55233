//! Keeping to rates together with other nodes.
//!
//! Turns are asked for when they are needed, some at a time, and given back if they were not. A rest that one
//! node was told of, or took because calls kept failing, is passed on; the others look for such rests of
//! whatever they call themselves.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_providers::Clock;
use rowmill_store::Turns;
use rowmill_store::turns::{Answer, Ask};
use tokio::sync::Notify;

use crate::digest::Digest;
use crate::traffic::Posts;

/// How often rests of others are looked for, and turns that nobody used are given back.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(200);
/// What was called within this time is looked at.
const IN_USE: Duration = Duration::from_secs(5);
/// Between two questions, so that those who want something at the same time are served together.
const GATHER: Duration = Duration::from_millis(1);
/// Things asked about at once. The rest is asked the next time.
const ASKS_MAX: usize = 1_000;

/// Speaks with the other nodes for as long as there is something to speak about.
pub(crate) async fn take_turns(
    posts: Weak<Mutex<Posts>>,
    wake: Arc<Notify>,
    turns: Arc<dyn Turns>,
    clock: Arc<dyn Clock>,
) {
    let mut looked_at = clock.now();
    loop {
        tokio::select! {
            () = wake.notified() => clock.sleep(GATHER).await,
            () = clock.sleep(LOOK_EVERY) => {}
        }
        let now = clock.now();
        let looks = Duration::try_from(now.duration_since(looked_at)).is_ok_and(|since| since >= LOOK_EVERY);
        let asks = match posts.upgrade() {
            Some(posts) => gather(&mut posts.lock().unwrap_or_else(PoisonError::into_inner), now, looks),
            None => return,
        };
        if looks {
            looked_at = now;
        }
        if asks.is_empty() {
            continue;
        }
        let (keys, asks): (Vec<Digest>, Vec<Ask>) = asks.into_iter().unzip();
        let answers = turns.take(asks).await;
        let Some(posts) = posts.upgrade() else { return };
        match answers {
            Ok(answers) => {
                let mut posts = posts.lock().unwrap_or_else(PoisonError::into_inner);
                hand_out(&mut posts, clock.now(), keys.into_iter().zip(answers));
            }
            // Without turns nothing is called, which is right while the database is away.
            Err(error) => {
                tracing::debug!(%error, "no turns could be taken");
                clock.sleep(LOOK_EVERY).await;
            }
        }
    }
}

/// What is to be asked and told now.
fn gather(posts: &mut Posts, now: Timestamp, looks: bool) -> Vec<(Digest, Ask)> {
    if looks {
        let since = now.saturating_sub(IN_USE).unwrap_or(Timestamp::MIN);
        let in_use = posts.entries.iter().filter(|(_, entry)| entry.used_at >= since);
        posts.asking.extend(in_use.map(|(key, _)| *key));
    }
    let mut asks = Vec::new();
    while asks.len() < ASKS_MAX
        && let Some(key) = posts.asking.pop_first()
    {
        let Some(entry) = posts.entries.get_mut(&key) else { continue };
        let rest = std::mem::take(&mut entry.untold_rest);
        let wish = entry.governor.wish(now);
        if wish.is_none() && entry.breaker.is_none() {
            continue;
        }
        let (spacings, wanted, unused) =
            wish.map(|wish| (wish.spacings, wish.wanted, wish.unused)).unwrap_or_default();
        asks.push((key, Ask { key: key.uuid(), spacings, done: 0, unused, wanted, rest }));
    }
    asks
}

fn hand_out(posts: &mut Posts, now: Timestamp, answers: impl Iterator<Item = (Digest, Answer)>) {
    for (key, Answer { granted, due_in, rests_for }) in answers {
        let Some(entry) = posts.entries.get_mut(&key) else { continue };
        if !due_in.is_empty() {
            entry.governor.receive(now, granted, &due_in);
        }
        if !rests_for.is_zero() {
            entry.governor.rest(now, rests_for);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use async_trait::async_trait;
    use futures_util::future::join_all;
    use rowmill_model::column::RateLimit;
    use rowmill_providers::{Failure, FailureKind};
    use rowmill_store::Result;
    use uuid::Uuid;

    use super::*;
    use crate::traffic::{Post, Traffic};

    /// The runtime's clock, which stands still while anybody has something to do.
    #[derive(Debug)]
    struct PausedClock(tokio::time::Instant);

    #[async_trait]
    impl Clock for PausedClock {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH + self.0.elapsed()
        }

        async fn sleep(&self, duration: Duration) {
            tokio::time::sleep(duration).await;
        }
    }

    /// A database at some distance.
    #[derive(Debug)]
    struct Book {
        clock: Arc<PausedClock>,
        pasts: Mutex<HashMap<Uuid, (Vec<i64>, i64)>>,
    }

    #[async_trait]
    impl Turns for Book {
        async fn take(&self, asks: Vec<Ask>) -> Result<Vec<Answer>> {
            self.clock.sleep(Duration::from_millis(1)).await;
            let now = i64::try_from(self.clock.now().as_nanosecond()).unwrap();
            let decide = |ask: &Ask| {
                let mut pasts = self.pasts.lock().unwrap();
                let (due, rests_until) = pasts.entry(ask.key).or_default();
                ask.decide(due, rests_until, now)
            };
            let answers = asks.iter().map(decide).collect();
            self.clock.sleep(Duration::from_millis(1)).await;
            Ok(answers)
        }
    }

    fn nodes(count: usize) -> (Arc<PausedClock>, Vec<Traffic>) {
        let clock = Arc::new(PausedClock(tokio::time::Instant::now()));
        let book = Arc::new(Book { clock: Arc::clone(&clock), pasts: Mutex::default() });
        let node = || Traffic::among_others(Arc::<Book>::clone(&book), Arc::<PausedClock>::clone(&clock));
        let nodes = (0..count).map(|_| node()).collect();
        (clock, nodes)
    }

    fn post(requests: u32, breaks: bool) -> Post {
        let rates = if requests == 0 { vec![] } else { vec![RateLimit { requests, per_seconds: 1 }] };
        Post { key: Digest::of(["post"]), rates, at_once_max: usize::MAX, breaks }
    }

    /// Calls as often as it may until then; when, in milliseconds.
    async fn drive(clock: &PausedClock, traffic: &Traffic, post: Post, until_ms: i64) -> Vec<i64> {
        let mut calls = Vec::new();
        let posts = [post];
        while clock.now().as_millisecond() < until_ms {
            while let Ok(pass) = traffic.enter(&posts, clock.now()) {
                drop(pass);
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
            let driven = nodes.iter().map(|node| drive(&clock, node, post(requests, false), 10_000));
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
    async fn turns_that_are_not_used_are_for_others() {
        let (clock, nodes) = nodes(2);
        let posts = [post(100, false)];
        // One node calls now and then, and takes ten turns each time.
        let idle = async {
            let mut calls = 0_u32;
            while clock.now().as_millisecond() < 10_000 {
                while nodes[0].enter(&posts, clock.now()).is_err() {
                    clock.sleep(Duration::from_millis(2)).await;
                }
                calls += 1;
                clock.sleep(Duration::from_millis(400)).await;
            }
            calls
        };
        let (few, many) = tokio::join!(idle, drive(&clock, &nodes[1], post(100, false), 10_000));
        assert!(few > 15, "{few}");
        assert!(many.len() > 750, "{}", many.len());
    }

    #[tokio::test(start_paused = true)]
    async fn a_rest_is_heard_of_by_all() {
        let (clock, nodes) = nodes(2);
        let posts = [post(0, true)];
        drop(nodes[1].enter(&posts, clock.now()).unwrap());
        let mut told = Failure::new(FailureKind::RateLimited, "");
        (told.may_pass, told.retry_after) = (true, Some(Duration::from_secs(30)));
        nodes[0].enter(&posts, clock.now()).unwrap().report::<()>(&Err(told), clock.now());
        clock.sleep(2 * LOOK_EVERY).await;
        let closed = nodes[1].enter(&posts, clock.now()).unwrap_err();
        let opens_at = closed.opens_at.unwrap().as_millisecond();
        assert!((30_000..30_010).contains(&opens_at), "{opens_at}");
    }
}
