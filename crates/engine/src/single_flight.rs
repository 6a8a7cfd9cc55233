//! Single-flight: identical calls at the same time are made once. A bounded cache keeps outcomes for later calls.
//!
//! Whoever comes while the same call is under way waits for it and takes its outcome. If the one who makes
//! the call is aborted, the next in line makes it. Finished outcomes are kept where a column says for how
//! long.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Mutex as Queue;

use crate::digest::Digest;

#[derive(Debug)]
pub(crate) struct SingleFlight<T> {
    inner: Mutex<Inner<T>>,
    entries_max: usize,
    bytes_max: usize,
}

#[derive(Debug)]
struct Inner<T> {
    /// Calls under way. The queue's first makes the call and leaves the outcome for the others.
    flights: BTreeMap<Digest, Arc<Queue<Option<T>>>>,
    cached: BTreeMap<Digest, CachedOutcome<T>>,
    /// The kept ones, oldest first. An entry that was replaced stands here twice.
    order: VecDeque<(Digest, Timestamp)>,
    bytes: usize,
}

#[derive(Debug)]
struct CachedOutcome<T> {
    outcome: T,
    until: Timestamp,
    bytes: usize,
}

/// Whether an outcome is somebody else's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Made,
    Shared,
}

impl<T: Clone> SingleFlight<T> {
    pub(crate) fn new(entries_max: usize, bytes_max: usize) -> Self {
        let (flights, cached) = (BTreeMap::new(), BTreeMap::new());
        let inner = Inner { flights, cached, order: VecDeque::new(), bytes: 0 };
        Self { inner: Mutex::new(inner), entries_max, bytes_max }
    }

    /// A kept outcome.
    pub(crate) fn find(&self, key: Digest, now: Timestamp) -> Option<T> {
        let inner = self.lock();
        inner.cached.get(&key).filter(|cached| cached.until > now).map(|cached| cached.outcome.clone())
    }

    /// Keeps an outcome until a time. What does not fit is not kept.
    pub(crate) fn insert(&self, key: Digest, outcome: T, bytes: usize, until: Timestamp) {
        if bytes > self.bytes_max {
            return;
        }
        let inner = &mut *self.lock();
        if let Some(old) = inner.cached.insert(key, CachedOutcome { outcome, until, bytes }) {
            inner.bytes -= old.bytes;
        }
        inner.bytes += bytes;
        inner.order.push_back((key, until));
        while inner.bytes > self.bytes_max || inner.order.len() > self.entries_max {
            let Some((oldest, until)) = inner.order.pop_front() else { break };
            if inner.cached.get(&oldest).is_some_and(|cached| cached.until == until) {
                inner.bytes -= inner.cached.remove(&oldest).map_or(0, |cached| cached.bytes);
            }
        }
    }

    /// Makes a call, unless it is being made, or its outcome is kept at the time `now`. `is_shared` says whether
    /// an outcome is good for others, too; `kept` how large it is and until when it is kept.
    ///
    /// It is kept before the flight ends: whoever looked for it in vain either joins the flight or finds it here.
    pub(crate) async fn run(
        &self,
        key: Digest,
        now: Option<Timestamp>,
        make: impl Future<Output = T>,
        is_shared: impl Fn(&T) -> bool,
        kept: impl Fn(&T) -> Option<(usize, Timestamp)>,
    ) -> (T, Origin) {
        let flight = Flight { all: self, key, queue: self.join(key) };
        let mut place = flight.queue.lock().await;
        if let Some(outcome) = place.clone().or_else(|| self.find(key, now?)) {
            return (outcome, Origin::Shared);
        }
        let outcome = make.await;
        if let Some((bytes, until)) = kept(&outcome) {
            self.insert(key, outcome.clone(), bytes, until);
        }
        if is_shared(&outcome) {
            // Who comes now comes after the call, and makes one of its own.
            let mut inner = self.lock();
            if inner.flights.get(&key).is_some_and(|queue| Arc::ptr_eq(queue, &flight.queue)) {
                inner.flights.remove(&key);
            }
            drop(inner);
            if Arc::strong_count(&flight.queue) > 1 {
                *place = Some(outcome.clone());
            }
        }
        (outcome, Origin::Made)
    }

    fn join(&self, key: Digest) -> Arc<Queue<Option<T>>> {
        let mut inner = self.lock();
        Arc::clone(inner.flights.entry(key).or_insert_with(|| Arc::new(Queue::new(None))))
    }
}

impl<T> SingleFlight<T> {
    fn lock(&self) -> MutexGuard<'_, Inner<T>> {
        self.inner.lock()
    }
}

