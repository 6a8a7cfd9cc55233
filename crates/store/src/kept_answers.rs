//! Answers of providers that are used again (`cacheTtlSeconds`). A team has so many at most; the oldest go first.

use async_trait::async_trait;
use rowmill_model::TeamId;

use crate::error::Result;
use crate::received::making_room;

/// An answer to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptAnswer {
    pub team: TeamId,
    /// A hash over all that was asked, and by whom.
    pub name: [u8; 32],
    pub at_ms: i64,
    pub expires_at_ms: i64,
    pub answer: String,
}

/// What an answer counts beside its text: its name, its times, and the indexes.
const OVERHEAD_BYTES: u64 = 200;

impl KeptAnswer {
    /// What it counts.
    pub fn bytes(&self) -> u64 {
        self.answer.len() as u64 + OVERHEAD_BYTES
    }
}

/// How many answers a team can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerLimits {
    pub count: u64,
    pub bytes: u64,
}

/// Answers that are removed in one go, so that nobody waits for it.
pub const ANSWERS_AT_ONCE: u32 = 500;

impl AnswerLimits {
    /// What is too much of a number of answers and their bytes.
    fn over(self, count: u64, bytes: u64) -> (u64, u64) {
        (count.saturating_sub(self.count), bytes.saturating_sub(self.bytes))
    }

    pub fn are_kept(self, count: u64, bytes: u64) -> bool {
        self.over(count, bytes) == (0, 0)
    }

    /// Which of a team's oldest answers go, where it has so many of so many bytes together.
    pub fn too_old(self, count: u64, bytes: u64, oldest: Vec<([u8; 32], u64)>) -> Vec<[u8; 32]> {
        let (over_count, over_bytes) = self.over(count, bytes);
        let sizes = oldest.iter().enumerate().map(|(place, (_, bytes))| (place as u64, *bytes));
        let going = making_room(sizes, over_count, over_bytes).map_or(0, |(_, going, _)| going);
        oldest.into_iter().take(usize::try_from(going).unwrap_or(usize::MAX)).map(|(name, _)| name).collect()
    }
}

/// Keeps answers that are used again.
#[async_trait]
pub trait AnswerStore: Send + Sync {
    /// An answer whose time is not over.
    async fn kept_answer(&self, name: [u8; 32], now_ms: i64) -> Result<Option<String>>;

    /// Keeps an answer, in the place of the one before it.
    async fn keep_answer(&self, kept: KeptAnswer) -> Result<()>;

    /// Removes some of a team's oldest answers if there are too many; says whether there may be more to remove.
    async fn trim_answers(&self, team: TeamId, limits: AnswerLimits) -> Result<bool>;

    /// Removes some answers whose time is over; says whether there may be more.
    async fn sweep_answers(&self, now_ms: i64) -> Result<bool>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_go_and_no_more_than_must() {
        let limits = AnswerLimits { count: 3, bytes: 100 };
        let going = |count, bytes| {
            let oldest = vec![([1; 32], 40), ([2; 32], 10), ([3; 32], 50)];
            limits.too_old(count, bytes, oldest).iter().map(|name| name[0]).collect::<Vec<u8>>()
        };
        assert_eq!(going(3, 100), [0; 0]);
        assert!(limits.are_kept(3, 100) && !limits.are_kept(4, 90) && !limits.are_kept(2, 101));
        assert_eq!(going(4, 90), [1]);
        assert_eq!(going(4, 145), [1, 2]);
        assert_eq!(going(9, 900), [1, 2, 3], "the rest in the next go");
    }
}
