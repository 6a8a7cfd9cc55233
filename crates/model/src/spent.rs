//! What was paid for values, as far as those who were asked say it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cell::Meta;

/// An amount in thousand-millionths, so that sums are exact in whatever order they are made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amount(u64);

impl Amount {
    const PARTS: f64 = 1e9;
    /// Whoever names more for one call is mistaken.
    const EACH_MAX: f64 = 1e6;

    /// An amount that somebody outside names; nothing if it cannot be one.
    pub fn told(number: f64) -> Option<Self> {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is in range")]
        let parts = |number: f64| (number * Self::PARTS).round() as u64;
        (0.0..=Self::EACH_MAX).contains(&number).then(|| Self(parts(number)))
    }

    /// An amount in a JSON value, written as a number or as text.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Self::told(number.as_f64()?),
            Value::String(text) => Self::told(text.trim().parse().ok()?),
            _ => None,
        }
    }

    /// In thousand-millionths, as it is stored.
    pub fn parts(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    pub fn of_parts(parts: i64) -> Self {
        Self(u64::try_from(parts).unwrap_or_default())
    }

    pub fn number(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "fifteen digits are plenty")]
        let parts = self.0 as f64;
        parts / Self::PARTS
    }
}

/// What was paid. What nobody told is not known, and not nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Spent {
    /// US dollars, as providers told them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Amount>,
    /// US dollars by the price list, for what nobody told the cost of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_cost: Option<Amount>,
    /// A provider's own credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<Amount>,
    #[serde(skip_serializing_if = "Usage::is_none")]
    pub usage: Usage,
}

/// What was used, whatever it cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Tries to fill a cell, those that failed included.
    pub attempts: u64,
    /// Of language models.
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// Of the input: what came from a server's cache, and what it put there.
    #[serde(skip_serializing_if = "is_zero")]
    pub cached_tokens: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_written_tokens: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands it over so")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl Usage {
    pub const NONE: Self =
        Self { attempts: 0, input_tokens: 0, output_tokens: 0, cached_tokens: 0, cache_written_tokens: 0 };

    pub fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

const COST: &str = "cost";
const LIST_COST: &str = "listCost";
const CREDITS: &str = "credits";
const TRIED: &str = "tried";
pub(crate) const PAID: &str = "paid";
/// Whoever names more for one answer is mistaken.
const TOKENS_EACH_MAX: u64 = 1_000_000_000;
const CACHED: &str = "cached";
const INPUT_TOKENS: &str = "inputTokens";
const OUTPUT_TOKENS: &str = "outputTokens";
const CACHED_TOKENS: &str = "cachedTokens";
const CACHE_WRITTEN_TOKENS: &str = "cacheWrittenTokens";

impl Spent {
    pub const NOTHING: Self = Self { cost: None, list_cost: None, credits: None, usage: Usage::NONE };

    pub fn cost(amount: Option<Amount>) -> Self {
        Self { cost: amount, ..Self::NOTHING }
    }

    /// US dollars, told or by the price list.
    pub fn dollars(&self) -> Option<Amount> {
        sum(self.cost, self.list_cost)
    }

    pub fn credits(amount: Option<Amount>) -> Self {
        Self { credits: amount, ..Self::NOTHING }
    }

    /// As a cell's provenance tells it.
    pub fn of(meta: &Meta) -> Self {
        // Nobody was asked for a value that is given once more.
        let is_cached = meta.get(CACHED).is_some();
        let tokens = |name: &str| {
            let told = meta.get(name).filter(|_| !is_cached).and_then(Value::as_u64);
            told.filter(|tokens| *tokens <= TOKENS_EACH_MAX).unwrap_or_default()
        };
        Self {
            cost: meta.get(COST).and_then(Amount::read),
            list_cost: meta.get(LIST_COST).and_then(Amount::read),
            credits: meta.get(CREDITS).and_then(Amount::read),
            usage: Usage {
                attempts: u64::from(!is_cached),
                input_tokens: tokens(INPUT_TOKENS),
                output_tokens: tokens(OUTPUT_TOKENS),
                cached_tokens: tokens(CACHED_TOKENS),
                cache_written_tokens: tokens(CACHE_WRITTEN_TOKENS),
            },
        }
    }

    pub fn note(self, meta: &mut Meta) {
        for (name, amount) in [(COST, self.cost), (LIST_COST, self.list_cost), (CREDITS, self.credits)] {
            if let Some(amount) = amount {
                meta.insert(name.to_owned(), amount.number().into());
            }
        }
        let Usage { attempts: _, input_tokens, output_tokens, cached_tokens, cache_written_tokens } =
            self.usage;
        for (name, tokens) in [
            (INPUT_TOKENS, input_tokens),
            (OUTPUT_TOKENS, output_tokens),
            (CACHED_TOKENS, cached_tokens),
            (CACHE_WRITTEN_TOKENS, cache_written_tokens),
        ] {
            if tokens > 0 {
                meta.insert(name.to_owned(), tokens.into());
            }
        }
    }