/// A place in the line for a call. The last to go clears up.
struct Flight<'a, T> {
    all: &'a SingleFlight<T>,
    key: Digest,
    queue: Arc<Queue<Option<T>>>,
}

impl<T> Drop for Flight<'_, T> {
    fn drop(&mut self) {
        let mut inner = self.all.lock();
        let is_last = |queue: &Arc<_>| Arc::ptr_eq(queue, &self.queue) && Arc::strong_count(queue) == 2;
        if inner.flights.get(&self.key).is_some_and(is_last) {
            inner.flights.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[derive(Default)]
    struct Counted(AtomicU32);

    impl Counted {
        async fn call(&self) -> u32 {
            let number = self.0.fetch_add(1, Ordering::Relaxed);
            tokio::time::sleep(Duration::from_secs(1)).await;
            number
        }
    }

    #[tokio::test(start_paused = true)]
    async fn calls_at_once_are_one_and_later_ones_are_their_own() {
        let (single_flight, counted) = (SingleFlight::new(10, 10), Counted::default());
        let (key, other) = (Digest::of(["a"]), Digest::of(["b"]));
        let once = async |key| single_flight.run(key, None, counted.call(), |_| true, |_| None).await;
        let (first, second, third) = tokio::join!(once(key), once(key), once(other));
        assert_eq!((first, second), ((0, Origin::Made), (0, Origin::Shared)));
        assert_eq!(third, (1, Origin::Made));
        assert_eq!(once(key).await, (2, Origin::Made));
        assert!(single_flight.lock().flights.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_next_in_line_takes_over() {
        let (single_flight, counted) = (Arc::new(SingleFlight::new(10, 10)), Arc::new(Counted::default()));
        let key = Digest::of(["a"]);
        let spawn = || {
            let (single_flight, counted) = (Arc::clone(&single_flight), Arc::clone(&counted));
            tokio::spawn(
                async move { single_flight.run(key, None, counted.call(), |_| true, |_| None).await },
            )
        };
        let (first, second, third) = (spawn(), spawn(), spawn());
        tokio::time::sleep(Duration::from_millis(500)).await;
        first.abort();
        assert_eq!(second.await.unwrap(), (1, Origin::Made));
        assert_eq!(third.await.unwrap(), (1, Origin::Shared));
        let alone = spawn();
        tokio::task::yield_now().await;
        alone.abort();
        assert!(alone.await.is_err());
        assert!(single_flight.lock().flights.is_empty(), "nobody is left in the line");
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_not_for_others_is_called_by_each() {
        let (single_flight, counted) = (SingleFlight::new(10, 10), Counted::default());
        let once =
            async || single_flight.run(Digest::of(["a"]), None, counted.call(), |_| false, |_| None).await.0;
        assert_eq!(tokio::join!(once(), once(), once()), (0, 1, 2));
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_looked_too_early_finds_what_is_kept() {
        let (single_flight, counted) = (SingleFlight::new(10, 10), Counted::default());
        let key = Digest::of(["a"]);
        let once =
            async |now| single_flight.run(key, now, counted.call(), |_| true, |_| Some((1, at(10)))).await;
        assert_eq!(single_flight.find(key, at(1)), None);
        assert_eq!(once(Some(at(1))).await, (0, Origin::Made));
        // It looked before the first was answered, and comes after that.
        assert_eq!(once(Some(at(1))).await, (0, Origin::Shared));
        assert_eq!(once(None).await, (1, Origin::Made), "what is kept is not asked for");
        assert_eq!(once(Some(at(10))).await, (2, Origin::Made), "it is too old");
    }

    #[test]
    fn the_cache_is_bounded() {
        let single_flight = SingleFlight::new(3, 100);
        let key = |number: u32| Digest::of([number.to_string().as_str()]);
        for number in 0..5 {
            single_flight.insert(key(number), number, 1, at(10));
        }
        let found =
            |now| (0..6).filter_map(|number| single_flight.find(key(number), at(now))).collect::<Vec<_>>();
        assert_eq!((found(9), found(10)), (vec![2, 3, 4], vec![]));
        single_flight.insert(key(5), 5, 99, at(20));
        assert_eq!((found(9), single_flight.lock().bytes), (vec![4, 5], 100));
        single_flight.insert(key(0), 0, 101, at(20));
        assert_eq!(found(9), [4, 5]);
        // The same again is the newest.
        single_flight.insert(key(4), 4, 1, at(30));
        single_flight.insert(key(1), 1, 1, at(30));
        assert_eq!(found(9), [1, 4]);
    }
}
