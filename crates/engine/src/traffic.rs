//! The ways out: who may be called now, and who rests.
//!
//! A call passes a row of [`Post`]s: the credential it uses or the host it goes to, and its column's own
//! rate. It passes all of them or none, and while it is under way it holds a [`Pass`] of each. Where other
//! nodes pass the same posts, turns are handed out by their database (see [`crate::others`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use rowmill_model::column::RateLimit;
use rowmill_model::{CellError, ErrorCode};
use rowmill_providers::{Clock, Failure, FailureKind};
use rowmill_store::Turns;
use tokio::sync::Notify;

use crate::breaker::Breaker;
use crate::caller::{Cell, Outcome, Room};
use crate::digest::Digest;
use crate::governor::Governor;
use crate::others::take_turns;

/// Everything that is governed, of all projects. Cheap to clone; clones are the same.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    posts: Arc<Mutex<Posts>>,
    /// Rung when other nodes must be asked or told something; none if there are no others.
    others: Option<Arc<Notify>>,
}

#[derive(Debug, Default)]
pub(crate) struct Posts {
    pub(crate) entries: BTreeMap<Digest, Entry>,
    /// Those for which turns are wanted, or of which others must hear.
    pub(crate) asking: BTreeSet<Digest>,
}

/// Something a call must pass.
#[derive(Debug, Clone)]
pub struct Post {
    pub key: Digest,
    /// All of them hold at once.
    pub rates: Vec<RateLimit>,
    /// Calls at the same time.
    pub at_once_max: usize,
    /// Whether it is rested when its calls keep failing.
    pub breaks: bool,
}

/// Why nothing can begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// When to ask again; `None` if another call must end first.
    pub opens_at: Option<Timestamp>,
}

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) governor: Governor,
    /// Only where failing calls are to be rested.
    pub(crate) breaker: Option<Breaker>,
    /// When a call last began.
    pub(crate) used_at: Timestamp,
    /// A rest that other nodes have not heard of.
    pub(crate) untold_rest: Duration,
}

/// How many posts are remembered. Those that behave as new ones would are forgotten first.
const POSTS_MAX: usize = 10_000;
/// The longest rest the other side can ask for.
const REST_MAX: Duration = Duration::from_hours(1);
/// How soon to ask again where another call must end first.
const LOOK_AGAIN: Duration = Duration::from_millis(100);
/// How soon a cell that was put back for that reason is taken again.
const COME_BACK: Duration = Duration::from_secs(1);

impl Traffic {
    /// For a process that is one of several: what others call counts, too. Inside a runtime.
    pub fn among_others(turns: Arc<dyn Turns>, clock: Arc<dyn Clock>) -> Self {
        let others = Arc::new(Notify::new());
        let traffic = Self { posts: Arc::default(), others: Some(Arc::clone(&others)) };
        tokio::spawn(take_turns(Arc::downgrade(&traffic.posts), others, turns, clock));
        traffic
    }

    /// How many calls may begin now, by post.
    pub fn room(&self, posts: &[Post], now: Timestamp) -> Room {
        let mut known = self.lock();
        let mut room = Room::default();
        for post in posts {
            let stands = |entry: &Entry| (entry.available(now), entry.opens_at(now));
            let entry = known.entries.get(&post.key);
            let (available, opens_at) = entry.map_or_else(|| stands(&self.entry(post)), stands);
            if available == 0 {
                self.ask(&mut known, post, now);
            }
            room.limits.push((post.key, available));
            if available == 0 {
                room.again_at = room.again_at.max(opens_at);
            }
        }
        room
    }

    /// Whether nobody knows when this post opens, or later than the given time.
    pub fn rests_beyond(&self, post: &Post, time: Timestamp) -> bool {
        self.lock().entries.get(&post.key).and_then(|entry| entry.opens_at(time)).is_some()
    }

    /// Begins a call, if all posts are open.
    pub fn enter(&self, posts: &[Post], now: Timestamp) -> Result<Pass, Closed> {
        let mut known = self.lock();
        make_room(&mut known.entries, posts.len(), now);
        let mut closed = None;
        for post in posts {
            let entry = known.entries.entry(post.key).or_insert_with(|| self.entry(post));
            if entry.available(now) == 0 {
                let closed: &mut Closed = closed.get_or_insert(Closed { opens_at: None });
                closed.opens_at = closed.opens_at.max(entry.opens_at(now));
                self.ask(&mut known, post, now);
            }
        }
        if let Some(closed) = closed {
            return Err(closed);
        }
        for post in posts {
            if let Some(entry) = known.entries.get_mut(&post.key) {
                entry.begin(now);
            }
        }
        Ok(Pass { traffic: self.clone(), keys: posts.iter().map(|post| post.key).collect(), told: false })
    }

