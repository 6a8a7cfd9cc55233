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
    /// US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Amount>,
    /// A provider's own credits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credits: Option<Amount>,
}

const COST: &str = "cost";
const CREDITS: &str = "credits";
const TRIED: &str = "tried";

impl Spent {
    pub const NOTHING: Self = Self { cost: None, credits: None };

    pub fn cost(amount: Option<Amount>) -> Self {
        Self { cost: amount, credits: None }
    }

    pub fn credits(amount: Option<Amount>) -> Self {
        Self { cost: None, credits: amount }
    }

    /// As a cell's provenance tells it.
    pub fn of(meta: &Meta) -> Self {
        Self {
            cost: meta.get(COST).and_then(Amount::read),
            credits: meta.get(CREDITS).and_then(Amount::read),
        }
    }

    pub fn note(self, meta: &mut Meta) {
        for (name, amount) in [(COST, self.cost), (CREDITS, self.credits)] {
            if let Some(amount) = amount {
                meta.insert(name.to_owned(), amount.number().into());
            }
        }
    }

    /// Takes it out of a provenance: who is given a value once more pays nothing.
    pub fn forget(meta: &mut Meta) {
        let tried = meta.get_mut(TRIED).and_then(Value::as_array_mut).into_iter().flatten();
        for entry in tried.filter_map(Value::as_object_mut) {
            Self::forget(entry);
        }
        meta.remove(COST);
        meta.remove(CREDITS);
    }
}

impl std::ops::AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        let sum = |one: Option<Amount>, other: Option<Amount>| match (one, other) {
            (Some(one), Some(other)) => Some(Amount(one.0.saturating_add(other.0))),
            (one, other) => one.or(other),
        };
        *self = Self { cost: sum(self.cost, other.cost), credits: sum(self.credits, other.credits) };
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
        assert_eq!(Spent::of(&meta), sum);
    }

    #[test]
    fn a_value_given_once_more_costs_nothing() {
        let meta = json!({"cost": 1, "tried": [{"id": "a", "credits": 2}, "b"], "model": "m"});
        let Value::Object(mut meta) = meta else { unreachable!() };
        Spent::forget(&mut meta);
        assert_eq!(Value::Object(meta), json!({"tried": [{"id": "a"}, "b"], "model": "m"}));
    }
}
