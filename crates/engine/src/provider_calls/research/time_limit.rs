//! The time that a research may take (`maxSeconds`), and how much of it is kept for the last turn.

use std::time::Duration;

use rowmill_model::column::Research;

/// A model that is slow still gets some time for its last turn.
const LAST_TURN_MIN: Duration = Duration::from_secs(10);

/// What is left of the time.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimeLimit {
    gone: Duration,
    /// From here on there is only the last turn.
    near: Duration,
    all: Duration,
}

impl TimeLimit {
    pub(super) fn new(limits: &Research, gone_millis: u64) -> Self {
        let all = Duration::from_secs(limits.max_seconds.into());
        Self { gone: Duration::from_millis(gone_millis), near: all * 4 / 5, all }
    }

    pub(super) fn is_near(self) -> bool {
        self.gone >= self.near
    }

    pub(super) fn is_over(self) -> bool {
        self.gone >= self.all
    }

    /// For searches and pages.
    pub(super) fn for_calls(self) -> Duration {
        self.near.saturating_sub(self.gone)
    }

    /// For an answer of the model.
    pub(super) fn for_turn(self, is_last: bool) -> Duration {
        if is_last {
            return self.all.saturating_sub(self.gone).max(LAST_TURN_MIN);
        }
        self.for_calls().max(LAST_TURN_MIN.min(self.all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_turn_has_time_left() {
        let seconds = Duration::from_secs;
        let limit = |max_seconds, gone_millis| {
            TimeLimit::new(&Research { max_seconds, ..Research::default() }, gone_millis)
        };
        let left = |limit: TimeLimit| (limit.for_calls(), limit.for_turn(false), limit.for_turn(true));
        assert_eq!(left(limit(100, 30_000)), (seconds(50), seconds(50), seconds(70)));
        assert_eq!(left(limit(100, 79_000)), (seconds(1), seconds(10), seconds(21)));
        assert_eq!(left(limit(100, 500_000)), (seconds(0), seconds(10), seconds(10)));
        assert_eq!(left(limit(5, 0)), (seconds(4), seconds(5), seconds(10)));
        let states = [79_999, 80_000, 99_999, 100_000].map(|gone| limit(100, gone));
        assert_eq!(states.map(TimeLimit::is_near), [false, true, true, true]);
        assert_eq!(states.map(TimeLimit::is_over), [false, false, false, true]);
    }
}