    /// Begins a call, after waiting for it a little. If that is not enough the cell is put back.
    pub async fn pass(
        &self,
        posts: &[Post],
        cell: &Cell,
        clock: &dyn Clock,
        patience: Duration,
    ) -> Result<Pass, Outcome> {
        let mut waited = Duration::ZERO;
        loop {
            let now = clock.now();
            // Taken away: what comes of it is dropped, but nothing may begin.
            let closed =
                if cell.is_revoked() { Err(Closed { opens_at: None }) } else { self.enter(posts, now) };
            let Closed { opens_at } = match closed {
                Ok(pass) => return Ok(pass),
                Err(closed) => closed,
            };
            let wait = opens_at.map_or(LOOK_AGAIN, |opens_at| until(now, opens_at));
            waited = waited.saturating_add(wait);
            if waited > patience || cell.is_revoked() {
                let come_back = now.saturating_add(COME_BACK).unwrap_or(now);
                let at = opens_at.unwrap_or(come_back);
                let message =
                    "It waits for its turn: whoever is asked is paused, or is asked as often as allowed.";
                return Err(Outcome::Later(
                    at,
                    CellError { code: ErrorCode::RateLimited, message: message.into() },
                ));
            }
            clock.sleep(wait).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Posts> {
        self.posts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn entry(&self, post: &Post) -> Entry {
        Entry {
            governor: Governor::new(&post.rates, post.at_once_max, self.others.is_some()),
            breaker: post.breaks.then(Breaker::default),
            used_at: Timestamp::MIN,
            untold_rest: Duration::ZERO,
        }
    }

    /// Asks the other nodes for turns, where there are others and turns are what is missing.
    fn ask(&self, known: &mut Posts, post: &Post, now: Timestamp) {
        let Some(others) = &self.others else { return };
        make_room(&mut known.entries, 1, now);
        let entry = known.entries.entry(post.key).or_insert_with(|| self.entry(post));
        if entry.governor.runs_short(now) && known.asking.insert(post.key) {
            others.notify_one();
        }
    }
}

/// From now to then, and never nothing: nobody waits in a circle.
pub(crate) fn until(now: Timestamp, then: Timestamp) -> Duration {
    Duration::try_from(then.duration_since(now)).unwrap_or_default().max(Duration::from_millis(1))
}

impl Entry {
    fn available(&self, now: Timestamp) -> usize {
        let unbroken = self.breaker.as_ref().map_or(usize::MAX, |breaker| breaker.available(now));
        self.governor.available(now).min(unbroken)
    }

    fn opens_at(&self, now: Timestamp) -> Option<Timestamp> {
        let rested = self.breaker.as_ref().and_then(|breaker| breaker.opens_at(now));
        self.governor.opens_at(now).max(rested)
    }

    fn begin(&mut self, now: Timestamp) {
        self.used_at = now;
        self.governor.begin(now);
        if let Some(breaker) = &mut self.breaker {
            breaker.begin();
        }
    }

    fn is_fresh(&self, now: Timestamp) -> bool {
        self.governor.is_fresh(now) && self.breaker.as_ref().is_none_or(Breaker::is_fresh)
    }
}

fn make_room(entries: &mut BTreeMap<Digest, Entry>, wanted: usize, now: Timestamp) {
    if entries.len() + wanted <= POSTS_MAX {
        return;
    }
    entries.retain(|_, entry| !entry.is_fresh(now));
    // More than that rest or run: forgetting one may let a call through that should have waited, which is
    // better than to remember without end.
    while entries.len() + wanted > POSTS_MAX {
        entries.pop_first();
    }
}

/// The right to make one call. Dropped without a word, it says nothing about the other side.
#[derive(Debug)]
#[must_use]
pub struct Pass {
    traffic: Traffic,
    keys: Vec<Digest>,
    told: bool,
}

impl Pass {
    /// Tells how the call ended.
    pub fn report<T>(mut self, outcome: &Result<T, Failure>, now: Timestamp) {
        self.told = true;
        self.end(|entry| {
            let Some(breaker) = &mut entry.breaker else { return };
            match outcome {
                Err(Failure { kind, may_pass: true, retry_after, .. }) => {
                    if let Some(rest) = retry_after.map(|rest| rest.min(REST_MAX)) {
                        entry.governor.rest(now, rest);
                        entry.untold_rest = entry.untold_rest.max(rest);
                    }
                    // To be told when to come back is an answer.
                    if *kind == FailureKind::RateLimited && retry_after.is_some() {
                        breaker.answered();
                    } else {
                        breaker.failed(now);
                        if let Some(opens_at) = breaker.opens_at(now) {
                            entry.untold_rest = entry.untold_rest.max(until(now, opens_at));
                        }
                    }
                }
                Ok(_) | Err(_) => breaker.answered(),
            }
        });
    }

    fn end(&self, mut tell: impl FnMut(&mut Entry)) {
        let mut known = self.traffic.lock();
        let Posts { entries, asking } = &mut *known;
        for key in &self.keys {
            let Some(entry) = entries.get_mut(key) else { continue };
            entry.governor.end();
            tell(entry);
            if let Some(others) = &self.traffic.others
                && !entry.untold_rest.is_zero()
                && asking.insert(*key)
            {
                others.notify_one();
            }
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if !self.told {
            self.end(|entry| {
                if let Some(breaker) = &mut entry.breaker {
                    breaker.abandoned();
                }
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaker::FAILURES_MAX;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_000 + seconds).unwrap()
    }

    fn post(name: &str, requests: u32, breaks: bool) -> Post {
        let rates = vec![RateLimit { requests, per_seconds: 10 }];
        Post { key: Digest::of([name]), rates, at_once_max: 100, breaks }
    }

    #[test]
    fn all_posts_are_passed_or_none() {
        let traffic = Traffic::default();
        let (narrow, wide) = (post("narrow", 1, true), post("wide", 1_000, true));
        let both = [wide.clone(), narrow.clone()];
        let pass = traffic.enter(&both, at(0)).unwrap();
        assert_eq!(traffic.enter(&both, at(0)).unwrap_err(), Closed { opens_at: Some(at(10)) });
        let room = traffic.room(&both, at(0));
        assert_eq!(room.limits, [(wide.key, 99), (narrow.key, 0)]);
        assert_eq!(room.again_at, Some(at(10)));
        drop(pass);
        assert!(traffic.enter(&both, at(10)).is_ok());
        assert_eq!(traffic.room(&[post("unknown", 100, false)], at(0)).limits[0].1, 10);
    }

    #[test]
    fn failures_rest_the_post_and_a_told_wait_is_kept() {
        let traffic = Traffic::default();
        let host = [post("host", 1_000_000, true)];
        let fail = |kind, retry_after: Option<u64>| {
            let mut failure = Failure::new(kind, "");
            failure.may_pass = true;
            failure.retry_after = retry_after.map(Duration::from_secs);
            traffic.enter(&host, at(0)).unwrap().report::<()>(&Err(failure), at(0));
        };
        for _ in 0..FAILURES_MAX {
            fail(FailureKind::ProviderError, None);
        }
        assert_eq!(traffic.enter(&host, at(4)).unwrap_err().opens_at, Some(at(5)));
        assert!(traffic.rests_beyond(&host[0], at(4)) && !traffic.rests_beyond(&host[0], at(5)));
        let probe = traffic.enter(&host, at(5)).unwrap();
        assert_eq!(traffic.enter(&host, at(5)).unwrap_err(), Closed { opens_at: None });
        probe.report(&Ok(()), at(5));
        let mut told = Failure::new(FailureKind::RateLimited, "");
        told.retry_after = Some(Duration::from_hours(9));
        traffic.enter(&host, at(6)).unwrap().report::<()>(&Err(told), at(6));
        assert_eq!(traffic.enter(&host, at(7)).unwrap_err().opens_at, Some(at(3_606)));
    }

    #[test]
    fn posts_are_forgotten() {
        let traffic = Traffic::default();
        for number in 0..POSTS_MAX + 50 {
            drop(traffic.enter(&[post(&number.to_string(), 1, true)], at(0)));
        }
        assert_eq!(traffic.lock().entries.len(), POSTS_MAX);
        drop(traffic.enter(&[post("one", 1, true)], at(100)));
        assert_eq!(traffic.lock().entries.len(), 1);
    }
}
