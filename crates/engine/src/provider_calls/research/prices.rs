//! What the steps of a research come to: as their providers tell it, else by the team's prices and the price list.

use std::sync::Arc;

use rowmill_model::prices::ModelPrice;
use rowmill_model::pricing::{model_price, search_price, searches_cost};
use rowmill_model::{Amount, Paid, Spent};
use rowmill_providers::catalogue::Provider;
use rowmill_store::spending::TeamSpending;

use super::web_search::SearchAccess;

/// The prices that hold for one research.
#[derive(Debug, Clone)]
pub(super) struct Prices {
    pub(super) spending: Arc<TeamSpending>,
    /// The model's, by id.
    pub(super) provider: &'static str,
    /// By the name it is asked by.
    pub(super) model: String,
}

/// What a step came to, and what of it has no price.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Priced {
    pub(super) paid: Vec<Paid>,
    pub(super) unpriced: Vec<String>,
}

impl Prices {
    /// An answer of the model, and the searches that its provider made for it.
    pub(super) fn turn(&self, named: Option<&str>, searches: usize, told: Spent) -> Priced {
        let searches = u64::try_from(searches).unwrap_or(u64::MAX);
        let mut priced = Priced::default();
        let mut spent = told;
        if told.cost.is_none() {
            let usage = told.usage;
            let has_tokens = usage.input_tokens + usage.output_tokens > 0;
            let tokens = self.model_price(named).filter(|_| has_tokens);
            if tokens.is_none() {
                priced.unpriced.push(format!("the model {}", self.model));
            }
            let hosted = searches_cost(&self.spending.settings, self.provider, searches, None);
            if searches > 0 && hosted.is_none() {
                priced.unpriced.push(format!("web searches of {}", label(self.provider)));
            }
            let known = [tokens.map(|price| price.dollars_used(&usage)), hosted.filter(|_| searches > 0)];
            let known: Vec<f64> = known.into_iter().flatten().collect();
            spent.list_cost = (!known.is_empty()).then(|| known.iter().sum()).and_then(Amount::told);
        }
        priced.paid.push(Paid::new(self.provider, 1, spent));
        priced
    }

    /// Searches that were made, each with its provider and what that told.
    pub(super) fn searches(&self, made: Vec<(&'static Provider, Spent)>) -> Priced {
        let mut priced = Priced::default();
        for (provider, told) in made {
            let mut spent = told;
            if told.cost.is_none() {
                let one = || Amount::told(1.0).filter(|_| provider.about.has_search_credits());
                spent.credits = told.credits.or_else(one);
                match searches_cost(&self.spending.settings, provider.about.id, 1, spent.credits) {
                    Some(usd) => spent.list_cost = Amount::told(usd).filter(|usd| *usd != Amount::default()),
                    None => priced.unpriced.push(format!("searches of {}", provider.about.label)),
                }
            }
            Paid::new(provider.about.id, 1, spent).add_to(&mut priced.paid);
        }
        priced
    }

    /// What the next answer of the model is likely to cost, as far as its price is known.
    pub(super) fn next_turn(&self, input_tokens: u64, output_tokens: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "no model takes so many tokens")]
        let (input, output) = (input_tokens as f64, output_tokens as f64);
        self.model_price(None).map_or(0.0, |price| price.dollars(input, output))
    }

    /// What the next search costs, as far as its price is known.
    pub(super) fn next_search(&self, engines: &[SearchAccess]) -> f64 {
        let first = engines.first().map(|engine| engine.provider.about.id);
        first.and_then(|provider| search_price(&self.spending.settings, provider)).unwrap_or_default()
    }

    fn model_price(&self, named: Option<&str>) -> Option<ModelPrice> {
        let price = |name: &str| model_price(&self.spending.settings, name);
        named.and_then(price).or_else(|| price(&self.model))
    }
}

fn label(provider: &'static str) -> &'static str {
    Provider::named(provider).map_or(provider, |provider| provider.about.label)
}

#[cfg(test)]
mod tests {
    use rowmill_model::prices::ProviderPrice;
    use rowmill_model::{SpendingSettings, Usage};

    use super::*;

    fn prices(providers: &[(&str, f64)]) -> Prices {
        let mut settings = SpendingSettings::default();
        settings.models.insert(
            "m".to_owned(),
            ModelPrice { input: 1.0, output: 2.0, cache_read: None, cache_write: None },
        );
        for (provider, usd) in providers {
            let price = ProviderPrice { usd_per_credit: None, usd_per_call: Some(*usd) };
            settings.providers.insert((*provider).to_owned(), price);
        }
        let spending = Arc::new(TeamSpending { settings, ..TeamSpending::default() });
        Prices { spending, provider: "openai", model: "m".to_owned() }
    }

    fn tokens(cost: Option<f64>) -> Spent {
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 500_000, ..Usage::NONE };
        Spent { usage, ..Spent::cost(cost.and_then(Amount::told)) }
    }

    #[test]
    fn an_answer_costs_what_its_provider_tells_else_its_tokens_and_searches() {
        let check = |prices: &Prices, named, searches, told, usd, unpriced: &[&str]| {
            let priced = prices.turn(named, searches, told);
            assert_eq!(Paid::sum(&priced.paid).dollars().map(Amount::number), usd, "{priced:?}");
            assert_eq!(priced.unpriced, unpriced);
        };
        let known = prices(&[("openai", 0.25)]);
        check(&known, None, 0, tokens(None), Some(2.0), &[]);
        check(&known, Some("m-of-today"), 2, tokens(None), Some(2.5), &[]);
        check(&known, None, 2, tokens(Some(0.5)), Some(0.5), &[]);
        check(&known, None, 0, Spent::NOTHING, None, &["the model m"]);
        let unknown = Prices { model: "house".to_owned(), ..prices(&[]) };
        let both = ["the model house", "web searches of OpenAI-compatible"];
        check(&unknown, None, 2, tokens(None), None, &both);
        check(&unknown, Some("m"), 0, tokens(None), Some(2.0), &[]);
    }

    #[test]
    fn a_search_is_a_credit_where_its_provider_tells_none() {
        let named = |id: &str| Provider::named(id).unwrap();
        let known = prices(&[("serper", 0.25), ("tavily", 0.5)]);
        let told = Spent::credits(Amount::told(2.0));
        let priced = known.searches(vec![
            (named("serper"), Spent::NOTHING),
            (named("tavily"), told),
            (named("exa"), tokens(Some(0.125))),
            (named("exa"), Spent::NOTHING),
            (named("searxng"), Spent::NOTHING),
            (named("brave"), Spent::NOTHING),
        ]);
        let line = |paid: &Paid| {
            let Paid { provider, spent } = paid;
            let amount = |amount: Option<Amount>| amount.map(Amount::number);
            (provider.clone(), spent.usage.attempts, amount(spent.dollars()), amount(spent.credits))
        };
        let lines: Vec<_> = priced.paid.iter().map(line).collect();
        let expected = [
            ("serper", 1, Some(0.25), Some(1.0)),
            ("tavily", 1, Some(0.5), Some(2.0)),
            ("exa", 2, Some(0.125), None),
            ("searxng", 1, None, None),
            ("brave", 1, None, Some(1.0)),
        ];
        let expected = expected.map(|(name, calls, usd, credits)| (name.to_owned(), calls, usd, credits));
        assert_eq!(lines, expected);
        assert_eq!(priced.unpriced, ["searches of Exa", "searches of Brave Search"]);
    }
}