    /// Takes it out of a provenance: who is given a value once more pays nothing. Tokens stay, for they say
    /// something of the value; where it is marked as cached they do not count.
    pub fn forget(meta: &mut Meta) {
        let tried = meta.get_mut(TRIED).and_then(Value::as_array_mut).into_iter().flatten();
        for entry in tried.filter_map(Value::as_object_mut) {
            Self::forget(entry);
        }
        meta.remove(COST);
        meta.remove(LIST_COST);
        meta.remove(CREDITS);
        meta.remove(PAID);
    }

    /// Takes the tokens out of a provenance, where there is no value that they would say something of.
    pub fn forget_tokens(meta: &mut Meta) {
        for name in [INPUT_TOKENS, OUTPUT_TOKENS, CACHED_TOKENS, CACHE_WRITTEN_TOKENS] {
            meta.remove(name);
        }
    }
}

/// Both together. What is not known of one is not nothing, but cannot be added.
fn sum(one: Option<Amount>, other: Option<Amount>) -> Option<Amount> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Amount(one.0.saturating_add(other.0))),
        (one, other) => one.or(other),
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        let (used, more) = (self.usage, other.usage);
        *self = Self {
            cost: sum(self.cost, other.cost),
            list_cost: sum(self.list_cost, other.list_cost),
            credits: sum(self.credits, other.credits),
            usage: Usage {
                attempts: used.attempts.saturating_add(more.attempts),
                input_tokens: used.input_tokens.saturating_add(more.input_tokens),
                output_tokens: used.output_tokens.saturating_add(more.output_tokens),
                cached_tokens: used.cached_tokens.saturating_add(more.cached_tokens),
                cache_written_tokens: used.cache_written_tokens.saturating_add(more.cache_written_tokens),
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_amounts_are_taken() {
        for (told, expected) in [
            (json!(0), Some(0.0)),
            (json!(0.00014), Some(0.00014)),
            (json!("0.0021"), Some(0.0021)),
            (json!(1_000_000), Some(1_000_000.0)),
            (json!(1e300), None),
            (json!(-0.1), None),
            (json!("NaN"), None),
            (json!("inf"), None),
            (json!("free"), None),
            (json!(null), None),
            (json!(true), None),
            (json!([1]), None),
        ] {
            assert_eq!(Amount::read(&told).map(Amount::number), expected, "{told}");
        }
    }

    #[test]
    fn sums_are_exact_and_what_nobody_told_is_not_nothing() {
        let mut sum = Spent::NOTHING;
        for _ in 0..1_000 {
            sum += Spent::cost(Amount::told(0.1));
        }
        assert_eq!((sum.cost.map(Amount::number), sum.credits), (Some(100.0), None));
        sum += Spent::credits(Amount::told(0.5));
        let mut meta = Meta::new();
        sum.note(&mut meta);
        assert_eq!(Value::Object(meta.clone()), json!({"cost": 100.0, "credits": 0.5}));
        let read = Spent::of(&meta);
        assert_eq!((read.cost, read.credits), (sum.cost, sum.credits));
    }

    #[test]
    fn tokens_and_attempts_are_counted_unless_nobody_was_asked() {
        let usage = |meta: Value| match meta {
            Value::Object(meta) => Spent::of(&meta).usage,
            _ => Usage::NONE,
        };
        let told = json!({"inputTokens": 7, "outputTokens": 2, "cachedTokens": 4, "cacheWrittenTokens": 1});
        let counted = Usage {
            attempts: 1,
            input_tokens: 7,
            output_tokens: 2,
            cached_tokens: 4,
            cache_written_tokens: 1,
        };
        assert_eq!(usage(told.clone()), counted);
        let mut noted = Meta::new();
        Spent { usage: counted, ..Spent::NOTHING }.note(&mut noted);
        assert_eq!(Value::Object(noted), told);
        assert_eq!(usage(json!({})), Usage { attempts: 1, ..Usage::NONE });
        assert_eq!(usage(json!({"inputTokens": 7, "cached": true})), Usage::NONE);
        assert_eq!(usage(json!({"inputTokens": -7, "outputTokens": u64::MAX})).output_tokens, 0);
    }

    #[test]
    fn a_value_given_once_more_costs_nothing() {
        let meta = json!({"cost": 1, "tried": [{"id": "a", "credits": 2}, "b"], "model": "m"});
        let Value::Object(mut meta) = meta else { unreachable!() };
        Spent::forget(&mut meta);
        assert_eq!(Value::Object(meta), json!({"tried": [{"id": "a"}, "b"], "model": "m"}));
    }
}
