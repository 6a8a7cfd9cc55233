//! Why cells of a run failed or were skipped, counted by error code.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::cell_status::ErrorCode;

/// How many cells ended with which error code. It is stored with every change of a run, so it is small: counts end at
/// four billion.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Causes([u32; ErrorCode::ALL.len()]);

impl Causes {
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|count| *count == 0)
    }

    /// The codes that occurred, the most frequent first.
    pub fn counts(&self) -> Vec<(ErrorCode, u64)> {
        let mut counts: Vec<_> = self.pairs().collect();
        counts.sort_by_key(|(_, count)| Reverse(*count));
        counts
    }

    pub fn count(&mut self, code: ErrorCode) {
        self.add(code, 1);
    }

    pub(super) fn join(&mut self, other: &Self) {
        for (code, count) in other.pairs() {
            self.add(code, u32::try_from(count).unwrap_or(u32::MAX));
        }
    }

    fn add(&mut self, code: ErrorCode, more: u32) {
        if let Some(count) = self.0.get_mut(code as usize) {
            *count = count.saturating_add(more);
        }
    }

    fn pairs(&self) -> impl Iterator<Item = (ErrorCode, u64)> {
        ErrorCode::ALL
            .into_iter()
            .zip(self.0)
            .map(|(code, count)| (code, u64::from(count)))
            .filter(|(_, count)| *count > 0)
    }
}

impl Serialize for Causes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.pairs().map(|(code, count)| (code.word(), count)))
    }
}

impl<'de> Deserialize<'de> for Causes {
    /// Codes of a later version are passed over.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut causes = Self::default();
        for (word, count) in BTreeMap::<String, u64>::deserialize(deserializer)? {
            if let Some(code) = ErrorCode::parse(&word) {
                causes.add(code, u32::try_from(count).unwrap_or(u32::MAX));
            }
        }
        Ok(causes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_come_back_as_they_were_stored() {
        let mut causes = Causes::default();
        assert_eq!(serde_json::to_string(&causes).unwrap(), "{}");
        for code in ErrorCode::ALL {
            causes.count(code);
        }
        causes.count(ErrorCode::SpendLimit);
        let text = serde_json::to_string(&causes).unwrap();
        assert_eq!(serde_json::from_str::<Causes>(&text).unwrap(), causes, "{text}");
        assert_eq!(causes.counts().first(), Some(&(ErrorCode::SpendLimit, 2)));
        let mut twice = causes;
        twice.join(&causes);
        assert_eq!(twice.counts().last(), Some(&(ErrorCode::NeedsBrowser, 2)));
    }

    #[test]
    fn a_code_of_a_later_version_is_passed_over() {
        let known: Causes = serde_json::from_str(r#"{"rate_limited":3,"out_of_paper":1}"#).unwrap();
        assert_eq!(known.counts(), [(ErrorCode::RateLimited, 3)]);
    }
}
