//! What models' servers were found to take, so that each refusal is met once and not for every cell.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use parking_lot::Mutex;
use rowmill_providers::Access;
use rowmill_providers::catalogue::Provider;
use rowmill_providers::llm::{Dialect, Output, Question};

use crate::digest::Digest;

/// Dialects by server, model and schema. Each process finds out for itself.
#[derive(Debug, Default)]
pub(super) struct Dialects(Mutex<HashMap<Digest, (Dialect, Timestamp)>>);

impl Dialects {
    const LEN_MAX: usize = 1_000;
    /// A server may learn something new. To ask it costs one refusal.
    const KEPT_FOR: Duration = Duration::from_hours(6);

    pub(super) fn of(&self, key: Digest, now: Timestamp) -> Dialect {
        let known = self.0.lock();
        known.get(&key).filter(|(_, until)| *until > now).map(|(dialect, _)| *dialect).unwrap_or_default()
    }

    pub(super) fn learn(&self, key: Digest, dialect: Dialect, now: Timestamp) {
        let mut known = self.0.lock();
        if known.len() >= Self::LEN_MAX {
            known.retain(|_, (_, until)| *until > now);
        }
        if known.len() >= Self::LEN_MAX
            && let Some(oldest) = known.iter().min_by_key(|(_, (_, until))| *until).map(|(key, _)| *key)
        {
            known.remove(&oldest);
        }
        let until = now.saturating_add(Self::KEPT_FOR).unwrap_or(Timestamp::MAX);
        known.insert(key, (dialect, until));
    }
}

/// Names whom a dialect is for. A schema may be refused where others are taken.
pub(super) fn dialect_key(provider: &Provider, access: &Access, question: &Question) -> Digest {
    let shape = match &question.output {
        Output::Text => String::new(),
        Output::Json(schema) => format!("{schema:?}"),
    };
    Digest::of([provider.about.id, access.base_url.as_str(), &question.model, &shape])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_bounded_and_fades() {
        let dialects = Dialects::default();
        let key = |number: usize| Digest::of([number.to_string().as_str()]);
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        for number in 0..=Dialects::LEN_MAX {
            dialects.learn(key(number), Dialect::default(), at(i64::try_from(number).unwrap()));
        }
        let known = || dialects.0.lock().len();
        assert_eq!((known(), dialects.0.lock().contains_key(&key(0))), (Dialects::LEN_MAX, false));
        let later = at(2 * i64::try_from(Dialects::KEPT_FOR.as_secs()).unwrap());
        dialects.learn(key(0), Dialect::default(), later);
        assert_eq!(known(), 1, "what faded is dropped first");
    }
}
