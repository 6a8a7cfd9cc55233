//! What a cell paid to whom, where it asked several: the list `paid` of its provenance. A research pays a model and
//! search providers.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cell::Meta;
use crate::spent::{PAID, Spent, Usage};

/// What one provider was paid. The calls are the attempts of what was spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Paid {
    /// By id.
    pub provider: String,
    pub spent: Spent,
}

const PROVIDER: &str = "provider";
const CALLS: &str = "calls";

impl Paid {
    pub fn new(provider: impl Into<String>, calls: u64, spent: Spent) -> Self {
        let usage = Usage { attempts: calls, ..spent.usage };
        Self { provider: provider.into(), spent: Spent { usage, ..spent } }
    }

    /// As a cell's provenance tells it.
    pub fn of(meta: &Meta) -> Vec<Self> {
        let entries = meta.get(PAID).and_then(Value::as_array).into_iter().flatten();
        let paid = |entry: &Meta| {
            let calls = entry.get(CALLS).and_then(Value::as_u64).unwrap_or_default();
            Some(Self::new(entry.get(PROVIDER)?.as_str()?, calls, Spent::of(entry)))
        };
        entries.filter_map(Value::as_object).filter_map(paid).collect()
    }

    /// Adds to what a cell's provenance tells, and to nothing else of it.
    pub fn note(list: Vec<Self>, meta: &mut Meta) {
        let mut all = Self::of(meta);
        for paid in list {
            paid.add_to(&mut all);
        }
        if all.is_empty() {
            return;
        }
        let entry = |Self { provider, spent }: Self| {
            let mut entry = Meta::new();
            entry.insert(PROVIDER.to_owned(), provider.into());
            entry.insert(CALLS.to_owned(), spent.usage.attempts.into());
            spent.note(&mut entry);
            Value::Object(entry)
        };
        meta.insert(PAID.to_owned(), all.into_iter().map(entry).collect());
    }

    /// Adds it to a list with one entry for each provider.
    pub fn add_to(self, list: &mut Vec<Self>) {
        match list.iter_mut().find(|paid| paid.provider == self.provider) {
            Some(known) => known.spent += self.spent,
            None => list.push(self),
        }
    }

    /// All of them together.
    pub fn sum(list: &[Self]) -> Spent {
        list.iter().fold(Spent::NOTHING, |mut sum, paid| {
            sum += paid.spent;
            sum
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::spent::Amount;

    #[test]
    fn what_each_was_paid_is_read_as_it_was_noted() {
        let credits = |number| Spent::credits(Amount::told(number));
        let model = Spent { usage: Usage { input_tokens: 7, ..Usage::NONE }, ..Spent::NOTHING };
        let mut meta = Meta::new();
        Paid::note(Vec::new(), &mut meta);
        assert!(meta.is_empty(), "who paid nobody says nothing");
        Paid::note(vec![Paid::new("openai", 2, model), Paid::new("tavily", 1, credits(1.0))], &mut meta);
        Paid::note(vec![Paid::new("tavily", 2, credits(0.5))], &mut meta);
        let noted = json!([
            {"provider": "openai", "calls": 2, "inputTokens": 7},
            {"provider": "tavily", "calls": 3, "credits": 1.5},
        ]);
        assert_eq!(meta.get("paid"), Some(&noted));
        let read = Paid::of(&meta);
        assert_eq!(read, [Paid::new("openai", 2, model), Paid::new("tavily", 3, credits(1.5))]);
        let sum = Paid::sum(&read);
        assert_eq!((sum.usage.attempts, sum.usage.input_tokens), (5, 7));
        Spent::forget(&mut meta);
        assert!(meta.is_empty(), "a value given once more was paid to nobody");
    }
}
