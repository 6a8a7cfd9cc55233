//! Prefetching: how many cells to claim ahead of those that run.
//!
//! Claiming takes a moment, and where calls are quick the places would stand empty meanwhile. So as many are
//! claimed ahead as were finished in a moment lately: many where calls are quick, none where they take
//! seconds, so that what is not begun stays queued for everybody to see.

use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;

/// Cells finished in this time are what is claimed ahead.
const AHEAD: Duration = Duration::from_millis(120);
/// How often the rate is worked out anew.
const WINDOW: Duration = Duration::from_millis(100);
/// Cells a second from which on they count as quick.
const QUICK: f64 = 1_000.0;

#[derive(Debug)]
pub(crate) struct ClaimAhead(Mutex<Window>);

#[derive(Debug)]
struct Window {
    since: Timestamp,
    finished: u32,
    /// Cells a second.
    rate: f64,
}

impl ClaimAhead {
    pub(crate) fn new(now: Timestamp) -> Self {
        Self(Mutex::new(Window { since: now, finished: 0, rate: 0.0 }))
    }

    /// A cell has come to its result.
    pub(crate) fn finished(&self) {
        let mut window = self.0.lock();
        window.finished = window.finished.saturating_add(1);
    }

    /// Whether cells finish so quickly that handling them one by one would be most of the work.
    pub(crate) fn is_quick(&self) -> bool {
        self.0.lock().rate >= QUICK
    }

    /// How many to claim ahead, at most so many.
    pub(crate) fn ahead(&self, now: Timestamp, most: usize) -> usize {
        let mut window = self.0.lock();
        let elapsed = now.duration_since(window.since).as_secs_f64();
        if elapsed >= WINDOW.as_secs_f64() {
            window.rate = f64::from(window.finished) / elapsed;
            window.since = now;
            window.finished = 0;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small and positive")]
        let ahead = (window.rate * AHEAD.as_secs_f64()) as usize;
        ahead.min(most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quicker_cells_finish_the_more_are_claimed_ahead() {
        let at = |ms| Timestamp::from_millisecond(ms).unwrap();
        let claim_ahead = ClaimAhead::new(at(0));
        assert_eq!(claim_ahead.ahead(at(50), 999), 0);
        (0..1_000).for_each(|_| claim_ahead.finished());
        assert_eq!(claim_ahead.ahead(at(100), 9_999), 1_200);
        assert_eq!(claim_ahead.ahead(at(150), 64), 64);
        (0..8).for_each(|_| claim_ahead.finished());
        assert_eq!(claim_ahead.ahead(at(1_100), 999), 0);
    }
}
