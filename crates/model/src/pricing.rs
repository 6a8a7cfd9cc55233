//! What answers come to by the prices.

use serde_json::Value;

use crate::cell::Meta;
use crate::prices::{ModelPrice, price_list};
use crate::spending::SpendingSettings;
use crate::spent::{Amount, Spent};

/// The vendors whose models are listed with their name before it.
const VENDORS: [&str; 5] = ["gemini", "mistral", "groq", "deepseek", "xai"];
/// What answered a search of a finder, found or not. Whoever was not asked, or failed, is not paid.
const ASKED: [&str; 3] = ["verified", "unverified", "not_found"];

/// What a model costs: by the team's own prices, else by the list. `None` if neither knows it.
pub fn model_price(settings: &SpendingSettings, model: &str) -> Option<ModelPrice> {
    let model = model.trim();
    let bare = model.rsplit('/').next().unwrap_or(model);
    let names = [model, bare, undated(model), undated(bare)];
    let own = names.iter().find_map(|name| settings.models.get(*name));
    let listed = |name: &&str| {
        let with_vendor =
            || VENDORS.iter().find_map(|vendor| price_list().models.get(&format!("{vendor}/{name}")));
        price_list().models.get(*name).or_else(with_vendor)
    };
    own.or_else(|| names.iter().find_map(listed)).copied()
}

/// A model's name without the date of its version.
fn undated(name: &str) -> &str {
    let digits =
        |text: &str, count: usize| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((before, date)) = name.rsplit_once('-') {
        if digits(date, 8) {
            return before;
        }
        if digits(date, 2)
            && let Some((before, month)) = before.rsplit_once('-')
            && digits(month, 2)
            && let Some((before, year)) = before.rsplit_once('-')
            && digits(year, 4)
        {
            return before;
        }
    }
    name
}

/// Notes in a cell's provenance what it comes to by the prices, where no provider told its cost. What nobody knows is
/// left out.
pub fn note_list_cost(settings: &SpendingSettings, meta: &mut Meta) {
    if meta.contains_key("cached") {
        return;
    }
    for entry in meta.get_mut("tried").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(entry) = entry.as_object_mut()
            && let Some(cost) = of_search(settings, entry).and_then(Amount::told)
        {
            Spent { list_cost: Some(cost), ..Spent::NOTHING }.note(entry);
        }
    }
    let spent = Spent::of(meta);
    if let Some(cost) = listed(settings, meta, &spent) {
        Spent { list_cost: Some(cost), ..Spent::NOTHING }.note(meta);
    }
}

fn listed(settings: &SpendingSettings, meta: &Meta, spent: &Spent) -> Option<Amount> {
    if let Some(tried) = meta.get("tried").and_then(Value::as_array) {
        let mut sum = Spent::NOTHING;
        for entry in tried.iter().filter_map(Value::as_object) {
            sum += Spent { list_cost: Spent::of(entry).list_cost, ..Spent::NOTHING };
        }
        return sum.list_cost;
    }
    let usage = spent.usage;
    if spent.cost.is_some() || (usage.input_tokens == 0 && usage.output_tokens == 0) {
        return None;
    }
    let price = model_price(settings, meta.get("model")?.as_str()?)?;
    #[expect(clippy::cast_precision_loss, reason = "no answer has so many tokens")]
    Amount::told(price.dollars(usage.input_tokens as f64, usage.output_tokens as f64))
}

/// What one search of a waterfall comes to.
fn of_search(settings: &SpendingSettings, entry: &Meta) -> Option<f64> {
    let told = Spent::of(entry);
    if told.cost.is_some() {
        return None;
    }
    let price = settings.providers.get(entry.get("taskType")?.as_str()?)?;
    match told.credits {
        Some(credits) => Some(credits.number() * price.usd_per_credit?),
        None => price.usd_per_call.filter(|_| {
            entry.get("outcome").and_then(Value::as_str).is_some_and(|outcome| ASKED.contains(&outcome))
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prices::ProviderPrice;

    #[test]
    fn the_list_is_read_and_names_are_found_as_servers_write_them() {
        assert!(price_list().models.len() > 200 && !price_list().date.is_empty());
        let mut settings = SpendingSettings::default();
        let price =
            |settings: &SpendingSettings, name: &str| model_price(settings, name).map(|price| price.input);
        assert_eq!(price(&settings, "gpt-4o-mini"), Some(0.15));
        assert_eq!(price(&settings, "gpt-4o-mini-2099-01-31"), Some(0.15), "a later version");
        assert_eq!(price(&settings, "openai/gpt-4o-mini"), Some(0.15), "as a router writes it");
        assert_eq!(price(&settings, "claude-sonnet-4-5-20990101"), Some(3.0));
        assert_eq!(price(&settings, "my-own-model"), None);
        settings.models.insert("gpt-4o-mini".to_owned(), ModelPrice { input: 1.0, output: 2.0 });
        assert_eq!(price(&settings, "gpt-4o-mini"), Some(1.0));
    }

    #[test]
    fn what_nobody_told_is_priced_by_the_list() {
        let mut settings = SpendingSettings::default();
        settings.models.insert("m".to_owned(), ModelPrice { input: 2.0, output: 10.0 });
        let price = ProviderPrice { usd_per_credit: Some(0.5), usd_per_call: Some(0.25) };
        settings.providers.insert("hunter".to_owned(), price);
        for (meta, usd) in [
            (json!({"model": "m", "inputTokens": 1_000, "outputTokens": 100}), json!(0.003)),
            (json!({"model": "m", "inputTokens": 1_000, "cost": 0.5}), json!(null)),
            (json!({"model": "m", "inputTokens": 1_000, "cached": true}), json!(null)),
            (json!({"model": "unknown", "inputTokens": 1_000}), json!(null)),
            (json!({"model": "m"}), json!(null)),
            (
                json!({"credits": 3, "tried": [{"taskType": "hunter", "outcome": "verified", "credits": 3}]}),
                json!(1.5),
            ),
            (
                json!({"tried": [{"taskType": "hunter", "outcome": "not_found"}, {"taskType": "snov"}]}),
                json!(0.25),
            ),
            (json!({"tried": [{"taskType": "hunter", "outcome": "not_asked"}]}), json!(null)),
        ] {
            let Value::Object(mut meta) = meta else { unreachable!() };
            note_list_cost(&settings, &mut meta);
            assert_eq!(meta.get("listCost").cloned().unwrap_or_default(), usd, "{meta:?}");
        }
    }
}
