//! Room for an answer: what it may take in memory while it comes.

use std::sync::Arc;

use rowmill_fairness::{FairSemaphore, Permit, Tenant};

use crate::failure::Failure;

/// The room of one answer. A small answer always has room; a longer one needs a place, and tenants take turns to get
/// one. A place lets an answer grow to its own limit, so nobody waits while holding a part.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// None: there is room for anything.
    large: Option<Large>,
}

#[derive(Debug)]
struct Large {
    places: Arc<FairSemaphore>,
    small_bytes_max: usize,
    place: Option<Permit>,
    is_refused: bool,
}

impl Room {
    /// An answer that is longer than `small_bytes_max` needs one of these places.
    pub(crate) fn of(places: &Arc<FairSemaphore>, small_bytes_max: usize) -> Self {
        let places = Arc::clone(places);
        Self { large: Some(Large { places, small_bytes_max, place: None, is_refused: false }) }
    }

    /// Makes sure that an answer of so many bytes has room. If there is none now, the caller must let go of what came.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), Failure> {
        match &mut self.large {
            Some(large) if bytes > large.small_bytes_max => large.take_place(),
            _ => Ok(()),
        }
    }

    /// Makes sure that an answer has room whose length nobody knows yet.
    pub(super) fn grow_to_any(&mut self) -> Result<(), Failure> {
        self.grow_to(usize::MAX)
    }

    /// Whether an answer was given up for want of a place.
    pub(crate) fn is_refused(&self) -> bool {
        self.large.as_ref().is_some_and(|large| large.is_refused)
    }

    /// Waits for a place, while nothing of the answer is held.
    pub(crate) async fn wait(&mut self) {
        if let Some(large) = &mut self.large
            && large.place.is_none()
        {
            large.place = Some(large.places.acquire(Tenant::current()).await);
            large.is_refused = false;
        }
    }
}

impl Large {
    fn take_place(&mut self) -> Result<(), Failure> {
        if self.place.is_none() {
            self.place = self.places.try_acquire(Tenant::current());
        }
        self.is_refused = self.place.is_none();
        if self.is_refused {
            return Err(Failure::transient("Too many long answers are being read at the same time."));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_what_is_long_needs_a_place() {
        let places = FairSemaphore::new(1, 1);
        let (mut first, mut second) = (Room::of(&places, 10), Room::of(&places, 10));
        assert!(first.grow_to(10).is_ok() && first.grow_to(11).is_ok() && first.grow_to(1_000).is_ok());
        assert!(second.grow_to(10).is_ok() && !second.is_refused());
        assert!(second.grow_to(11).is_err() && second.is_refused());
        drop(first);
        second.wait().await;
        assert!(second.grow_to_any().is_ok() && !second.is_refused());
        assert!(Room::of(&places, 10).grow_to_any().is_err());
        drop(second);
        assert!(places.try_acquire(Tenant::SERVICE).is_some(), "the place is given back");
        assert!(Room::default().grow_to_any().is_ok());
    }
}
