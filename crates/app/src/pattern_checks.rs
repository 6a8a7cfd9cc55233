//! Whether the patterns of stored views can still be used. They were taken when they were saved, perhaps by a version that
//! had no limit for all of them together.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use parking_lot::Mutex;
use rowmill_model::Offence;
use rowmill_model::filter::Filters;
use serde_json::{Map, Value};

use crate::blocking::Effort;
use crate::error::{Error, Result};

/// What it takes to make columns of bodies: a run condition may have patterns.
pub(crate) fn effort<'b>(bodies: impl IntoIterator<Item = &'b Map<String, Value>>) -> Effort {
    let has_patterns =
        |body: &Map<String, Value>| body.get("runCondition").is_some_and(Filters::may_have_patterns);
    Effort::with_patterns(bodies.into_iter().any(has_patterns))
}

/// Filters that are remembered to be right.
const REMEMBERED_MAX: usize = 10_000;

/// Filters whose patterns were found to be right, by the hash of their text: compiling them takes a while.
#[derive(Debug, Default)]
pub(crate) struct PatternChecks(Mutex<HashSet<u64>>);

impl PatternChecks {
    /// Refuses the filters of a view, and those beside them, whose patterns are too much together: they would hold for no
    /// row, and nobody would know why.
    pub(crate) async fn check(&self, filters: &Filters) -> Result<()> {
        if !filters.has_patterns() {
            return Ok(());
        }
        let text = serde_json::to_string(filters).map_err(|error| Error::Internal(error.into()))?;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        let hash = hasher.finish();
        if self.0.lock().contains(&hash) {
            return Ok(());
        }
        let filters = filters.clone();
        let flaw = rowmill_fairness::compute(move || filters.pattern_flaw()).await;
        if let Some(flaw) = flaw.map_err(|failure| Error::Internal(failure.into()))? {
            let message = format!("the filters of this view cannot be used, so change them: {flaw}");
            return Err(Error::invalid(vec![Offence::new("viewId", message)]));
        }
        let mut known = self.0.lock();
        if known.len() >= REMEMBERED_MAX {
            known.clear();
        }
        known.insert(hash);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn patterns(pattern: &str, count: usize) -> Filters {
        let filter = json!({ "columnId": "col_a", "operator": "matches", "value": pattern });
        serde_json::from_value(Value::from(vec![filter; count])).unwrap()
    }

    #[tokio::test]
    async fn a_view_with_too_many_patterns_is_told_so() {
        let checks = PatternChecks::default();
        assert!(checks.check(&patterns("a|b", 3)).await.is_ok());
        assert!(checks.check(&patterns("a|b", 3)).await.is_ok(), "also when it is remembered");
        let Err(Error::Invalid { details, .. }) = checks.check(&patterns(r"\w{60}", 100)).await else {
            panic!("it is refused");
        };
        assert_eq!(details[0].path, "viewId");
        assert!(details[0].message.contains("too large"), "{details:?}");
    }
}
