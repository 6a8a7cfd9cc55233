//! Short reads run on the async threads. One of these threads is always left for others, so that a disk that does not
//! answer stops what needs the disk, and nothing else.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store::{Result, StoreError};
use tokio::runtime::{Handle, RuntimeFlavor};

/// A short read takes microseconds. If one takes this long, the disk does not answer, and no more are begun.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// The short reads that occupy an async thread.
#[derive(Debug, Default)]
pub(crate) struct ShortReads(Mutex<Vec<Occupied>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Occupied {
    Free,
    /// Waits for the disk since then.
    Reading(Instant),
    /// Has what it read, and works on it. However long that takes, the disk is well.
    Working,
}

impl ShortReads {
    /// Reads here and now; on a thread that the runtime has been told of if all but one of its own are reading.
    pub(crate) fn run<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        self.run_then(read, Ok)
    }

    /// Reads, and does something on the same thread with what was read. Only the reading tells whether the disk answers.
    pub(crate) fn run_then<R, T>(
        &self,
        read: impl FnOnce() -> Result<R>,
        then: impl FnOnce(R) -> Result<T>,
    ) -> Result<T> {
        let Some(threads) = async_threads() else { return then(read()?) };
        match self.enter(SystemClock.monotonic(), threads.saturating_sub(1))? {
            Some(place) => {
                let found = read()?;
                place.set(Occupied::Working);
                then(found)
            }
            None => tokio::task::block_in_place(|| then(read()?)),
        }
    }

    /// A place among so many; none if all are taken.
    fn enter(&self, now: Instant, places: usize) -> Result<Option<Place<'_>>> {
        let mut started = self.0.lock();
        let is_stuck = |occupied: &Occupied| match occupied {
            Occupied::Reading(at) => now.saturating_duration_since(*at) > STUCK_AFTER,
            Occupied::Free | Occupied::Working => false,
        };
        if started.iter().any(is_stuck) {
            return Err(StoreError::StorageFailed("the disk does not answer".into()));
        }
        let places = places.max(started.len());
        started.resize(places, Occupied::Free);
        let free = started.iter_mut().enumerate().find(|(_, occupied)| **occupied == Occupied::Free);
        Ok(free.map(|(index, occupied)| {
            *occupied = Occupied::Reading(now);
            Place { reads: self, index }
        }))
    }
}

struct Place<'r> {
    reads: &'r ShortReads,
    index: usize,
}

impl Place<'_> {
    fn set(&self, occupied: Occupied) {
        if let Some(place) = self.reads.0.lock().get_mut(self.index) {
            *place = occupied;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.set(Occupied::Free);
    }
}

/// How many threads run async tasks here, if this is one of them and others can take over its tasks.
fn async_threads() -> Option<usize> {
    let handle = Handle::try_current().ok()?;
    let is_shared = handle.runtime_flavor() == RuntimeFlavor::MultiThread;
    is_shared.then(|| handle.metrics().num_workers())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_given_back_and_a_stuck_read_lets_nobody_in() {
        let (reads, now) = (ShortReads::default(), SystemClock.monotonic());
        let place = reads.enter(now, 1).unwrap();
        assert!(place.is_some() && reads.enter(now, 1).unwrap().is_none());
        assert!(matches!(reads.enter(now + 2 * STUCK_AFTER, 1), Err(StoreError::StorageFailed(_))));
        drop(place);
        assert!(reads.enter(now + 2 * STUCK_AFTER, 1).unwrap().is_some());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn work_on_what_was_read_is_no_sign_of_a_stuck_disk() {
        let reading = async {
            let reads = ShortReads::default();
            let later = || SystemClock.monotonic() + 2 * STUCK_AFTER;
            let read = || {
                assert!(reads.enter(later(), 1).is_err());
                Ok(())
            };
            // The place is taken as long as the work lasts.
            let then = |()| reads.enter(later(), 1).map(|place| place.is_none());
            reads.run_then(read, then)
        };
        // Only a task runs on a thread that counts.
        assert!(tokio::spawn(reading).await.unwrap().unwrap());
    }
}
