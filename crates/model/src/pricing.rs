//! What answers come to by the prices.

use serde_json::Value;

use crate::cell::Meta;
use crate::paid::Paid;
use crate::prices::{ModelPrice, ProviderPrice, price_list};
use crate::provider::{Credential, Provider, ProviderKind};
use crate::spending::SpendingSettings;
use crate::spent::{Amount, Spent, Usage};

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

/// What one web search costs, in US dollars. A server of one's own costs nothing. `None` if the team has set no price.
pub fn search_price(settings: &SpendingSettings, provider: &str) -> Option<f64> {
    searches_cost(settings, provider, 1, None)
}

/// What so many web searches cost, in US dollars: by the credits that were told, else by their number. A search is one
/// credit where its provider tells none.
pub fn searches_cost(
    settings: &SpendingSettings,
    provider: &str,
    searches: u64,
    credits: Option<Amount>,
) -> Option<f64> {
    let is_own = |provider: &&Provider| provider.credential == Credential::OwnServer;
    let Some(price) = settings.providers.get(provider) else {
        return Provider::named(provider).filter(is_own).map(|_| 0.0);
    };
    let ProviderPrice { usd_per_credit, usd_per_call } = *price;
    #[expect(clippy::cast_precision_loss, reason = "nobody searches so often")]
    let searches = searches as f64;
    match (credits, usd_per_credit, usd_per_call) {
        (Some(credits), Some(usd), _) => Some(credits.number() * usd),
        (_, _, Some(usd)) | (None, Some(usd), None) => Some(searches * usd),
        (_, None, None) => None,
    }
}

/// What a cell that ran would cost today, in US dollars, if it asked a model of this price. What a provider told counts
/// as it was told. `None` if nobody knows some of it.
pub fn cost_today(settings: &SpendingSettings, model: Option<ModelPrice>, meta: &Meta) -> Option<f64> {
    let by_tokens = |spent: &Spent| {
        let Usage { input_tokens, output_tokens, .. } = spent.usage;
        model.filter(|_| input_tokens + output_tokens > 0).map(|price| price.dollars_used(&spent.usage))
    };
    let paid = Paid::of(meta);
    if paid.is_empty() {
        let spent = Spent::of(meta);
        let listed = || spent.list_cost.map(Amount::number);
        return spent.cost.map(Amount::number).or_else(|| by_tokens(&spent)).or_else(listed);
    }
    let today = |Paid { provider, spent }: &Paid| {
        let is_search =
            Provider::named(provider).is_some_and(|provider| provider.kind == ProviderKind::Search);
        match spent.cost {
            // The list has what the others did not tell.
            Some(_) => spent.dollars().map(Amount::number),
            None if is_search => searches_cost(settings, provider, spent.usage.attempts, spent.credits),
            None => by_tokens(spent).or_else(|| spent.list_cost.map(Amount::number)),
        }
    };
    paid.iter().map(today).sum()
}

/// Notes in a cell's provenance what it comes to by the prices, where no provider told its cost. What nobody knows is
/// left out. A research has noted it step by step.
pub fn note_list_cost(settings: &SpendingSettings, meta: &mut Meta) {
    if meta.contains_key("cached") || !Paid::of(meta).is_empty() {
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

/// Marks a provenance as one of an answer that came in a batch.
pub fn note_batch(meta: &mut Meta) {
    meta.insert("processing".to_owned(), "batch".into());
}

fn is_of_batch(meta: &Meta) -> bool {
    meta.get("processing").and_then(Value::as_str) == Some("batch")
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
    let price = if is_of_batch(meta) { price.in_batches() } else { price };
    Amount::told(price.dollars_used(&usage))
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

    fn plain(input: f64, output: f64) -> ModelPrice {
        ModelPrice { input, output, cache_read: None, cache_write: None }
    }

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
        let cached =
            model_price(&settings, "claude-sonnet-4-5").map(|price| (price.cache_read, price.cache_write));
        assert_eq!(cached, Some((Some(0.3), Some(3.75))));
        settings.models.insert("gpt-4o-mini".to_owned(), plain(1.0, 2.0));
        assert_eq!(price(&settings, "gpt-4o-mini"), Some(1.0));
    }

    #[test]
    fn what_nobody_told_is_priced_by_the_list() {
        let mut settings = SpendingSettings::default();
        settings.models.insert("m".to_owned(), plain(2.0, 10.0));
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

    #[test]
    fn a_search_has_the_price_that_the_team_says() {
        let mut settings = SpendingSettings::default();
        let mut set = |provider: &str, usd_per_credit, usd_per_call| {
            settings.providers.insert(provider.to_owned(), ProviderPrice { usd_per_credit, usd_per_call });
        };
        set("tavily", Some(0.5), None);
        set("brave", None, Some(0.25));
        set("serper", None, None);
        let credits = Amount::told(2.0);
        for (provider, credits, expected) in [
            ("tavily", credits, Some(1.0)),
            ("tavily", None, Some(1.5)),
            ("brave", credits, Some(0.75)),
            ("brave", None, Some(0.75)),
            ("serper", credits, None),
            ("exa", None, None),
            ("searxng", None, Some(0.0)),
        ] {
            assert_eq!(searches_cost(&settings, provider, 3, credits), expected, "{provider} {credits:?}");
        }
        assert_eq!(search_price(&settings, "tavily"), Some(0.5));
    }

    #[test]
    fn a_cell_that_ran_is_priced_as_of_today() {
        let mut settings = SpendingSettings::default();
        let price = ProviderPrice { usd_per_credit: Some(0.5), usd_per_call: None };
        settings.providers.insert("tavily".to_owned(), price);
        let model = Some(plain(2.0, 10.0));
        let tokens = json!({"provider": "openai", "calls": 2, "inputTokens": 1_000, "outputTokens": 100});
        let told =
            json!({"provider": "openai", "calls": 2, "inputTokens": 1_000, "cost": 0.25, "listCost": 0.5});
        let search = |provider: &str| json!({"provider": provider, "calls": 2, "credits": 3});
        for (meta, expected) in [
            (json!({"inputTokens": 1_000, "outputTokens": 100, "listCost": 7}), Some(0.003)),
            (json!({"inputTokens": 1_000, "cost": 0.5}), Some(0.5)),
            (json!({"paid": [tokens, search("tavily")]}), Some(1.503)),
            (json!({"paid": [told, search("searxng")]}), Some(0.75)),
            (json!({"paid": [tokens, search("brave")]}), None),
        ] {
            let Value::Object(meta) = meta else { unreachable!() };
            let cost = cost_today(&settings, model, &meta).map(|usd| (usd * 1e9).round() / 1e9);
            assert_eq!(cost, expected, "{meta:?}");
        }
    }
}
