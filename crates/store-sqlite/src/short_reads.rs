//! Short reads run on the async threads. One of these threads is always left for others, so that a disk that does not
//! answer stops what needs the disk, and nothing else.

use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rowmill_clock::{Clock as _, SystemClock};
use rowmill_store::{Result, StoreError};
use tokio::runtime::{Handle, RuntimeFlavor};

/// A short read takes microseconds. If one takes this long, the disk does not answer, and no more are begun.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// When the short reads that occupy an async thread began.
#[derive(Debug, Default)]
pub(crate) struct ShortReads(Mutex<Vec<Option<Instant>>>);

impl ShortReads {
    /// Reads here and now; on a thread that the runtime has been told of if all but one of its own are reading.
    pub(crate) fn run<T>(&self, read: impl FnOnce() -> Result<T>) -> Result<T> {
        let Some(threads) = async_threads() else { return read() };
        match self.enter(SystemClock.monotonic(), threads.saturating_sub(1))? {
            Some(_place) => read(),
            None => tokio::task::block_in_place(read),
        }
    }

    /// A place among so many; none if all are taken.
    fn enter(&self, now: Instant, places: usize) -> Result<Option<Place<'_>>> {
        let mut started = self.0.lock();
        if started.iter().flatten().any(|at| now.saturating_duration_since(*at) > STUCK_AFTER) {
            return Err(StoreError::StorageFailed("the disk does not answer".into()));
        }
        let places = places.max(started.len());
        started.resize(places, None);
        let free = started.iter_mut().enumerate().find(|(_, at)| at.is_none());
        Ok(free.map(|(index, at)| {
            *at = Some(now);
            Place { reads: self, index }
        }))
    }
}

struct Place<'r> {
    reads: &'r ShortReads,
    index: usize,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(at) = self.reads.0.lock().get_mut(self.index) {
            *at = None;
        }
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
}
