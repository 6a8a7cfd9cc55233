//! What a cell of a research column is likely to take, where none has run: the model's tokens, and searches.

use rowmill_model::column::Research;
use rowmill_model::estimate::DollarRange;
use rowmill_model::prices::ModelPrice;
use rowmill_model::pricing::search_price;
use rowmill_model::research::ResearchUse;
use rowmill_model::{Provider, SpendingSettings};

use crate::forecaster::Forecast;

/// What one cell takes.
#[derive(Debug, PartialEq)]
pub(crate) struct ResearchCost {
    pub(crate) usual: ResearchUse,
    pub(crate) credits: Option<f64>,
    /// None if the price of the model or of searches is not known.
    pub(crate) usd: Option<DollarRange>,
}

/// `prompt_tokens` is what the prompt and all around it have.
pub(crate) fn guess_research(
    limits: &Research,
    settings: &SpendingSettings,
    price: Option<ModelPrice>,
    forecast: &Forecast,
    prompt_tokens: f64,
) -> ResearchCost {
    let (least, usual, most) = (limits.least(prompt_tokens), limits.usual(prompt_tokens), limits.most());
    let providers = &forecast.search_providers;
    let first = providers.first();
    let credits = first.and_then(|provider| Provider::named(provider));
    let credits = credits.filter(|provider| provider.has_search_credits()).map(|_| usual.searches);
    let prices: Option<Vec<f64>> =
        providers.iter().map(|provider| search_price(settings, provider)).collect();
    let prices = if most.searches > 0.0 { prices } else { Some(Vec::new()) };
    let usd = price.zip(prices).map(|(model, prices)| {
        let tokens = |each: ResearchUse| model.dollars(each.input_tokens, each.output_tokens);
        let search = prices.first().copied().unwrap_or_default();
        // At most, each search asks all of them.
        let high = tokens(most) + most.searches * prices.iter().sum::<f64>();
        let likely = tokens(usual) + usual.searches * search;
        let high = limits.max_cost.map_or(high, |max_cost| high.min(max_cost)).max(tokens(least));
        DollarRange { low: tokens(least).min(likely), likely: likely.min(high), high }
    });
    ResearchCost { usual, credits, usd }
}

#[cfg(test)]
mod tests {
    use rowmill_model::prices::ProviderPrice;

    use super::*;

    fn guess(limits: &Research, providers: &[&str], price: Option<f64>) -> ResearchCost {
        let mut settings = SpendingSettings::default();
        let tavily = ProviderPrice { usd_per_credit: Some(0.5), usd_per_call: None };
        settings.providers.insert("tavily".to_owned(), tavily);
        let search_providers = providers.iter().map(ToString::to_string).collect();
        let forecast = Forecast { search_providers, ..Forecast::default() };
        let price =
            price.map(|usd| ModelPrice { input: usd, output: usd, cache_read: None, cache_write: None });
        guess_research(limits, &settings, price, &forecast, 100.0)
    }

    #[test]
    fn searches_count_with_the_tokens() {
        let limits = Research::default();
        let plain = guess(&limits, &["searxng"], Some(1.0)).usd.unwrap();
        assert!(plain.low < plain.likely && plain.likely < plain.high, "{plain:?}");
        let paid = guess(&limits, &["tavily", "searxng"], Some(1.0));
        let usd = paid.usd.unwrap();
        assert!((usd.likely - plain.likely - 1.0).abs() < 1e-9, "two searches: {usd:?}");
        assert!((usd.high - plain.high - 3.0).abs() < 1e-9, "six at most: {usd:?}");
        assert_eq!((paid.credits, guess(&limits, &["searxng"], None).credits), (Some(2.0), None));
        assert_eq!(guess(&limits, &["brave"], Some(1.0)).usd, None, "its price is not known");
        assert_eq!(guess(&limits, &["tavily"], None).usd, None, "nor is the model's");
        let none = Research { max_searches: 0, ..Research::default() };
        assert!(guess(&none, &["brave"], Some(1.0)).usd.is_some(), "nobody is searched for");
        let capped = Research { max_cost: Some(0.25), ..Research::default() };
        let usd = guess(&capped, &["tavily"], Some(1.0)).usd.unwrap();
        assert!(usd.high <= 0.25 && usd.likely <= usd.high, "{usd:?}");
    }
}
